package dovetail

import (
	"encoding/binary"
	"errors"
	"math"

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

// deepest is how many levels of nesting are read at the most, whatever the limits, and encoded, so that a value that
// contains itself fails in peace: each takes some of the stack.
const deepest = 500

// check walks over a frame without building anything, and accepts it if it is exactly one well-formed
// MessagePack value within the limits. Whatever reads the frame afterwards may rely on its structure.
func (l Limits) check(frame []byte) *ProtocolError {
	size := len(frame)
	if size > l.Frame {
		return protocolErrorf(CodeLimit, "frame of %d bytes; at most %d are read", size, l.Frame)
	}
	depth := min(l.Depth, deepest)
	var small [40]int
	left := append(small[:0], 1) // values to come in each open container, outermost first
	pos, elements := 0, 0
	for {
		top := len(left) - 1
		if left[top] == 0 {
			if top == 0 {
				break
			}
			left = left[:top]
			continue
		}
		if pos >= size {
			return endsInside(size)
		}
		left[top]--
		elements++
		if elements > l.Elements {
			return protocolErrorf(CodeLimit, "more than %d values in a frame", l.Elements)
		}
		lead := frame[pos]
		head, body, count := measure(frame[pos:])
		if head < 0 {
			if lead == 0xc1 {
				return protocolErrorf(CodeMalformed, "byte 0xc1 at %d is not MessagePack", pos)
			}
			return endsInside(size)
		}
		if body > size-pos-head {
			return endsInside(size)
		}
		pos += head + body
		if count < 0 {
			continue
		}
		if count > size-pos {
			return protocolErrorf(CodeMalformed, "%d values announced with %d bytes to come", count, size-pos)
		}
		left = append(left, count)
		if len(left)-1 > depth {
			return protocolErrorf(CodeLimit, "nested deeper than %d", depth)
		}
	}
	if pos != size {
		return protocolErrorf(CodeMalformed, "frame of %d bytes continues after byte %d", size, pos)
	}
	return nil
}

func endsInside(size int) *ProtocolError {
	return protocolErrorf(CodeMalformed, "frame of %d bytes ends inside a value", size)
}

// measure reads the head of a value: how long the head is (-1 if it is cut short or no MessagePack), how many
// bytes of content follow it, and how many values it opens (-1 if it opens none).
func measure(b []byte) (head, body, count int) {
	lead := b[0]
	switch {
	case lead <= 0x7f || lead >= 0xe0:
		return 1, 0, -1
	case lead <= 0x8f:
		return 1, 0, 2 * int(lead&0x0f)
	case lead <= 0x9f:
		return 1, 0, int(lead & 0x0f)
	case lead <= 0xbf:
		return 1, int(lead & 0x1f), -1
	}
	switch lead {
	case 0xc0, 0xc2, 0xc3:
		return 1, 0, -1
	case 0xcc, 0xd0:
		return 1, 1, -1
	case 0xcd, 0xd1:
		return 1, 2, -1
	case 0xca, 0xce, 0xd2:
		return 1, 4, -1
	case 0xcb, 0xcf, 0xd3:
		return 1, 8, -1
	case 0xd4, 0xd5, 0xd6, 0xd7, 0xd8:
		return 2, 1 << (lead - 0xd4), -1 // the type byte belongs to the head
	case 0xc4, 0xd9:
		return sized(b, 1, 0)
	case 0xc5, 0xda:
		return sized(b, 2, 0)
	case 0xc6, 0xdb:
		return sized(b, 4, 0)
	case 0xc7:
		return sized(b, 1, 1)
	case 0xc8:
		return sized(b, 2, 1)
	case 0xc9:
		return sized(b, 4, 1)
	case 0xdc, 0xde:
		head, count, _ = sized(b, 2, 0)
	case 0xdd, 0xdf:
		head, count, _ = sized(b, 4, 0)
	default: // 0xc1
		return -1, 0, 0
	}
	if lead >= 0xde {
		count = 2 * min(count, math.MaxInt/2)
	}
	return head, 0, count
}

func sized(b []byte, width, extra int) (head, body, count int) {
	if len(b) < 1+width {
		return -1, 0, 0
	}
	switch width {
	case 1:
		body = int(b[1])
	case 2:
		body = int(binary.BigEndian.Uint16(b[1:]))
	default:
		// An int of 32 bits does not hold every length. No frame there is as long as the longest it holds.
		body = int(min(uint64(binary.BigEndian.Uint32(b[1:])), math.MaxInt))
	}
	return 1 + width + extra, body, -1
}

// skip returns the length of the value at the beginning of b, whose structure was checked before.
func skip(b []byte) int {
	pos := 0
	for left := 1; left > 0; left-- {
		head, body, count := measure(b[pos:])
		pos += head + body
		if count > 0 {
			left += count
		}
	}
	return pos
}
