package dovetail

// Version is the version of the protocol.
const Version = 1

// Role is what a peer is.
type Role string

// The roles that this library can play.
const (
	RoleEnvironment Role = "environment"
	RoleAgent       Role = "agent"
	RoleExperiment  Role = "experiment"
)

// Mode says whether agents may change in an episode.
type Mode string

// The modes of SPEC.md section 10.
const (
	Learn    Mode = "learn"
	Evaluate Mode = "evaluate"
)

var modes = []Mode{Learn, Evaluate}

// Want is something that an agent asks environments to add to its decisions.
type Want string

// What can be wanted.
const (
	WantAfterstates Want = "afterstates"
	WantText        Want = "text"
	WantScene       Want = "scene"
)

// Reason says why an episode ended.
type Reason string

// The reasons of SPEC.md section 9.
const (
	Terminated        Reason = "terminated"
	Truncated         Reason = "truncated"
	IllegalAction     Reason = "illegal-action"
	Timeout           Reason = "timeout"
	Stalled           Reason = "stalled"
	Disconnected      Reason = "disconnected"
	Crashed           Reason = "crashed"
	Cancelled         Reason = "cancelled"
	EnvironmentFailed Reason = "environment-failed"
)

var reasons = []Reason{Terminated, Truncated, IllegalAction, Timeout, Stalled, Disconnected, Crashed, Cancelled, EnvironmentFailed}

// Message is one message of the protocol; its Go type says which, and in which direction.
type Message interface {
	kind() string
	fields
}

// -- every peer ----------------------------------------------------------------------------------------

// Hello is the first message of a peer.
type Hello struct {
	Version  int
	Role     Role
	Name     string
	Offers   []Offer
	Token    *string
	Resume   *string
	Software string
	Features []string
}

func (*Hello) kind() string { return "hello" }
func (m *Hello) wire(w *wire) {
	needInt(w, "version", &m.Version)
	w.needText("role", (*string)(&m.Role))
	w.text("name", &m.Name, "")
	list(w, "offers", &m.Offers, false)
	w.nilText("token", &m.Token)
	w.nilText("resume", &m.Resume)
	w.text("software", &m.Software, "")
	w.texts("features", &m.Features)
}

// Offer is an environment or agent type that a peer can make.
type Offer struct {
	Name        string
	Description string
	Parameters  map[string]any // JSON Schema of each option by name
	Wants       []string
	Capacity    int // episodes that one instance plays at once; 0 is no limit
	Instance    bool
	Seats       []int64
}

func (m *Offer) wire(w *wire) {
	w.needText("name", &m.Name)
	w.text("description", &m.Description, "")
	w.values("parameters", &m.Parameters)
	w.texts("wants", &m.Wants)
	intAtLeast(w, "capacity", &m.Capacity, 1, 0)
	w.bool("instance", &m.Instance, false)
	nilInts(w, "seats", &m.Seats)
}

// Welcome is the broker's answer to hello.
type Welcome struct {
	Session   string
	Name      string
	Resumed   bool
	Version   int
	Heartbeat float64
	Patience  float64
	Limits    Limits
	Features  []string
}

func (*Welcome) kind() string { return "welcome" }
func (m *Welcome) wire(w *wire) {
	w.needText("session", &m.Session)
	w.needText("name", &m.Name)
	w.bool("resumed", &m.Resumed, false)
	optInt(w, "version", &m.Version, Version)
	w.floatAtLeast("heartbeat", &m.Heartbeat, 1, 0)
	w.floatAtLeast("patience", &m.Patience, 30, 0)
	limits := &m.Limits
	if !w.decoding && m.Limits == DefaultLimits {
		limits = nil
	}
	nilMap(w, "limits", &limits)
	if w.decoding {
		m.Limits = DefaultLimits
		if limits != nil {
			m.Limits = *limits
		}
	}
	w.texts("features", &m.Features)
}

// Ping asks whether the other side lives.
type Ping struct{ Number uint64 }

func (*Ping) kind() string   { return "ping" }
func (m *Ping) wire(w *wire) { w.number("number", &m.Number) }

// Pong answers a Ping.
type Pong struct{ Number uint64 }

