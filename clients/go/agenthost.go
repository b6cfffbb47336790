package dovetail

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
)

// place is a seat of a match or of an episode, by its number.
type place struct {
	number int64
	seat   int
}

// player is an agent and the name of its type.
type player struct {
	agent  Agent
	name   string
	failed error // at an End, until its next decision or request is answered with it
}

// failure returns how an agent failed at an End, once.
func (p *player) failure() error {
	failed := p.failed
	p.failed = nil
	return failed
}

// seated says who holds a seat.
type seated struct {
	*player
	instance int64
	seat     *Seat
}

// play is a seat's episode in progress.
type play struct {
	seated
	mode Mode
	seed int64
	rng  *rand.Rand
	seq  int64 // of its last decision

	thinking *Decision       // that waits for the answer to a question
	question *AgentLookahead // that question
}

// AgentHost holds the agents of one program. A repeated decision gets the same answer, without asking the agent
// again, so that a reconnection cannot make a learner learn twice.
type AgentHost struct {
	inbox
	types     []AgentType
	single    *player // nil if there is none
	instances map[int64]*player
	seats     map[place]seated
	playing   map[place]*play
	thoughts  map[int64]*play
	asks      int64
}

// NewAgentHost returns the host of a program that offers agent types, or is one agent.
func NewAgentHost(types ...AgentType) (*AgentHost, error) {
	h := &AgentHost{types: types, inbox: newInbox()}
	h.clear()
	for i := range types {
		if !types[i].Instance {
			continue
		}
		if len(types) > 1 {
			return nil, fmt.Errorf("agent %s has Instance, so it must be the only one of its program", types[i].Name)
		}
		options, _ := readOptions(types[i].Options, nil, "")
		agent, err := types[i].New(options, 0)
		if err != nil {
			return nil, err
		}
		h.single = &player{agent: agent, name: types[i].Name}
	}
	return h, nil
}

func (h *AgentHost) clear() {
	h.instances = map[int64]*player{}
	h.seats = map[place]seated{}
	h.playing = map[place]*play{}
	h.thoughts = map[int64]*play{}
}

// Role implements Host.
func (h *AgentHost) Role() Role { return RoleAgent }

// Offers implements Host.
func (h *AgentHost) Offers() []Offer { return offers(h.types) }

// Handle implements Host.
func (h *AgentHost) Handle(ctx context.Context, messages []Message) [][]byte {
	for _, message := range messages {
		if h.take(message) {
			h.handle(ctx, message)
		}
	}
	return h.flush()
}

func (h *AgentHost) handle(ctx context.Context, message Message) {
	switch m := message.(type) {
	case *AgentStep:
		h.decide(ctx, m, false)
	case *AgentStart:
		h.start(ctx, m)
	case *End:
		h.end(m)
	case *Welcome:
		if !m.Resumed {
			h.reset()
		}
		for _, id := range slices.Sorted(maps.Keys(h.thoughts)) { // their answers may have been lost
			_ = h.answer(0, h.thoughts[id].question)
		}
	case *Init:
		h.init(m)
	case *Reply:
		h.answered(ctx, m.ID, m.Body, nil)
	case *Error:
		if m.ID != nil {
			h.answered(ctx, *m.ID, nil, &RefusedError{m.Code, m.Message})
		}
	case *Leave:
		maps.DeleteFunc(h.seats, func(p place, _ seated) bool { return p.number == m.Match })
	case *Create:
		h.reply(m.Seq, m.ID, m.Agent+" in create", func() (Message, error) { return &Reply{ID: m.ID}, h.create(m) })
	case *Save:
		h.request(m, m.ID, m.Instance, func(agent Agent) (Message, error) { return save(agent, m.ID) })
	case *Load:
		h.request(m, m.ID, m.Instance, func(agent Agent) (Message, error) { return &Reply{ID: m.ID}, restore(agent, m.State) })
	case *AgentMessage:
		h.request(m, m.ID, m.Instance, func(agent Agent) (Message, error) { return converse(agent, m.ID, m.Body) })
	case *Cleanup:
		h.request(m, m.ID, m.Instance, func(agent Agent) (Message, error) { h.cleanup(m.Instance, agent); return &Reply{ID: m.ID}, nil })
	}
}

// -- decisions -----------------------------------------------------------------------------------------

