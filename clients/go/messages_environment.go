package dovetail

// Open asks for an environment for a match.
type Open struct {
	Match         int64
	Environment   string
	Configuration map[string]any
}

func (*Open) kind() string { return "open" }
func (m *Open) wire(w *wire) {
	need(w, "match", &m.Match, integer)
	need(w, "environment", &m.Environment, text)
	w.values("configuration", &m.Configuration)
}

// Spec is what a seat can expect of an environment.
type Spec struct {
	Match             int64 // set by the library
	Name              string
	Seats             int     // 0 stands for 1
	ObservationSpaces []Space // one per seat, or one for all
	ActionSpaces      []Space
	RewardRange       *[2]float64
	Discount          *float64 // nil stands for 1
	HiddenInformation bool     // the contrary of perfect_information
	Afterstates       bool
	Forfeit           *[2]float64
	MaxTurns          *int64
	Symmetries        []Symmetry
}

func (*Spec) kind() string { return "spec" }
func (m *Spec) wire(w *wire) {
	opt(w, "match", &m.Match, 0, integer)
	opt(w, "name", &m.Name, "", text)
	opt(w, "seats", &m.Seats, 1, integer)
	w.check(m.Seats >= 1, "seats", "1 or more")
	array(w, "observation_spaces", &m.ObservationSpaces, space)
	array(w, "action_spaces", &m.ActionSpaces, space)
	orNil(w, "reward_range", &m.RewardRange, interval)
	discount := 1.0
	if m.Discount != nil {
		discount = *m.Discount
	}
	opt(w, "discount", &discount, 1, number)
	if w.decoding {
		m.Discount = &discount
	}
	w.check(discount >= 0 && discount <= 1, "discount", "between 0 and 1")
	perfect := !m.HiddenInformation
	opt(w, "perfect_information", &perfect, true, boolean)
	m.HiddenInformation = !perfect
	opt(w, "afterstates", &m.Afterstates, false, boolean)
	orNil(w, "forfeit", &m.Forfeit, interval)
	orNil(w, "max_turns", &m.MaxTurns, integer)
	w.check(m.MaxTurns == nil || *m.MaxTurns >= 1, "max_turns", "1 or more")
	array(w, "symmetries", &m.Symmetries, mapOf)
}

// ObservationSpace returns what a seat observes; nil if the environment does not say.
func (m *Spec) ObservationSpace(seat int) Space { return spaceOf(m.ObservationSpaces, seat) }

// ActionSpace returns what a seat may do; nil if the environment does not say.
func (m *Spec) ActionSpace(seat int) Space { return spaceOf(m.ActionSpaces, seat) }

func spaceOf(spaces []Space, seat int) Space {
	switch {
	case len(spaces) == 1:
		return spaces[0]
	case seat >= 0 && seat < len(spaces):
		return spaces[seat]
	}
	return nil
}

// Symmetry is a way to turn or mirror the game that changes nothing about it.
type Symmetry struct {
	Observation []int64
	Actions     []int64
}

func (m *Symmetry) wire(w *wire) {
	need(w, "observation", &m.Observation, integers)
	array(w, "actions", &m.Actions, integer)
}

// EnvironmentStart begins an episode.
type EnvironmentStart struct {
	Match   int64
	Episode int64
	Seed    int64
	Wants   [][]string
	Watched bool
}

func (*EnvironmentStart) kind() string { return "start" }
func (m *EnvironmentStart) wire(w *wire) {
	need(w, "match", &m.Match, integer)
	need(w, "episode", &m.Episode, integer)
	need(w, "seed", &m.Seed, integer)
	array(w, "wants", &m.Wants, arrayOf(oneOf(string(WantAfterstates), string(WantText), string(WantScene))))
	opt(w, "watched", &m.Watched, false, boolean)
}

// EnvironmentStep brings the actions of every seat that had to act.
type EnvironmentStep struct {
	Episode int64
	Turn    int
	Actions []SeatValue
}

func (*EnvironmentStep) kind() string { return "step" }
func (m *EnvironmentStep) wire(w *wire) {
	need(w, "episode", &m.Episode, integer)
	need(w, "turn", &m.Turn, integer)
	need(w, "actions", &m.Actions, arrayOf(pair))
}