func (*Pong) kind() string   { return "pong" }
func (m *Pong) wire(w *wire) { w.number("number", &m.Number) }

// Error says that something was refused.
type Error struct {
	Code    string
	Message string
	ID      *int64
	Episode *int64
	Seat    *int
	Match   *int64
}

func (*Error) kind() string { return "error" }
func (m *Error) wire(w *wire) {
	w.needText("code", &m.Code)
	w.needText("message", &m.Message)
	nilInt(w, "id", &m.ID)
	nilInt(w, "episode", &m.Episode)
	nilInt(w, "seat", &m.Seat)
	nilInt(w, "match", &m.Match)
}

// Bye is an orderly leave.
type Bye struct{ Reason string }

func (*Bye) kind() string   { return "bye" }
func (m *Bye) wire(w *wire) { w.text("reason", &m.Reason, "") }

// Reply answers a message that has an id.
type Reply struct {
	ID   int64
	Body any
}

func (*Reply) kind() string { return "reply" }
func (m *Reply) wire(w *wire) {
	needInt(w, "id", &m.ID)
	w.any("body", &m.Body)
}

// -- environments --------------------------------------------------------------------------------------

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
	Seats             int
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

// -- agents --------------------------------------------------------------------------------------------

// Create asks for an agent instance.
type Create struct {
	ID         int64
	Instance   int64
	Agent      string
	Parameters map[string]any
	Seed       int64
	State      []byte
}

func (*Create) kind() string { return "create" }
func (m *Create) wire(w *wire) {
	needInt(w, "id", &m.ID)
	needInt(w, "instance", &m.Instance)
	w.needText("agent", &m.Agent)
	w.values("parameters", &m.Parameters)
	optInt(w, "seed", &m.Seed, 0)
	w.nilBinary("state", &m.State)
}

// Init says that an instance takes a seat of a match.
type Init struct {
	Match     int64
	Seat      int
	Instance  int64
	Spec      *Spec
	Lookahead bool
}

func (*Init) kind() string { return "init" }
func (m *Init) wire(w *wire) {
	needInt(w, "match", &m.Match)
	needInt(w, "seat", &m.Seat)
	needInt(w, "instance", &m.Instance)
	if w.decoding {
		m.Spec = new(Spec)
		if b := w.need("spec"); b != nil {
			w.decodeMap(b, "spec", m.Spec)
		}
	} else {
		w.key("spec")
		w.encodeMap("spec", m.Spec)
	}
	w.bool("lookahead", &m.Lookahead, false)
}

// Clock is what a seat may use, and what its last answer took, in seconds at the broker; nil is no limit.
type Clock struct {
	Decision *float64
	Left     *float64
	Last     *float64
}

func (m *Clock) wire(w *wire) {
	w.nilFloat("decision", &m.Decision)
	w.nilFloat("left", &m.Left)
	w.nilFloat("last", &m.Last)
}

// seen is what start and step of an agent have in common.
type seen struct {
	Episode     int64
	Seat        int
	Turn        int
	Reward      float64
	Observation Raw
	Legal       []int64
	LegalMask   []byte
	Afterstates Raw
	Text        *string
	Scene       Raw
	Clock       *Clock
}

func (m *seen) wire(w *wire) {
	needInt(w, "episode", &m.Episode)
	needInt(w, "seat", &m.Seat)
	needInt(w, "turn", &m.Turn)
	w.float("reward", &m.Reward, 0)
	w.raw("observation", &m.Observation)
	w.legal("legal", &m.Legal, &m.LegalMask)
	w.raw("afterstates", &m.Afterstates)
	w.nilText("text", &m.Text)
	w.raw("scene", &m.Scene)
	nilMap(w, "clock", &m.Clock)
}

// AgentStart is a seat's first decision of an episode.
type AgentStart struct {
	seen
	Match int64
	Seed  int64
	Mode  Mode
}

func (*AgentStart) kind() string { return "start" }
func (m *AgentStart) wire(w *wire) {
	m.seen.wire(w)
	needInt(w, "match", &m.Match)
	needInt(w, "seed", &m.Seed)
	choice(w, "mode", &m.Mode, Learn, false, modes)
}

// AgentStep is a later decision of a seat.
type AgentStep struct{ seen }

func (*AgentStep) kind() string { return "step" }

