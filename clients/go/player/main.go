// Command player serves the agent type greedy-go, which looks one move ahead: Connect Four by its lines of four,
// other games by their afterstates.
package main

import (
	"context"
	"fmt"

	"dovetail.example/dovetail"
)

var agentType = dovetail.AgentType{
	Name:        "greedy-go",
	Description: "Looks one move ahead: Connect Four by its lines, other games by their afterstates.",
	Options: []dovetail.Option{{
		Name: "connect", Default: 4, Min: dovetail.Ptr(2.0),
		Description: "Connect Four: discs in a row that win.",
	}},
	Wants:    []dovetail.Want{dovetail.WantAfterstates},
	Capacity: dovetail.Unlimited,
	New: func(o dovetail.Options, _ int64) (dovetail.Agent, error) {
		return &greedy{connect: o.Int("connect")}, nil
	},
}

// greedy remembers nothing from one decision to the next, so one instance can play any number of episodes.
type greedy struct{ connect int }

// Init refuses games in which there is nothing to look at.
func (g *greedy) Init(seat *dovetail.Seat) error {
	if isConnectFour(seat.Spec) || seat.Spec.Afterstates {
		return nil
	}
	return fmt.Errorf("greedy-go cannot play %s: it adds no afterstates", seat.Spec.Name)
}

// Step answers with a best action; it draws among equal ones.
func (g *greedy) Step(_ context.Context, d *dovetail.Decision) (any, error) {
	values, err := g.values(d)
	if err != nil {
		return nil, err
	}
	var best []int64
	var most float64
	for i, action := range d.Legal {
		switch {
		case len(best) == 0 || values[i] > most:
			best, most = append(best[:0], action), values[i]
		case values[i] == most:
			best = append(best, action)
		}
	}
	if len(best) == 0 {
		return d.Random(), nil
	}
	return best[d.RNG.IntN(len(best))], nil
}

// values says how good each legal action is.
func (g *greedy) values(d *dovetail.Decision) ([]float64, error) {
	if isConnectFour(d.Seat.Spec) {
		if b, ok := readBoard(d.Observation, g.connect); ok {
			values := make([]float64, len(d.Legal))
			for i, column := range d.Legal {
				values[i] = b.value(int(column))
			}
			return values, nil
		}
	}
	return rankAfterstates(d.Afterstates, len(d.Legal))
}

func main() {
	dovetail.Main(func(ctx context.Context) error {
		return dovetail.ServeAgents(ctx, dovetail.FromEnv(), agentType)
	})
}
