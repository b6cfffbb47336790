package dovetail

import (
	"encoding/binary"
	"fmt"
	"math"
	"unicode/utf8"

	"github.com/tinylib/msgp/msgp"
)

// Values of any kind are read as nil, bool, int64 (uint64 if it is 2^63 or more), float64, string, []byte, []any,
// map[string]any, *Tensor or Extension. AppendValue writes these, and the other Go numbers, slices of numbers and
// text, Space and Raw.

// Extension is a MessagePack extension that is not a tensor; it is kept as it came.
type Extension struct {
	Code int8
	Data []byte
}

// Raw is a value that is still encoded.
type Raw []byte

// Decode reads the value; nil if there is none.
func (r Raw) Decode() (any, error) {
	if len(r) == 0 {
		return nil, nil
	}
	value, _, err := readValue(r)
	return value, err
}

// SeatValue is a seat with an action or an observation.
type SeatValue struct {
	Seat  int
	Value any
}

// DecodeValue reads a frame that is any one value, within the default limits.
func DecodeValue(frame []byte) (any, error) {
	if err := DefaultLimits.check(frame); err != nil {
		return nil, err
	}
	value, _, err := readValue(frame)
	return value, err
}

// readValue reads one value of a frame whose structure was checked; what is decoded may share the frame's memory.
func readValue(b []byte) (any, []byte, error) {
	lead := b[0]
	switch {
	case lead <= 0x7f:
		return int64(lead), b[1:], nil
	case lead >= 0xe0:
		return int64(int8(lead)), b[1:], nil
	case lead <= 0x8f || lead == 0xde || lead == 0xdf:
		return readMap(b)
	case lead <= 0x9f || lead == 0xdc || lead == 0xdd:
		n, rest, err := msgp.ReadArrayHeaderBytes(b)
		if err != nil {
			return nil, nil, malformed(err)
		}
		list := make([]any, n)
		for i := range list {
			if list[i], rest, err = readValue(rest); err != nil {
				return nil, nil, err
			}
		}
		return list, rest, nil
	case lead <= 0xbf || lead >= 0xd9 && lead <= 0xdb:
		text, rest, err := msgp.ReadStringZC(b)
		if err != nil {
			return nil, nil, malformed(err)
		}
		if !utf8.Valid(text) {
			return nil, nil, protocolErrorf(CodeMalformed, "a text is no UTF-8")
		}
		return string(text), rest, nil
	}
	switch lead {
	case 0xc0:
		return nil, b[1:], nil
	case 0xc2:
		return false, b[1:], nil
	case 0xc3:
		return true, b[1:], nil
	case 0xca:
		return float64(math.Float32frombits(binary.BigEndian.Uint32(b[1:]))), b[5:], nil
	case 0xcb:
		return math.Float64frombits(binary.BigEndian.Uint64(b[1:])), b[9:], nil
	case 0xcc, 0xcd, 0xce, 0xcf:
		n, rest, err := msgp.ReadUint64Bytes(b)
		if err != nil {
			return nil, nil, malformed(err)
		}
		if n > math.MaxInt64 {
			return n, rest, nil
		}
		return int64(n), rest, nil
	case 0xd0, 0xd1, 0xd2, 0xd3:
		n, rest, err := msgp.ReadInt64Bytes(b)
		if err != nil {
			return nil, nil, malformed(err)
		}
		return n, rest, nil
	case 0xc4, 0xc5, 0xc6:
		data, rest, err := msgp.ReadBytesZC(b)
		if err != nil {
			return nil, nil, malformed(err)
		}
		return data[:len(data):len(data)], rest, nil
	}
	head, body, _ := measure(b) // what is left are the extensions
	code, data, rest := int8(b[head-1]), b[head:head+body:head+body], b[head+body:]
	if code == tensorExtension {
		tensor, err := unpackTensor(data)
		if err != nil {
			return nil, nil, err
		}
		return tensor, rest, nil
	}
	return Extension{code, data}, rest, nil
}

func readMap(b []byte) (any, []byte, error) {
	n, rest, err := msgp.ReadMapHeaderBytes(b)
	if err != nil {
		return nil, nil, malformed(err)
	}
	out := make(map[string]any, n)
	for ; n > 0; n-- {
		var key []byte
		if key, rest, err = msgp.ReadStringZC(rest); err != nil || !utf8.Valid(key) {
			return nil, nil, protocolErrorf(CodeMalformed, "a key is no text")
		}
		var value any
		if value, rest, err = readValue(rest); err != nil {
			return nil, nil, err
		}
		out[string(key)] = value
	}
	return out, rest, nil
}

func malformed(err error) error { return &ProtocolError{CodeMalformed, err.Error()} }

// AppendValue appends the encoding of a value. It fails for what cannot travel.
func AppendValue(out []byte, value any) ([]byte, error) { return appendValue(out, value, 0) }

// EncodeValue returns the encoding of a value.
func EncodeValue(value any) ([]byte, error) { return appendValue(nil, value, 0) }

const deepest = 256 // of what is encoded, so that a value that contains itself fails in peace