// Action answers a decision.
type Action struct {
	Episode int64
	Turn    int
	Seat    int
	Action  any
}

func (*Action) kind() string { return "action" }
func (m *Action) wire(w *wire) {
	needInt(w, "episode", &m.Episode)
	needInt(w, "turn", &m.Turn)
	needInt(w, "seat", &m.Seat)
	w.any("action", &m.Action)
}

// AgentEnd says that an episode is over for a seat.
type AgentEnd struct {
	Episode     int64
	Seat        int
	Match       int64
	Reward      float64
	Observation Raw
	Outcome     []float64
	Reason      Reason
	Blame       *int
	Total       float64
	Decisions   int
	Text        *string
	Scene       Raw
	Mode        Mode
}

func (*AgentEnd) kind() string { return "end" }
func (m *AgentEnd) wire(w *wire) {
	needInt(w, "episode", &m.Episode)
	needInt(w, "seat", &m.Seat)
	optInt(w, "match", &m.Match, 0)
	w.float("reward", &m.Reward, 0)
	w.raw("observation", &m.Observation)
	w.nilFloats("outcome", &m.Outcome)
	choice(w, "reason", &m.Reason, Terminated, false, reasons)
	nilInt(w, "blame", &m.Blame)
	w.float("total", &m.Total, 0)
	optInt(w, "decisions", &m.Decisions, 0)
	w.nilText("text", &m.Text)
	w.raw("scene", &m.Scene)
	choice(w, "mode", &m.Mode, Learn, false, modes)
}

// AgentLookahead asks what would follow from the position in which a seat must act.
type AgentLookahead struct {
	ID      int64
	Episode int64
	Seat    int
	Turn    int
	Lines   []any
	Seed    int64
}

func (*AgentLookahead) kind() string { return "lookahead" }
func (m *AgentLookahead) wire(w *wire) {
	(*EnvironmentLookahead)(m).wire(w)
}

// Save asks an instance for its state; Keep is the experiment's.
type Save struct {
	ID       int64
	Instance int64
	Keep     *string
}

func (*Save) kind() string { return "save" }
func (m *Save) wire(w *wire) {
	needInt(w, "id", &m.ID)
	needInt(w, "instance", &m.Instance)
	w.nilText("keep", &m.Keep)
}

// Saved is an instance's state.
type Saved struct {
	ID    int64
	State []byte
}

func (*Saved) kind() string { return "saved" }
func (m *Saved) wire(w *wire) {
	needInt(w, "id", &m.ID)
	w.binary("state", &m.State, true)
}

// Load puts an instance into a state; Kept is the experiment's.
type Load struct {
	ID       int64
	Instance int64
	State    []byte
	Kept     *string
}

func (*Load) kind() string { return "load" }
func (m *Load) wire(w *wire) {
	needInt(w, "id", &m.ID)
	needInt(w, "instance", &m.Instance)
	w.binary("state", &m.State, false)
	w.nilText("kept", &m.Kept)
}

// AgentMessage is data from an experiment to an instance.
type AgentMessage struct {
	ID       int64
	Instance int64
	Body     any
}

func (*AgentMessage) kind() string { return "message" }
func (m *AgentMessage) wire(w *wire) {
	needInt(w, "id", &m.ID)
	needInt(w, "instance", &m.Instance)
	w.any("body", &m.Body)
}

// Leave says that the seats of a match are free.
type Leave struct{ Match int64 }

func (*Leave) kind() string   { return "leave" }
func (m *Leave) wire(w *wire) { needInt(w, "match", &m.Match) }

// Cleanup lets an instance go.
type Cleanup struct {
	ID       int64
	Instance int64
}

func (*Cleanup) kind() string { return "cleanup" }
func (m *Cleanup) wire(w *wire) {
	needInt(w, "id", &m.ID)
	needInt(w, "instance", &m.Instance)
}

// -- experiments ---------------------------------------------------------------------------------------

// Request is a message of an experiment that is answered; Fields are the message's own fields by the names of
// SPEC.md section 6, without type and id.
type Request struct {
	Type   string
	ID     int64
	Fields map[string]any
}

