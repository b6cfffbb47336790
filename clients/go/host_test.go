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
	case "large":
		return make([]byte, 1000), nil
	case "ask":
		return &Lookahead{Lines: [][]any{{int64(1)}, {int64(2), int64(3)}}}, nil
	}
	return c.steps, nil
}

func (c *counter) Continue(_ context.Context, _ *Decision, previews []Preview, err error) (any, error) {
	if err != nil {
		return "refused", nil
	}
	return len(previews), nil
}

func (c *counter) End(_ *Seat, end *End) error {
	c.ends++
	c.reasons = append(c.reasons, end.Reason)
	switch end.Observation {
	case "fail":
		return errors.New("told to fail")
	case "panic":
		panic("told to panic")
	}
	return nil
}

func (c *counter) Cleanup() { c.cleanups++ }

func (c *counter) Message(body any) (any, error) { return body, nil }

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
	do("init", "match", 3, "seat", 0, "instance", 7, "spec", map[string]any{"type": "spec"}, "agent", "counter")
	return host, made, do
}

func want(t *testing.T, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("heard %q instead of %q", got, want)
	}
}

func TestAgentRepeats(t *testing.T) {
	host, made, do := agents(t)
	start := []any{"seq", 3, "episode", 9, "match", 3, "seat", 0, "turn", 0, "seed", 1}
	first := do("start", start...)
	want(t, hear(t, first, "turn", "action"), "action turn=0 action=1")
	if second := do("start", start...); !bytes.Equal(first[0], second[0]) {
		t.Error("the repeat got another answer")
	}
	step := []any{"seq", 5, "episode", 9, "seat", 0, "turn", 2}
	want(t, hear(t, do("step", step...), "action"), "action action=2")
	want(t, hear(t, do("start", start...)), "") // what followed from its answer has come
	create := []any{"seq", 6, "id", 2, "instance", 8, "agent", "counter"}
	for range 2 {
		want(t, hear(t, do("create", create...), "id"), "reply id=2")
	}
	do("end", "seq", 7, "episode", 9, "seat", 0, "match", 3)
	do("end", "seq", 7, "episode", 9, "seat", 0, "match", 3)
	do("ping", "number", 1, "settled", 5)
	want(t, hear(t, do("step", step...)), "")
	want(t, hear(t, do("create", create...), "id"), "reply id=2")
	do("ping", "number", 2, "settled", 7)
	if len(host.answers) != 0 {
		t.Errorf("%d answers are kept that the broker has settled", len(host.answers))
	}
	if c := (*made)[0]; len(*made) != 2 || c.steps != 2 || c.ends != 1 {
		t.Errorf("%d made, %d steps, %d ends", len(*made), c.steps, c.ends)
	}
}

func TestNothingIsKeptForAConnectionThatLosesNothing(t *testing.T) {
	host, _, do := agents(t)
	do("welcome", "session", "s", "name", "n", "resumed", true, "heartbeat", 0)
	want(t, hear(t, do("start", "seq", 3, "episode", 9, "match", 3, "seat", 0, "turn", 0, "seed", 1)), "action")
	if len(host.answers) != 0 {
		t.Error("an answer is kept")
	}
}

func TestASeatThatNoAgentHolds(t *testing.T) {
	_, made, do := agents(t)
	for range 2 {
		want(t, hear(t, do("start", "seq", 3, "episode", 9, "match", 4, "seat", 0, "turn", 0, "seed", 1), "code", "answers", "seat"), "error code=unknown answers=3")
	}
	want(t, hear(t, do("step", "seq", 4, "episode", 9, "seat", 0, "turn", 1), "code", "answers"), "error code=unknown answers=4")
	want(t, hear(t, do("init", "seq", 5, "match", 4, "seat", 0, "instance", 70, "spec", map[string]any{}), "code", "answers"), "error code=unknown answers=5")
	if steps := (*made)[0].steps; steps != 0 {
		t.Errorf("%d steps", steps)
	}
}

// picky takes no seat, and says so or panics.
type picky struct {
	AgentFunc
	panics bool
	seat   *Seat
}

func (a *picky) Init(seat *Seat) error {
	a.seat = seat
	if a.panics {
		panic("no")
	}
	return errors.New("not this game")
}

