package dovetail

import (
	"cmp"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"unicode/utf8"
)

// Map implements Space.
func (s *Discrete) Map() map[string]any {
	m := map[string]any{"space": "Discrete", "n": s.N}
	if s.Start != 0 {
		m["start"] = s.Start
	}
	return m
}

// Contains implements Space.
func (s *Discrete) Contains(value any) bool {
	n, ok := AsInt(value)
	return ok && n >= s.Start && uint64(n-s.Start) < uint64(s.N) // the difference may need all of 64 bits
}

// Sample implements Space.
func (s *Discrete) Sample(rng *rand.Rand) any { return s.Start + rng.Int64N(s.N) }

// Map implements Space.
func (s *Box) Map() map[string]any {
	m := map[string]any{"space": "Box", "shape": s.Shape}
	if s.Low != nil {
		m["low"] = s.Low
	}
	if s.High != nil {
		m["high"] = s.High
	}
	if s.dtype() != Float32 {
		m["dtype"] = string(s.DType)
	}
	return m
}

func (s *Box) dtype() DType { return cmp.Or(s.DType, Float32) }

// bounds returns the bounds of every element; ok is false if they do not fit the shape.
func (s *Box) bounds() (low, high func(i int) float64, ok bool) {
	one := func(bound any, infinite float64) (func(int) float64, bool) {
		if bound == nil {
			return func(int) float64 { return infinite }, true
		}
		if f, scalar := AsFloat(bound); scalar {
			return func(int) float64 { return f }, true
		}
		list := flatten(bound, s.Shape)
		return func(i int) float64 { f, _ := AsFloat(list[i]); return f }, list != nil
	}
	low, ok = one(s.Low, math.Inf(-1))
	high, fits := one(s.High, math.Inf(1))
	return low, high, ok && fits
}

// Contains implements Space.
func (s *Box) Contains(value any) bool {
	low, high, ok := s.bounds()
	if !ok {
		return false
	}
	within := func(i int, f float64) bool { return f >= low(i) && f <= high(i) }
	if t, ok := value.(*Tensor); ok {
		if t.DType != s.dtype() || !slices.Equal(t.Shape, s.Shape) {
			return false
		}
		for i := range t.Len() {
			if !within(i, t.Float(i)) {
				return false
			}
		}
		return true
	}
	list := flatten(value, s.Shape)
	if list == nil {
		return false
	}
	for i, each := range list {
		f, ok := s.element(each)
		if !ok || !within(i, f) {
			return false
		}
	}
	return true
}

// element returns a number that the dtype can hold.
func (s *Box) element(value any) (float64, bool) {
	d := s.dtype()
	f, ok := AsFloat(value)
	switch v := value.(type) {
	case bool:
		if v {
			f = 1
		}
		return f, d == Bool
	case float64:
		return f, d.isFloat()
	case uint64:
		if v > math.MaxInt64 { // as a float64 it may be the greatest int64, too
			return f, d == Uint64 || d.isFloat()
		}
	}
	least, most := intRange(d)
	return f, ok && (d.isFloat() || d != Bool && f >= least && f <= most)
}

func intRange(d DType) (least, most float64) {
	bits := 8 * d.Size()
	switch {
	case d == Bool:
		return 0, 1
	case d[0] == 'u':
		return 0, math.Ldexp(1, bits) - 1
	}
	return -math.Ldexp(1, bits-1), math.Ldexp(1, bits-1) - 1
}

// Sample implements Space.
func (s *Box) Sample(rng *rand.Rand) any {
	low, high, _ := s.bounds()
	t := &Tensor{DType: s.dtype(), Shape: s.Shape}
	for i := range product(s.Shape) {
		least, most := low(i), high(i)
		var f float64
		switch {
		case !t.DType.isFloat():
			first, last := intRange(t.DType)
			first, last = max(first, math.Ceil(least)), min(last, math.Floor(most))
			f = min(last, math.Floor(first+rng.Float64()*(last-first+1)))
		case math.IsInf(least, 0) && math.IsInf(most, 0):
			f = rng.NormFloat64()
		case math.IsInf(least, 0):
			f = most - rng.ExpFloat64()
		case math.IsInf(most, 0):
			f = least + rng.ExpFloat64()
		default:
			f = least + rng.Float64()*(most-least)
		}
		t.Data = t.DType.Append(t.Data, f)
	}
	return t
}

// Map implements Space.
func (s *MultiDiscrete) Map() map[string]any {
	return map[string]any{"space": "MultiDiscrete", "nvec": s.NVec}
}

