package dovetail

import (
	"encoding/binary"
	"math"
	"unicode/utf8"

	"github.com/tinylib/msgp/msgp"
)

// wire reads or writes the fields of a message. Every message says its fields once, in a method wire, and that
// serves both directions: no reflection, and what is written is what is read.
type wire struct {
	decoding bool
	err      error // the first that happened; everything after it does nothing

	entries []entry // decoding: the keys of the maps that are open, innermost last
	base    int     // where those of the innermost map begin

	out   []byte // encoding: what was written
	count int    // fields of the innermost map so far
}

type entry struct{ key, value []byte }

type fields interface{ wire(*wire) }

func (w *wire) fail(code, format string, args ...any) {
	if w.err == nil {
		w.err = protocolErrorf(code, format, args...)
	}
}

func (w *wire) invalid(key, want string) {
	w.fail(CodeInvalid, "field %s is not %s", key, want)
}

// -- maps ----------------------------------------------------------------------------------------------

// open indexes a map whose structure was checked; close must follow.
func (w *wire) open(b []byte) (base int, ok bool) {
	base = w.base
	n, rest, err := msgp.ReadMapHeaderBytes(b)
	if err != nil {
		return base, false
	}
	w.base = len(w.entries)
	for ; n > 0; n-- {
		key, after, err := msgp.ReadStringZC(rest)
		if err != nil {
			w.fail(CodeInvalid, "a key of the message is no text")
			break
		}
		size := skip(after)
		w.entries = append(w.entries, entry{key, after[:size:size]})
		rest = after[size:]
	}
	return base, true
}

func (w *wire) close(base int) {
	w.entries = w.entries[:w.base]
	w.base = base
}

// find returns the value of a key of the innermost map, or nil. If a key comes twice, the last one counts.
func (w *wire) find(key string) []byte {
	if w.err != nil {
		return nil
	}
	for i := len(w.entries) - 1; i >= w.base; i-- {
		if string(w.entries[i].key) == key {
			return w.entries[i].value
		}
	}
	return nil
}

func (w *wire) need(key string) []byte {
	b := w.find(key)
	if b == nil {
		w.fail(CodeInvalid, "field %s is missing", key)
	}
	return b
}

// decodeMap reads the fields of one map.
func (w *wire) decodeMap(b []byte, key string, m fields) {
	base, ok := w.open(b)
	if !ok {
		w.invalid(key, "a map")
		return
	}
	if w.err == nil {
		m.wire(w)
	}
	w.close(base)
}

// encodeMap writes one map; its header always has two bytes of length, which are filled in at the end.
func (w *wire) encodeMap(kind string, m fields) {
	outer := w.count
	start := len(w.out)
	w.out = append(w.out, 0xde, 0, 0)
	w.count = 0
	if kind != "" {
		w.key("type")
		w.out = msgp.AppendString(w.out, kind)
	}
	m.wire(w)
	binary.BigEndian.PutUint16(w.out[start+1:], uint16(w.count))
	w.count = outer
}

func (w *wire) key(key string) {
	w.count++
	w.out = msgp.AppendString(w.out, key)
}

// -- integers ------------------------------------------------------------------------------------------

type integer interface{ ~int | ~int64 }

func isInt(b []byte) bool {
	lead := b[0]
	return lead <= 0x7f || lead >= 0xe0 || lead >= 0xcc && lead <= 0xd3
}

func readInt(w *wire, key string, b []byte) int64 {
	if b == nil {
		return 0
	}
	if !isInt(b) {
		w.invalid(key, "an integer")
		return 0
	}
	n, _, err := msgp.ReadInt64Bytes(b)
	if err != nil {
		w.invalid(key, "an integer below 2^63")
	}
	return n
}

func needInt[T integer](w *wire, key string, p *T) {
	if w.decoding {
		*p = T(readInt(w, key, w.need(key)))
		return
	}
	w.key(key)
	w.out = msgp.AppendInt64(w.out, int64(*p))
}

func optInt[T integer](w *wire, key string, p *T, def T) {
	if w.decoding {
		*p = def
		if b := w.find(key); b != nil {
			*p = T(readInt(w, key, b))
		}
		return
	}
	if *p != def {
		w.key(key)
		w.out = msgp.AppendInt64(w.out, int64(*p))
	}
}

func intAtLeast[T integer](w *wire, key string, p *T, def, min T) {
	optInt(w, key, p, def)
	if w.decoding && *p < min {
		w.invalid(key, "large enough")
	}
}

// nilInt is an integer or nil.
func nilInt[T integer](w *wire, key string, p **T) {
	if w.decoding {
		*p = nil
		if b := w.find(key); b != nil && b[0] != 0xc0 {
			n := T(readInt(w, key, b))
			*p = &n
		}
		return
	}
	if *p != nil {
		w.key(key)
		w.out = msgp.AppendInt64(w.out, int64(**p))
	}
}

