package dovetail

import (
	"context"
	"math/rand/v2"
)

// Agent is a player. It may also be a Seater, Starter, Ender, Thinker, Messenger, Saver and Cleaner.
// It is called from one goroutine. A panic costs the decision or request, not the program.
type Agent interface {
	// Step answers a decision with an action: a legal action number, or a value of the action space if
	// decision.Legal is nil. Resign gives up the episode. A Thinker may return a *Lookahead instead.
	Step(ctx context.Context, decision *Decision) (action any, err error)
}

// Resign is an action that gives up the episode: the seat loses.
var Resign any = resignation{}

type resignation struct{}

// Seater is an Agent that is told its seats.
type Seater interface {
	// Init takes a seat of a match; with an error it refuses to play the game.
	Init(seat *Seat) error
}

// Starter is an Agent with a separate method for the first decision of an episode.
type Starter interface {
	Start(ctx context.Context, decision *Decision) (action any, err error)
}

// Ender is an Agent that handles the end of each episode, even if it never had to decide.
type Ender interface {
	End(seat *Seat, end *End) error
}

// Thinker is an Agent that looks ahead.
type Thinker interface {
	// Continue resumes a decision that Step answered with a *Lookahead: with a preview of each line,
	// or with the error that the question got. It may ask again.
	Continue(ctx context.Context, decision *Decision, previews []Preview, err error) (action any, fail error)
}

// Messenger answers messages of the experiment.
type Messenger interface {
	Message(body any) (any, error)
}

// Saver is an Agent whose state can be saved.
type Saver interface {
	// Save returns the complete state, from which Load continues exactly.
	Save() ([]byte, error)
	// Load continues from the state that Save returned.
	Load(state []byte) error
}

// Cleaner releases resources. Cleanup is the last call.
type Cleaner interface {
	Cleanup()
}

// AgentType is an agent type that a program offers.
type AgentType struct {
	Name        string
	Description string // one sentence for a person
	Options     []Option
	Wants       []Want
	Capacity    int  // episodes that one instance plays at once; 0 stands for 1, Unlimited means any number
	Instance    bool // the program is this one agent, made once with all defaults

	// New makes an instance; seed is for its random choices that belong to no episode.
	New func(options Options, seed int64) (Agent, error)
}

// AgentFunc is an Agent that is one function and remembers nothing.
type AgentFunc func(ctx context.Context, decision *Decision) (action any, err error)

// Step implements Agent.
func (f AgentFunc) Step(ctx context.Context, decision *Decision) (any, error) {
	return f(ctx, decision)
}

// Stateless returns an agent type whose instances remember nothing and play any number of episodes at once.
func Stateless(name string, step AgentFunc) AgentType {
	return AgentType{Name: name, Capacity: Unlimited, New: func(Options, int64) (Agent, error) { return step, nil }}
}

// Unlimited is the capacity of agents that play any number of episodes at once.
const Unlimited = -1

func (t *AgentType) options() []Option { return t.Options }

func (t *AgentType) offer() Offer {
	capacity := max(t.Capacity, 0)
	if t.Capacity == 0 {
		capacity = 1
	}
	return Offer{Name: t.Name, Description: t.Description, Parameters: schema(t.Options), Wants: t.Wants,
		Capacity: &capacity, Instance: t.Instance}
}

// Seat is a place in a match.
type Seat struct {
	Match     int64
	Number    int
	Spec      *Spec
	Agent     string // the name of the offer that the agent was made from
	Lookahead bool   // whether the run allows *Lookahead
}

// Decision is a decision that one seat owes.
type Decision struct {
	Seat        *Seat
	Episode     int64
	Turn        int
	Observation any
	Legal       []int64 // action numbers in rising order; nil if all of the action space is legal
	Reward      float64 // the sum of what the seat earned since its last decision
	Mode        Mode    // in ModeEvaluate an agent must not change
	Afterstates any     // one row per legal action, if they are wanted and there are some
	Text        string  // the position for a person, if it is wanted
	HasText     bool
	Scene       any // the position to be drawn, if it is wanted
	Clock       *Clock
	Seed        int64 // of this seat in this episode
	Think       bool  // whether a watcher may see Thoughts; it must not change the action

	// Thoughts are the agent's thoughts for watchers, if it sets them; they are sent only if Think is true.
	Thoughts *Thoughts

	// Measures are measurements since the last answer, such as a loss, if the agent sets them. Their means are in
	// the result of the episode.
	Measures map[string]float64

	// RNG is the generator for this seat's random choices in this episode, which makes them repeatable.
	RNG *rand.Rand
}

// Random draws a legal action.
func (d *Decision) Random() any {
	if d.Legal != nil {
		return d.Legal[d.RNG.IntN(len(d.Legal))]
	}
	if space := d.Seat.Spec.ActionSpace(d.Seat.Number); space != nil {
		return space.Sample(d.RNG)
	}
	return nil
}

// Lookahead is a question to the environment: which positions do these lines of actions lead to? Where several seats
// act at once, an entry of a line is a []any with theirs in rising order; else it is the action.
type Lookahead struct {
	Lines [][]any
	Seed  int64 // of hidden information and chance; all lines share one sample
}