func TestAnAgentThatTakesNoSeat(t *testing.T) {
	for code, panics := range map[string]bool{CodeUnavailable: false, CodeCrashed: true} {
		agent := &picky{panics: panics}
		host, err := NewAgentHost(AgentType{Name: "picky", Instance: true, New: func(Options, int64) (Agent, error) { return agent, nil }})
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			out := host.Handle(context.Background(), []Message{&Init{Match: 1, Instance: 1, Agent: "other", Seq: 1}})
			want(t, hear(t, out, "code", "answers"), "error code="+code+" answers=1")
		}
		if agent.seat.Agent != "other" {
			t.Errorf("made from %q", agent.seat.Agent)
		}
		out := host.Handle(context.Background(), []Message{&AgentStart{Episode: 1, Match: 1, Seq: 2}})
		want(t, hear(t, out, "code", "answers"), "error code=unknown answers=2")
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
		kind, pairs := "step", []any{"seq", turn + 3, "episode", 9, "seat", 0, "turn", turn, "observation", seen}
		if turn == 0 {
			kind, pairs = "start", append(pairs, "match", 3, "seed", 1)
		}
		for range 2 {
			answer := do(kind, pairs...)
			want(t, hear(t, answer, "code", "answers"), fmt.Sprintf("error code=crashed answers=%d", turn+3))
			if text := hear(t, answer, "message"); !strings.HasPrefix(text, "error message="+texts[turn]) {
				t.Errorf("%q instead of %q", text, texts[turn])
			}
		}
	}
	if steps := (*made)[0].steps; steps != 3 {
		t.Errorf("%d steps", steps)
	}
	want(t, hear(t, do("save", "seq", 9, "id", 5, "instance", 70), "code", "id", "answers"), "error code=unknown id=5")
	want(t, hear(t, do("create", "seq", 10, "id", 6, "instance", 8, "agent", "nobody"), "code", "id"), "error code=unavailable id=6")
}

func TestAnEndThatFailsIsToldByTheNextAnswer(t *testing.T) {
	_, made, do := agents(t)
	seq := 2
	told := func(seen, text, kind string, pairs ...any) {
		t.Helper()
		seq += 2
		end := []any{"seq", seq - 1, "episode", 9, "seat", 0, "match", 3, "observation", seen}
		want(t, hear(t, do("end", end...)), "") // nothing answers it
		ask := append([]any{"seq", seq}, pairs...)
		for range 2 {
			want(t, hear(t, do(kind, ask...), "code", "message"), "error code=crashed message=counter at the end of an episode "+text)
		}
	}
	start := []any{"episode", 9, "match", 3, "seat", 0, "turn", 0, "seed", 1}
	told("fail", "failed: told to fail", "start", start...)
	want(t, hear(t, do("step", "seq", 5, "episode", 9, "seat", 0, "turn", 1), "action"), "action action=1")
	seq = 5
	told("panic", "panicked: told to panic", "message", "id", 5, "instance", 7, "body", 1)
	want(t, hear(t, do("message", "seq", 8, "id", 6, "instance", 7, "body", 1), "body"), "reply body=1")
	seq = 8
	told("fail", "failed: told to fail", "save", "id", 7, "instance", 7)
	told("fail", "failed: told to fail", "load", "id", 8, "instance", 7, "state", []byte{})
	told("fail", "failed: told to fail", "cleanup", "id", 9, "instance", 7)
	if c := (*made)[0]; c.steps != 1 || c.cleanups != 1 {
		t.Errorf("%d steps, %d cleanups", c.steps, c.cleanups)
	}
	want(t, hear(t, do("save", "seq", seq+1, "id", 10, "instance", 7), "code"), "error code=unknown")
}

func TestAgentLookahead(t *testing.T) {
	_, made, do := agents(t)
	start := []any{"seq", 3, "episode", 9, "match", 3, "seat", 0, "turn", 0, "seed", 1, "observation", "ask"}
	want(t, hear(t, do("start", start...), "id", "lines"), "lookahead id=1 lines=[[[1]] [[2] [3]]]")
	want(t, hear(t, do("start", start...)), "") // it is not answered yet
	want(t, hear(t, do("welcome", "session", "s", "name", "n", "resumed", true), "id"), "lookahead id=1")
	previews := []any{map[string]any{"to_act": []int{1}}, map[string]any{"rewards": []float64{1}}}
	want(t, hear(t, do("reply", "seq", 4, "id", 1, "body", previews), "action"), "action action=2")
	want(t, hear(t, do("start", start...), "action"), "action action=2")
	want(t, hear(t, do("reply", "seq", 4, "id", 1, "body", previews)), "")
	want(t, hear(t, do("step", "seq", 5, "episode", 9, "seat", 0, "turn", 1, "observation", "ask"), "id"), "lookahead id=2")
	want(t, hear(t, do("error", "seq", 6, "code", "unavailable", "message", "no", "id", 2), "action"), "action action=refused")
	want(t, hear(t, do("welcome", "session", "s", "name", "n", "resumed", true)), "")
	if steps := (*made)[0].steps; steps != 2 {
		t.Errorf("%d steps", steps)
	}
}

