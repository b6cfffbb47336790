package main

import (
	"errors"
	"fmt"

	"dovetail.example/dovetail"
)

var environmentType = dovetail.EnvironmentType{
	Name:        "conformer",
	Description: "Counts turns.",
	Options: []dovetail.Option{
		{Name: "seats", Default: 2, Min: dovetail.Ptr(1.0)},
		{Name: "turns", Default: 3, Min: dovetail.Ptr(1.0)},
		{Name: "simultaneous", Default: false},
		{Name: "mask", Default: false},
		{Name: "space", Default: map[string]any{"space": "Discrete", "n": int64(3)}},
		{Name: "observation", Default: 0, Any: true},
		{Name: "truncate", Default: false},
		{Name: "fail", Default: "", Choices: []string{"", "open", "start", "step"}},
	},
	New: newEnvironment,
}

type environment struct {
	seats, turns                 int
	simultaneous, mask, truncate bool
	space                        dovetail.Space
	observation                  any
	fail                         string
	turn                         int
}

func newEnvironment(options dovetail.Options) (dovetail.Environment, error) {
	space, err := dovetail.DecodeSpace(options["space"])
	return &environment{
		seats: options.Int("seats"), turns: options.Int("turns"),
		simultaneous: options.Bool("simultaneous"), mask: options.Bool("mask"), truncate: options.Bool("truncate"),
		space: space, observation: options["observation"], fail: options.Text("fail"),
	}, err
}

func (e *environment) failing(where string) error {
	if e.fail == where {
		return errors.New("it fails in " + where + ", as its option says")
	}
	return nil
}

func (e *environment) Init() (*dovetail.Spec, error) {
	return &dovetail.Spec{
		Seats:             e.seats,
		ObservationSpaces: []dovetail.Space{e.space},
		ActionSpaces:      []dovetail.Space{e.space},
		RewardRange:       &[2]float64{0, 1},
		MaxTurns:          int64(e.turns),
		Afterstates:       true,
	}, e.failing("open")
}

func (e *environment) toAct() []int {
	if !e.simultaneous {
		return []int{e.turn % e.seats}
	}
	all := make([]int, e.seats)
	for seat := range all {
		all[seat] = seat
	}
	return all
}

func (e *environment) view(seat int, seen any) dovetail.View {
	view := dovetail.View{Seat: seat, Observation: seen}
	if space, ok := e.space.(*dovetail.Discrete); ok {
		for n := range space.N {
			view.Legal = append(view.Legal, space.Start+n)
		}
		if e.mask {
			view.Legal, view.LegalMask = nil, dovetail.Mask(view.Legal, int(space.Start+space.N))
		}
	}
	return view
}

func (e *environment) Start(seed int64) (*dovetail.Turn, error) {
	e.turn = 0
	seen := e.observation
	if seen == "seed" {
		seen = seed
	}
	turn := &dovetail.Turn{ToAct: e.toAct()}
	for _, seat := range turn.ToAct {
		turn.Seats = append(turn.Seats, e.view(seat, seen))
	}
	return turn, e.failing("start")
}

func (e *environment) Step(actions []dovetail.SeatValue) (*dovetail.Turn, error) {
	seen := make([]any, len(actions))
	for i, action := range actions {
		if n, ok := dovetail.AsInt(action.Value); ok && n == -1 {
			return nil, dovetail.Illegal(action.Seat, "-1 is never legal")
		}
		seen[i] = []any{action.Seat, action.Value}
	}
	if err := e.failing("step"); err != nil {
		return nil, err
	}
	acted := e.toAct()
	e.turn++
	over := e.turn >= e.turns
	turn := &dovetail.Turn{Terminated: over && !e.truncate, Truncated: over && e.truncate}
	outcome := make([]float64, e.seats)
	for seat := range e.seats {
		turn.Seats = append(turn.Seats, e.view(seat, seen))
	}
	for _, seat := range acted {
		turn.Seats[seat].Reward = 1
		outcome[seat] = 1 / float64(len(acted))
	}
	if !over {
		turn.ToAct = e.toAct()
		return turn, nil
	}
	for seat := range turn.Seats {
		turn.Seats[seat].Legal, turn.Seats[seat].LegalMask = nil, nil
	}
	if !e.truncate {
		turn.Outcome = outcome
	}
	return turn, nil
}

func (e *environment) Afterstates(int) (any, error) {
	space, ok := e.space.(*dovetail.Discrete)
	if !ok {
		return nil, nil
	}
	rows := make([]any, space.N)
	for n := range space.N {
		rows[n] = []any{e.turn + 1, space.Start + n}
	}
	return rows, nil
}

func (e *environment) Scene(seat int) (any, error) {
	return map[string]any{"width": 1.0, "height": 1.0, "caption": e.Text(seat)}, nil
}

func (e *environment) Fork(int, int64) (dovetail.Environment, error) {
	fork := *e
	return &fork, nil
}

func (e *environment) Text(int) string { return fmt.Sprintf("turn %d", e.turn) }

func (e *environment) Message(body any) (any, error) {
	if body == "crash" {
		return nil, errors.New("it crashes, as it was asked to")
	}
	return body, nil
}
