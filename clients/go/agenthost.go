package dovetail

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
)

const (
	answersKept = 64   // answers to requests, for repeats; SPEC.md says that these are enough
	endedKept   = 4096 // ended episodes, so that what comes twice is not played twice
)

// place is a seat of an episode.
type place struct {
	episode int64
	seat    int
}

// chair is a seat of a match.
type chair struct {
	match int64
	seat  int
}

// player is an agent and the name of its type.
type player struct {
	agent Agent
	name  string
}

// seated says who holds a chair.
type seated struct {
	player
	instance int64
	seat     *Seat
}

// play is a seat's episode in progress.
type play struct {
	seated
	mode   Mode
	seed   int64
	rng    *rand.Rand
	turn   int
	answer []byte // the last answer as it was sent; nil while there is none

	thinking *Decision // that waits for the answer to a lookahead
	asked    int64     // its number
	question []byte
}

// AgentHost holds the agents of one program. It answers what comes twice with the same frames, without asking the
// agent again, so that a reconnection cannot make a learner learn twice.
type AgentHost struct {
	types     []AgentType
	single    player // its agent is nil if there is none
	instances map[int64]player
	seats     map[chair]seated
	playing   map[place]*play
	ended     *recent[place, struct{}]
	answers   *recent[int64, []byte]
	thoughts  map[int64]place
	asks      int64
}

// NewAgentHost returns the host of a program that offers agent types, or is one agent.
func NewAgentHost(types ...AgentType) (*AgentHost, error) {
	h := &AgentHost{types: types}
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
		h.single = player{agent, types[i].Name}
	}
	return h, nil
}

func (h *AgentHost) clear() {
	h.instances = map[int64]player{}
	h.seats = map[chair]seated{}
	h.playing = map[place]*play{}
	h.thoughts = map[int64]place{}
	h.ended = newRecent[place, struct{}](endedKept)
	h.answers = newRecent[int64, []byte](answersKept)
}

// Role implements Host.
func (h *AgentHost) Role() Role { return RoleAgent }

// Offers implements Host.
func (h *AgentHost) Offers() []Offer {
	out := make([]Offer, len(h.types))
	for i := range h.types {
		out[i] = h.types[i].offer()
	}
	return out
}

// Handle implements Host.
func (h *AgentHost) Handle(ctx context.Context, messages []Message) (out [][]byte) {
	for _, message := range messages {
		switch m := message.(type) {
		case *AgentStep:
			out = h.step(ctx, &m.seen, out)
		case *AgentStart:
			out = h.start(ctx, m, out)
		case *AgentEnd:
			out = h.end(m, out)
		case *Welcome:
			if !m.Resumed {
				h.reset()
			}
		case *Init:
			out = h.init(m, out)
		case *Reply:
			out = h.answered(ctx, m.ID, m.Body, nil, out)
		case *Error:
			if m.ID != nil {
				out = h.answered(ctx, *m.ID, nil, &RefusedError{m.Code, m.Message}, out)
			}
		case *Leave:
			maps.DeleteFunc(h.seats, func(c chair, _ seated) bool { return c.match == m.Match })
		case *Create:
			out = remembered(h.answers, m.ID, m.Agent+" in create", out, func() (Message, error) { return &Reply{ID: m.ID}, h.create(m) })
		case *Save:
			out = h.request(m.ID, m.Instance, "save", out, func(agent Agent) (Message, error) { return save(agent, m.ID) })
		case *Load:
			out = h.request(m.ID, m.Instance, "load", out, func(agent Agent) (Message, error) { return &Reply{ID: m.ID}, restore(agent, m.State) })
		case *AgentMessage:
			out = h.request(m.ID, m.Instance, "message", out, func(agent Agent) (Message, error) { return converse(agent, m.ID, m.Body) })
		case *Cleanup:
			out = h.request(m.ID, m.Instance, "cleanup", out, func(agent Agent) (Message, error) { h.cleanup(m.Instance, agent); return &Reply{ID: m.ID}, nil })
		}
	}
	return out
}

// -- decisions -----------------------------------------------------------------------------------------

func (h *AgentHost) start(ctx context.Context, m *AgentStart, out [][]byte) [][]byte {
	key := place{m.Episode, m.Seat}
	p := h.playing[key]
	if p == nil {
		if h.ended.has(key) {
			return out
		}
		who, ok := h.seats[chair{m.Match, m.Seat}]
		if !ok {
			return out
		}
		p = &play{seated: who, mode: m.Mode, seed: m.Seed, rng: NewRNG(m.Seed), turn: -1}
		h.playing[key] = p
	}
	return h.decide(ctx, p, &m.seen, true, out)
}

func (h *AgentHost) step(ctx context.Context, m *seen, out [][]byte) [][]byte {
	p := h.playing[place{m.Episode, m.Seat}]
	if p == nil {
		return out
	}
	return h.decide(ctx, p, m, false, out)
}

