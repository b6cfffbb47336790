package dovetail

import (
	"encoding/binary"
	"math"
	"slices"
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

// fields is what has a method wire; make generate writes them.
type fields interface{ wire(*wire) }

// record is a pointer to a struct with fields.
type record[T any] interface {
	*T
	fields
}

// Message is one message of the protocol; its Go type says which, and in which direction.
type Message interface {
	kind() string
	fields
}

func (w *wire) fail(code, format string, args ...any) {
	if w.err == nil {
		w.err = protocolErrorf(code, format, args...)
	}
}

func (w *wire) invalid(key, want string) {
	w.fail(CodeInvalid, "field %s is not %s", key, want)
}

// check refuses a field that was read and is not as it must be.
func (w *wire) check(ok bool, key, want string) {
	if w.decoding && !ok {
		w.invalid(key, want)
	}
}

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
			w.fail(CodeInvalid, "a key of the message is not text")
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

const emptyMap = "\xde\x00\x00"

// encodeMap writes one map; its header always has two bytes of length, which are filled in at the end.
func (w *wire) encodeMap(m fields) {
	outer := w.count
	start := len(w.out)
	w.out = append(w.out, emptyMap...)
	w.count = 0
	switch m := m.(type) {
	case Message:
		w.key("type")
		w.out = msgp.AppendString(w.out, m.kind())
	case Space:
		w.key("space")
		w.out = msgp.AppendString(w.out, m.variant())
	}
	m.wire(w)
	binary.BigEndian.PutUint16(w.out[start+1:], uint16(w.count))
	w.count = outer
}

func (w *wire) key(key string) {
	w.count++
	w.out = msgp.AppendString(w.out, key)
}

// form reads a value of one kind from its bytes, or writes it.
type form[T any] func(w *wire, key string, b []byte, p *T)

// need is a field that must be there.
func need[T any](w *wire, key string, p *T, f form[T]) {
	if !w.decoding {
		w.key(key)
		f(w, key, nil, p)
	} else if b := w.find(key); b != nil {
		f(w, key, b, p)
	} else {
		w.fail(CodeInvalid, "field %s is missing", key)
	}
}

// opt is a field that is left out if it has its default.
func opt[T comparable](w *wire, key string, p *T, def T, f form[T]) {
	if !w.decoding {
		if *p != def {
			need(w, key, p, f)
		}
		return
	}
	*p = def
	if b := w.find(key); b != nil {
		f(w, key, b, p)
	}
}

// orDefault is a field for whose default zero stands, too.
func orDefault[T comparable](w *wire, key string, p *T, def T, f form[T]) {
	if w.decoding || *p != *new(T) {
		opt(w, key, p, def, f)
	}
}

// orPointer is a field for whose default nil stands.
func orPointer[T comparable](w *wire, key string, p **T, def T, f form[T]) {
	if !w.decoding {
		if *p != nil {
			opt(w, key, *p, def, f)
		}
	} else if b := w.find(key); b == nil || b[0] != 0xc0 {
		*p = new(T)
		opt(w, key, *p, def, f)
	}
}

// orZero is a field that may be nil, for which zero stands.
func orZero[T comparable](w *wire, key string, p *T, f form[T]) {
	zero := *new(T)
	if !w.decoding {
		opt(w, key, p, zero, f)
	} else if b := w.find(key); b != nil && b[0] != 0xc0 {
		f(w, key, b, p)
		w.check(*p != zero, key, "other than zero")
	}
}

// limit is a number that may be nil, for which infinity stands, and for whose default zero stands.
func limit(w *wire, key string, p *float64, def float64, f form[float64]) {
	b := w.find(key)
	switch {
	case b != nil && b[0] == 0xc0:
		*p = math.Inf(1)
	case !w.decoding && math.IsInf(*p, 1):
		w.key(key)
		w.out = msgp.AppendNil(w.out)
	default:
		orDefault(w, key, p, def, f)
	}
}

// orNil is a field that may be nil.
func orNil[T any](w *wire, key string, p **T, f form[T]) {
	if !w.decoding {
		if *p != nil {
			need(w, key, *p, f)
		}
	} else if b := w.find(key); b != nil && b[0] != 0xc0 {
		*p = new(T)
		f(w, key, b, *p)
	}
}

// orNone is a slice that may be nil.
func orNone[S ~[]E, E any](w *wire, key string, p *S, f form[S]) {
	if !w.decoding {
		if *p != nil {
			need(w, key, p, f)
		}
	} else if b := w.find(key); b != nil && b[0] != 0xc0 {
		f(w, key, b, p)
	}
}

// orEmpty is a slice that is left out if it is empty.
func orEmpty[S ~[]E, E any](w *wire, key string, p *S, f form[S]) {
	if w.decoding || len(*p) > 0 {
		orAbsent(w, key, p, f)
	}
}

// orAbsent is a field that keeps what it has if it does not come.
func orAbsent[T any](w *wire, key string, p *T, f form[T]) {
	if !w.decoding {
		need(w, key, p, f)
	} else if b := w.find(key); b != nil {
		f(w, key, b, p)
	}
}

// array is an array that is left out if it is empty, by the form of its entries.
func array[T any](w *wire, key string, p *[]T, f form[T]) { orEmpty(w, key, p, arrayOf(f)) }

// dict is a map with any keys that is left out if it is empty, by the form of its entries.
func dict[T any](w *wire, key string, p *map[string]T, f form[T]) {
	if w.decoding || len(*p) > 0 {
		orAbsent(w, key, p, dictOf(f))
	}
}

var noFields = []byte{0x80}

// part is a map with fields of its own that is left out if they all have their defaults.
func part[T any, P record[T]](w *wire, key string, p *T) {
	if w.decoding {
		b := w.find(key)
		if b == nil {
			b = noFields
		}
		w.decodeMap(b, key, P(p))
		return
	}
	before, count := len(w.out), w.count
	w.key(key)
	begin := len(w.out)
	w.encodeMap(P(p))
	if len(w.out) == begin+len(emptyMap) {
		w.out, w.count = w.out[:before], count
	}
}

func isInt(b []byte) bool {
	lead := b[0]
	return lead <= 0x7f || lead >= 0xe0 || lead >= 0xcc && lead <= 0xd3
}

func integer[T ~int | ~int64](w *wire, key string, b []byte, p *T) {
	if !w.decoding {
		w.out = msgp.AppendInt64(w.out, int64(*p))
		return
	}
	if !isInt(b) {
		w.invalid(key, "an integer")
		return
	}
	n, _, err := msgp.ReadInt64Bytes(b)
	w.check(err == nil, key, "an integer below 2^63")
	*p = T(n)
}

// unsigned is an integer that may use all of 64 bits.
func unsigned(w *wire, key string, b []byte, p *uint64) {
	if !w.decoding {
		w.out = msgp.AppendUint64(w.out, *p)
		return
	}
	n, _, err := msgp.ReadUint64Bytes(b)
	w.check(err == nil && isInt(b), key, "an integer ≥ 0")
	*p = n
}

func number(w *wire, key string, b []byte, p *float64) {
	if !w.decoding {
		w.out = msgp.AppendFloat64(w.out, *p)
		return
	}
	f, ok := AsFloat(w.readValue(b))
	w.check(ok, key, "a number")
	*p = f
}

// interval is [number, number].
func interval(w *wire, key string, b []byte, p *[2]float64) {
	list := p[:]
	arrayOf(number)(w, key, b, &list)
	if len(list) != 2 {
		w.invalid(key, "a pair of numbers")
		return
	}
	*p = [2]float64(list)
}

func boolean(w *wire, key string, b []byte, p *bool) {
	if !w.decoding {
		w.out = msgp.AppendBool(w.out, *p)
		return
	}
	w.check(b[0] == 0xc2 || b[0] == 0xc3, key, "a boolean")
	*p = b[0] == 0xc3
}

func text(w *wire, key string, b []byte, p *string) {
	if !w.decoding {
		w.appendValue(*p)
		return
	}
	text, _, err := msgp.ReadStringZC(b)
	w.check(err == nil, key, "a text")
	if !utf8.Valid(text) {
		w.fail(CodeMalformed, "the text of field %s is not UTF-8", key)
	}
	*p = string(text)
}

// oneOf is a text out of a few.
func oneOf[T ~string](known ...T) form[T] {
	return func(w *wire, key string, b []byte, p *T) {
		each := string(*p)
		text(w, key, b, &each)
		*p = T(each)
		w.check(slices.Contains(known, *p), key, "one of its values")
	}
}

func blob(w *wire, key string, b []byte, p *[]byte) {
	if !w.decoding {
		w.out = msgp.AppendBytes(w.out, *p)
		return
	}
	data, _, err := msgp.ReadBytesZC(b)
	w.check(err == nil, key, "binary")
	*p = data
}

// value is any value.
func value(w *wire, _ string, b []byte, p *any) {
	if w.decoding {
		*p = w.readValue(b)
	} else {
		w.appendValue(*p)
	}
}

// payload is any value, or nil for one that cannot be read: every seat hears its end (S6.7).
func payload(w *wire, key string, b []byte, p *any) {
	if !w.decoding {
		value(w, key, b, p)
	} else if found, _, err := readValue(b); err == nil {
		*p = found
	}
}

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
	if w.err != nil {
		return nil
	}
	value, _, err := readValue(b)
	w.err = err
	return value
}

