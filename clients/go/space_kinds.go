package dovetail

import (
	"math"
	"math/rand/v2"
	"sort"
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
	return ok && n >= s.Start && n-s.Start < s.N
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
	if s.DType != "" && s.DType != Float32 {
		m["dtype"] = string(s.DType)
	}
	return m
}

func (s *Box) dtype() DType {
	if s.DType == "" {
		return Float32
	}
	return s.DType
}

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
		if t.DType != s.dtype() || !sameShape(t.Shape, s.Shape) {
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
	switch s.dtype() {
	case Bool:
		b, ok := value.(bool)
		if b {
			return 1, ok
		}
		return 0, ok
	case Float16, Float32, Float64:
		return AsFloat(value)
	}
	if _, isFloat := value.(float64); isFloat {
		return 0, false
	}
	f, ok := AsFloat(value)
	least, most := intRange(s.dtype())
	return f, ok && f >= least && f <= most
}

func intRange(d DType) (least, most float64) {
	bits := 8 * d.Size()
	if d[0] == 'u' {
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
		whole := t.DType != Float16 && t.DType != Float32 && t.DType != Float64
		if whole && t.DType != Bool {
			l, m := intRange(t.DType)
			least, most = math.Max(least, l), math.Min(most, m)
		} else if whole {
			least, most = math.Max(least, 0), math.Min(most, 1)
		}
		var f float64
		switch {
		case whole:
			f = math.Floor(least + rng.Float64()*(most-least+1))
			f = math.Min(f, most)
		case math.IsInf(least, 0) && math.IsInf(most, 0):
			f = rng.NormFloat64()
		case math.IsInf(least, 0):
			f = most - rng.ExpFloat64()
		case math.IsInf(most, 0):
			f = least + rng.ExpFloat64()
		default:
			f = least + rng.Float64()*(most-least)
		}
		t.Data = appendNumber(t.Data, t.DType, f)
	}
	return t
}

func appendNumber(b []byte, d DType, f float64) []byte {
	if d == Bool {
		return d.Append(b, f != 0)
	}
	return d.Append(b, f)
}

// Append appends a number or boolean as an element of this dtype.
func (d DType) Append(b []byte, value any) []byte {
	if flag, ok := value.(bool); ok {
		return appendElement(b, flag)
	}
	if d == Float16 || d == Float32 || d == Float64 {
		f, _ := AsFloat(value)
		switch d {
		case Float16:
			return appendElement(b, toHalf(f))
		case Float32:
			return appendElement(b, float32(f))
		}
		return appendElement(b, f)
	}
	var n int64 // of a uint64 the same bits
	switch v := value.(type) {
	case float64:
		if n = int64(v); v >= 1<<63 {
			n = int64(uint64(v))
		}
	case uint64:
		n = int64(v)
	default:
		n, _ = AsInt(v)
	}
	switch d.Size() {
	case 1:
		return appendElement(b, uint8(n))
	case 2:
		return appendElement(b, uint16(n))
	case 4:
		return appendElement(b, uint32(n))
	}
	return appendElement(b, uint64(n))
}

// toHalf rounds towards zero, so that what was within bounds stays there.
func toHalf(f float64) uint16 {
	var sign uint16
	if math.Signbit(f) {
		sign, f = 0x8000, -f
	}
	switch {
	case math.IsNaN(f):
		return 0x7e00
	case f > 65504:
		return sign | 0x7c00
	case f < math.Ldexp(1, -14):
		return sign | uint16(math.Ldexp(f, 24))
	}
	fraction, exponent := math.Frexp(f)
	return sign | uint16(exponent+14)<<10 | uint16(math.Ldexp(fraction, 11))&0x3ff
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
		return t.Ints(), sameShape(t.Shape, shape) && t.DType != Float16 && t.DType != Float32 && t.DType != Float64
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
	known := map[rune]bool{}
	for _, each := range *s.Charset {
		known[each] = true
	}
	for _, each := range text {
		if !known[each] {
			return false
		}
	}
	return true
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
	out := make([]rune, s.MinLength+rng.Int64N(s.MaxLength-s.MinLength+1))
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
	spaces := make(map[string]any, len(s.Spaces))
	for key, each := range s.Spaces {
		spaces[key] = each
	}
	return map[string]any{"space": "Dict", "spaces": spaces}
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
	keys := make([]string, 0, len(s.Spaces))
	for key := range s.Spaces {
		keys = append(keys, key)
	}
	sort.Strings(keys) // so that the same random numbers draw the same
	out := make(map[string]any, len(keys))
	for _, key := range keys {
		out[key] = s.Spaces[key].Sample(rng)
	}
	return out
}
