package dovetail

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"time"
)

// requests is an experiment's end of the protocol without the socket: what was asked, what came. An Experiment
// puts a link around it.
type requests struct {
	ids     int64
	open    []*pending
	runs    map[int64]*RunHandle
	early   map[int64][]Message // of runs whose reply is still to come
	inbox   inbox
	turns   []*WatchedTurn
	onEvent func(Message)
	warn    func(string)
	known   bool // whether there was a welcome
	lost    error
}

// pending is a request; it is open until its answer has come.
type pending struct {
	id     int64
	run    *RunHandle // that is to come of it, if one is
	frame  []byte
	answer Message
}

const (
	turnsKept    = 1 << 16 // watched turns that wait to be taken
	problemsKept = 1000    // errors that a run keeps
)

func newRequests() *requests {
	return &requests{inbox: newInbox(), runs: map[int64]*RunHandle{}, early: map[int64][]Message{}}
}

// Request is any message of an experiment that is answered, by its type and its own fields as SPEC.md names them,
// without type and id.
type Request struct {
	Type   string
	ID     int64
	Fields map[string]any
}

func (m *Request) kind() string   { return m.Type }
func (m *Request) setID(id int64) { m.ID = id }
func (m *Request) wire(w *wire) {
	need(w, "id", &m.ID, integer)
	for key, value := range m.Fields {
		w.key(key)
		w.appendValue(value)
	}
}

// request is a message that is answered.
type request interface {
	Message
	setID(id int64)
}

// ask numbers a request; run is what the reply numbers, if a run is asked for.
func (r *requests) ask(m request, run *RunHandle, limit int) (*pending, error) {
	r.ids++
	m.setID(r.ids)
	frame, err := Encode(m)
	if err == nil && len(frame) > limit {
		err = fmt.Errorf("a request of %d bytes; the broker reads at most %d", len(frame), limit)
	}
	if err != nil {
		return nil, err
	}
	p := &pending{id: r.ids, run: run, frame: frame}
	r.open = append(r.open, p)
	return p, nil
}

// giveUp forgets a request; it returns the frame that cancels it.
func (r *requests) giveUp(p *pending) []byte {
	r.open = slices.DeleteFunc(r.open, func(each *pending) bool { return each == p })
	p, _ = r.ask(&Cancel{Request: &p.id}, nil, math.MaxInt)
	return p.frame
}

// take hears messages; it returns frames to send again.
func (r *requests) take(messages []Message) (again [][]byte) {
	for _, message := range messages {
		if !r.inbox.take(message) {
			continue
		}
		switch m := message.(type) {
		case *Welcome:
			switch {
			case m.Resumed:
				for _, p := range r.open {
					again = append(again, p.frame)
				}
			case r.known:
				r.lose(ErrLost)
			}
			r.known = true
		case *Reply:
			r.answered(m.ID, m)
		case *Saved:
			r.answered(m.ID, m)
		case *Error:
			if m.ID != nil {
				r.answered(*m.ID, m)
			} else {
				for _, run := range r.runs {
					run.Problems = append(run.Problems[max(0, len(run.Problems)+1-problemsKept):], m.Message)
				}
			}
		case *Episode:
			r.event(m.Run, m)
		case *Progress:
			r.event(m.Run, m)
		case *Done:
			r.event(m.Run, m)
		case *WatchedTurn:
			if r.onEvent != nil {
				r.onEvent(m)
			}
			if r.turns = append(r.turns, m); len(r.turns) > turnsKept {
				r.turns = slices.Delete(r.turns, 0, turnsKept/2)
			}
		}
	}
	return again
}

// lose ends everything of the session.
func (r *requests) lose(err error) {
	if r.lost == nil {
		r.lost = err
	}
}

func (r *requests) answered(id int64, m Message) {
	i := slices.IndexFunc(r.open, func(p *pending) bool { return p.id == id })
	if i < 0 {
		return
	}
	p := r.open[i]
	p.answer = m
	r.open = slices.Delete(r.open, i, i+1)
	run := p.run
	if reply, ok := m.(*Reply); ok && run != nil {
		body, _ := reply.Body.(map[string]any)
		if number, ok := AsInt(body["run"]); ok {
			run.Number = number
			r.runs[number] = run
			for _, each := range r.early[number] {
				r.tell(run, each)
			}
		}
	}
	if !r.runAsked() {
		clear(r.early)
	}
}

// runAsked says whether the number of a run is still to come.
func (r *requests) runAsked() bool {
	return slices.ContainsFunc(r.open, func(p *pending) bool { return p.run != nil })
}

