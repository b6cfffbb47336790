// Command conformer is the program that `dovetail conform` tests a client library with.
package main

import (
	"context"
	"fmt"
	"os"

	"dovetail.example/dovetail"
)

func main() {
	role := ""
	if len(os.Args) > 1 {
		role = os.Args[1]
	}
	dovetail.Main(func(ctx context.Context) error {
		switch role {
		case "agent":
			return dovetail.ServeAgents(ctx, dovetail.FromEnv(), agentType)
		case "environment":
			return dovetail.ServeEnvironments(ctx, dovetail.FromEnv(), environmentType)
		case "experiment":
			return experiment(ctx)
		}
		return fmt.Errorf("usage: conformer agent | environment | experiment")
	})
}