func TestAgentLosesItsSession(t *testing.T) {
	host, made, do := agents(t)
	do("start", "seq", 9, "episode", 9, "match", 3, "seat", 0, "turn", 0, "seed", 1)
	do("welcome", "session", "s", "name", "n", "resumed", true)
	c := (*made)[0]
	if c.ends != 0 {
		t.Error("resumed, and yet it ended")
	}
	want(t, hear(t, do("welcome", "session", "t", "name", "n")), "")
	if c.ends != 1 || c.reasons[0] != ReasonDisconnected || c.cleanups != 1 {
		t.Errorf("%d ends %v, %d cleanups", c.ends, c.reasons, c.cleanups)
	}
	if len(host.instances)+len(host.seats)+len(host.playing)+len(host.answers) != 0 {
		t.Error("something was kept")
	}
	want(t, hear(t, do("message", "seq", 1, "id", 1, "instance", 7), "code"), "error code=unknown")
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
		want(t, hear(t, do("open", "seq", 1, "match", 1, "environment", "race"), "match", "name"), "spec match=1 name=race")
	}
	for range 2 {
		want(t, hear(t, do("start", "seq", 2, "match", 1, "episode", 5, "seed", 1), "to_act"), "turn to_act=[0]")
	}
	for range 2 {
		want(t, hear(t, do("step", "seq", 3, "episode", 5, "turn", 0, "actions", []any{[]any{0, -1}}), "code", "seat", "answers"),
			"error code=illegal seat=0 answers=3")
	}
	step := []any{"seq", 4, "episode", 5, "turn", 0, "actions", []any{[]any{0, 1}}} // the same turn once more
	for range 2 {
		want(t, hear(t, do("step", step...), "turn", "to_act"), "turn turn=1 to_act=[1]")
	}
	want(t, hear(t, do("step", "seq", 5, "episode", 5, "turn", 2, "actions", []any{}), "code", "answers"), "error code=unknown answers=5")
	want(t, hear(t, do("start", "seq", 6, "match", 1, "episode", 6, "seed", 1), "to_act"), "turn to_act=[0]")
	want(t, hear(t, do("step", "seq", 7, "episode", 5, "turn", 1, "actions", []any{[]any{1, 1}}), "code"), "error code=unknown")
	do("ping", "settled", 7)
	want(t, hear(t, do("step", step...)), "")
	if r := (*made)[0]; len(*made) != 1 || r.steps != 1 {
		t.Errorf("%d made, %d steps", len(*made), r.steps)
	}
	do("close", "seq", 8, "match", 1)
	want(t, hear(t, do("open", "seq", 9, "match", 2, "environment", "chess"), "code", "answers"), "error code=unavailable answers=9")
	want(t, hear(t, do("open", "seq", 10, "match", 3, "environment", "race"), "match"), "spec match=3")
	do("welcome", "session", "s", "name", "n")
	want(t, hear(t, do("start", "seq", 1, "match", 3, "episode", 7, "seed", 1), "code", "answers"), "error code=unknown answers=1")
}

// alone says as little as it can.
type alone struct{}

func (alone) Init() (*Spec, error)            { return &Spec{}, nil }
func (alone) Start(int64) (*Turn, error)      { return nil, nil }
func (alone) Step([]SeatValue) (*Turn, error) { return nil, nil }

func TestDefaultsOfASpec(t *testing.T) {
	host := NewEnvironmentHost(EnvironmentType{Name: "alone", New: func(Options) (Environment, error) { return alone{}, nil }})
	out := host.Handle(context.Background(), []Message{&Open{Match: 1, Environment: "alone", Seq: 1}, &EnvironmentStart{Match: 1, Episode: 2, Seq: 2}})
	want(t, hear(t, out, "name", "seats", "code"), "spec name=alone; error code=crashed")
}

