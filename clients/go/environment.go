package dovetail

// Environment is the rules of a game, made for one match. It may also be a Texter, Foreseer, Scener, Forker,
// Messenger and Cleaner. It is called from one goroutine. A panic costs the episode or request, not the program.
type Environment interface {
	// Init says what seats can expect; it is called once, before any episode.
	Init() (*Spec, error)
	// Start begins an episode and drops one in progress.
	Start(seed int64) (*Turn, error)
	// Step applies the actions of all seats that had to act, in the order of the turn's ToAct. Illegal makes the
	// error for an action that the rules refuse; the episode must then be as before.
	Step(actions []SeatValue) (*Turn, error)
}

// Everybody stands for a seat where what everybody may know is asked for.
const Everybody = -1

// Texter describes the present position for a person, as a seat or Everybody may know it.
type Texter interface {
	Text(seat int) string
}

// Foreseer adds afterstates: an array with one row per legal action of the seat, in their order, each what the seat
// would observe after it. Its Spec must say Afterstates.
type Foreseer interface {
	Afterstates(seat int) (any, error)
}

// Scener describes the present position to be drawn: a map as SPEC.md says, or nil.
type Scener interface {
	Scene(seat int) (any, error)
}

// Forker answers lookahead.
type Forker interface {
	// Fork returns a copy of the episode as a seat knows it, to be played on by itself; what the seat cannot know,
	// and chance to come, is drawn from the seed.
	Fork(seat int, seed int64) (Environment, error)
}

// EnvironmentType is what a program offers.
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
