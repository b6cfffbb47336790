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
