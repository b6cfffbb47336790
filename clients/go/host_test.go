package dovetail

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"time"
)

// say encodes what a broker says: type, then keys and values.
func say(t *testing.T, role Role, kind string, pairs ...any) Message {
	t.Helper()
	m := map[string]any{"type": kind}
	for i := 0; i < len(pairs); i += 2 {
		m[pairs[i].(string)] = pairs[i+1]
	}
	frame, err := EncodeValue(m)
	if err != nil {
		t.Fatal(err)
	}
	message, wrong := NewDecoder(role).Decode(frame)
	if wrong != nil {
		t.Fatal(wrong)
	}
	return message
}

// hear decodes what a host answers, in short: the type and a field.
func hear(t *testing.T, frames [][]byte, fields ...string) string {
	t.Helper()
	var out []string
	for _, frame := range frames {
		value, err := DecodeValue(frame)
		if err != nil {
			t.Fatal(err)
		}
		m := value.(map[string]any)
		text := m["type"].(string)
		for _, field := range fields {
			if v, ok := m[field]; ok {
				text += fmt.Sprintf(" %s=%v", field, v)
			}
		}
		out = append(out, text)
	}
	return strings.Join(out, "; ")
}

type counter struct {
	steps, ends, cleanups int
	reasons               []Reason
}

func (c *counter) Step(_ context.Context, d *Decision) (any, error) {
	c.steps++
	switch d.Observation {
	case "fail":
		return nil, errors.New("told\nto fail")
	case "panic":
		panic("told to panic")
	case "chan":
		return make(chan int), nil
	case "ask":
		return &Lookahead{Lines: [][]any{{int64(1)}, {int64(2), int64(3)}}}, nil
	}
	return c.steps, nil
}

func (c *counter) Continue(_ context.Context, _ *Decision, positions []Position, err error) (any, error) {
	if err != nil {
		return "refused", nil
	}
	return len(positions), nil
}

func (c *counter) End(_ *Seat, end *End) error {
	c.ends++
	c.reasons = append(c.reasons, end.Reason)
	return nil
}

func (c *counter) Cleanup() { c.cleanups++ }

