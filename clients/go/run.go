package dovetail

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"
)

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
