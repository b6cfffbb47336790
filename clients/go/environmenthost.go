package dovetail

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
)

// shown is what watchers see of a turn.
type shown struct{ text, scene bool }

// opened is an environment made for a match, with its episode in progress.
type opened struct {
	name        string // for complaints
	environment Environment
	seats       int
	episode     int64
	wants       [][]Want
	always      shown // of every turn
	next        shown // of the next one

	seq   int64 // of the frame that was answered last
	turn  int   // the present one; below 0 if there is none
	toAct []int // in it
}

// EnvironmentHost holds the environments of one program. A repeated message gets the same answer, without another
// step.
type EnvironmentHost struct {
	inbox
	types    []EnvironmentType
	open     map[int64]*opened
	episodes map[int64]*opened
}

// NewEnvironmentHost returns the host of a program that offers environments.
func NewEnvironmentHost(types ...EnvironmentType) *EnvironmentHost {
	return &EnvironmentHost{inbox: newInbox(), types: types, open: map[int64]*opened{}, episodes: map[int64]*opened{}}
}

// Role implements Host.
func (h *EnvironmentHost) Role() Role { return RoleEnvironment }

// Offers implements Host.
func (h *EnvironmentHost) Offers() []Offer { return offers(h.types) }

// Handle implements Host.
func (h *EnvironmentHost) Handle(_ context.Context, messages []Message) [][]byte {
	for _, message := range messages {
		if h.take(message) {
			h.handle(message)
		}
	}
	return h.flush()
}

func (h *EnvironmentHost) handle(message Message) {
	switch m := message.(type) {
	case *EnvironmentStep:
		h.step(m)
	case *EnvironmentStart:
		h.start(m)
	case *Open:
		h.make(m)
	case *Close:
		h.close(m.Match)
	case *Welcome:
		if !m.Resumed {
			for match := range h.open {
				h.close(match)
			}
		}
	case *EnvironmentMessage:
		h.reply(m.Seq, m.ID, "the environment in message", func() (Message, error) { return h.message(m) })
	case *EnvironmentLookahead:
		h.reply(m.Seq, m.ID, "the environment in lookahead", func() (Message, error) { return h.lookahead(m) })
	}
}

func (h *EnvironmentHost) make(m *Open) {
	o := &opened{name: "environment " + m.Environment, episode: -1, turn: -1}
	spec, err := h.tryMake(m, o)
	if err == nil {
		err = h.answer(m.Seq, spec)
	}
	if err != nil {
		clean(o.name, o.environment)
		h.refuse(m.Seq, nil, o.name+" in init", unavailable(err))
		return
	}
	h.open[m.Match] = o
}

func (h *EnvironmentHost) tryMake(m *Open, o *opened) (*Spec, error) {
	t, options, err := find(h.types, "environment", m.Environment, m.Configuration)
	if err != nil {
		return nil, err
	}
	spec, err := protect(func() (*Spec, error) {
		if o.environment, err = t.New(options); err != nil {
			return nil, err
		}
		return o.environment.Init()
	})
	if err != nil {
		return nil, err
	}
	if spec == nil {
		return nil, errors.New("the environment gave no spec")
	}
	own := *spec // the user's may be that of other matches, too
	own.Match, own.Name, own.Seats = m.Match, cmp.Or(own.Name, t.Name), cmp.Or(own.Seats, 1)
	o.seats = own.Seats
	return &own, nil
}

func (h *EnvironmentHost) close(match int64) {
	o := h.open[match]
	if o == nil {
		return
	}
	delete(h.open, match)
	delete(h.episodes, o.episode)
	clean(o.name, o.environment)
}

func (h *EnvironmentHost) start(m *EnvironmentStart) {
	o := h.open[m.Match]
	if o == nil {
		h.refuse(m.Seq, nil, "", &RefusedError{CodeUnknown, fmt.Sprintf("match %d is not open", m.Match)})
		return
	}
	delete(h.episodes, o.episode)
	h.episodes[m.Episode] = o
	o.episode, o.wants, o.always = m.Episode, m.Wants, shown{}
	o.watch(m.Watched, m.Scenes, m.Once)
	h.advance(o, m.Seq, 0, func() (*Turn, error) { return o.environment.Start(m.Seed) })
}

