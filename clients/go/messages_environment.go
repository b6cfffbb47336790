package dovetail

// Open asks for an environment for a match.
type Open struct {
	Match         int64
	Environment   string
	Configuration map[string]any
}

func (*Open) kind() string { return "open" }
func (m *Open) wire(w *wire) {
	needInt(w, "match", &m.Match)
	w.needText("environment", &m.Environment)
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
	optInt(w, "match", &m.Match, 0)
	w.text("name", &m.Name, "")
	intAtLeast(w, "seats", &m.Seats, 1, 1)
	w.spaces("observation_spaces", &m.ObservationSpaces)
	w.spaces("action_spaces", &m.ActionSpaces)
	w.nilPair("reward_range", &m.RewardRange)
	discount := 1.0
	if m.Discount != nil {
		discount = *m.Discount
	}
	w.float("discount", &discount, 1)
	if w.decoding {
		m.Discount = &discount
		if !(discount >= 0 && discount <= 1) {
			w.invalid("discount", "between 0 and 1")
		}
	}
	perfect := !m.HiddenInformation
	w.bool("perfect_information", &perfect, true)
	m.HiddenInformation = !perfect
	w.bool("afterstates", &m.Afterstates, false)
	w.nilPair("forfeit", &m.Forfeit)
	nilInt(w, "max_turns", &m.MaxTurns)
	if w.decoding && m.MaxTurns != nil && *m.MaxTurns < 1 {
		w.invalid("max_turns", "1 or more")
	}
	list(w, "symmetries", &m.Symmetries, false)
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
	ints(w, "observation", &m.Observation, true)
	ints(w, "actions", &m.Actions, false)
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
	needInt(w, "match", &m.Match)
	needInt(w, "episode", &m.Episode)
	needInt(w, "seed", &m.Seed)
	m.wants(w)
	w.bool("watched", &m.Watched, false)
}

func (m *EnvironmentStart) wants(w *wire) {
	if w.decoding {
		m.Wants = nil
		if b := w.find("wants"); b != nil {
			w.each("wants", b, func(n int) { m.Wants = make([][]string, n) }, func(i int, b []byte) {
				m.Wants[i] = readTexts(w, "wants", b)
				for _, want := range m.Wants[i] {
					if want != "afterstates" && want != "text" && want != "scene" {
						w.invalid("wants", "one of its values")
					}
				}
			})
		}
		return
	}
	if len(m.Wants) > 0 {
		w.key("wants")
		lists := make([]any, len(m.Wants))
		for i := range m.Wants {
			lists[i] = m.Wants[i]
		}
		w.appendValue(lists)
	}
}

// EnvironmentStep brings the actions of every seat that had to act.
type EnvironmentStep struct {
	Episode int64
	Turn    int
	Actions []SeatValue
}

func (*EnvironmentStep) kind() string { return "step" }
func (m *EnvironmentStep) wire(w *wire) {
	needInt(w, "episode", &m.Episode)
	needInt(w, "turn", &m.Turn)
	w.pairs("actions", &m.Actions, true)
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
	optInt(w, "episode", &m.Episode, 0)
	optInt(w, "turn", &m.Turn, 0)
	ints(w, "to_act", &m.ToAct, false)
	list(w, "seats", &m.Seats, false)
	w.bool("terminated", &m.Terminated, false)
	w.bool("truncated", &m.Truncated, false)
	w.nilFloats("outcome", &m.Outcome)
	w.nilText("text", &m.Text)
	w.any("info", &m.Info)
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
	needInt(w, "seat", &m.Seat)
	w.any("observation", &m.Observation)
	w.legal("legal", &m.Legal, &m.LegalMask)
	w.float("reward", &m.Reward, 0)
	w.any("afterstates", &m.Afterstates)
	w.nilText("text", &m.Text)
	w.any("scene", &m.Scene)
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
	needInt(w, "id", &m.ID)
	needInt(w, "episode", &m.Episode)
	needInt(w, "seat", &m.Seat)
	needInt(w, "turn", &m.Turn)
	w.lines(&m.Lines)
	optInt(w, "seed", &m.Seed, 0)
}

// lines are arrays (lines) of arrays (points) of actions.
func (w *wire) lines(p *[]any) {
	if !w.decoding {
		w.key("lines")
		w.appendValue(*p)
		return
	}
	lines, ok := w.readValue(w.need("lines")).([]any)
	for _, line := range lines {
		points, isList := line.([]any)
		ok = ok && isList
		for _, point := range points {
			_, isList := point.([]any)
			ok = ok && isList
		}
	}
	if !ok {
		w.invalid("lines", "lines of actions")
	}
	*p = lines
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
	ints(w, "to_act", &m.ToAct, false)
	list(w, "seats", &m.Seats, false)
	w.floats("rewards", &m.Rewards)
	w.bool("terminated", &m.Terminated, false)
	w.bool("truncated", &m.Truncated, false)
	w.nilFloats("outcome", &m.Outcome)
	optInt(w, "applied", &m.Applied, 0)
	w.text("error", &m.Error, "")
}

// floats is an array of numbers, empty by default.
func (w *wire) floats(key string, p *[]float64) {
	if !w.decoding && len(*p) == 0 {
		return
	}
	w.nilFloats(key, p)
}

// EnvironmentMessage is data from an experiment to an environment.
type EnvironmentMessage struct {
	ID    int64
	Match int64
	Body  any
}

func (*EnvironmentMessage) kind() string { return "message" }
func (m *EnvironmentMessage) wire(w *wire) {
	needInt(w, "id", &m.ID)
	needInt(w, "match", &m.Match)
	w.any("body", &m.Body)
}

// Close says that a match is over.
type Close struct{ Match int64 }

func (*Close) kind() string   { return "close" }
func (m *Close) wire(w *wire) { needInt(w, "match", &m.Match) }