// number is a counter that may use all of 64 bits.
func (w *wire) number(key string, p *uint64) {
	if w.decoding {
		*p = 0
		if b := w.find(key); b != nil {
			if !isInt(b) {
				w.invalid(key, "an integer")
				return
			}
			n, _, err := msgp.ReadUint64Bytes(b)
			if err != nil {
				w.invalid(key, "an integer ≥ 0")
			}
			*p = n
		}
		return
	}
	if *p != 0 {
		w.key(key)
		w.out = msgp.AppendUint64(w.out, *p)
	}
}

func readInts[T integer](w *wire, key string, b []byte) []T {
	n, rest, err := msgp.ReadArrayHeaderBytes(b)
	if err != nil {
		w.invalid(key, "an array of integers")
		return nil
	}
	list := make([]T, n)
	for i := range list {
		if rest[0] <= 0x7f {
			list[i] = T(rest[0])
			rest = rest[1:]
			continue
		}
		list[i] = T(readInt(w, key, rest))
		if w.err != nil {
			return nil
		}
		rest = rest[skip(rest):]
	}
	return list
}

func (w *wire) appendInts(list []int64) {
	w.out = msgp.AppendArrayHeader(w.out, uint32(len(list)))
	for _, n := range list {
		w.out = msgp.AppendInt64(w.out, n)
	}
}

// ints is an array of integers; required, or empty by default.
func ints[T integer](w *wire, key string, p *[]T, required bool) {
	if w.decoding {
		*p = nil
		b := w.find(key)
		if b == nil {
			if required {
				w.need(key)
			}
			return
		}
		*p = readInts[T](w, key, b)
		return
	}
	if required || len(*p) > 0 {
		w.key(key)
		w.out = msgp.AppendArrayHeader(w.out, uint32(len(*p)))
		for _, n := range *p {
			w.out = msgp.AppendInt64(w.out, int64(n))
		}
	}
}

// nilInts is an array of integers or nil.
func nilInts[T integer](w *wire, key string, p *[]T) {
	if w.decoding {
		*p = nil
		if b := w.find(key); b != nil && b[0] != 0xc0 {
			*p = readInts[T](w, key, b)
		}
		return
	}
	if *p != nil {
		ints(w, key, p, true)
	}
}

// -- numbers -------------------------------------------------------------------------------------------

func readFloat(w *wire, key string, b []byte) float64 {
	switch {
	case b == nil:
		return 0
	case b[0] == 0xcb:
		return math.Float64frombits(binary.BigEndian.Uint64(b[1:]))
	case b[0] == 0xca:
		return float64(math.Float32frombits(binary.BigEndian.Uint32(b[1:])))
	case isInt(b):
		if b[0] == 0xcf {
			return float64(binary.BigEndian.Uint64(b[1:]))
		}
		return float64(readInt(w, key, b))
	}
	w.invalid(key, "a number")
	return 0
}

func (w *wire) float(key string, p *float64, def float64) {
	if w.decoding {
		*p = def
		if b := w.find(key); b != nil {
			*p = readFloat(w, key, b)
		}
		return
	}
	if *p != def {
		w.key(key)
		w.out = msgp.AppendFloat64(w.out, *p)
	}
}

func (w *wire) floatAtLeast(key string, p *float64, def, min float64) {
	w.float(key, p, def)
	if w.decoding && !(*p >= min) {
		w.invalid(key, "large enough")
	}
}

func (w *wire) nilFloat(key string, p **float64) {
	if w.decoding {
		*p = nil
		if b := w.find(key); b != nil && b[0] != 0xc0 {
			f := readFloat(w, key, b)
			*p = &f
		}
		return
	}
	if *p != nil {
		w.key(key)
		w.out = msgp.AppendFloat64(w.out, **p)
	}
}

// nilFloats is an array of numbers or nil.
func (w *wire) nilFloats(key string, p *[]float64) {
	if w.decoding {
		*p = nil
		if b := w.find(key); b != nil && b[0] != 0xc0 {
			n, rest, err := msgp.ReadArrayHeaderBytes(b)
			if err != nil {
				w.invalid(key, "an array of numbers")
				return
			}
			list := make([]float64, n)
			for i := range list {
				list[i] = readFloat(w, key, rest)
				rest = rest[skip(rest):]
			}
			*p = list
		}
		return
	}
	if *p != nil {
		w.key(key)
		w.out = msgp.AppendArrayHeader(w.out, uint32(len(*p)))
		for _, f := range *p {
			w.out = msgp.AppendFloat64(w.out, f)
		}
	}
}

