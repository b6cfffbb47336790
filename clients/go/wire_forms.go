package dovetail

import (
	"math"
	"slices"
	"unicode/utf8"

	"github.com/tinylib/msgp/msgp"
)

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