func (h *AgentHost) decide(ctx context.Context, p *play, m *seen, first bool, out [][]byte) [][]byte {
	if m.Turn <= p.turn {
		switch {
		case m.Turn < p.turn:
		case p.answer != nil:
			out = append(out, p.answer)
		case p.thinking != nil:
			out = append(out, p.question)
		}
		return out
	}
	h.forget(p)
	p.turn, p.answer = m.Turn, nil
	d := &Decision{Seat: p.seat, Episode: m.Episode, Turn: m.Turn, Legal: m.Legal, Reward: m.Reward, Mode: p.mode,
		Clock: m.Clock, Seed: p.seed, RNG: p.rng}
	if m.LegalMask != nil {
		d.Legal = Unmask(m.LegalMask)
	}
	if m.Text != nil {
		d.Text, d.HasText = *m.Text, true
	}
	var err error
	if d.Observation, err = m.Observation.Decode(); err == nil {
		if d.Afterstates, err = m.Afterstates.Decode(); err == nil {
			d.Scene, err = m.Scene.Decode()
		}
	}
	if err != nil {
		text := fmt.Sprintf("turn %d cannot be read: %v", m.Turn, err)
		return h.fail(p, d, CodeMalformed, text, out)
	}
	action, err := protect(func() (any, error) {
		if starter, ok := p.agent.(Starter); ok && first {
			return starter.Start(ctx, d)
		}
		return p.agent.Step(ctx, d)
	})
	return h.act(p, d, action, err, out)
}

// act sends what an agent answered.
func (h *AgentHost) act(p *play, d *Decision, action any, err error, out [][]byte) [][]byte {
	if question, ok := action.(*Lookahead); ok && err == nil {
		return h.ask(p, d, question, out)
	}
	if err == nil {
		answer := Action{Episode: d.Episode, Turn: d.Turn, Seat: d.Seat.Number, Action: action}
		var frame []byte
		if frame, err = Encode(&answer); err == nil {
			p.answer = frame
			return append(out, frame)
		}
		err = fmt.Errorf("the action cannot travel: %w", err)
	}
	return h.crash(p, d, err, out)
}

func (h *AgentHost) crash(p *play, d *Decision, err error, out [][]byte) [][]byte {
	return h.fail(p, d, CodeCrashed, failure(fmt.Sprintf("%s in turn %d", p.name, d.Turn), err), out)
}

func (h *AgentHost) fail(p *play, d *Decision, code, text string, out [][]byte) [][]byte {
	p.answer = mustEncode(&Error{Code: code, Message: text, Episode: &d.Episode, Seat: &d.Seat.Number})
	return append(out, p.answer)
}

func (h *AgentHost) ask(p *play, d *Decision, question *Lookahead, out [][]byte) [][]byte {
	if _, ok := p.agent.(Thinker); !ok {
		return h.crash(p, d, errors.New("an agent that asks with Lookahead must have Continue"), out)
	}
	h.asks++
	m := AgentLookahead{ID: h.asks, Episode: d.Episode, Seat: d.Seat.Number, Turn: d.Turn, Seed: question.Seed}
	m.Lines = make([]any, len(question.Lines))
	for i, line := range question.Lines {
		points := make([]any, len(line))
		for k, point := range line {
			if _, several := point.([]any); !several {
				point = []any{point}
			}
			points[k] = point
		}
		m.Lines[i] = points
	}
	frame, err := Encode(&m)
	if err != nil {
		return h.crash(p, d, fmt.Errorf("the lookahead cannot travel: %w", err), out)
	}
	p.thinking, p.asked, p.question = d, m.ID, frame
	h.thoughts[m.ID] = place{d.Episode, d.Seat.Number}
	return append(out, frame)
}

// forget drops a question whose answer does not matter any more.
func (h *AgentHost) forget(p *play) {
	if p.thinking != nil {
		delete(h.thoughts, p.asked)
		p.thinking, p.question = nil, nil
	}
}

// answered takes the answer to a lookahead.
func (h *AgentHost) answered(ctx context.Context, id int64, body any, refused error, out [][]byte) [][]byte {
	p := h.playing[h.thoughts[id]]
	if p == nil || p.thinking == nil || p.asked != id {
		return out
	}
	d := p.thinking
	h.forget(p)
	var positions []Position
	if refused == nil {
		if positions, refused = decodePositions(body); refused != nil {
			refused = fmt.Errorf("the positions cannot be read: %w", refused)
		}
	}
	action, err := protect(func() (any, error) { return p.agent.(Thinker).Continue(ctx, d, positions, refused) })
	return h.act(p, d, action, err, out)
}

