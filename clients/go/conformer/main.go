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
		config := dovetail.FromEnv()
		config.Ready = func(*dovetail.Welcome) {} // the kit reads what is printed
		switch role {
		case "agent":
			return dovetail.ServeAgents(ctx, config, agentType)
		case "environment":
			return dovetail.ServeEnvironments(ctx, config, environmentType)
		case "experiment":
			return experiment(ctx)
		}
		return fmt.Errorf("usage: conformer agent | environment | experiment")
	})
}
