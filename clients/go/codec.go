package dovetail

import (
	"errors"
	"maps"

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
		make := heard[d.Role][string(kind)]
		if make == nil {
			return nil, protocolErrorf(CodeUnknownType, "no message %.40q goes to this role", kind)
		}
		m := make()
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

// heard has a maker of empty messages by type, for what each role hears.
var heard = map[Role]map[string]func() Message{
	RoleAgent: withCommon(map[string]func() Message{
		"step": blank[AgentStep], "start": blank[AgentStart], "end": blank[AgentEnd], "create": blank[Create],
		"init": blank[Init], "reply": blank[Reply], "save": blank[Save], "load": blank[Load],
		"message": blank[AgentMessage], "leave": blank[Leave], "cleanup": blank[Cleanup],
	}),
	RoleEnvironment: withCommon(map[string]func() Message{
		"step": blank[EnvironmentStep], "start": blank[EnvironmentStart], "open": blank[Open], "close": blank[Close],
		"lookahead": blank[EnvironmentLookahead], "message": blank[EnvironmentMessage],
	}),
	RoleExperiment: withCommon(map[string]func() Message{
		"turn": blank[WatchedTurn], "episode": blank[Episode], "progress": blank[Progress], "done": blank[Done],
		"reply": blank[Reply], "saved": blank[Saved],
	}),
}

func withCommon(own map[string]func() Message) map[string]func() Message {
	maps.Copy(own, map[string]func() Message{
		"welcome": blank[Welcome], "ping": blank[Ping], "pong": blank[Pong], "error": blank[Error], "bye": blank[Bye],
	})
	return own
}

func blank[T any, P interface {
	*T
	Message
}]() Message {
	return P(new(T))
}