func (h *EnvironmentHost) step(m *EnvironmentStep) {
	o := h.episodes[m.Episode]
	if o == nil || o.turn != m.Turn || len(o.toAct) == 0 {
		text := fmt.Sprintf("no seat must act in turn %d of episode %d", m.Turn, m.Episode)
		h.refuse(m.Seq, nil, "", &RefusedError{CodeUnknown, text})
		return
	}
	o.watch(m.Watched, m.Scenes, m.Once)
	h.advance(o, m.Seq, m.Turn+1, func() (*Turn, error) { return o.environment.Step(m.Actions) })
}

// watch heeds what a start or step asks for watchers.
func (o *opened) watch(text, scene, once bool) {
	o.next = shown{o.always.text || text, o.always.scene || scene}
	if !once {
		o.always = o.next
	}
}

// advance answers a start or step with the turn that the rules make of it.
func (h *EnvironmentHost) advance(o *opened, seq int64, number int, do func() (*Turn, error)) {
	h.drop(o.seq) // it has arrived, since this follows from it
	o.seq = seq
	turn, err := protect(func() (*Turn, error) {
		turn, err := do()
		if err == nil && turn == nil {
			err = errors.New("the environment gave no turn")
		}
		if err == nil {
			turn.Episode, turn.Turn = o.episode, number
			err = o.add(turn)
		}
		return turn, err
	})
	if err == nil {
		err = h.answer(seq, turn)
	}
	if err == nil {
		o.turn, o.toAct = number, slices.Clone(turn.ToAct)
		return
	}
	where := o.name + " in start"
	if number > 0 {
		where = fmt.Sprintf("%s in turn %d", o.name, number-1)
	}
	h.refuse(seq, nil, where, err)
	if illegal := (*IllegalActionError)(nil); !errors.As(err, &illegal) {
		o.turn = -1
	}
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
	scene := func(seat int) (any, error) {
		if scener, ok := o.environment.(Scener); ok {
			return scener.Scene(seat)
		}
		return nil, nil
	}
	if o.next.text {
		turn.Text = text(Everybody)
	}
	if o.next.scene {
		if turn.Scene, err = scene(Everybody); err != nil {
			return err
		}
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
				view.Scene, err = scene(view.Seat)
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
	if o == nil || o.turn != m.Turn {
		return nil, &RefusedError{CodeUnavailable, fmt.Sprintf("episode %d is not at turn %d", m.Episode, m.Turn)}
	}
	forker, ok := o.environment.(Forker)
	if !ok {
		return nil, &RefusedError{CodeUnavailable, "this environment cannot look ahead"}
	}
	previews := make([]any, len(m.Lines))
	for i, line := range m.Lines {
		fork, err := forker.Fork(m.Seat, m.Seed)
		if err != nil {
			return nil, err
		}
		preview, err := follow(fork, o.toAct, o.seats, line)
		if err != nil {
			return nil, err
		}
		previews[i] = preview
	}
	return &Reply{ID: m.ID, Body: previews}, nil
}

// follow plays a line on a copy of the episode.
func follow(e Environment, toAct []int, seats int, line [][]any) (*Preview, error) {
	preview := &Preview{ToAct: toAct, Rewards: make([]float64, seats)}
	for _, actions := range line {
		if len(preview.ToAct) == 0 {
			preview.Error = "the episode would be over"
			break
		}
		if len(actions) != len(preview.ToAct) {
			preview.Error = fmt.Sprintf("%d actions for the seats %v", len(actions), preview.ToAct)
			break
		}
		pairs := make([]SeatValue, len(actions))
		for i, action := range actions {
			pairs[i] = SeatValue{Seat: preview.ToAct[i], Value: action}
		}
		turn, err := e.Step(pairs)
		var illegal *IllegalActionError
		if errors.As(err, &illegal) {
			preview.Error = oneLine(err)
			break
		}
		if err != nil {
			return nil, err
		}
		for _, view := range turn.Seats {
			if view.Seat >= 0 && view.Seat < seats {
				preview.Rewards[view.Seat] += view.Reward
			}
		}
		preview.ToAct, preview.Seats = turn.ToAct, turn.Seats
		preview.Terminated, preview.Truncated, preview.Outcome = turn.Terminated, turn.Truncated, turn.Outcome
		preview.Applied++
	}
	return preview, nil
}