func (h *AgentHost) start(ctx context.Context, m *AgentStart) {
	if who, ok := h.seats[place{m.Match, m.Seat}]; ok {
		h.playing[place{m.Episode, m.Seat}] = &play{seated: who, mode: m.Mode, seed: m.Seed, rng: NewRNG(m.Seed)}
	}
	h.decide(ctx, &AgentStep{Episode: m.Episode, Seat: m.Seat, Turn: m.Turn, Reward: m.Reward, Observation: m.Observation,
		Legal: m.Legal, LegalMask: m.LegalMask, Afterstates: m.Afterstates, Text: m.Text, Scene: m.Scene, Clock: m.Clock,
		Think: m.Think, Seq: m.Seq}, true)
}

func (h *AgentHost) decide(ctx context.Context, m *AgentStep, first bool) {
	p := h.playing[place{m.Episode, m.Seat}]
	if p == nil {
		text := fmt.Sprintf("no agent here holds seat %d of episode %d", m.Seat, m.Episode)
		h.refuse(m.Seq, nil, "", &RefusedError{CodeUnknown, text})
		return
	}
	h.forget(p)
	p.seq = m.Seq
	d := &Decision{Seat: p.seat, Episode: m.Episode, Turn: m.Turn, Observation: m.Observation, Legal: m.Legal, Reward: m.Reward,
		Mode: p.mode, Afterstates: m.Afterstates, Scene: m.Scene, Clock: m.Clock, Think: m.Think,
		Seed: p.seed, RNG: p.rng}
	if m.LegalMask != nil {
		d.Legal = Unmask(m.LegalMask)
	}
	if m.Text != nil {
		d.Text, d.HasText = *m.Text, true
	}
	action, err := protect(func() (any, error) {
		if failed := p.failure(); failed != nil {
			return nil, failed
		}
		if starter, ok := p.agent.(Starter); ok && first {
			return starter.Start(ctx, d)
		}
		return p.agent.Step(ctx, d)
	})
	h.act(p, d, action, err)
}

// act sends what an agent answered.
func (h *AgentHost) act(p *play, d *Decision, action any, err error) {
	if err == nil {
		if question, ok := action.(*Lookahead); ok {
			err = h.ask(p, d, question)
		} else {
			m := &Action{Episode: d.Episode, Turn: d.Turn, Seat: d.Seat.Number, Action: action, Measures: d.Measures}
			if _, m.Resign = action.(resignation); m.Resign {
				m.Action = nil
			}
			if d.Think {
				m.Thoughts = d.Thoughts
			}
			err = h.answer(p.seq, m)
		}
	}
	if err != nil {
		h.forget(p)
		h.refuse(p.seq, nil, fmt.Sprintf("%s in turn %d", p.name, d.Turn), err)
	}
}

func (h *AgentHost) ask(p *play, d *Decision, question *Lookahead) error {
	if _, ok := p.agent.(Thinker); !ok {
		return errors.New("an agent that asks with Lookahead must have Continue")
	}
	h.asks++
	m := &AgentLookahead{ID: h.asks, Episode: d.Episode, Seat: d.Seat.Number, Turn: d.Turn, Seed: question.Seed}
	for _, line := range question.Lines {
		points := make([][]any, len(line))
		for k, point := range line {
			if several, ok := point.([]any); ok {
				points[k] = several
			} else {
				points[k] = []any{point}
			}
		}
		m.Lines = append(m.Lines, points)
	}
	p.thinking, p.question = d, m
	h.thoughts[m.ID] = p
	return h.answer(0, m)
}

// forget drops what does not matter any more once a seat's next decision has come: the answer to its last one, or the
// question that it waits with.
func (h *AgentHost) forget(p *play) {
	h.drop(p.seq)
	if p.thinking != nil {
		delete(h.thoughts, p.question.ID)
		p.thinking = nil
	}
}

// answered takes the answer to a lookahead.
func (h *AgentHost) answered(ctx context.Context, id int64, body any, refused error) {
	p := h.thoughts[id]
	if p == nil {
		return
	}
	d := p.thinking
	h.forget(p)
	var previews []Preview
	if refused == nil {
		if previews, refused = reread(body, arrayOf(mapOf[Preview])); refused != nil {
			refused = fmt.Errorf("the previews cannot be read: %w", refused)
		}
	}
	action, err := protect(func() (any, error) { return p.agent.(Thinker).Continue(ctx, d, previews, refused) })
	h.act(p, d, action, err)
}

