package dovetail

import (
	"errors"

	"github.com/tinylib/msgp/msgp"
)

// Encode returns the frame of a message. It fails if a value in it cannot travel.
func Encode(m Message) ([]byte, error) {
	w := wire{out: make([]byte, 0, 128)}
	w.encodeMap(m)
	if w.err != nil {
		return nil, w.err
	}
	return w.out, nil
}

// mustEncode is for messages without values of the user.
func mustEncode(m Message) []byte {
	frame, err := Encode(m)
	if err != nil { // a text that is no UTF-8, of somebody's error
		frame, _ = Encode(&Error{Code: CodeCrashed, Message: "an answer cannot travel"})
	}
	return frame
}

// Decoder reads the messages that a role hears from its broker. What it returns may share memory with the frame.
type Decoder struct {
	Role   Role
	Limits Limits
	w      wire
}

// NewDecoder returns a decoder with the default limits.
func NewDecoder(role Role) *Decoder { return &Decoder{Role: role, Limits: DefaultLimits} }

// Decode reads one frame; the error is a *ProtocolError with the code that the sender must get.
func (d *Decoder) Decode(frame []byte) (Message, *ProtocolError) {
	w := &d.w
	*w = wire{decoding: true, entries: w.entries[:0]}
	if err := d.Limits.check(frame); err != nil {
		return nil, err
	}
	if _, ok := w.open(frame); !ok {
		return nil, protocolErrorf(CodeInvalid, "the frame is no map")
	}
	return d.message()
}

// Refusal returns the error that answers the frame that Decode refused last; it names what the frame is about if
// that can be told.
func (d *Decoder) Refusal(wrong *ProtocolError) *Error {
	refused := &Error{Code: wrong.Code, Message: wrong.Text}
	d.w.about(refused)
	return refused
}

// about fills in the id, episode, seat and match that are fields of the innermost map.
func (w *wire) about(refused *Error) {
	about(w, "id", &refused.ID)
	about(w, "episode", &refused.Episode)
	about(w, "seat", &refused.Seat)
	about(w, "match", &refused.Match)
}

func about[T ~int | ~int64](w *wire, key string, p **T) {
	w.err = nil
	if orNil(w, key, p, integer); w.err != nil {
		*p = nil
	}
}

func (d *Decoder) message() (Message, *ProtocolError) {
	w := &d.w
	b := w.find("type")
	if w.err == nil {
		if b == nil {
			return nil, protocolErrorf(CodeUnknownType, "field type is missing")
		}
		kind, _, err := msgp.ReadStringZC(b)
		if err != nil {
			return nil, protocolErrorf(CodeUnknownType, "field type is no text")
		}
		m := blank(d.Role, kind)
		if m == nil {
			return nil, protocolErrorf(CodeUnknownType, "no message %.40q goes to this role", kind)
		}
		m.wire(w)
		if w.err == nil {
			return m, nil
		}
	}
	var refused *ProtocolError
	if !errors.As(w.err, &refused) {
		refused = protocolErrorf(CodeInvalid, "%v", w.err)
	}
	return nil, refused
}

// blank returns an empty message of a type in the direction to a role, or nil.
func blank(role Role, kind []byte) Message {
	switch string(kind) {
	case "welcome":
		return new(Welcome)
	case "ping":
		return new(Ping)
	case "pong":
		return new(Pong)
	case "error":
		return new(Error)
	case "bye":
		return new(Bye)
	}
	switch role {
	case RoleAgent:
		switch string(kind) {
		case "step":
			return new(AgentStep)
		case "start":
			return new(AgentStart)
		case "end":
			return new(AgentEnd)
		case "create":
			return new(Create)
		case "init":
			return new(Init)
		case "reply":
			return new(Reply)
		case "save":
			return new(Save)
		case "load":
			return new(Load)
		case "message":
			return new(AgentMessage)
		case "leave":
			return new(Leave)
		case "cleanup":
			return new(Cleanup)
		}
	case RoleEnvironment:
		switch string(kind) {
		case "step":
			return new(EnvironmentStep)
		case "start":
			return new(EnvironmentStart)
		case "open":
			return new(Open)
		case "close":
			return new(Close)
		case "lookahead":
			return new(EnvironmentLookahead)
		case "message":
			return new(EnvironmentMessage)
		}
	default:
		switch string(kind) {
		case "turn":
			return new(WatchedTurn)
		case "episode":
			return new(Episode)
		case "progress":
			return new(Progress)
		case "done":
			return new(Done)
		case "reply":
			return new(Reply)
		case "saved":
			return new(Saved)
		}
	}
	return nil
}