func (m *Request) kind() string { return m.Type }
func (m *Request) wire(w *wire) {
	needInt(w, "id", &m.ID)
	for key, value := range m.Fields {
		w.key(key)
		w.appendValue(value)
	}
}

// WatchedTurn is a turn as a watcher may see it.
type WatchedTurn struct {
	Run          int64
	Match        int64
	Index        int64
	Episode      int64
	Turn         int
	ToAct        []int
	Actions      []SeatValue // the actions that led here
	Rewards      []float64   // per seat, of this transition
	Observations []SeatValue // in games of perfect information
	Agents       []string
	Terminated   bool
	Truncated    bool
	Outcome      []float64
	Reason       Reason // empty while the episode goes on
	Text         *string
}

func (*WatchedTurn) kind() string { return "turn" }
func (m *WatchedTurn) wire(w *wire) {
	needInt(w, "run", &m.Run)
	needInt(w, "match", &m.Match)
	needInt(w, "index", &m.Index)
	needInt(w, "episode", &m.Episode)
	needInt(w, "turn", &m.Turn)
	ints(w, "to_act", &m.ToAct, false)
	w.pairs("actions", &m.Actions, false)
	w.floats("rewards", &m.Rewards)
	w.pairs("observations", &m.Observations, false)
	w.texts("agents", &m.Agents)
	w.bool("terminated", &m.Terminated, false)
	w.bool("truncated", &m.Truncated, false)
	w.nilFloats("outcome", &m.Outcome)
	if b := w.find("reason"); !w.decoding || b != nil && b[0] != 0xc0 {
		choice(w, "reason", &m.Reason, "", false, reasons)
	}
	w.nilText("text", &m.Text)
}

// Episode is the result of one episode.
type Episode struct {
	Run     int64
	Index   int64 // the number of the episode in its run
	Episode int64
	Seed    int64
	Reason  Reason
	Seats   []SeatResult
	Outcome []float64 // nil if nobody is scored
	Blame   *int
	Turns   int64
	Scored  bool // false if the episode was interrupted
	Again   bool // whether it is played again under the same index
	Message string
}

func (*Episode) kind() string { return "episode" }
func (m *Episode) wire(w *wire) {
	needInt(w, "run", &m.Run)
	needInt(w, "index", &m.Index)
	needInt(w, "episode", &m.Episode)
	needInt(w, "seed", &m.Seed)
	choice(w, "reason", &m.Reason, "", true, reasons)
	list(w, "seats", &m.Seats, true)
	w.nilFloats("outcome", &m.Outcome)
	nilInt(w, "blame", &m.Blame)
	optInt(w, "turns", &m.Turns, 0)
	w.bool("scored", &m.Scored, true)
	w.bool("again", &m.Again, false)
	w.text("message", &m.Message, "")
}

// SeatResult is what one seat got out of an episode.
type SeatResult struct {
	Agent     string
	Instance  int64
	Total     float64 // its return
	Decisions int64
	Seconds   float64
	Breaches  int64
	Ignored   int64
}

func (m *SeatResult) wire(w *wire) {
	w.needText("agent", &m.Agent)
	needInt(w, "instance", &m.Instance)
	w.float("total", &m.Total, 0)
	optInt(w, "decisions", &m.Decisions, 0)
	w.float("seconds", &m.Seconds, 0)
	optInt(w, "breaches", &m.Breaches, 0)
	optInt(w, "ignored", &m.Ignored, 0)
}

// Progress says how far a run is.
type Progress struct{ Run, Finished, Running, Total int64 }

func (*Progress) kind() string { return "progress" }
func (m *Progress) wire(w *wire) {
	needInt(w, "run", &m.Run)
	needInt(w, "finished", &m.Finished)
	needInt(w, "running", &m.Running)
	needInt(w, "total", &m.Total)
}

// Done says that a run is over, and why: finished, drained, cancelled or failed.
type Done struct {
	Run      int64
	Finished int64
	Reason   string
	Message  string
}

func (*Done) kind() string { return "done" }
func (m *Done) wire(w *wire) {
	needInt(w, "run", &m.Run)
	needInt(w, "finished", &m.Finished)
	choice(w, "reason", &m.Reason, "finished", false, []string{"finished", "drained", "cancelled", "failed"})
	w.text("message", &m.Message, "")
}
