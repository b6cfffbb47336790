package dovetail

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	zmq "github.com/pebbe/zmq4"
)

// router is a broker's socket under the control of a test.
type router struct {
	t       *testing.T
	context *zmq.Context
	socket  *zmq.Socket
	address string
	peer    []byte
}

func bind(t *testing.T, address string) *router {
	t.Helper()
	context, err := zmq.NewContext()
	if err != nil {
		t.Fatal(err)
	}
	socket, err := context.NewSocket(zmq.ROUTER)
	if err != nil {
		t.Fatal(err)
	}
	if err := socket.Bind(address); err != nil {
		t.Fatal(err)
	}
	endpoint, err := socket.GetLastEndpoint()
	if err != nil {
		t.Fatal(err)
	}
	r := &router{t: t, context: context, socket: socket, address: endpoint}
	t.Cleanup(r.close)
	return r
}

func (r *router) close() {
	if r.socket != nil {
		_ = r.socket.SetLinger(0)
		_ = r.socket.Close()
		_ = r.context.Term()
		r.socket = nil
	}
}

// hear returns the next frames, in short, or "" if none come.
func (r *router) hear(fields ...string) string {
	r.t.Helper()
	_ = r.socket.SetRcvtimeo(30 * time.Second)
	parts, err := r.socket.RecvMessageBytes(0)
	if err != nil {
		return ""
	}
	r.peer = parts[0]
	return hear(r.t, parts[1:], fields...)
}

func (r *router) say(messages ...Message) {
	r.t.Helper()
	parts := []any{r.peer}
	for _, m := range messages {
		parts = append(parts, mustEncode(m))
	}
	if _, err := r.socket.SendMessage(parts...); err != nil {
		r.t.Fatal(err)
	}
}

// thinker answers turn 0 at once, and later ones when it is woken.
type thinker struct{ asleep, wake chan struct{} }

func (a *thinker) Step(_ context.Context, d *Decision) (any, error) {
	if d.Turn > 0 {
		close(a.asleep)
		<-a.wake
	}
	return 1, nil
}

func TestABusyAgentKeepsNobodyWaiting(t *testing.T) {
	t.Parallel()
	r := bind(t, "tcp://127.0.0.1:*")
	agent := &thinker{make(chan struct{}), make(chan struct{})}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() {
		served <- ServeAgents(ctx, Config{Address: r.address}, AgentType{Name: "thinker",
			New: func(Options, int64) (Agent, error) { return agent, nil }})
	}()
	want(t, r.hear("role"), "hello role=agent")
	r.say(&Welcome{Session: "s", Heartbeat: 30, PeerTimeout: 30, Limits: DefaultLimits},
		&Create{ID: 1, Instance: 1, Agent: "thinker", Seq: 1},
		&Init{Match: 1, Instance: 1, Spec: Spec{Seats: 1}, Seq: 2})
	want(t, r.hear(), "reply")
	r.say(&AgentStart{Episode: 1, Match: 1, Seq: 3}, &AgentStep{Episode: 1, Turn: 1, Seq: 4})
	want(t, r.hear("turn"), "action turn=0")
	<-agent.asleep
	r.say(&Ping{Number: 1}, &Ping{Number: 2})
	want(t, r.hear("number", "seen"), "pong number=1 seen=4; pong number=2 seen=4")
	close(agent.wake)
	want(t, r.hear("turn"), "action turn=1")
	cancel()
	want(t, r.hear(), "bye")
	if err := <-served; err != nil {
		t.Error(err)
	}
}

func TestANewConnectionAfterSilence(t *testing.T) {
	t.Parallel()
	r := bind(t, "tcp://127.0.0.1:*")
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	served := make(chan error, 1)
	go func() { served <- ServeEnvironments(ctx, Config{Address: r.address}) }()
	want(t, r.hear("resume"), "hello")
	r.say(&Welcome{Session: "s", Heartbeat: 0.1, PeerTimeout: 30, Limits: DefaultLimits})
	first := string(r.peer)
	want(t, r.hear("resume"), "hello resume=s")
	if string(r.peer) == first {
		t.Error("it said hello on the old connection")
	}
	r.say(&Error{Code: CodeNameTaken, Message: "go away"})
	if err := <-served; err == nil {
		t.Error("it continues after a refusal")
	}
}

