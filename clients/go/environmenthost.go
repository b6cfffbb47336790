package dovetail

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
)

// opened is an environment made for a match, with its episode in progress.
type opened struct {
	name        string // for complaints
	made        []byte // the answer to open
	environment Environment
	seats       int
	episode     int64
	playing     bool // whether there was a start
	wants       [][]Want
	watched     bool

	asked int    // the turn of the step that was asked last; -1 for the start
	said  []byte // in answer to it
	turn  int    // the present one; below 0 after a crash
	toAct []int  // in it
}

// EnvironmentHost holds the environments of one program. It answers what comes twice with the same frames, without
// stepping again.
type EnvironmentHost struct {
	desk
	types    []EnvironmentType
	open     map[int64]*opened
	episodes map[int64]*opened
	failed   *recent[int64, []byte] // answers to open that made none
}

// NewEnvironmentHost returns the host of a program that offers environments.
func NewEnvironmentHost(types ...EnvironmentType) *EnvironmentHost {
	h := &EnvironmentHost{types: types}
	h.clear()
	return h
}

func (h *EnvironmentHost) clear() {
	h.desk = newDesk()
	h.open = map[int64]*opened{}
	h.episodes = map[int64]*opened{}
	h.failed = newRecent[int64, []byte](answersKept)
}

// Role implements Host.
func (h *EnvironmentHost) Role() Role { return RoleEnvironment }

// Offers implements Host.
func (h *EnvironmentHost) Offers() []Offer { return offers(h.types) }

// Handle implements Host.
func (h *EnvironmentHost) Handle(_ context.Context, messages []Message) [][]byte {
	for _, message := range messages {
		h.handle(message)
	}
	return h.take()
}

func (h *EnvironmentHost) handle(message Message) {
	switch m := message.(type) {
	case *EnvironmentStep:
		h.step(m)
	case *EnvironmentStart:
		h.start(m)
	case *Open:
		h.send(h.make(m))
	case *Close:
		h.close(m.Match)
	case *Welcome:
		if !m.Resumed {
			for match := range h.open {
				h.close(match)
			}
			h.clear()
		}
	case *EnvironmentMessage:
		h.answer(m.ID, "the environment in message", func() (Message, error) { return h.message(m) })
	case *EnvironmentLookahead:
		h.answer(m.ID, "the environment in lookahead", func() (Message, error) { return h.lookahead(m) })
	}
}

func (h *EnvironmentHost) make(m *Open) []byte {
	if o, ok := h.open[m.Match]; ok {
		return o.made
	}
	if frame, ok := h.failed.values[m.Match]; ok {
		return frame
	}
	o := &opened{name: "environment " + m.Environment}
	if err := h.tryMake(m, o); err != nil {
		clean(o.name, o.environment)
		frame := mustEncode(&Error{Code: CodeUnavailable, Message: describe(o.name+" in init", err), Match: &m.Match})
		h.failed.put(m.Match, frame)
		return frame
	}
	h.open[m.Match] = o
	return o.made
}

func (h *EnvironmentHost) tryMake(m *Open, o *opened) error {
	t, options, err := find(h.types, "environment", m.Environment, m.Configuration)
	if err != nil {
		return err
	}
	spec, err := protect(func() (*Spec, error) {
		if o.environment, err = t.New(options); err != nil {
			return nil, err
		}
		return o.environment.Init()
	})
	if err != nil {
		return err
	}
	if spec == nil {
		return errors.New("the environment gave no spec")
	}
	own := *spec // the user's may be that of other matches, too
	own.Match, own.Name, own.Seats = m.Match, cmp.Or(own.Name, t.Name), cmp.Or(own.Seats, 1)
	o.seats = own.Seats
	o.made, err = Encode(&own)
	return err
}

func (h *EnvironmentHost) close(match int64) {
	o := h.open[match]
	if o == nil {
		return
	}
	delete(h.open, match)
	if o.playing {
		delete(h.episodes, o.episode)
	}
	clean(o.name, o.environment)
}

func (h *EnvironmentHost) start(m *EnvironmentStart) {
	o := h.open[m.Match]
	if o == nil {
		text := fmt.Sprintf("match %d is not open", m.Match)
		h.refuse(&Error{Code: CodeUnknown, Message: text, Episode: &m.Episode})
		return
	}
	if o.playing && o.episode == m.Episode {
		if o.asked == -1 {
			h.send(o.said)
		}
		return
	}
	if o.playing {
		delete(h.episodes, o.episode)
	}
	h.episodes[m.Episode] = o
	o.playing, o.episode, o.wants, o.watched, o.asked = true, m.Episode, m.Wants, m.Watched, -1
	turn, err := protect(func() (*Turn, error) { return o.environment.Start(m.Seed) })
	h.send(o.finish(turn, err, 0))
}

func (h *EnvironmentHost) step(m *EnvironmentStep) {
	o := h.episodes[m.Episode]
	if o == nil {
		return
	}
	if m.Turn == o.asked {
		h.send(o.said)
		return
	}
	if o.turn != m.Turn || len(o.toAct) == 0 {
		return
	}
	o.asked = m.Turn
	turn, err := protect(func() (*Turn, error) { return o.environment.Step(m.Actions) })
	h.send(o.finish(turn, err, m.Turn+1))
}

