// Command random serves the agent type random-go: it takes a random legal action, in any game.
package main

import (
	"context"

	"dovetail.example/go"
)

type random struct{}

func (random) Step(_ context.Context, d *dovetail.Decision) (any, error) { return d.Random(), nil }

func main() {
	dovetail.Main(func(ctx context.Context) error {
		return dovetail.ServeAgents(ctx, dovetail.FromEnv(), dovetail.AgentType{
			Name:        "random-go",
			Description: "Takes a random legal action.",
			Capacity:    dovetail.Unlimited,
			New:         func(dovetail.Options, int64) (dovetail.Agent, error) { return random{}, nil },
		})
	})
}