func agents(t *testing.T) (*AgentHost, *[]*counter, func(kind string, pairs ...any) [][]byte) {
	t.Helper()
	made := &[]*counter{}
	host, err := NewAgentHost(AgentType{Name: "counter", New: func(Options, int64) (Agent, error) {
		c := &counter{}
		*made = append(*made, c)
		return c, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	do := func(kind string, pairs ...any) [][]byte {
		t.Helper()
		return host.Handle(context.Background(), []Message{say(t, RoleAgent, kind, pairs...)})
	}
	do("welcome", "session", "s", "name", "n")
	do("create", "id", 1, "instance", 7, "agent", "counter")
	do("init", "match", 3, "seat", 0, "instance", 7, "spec", map[string]any{"type": "spec"})
	return host, made, do
}

func want(t *testing.T, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("heard %q instead of %q", got, want)
	}
}

func TestAgentRepeats(t *testing.T) {
	_, made, do := agents(t)
	start := []any{"episode", 9, "match", 3, "seat", 0, "turn", 0, "seed", 1}
	first := do("start", start...)
	want(t, hear(t, first, "turn", "action"), "action turn=0 action=1")
	if second := do("start", start...); !bytes.Equal(first[0], second[0]) {
		t.Error("the repeat got another answer")
	}
	want(t, hear(t, do("step", "episode", 9, "seat", 0, "turn", 2), "action"), "action action=2")
	want(t, hear(t, do("start", start...)), "")
	do("end", "episode", 9, "seat", 0, "match", 3)
	do("end", "episode", 9, "seat", 0, "match", 3)
	want(t, hear(t, do("start", start...)), "")
	want(t, hear(t, do("step", "episode", 9, "seat", 0, "turn", 4)), "")
	want(t, hear(t, do("create", "id", 1, "instance", 7, "agent", "counter"), "id"), "reply id=1")
	c := (*made)[0]
	if len(*made) != 1 || c.steps != 2 || c.ends != 1 {
		t.Errorf("%d made, %d steps, %d ends", len(*made), c.steps, c.ends)
	}
}

func TestReadyLine(t *testing.T) {
	first := AgentType{Name: "first", New: func(Options, int64) (Agent, error) { return &counter{}, nil }}
	second := first
	second.Name = "second"
	host, err := NewAgentHost(first, second)
	if err != nil {
		t.Fatal(err)
	}
	want(t, readyLine(host, DefaultAddress, "agent-1"), "agent first, second ready at tcp://127.0.0.1:5757 as agent-1")
}

func TestAgentFailures(t *testing.T) {
	_, made, do := agents(t)
	texts := []string{"counter in turn 0 failed: told to fail", "counter in turn 1 panicked: told to panic",
		"counter in turn 2 failed: the action cannot travel: "}
	for turn, seen := range []string{"fail", "panic", "chan"} {
		kind, pairs := "step", []any{"episode", 9, "seat", 0, "turn", turn, "observation", seen}
		if turn == 0 {
			kind, pairs = "start", append(pairs, "match", 3, "seed", 1)
		}
		for range 2 {
			answer := do(kind, pairs...)
			want(t, hear(t, answer, "code", "episode", "seat"), "error code=crashed episode=9 seat=0")
			if text := hear(t, answer, "message"); !strings.HasPrefix(text, "error message="+texts[turn]) {
				t.Errorf("%q instead of %q", text, texts[turn])
			}
		}
	}
	if steps := (*made)[0].steps; steps != 3 {
		t.Errorf("%d steps", steps)
	}
	want(t, hear(t, do("save", "id", 5, "instance", 70), "code", "id"), "error code=unknown id=5")
}

func TestAgentLookahead(t *testing.T) {
	_, made, do := agents(t)
	start := []any{"episode", 9, "match", 3, "seat", 0, "turn", 0, "seed", 1, "observation", "ask"}
	want(t, hear(t, do("start", start...), "id", "lines"), "lookahead id=1 lines=[[[1]] [[2] [3]]]")
	want(t, hear(t, do("start", start...), "id"), "lookahead id=1")
	positions := []any{map[string]any{"to_act": []int{1}}, map[string]any{"rewards": []float64{1}}}
	want(t, hear(t, do("reply", "id", 1, "body", positions), "action"), "action action=2")
	want(t, hear(t, do("reply", "id", 1, "body", positions)), "")
	want(t, hear(t, do("step", "episode", 9, "seat", 0, "turn", 1, "observation", "ask"), "id"), "lookahead id=2")
	want(t, hear(t, do("error", "code", "unavailable", "message", "no", "id", 2), "action"), "action action=refused")
	if steps := (*made)[0].steps; steps != 2 {
		t.Errorf("%d steps", steps)
	}
}

func TestAgentLosesItsSession(t *testing.T) {
	host, made, do := agents(t)
	do("start", "episode", 9, "match", 3, "seat", 0, "turn", 0, "seed", 1)
	do("welcome", "session", "s", "name", "n", "resumed", true)
	c := (*made)[0]
	if c.ends != 0 {
		t.Error("resumed, and yet it ended")
	}
	want(t, hear(t, do("welcome", "session", "t", "name", "n")), "")
	if c.ends != 1 || c.reasons[0] != ReasonDisconnected || c.cleanups != 1 {
		t.Errorf("%d ends %v, %d cleanups", c.ends, c.reasons, c.cleanups)
	}
	if len(host.instances)+len(host.seats)+len(host.playing) != 0 {
		t.Error("something was kept")
	}
	want(t, hear(t, do("message", "id", 1, "instance", 7), "code"), "error code=unknown")
}

func TestSingleAgent(t *testing.T) {
	single := AgentType{Name: "one", Instance: true, New: func(Options, int64) (Agent, error) { return &counter{}, nil }}
	host, err := NewAgentHost(single)
	if err != nil {
		t.Fatal(err)
	}
	if offers := host.Offers(); !offers[0].Instance || *offers[0].Capacity != 1 {
		t.Errorf("%+v", offers)
	}
	host.Handle(context.Background(), []Message{say(t, RoleAgent, "init", "match", 1, "seat", 0, "instance", 4, "spec", map[string]any{})})
	out := host.Handle(context.Background(), []Message{say(t, RoleAgent, "start", "episode", 2, "match", 1, "seat", 0, "turn", 0, "seed", 1)})
	want(t, hear(t, out), "action")
	if _, err := NewAgentHost(single, AgentType{Name: "two"}); err == nil {
		t.Error("a single agent was offered beside another")
	}
}

// race is a game of two seats to n, for lookahead.
type race struct{ at, steps int }

func (r *race) Init() (*Spec, error)                 { return &Spec{Seats: 2}, nil }
func (r *race) Start(int64) (*Turn, error)           { r.at = 0; return r.turn(), nil }
func (r *race) Fork(int, int64) (Environment, error) { other := *r; return &other, nil }
func (r *race) Text(seat int) string                 { return fmt.Sprint(r.at, " for ", seat) }
func (r *race) turn() *Turn {
	if r.at >= 3 {
		return &Turn{Seats: []View{{Seat: 0, Reward: 1}, {Seat: 1}}, Terminated: true, Outcome: []float64{1, 0}}
	}
	return &Turn{ToAct: []int{r.at % 2}, Seats: []View{{Seat: r.at % 2, Observation: r.at}}}
}

func (r *race) Step(actions []SeatValue) (*Turn, error) {
	n, ok := AsInt(actions[0].Value)
	if !ok || n < 1 {
		return nil, Illegal(actions[0].Seat, "no step of %v", actions[0].Value)
	}
	r.steps++
	r.at += int(n)
	return r.turn(), nil
}

func environments(t *testing.T) (*[]*race, func(kind string, pairs ...any) [][]byte) {
	t.Helper()
	made := &[]*race{}
	host := NewEnvironmentHost(EnvironmentType{Name: "race", New: func(Options) (Environment, error) {
		r := &race{}
		*made = append(*made, r)
		return r, nil
	}})
	return made, func(kind string, pairs ...any) [][]byte {
		t.Helper()
		return host.Handle(context.Background(), []Message{say(t, RoleEnvironment, kind, pairs...)})
	}
}

func TestEnvironmentRepeats(t *testing.T) {
	made, do := environments(t)
	for range 2 {
		want(t, hear(t, do("open", "match", 1, "environment", "race"), "match", "name"), "spec match=1 name=race")
	}
	start := []any{"match", 1, "episode", 5, "seed", 1}
	for range 2 {
		want(t, hear(t, do("start", start...), "to_act"), "turn to_act=[0]")
	}
	illegal := []any{"episode", 5, "turn", 0, "actions", []any{[]any{0, -1}}}
	for range 2 {
		want(t, hear(t, do("step", illegal...), "code", "seat"), "error code=illegal seat=0")
	}
	do("start", "match", 1, "episode", 6, "seed", 1)
	step := []any{"episode", 6, "turn", 0, "actions", []any{[]any{0, 1}}}
	for range 2 {
		want(t, hear(t, do("step", step...), "turn", "to_act"), "turn turn=1 to_act=[1]")
	}
	want(t, hear(t, do("step", "episode", 6, "turn", 2, "actions", []any{})), "")
	want(t, hear(t, do("step", illegal...)), "")
	if r := (*made)[0]; len(*made) != 1 || r.steps != 1 {
		t.Errorf("%d made, %d steps", len(*made), r.steps)
	}
	do("close", "match", 1)
	want(t, hear(t, do("step", step...)), "")
	want(t, hear(t, do("open", "match", 1, "environment", "race"), "match"), "spec match=1")
	do("welcome", "session", "s", "name", "n")
	want(t, hear(t, do("start", start...), "code"), "error code=unknown")
}

// alone says as little as it can.
type alone struct{}

func (alone) Init() (*Spec, error)            { return &Spec{}, nil }
func (alone) Start(int64) (*Turn, error)      { return nil, nil }
func (alone) Step([]SeatValue) (*Turn, error) { return nil, nil }

func TestDefaultsOfASpec(t *testing.T) {
	host := NewEnvironmentHost(EnvironmentType{Name: "alone", New: func(Options) (Environment, error) { return alone{}, nil }})
	out := host.Handle(context.Background(), []Message{&Open{Match: 1, Environment: "alone"}, &EnvironmentStart{Match: 1, Episode: 2}})
	want(t, hear(t, out, "name", "seats", "code"), "spec name=alone; error code=crashed")
}

func TestEnvironmentLookahead(t *testing.T) {
	made, do := environments(t)
	do("open", "match", 1, "environment", "race")
	do("start", "match", 1, "episode", 5, "seed", 1, "wants", []any{[]any{"text"}, []any{}}, "watched", true)
	lines := []any{[]any{[]any{1}, []any{2}}, []any{[]any{0}}, []any{}}
	frames := do("lookahead", "id", 8, "episode", 5, "seat", 0, "turn", 0, "lines", lines)
	value, _ := DecodeValue(frames[0])
	positions, err := reread(value.(map[string]any)["body"], arrayOf(mapOf[Position]))
	if err != nil {
		t.Fatal(err)
	}
	if p := positions[0]; !p.Terminated || p.Applied != 2 || p.Rewards[0] != 1 || len(p.ToAct) != 0 {
		t.Errorf("%+v", p)
	}
	if p := positions[1]; p.Error == "" || p.Applied != 0 {
		t.Errorf("%+v", p)
	}
	if p := positions[2]; p.Error != "" || len(p.ToAct) != 1 {
		t.Errorf("%+v", p)
	}
	if (*made)[0].steps != 0 {
		t.Error("the episode itself changed")
	}
	want(t, hear(t, do("lookahead", "id", 9, "episode", 5, "seat", 0, "turn", 3, "lines", lines), "code", "id"), "error code=wrong-state id=9")
}

func TestSession(t *testing.T) {
	now := time.Unix(100, 0)
	s := NewSession(Hello{Version: Version, Role: RoleAgent})
	hello, err := s.Greet(now)
	if err != nil {
		t.Fatal(err)
	}
	want(t, hear(t, [][]byte{hello}, "resume"), "hello")
	take := func(messages ...Message) ([]Message, [][]byte) {
		t.Helper()
		frames := make([][]byte, len(messages))
		for i, m := range messages {
			frames[i] = mustEncode(m)
		}
		in, out, err := s.Receive(frames, now)
		if err != nil {
			t.Fatal(err)
		}
		return in, out
	}
	in, out := take(&Welcome{Session: "secret", Name: "n", Heartbeat: 2, Patience: 30, Limits: DefaultLimits}, &Ping{Number: 4}, &Leave{Match: 1})
	if len(in) != 2 || s.Silent(now.Add(8*time.Second)) || !s.Silent(now.Add(9*time.Second)) {
		t.Errorf("%v", in)
	}
	want(t, hear(t, out, "number"), "pong number=4")
	_, out = take(&Error{Code: CodeHelloFirst, Message: "who?"}, &Error{Code: CodeHelloFirst, Message: "who?"})
	want(t, hear(t, out, "resume"), "hello resume=secret")
	in, _, err = s.Receive([][]byte{{0xc1}, mustEncode(&Leave{Match: 1})}, now)
	if err != nil || len(in) != 1 {
		t.Errorf("a bad frame cost its neighbour: %v %v", in, err)
	}
	bad, _ := EncodeValue(map[string]any{"type": "step", "episode": 5, "seat": 1, "turn": "two"})
	_, out, _ = s.Receive([][]byte{bad}, now)
	want(t, hear(t, out, "code", "episode", "seat"), "error code=invalid episode=5 seat=1")
	bad, _ = EncodeValue(map[string]any{"type": "step", "episode": 9, "seat": 0, "turn": 5, "observation": Extension{1, []byte{0x80}}})
	_, out, _ = s.Receive([][]byte{bad}, now)
	want(t, hear(t, out, "code", "episode", "seat"), "error code=malformed episode=9 seat=0")
	var refused *RefusedError
	if _, _, err = s.Receive([][]byte{mustEncode(&Error{Code: CodeAccess, Message: "no"})}, now); !errors.As(err, &refused) {
		t.Errorf("refused with %v", err)
	}
	take(&Bye{})
	if !s.Departed {
		t.Error("bye was not heard")
	}
}

func TestRequests(t *testing.T) {
	r := newRequests()
	hear := func(messages ...Message) [][]byte { return r.take(messages) }
	hear(&Welcome{Session: "s"})
	run := &RunHandle{}
	id, frame, err := r.ask(&Run{Environment: "x"}, run, 1000)
	if err != nil {
		t.Fatal(err)
	}
	if again := hear(&Welcome{Session: "s", Resumed: true}); len(again) != 1 || !bytes.Equal(again[0], frame) {
		t.Error("the request was not sent again")
	}
	hear(&Episode{Run: 4, Episode: 1}, &Reply{ID: id + 5}, &Reply{ID: id, Body: map[string]any{"run": int64(4)}},
		&Episode{Run: 4, Episode: 2}, &Episode{Run: 4, Episode: 1}, &Done{Run: 4, Reason: "finished"})
	if r.answer(id) == nil || r.answer(id) != nil {
		t.Error("not one answer")
	}
	if run.Number != 4 || len(run.results) != 2 || run.Done == nil || len(r.runs)+len(r.early)+len(r.open) != 0 {
		t.Errorf("%+v of %+v", run, r)
	}
	hear(&Welcome{Session: "t"})
	if !errors.Is(r.lost, ErrLost) {
		t.Error("the loss was not heard")
	}
	if _, _, err := r.ask(&Load{State: make([]byte, 2000)}, nil, 1000); err == nil {
		t.Error("a frame beyond the broker's limit was sent")
	}
}

// TestZeroStandsForDefaults holds what a struct leaves zero against what travels.
func TestZeroStandsForDefaults(t *testing.T) {
	for _, c := range []struct {
		message Message
		want    string
	}{
		{&Run{}, "run agents=[] environment= id=0"},
		{&Run{Episodes: 1, Mode: ModeLearn, Patience: 60, Retries: Ptr[int64](1), Clock: ClockRule{}}, "run agents=[] environment= id=0"},
		{&Run{Patience: math.Inf(1), Retries: Ptr[int64](0), MaxTurns: 3, OnTimeout: BreachRandom, Clock: ClockRule{Decision: 2}},
			"run agents=[] clock=map[decision:2] environment= id=0 max_turns=3 on_timeout=random patience=<nil> retries=0"},
		{&Spec{}, "spec"},
		{&Spec{Seats: 1, Discount: Ptr(1.0), PerfectInformation: Ptr(true)}, "spec"},
		{&Spec{Seats: 2, Discount: Ptr(0.0), PerfectInformation: Ptr(false)}, "spec discount=0 perfect_information=false seats=2"},
		{&Hello{Version: 1, Role: RoleAgent, Offers: []Offer{{Name: "a"}, {Name: "b", Capacity: Ptr(0)}}},
			"hello offers=[map[name:a] map[capacity:0 name:b]] role=agent version=1"},
		{&Welcome{Version: 1, Heartbeat: 1, Patience: 30, Limits: Limits{Depth: 32}}, "welcome name= session="},
		{&Welcome{Version: 1, Patience: 30, Limits: Limits{Depth: 9}}, "welcome heartbeat=0 limits=map[depth:9] name= session="},
		{&WatchedTurn{}, "turn episode=0 index=0 match=0 run=0 turn=0"},
	} {
		frame := mustEncode(c.message)
		value, err := DecodeValue(frame)
		if err != nil {
			t.Fatal(err)
		}
		fields := value.(map[string]any)
		keys := slices.DeleteFunc(slices.Sorted(maps.Keys(fields)), func(key string) bool { return key == "type" })
		want(t, hear(t, [][]byte{frame}, keys...), c.want)
	}
	spec := say(t, RoleAgent, "init", "match", 1, "seat", 0, "instance", 1, "spec", map[string]any{}).(*Init).Spec
	if spec.Seats != 1 || *spec.Discount != 1 || !*spec.PerfectInformation || spec.MaxTurns != 0 {
		t.Errorf("%+v", spec)
	}
	limits := say(t, RoleAgent, "welcome", "session", "s", "name", "n", "limits", map[string]any{"depth": 9}).(*Welcome).Limits
	if limits.Depth != 9 || limits.Frame != DefaultLimits.Frame {
		t.Errorf("%+v", limits)
	}
}

func TestTooLargeAnAnswer(t *testing.T) {
	large := make([]byte, 100)
	for told, answer := range map[string]Message{
		"error code=crashed episode=4 seat=1": &Action{Episode: 4, Turn: 2, Seat: 1, Action: large},
		"error code=crashed episode=5 seat=0": &AgentLookahead{ID: 3, Episode: 5, Turn: 2, Lines: [][][]any{{{large}}}},
		"error code=crashed episode=6":        &Turn{Episode: 6, Outcome: make([]float64, 100)},
		"error code=crashed match=7":          &Spec{Match: 7, Name: string(large)},
		"error code=crashed id=8":             &Saved{ID: 8, State: large},
		"error code=crashed id=9":             &Reply{ID: 9, Body: large},
	} {
		frame, err := Encode(answer)
		if err != nil {
			t.Fatal(err)
		}
		want(t, hear(t, fit([][]byte{frame}, 50), "code", "id", "episode", "seat", "match"), told)
	}
}

func TestOptions(t *testing.T) {
	options := []Option{{Name: "n", Default: 2, Min: Ptr(1.0)}, {Name: "f", Default: 0.5}, {Name: "c", Default: "a", Choices: []string{"a", "b"}}}
	got, err := readOptions(options, map[string]any{"f": int64(1)}, "x")
	if err != nil || got.Int("n") != 2 || got.Float("f") != 1 || got.Text("c") != "a" {
		t.Errorf("%v %v", got, err)
	}
	for _, wrong := range []map[string]any{{"n": int64(0)}, {"n": 1.0}, {"f": "x"}, {"c": "z"}, {"other": int64(1)}} {
		if _, err := readOptions(options, wrong, "x"); err == nil {
			t.Errorf("%v was accepted", wrong)
		}
	}
}
