package dovetail_test

import (
	"bufio"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"dovetail.example/dovetail"
)

// broker starts the real broker on a free port of the loopback and returns its address.
func broker(t *testing.T, options ...string) string {
	t.Helper()
	command := os.Getenv("DOVETAIL")
	if command == "" {
		command = "dovetail"
	}
	path, err := exec.LookPath(command)
	if err != nil {
		t.Skipf("there is no %s; set DOVETAIL to the path of the dovetail command", command)
	}
	journal := filepath.Join(t.TempDir(), "test.journal")
	options = append([]string{"broker", "--bind", "tcp://127.0.0.1:*", "--journal", journal}, options...)
	process := exec.Command(path, options...)
	process.Stderr = os.Stderr
	out, err := process.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := process.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = process.Process.Signal(syscall.SIGTERM)
		_ = process.Wait()
	})
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		words := strings.Fields(lines.Text())
		if len(words) > 0 && strings.Contains(words[len(words)-1], "://") {
			go func() {
				for lines.Scan() {
				}
			}()
			return words[len(words)-1]
		}
	}
	t.Fatal("the broker does not start")
	return ""
}

// nim has a heap of which two seats take one or two in turn; who takes the last wins.
type nim struct{ heap, left, turn int }

func (n *nim) Init() (*dovetail.Spec, error) {
	return &dovetail.Spec{
		Seats:             2,
		ObservationSpaces: []dovetail.Space{&dovetail.Box{Shape: []int{1}, Low: 0, High: n.heap, DType: dovetail.Int8}},
		ActionSpaces:      []dovetail.Space{&dovetail.Discrete{N: 2, Start: 1}},
		RewardRange:       &[2]float64{-1, 1},
	}, nil
}

func (n *nim) Start(int64) (*dovetail.Turn, error) {
	n.left, n.turn = n.heap, 0
	return n.next(), nil
}

func (n *nim) Step(actions []dovetail.SeatValue) (*dovetail.Turn, error) {
	take, _ := dovetail.AsInt(actions[0].Value)
	if take < 1 || int(take) > n.left {
		return nil, dovetail.Illegal(actions[0].Seat, "%d of %d cannot be taken", take, n.left)
	}
	n.left -= int(take)
	n.turn++
	return n.next(), nil
}

func (n *nim) next() *dovetail.Turn {
	seen := dovetail.NewTensor([]int8{int8(n.left)})
	seat := n.turn % 2
	if n.left == 0 {
		outcome := []float64{float64(seat), float64(1 - seat)} // who would be next has lost
		return &dovetail.Turn{Terminated: true, Outcome: outcome, Seats: []dovetail.View{
			{Seat: 0, Observation: seen, Reward: 2*outcome[0] - 1}, {Seat: 1, Observation: seen, Reward: 2*outcome[1] - 1}}}
	}
	legal := []int64{1, 2}[:min(n.left, 2)]
	return &dovetail.Turn{ToAct: []int{seat}, Seats: []dovetail.View{{Seat: seat, Observation: seen, Legal: legal}}}
}

func (n *nim) Text(int) string               { return strings.Repeat("|", n.left) }
func (n *nim) Message(body any) (any, error) { return []any{body, n.heap}, nil }

// taker plays well: it leaves a multiple of three.
type taker struct {
	ends int64
	free chan struct{} // until it is closed the message "wait" is not answered
}

func (t *taker) Step(_ context.Context, d *dovetail.Decision) (any, error) {
	if d.Text == "" || d.HasText != (d.Text != "") {
		return nil, errors.New("no text")
	}
	if take := d.Observation.(*dovetail.Tensor).Int(0) % 3; take != 0 {
		return take, nil
	}
	return d.Random(), nil
}

func (t *taker) End(*dovetail.Seat, *dovetail.End) error {
	t.ends++
	return nil
}