func (r *requests) tell(run *RunHandle, m Message) {
	before := run.Progress.Waiting
	run.hear(m)
	if waits := run.Progress.Waiting; waits != before && waits != "" && r.warn != nil {
		r.warn(line(fmt.Sprintf("run %d waits: %s", run.Number, waits)))
	}
	if run.Done != nil {
		delete(r.runs, run.Number)
	}
}

func (r *requests) event(number int64, m Message) {
	if r.onEvent != nil {
		r.onEvent(m)
	}
	if run := r.runs[number]; run != nil {
		r.tell(run, m)
	} else if r.runAsked() {
		r.early[number] = append(r.early[number], m)
	}
}

// -- the experiment ------------------------------------------------------------------------------------

// Experiment is run control as a peer of the broker. It is to be used by one goroutine at a time.
type Experiment struct {
	link  *link
	state *requests
}

// Connect connects to a broker as an experiment.
func Connect(ctx context.Context, config Config) (*Experiment, error) {
	config.GiveUp = cmp.Or(config.GiveUp, time.Minute)
	l, err := dial(ctx, config, config.hello(RoleExperiment, nil))
	if err != nil {
		return nil, err
	}
	e := &Experiment{link: l, state: newRequests()}
	e.state.warn = l.warn
	if config.Ready != nil {
		config.Ready(l.welcome())
	}
	return e, nil
}

// Name returns the peer's name: its own, or the one that the broker chose.
func (e *Experiment) Name() string { return e.link.welcome().Name }

// OnEvent has a function called with each *Episode, *Progress, *Done and *WatchedTurn in the order of arrival, while
// a method of the experiment waits for something.
func (e *Experiment) OnEvent(f func(Message)) { e.state.onEvent = f }

// Close sends bye; runs in progress are cancelled.
func (e *Experiment) Close() { e.link.close() }

