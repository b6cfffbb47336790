// Command random serves the agent type random-go, which takes a random legal action in any game.
package main

import (
	"context"

	"dovetail.example/dovetail"
)

func main() {
	random := func(_ context.Context, d *dovetail.Decision) (any, error) { return d.Random(), nil }
	dovetail.Main(func(ctx context.Context) error {
		return dovetail.ServeAgents(ctx, dovetail.FromEnv(), dovetail.Stateless("random-go", random))
	})
}