func TestEnvironmentLookahead(t *testing.T) {
	made, do := environments(t)
	do("open", "match", 1, "environment", "race")
	do("start", "match", 1, "episode", 5, "seed", 1, "wants", []any{[]any{"text"}, []any{}}, "watched", true)
	lines := []any{[]any{[]any{1}, []any{2}}, []any{[]any{0}}, []any{}}
	frames := do("lookahead", "id", 8, "episode", 5, "seat", 0, "turn", 0, "lines", lines)
	value, _ := DecodeValue(frames[0])
	previews, err := reread(value.(map[string]any)["body"], arrayOf(mapOf[Preview]))
	if err != nil {
		t.Fatal(err)
	}
	if p := previews[0]; !p.Terminated || p.Applied != 2 || p.Rewards[0] != 1 || len(p.ToAct) != 0 {
		t.Errorf("%+v", p)
	}
	if p := previews[1]; p.Error == "" || p.Applied != 0 {
		t.Errorf("%+v", p)
	}
	if p := previews[2]; p.Error != "" || len(p.ToAct) != 1 {
		t.Errorf("%+v", p)
	}
	if (*made)[0].steps != 0 {
		t.Error("the episode itself changed")
	}
	want(t, hear(t, do("lookahead", "id", 9, "episode", 5, "seat", 0, "turn", 3, "lines", lines), "code", "id"), "error code=unavailable id=9")
}

// deep returns nested arrays.
func deep(depth int) any {
	if depth == 0 {
		return nil
	}
	return []any{deep(depth - 1)}
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
	in, out := take(&Welcome{Session: "secret", Name: "n", Heartbeat: 2, PeerTimeout: 30, Limits: DefaultLimits}, &Ping{Number: 4}, &Leave{Match: 1, Seq: 6}, &Ping{Number: 5})
	if len(in) != 4 || s.Silent(now.Add(8*time.Second)) || !s.Silent(now.Add(9*time.Second)) {
		t.Errorf("%v", in)
	}
	want(t, hear(t, out, "number", "seen"), "pong number=4; pong number=5 seen=6")
	if in, _ = take(&Welcome{Session: "secret", Name: "n", Limits: DefaultLimits}); len(in) != 0 {
		t.Error("the same welcome came twice")
	}
	_, out = take(&Error{Code: CodeHelloFirst, Message: "who?"}, &Error{Code: CodeHelloFirst, Message: "who?"})
	want(t, hear(t, out, "resume", "seen"), "hello resume=secret seen=6")
	in, _, err = s.Receive([][]byte{{0xc1}, mustEncode(&Leave{Match: 1})}, now)
	if err != nil || len(in) != 1 {
		t.Errorf("a bad frame cost its neighbour: %v %v", in, err)
	}
	bad, _ := EncodeValue(map[string]any{"type": "step", "episode": 5, "seat": 1, "turn": "two", "seq": 8})
	_, out, _ = s.Receive([][]byte{bad}, now)
	want(t, hear(t, out, "code", "answers"), "error code=invalid answers=8")
	bad, _ = EncodeValue(map[string]any{"type": "message", "id": 4, "instance": 0, "seq": 9, "body": Extension{1, []byte{0x80}}})
	_, out, _ = s.Receive([][]byte{bad}, now)
	want(t, hear(t, out, "code", "id", "answers"), "error code=malformed id=4")
	var refused *RefusedError
	revoked := mustEncode(&Error{Code: CodeAccess, Message: "no"})
	if _, _, err = s.Receive([][]byte{revoked}, now); !errors.As(err, &refused) {
		t.Errorf("refused with %v", err)
	}
	later := now
	for _, wait := range []time.Duration{4, 8, 16, 16} {
		_, _ = s.Greet(later)
		// Four heartbeats of 2 s are the least.
		if wait = max(wait, 8) * time.Second; s.Silent(later.Add(wait)) || !s.Silent(later.Add(wait+1)) {
			t.Errorf("a hello is not said again after %v", wait)
		}
		later = later.Add(wait)
	}
	take(&Welcome{Session: "other", Name: "n", Heartbeat: 2, Limits: Limits{Frame: 200, Depth: 40, Elements: 100}})
	if in, _ = take(&AgentMessage{Body: make([]byte, 200)}, &AgentMessage{Body: deep(36)}); len(in) != 1 {
		t.Errorf("%d of two frames were read, of which one is larger than the broker's limit", len(in))
	}
	if in, _ = take(&Error{Code: CodeAccess, Message: "not yours", ID: Ptr(int64(3))}); len(in) != 1 {
		t.Error("an error for a request did not arrive")
	}
	if _, _, err = s.Receive([][]byte{revoked, mustEncode(&Bye{})}, now); !errors.As(err, &refused) || s.Departed {
		t.Errorf("sent away with %v", err)
	}
	if hello, _ := s.Greet(now); true {
		want(t, hear(t, [][]byte{hello}, "resume", "seen", "name"), "hello resume=other") // nor the name that it was given
	}
	take(&Bye{})
	if !s.Departed {
		t.Error("bye was not heard")
	}
}