// Wait takes what the broker has sent, and waits a little for it if there is nothing. It fails if the broker has
// left or does not know this experiment any more.
func (e *Experiment) Wait(ctx context.Context) error {
	if e.state.lost != nil {
		return e.state.lost
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	messages, err := e.link.receive()
	if err != nil {
		e.state.lose(err)
		return err
	}
	again := e.state.take(messages)
	if len(messages) == 0 && e.link.departed() { // what came before the bye counts
		e.state.lose(fmt.Errorf("the broker has left: %w", ErrLost))
	}
	if e.state.lost != nil {
		return e.state.lost
	}
	return e.link.send(again)
}

// Request sends any request of SPEC.md by its type and fields, and returns the *Reply or *Saved that answers it. An
// error of the broker is a *RefusedError. When ctx ends first, the request is cancelled.
func (e *Experiment) Request(ctx context.Context, kind string, values map[string]any) (Message, error) {
	return e.request(ctx, &Request{Type: kind, Fields: values}, nil)
}

func (e *Experiment) request(ctx context.Context, m request, run *RunHandle) (Message, error) {
	if e.state.lost != nil {
		return nil, e.state.lost
	}
	p, err := e.state.ask(m, run, e.link.welcome().Limits.Frame)
	if err != nil {
		return nil, err
	}
	err = e.link.send([][]byte{p.frame})
	for err == nil && p.answer == nil {
		err = e.Wait(ctx)
	}
	switch answer := p.answer.(type) {
	case nil:
		if e.state.lost == nil && ctx.Err() != nil {
			_ = e.link.send([][]byte{e.state.giveUp(p)})
		}
		return nil, err
	case *Error:
		return nil, &RefusedError{answer.Code, answer.Message}
	default:
		return answer, nil
	}
}

// ask sends a request that is answered with a reply, and returns its body.
func (e *Experiment) ask(ctx context.Context, m request, run *RunHandle) (any, error) {
	answer, err := e.request(ctx, m, run)
	if err != nil {
		return nil, err
	}
	reply, ok := answer.(*Reply)
	if !ok {
		return nil, fmt.Errorf("the broker answered %s with a %s", m.kind(), answer.kind())
	}
	return reply.Body, nil
}

// Catalogue returns the environments, agents and runs at the broker, in the form of SPEC.md.
func (e *Experiment) Catalogue(ctx context.Context) (map[string]any, error) {
	body, err := e.ask(ctx, &Catalogue{}, nil)
	if err != nil {
		return nil, err
	}
	catalogue, ok := body.(map[string]any)
	if !ok {
		return nil, errors.New("the catalogue is not a map")
	}
	return catalogue, nil
}

// Expect waits until environments and agent types of these names are offered, or ctx is done.
func (e *Experiment) Expect(ctx context.Context, environments, agents []string) error {
	for {
		catalogue, err := e.Catalogue(ctx)
		if err != nil {
			return err
		}
		missing := absent(catalogue["environments"], environments)
		if missing == "" {
			if missing = absent(catalogue["agents"], agents); missing == "" {
				return nil
			}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("no peer offers %s: %w", missing, ctx.Err())
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func absent(offers any, names []string) string {
	list, _ := offers.([]any)
	for _, name := range names {
		if !slices.ContainsFunc(list, func(offer any) bool {
			m, _ := offer.(map[string]any)
			return m["name"] == name
		}) {
			return name
		}
	}
	return ""
}

// within is the timeout of a request of an agent or environment, by the time that ctx leaves for it; 0, that is the
// contract's default, if ctx has no deadline. It ends after ctx does, so that the error is always that of ctx.
func within(ctx context.Context) float64 {
	if deadline, ok := ctx.Deadline(); ok {
		return max(0, time.Until(deadline).Seconds()) + 1
	}
	return 0
}

// Create makes an agent and returns the number of the instance. Like all that an agent or environment is asked, it
// fails after two minutes, unless ctx has a deadline or the message a timeout.
func (e *Experiment) Create(ctx context.Context, m ExperimentCreate) (int64, error) {
	m.Timeout = cmp.Or(m.Timeout, within(ctx))
	body, err := e.ask(ctx, &m, nil)
	if err != nil {
		return 0, err
	}
	fields, _ := body.(map[string]any)
	instance, ok := AsInt(fields["instance"])
	if !ok {
		return 0, errors.New("the reply to create names no instance")
	}
	return instance, nil
}

// Save returns an agent's state; if stateName is not empty, the broker also stores it under that name.
func (e *Experiment) Save(ctx context.Context, instance int64, stateName string) ([]byte, error) {
	m := &Save{Instance: instance, Timeout: within(ctx)}
	if stateName != "" {
		m.StateName = &stateName
	}
	answer, err := e.request(ctx, m, nil)
	if err != nil {
		return nil, err
	}
	saved, ok := answer.(*Saved)
	if !ok {
		return nil, errors.New("the broker answered save without a state")
	}
	return saved.State, nil
}

// Load restores a saved state of an agent.
func (e *Experiment) Load(ctx context.Context, instance int64, state []byte) error {
	_, err := e.ask(ctx, &Load{Instance: instance, State: state, Timeout: within(ctx)}, nil)
	return err
}

// LoadNamed restores a state that the broker stores under a name.
func (e *Experiment) LoadNamed(ctx context.Context, instance int64, stateName string) error {
	_, err := e.ask(ctx, &Load{Instance: instance, StateName: &stateName, Timeout: within(ctx)}, nil)
	return err
}

// Cleanup releases an agent.
func (e *Experiment) Cleanup(ctx context.Context, instance int64) error {
	_, err := e.ask(ctx, &Cleanup{Instance: instance, Timeout: within(ctx)}, nil)
	return err
}

// Message sends a message to an agent and returns its answer.
func (e *Experiment) Message(ctx context.Context, instance int64, body any) (any, error) {
	return e.ask(ctx, &ExperimentMessage{Instance: &instance, Body: body, Timeout: within(ctx)}, nil)
}

// Watch subscribes to the turns of a run, or of all runs if run is 0; Turns yields them.
func (e *Experiment) Watch(ctx context.Context, run int64, on bool) error {
	m := &Watch{On: &on}
	if run != 0 {
		m.Run = &run
	}
	_, err := e.ask(ctx, m, nil)
	return err
}

// Turns yields the watched turns until none comes for a time.
func (e *Experiment) Turns(ctx context.Context, timeout time.Duration) iter.Seq2[*WatchedTurn, error] {
	return func(yield func(*WatchedTurn, error) bool) {
		last := time.Now()
		for {
			for len(e.state.turns) > 0 {
				turn := e.state.turns[0]
				e.state.turns = e.state.turns[1:]
				if !yield(turn, nil) {
					return
				}
				last = time.Now()
			}
			if time.Since(last) > timeout {
				return
			}
			if err := e.Wait(ctx); err != nil {
				yield(nil, err)
				return
			}
		}
	}
}

// RunHandle is a run in progress.
type RunHandle struct {
	Number   int64
	Progress Progress
	Done     *Done    // how the run ended, once it has
	Problems []string // what went wrong, in one line each

	experiment *Experiment
	results    []*Episode
	asked      DoneReason // how this experiment itself ended the run, if it did
}

// Run begins to play episodes.
func (e *Experiment) Run(ctx context.Context, m Run) (*RunHandle, error) {
	run := &RunHandle{Number: -1, experiment: e}
	if _, err := e.ask(ctx, &m, run); err != nil {
		return nil, err
	}
	if run.Number < 0 {
		return nil, errors.New("the reply to run names no run")
	}
	return run, nil
}

func (r *RunHandle) hear(message Message) {
	switch m := message.(type) {
	case *Episode:
		r.results = append(r.results, m)
	case *Progress:
		r.Progress = *m
	case *Done:
		r.Done = m
		r.Progress.Finished, r.Progress.Running = m.Finished, 0
	}
}

// Next returns the next result, in the order in which episodes end, and nil after the last. Interrupted episodes
// have Scored false. It fails if the run failed or ended otherwise than it was asked to.
func (r *RunHandle) Next(ctx context.Context) (*Episode, error) {
	for len(r.results) == 0 && r.Done == nil {
		if err := r.experiment.Wait(ctx); err != nil && len(r.results) == 0 && r.Done == nil {
			return nil, err
		}
	}
	if len(r.results) > 0 {
		result := r.results[0]
		r.results = r.results[1:]
		return result, nil
	}
	switch r.Done.Reason {
	case DoneReasonFinished, r.asked:
		return nil, nil
	case DoneReasonFailed:
		return nil, fmt.Errorf("the run failed: %s", line(r.Done.Message))
	}
	return nil, fmt.Errorf("the run was %s after %d episodes: %s", r.Done.Reason, r.Done.Finished, line(r.Done.Message))
}

// leaving is how long a loop that was left waits for the broker to end its run.
const leaving = 10 * time.Second

// Episodes yields the results until the run is over; see Next. Leaving the loop early cancels the run.
func (r *RunHandle) Episodes(ctx context.Context) iter.Seq2[*Episode, error] {
	return func(yield func(*Episode, error) bool) {
		defer func() {
			if r.Done == nil {
				short, over := context.WithTimeout(context.WithoutCancel(ctx), leaving)
				defer over()
				_ = r.Cancel(short) // without a connection the broker ends it by itself
			}
		}()
		for {
			episode, err := r.Next(ctx)
			if episode == nil && err == nil || !yield(episode, err) || err != nil {
				return
			}
		}
	}
}

// Wait returns the remaining results, once the run is over.
func (r *RunHandle) Wait(ctx context.Context) ([]*Episode, error) {
	var all []*Episode
	for episode, err := range r.Episodes(ctx) {
		if err != nil {
			return all, err
		}
		all = append(all, episode)
	}
	return all, nil
}

// tell sends a request of which only counts that it was fulfilled.
func (r *RunHandle) tell(ctx context.Context, m request) error {
	_, err := r.experiment.ask(ctx, m, nil)
	return err
}

// Pause starts no new episodes for now.
func (r *RunHandle) Pause(ctx context.Context) error { return r.tell(ctx, &Pause{Run: r.Number}) }

// Resume continues after Pause.
func (r *RunHandle) Resume(ctx context.Context) error {
	return r.tell(ctx, &Pause{Run: r.Number, Paused: Ptr(false)})
}

// Drain finishes the episodes in progress, then ends the run.
func (r *RunHandle) Drain(ctx context.Context) error {
	r.asked = DoneReasonDrained
	return r.tell(ctx, &Drain{Run: r.Number})
}

// Cancel ends this run at once.
func (r *RunHandle) Cancel(ctx context.Context) error {
	r.asked = DoneReasonCancelled
	return r.tell(ctx, &Cancel{Run: &r.Number})
}

// Start begins the next episode of a stepwise run and returns its first turn.
func (r *RunHandle) Start(ctx context.Context) (*WatchedTurn, error) {
	return r.turn(ctx, &ExperimentStart{Run: r.Number})
}

// Restart begins the next episode of a stepwise run like Start; one in progress is truncated first.
func (r *RunHandle) Restart(ctx context.Context) (*WatchedTurn, error) {
	return r.turn(ctx, &ExperimentStart{Run: r.Number, Abandon: true})
}

// Step lets the seats of a stepwise run act once and returns the turn that follows.
func (r *RunHandle) Step(ctx context.Context) (*WatchedTurn, error) {
	return r.turn(ctx, &ExperimentStep{Run: r.Number})
}

func (r *RunHandle) turn(ctx context.Context, m request) (*WatchedTurn, error) {
	body, err := r.experiment.ask(ctx, m, nil)
	if err != nil {
		return nil, err
	}
	turn, err := reread(body, mapOf[WatchedTurn])
	if err != nil {
		return nil, fmt.Errorf("the turn cannot be read: %w", err)
	}
	return &turn, nil
}

// Message sends a message to an environment of this run and returns its answer.
func (r *RunHandle) Message(ctx context.Context, body any) (any, error) {
	return r.experiment.ask(ctx, &ExperimentMessage{Run: &r.Number, Body: body, Timeout: within(ctx)}, nil)
}