// finish makes the frame of what the rules said, and keeps it.
func (o *opened) finish(turn *Turn, err error, number int) []byte {
	if err == nil && turn == nil {
		err = errors.New("the environment gave no turn")
	}
	if err == nil {
		turn.Episode, turn.Turn = o.episode, number
		_, err = protect(func() (any, error) { return nil, o.add(turn) })
	}
	var frame []byte
	if err == nil {
		frame, err = Encode(turn)
	}
	if err == nil {
		o.turn, o.toAct, o.said = number, slices.Clone(turn.ToAct), frame
		return frame
	}
	answer := Error{Code: CodeCrashed, Episode: &o.episode}
	var illegal *IllegalActionError
	if errors.As(err, &illegal) {
		answer.Code, answer.Seat, answer.Message = CodeIllegal, &illegal.Seat, oneLine(err)
	} else {
		where := o.name + " in start"
		if number > 0 {
			where = fmt.Sprintf("%s in turn %d", o.name, number-1)
		}
		answer.Message = failure(where, err)
		o.turn, o.toAct = -1, nil
	}
	o.said = mustEncode(&answer)
	return o.said
}

// add puts in what seats and watchers want.
func (o *opened) add(turn *Turn) (err error) {
	text := func(seat int) *string {
		text := ""
		if texter, ok := o.environment.(Texter); ok {
			text = texter.Text(seat)
		}
		return &text
	}
	if o.watched {
		turn.Text = text(Everybody)
	}
	for i := range turn.Seats {
		view := &turn.Seats[i]
		if view.Seat < 0 || view.Seat >= len(o.wants) {
			continue
		}
		for _, want := range o.wants[view.Seat] {
			switch want {
			case WantText:
				view.Text = text(view.Seat)
			case WantScene:
				if scener, ok := o.environment.(Scener); ok {
					view.Scene, err = scener.Scene(view.Seat)
				}
			case WantAfterstates:
				if foreseer, ok := o.environment.(Foreseer); ok && slices.Contains(turn.ToAct, view.Seat) {
					view.Afterstates, err = foreseer.Afterstates(view.Seat)
				}
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

func (h *EnvironmentHost) message(m *EnvironmentMessage) (Message, error) {
	o := h.open[m.Match]
	if o == nil {
		return nil, &RefusedError{CodeUnknown, fmt.Sprintf("match %d is not open", m.Match)}
	}
	return converse(o.environment, m.ID, m.Body)
}

// -- lookahead -----------------------------------------------------------------------------------------

func (h *EnvironmentHost) lookahead(m *EnvironmentLookahead) (Message, error) {
	o := h.episodes[m.Episode]
	if o == nil || o.turn < 0 {
		return nil, &RefusedError{CodeWrongState, fmt.Sprintf("episode %d is not in progress", m.Episode)}
	}
	if o.turn != m.Turn {
		return nil, &RefusedError{CodeWrongState, fmt.Sprintf("the episode is at turn %d", o.turn)}
	}
	forker, ok := o.environment.(Forker)
	if !ok {
		return nil, &RefusedError{CodeUnavailable, "this environment cannot look ahead"}
	}
	positions := make([]any, len(m.Lines))
	for i, line := range m.Lines {
		fork, err := forker.Fork(m.Seat, m.Seed)
		if err != nil {
			return nil, err
		}
		position, err := follow(fork, o.toAct, o.seats, line)
		if err != nil {
			return nil, err
		}
		positions[i] = position
	}
	return &Reply{ID: m.ID, Body: positions}, nil
}

// follow plays a line on a copy of the episode.
func follow(e Environment, toAct []int, seats int, line [][]any) (*Position, error) {
	position := &Position{ToAct: toAct, Rewards: make([]float64, seats)}
	for _, actions := range line {
		if len(position.ToAct) == 0 {
			position.Error = "the episode would be over"
			break
		}
		if len(actions) != len(position.ToAct) {
			position.Error = fmt.Sprintf("%d actions for the seats %v", len(actions), position.ToAct)
			break
		}
		pairs := make([]SeatValue, len(actions))
		for i, action := range actions {
			pairs[i] = SeatValue{Seat: position.ToAct[i], Value: action}
		}
		turn, err := e.Step(pairs)
		var illegal *IllegalActionError
		if errors.As(err, &illegal) {
			position.Error = oneLine(err)
			break
		}
		if err != nil {
			return nil, err
		}
		for _, view := range turn.Seats {
			if view.Seat >= 0 && view.Seat < seats {
				position.Rewards[view.Seat] += view.Reward
			}
		}
		position.ToAct, position.Seats = turn.ToAct, turn.Seats
		position.Terminated, position.Truncated, position.Outcome = turn.Terminated, turn.Truncated, turn.Outcome
		position.Applied++
	}
	return position, nil
}