func appendValue(out []byte, value any, depth int) ([]byte, error) {
	if depth > deepest {
		return nil, fmt.Errorf("a value nested deeper than %d cannot travel", deepest)
	}
	var err error
	switch v := value.(type) {
	case nil:
		return msgp.AppendNil(out), nil
	case bool:
		return msgp.AppendBool(out, v), nil
	case int:
		return msgp.AppendInt64(out, int64(v)), nil
	case int64:
		return msgp.AppendInt64(out, v), nil
	case uint64:
		return msgp.AppendUint64(out, v), nil
	case float64:
		return msgp.AppendFloat64(out, v), nil
	case string:
		if !utf8.ValidString(v) {
			return nil, fmt.Errorf("a text that is no UTF-8 cannot travel")
		}
		return msgp.AppendString(out, v), nil
	case []byte:
		return msgp.AppendBytes(out, v), nil
	case []any:
		out = msgp.AppendArrayHeader(out, uint32(len(v)))
		for _, each := range v {
			if out, err = appendValue(out, each, depth+1); err != nil {
				return nil, err
			}
		}
		return out, nil
	case map[string]any:
		out = msgp.AppendMapHeader(out, uint32(len(v)))
		for key, each := range v {
			out = msgp.AppendString(out, key)
			if out, err = appendValue(out, each, depth+1); err != nil {
				return nil, err
			}
		}
		return out, nil
	case *Tensor:
		return appendTensor(out, v)
	case Tensor:
		return appendTensor(out, &v)
	case Extension:
		return appendExtension(out, v), nil
	case Raw:
		if len(v) == 0 {
			return msgp.AppendNil(out), nil
		}
		return append(out, v...), nil
	case Space:
		return appendValue(out, v.Map(), depth+1)
	case int8:
		return msgp.AppendInt64(out, int64(v)), nil
	case int16:
		return msgp.AppendInt64(out, int64(v)), nil
	case int32:
		return msgp.AppendInt64(out, int64(v)), nil
	case uint:
		return msgp.AppendUint64(out, uint64(v)), nil
	case uint8:
		return msgp.AppendUint64(out, uint64(v)), nil
	case uint16:
		return msgp.AppendUint64(out, uint64(v)), nil
	case uint32:
		return msgp.AppendUint64(out, uint64(v)), nil
	case float32:
		return msgp.AppendFloat32(out, v), nil
	case []int:
		return appendNumbers(out, v, func(b []byte, n int) []byte { return msgp.AppendInt64(b, int64(n)) }), nil
	case []int64:
		return appendNumbers(out, v, msgp.AppendInt64), nil
	case []float64:
		return appendNumbers(out, v, msgp.AppendFloat64), nil
	case []string:
		out = msgp.AppendArrayHeader(out, uint32(len(v)))
		for _, each := range v {
			if out, err = appendValue(out, each, depth+1); err != nil {
				return nil, err
			}
		}
		return out, nil
	case []map[string]any:
		out = msgp.AppendArrayHeader(out, uint32(len(v)))
		for _, each := range v {
			if out, err = appendValue(out, each, depth+1); err != nil {
				return nil, err
			}
		}
		return out, nil
	case []Space:
		out = msgp.AppendArrayHeader(out, uint32(len(v)))
		for _, each := range v {
			if out, err = appendValue(out, each, depth+1); err != nil {
				return nil, err
			}
		}
		return out, nil
	case fields:
		w := wire{out: out}
		w.encodeMap(v)
		return w.out, w.err
	}
	return nil, fmt.Errorf("a %T cannot travel; use numbers, text, slices, maps or tensors", value)
}

func appendNumbers[T any](out []byte, list []T, one func([]byte, T) []byte) []byte {
	out = msgp.AppendArrayHeader(out, uint32(len(list)))
	for _, each := range list {
		out = one(out, each)
	}
	return out
}

func appendExtension(out []byte, e Extension) []byte {
	switch n := len(e.Data); {
	case n == 1 || n == 2 || n == 4 || n == 8 || n == 16:
		lead := map[int]byte{1: 0xd4, 2: 0xd5, 4: 0xd6, 8: 0xd7, 16: 0xd8}[n]
		out = append(out, lead)
	case n < 1<<8:
		out = append(out, 0xc7, byte(n))
	case n < 1<<16:
		out = binary.BigEndian.AppendUint16(append(out, 0xc8), uint16(n))
	default:
		out = binary.BigEndian.AppendUint32(append(out, 0xc9), uint32(n))
	}
	return append(append(out, byte(e.Code)), e.Data...)
}

// AsInt returns the integer that a decoded value is.
func AsInt(value any) (int64, bool) {
	switch v := value.(type) {
	case int64:
		return v, true
	case int:
		return int64(v), true
	}
	return 0, false
}

// AsFloat returns the number that a decoded value is.
func AsFloat(value any) (float64, bool) {
	switch v := value.(type) {
	case float64:
		return v, true
	case int64:
		return float64(v), true
	case uint64:
		return float64(v), true
	case int:
		return float64(v), true
	}
	return 0, false
}