func (h *AgentHost) end(m *End) {
	key := place{m.Episode, m.Seat}
	who := h.seats[place{m.Match, m.Seat}] // if the episode ended before this seat had to decide
	if p := h.playing[key]; p != nil {
		who = p.seated
		h.forget(p)
		delete(h.playing, key)
	}
	if who.player == nil {
		return
	}
	if ender, ok := who.agent.(Ender); ok {
		if _, err := protect(func() (any, error) { return nil, ender.End(who.seat, m) }); err != nil {
			text := failure(who.name+" at the end of an episode", err)
			if who.failed == nil {
				who.failed = &RefusedError{CodeCrashed, text}
			}
		}
	}
}

// -- everything else -----------------------------------------------------------------------------------

func (h *AgentHost) init(m *Init) {
	who := h.instance(m.Instance)
	if who == nil {
		h.refuse(m.Seq, nil, "", &RefusedError{CodeUnknown, fmt.Sprintf("there is no agent %d", m.Instance)})
		return
	}
	seat := &Seat{Match: m.Match, Number: m.Seat, Spec: &m.Spec, Agent: m.Agent, Lookahead: m.Lookahead}
	if seater, ok := who.agent.(Seater); ok {
		if _, err := protect(func() (any, error) { return nil, seater.Init(seat) }); err != nil {
			h.refuse(m.Seq, nil, who.name+" taking a seat", unavailable(err))
			return
		}
	}
	h.seats[place{m.Match, m.Seat}] = seated{who, m.Instance, seat}
}

// instance finds the player of a number; nil if there is none.
func (h *AgentHost) instance(number int64) *player {
	if who, ok := h.instances[number]; ok {
		return who
	}
	return h.single
}

// request answers a request to an instance.
func (h *AgentHost) request(m Message, id, instance int64, do func(Agent) (Message, error)) {
	who := h.instance(instance)
	if who == nil {
		h.refuse(seqOf(m), &id, "", &RefusedError{CodeUnknown, fmt.Sprintf("there is no agent %d", instance)})
		return
	}
	h.reply(seqOf(m), id, who.name+" in "+m.kind(), func() (Message, error) {
		if failed := who.failure(); failed != nil {
			if _, ok := m.(*Cleanup); ok {
				h.cleanup(instance, who.agent)
			}
			return nil, failed
		}
		return do(who.agent)
	})
}

func (h *AgentHost) create(m *Create) error {
	t, options, err := find(h.types, "agent", m.Agent, m.Parameters)
	if err != nil {
		return unavailable(err)
	}
	agent, err := protect(func() (Agent, error) { return t.New(options, m.Seed) })
	if err == nil && m.State != nil {
		if err = restore(agent, m.State); err != nil {
			clean(t.Name, agent)
		}
	}
	if err != nil {
		return unavailable(err)
	}
	h.instances[m.Instance] = &player{agent: agent, name: t.Name}
	return nil
}

func restore(agent Agent, state []byte) error {
	if saver, ok := agent.(Saver); ok {
		return saver.Load(state)
	}
	if len(state) > 0 {
		return errors.New("this agent has no state to load")
	}
	return nil
}

func save(agent Agent, id int64) (Message, error) {
	answer := &Saved{ID: id}
	var err error
	if saver, ok := agent.(Saver); ok {
		answer.State, err = saver.Save()
	}
	return answer, err
}

func (h *AgentHost) cleanup(instance int64, agent Agent) {
	delete(h.instances, instance)
	maps.DeleteFunc(h.seats, func(_ place, who seated) bool { return who.instance == instance })
	if cleaner, ok := agent.(Cleaner); ok {
		cleaner.Cleanup()
	}
}

// reset forgets a session that the broker does not know any more: every seat hears the end.
func (h *AgentHost) reset() {
	for key, p := range h.playing {
		h.end(&End{Episode: key.number, Seat: key.seat, Match: p.seat.Match, Reason: ReasonDisconnected, Mode: p.mode})
	}
	for _, who := range h.instances {
		clean(who.name, who.agent)
	}
	if h.single != nil {
		h.single.failed = nil
	}
	h.clear()
}
