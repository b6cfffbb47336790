// Package dovetail writes agents, environments and experiments for Dovetail, an agent/environment protocol: each is a
// program of its own, and a broker joins them. SPEC.md of the project is the contract; the names here are those of it.
//
// An [Agent] answers decisions and is served by [ServeAgents]; an [Environment] knows the rules of a game and is served
// by [ServeEnvironments]; an [Experiment], made by [Connect], asks for runs and gets their results. [Main] and
// [FromEnv] make a program of it that finds its broker in the environment variable DOVETAIL_BROKER, and the access
// token in DOVETAIL_TOKEN.
//
// Underneath, [Session], [AgentHost] and [EnvironmentHost] know no socket: frames, messages and the time go in, frames
// come out. [Serve] puts a ZeroMQ socket around them, which reconnects when the broker falls silent; what the broker
// then says again is answered from memory, so no code of the user is called twice for it.
package dovetail
