package dovetail

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
	need(w, "id", &m.ID, integer)
	need(w, "instance", &m.Instance, integer)
	need(w, "agent", &m.Agent, text)
	w.values("parameters", &m.Parameters)
	opt(w, "seed", &m.Seed, 0, integer)
	orNone(w, "state", &m.State, blob)
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
	need(w, "match", &m.Match, integer)
	need(w, "seat", &m.Seat, integer)
	need(w, "instance", &m.Instance, integer)
	if w.decoding {
		m.Spec = new(Spec)
	}
	need(w, "spec", m.Spec, mapOf)
	opt(w, "lookahead", &m.Lookahead, false, boolean)
}

// Clock is what a seat may use, and what its last answer took, in seconds at the broker; nil is no limit.
type Clock struct {
	Decision *float64
	Left     *float64
	Last     *float64
}

func (m *Clock) wire(w *wire) {
	orNil(w, "decision", &m.Decision, number)
	orNil(w, "left", &m.Left, number)
	orNil(w, "last", &m.Last, number)
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
	need(w, "episode", &m.Episode, integer)
	need(w, "seat", &m.Seat, integer)
	need(w, "turn", &m.Turn, integer)
	opt(w, "reward", &m.Reward, 0, number)
	orEmpty(w, "observation", &m.Observation, encoded)
	w.legal("legal", &m.Legal, &m.LegalMask)
	orEmpty(w, "afterstates", &m.Afterstates, encoded)
	orNil(w, "text", &m.Text, text)
	orEmpty(w, "scene", &m.Scene, encoded)
	orNil(w, "clock", &m.Clock, mapOf)
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
	need(w, "match", &m.Match, integer)
	need(w, "seed", &m.Seed, integer)
	opt(w, "mode", &m.Mode, Learn, oneOf(modes...))
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
	need(w, "episode", &m.Episode, integer)
	need(w, "turn", &m.Turn, integer)
	need(w, "seat", &m.Seat, integer)
	opt(w, "action", &m.Action, nil, value)
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
	need(w, "episode", &m.Episode, integer)
	need(w, "seat", &m.Seat, integer)
	opt(w, "match", &m.Match, 0, integer)
	opt(w, "reward", &m.Reward, 0, number)
	orEmpty(w, "observation", &m.Observation, encoded)
	orNone(w, "outcome", &m.Outcome, arrayOf(number))
	opt(w, "reason", &m.Reason, Terminated, oneOf(reasons...))
	orNil(w, "blame", &m.Blame, integer)
	opt(w, "total", &m.Total, 0, number)
	opt(w, "decisions", &m.Decisions, 0, integer)
	orNil(w, "text", &m.Text, text)
	orEmpty(w, "scene", &m.Scene, encoded)
	opt(w, "mode", &m.Mode, Learn, oneOf(modes...))
}

// AgentLookahead asks what would follow from the position in which a seat must act; the broker passes it on.
type AgentLookahead EnvironmentLookahead

func (*AgentLookahead) kind() string   { return "lookahead" }
func (m *AgentLookahead) wire(w *wire) { (*EnvironmentLookahead)(m).wire(w) }

// Save asks an instance for its state; Keep is the experiment's.
type Save struct {
	ID       int64
	Instance int64
	Keep     *string
}

func (*Save) kind() string { return "save" }
func (m *Save) wire(w *wire) {
	need(w, "id", &m.ID, integer)
	need(w, "instance", &m.Instance, integer)
	orNil(w, "keep", &m.Keep, text)
}

// Saved is an instance's state.
type Saved struct {
	ID    int64
	State []byte
}

func (*Saved) kind() string { return "saved" }
func (m *Saved) wire(w *wire) {
	need(w, "id", &m.ID, integer)
	need(w, "state", &m.State, blob)
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
	need(w, "id", &m.ID, integer)
	need(w, "instance", &m.Instance, integer)
	orEmpty(w, "state", &m.State, blob)
	orNil(w, "kept", &m.Kept, text)
}

// AgentMessage is data from an experiment to an instance.
type AgentMessage struct {
	ID       int64
	Instance int64
	Body     any
}

func (*AgentMessage) kind() string { return "message" }
func (m *AgentMessage) wire(w *wire) {
	need(w, "id", &m.ID, integer)
	need(w, "instance", &m.Instance, integer)
	opt(w, "body", &m.Body, nil, value)
}

// Leave says that the seats of a match are free.
type Leave struct{ Match int64 }

func (*Leave) kind() string   { return "leave" }
func (m *Leave) wire(w *wire) { need(w, "match", &m.Match, integer) }

// Cleanup lets an instance go.
type Cleanup struct {
	ID       int64
	Instance int64
}

func (*Cleanup) kind() string { return "cleanup" }
func (m *Cleanup) wire(w *wire) {
	need(w, "id", &m.ID, integer)
	need(w, "instance", &m.Instance, integer)
}
