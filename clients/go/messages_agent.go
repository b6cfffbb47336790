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
