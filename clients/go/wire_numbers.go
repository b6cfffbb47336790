package dovetail

import (
	"encoding/binary"
	"math"

	"github.com/tinylib/msgp/msgp"
)

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
