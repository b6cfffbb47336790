package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"dovetail.example/dovetail"
)

var agentType = dovetail.AgentType{
	Name:        "conformer",
	Description: "Counts what it hears.",
	Options:     []dovetail.Option{{Name: "refuse", Default: false, Description: "Whether it refuses to play."}},
	Wants:       []dovetail.Want{dovetail.WantAfterstates, dovetail.WantText, dovetail.WantScene},
	Capacity:    dovetail.Unlimited,
	New: func(options dovetail.Options, _ int64) (dovetail.Agent, error) {
		return &agent{refuse: options.Bool("refuse")}, nil
	},
}

type agent struct {
	refuse          bool
	decisions, ends int64
	reward          float64
	spec            *dovetail.Spec
	last            map[string]any
}

func (a *agent) Init(seat *dovetail.Seat) error {
	if a.refuse {
		return errors.New("the conformer refuses, as its option says")
	}
	a.spec = seat.Spec
	return nil
}

func (a *agent) Step(_ context.Context, d *dovetail.Decision) (any, error) {
	if d.Observation == "crash" {
		return nil, errors.New("it crashes, as it was asked to")
	}
	if d.Mode == dovetail.ModeLearn {
		a.decisions++
		a.reward += d.Reward
	}
	a.last = map[string]any{"clock": nil, "text": nil, "mode": string(d.Mode), "seed": d.Seed,
		"afterstates": d.Afterstates, "scene": d.Scene}
	if d.Clock != nil {
		a.last["clock"] = map[string]any{"decision": seconds(d.Clock.Decision), "left": seconds(d.Clock.Left), "last": seconds(d.Clock.Last)}
	}
	if d.HasText {
		a.last["text"] = d.Text
	}
	if d.Observation == "resign" {
		d.Measures = map[string]float64{"regret": 0.5}
		return dovetail.Resign, nil
	}
	if d.Legal != nil {
		d.Thoughts = &dovetail.Thoughts{Text: fmt.Sprintf("turn %d", d.Turn)} // sent only if they are asked for
		for _, action := range d.Legal {
			d.Thoughts.Values = append(d.Thoughts.Values, float64(action))
		}
		return d.Legal[len(d.Legal)-1], nil
	}
	if seen, ok := d.Observation.(map[string]any); ok && seen["look"] != nil {
		return look(seen["look"])
	}
	return d.Observation, nil
}

func look(lines any) (*dovetail.Lookahead, error) {
	list, ok := lines.([]any)
	question := &dovetail.Lookahead{Lines: make([][]any, len(list))}
	for i := range list {
		if question.Lines[i], ok = list[i].([]any); !ok {
			break
		}
	}
	if !ok {
		return nil, errors.New("the lines to look at are not arrays")
	}
	return question, nil
}

func (a *agent) Continue(_ context.Context, _ *dovetail.Decision, previews []dovetail.Preview, err error) (any, error) {
	if err != nil {
		return "refused", nil
	}
	rewards := make([]any, len(previews))
	for i := range previews {
		rewards[i] = previews[i].Rewards
	}
	return rewards, nil
}

func seconds(p *float64) any {
	if p == nil {
		return nil
	}
	return *p
}

func (a *agent) End(_ *dovetail.Seat, end *dovetail.End) error {
	if end.Mode == dovetail.ModeLearn {
		a.ends++
		a.reward += end.Reward
	}
	return nil
}

func (a *agent) Message(body any) (any, error) {
	switch body {
	case "crash":
		return nil, errors.New("it crashes, as it was asked to")
	case "counters":
		return map[string]any{"decisions": a.decisions, "ends": a.ends, "reward": a.reward}, nil
	case "last":
		return a.last, nil
	case "spec":
		return map[string]any{"observation_spaces": a.spec.ObservationSpaces, "action_spaces": a.spec.ActionSpaces}, nil
	}
	return body, nil
}

func (a *agent) Save() ([]byte, error) {
	return fmt.Appendf(nil, "%d %d %s", a.decisions, a.ends, strconv.FormatFloat(a.reward, 'g', -1, 64)), nil
}

func (a *agent) Load(state []byte) error {
	parts := strings.Fields(string(state))
	wrong := errors.New("these bytes are not a saved conformer")
	if len(parts) != 3 {
		return wrong
	}
	decisions, err := strconv.ParseInt(parts[0], 10, 64)
	ends, err2 := strconv.ParseInt(parts[1], 10, 64)
	reward, err3 := strconv.ParseFloat(parts[2], 64)
	if errors.Join(err, err2, err3) != nil {
		return wrong
	}
	a.decisions, a.ends, a.reward = decisions, ends, reward
	return nil
}
