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

// mustEncode is for messages in which nothing can fail to travel.
func mustEncode(m Message) []byte {
	frame, err := Encode(m)
	if err != nil {
		panic(err)
	}
	return frame
}

// Decoder reads the messages that a role hears from its broker. The results may share memory with the frame.
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
		return nil, protocolErrorf(CodeInvalid, "the frame is not a map")
	}
	return d.message()
}

// Refusal returns the error that answers the frame that Decode refused last: the request if it is one, else the number
// of the frame, as far as they can be read.
func (d *Decoder) Refusal(wrong *ProtocolError) *Error {
	refused := &Error{Code: wrong.Code, Message: oneLine(wrong)}
	if refused.ID = d.w.field("id"); refused.ID == nil {
		refused.Answers = d.w.field("seq")
	}
	return refused
}

// field returns an integer of the innermost map, or nil.
func (w *wire) field(key string) *int64 {
	var n *int64
	w.err = nil
	if orNil(w, key, &n, integer); w.err != nil {
		return nil
	}
	return n
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
			return nil, protocolErrorf(CodeUnknownType, "field type is not text")
		}
		m := makers[d.Role](string(kind))
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

// makers make an empty message by its type, for what each role hears.
var makers = map[Role]func(kind string) Message{
	RoleAgent: toAgent, RoleEnvironment: toEnvironment, RoleExperiment: toExperiment, RoleObserver: toExperiment,
}
