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
	need(w, "version", &m.Version, integer)
	need(w, "role", (*string)(&m.Role), text)
	opt(w, "name", &m.Name, "", text)
	array(w, "offers", &m.Offers, mapOf)
	orNil(w, "token", &m.Token, text)
	orNil(w, "resume", &m.Resume, text)
	opt(w, "software", &m.Software, "", text)
	array(w, "features", &m.Features, text)
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
	need(w, "name", &m.Name, text)
	opt(w, "description", &m.Description, "", text)
	w.values("parameters", &m.Parameters)
	array(w, "wants", &m.Wants, text)
	opt(w, "capacity", &m.Capacity, 1, integer)
	opt(w, "instance", &m.Instance, false, boolean)
	orNone(w, "seats", &m.Seats, integers)
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
	need(w, "session", &m.Session, text)
	need(w, "name", &m.Name, text)
	opt(w, "resumed", &m.Resumed, false, boolean)
	opt(w, "version", &m.Version, Version, integer)
	opt(w, "heartbeat", &m.Heartbeat, 1, number)
	opt(w, "patience", &m.Patience, 30, number)
	w.check(m.Heartbeat >= 0 && m.Patience >= 0, "heartbeat or patience", "0 or more")
	limits := &m.Limits
	if !w.decoding && m.Limits == DefaultLimits {
		limits = nil
	}
	orNil(w, "limits", &limits, mapOf)
	if w.decoding {
		m.Limits = DefaultLimits
		if limits != nil {
			m.Limits = *limits
		}
	}
	array(w, "features", &m.Features, text)
}

// Ping asks whether the other side lives.
type Ping struct{ Number uint64 }

func (*Ping) kind() string   { return "ping" }
func (m *Ping) wire(w *wire) { opt(w, "number", &m.Number, 0, unsigned) }

// Pong answers a Ping.
type Pong struct{ Number uint64 }

func (*Pong) kind() string   { return "pong" }
func (m *Pong) wire(w *wire) { opt(w, "number", &m.Number, 0, unsigned) }

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
	need(w, "code", &m.Code, text)
	need(w, "message", &m.Message, text)
	orNil(w, "id", &m.ID, integer)
	orNil(w, "episode", &m.Episode, integer)
	orNil(w, "seat", &m.Seat, integer)
	orNil(w, "match", &m.Match, integer)
}

// Bye is an orderly leave.
type Bye struct{ Reason string }

func (*Bye) kind() string   { return "bye" }
func (m *Bye) wire(w *wire) { opt(w, "reason", &m.Reason, "", text) }

// Reply answers a message that has an id.
type Reply struct {
	ID   int64
	Body any
}

func (*Reply) kind() string { return "reply" }
func (m *Reply) wire(w *wire) {
	need(w, "id", &m.ID, integer)
	opt(w, "body", &m.Body, nil, value)
}
