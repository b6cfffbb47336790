package dovetail

import (
	"encoding/binary"
	"math"

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
