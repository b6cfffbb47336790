package dovetail_test

import (
	"context"
	"fmt"

	"dovetail.example/dovetail"
)

// The smallest agent: a random legal action, in any game.
func ExampleServeAgents() {
	random := func(_ context.Context, d *dovetail.Decision) (any, error) { return d.Random(), nil }
	dovetail.Main(func(ctx context.Context) error {
		return dovetail.ServeAgents(ctx, dovetail.FromEnv(), dovetail.Stateless("random-go", random))
	})
}

// coin is a game for one: say 0 or 1, and see what came.
type coin struct{ sides int64 }

func (c *coin) Init() (*dovetail.Spec, error) {
	faces := []dovetail.Space{&dovetail.Discrete{N: c.sides}}
	return &dovetail.Spec{ObservationSpaces: faces, ActionSpaces: faces}, nil
}

func (c *coin) Start(seed int64) (*dovetail.Turn, error) {
	fallen := dovetail.NewRNG(seed).Int64N(c.sides)
	return &dovetail.Turn{ToAct: []int{0}, Seats: []dovetail.View{{Seat: 0, Observation: fallen}}}, nil
}

func (c *coin) Step(actions []dovetail.SeatValue) (*dovetail.Turn, error) {
	said, _ := dovetail.AsInt(actions[0].Value)
	view := dovetail.View{Seat: 0, Observation: said, Reward: 1}
	return &dovetail.Turn{Seats: []dovetail.View{view}, Terminated: true}, nil
}

// An environment with an option.
func ExampleServeEnvironments() {
	dovetail.Main(func(ctx context.Context) error {
		return dovetail.ServeEnvironments(ctx, dovetail.FromEnv(), dovetail.EnvironmentType{
			Name:    "coin",
			Options: []dovetail.Option{{Name: "sides", Default: 2, Min: dovetail.Ptr(2.0)}},
			New: func(o dovetail.Options) (dovetail.Environment, error) {
				return &coin{sides: int64(o.Int("sides"))}, nil
			},
		})
	})
}

// An experiment: a hundred episodes, each printed as it ends.
func ExampleExperiment_Run() {
	ctx := context.Background()
	experiment, err := dovetail.Connect(ctx, dovetail.FromEnv())
	if err != nil {
		fmt.Println(err)
		return
	}
	defer experiment.Close()
	agent, err := experiment.Create(ctx, dovetail.ExperimentCreate{Agent: "random-go", Seed: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	run, err := experiment.Run(ctx, dovetail.Run{Environment: "coin", Agents: []any{agent}, Episodes: 100})
	if err != nil {
		fmt.Println(err)
		return
	}
	for episode, err := range run.Episodes(ctx) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(episode.Index, episode.Seats[0].Total)
	}
}

// Seeds are derived by one rule in all languages.
func ExampleDerive() {
	fmt.Println(dovetail.Derive(1, "episode", 0))
	// Output: 4384949654484100906
}

// Action 0 and action 9 of ten.
func ExampleMask() {
	fmt.Println(dovetail.Mask([]int64{0, 9}, 10), dovetail.Unmask([]byte{1, 2}))
	// Output: [1 2] [0 9]
}

// Spaces draw values: the same ones from the same seed.
func ExampleSpace() {
	dice := &dovetail.Discrete{N: 6, Start: 1}
	first, second := dovetail.NewRNG(1), dovetail.NewRNG(1)
	fmt.Println(dice.Sample(first) == dice.Sample(second))
	// Output: true
}
