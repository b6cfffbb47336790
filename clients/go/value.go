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
// text, and Space.

// Extension is a MessagePack extension that is not a tensor, kept unchanged.
type Extension struct {
	Code int8
	Data []byte
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
	head, body, count := measure(b)
	content, rest := b[head:head+body:head+body], b[head+body:]
	switch {
	case lead <= 0x7f:
		return int64(lead), rest, nil
	case lead >= 0xe0:
		return int64(int8(lead)), rest, nil
	case lead <= 0x8f || lead == 0xde || lead == 0xdf:
		return readMap(rest, count/2)
	case count >= 0:
		list := make([]any, count)
		var err error
		for i := range list {
			if list[i], rest, err = readValue(rest); err != nil {
				return nil, nil, err
			}
		}
		return list, rest, nil
	case lead <= 0xbf || lead >= 0xd9:
		if !utf8.Valid(content) {
			return nil, nil, protocolErrorf(CodeMalformed, "a text is not UTF-8")
		}
		return string(content), rest, nil
	case lead >= 0xcc && lead <= 0xcf:
		n, _, _ := msgp.ReadUint64Bytes(b)
		if n > math.MaxInt64 {
			return n, rest, nil
		}
		return int64(n), rest, nil
	case lead >= 0xd0 && lead <= 0xd3:
		n, _, _ := msgp.ReadInt64Bytes(b)
		return n, rest, nil
	}
	switch lead {
	case 0xc0:
		return nil, rest, nil
	case 0xc2, 0xc3:
		return lead == 0xc3, rest, nil
	case 0xc4, 0xc5, 0xc6:
		return content, rest, nil
	case 0xca:
		return float64(math.Float32frombits(binary.BigEndian.Uint32(content))), rest, nil
	case 0xcb:
		return math.Float64frombits(binary.BigEndian.Uint64(content)), rest, nil
	}
	code := int8(b[head-1]) // what is left are the extensions
	if code == tensorExtension {
		tensor, err := unpackTensor(content)
		if err != nil {
			return nil, nil, err
		}
		return tensor, rest, nil
	}
	return Extension{code, content}, rest, nil
}

func readMap(rest []byte, count int) (any, []byte, error) {
	out := make(map[string]any, count)
	for range count {
		key, after, err := msgp.ReadStringZC(rest)
		if err != nil || !utf8.Valid(key) {
			return nil, nil, protocolErrorf(CodeMalformed, "a key is not text")
		}
		if out[string(key)], rest, err = readValue(after); err != nil {
			return nil, nil, err
		}
	}
	return out, rest, nil
}

// AppendValue appends the encoding of a value. It fails for what cannot travel.
func AppendValue(out []byte, value any) ([]byte, error) { return appendValue(out, value, 0) }

// EncodeValue returns the encoding of a value.
func EncodeValue(value any) ([]byte, error) { return appendValue(nil, value, 0) }

func appendValue(out []byte, value any, depth int) ([]byte, error) {
	if depth > deepest {
		return nil, fmt.Errorf("a value nested deeper than %d cannot travel", deepest)
	}
	switch v := value.(type) {
	case nil:
		return msgp.AppendNil(out), nil
	case bool:
		return msgp.AppendBool(out, v), nil
	case int:
		return msgp.AppendInt(out, v), nil
	case int64:
		return msgp.AppendInt64(out, v), nil
	case uint64:
		return msgp.AppendUint64(out, v), nil
	case float64:
		return msgp.AppendFloat64(out, v), nil
	case string:
		return appendText(out, v)
	case []byte:
		return msgp.AppendBytes(out, v), nil
	case []any:
		return appendList(out, v, depth)
	case map[string]any:
		return appendMap(out, v, depth)
	case map[string]Space:
		return appendMap(out, v, depth)
	case *Tensor:
		return appendTensor(out, v)
	case Tensor:
		return appendTensor(out, &v)
	case Extension:
		return appendExtension(out, v), nil
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
		return appendNumbers(out, v, msgp.AppendInt), nil
	case []int64:
		return appendNumbers(out, v, msgp.AppendInt64), nil
	case []float64:
		return appendNumbers(out, v, msgp.AppendFloat64), nil
	case []string:
		return appendList(out, v, depth)
	case []map[string]any:
		return appendList(out, v, depth)
	case []Space:
		return appendList(out, v, depth)
	case fields:
		w := wire{out: out}
		w.encodeMap(v)
		return w.out, w.err
	}
	return nil, fmt.Errorf("a %T cannot travel; use numbers, text, slices, maps or tensors", value)
}

func appendText(out []byte, text string) ([]byte, error) {
	if !utf8.ValidString(text) {
		return nil, protocolErrorf(CodeInvalid, "text that is not UTF-8 cannot travel")
	}
	return msgp.AppendString(out, text), nil
}

func appendList[T any](out []byte, list []T, depth int) ([]byte, error) {
	out = msgp.AppendArrayHeader(out, uint32(len(list)))
	var err error
	for _, each := range list {
		if out, err = appendValue(out, each, depth+1); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func appendMap[T any](out []byte, m map[string]T, depth int) ([]byte, error) {
	out = msgp.AppendMapHeader(out, uint32(len(m)))
	var err error
	for key, each := range m {
		if out, err = appendText(out, key); err != nil {
			return nil, err
		}
		if out, err = appendValue(out, each, depth+1); err != nil {
			return nil, err
		}
	}
	return out, nil
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
