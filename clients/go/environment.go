package dovetail

// Environment is the rules of a game, made for one match. It may also be a Texter, Foreseer, Scener, Forker,
// Messenger and Cleaner. It is called from one goroutine. A panic costs the episode or request, not the program.
type Environment interface {
	// Init returns the spec of the game; it is called once, before any episode.
	Init() (*Spec, error)
	// Start begins an episode and drops one in progress.
	Start(seed int64) (*Turn, error)
	// Step applies the actions of all seats that had to act, in the order of the turn's ToAct. Illegal makes the
	// error for an action that the rules refuse; the episode must then be as before.
	Step(actions []SeatValue) (*Turn, error)
}

// Everybody is the seat that stands for the public position.
const Everybody = -1

// Texter returns the position as text, as a seat or Everybody may see it.
type Texter interface {
	Text(seat int) string
}

// Foreseer adds afterstates: an array with one row per legal action of the seat, in their order, each what the seat
// would observe after it. Its Spec must say Afterstates.
type Foreseer interface {
	Afterstates(seat int) (any, error)
}

// Scener returns the position as a scene to draw: a map as in SPEC.md, or nil.
type Scener interface {
	Scene(seat int) (any, error)
}

// Forker answers lookahead.
type Forker interface {
	// Fork returns an independent copy of the episode as a seat knows it; hidden information and future chance are
	// drawn from the seed.
	Fork(seat int, seed int64) (Environment, error)
}

// EnvironmentType is an environment type that a program offers.
type EnvironmentType struct {
	Name        string
	Description string // one sentence for a person
	Options     []Option
	Seats       []int // the numbers of seats it can have, if it wants to say

	// New makes an environment for a match.
	New func(options Options) (Environment, error)
}

func (t *EnvironmentType) options() []Option { return t.Options }

func (t *EnvironmentType) offer() Offer {
	return Offer{Name: t.Name, Description: t.Description, Parameters: schema(t.Options), Seats: t.Seats}
}
