/**
 * Everything above the transport.  Nothing in here needs Node.
 * @module
 */

export * from "./agent.js";
export { AgentHost } from "./agent_host.js";
export { LIMITS, decode, read } from "./codec.js";
export { encode } from "./encode.js";
export * from "./environment.js";
export { EnvironmentHost } from "./environment_host.js";
export * from "./errors.js";
export * from "./experiment.js";
export type { Awaitable, Host } from "./host.js";
export { formatReading, fromHex, parseReading, toHex } from "./json.js";
/** All messages and parts of the contract as they travel; those that programs meet are exported by themselves too. */
export * as messages from "./messages.js";
export { VERSION } from "./messages.js";
export type {
  Box,
  Breach,
  Card,
  Cell,
  Choice,
  Clock,
  ClockRule,
  Code,
  Dict,
  Discrete,
  Done,
  DoneReason,
  Episode,
  Heard,
  Limits,
  Mode,
  MultiBinary,
  MultiDiscrete,
  Offer,
  Piece,
  Preview,
  Progress,
  Reason,
  Role,
  Scene,
  SeatResult,
  Sequence,
  Space,
  Symmetry,
  Text,
  Thoughts,
  ToAgent,
  ToEnvironment,
  ToExperiment,
  Tuple,
  View,
  Want,
  WatchedTurn,
  Welcome,
} from "./messages.js";
export { readOptions } from "./options.js";
export type { Option, Options } from "./options.js";
export type { Bound, Complete, Legal } from "./schema.js";
export { Random, derive } from "./seeds.js";
export { Session } from "./session.js";
export type { Identity, Received } from "./session.js";
export {
  box,
  dict,
  discrete,
  mask,
  multiBinary,
  multiDiscrete,
  contains,
  sample,
  sequence,
  spaceOf,
  textSpace,
  tuple,
  unmask,
} from "./spaces.js";
export { DTYPES, Extension, Tensor, int, isDtype } from "./values.js";
export type { Dtype, Int, Numbers, Value } from "./values.js";