// nilPair is [number, number] or nil.
func (w *wire) nilPair(key string, p **[2]float64) {
	var list []float64
	if !w.decoding && *p != nil {
		list = (*p)[:]
	}
	w.nilFloats(key, &list)
	if w.decoding {
		*p = nil
		if list != nil {
			if len(list) != 2 {
				w.invalid(key, "a pair of numbers")
				return
			}
			*p = &[2]float64{list[0], list[1]}
		}
	}
}

func (w *wire) bool(key string, p *bool, def bool) {
	if w.decoding {
		*p = def
		if b := w.find(key); b != nil {
			switch b[0] {
			case 0xc2:
				*p = false
			case 0xc3:
				*p = true
			default:
				w.invalid(key, "a boolean")
			}
		}
		return
	}
	if *p != def {
		w.key(key)
		w.out = msgp.AppendBool(w.out, *p)
	}
}

// -- text and bytes ------------------------------------------------------------------------------------

func readText(w *wire, key string, b []byte) string {
	if b == nil {
		return ""
	}
	text, _, err := msgp.ReadStringZC(b)
	if err != nil {
		w.invalid(key, "a text")
		return ""
	}
	if !utf8.Valid(text) {
		w.fail(CodeMalformed, "the text of field %s is no UTF-8", key)
		return ""
	}
	return string(text)
}

func (w *wire) appendText(text string) {
	if !utf8.ValidString(text) {
		w.fail(CodeInvalid, "a text that is no UTF-8 cannot travel")
	}
	w.out = msgp.AppendString(w.out, text)
}

func (w *wire) needText(key string, p *string) {
	if w.decoding {
		*p = readText(w, key, w.need(key))
		return
	}
	w.key(key)
	w.appendText(*p)
}

func (w *wire) text(key string, p *string, def string) {
	if w.decoding {
		*p = def
		if b := w.find(key); b != nil {
			*p = readText(w, key, b)
		}
		return
	}
	if *p != def {
		w.key(key)
		w.appendText(*p)
	}
}

func (w *wire) nilText(key string, p **string) {
	if w.decoding {
		*p = nil
		if b := w.find(key); b != nil && b[0] != 0xc0 {
			text := readText(w, key, b)
			*p = &text
		}
		return
	}
	if *p != nil {
		w.key(key)
		w.appendText(**p)
	}
}

// choice is a text out of a few; on the way in others are refused.
func choice[T ~string](w *wire, key string, p *T, def T, required bool, known []T) {
	if w.decoding {
		*p = def
		b := w.find(key)
		if b == nil {
			if required {
				w.need(key)
			}
			return
		}
		text, _, err := msgp.ReadStringZC(b)
		if err == nil {
			for _, each := range known {
				if string(text) == string(each) {
					*p = each
					return
				}
			}
		}
		w.invalid(key, "one of its values")
		return
	}
	if required || *p != def && *p != "" {
		w.key(key)
		w.appendText(string(*p))
	}
}

func readTexts(w *wire, key string, b []byte) []string {
	n, rest, err := msgp.ReadArrayHeaderBytes(b)
	if err != nil {
		w.invalid(key, "an array of text")
		return nil
	}
	list := make([]string, n)
	for i := range list {
		list[i] = readText(w, key, rest)
		rest = rest[skip(rest):]
	}
	return list
}

func (w *wire) appendTexts(list []string) {
	w.out = msgp.AppendArrayHeader(w.out, uint32(len(list)))
	for _, each := range list {
		w.appendText(each)
	}
}

func (w *wire) texts(key string, p *[]string) {
	if w.decoding {
		*p = nil
		if b := w.find(key); b != nil {
			*p = readTexts(w, key, b)
		}
		return
	}
	if len(*p) > 0 {
		w.key(key)
		w.appendTexts(*p)
	}
}

func readBinary(w *wire, key string, b []byte) []byte {
	if b == nil {
		return nil
	}
	data, _, err := msgp.ReadBytesZC(b)
	if err != nil {
		w.invalid(key, "binary")
	}
	return data
}

func (w *wire) binary(key string, p *[]byte, required bool) {
	if w.decoding {
		*p = nil
		b := w.find(key)
		if b == nil && required {
			b = w.need(key)
		}
		*p = readBinary(w, key, b)
		return
	}
	if required || len(*p) > 0 {
		w.key(key)
		w.out = msgp.AppendBytes(w.out, *p)
	}
}

// nilBinary is binary or nil; empty bytes are not nil.
func (w *wire) nilBinary(key string, p *[]byte) {
	if w.decoding {
		*p = nil
		if b := w.find(key); b != nil && b[0] != 0xc0 {
			*p = readBinary(w, key, b)
		}
		return
	}
	if *p != nil {
		w.key(key)
		w.out = msgp.AppendBytes(w.out, *p)
	}
}

