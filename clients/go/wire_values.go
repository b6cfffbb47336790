package dovetail

import "github.com/tinylib/msgp/msgp"

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