// Contains implements Space.
func (s *MultiDiscrete) Contains(value any) bool {
	list, ok := vector(value, []int{len(s.NVec)})
	if !ok {
		return false
	}
	for i, n := range list {
		if n < 0 || n >= s.NVec[i] {
			return false
		}
	}
	return true
}

// vector returns the integers of a tensor or of nested lists.
func vector(value any, shape []int) ([]int64, bool) {
	if t, ok := value.(*Tensor); ok {
		return t.Ints(), slices.Equal(t.Shape, shape) && !t.DType.isFloat()
	}
	list := flatten(value, shape)
	out := make([]int64, len(list))
	for i, each := range list {
		n, ok := AsInt(each)
		if !ok {
			return nil, false
		}
		out[i] = n
	}
	return out, list != nil
}

// Sample implements Space.
func (s *MultiDiscrete) Sample(rng *rand.Rand) any {
	out := make([]int64, len(s.NVec))
	for i, n := range s.NVec {
		out[i] = rng.Int64N(n)
	}
	return NewTensor(out)
}

// Map implements Space.
func (s *MultiBinary) Map() map[string]any {
	return map[string]any{"space": "MultiBinary", "shape": s.Shape}
}

// Contains implements Space.
func (s *MultiBinary) Contains(value any) bool {
	list, ok := vector(value, s.Shape)
	for _, n := range list {
		ok = ok && (n == 0 || n == 1)
	}
	return ok
}

// Sample implements Space.
func (s *MultiBinary) Sample(rng *rand.Rand) any {
	t := &Tensor{DType: Int8, Shape: s.Shape, Data: make([]byte, product(s.Shape))}
	for i := range t.Data {
		t.Data[i] = byte(rng.IntN(2))
	}
	return t
}

// Map implements Space.
func (s *Text) Map() map[string]any {
	m := map[string]any{"space": "Text", "max_length": s.MaxLength}
	if s.MinLength != 0 {
		m["min_length"] = s.MinLength
	}
	if s.Charset != nil {
		m["charset"] = *s.Charset
	}
	return m
}

// Contains implements Space.
func (s *Text) Contains(value any) bool {
	text, ok := value.(string)
	if n := int64(utf8.RuneCountInString(text)); !ok || n < s.MinLength || n > s.MaxLength {
		return false
	}
	if s.Charset == nil {
		return true
	}
	return strings.Trim(text, *s.Charset) == ""
}

// Sample implements Space.
func (s *Text) Sample(rng *rand.Rand) any {
	charset := []rune("abcdefghijklmnopqrstuvwxyz")
	if s.Charset != nil {
		charset = []rune(*s.Charset)
	}
	if len(charset) == 0 {
		return ""
	}
	more := min(s.MaxLength-s.MinLength, 99) // what may be as long as the memory need not be
	out := make([]rune, s.MinLength+rng.Int64N(more+1))
	for i := range out {
		out[i] = charset[rng.IntN(len(charset))]
	}
	return string(out)
}

// Map implements Space.
func (s *Tuple) Map() map[string]any {
	return map[string]any{"space": "Tuple", "spaces": s.Spaces}
}

// Contains implements Space.
func (s *Tuple) Contains(value any) bool {
	list, ok := value.([]any)
	if !ok || len(list) != len(s.Spaces) {
		return false
	}
	for i, each := range list {
		if !s.Spaces[i].Contains(each) {
			return false
		}
	}
	return true
}

// Sample implements Space.
func (s *Tuple) Sample(rng *rand.Rand) any {
	out := make([]any, len(s.Spaces))
	for i, each := range s.Spaces {
		out[i] = each.Sample(rng)
	}
	return out
}

// Map implements Space.
func (s *Dict) Map() map[string]any {
	return map[string]any{"space": "Dict", "spaces": s.Spaces}
}

// Contains implements Space.
func (s *Dict) Contains(value any) bool {
	m, ok := value.(map[string]any)
	if !ok || len(m) != len(s.Spaces) {
		return false
	}
	for key, each := range s.Spaces {
		inner, ok := m[key]
		if !ok || !each.Contains(inner) {
			return false
		}
	}
	return true
}

// Sample implements Space.
func (s *Dict) Sample(rng *rand.Rand) any {
	out := make(map[string]any, len(s.Spaces))
	for _, key := range slices.Sorted(maps.Keys(s.Spaces)) { // so that the same random numbers draw the same
		out[key] = s.Spaces[key].Sample(rng)
	}
	return out
}