func TestAClosedExperiment(t *testing.T) {
	t.Parallel()
	r := bind(t, "tcp://127.0.0.1:*")
	e := connected(t, r, Config{}, 30)
	e.Close()
	e.Close()
	want(t, r.hear(), "bye")
	if _, err := e.Catalogue(context.Background()); !errors.Is(err, errClosed) {
		t.Errorf("asked after its end and got %v", err)
	}
}

// connected returns an experiment whose broker is a test.
func connected(t *testing.T, r *router, config Config, heartbeat float64) *Experiment {
	t.Helper()
	config.Address = r.address
	ready := make(chan *Experiment, 1)
	go func() {
		e, err := Connect(context.Background(), config)
		if err != nil {
			t.Error(err)
		}
		ready <- e
	}()
	want(t, r.hear(), "hello")
	r.say(&Welcome{Session: "s", Heartbeat: heartbeat, PeerTimeout: 30, Limits: DefaultLimits})
	return <-ready
}

func TestAnExperimentGivesUp(t *testing.T) {
	t.Parallel()
	r := bind(t, "tcp://127.0.0.1:*")
	var lines []string
	warn := func(line string) { lines = append(lines, line) }
	e := connected(t, r, Config{GiveUp: 3 * time.Second, Warn: warn}, 0.1)
	defer e.Close()
	_, err := e.Catalogue(context.Background())
	if err == nil || !strings.HasSuffix(err.Error(), " s; see whether it still runs") {
		t.Errorf("a silent broker got %v", err)
	}
	if len(lines) != 1 || !strings.HasSuffix(lines[0], " s; waiting up to 3s for it") {
		t.Errorf("a person heard %q", lines)
	}
}

func TestABrokerThatIsBack(t *testing.T) {
	t.Parallel()
	r := bind(t, "tcp://127.0.0.1:*")
	warned := make(chan string, 9)
	e := connected(t, r, Config{Warn: func(line string) { warned <- line }}, 0.1)
	defer e.Close()
	if line := <-warned; !strings.HasSuffix(line, "; waiting up to 1m0s for it") {
		t.Errorf("a person heard %q", line)
	}
	want(t, r.hear("resume"), "hello resume=s")
	r.say(&Welcome{Session: "s", Resumed: true, Heartbeat: 30, Limits: DefaultLimits})
	if line := <-warned; !strings.Contains(line, "is back after") {
		t.Errorf("a person heard %q", line)
	}
}

func TestARequestThatIsGivenUp(t *testing.T) {
	t.Parallel()
	r := bind(t, "tcp://127.0.0.1:*")
	e := connected(t, r, Config{}, 30)
	defer e.Close()
	ctx, cancel := context.WithCancel(context.Background())
	asked := make(chan error, 1)
	go func() {
		_, err := e.Save(ctx, 1, "")
		asked <- err
	}()
	want(t, r.hear("id", "timeout"), "save id=1")
	cancel()
	if err := <-asked; !errors.Is(err, context.Canceled) {
		t.Errorf("given up with %v", err)
	}
	want(t, r.hear("id", "request"), "cancel id=2 request=1")
}

func TestNoBroker(t *testing.T) {
	t.Parallel()
	_, err := Connect(context.Background(), Config{Address: "tcp://127.0.0.1:1", Wait: 200 * time.Millisecond})
	if err == nil || !strings.Contains(err.Error(), "no broker answers at tcp://127.0.0.1:1;") {
		t.Errorf("connected without a broker: %v", err)
	}
	if _, err = Connect(context.Background(), Config{Address: "nonsense"}); err == nil {
		t.Error("connected to nonsense")
	}
}