func (t *taker) Message(body any) (any, error) {
	if body == "wait" {
		<-t.free
	}
	return t.ends, nil
}
func (t *taker) Save() ([]byte, error) { return []byte{byte(t.ends)}, nil }
func (t *taker) Load(state []byte) error {
	if len(state) != 1 {
		return errors.New("no state of a taker")
	}
	t.ends = int64(state[0])
	return nil
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestWithTheRealBroker(t *testing.T) {
	t.Setenv("DOVETAIL_TOKEN", "open sesame")
	address := broker(t)
	config := dovetail.Config{Address: address, Token: "open sesame"}
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	_, err := dovetail.Connect(ctx, dovetail.Config{Address: address, Token: "wrong"})
	var refused *dovetail.RefusedError
	if !errors.As(err, &refused) || refused.Code != dovetail.CodeAccess {
		t.Errorf("a wrong token got %v", err)
	}

	serving, stop := context.WithCancel(ctx)
	served := make(chan error, 2)
	free := make(chan struct{})
	go func() {
		served <- dovetail.ServeEnvironments(serving, config, dovetail.EnvironmentType{
			Name: "nim", Options: []dovetail.Option{{Name: "heap", Default: 7}},
			New: func(o dovetail.Options) (dovetail.Environment, error) { return &nim{heap: o.Int("heap")}, nil },
		})
	}()
	go func() {
		served <- dovetail.ServeAgents(serving, config, dovetail.AgentType{
			Name: "taker", Wants: []dovetail.Want{dovetail.WantText}, Capacity: dovetail.Unlimited,
			New: func(dovetail.Options, int64) (dovetail.Agent, error) { return &taker{free: free}, nil },
		})
	}()

	e, err := dovetail.Connect(ctx, config)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	must(t, e.Expect(ctx, []string{"nim"}, []string{"taker"}))
	agent, err := e.Create(ctx, dovetail.ExperimentCreate{Agent: "taker", Seed: 1})
	must(t, err)

	t.Run("run", func(t *testing.T) {
		check := true
		run, err := e.Run(ctx, dovetail.Run{Environment: "nim", Agents: []any{agent, agent}, Episodes: 50,
			Configuration: map[string]any{"heap": 8}, Concurrency: 4, Check: &check})
		must(t, err)
		seen := map[int64]bool{}
		for episode, err := range run.Episodes(ctx) {
			must(t, err)
			seen[episode.Index] = true
			if !episode.Scored || episode.Outcome[0] != 1 || episode.Seats[1].Total != -1 {
				t.Errorf("%+v", episode)
			}
		}
		if len(seen) != 50 || run.Progress.Finished != 50 || run.Done.Reason != "finished" {
			t.Errorf("%d results, %+v", len(seen), run)
		}
		ends, err := e.Message(ctx, agent, nil)
		must(t, err)
		if ends != int64(100) {
			t.Errorf("%v ends", ends)
		}
	})

	t.Run("a loop that is left ends its run", func(t *testing.T) {
		other, err := e.Create(ctx, dovetail.ExperimentCreate{Agent: "taker"})
		must(t, err)
		run, err := e.Run(ctx, dovetail.Run{Environment: "nim", Agents: []any{other, other}, Episodes: 1_000_000})
		must(t, err)
		for _, err := range run.Episodes(ctx) {
			must(t, err)
			break
		}
		err = run.Cancel(ctx)
		if !errors.As(err, &refused) {
			t.Errorf("the run goes on: %v", err)
		}
	})

	t.Run("states", func(t *testing.T) {
		state, err := e.Save(ctx, agent, "champion")
		must(t, err)
		other, err := e.Create(ctx, dovetail.ExperimentCreate{Agent: "taker", StateName: dovetail.Ptr("champion")})
		must(t, err)
		if ends, err := e.Message(ctx, other, nil); err != nil || ends != int64(state[0]) {
			t.Errorf("%v %v", ends, err)
		}
		must(t, e.Load(ctx, other, []byte{3}))
		must(t, e.LoadNamed(ctx, other, "champion"))
		if err := e.Load(ctx, other, []byte{}); !errors.As(err, &refused) {
			t.Errorf("no state got %v", err)
		}
		must(t, e.Cleanup(ctx, other))
		if err := e.Cleanup(ctx, other); !errors.As(err, &refused) || refused.Code != dovetail.CodeUnknown {
			t.Errorf("a second cleanup got %v", err)
		}
	})

	t.Run("requests that end", func(t *testing.T) {
		wait := map[string]any{"instance": agent, "body": "wait", "timeout": 0.05}
		if _, err := e.Request(ctx, "message", wait); !errors.As(err, &refused) || refused.Code != dovetail.CodeTimeout {
			t.Errorf("a request that was not answered in time got %v", err)
		}
		soon, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
		defer cancel()
		if _, err := e.Message(soon, agent, "wait"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a request that was given up got %v", err)
		}
		close(free)
		if ends, err := e.Message(ctx, agent, "again"); err != nil || ends != int64(100) {
			t.Errorf("%v %v", ends, err)
		}
	})

	t.Run("stepwise and watched", func(t *testing.T) {
		must(t, e.Watch(ctx, 0, true))
		run, err := e.Run(ctx, dovetail.Run{Environment: "nim", Agents: []any{agent, agent}, Stepwise: true})
		must(t, err)
		turn, err := run.Start(ctx)
		must(t, err)
		if body, err := run.Message(ctx, "hello"); err != nil || body.([]any)[1] != int64(7) {
			t.Errorf("%v %v", body, err)
		}
		steps := 0
		for ; !turn.Terminated; steps++ {
			turn, err = run.Step(ctx)
			must(t, err)
		}
		results, err := run.Wait(ctx)
		must(t, err)
		if len(results) != 1 || results[0].Turns != steps {
			t.Errorf("%d steps, %+v", steps, results)
		}
		watched := 0
		for turn, err := range e.Turns(ctx, 10*time.Second) {
			must(t, err)
			if turn.Text == nil || *turn.Text == "" && !turn.Terminated {
				t.Errorf("a turn without text: %+v", turn)
			}
			watched++
			if turn.Terminated {
				break
			}
		}
		if watched != steps+1 {
			t.Errorf("%d turns were watched of %d", watched, steps+1)
		}
		must(t, e.Watch(ctx, 0, false))
	})

	t.Run("abandoned", func(t *testing.T) {
		run, err := e.Run(ctx, dovetail.Run{Environment: "nim", Agents: []any{agent, agent}, Episodes: 2, Stepwise: true})
		must(t, err)
		_, err = run.Start(ctx)
		must(t, err)
		turn, err := run.Restart(ctx)
		for must(t, err); !turn.Terminated; must(t, err) {
			turn, err = run.Step(ctx)
		}
		results, err := run.Wait(ctx)
		must(t, err)
		if len(results) != 2 || results[0].Reason != dovetail.ReasonTruncated || results[0].Outcome != nil || results[0].Blame != nil {
			t.Errorf("%+v", results)
		}
	})

	t.Run("control", func(t *testing.T) {
		run, err := e.Run(ctx, dovetail.Run{Environment: "nim", Agents: []any{agent, agent}, Episodes: 1000000})
		must(t, err)
		must(t, run.Pause(ctx))
		must(t, run.Resume(ctx))
		must(t, run.Cancel(ctx))
		if _, err := run.Wait(ctx); err != nil {
			t.Errorf("cancelled by ourselves, and yet %v", err)
		}
		if _, err := e.Run(ctx, dovetail.Run{Environment: "chess"}); !errors.As(err, &refused) {
			t.Errorf("no such environment got %v", err)
		}
		run, err = e.Run(ctx, dovetail.Run{Environment: "nim", Agents: []any{agent, agent}, Configuration: map[string]any{"stones": 1}})
		if err == nil {
			_, err = run.Wait(ctx)
		}
		if err == nil || !strings.Contains(err.Error(), "stones") {
			t.Errorf("an option that there is not got %v", err)
		}
	})

	stop()
	for range 2 {
		if err := <-served; err != nil {
			t.Error(err)
		}
	}
	// Each peer's bye travels on a connection of its own: none is read for certain before what is asked on this one.
	for left := 2; left != 1; {
		catalogue, err := e.Catalogue(ctx)
		if err != nil {
			t.Fatalf("%d peers are left of which one only has not said bye: %v", left, err)
		}
		left = len(catalogue["peers"].([]any))
	}
}