func TestRequests(t *testing.T) {
	r := newRequests()
	heard, hear := hear, func(messages ...Message) [][]byte { return r.take(messages) }
	hear(&Welcome{Session: "s"})
	run := &RunHandle{}
	asked, err := r.ask(&Run{Environment: "x"}, run, 1000)
	if err != nil {
		t.Fatal(err)
	}
	id := asked.id
	if again := hear(&Welcome{Session: "s", Resumed: true}); len(again) != 1 || !bytes.Equal(again[0], asked.frame) {
		t.Error("the request was not sent again")
	}
	hear(&Episode{Run: 4, Episode: 1, Seq: 1}, &Reply{ID: id + 5, Seq: 2}, &Reply{ID: id, Body: map[string]any{"run": int64(4)}, Seq: 3},
		&Episode{Run: 4, Episode: 2, Seq: 4}, &Episode{Run: 4, Episode: 1, Seq: 1}, &Done{Run: 4, Reason: "finished", Seq: 5})
	if asked.answer == nil {
		t.Error("no answer")
	}
	if run.Number != 4 || len(run.results) != 2 || run.Done == nil || len(r.runs)+len(r.early)+len(r.open) != 0 {
		t.Errorf("%+v of %+v", run, r)
	}
	asked, _ = r.ask(&Save{}, nil, 1000)
	want(t, heard(t, [][]byte{r.giveUp(asked)}, "request"), fmt.Sprintf("cancel request=%d", asked.id))
	hear(&Error{ID: &asked.id, Code: CodeCancelled, Seq: 6}, &Reply{ID: asked.id + 1, Seq: 7})
	if asked.answer != nil || len(r.open) != 0 {
		t.Errorf("a request that was given up got an answer: %+v", r)
	}
	hear(&Welcome{Session: "t"})
	if !errors.Is(r.lost, ErrLost) {
		t.Error("the loss was not heard")
	}
	if _, err := r.ask(&Load{State: make([]byte, 2000)}, nil, 1000); err == nil {
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
		{&Run{Episodes: 1, Mode: ModeLearn, AnswerTimeout: 60, Retries: Ptr[int64](1), Clock: ClockRule{}}, "run agents=[] environment= id=0"},
		{&Run{AnswerTimeout: math.Inf(1), Retries: Ptr[int64](0), MaxTurns: 3, OnTimeout: BreachRandom, Clock: ClockRule{Decision: 2}},
			"run agents=[] answer_timeout=<nil> clock=map[decision:2] environment= id=0 max_turns=3 on_timeout=random retries=0"},
		{&Spec{}, "spec"},
		{&Spec{Seats: 1, Discount: Ptr(1.0), PerfectInformation: Ptr(true)}, "spec"},
		{&Spec{Seats: 2, Discount: Ptr(0.0), PerfectInformation: Ptr(false)}, "spec discount=0 perfect_information=false seats=2"},
		{&Hello{Version: 1, Role: RoleAgent, Offers: []Offer{{Name: "a"}, {Name: "b", Capacity: Ptr(0)}}},
			"hello offers=[map[name:a] map[capacity:0 name:b]] role=agent version=1"},
		{&Welcome{Version: 1, Heartbeat: 1, PeerTimeout: 30, Limits: Limits{Depth: 32}}, "welcome name= session="},
		{&Welcome{Version: 1, PeerTimeout: 30, Limits: Limits{Depth: 9}}, "welcome heartbeat=0 limits=map[depth:9] name= session="},
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
	_, _, do := agents(t)
	do("welcome", "session", "s", "name", "n", "resumed", true, "limits", map[string]any{"frame": 500})
	start := []any{"seq", 3, "episode", 9, "match", 3, "seat", 0, "turn", 0, "seed", 1, "observation", "large"}
	for range 2 {
		want(t, hear(t, do("start", start...), "code", "answers"), "error code=crashed answers=3")
	}
	want(t, hear(t, do("message", "seq", 4, "id", 8, "instance", 7, "body", make([]byte, 1000)), "code", "id"), "error code=crashed id=8")
	want(t, hear(t, do("message", "seq", 5, "id", 9, "instance", 7, "body", 1), "id", "body"), "reply id=9 body=1")
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

func TestAWaitingRunIsTold(t *testing.T) {
	r := newRequests()
	var told []string
	r.warn = func(line string) { told = append(told, line) }
	run := &RunHandle{Number: 5}
	r.runs[5] = run
	for _, waits := range []string{"", "agent 3 is busy", "agent 3 is busy", ""} {
		r.event(5, &Progress{Run: 5, Waiting: waits})
	}
	if len(told) != 1 || told[0] != "run 5 waits: agent 3 is busy" {
		t.Errorf("%q", told)
	}
}