// Turn is a transition: who must act now and what each seat learns.
type Turn struct {
	Episode    int64 // set by the library
	Turn       int   // set by the library
	ToAct      []int
	Seats      []View
	Terminated bool
	Truncated  bool
	Outcome    []float64
	Text       *string // set by the library
	Info       any
}

func (*Turn) kind() string { return "turn" }
func (m *Turn) wire(w *wire) {
	opt(w, "episode", &m.Episode, 0, integer)
	opt(w, "turn", &m.Turn, 0, integer)
	array(w, "to_act", &m.ToAct, integer)
	array(w, "seats", &m.Seats, mapOf)
	opt(w, "terminated", &m.Terminated, false, boolean)
	opt(w, "truncated", &m.Truncated, false, boolean)
	orNone(w, "outcome", &m.Outcome, arrayOf(number))
	orNil(w, "text", &m.Text, text)
	opt(w, "info", &m.Info, nil, value)
}

// View is what a transition means to one seat.
type View struct {
	Seat        int
	Observation any
	Legal       []int64 // action numbers in rising order …
	LegalMask   []byte  // … or a mask; if both are nil, all of the action space is legal
	Reward      float64
	Afterstates any     // set by the library, if it is wanted
	Text        *string // set by the library, if it is wanted
	Scene       any     // set by the library, if it is wanted
}

func (m *View) wire(w *wire) {
	need(w, "seat", &m.Seat, integer)
	opt(w, "observation", &m.Observation, nil, value)
	w.legal("legal", &m.Legal, &m.LegalMask)
	opt(w, "reward", &m.Reward, 0, number)
	opt(w, "afterstates", &m.Afterstates, nil, value)
	orNil(w, "text", &m.Text, text)
	opt(w, "scene", &m.Scene, nil, value)
}

// EnvironmentLookahead asks what would follow from lines of actions.
type EnvironmentLookahead struct {
	ID      int64
	Episode int64
	Seat    int
	Turn    int
	Lines   []any
	Seed    int64
}

func (*EnvironmentLookahead) kind() string { return "lookahead" }
func (m *EnvironmentLookahead) wire(w *wire) {
	need(w, "id", &m.ID, integer)
	need(w, "episode", &m.Episode, integer)
	need(w, "seat", &m.Seat, integer)
	need(w, "turn", &m.Turn, integer)
	need(w, "lines", &m.Lines, lines)
	opt(w, "seed", &m.Seed, 0, integer)
}

// lines are arrays (lines) of arrays (points) of actions.
func lines(w *wire, key string, b []byte, p *[]any) {
	if !w.decoding {
		w.appendValue(*p)
		return
	}
	list, ok := w.readValue(b).([]any)
	for _, line := range list {
		points, isList := line.([]any)
		ok = ok && isList
		for _, point := range points {
			_, isList := point.([]any)
			ok = ok && isList
		}
	}
	w.check(ok, key, "lines of actions")
	*p = list
}

// Position is what a line of actions leads to.
type Position struct {
	ToAct      []int
	Seats      []View
	Rewards    []float64 // per seat, of the whole line
	Terminated bool
	Truncated  bool
	Outcome    []float64
	Applied    int
	Error      string
}

func (m *Position) wire(w *wire) {
	array(w, "to_act", &m.ToAct, integer)
	array(w, "seats", &m.Seats, mapOf)
	array(w, "rewards", &m.Rewards, number)
	opt(w, "terminated", &m.Terminated, false, boolean)
	opt(w, "truncated", &m.Truncated, false, boolean)
	orNone(w, "outcome", &m.Outcome, arrayOf(number))
	opt(w, "applied", &m.Applied, 0, integer)
	opt(w, "error", &m.Error, "", text)
}

// EnvironmentMessage is data from an experiment to an environment.
type EnvironmentMessage struct {
	ID    int64
	Match int64
	Body  any
}

func (*EnvironmentMessage) kind() string { return "message" }
func (m *EnvironmentMessage) wire(w *wire) {
	need(w, "id", &m.ID, integer)
	need(w, "match", &m.Match, integer)
	opt(w, "body", &m.Body, nil, value)
}

// Close says that a match is over.
type Close struct{ Match int64 }

func (*Close) kind() string   { return "close" }
func (m *Close) wire(w *wire) { need(w, "match", &m.Match, integer) }
