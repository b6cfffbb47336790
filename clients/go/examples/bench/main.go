// Command bench serves what turns per second are measured with: `bench agent` or `bench environment`.
package main

import (
	"context"
	"fmt"
	"os"

	"dovetail.example/dovetail"
)

type agent struct{}

func (agent) Step(_ context.Context, d *dovetail.Decision) (any, error) {
	if len(d.Legal) == 0 {
		return 0, nil
	}
	return d.Legal[0], nil
}

type environment struct{ turns, turn int }

func (e *environment) Init() (*dovetail.Spec, error) {
	return &dovetail.Spec{
		Seats:             2,
		ObservationSpaces: []dovetail.Space{&dovetail.Discrete{N: 1}},
		ActionSpaces:      []dovetail.Space{&dovetail.Discrete{N: 2}},
		RewardRange:       &[2]float64{0, 0},
		MaxTurns:          int64(e.turns),
	}, nil
}

var both = []int64{0, 1}

func (e *environment) Start(int64) (*dovetail.Turn, error) {
	e.turn = 0
	return e.next(), nil
}

func (e *environment) Step([]dovetail.SeatValue) (*dovetail.Turn, error) {
	e.turn++
	return e.next(), nil
}

func (e *environment) next() *dovetail.Turn {
	if e.turn == e.turns {
		return &dovetail.Turn{
			Seats:      []dovetail.View{{Seat: 0, Observation: 0}, {Seat: 1, Observation: 0}},
			Terminated: true,
			Outcome:    []float64{0.5, 0.5},
		}
	}
	seat := e.turn % 2
	return &dovetail.Turn{ToAct: []int{seat}, Seats: []dovetail.View{{Seat: seat, Observation: 0, Legal: both}}}
}

func main() {
	role := ""
	if len(os.Args) > 1 {
		role = os.Args[1]
	}
	dovetail.Main(func(ctx context.Context) error {
		switch role {
		case "agent":
			return dovetail.ServeAgents(ctx, dovetail.FromEnv(), dovetail.AgentType{
				Name:        "bench",
				Description: "Takes the first legal action.",
				Capacity:    dovetail.Unlimited,
				New:         func(dovetail.Options, int64) (dovetail.Agent, error) { return agent{}, nil },
			})
		case "environment":
			return dovetail.ServeEnvironments(ctx, dovetail.FromEnv(), dovetail.EnvironmentType{
				Name:        "bench",
				Description: "Two seats in turn, the number 0 to see, two actions.",
				Options: []dovetail.Option{
					{Name: "turns", Default: 1000, Min: dovetail.Ptr(1.0), Description: "Turns of an episode."},
				},
				Seats: []int{2},
				New: func(o dovetail.Options) (dovetail.Environment, error) {
					return &environment{turns: o.Int("turns")}, nil
				},
			})
		}
		return fmt.Errorf("usage: bench agent | environment")
	})
}