func decodePositions(body any) ([]Position, error) {
	frame, err := EncodeValue(map[string]any{"positions": body})
	if err != nil {
		return nil, err
	}
	w := wire{decoding: true}
	w.open(frame)
	var positions []Position
	need(&w, "positions", &positions, arrayOf(mapOf[Position]))
	return positions, w.err
}

func (h *AgentHost) end(m *AgentEnd, out [][]byte) [][]byte {
	key := place{m.Episode, m.Seat}
	if h.ended.has(key) {
		return out
	}
	h.ended.put(key, struct{}{})
	var who seated
	if p := h.playing[key]; p != nil {
		who = p.seated
		h.forget(p)
		delete(h.playing, key)
	} else { // the episode ended before this seat had to decide
		var ok bool
		if who, ok = h.seats[chair{m.Match, m.Seat}]; !ok {
			return out
		}
	}
	ender, ok := who.agent.(Ender)
	if !ok {
		return out
	}
	end := &End{Seat: who.seat, Episode: m.Episode, Reward: m.Reward, Outcome: m.Outcome, Reason: m.Reason, Blame: m.Blame,
		Total: m.Total, Decisions: m.Decisions, Mode: m.Mode, Text: m.Text}
	end.Observation, _ = m.Observation.Decode() // what cannot be read is nil here: there is nothing left to refuse
	end.Scene, _ = m.Scene.Decode()
	if _, err := protect(func() (any, error) { return nil, ender.End(end) }); err != nil {
		text := failure(who.name+" at the end of an episode", err)
		out = append(out, mustEncode(&Error{Code: CodeCrashed, Message: text, Episode: &m.Episode, Seat: &m.Seat}))
	}
	return out
}

// -- everything else -----------------------------------------------------------------------------------

func (h *AgentHost) init(m *Init, out [][]byte) [][]byte {
	who := h.instance(m.Instance)
	if who.agent == nil {
		text := fmt.Sprintf("there is no agent %d", m.Instance)
		return append(out, mustEncode(&Error{Code: CodeUnknown, Message: text, Match: &m.Match, Seat: &m.Seat}))
	}
	key := chair{m.Match, m.Seat}
	if known, ok := h.seats[key]; ok && known.instance == m.Instance {
		return out
	}
	seat := &Seat{Match: m.Match, Number: m.Seat, Spec: m.Spec, Lookahead: m.Lookahead}
	h.seats[key] = seated{who, m.Instance, seat}
	if seater, ok := who.agent.(Seater); ok {
		if _, err := protect(func() (any, error) { return nil, seater.Init(seat) }); err != nil {
			text := describe(who.name+" taking a seat", err)
			out = append(out, mustEncode(&Error{Code: CodeUnavailable, Message: text, Match: &m.Match, Seat: &m.Seat}))
		}
	}
	return out
}

// instance finds the player of a number; it has no agent if there is none.
func (h *AgentHost) instance(number int64) player {
	if who, ok := h.instances[number]; ok {
		return who
	}
	return h.single
}

// request answers a request to an instance, or repeats the answer that it got before.
func (h *AgentHost) request(id, instance int64, what string, out [][]byte, do func(Agent) (Message, error)) [][]byte {
	who := h.instance(instance)
	return remembered(h.answers, id, who.name+" in "+what, out, func() (Message, error) {
		if who.agent == nil {
			return nil, &RefusedError{CodeUnknown, fmt.Sprintf("there is no agent %d", instance)}
		}
		return do(who.agent)
	})
}

func (h *AgentHost) create(m *Create) error {
	if _, ok := h.instances[m.Instance]; ok {
		return nil
	}
	i := slices.IndexFunc(h.types, func(t AgentType) bool { return t.Name == m.Agent && !t.Instance })
	if i < 0 {
		return fmt.Errorf("this program makes no agent %.40q", m.Agent)
	}
	t := &h.types[i]
	options, err := readOptions(t.Options, m.Parameters, "agent "+t.Name)
	if err != nil {
		return err
	}
	agent, err := t.New(options, m.Seed)
	if err == nil && m.State != nil {
		if err = restore(agent, m.State); err != nil {
			clean(t.Name, agent)
		}
	}
	if err == nil {
		h.instances[m.Instance] = player{agent, t.Name}
	}
	return err
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
	maps.DeleteFunc(h.seats, func(_ chair, who seated) bool { return who.instance == instance })
	if cleaner, ok := agent.(Cleaner); ok {
		cleaner.Cleanup()
	}
}

// reset begins anew with a broker that does not know this session: every seat hears the end.
func (h *AgentHost) reset() {
	for key, p := range h.playing {
		h.end(&AgentEnd{Episode: key.episode, Seat: key.seat, Match: p.seat.Match, Reason: Disconnected, Mode: p.mode}, nil)
	}
	for _, who := range h.instances {
		clean(who.name, who.agent)
	}
	h.clear()
}