// legal is an array of action numbers, a mask or nil.
func (w *wire) legal(key string, actions *[]int64, mask *[]byte) {
	if w.decoding {
		*actions, *mask = nil, nil
		b := w.find(key)
		switch {
		case b == nil || b[0] == 0xc0:
		case b[0] >= 0xc4 && b[0] <= 0xc6:
			*mask = readBinary(w, key, b)
		default:
			*actions = readInts[int64](w, key, b)
		}
		return
	}
	switch {
	case *actions != nil:
		w.key(key)
		w.appendInts(*actions)
	case *mask != nil:
		w.key(key)
		w.out = msgp.AppendBytes(w.out, *mask)
	}
}

// -- values --------------------------------------------------------------------------------------------

func (w *wire) appendValue(value any) {
	if w.err != nil {
		return
	}
	out, err := AppendValue(w.out, value)
	if err != nil {
		w.err = err
		return
	}
	w.out = out
}

func (w *wire) readValue(b []byte) any {
	if b == nil || w.err != nil {
		return nil
	}
	value, _, err := readValue(b)
	if err != nil {
		w.err = err
	}
	return value
}

func (w *wire) any(key string, p *any) {
	if w.decoding {
		*p = w.readValue(w.find(key))
		return
	}
	if *p != nil {
		w.key(key)
		w.appendValue(*p)
	}
}

// raw is a value that is kept as it came.
func (w *wire) raw(key string, p *Raw) {
	if w.decoding {
		*p = Raw(w.find(key))
		return
	}
	if len(*p) > 0 {
		w.key(key)
		w.out = append(w.out, *p...)
	}
}

func (w *wire) values(key string, p *map[string]any) {
	if w.decoding {
		*p = nil
		b := w.find(key)
		if b == nil {
			return
		}
		value, ok := w.readValue(b).(map[string]any)
		if !ok {
			w.invalid(key, "a map")
		}
		*p = value
		return
	}
	if len(*p) > 0 {
		w.key(key)
		w.appendValue(*p)
	}
}

// each reads the entries of an array one by one.
func (w *wire) each(key string, b []byte, make func(n int), read func(i int, b []byte)) {
	n, rest, err := msgp.ReadArrayHeaderBytes(b)
	if err != nil {
		w.invalid(key, "an array")
		return
	}
	make(int(n))
	for i := 0; i < int(n) && w.err == nil; i++ {
		size := skip(rest)
		read(i, rest[:size:size])
		rest = rest[size:]
	}
}

// list is an array of maps with fields of their own.
func list[T any, P interface {
	*T
	fields
}](w *wire, key string, p *[]T, required bool) {
	if w.decoding {
		*p = nil
		b := w.find(key)
		if b == nil {
			if required {
				w.need(key)
			}
			return
		}
		w.each(key, b, func(n int) { *p = make([]T, n) }, func(i int, b []byte) {
			w.decodeMap(b, key, P(&(*p)[i]))
		})
		return
	}
	if required || len(*p) > 0 {
		w.key(key)
		w.out = msgp.AppendArrayHeader(w.out, uint32(len(*p)))
		for i := range *p {
			w.encodeMap("", P(&(*p)[i]))
		}
	}
}

// nilMap is one map with fields of its own, or nil.
func nilMap[T any, P interface {
	*T
	fields
}](w *wire, key string, p **T) {
	if w.decoding {
		*p = nil
		if b := w.find(key); b != nil && b[0] != 0xc0 {
			*p = new(T)
			w.decodeMap(b, key, P(*p))
		}
		return
	}
	if *p != nil {
		w.key(key)
		w.encodeMap("", P(*p))
	}
}

// pairs is an array of [integer, any].
func (w *wire) pairs(key string, p *[]SeatValue, required bool) {
	if w.decoding {
		*p = nil
		b := w.find(key)
		if b == nil {
			if required {
				w.need(key)
			}
			return
		}
		w.each(key, b, func(n int) { *p = make([]SeatValue, n) }, func(i int, b []byte) {
			n, rest, err := msgp.ReadArrayHeaderBytes(b)
			if err != nil || n != 2 {
				w.invalid(key, "an array of pairs")
				return
			}
			(*p)[i].Seat = int(readInt(w, key, rest))
			(*p)[i].Value = w.readValue(rest[skip(rest):])
		})
		return
	}
	if required || len(*p) > 0 {
		w.key(key)
		w.out = msgp.AppendArrayHeader(w.out, uint32(len(*p)))
		for _, pair := range *p {
			w.out = msgp.AppendArrayHeader(w.out, 2)
			w.out = msgp.AppendInt(w.out, pair.Seat)
			w.appendValue(pair.Value)
		}
	}
}