// mapOf is a map with fields of its own.
func mapOf[T any, P record[T]](w *wire, key string, b []byte, p *T) {
	if w.decoding {
		w.decodeMap(b, key, P(p))
	} else {
		w.encodeMap(P(p))
	}
}

// arrayOf is an array whose entries have one form.
func arrayOf[T any](f form[T]) form[[]T] {
	return func(w *wire, key string, b []byte, p *[]T) {
		if !w.decoding {
			w.out = msgp.AppendArrayHeader(w.out, uint32(len(*p)))
			for i := range *p {
				f(w, key, nil, &(*p)[i])
			}
			return
		}
		n, rest, err := msgp.ReadArrayHeaderBytes(b)
		if err != nil {
			w.invalid(key, "an array")
			return
		}
		*p = make([]T, n)
		for i := range *p {
			if w.err != nil {
				return
			}
			size := skip(rest)
			f(w, key, rest[:size:size], &(*p)[i])
			rest = rest[size:]
		}
	}
}

// dictOf is a map with any keys whose entries have one form.
func dictOf[T any](f form[T]) form[map[string]T] {
	return func(w *wire, key string, b []byte, p *map[string]T) {
		if !w.decoding {
			w.out = msgp.AppendMapHeader(w.out, uint32(len(*p)))
			for name, each := range *p {
				w.appendValue(name)
				f(w, key, nil, &each)
			}
			return
		}
		n, rest, err := msgp.ReadMapHeaderBytes(b)
		if err != nil {
			w.invalid(key, "a map")
			return
		}
		*p = make(map[string]T, n)
		for range n {
			size := skip(rest)
			var name string
			text(w, key, rest[:size:size], &name)
			rest = rest[size:]
			if w.err != nil {
				return
			}
			size = skip(rest)
			var each T
			f(w, key, rest[:size:size], &each)
			(*p)[name], rest = each, rest[size:]
		}
	}
}

