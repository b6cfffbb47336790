package dovetail

import (
	"context"
	"errors"
	"fmt"
	"iter"
)

// RunOptions say what to play; fields that are zero have the defaults of SPEC.md.
type RunOptions struct {
	Environment   string
	Agents        []any // seat by seat: an instance number, or the name of an agent that offers itself
	Configuration map[string]any
	Episodes      int64
	Seed          int64   // the master seed of the run
	Seeds         []int64 // the environment's seed of each episode, instead of derived ones
	First         int64
	Evaluate      bool // agents must not change
	Concurrency   int
	Rotate        bool
	Clock         ClockRule
	Patience      float64 // seconds for any answer that no clock bounds; below 0 waits for ever
	MaxTurns      int64
	OnTimeout     string // forfeit, random or truncate
	OnIllegal     string
	Retries       *int64
	Check         bool
	Stepwise      bool
	Secret        bool
	Lookahead     bool
}

// ClockRule says how long seats may think, in seconds; 0 is no limit.
type ClockRule struct {
	Decision  float64
	Episode   float64
	Increment float64
	Margin    float64
}

func (o *RunOptions) values() map[string]any {
	v := map[string]any{"environment": o.Environment, "agents": o.Agents, "configuration": o.Configuration}
	put(v, "episodes", o.Episodes)
	put(v, "seed", o.Seed)
	if o.Seeds != nil {
		v["seeds"] = o.Seeds
	}
	put(v, "first", o.First)
	if o.Evaluate {
		v["mode"] = string(Evaluate)
	}
	put(v, "concurrency", o.Concurrency)
	put(v, "rotate", o.Rotate)
	clock := map[string]any{}
	put(clock, "decision", o.Clock.Decision)
	put(clock, "episode", o.Clock.Episode)
	put(clock, "increment", o.Clock.Increment)
	put(clock, "margin", o.Clock.Margin)
	v["clock"] = clock
	if put(v, "patience", o.Patience); o.Patience < 0 {
		v["patience"] = nil
	}
	put(v, "max_turns", o.MaxTurns)
	put(v, "on_timeout", o.OnTimeout)
	put(v, "on_illegal", o.OnIllegal)
	if o.Retries != nil {
		v["retries"] = *o.Retries
	}
	put(v, "check", o.Check)
	put(v, "stepwise", o.Stepwise)
	put(v, "secret", o.Secret)
	put(v, "lookahead", o.Lookahead)
	return v
}

// Run is a run in progress.
type Run struct {
	Number   int64
	Progress Progress
	Done     *Done    // how the run ended, once it has
	Problems []string // what went wrong, in one line each

	experiment *Experiment
	results    []*Episode
	asked      string // how this experiment itself ended the run, if it did
}

// Run begins to play episodes.
func (e *Experiment) Run(ctx context.Context, o RunOptions) (*Run, error) {
	run := &Run{Number: -1, experiment: e}
	if _, err := e.askFor(ctx, "run", o.values(), run); err != nil {
		return nil, err
	}
	if run.Number < 0 {
		return nil, errors.New("the reply to run names no run")
	}
	return run, nil
}

func (r *Run) hear(message Message) {
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

// Next returns the next result, in the order in which episodes end, and nil once all were told. Interrupted episodes
// have Scored false. It fails if the run failed or ended otherwise than it was asked to.
func (r *Run) Next(ctx context.Context) (*Episode, error) {
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
	case "finished", r.asked:
		return nil, nil
	case "failed":
		return nil, fmt.Errorf("the run failed: %s", r.Done.Message)
	}
	return nil, fmt.Errorf("the run was %s after %d episodes: %s", r.Done.Reason, r.Done.Finished, r.Done.Message)
}

// Episodes has the results, one after another, until the run is over; see Next.
func (r *Run) Episodes(ctx context.Context) iter.Seq2[*Episode, error] {
	return func(yield func(*Episode, error) bool) {
		for {
			episode, err := r.Next(ctx)
			if episode == nil && err == nil || !yield(episode, err) || err != nil {
				return
			}
		}
	}
}

// Wait returns all results that are still to be told, once the run is over.
func (r *Run) Wait(ctx context.Context) ([]*Episode, error) {
	var all []*Episode
	for episode, err := range r.Episodes(ctx) {
		if err != nil {
			return all, err
		}
		all = append(all, episode)
	}
	return all, nil
}

func (r *Run) command(ctx context.Context, kind string, values map[string]any) (any, error) {
	if values == nil {
		values = map[string]any{}
	}
	values["run"] = r.Number
	return r.experiment.ask(ctx, kind, values)
}

// Pause starts no new episodes for now.
func (r *Run) Pause(ctx context.Context) error {
	_, err := r.command(ctx, "pause", nil)
	return err
}

// Resume goes on after Pause.
func (r *Run) Resume(ctx context.Context) error {
	_, err := r.command(ctx, "pause", map[string]any{"paused": false})
	return err
}

// Drain finishes the episodes in progress and starts no other.
func (r *Run) Drain(ctx context.Context) error {
	r.asked = "drained"
	_, err := r.command(ctx, "drain", nil)
	return err
}

// Cancel ends everything of this run now.
func (r *Run) Cancel(ctx context.Context) error {
	r.asked = "cancelled"
	_, err := r.command(ctx, "cancel", nil)
	return err
}

// Start begins the next episode of a stepwise run and returns its first turn.
func (r *Run) Start(ctx context.Context) (*WatchedTurn, error) { return r.turn(ctx, "start") }

// Step lets the seats of a stepwise run act once and returns the turn that follows.
func (r *Run) Step(ctx context.Context) (*WatchedTurn, error) { return r.turn(ctx, "step") }

func (r *Run) turn(ctx context.Context, kind string) (*WatchedTurn, error) {
	body, err := r.command(ctx, kind, nil)
	if err != nil {
		return nil, err
	}
	frame, err := EncodeValue(body)
	if err != nil {
		return nil, err
	}
	message, wrong := NewDecoder(RoleExperiment).Decode(frame)
	if wrong != nil {
		return nil, wrong
	}
	turn, ok := message.(*WatchedTurn)
	if !ok {
		return nil, fmt.Errorf("the broker answered %s without a turn", kind)
	}
	return turn, nil
}

// Message sends a message to an environment of this run and returns its answer.
func (r *Run) Message(ctx context.Context, body any) (any, error) {
	return r.command(ctx, "message", map[string]any{"body": body})
}