// pair is [integer, any].
func pair(w *wire, key string, b []byte, p *SeatValue) {
	if !w.decoding {
		w.out = msgp.AppendArrayHeader(w.out, 2)
		w.out = msgp.AppendInt(w.out, p.Seat)
		w.appendValue(p.Value)
		return
	}
	n, rest, err := msgp.ReadArrayHeaderBytes(b)
	if err != nil || n != 2 {
		w.invalid(key, "an array of pairs")
		return
	}
	integer(w, key, rest, &p.Seat)
	p.Value = w.readValue(rest[skip(rest):])
}

// legal is an array of action numbers, a mask or nil.
func (w *wire) legal(key string, actions *[]int64, mask *[]byte) {
	b := w.find(key)
	if !w.decoding && *actions == nil || b != nil && b[0] >= 0xc4 && b[0] <= 0xc6 {
		orNone(w, key, mask, blob)
	} else {
		orNone(w, key, actions, arrayOf(integer[int64]))
	}
}

// space is a map whose key space says which.
func space(w *wire, key string, b []byte, p *Space) {
	if !w.decoding {
		w.appendValue(*p)
		return
	}
	base, ok := w.open(b)
	if !ok {
		w.invalid(key, "a space, which is a map")
		return
	}
	var variant string
	if need(w, "space", &variant, text); w.err == nil {
		if *p = newSpace(variant); *p == nil {
			w.fail(CodeInvalid, "field %s names no space, but %.40q", key, variant)
		} else {
			(*p).wire(w)
		}
	}
	w.close(base)
}

func dtype(w *wire, key string, b []byte, p *DType) {
	text(w, key, b, (*string)(p))
	w.check(p.Size() > 0, key, "a dtype")
}

// bound is a number, or nested arrays of numbers.
func bound(w *wire, key string, b []byte, p *any) {
	value(w, key, b, p)
	w.check(numbers(*p), key, "a number or nested arrays of numbers")
}

// unbounded is a bound for whose default, infinity of a sign, nil stands.
func unbounded(w *wire, key string, p *any, sign int) {
	opt(w, key, p, nil, bound)
	if f, ok := (*p).(float64); ok && math.IsInf(f, sign) {
		*p = nil
	}
}

// reread reads a value that was decoded once more, as what it is known to be.
func reread[T any](value any, f form[T]) (out T, err error) {
	frame, err := EncodeValue(value)
	if err != nil {
		return out, err
	}
	w := wire{decoding: true}
	f(&w, "of the value", frame, &out)
	return out, w.err
}
