package dovetail

import (
	"fmt"
	"math"
	"math/rand/v2"
	"sort"
	"unicode/utf8"
)

// Space says which values an observation or action may have. It is one of *Discrete, *Box, *MultiDiscrete,
// *MultiBinary, *Text, *Tuple and *Dict.
type Space interface {
	// Map returns the space as it travels.
	Map() map[string]any
	// Contains says whether a decoded value is in the space.
	Contains(value any) bool
	// Sample draws a value. Elements of a Box without bounds come from a normal distribution.
	Sample(rng *rand.Rand) any
}

// Discrete has the integers Start … Start+N-1.
type Discrete struct{ N, Start int64 }

// Box has arrays of a shape and dtype. Low and High are nil (no bound), a number, or nested []any of numbers.
type Box struct {
	Shape     []int
	Low, High any
	DType     DType
}

// MultiDiscrete has vectors of integers, element i in 0 … NVec[i]-1.
type MultiDiscrete struct{ NVec []int64 }

// MultiBinary has arrays of zeros and ones.
type MultiBinary struct{ Shape []int }

// Text has strings by their length in characters; Charset nil allows any character.
type Text struct {
	MaxLength, MinLength int64
	Charset              *string
}

// Tuple has sequences with one value of each space.
type Tuple struct{ Spaces []Space }

// Dict has maps with one value of each space by its key.
type Dict struct{ Spaces map[string]Space }

// DecodeSpace reads the map that a space travels as.
func DecodeSpace(value any) (Space, error) {
	m, ok := value.(map[string]any)
	if !ok {
		return nil, protocolErrorf(CodeInvalid, "a space is no map")
	}
	r := spaceReader{m: m}
	kind, _ := m["space"].(string)
	var space Space
	switch kind {
	case "Discrete":
		space = &Discrete{r.int("n", 1, nil), r.int("start", math.MinInt64, int64(0))}
	case "Box":
		box := &Box{Shape: r.shape("shape"), DType: Float32, Low: r.bound("low", -1), High: r.bound("high", 1)}
		if dtype, ok := m["dtype"]; ok {
			name, _ := dtype.(string)
			if box.DType = DType(name); box.DType.Size() == 0 {
				r.wrong("dtype")
			}
		}
		space = box
	case "MultiDiscrete":
		each := r.ints("nvec", 1)
		space = &MultiDiscrete{each}
	case "MultiBinary":
		space = &MultiBinary{r.shape("shape")}
	case "Text":
		text := &Text{MaxLength: r.int("max_length", 0, nil), MinLength: r.int("min_length", 0, int64(0))}
		if charset, ok := m["charset"]; ok && charset != nil {
			set, ok := charset.(string)
			if !ok {
				r.wrong("charset")
			}
			text.Charset = &set
		}
		space = text
	case "Tuple":
		list, ok := m["spaces"].([]any)
		if !ok {
			r.wrong("spaces")
		}
		tuple := &Tuple{make([]Space, len(list))}
		for i, each := range list {
			tuple.Spaces[i] = r.space(each)
		}
		space = tuple
	case "Dict":
		spaces, ok := m["spaces"].(map[string]any)
		if !ok {
			r.wrong("spaces")
		}
		dict := &Dict{make(map[string]Space, len(spaces))}
		for key, each := range spaces {
			dict.Spaces[key] = r.space(each)
		}
		space = dict
	default:
		return nil, protocolErrorf(CodeInvalid, "there is no space %.40q", kind)
	}
	return space, r.err
}

type spaceReader struct {
	m   map[string]any
	err error
}

func (r *spaceReader) wrong(key string) {
	if r.err == nil {
		r.err = protocolErrorf(CodeInvalid, "field %s of space %v is missing or wrong", key, r.m["space"])
	}
}

func (r *spaceReader) int(key string, min int64, def any) int64 {
	value, ok := r.m[key]
	if !ok {
		value = def
	}
	n, ok := value.(int64)
	if !ok || n < min {
		r.wrong(key)
	}
	return n
}

func (r *spaceReader) ints(key string, min int64) []int64 {
	list, ok := r.m[key].([]any)
	if !ok {
		r.wrong(key)
	}
	out := make([]int64, len(list))
	for i, each := range list {
		n, ok := each.(int64)
		if !ok || n < min {
			r.wrong(key)
		}
		out[i] = n
	}
	return out
}

func (r *spaceReader) shape(key string) []int {
	list := r.ints(key, 0)
	out := make([]int, len(list))
	for i, n := range list {
		out[i] = int(n)
	}
	return out
}

// bound reads a bound; the infinite one on its own side is the default.
func (r *spaceReader) bound(key string, side int) any {
	value, ok := r.m[key]
	if !ok {
		return nil
	}
	if !numbers(value) {
		r.wrong(key)
	}
	if f, ok := value.(float64); ok && math.IsInf(f, side) {
		return nil
	}
	return value
}

func (r *spaceReader) space(value any) Space {
	space, err := DecodeSpace(value)
	if err != nil && r.err == nil {
		r.err = err
	}
	return space
}

// numbers says whether a value is a number or nested lists of numbers.
func numbers(value any) bool {
	if list, ok := value.([]any); ok {
		for _, each := range list {
			if !numbers(each) {
				return false
			}
		}
		return true
	}
	_, ok := AsFloat(value)
	return ok
}

// flatten returns the elements of nested lists in C order, or nil if they do not have the shape.
func flatten(value any, shape []int) []any {
	if len(shape) == 0 {
		if _, nested := value.([]any); nested {
			return nil
		}
		return []any{value}
	}
	list, ok := value.([]any)
	if !ok || len(list) != shape[0] {
		return nil
	}
	out := []any{}
	for _, each := range list {
		inner := flatten(each, shape[1:])
		if inner == nil {
			return nil
		}
		out = append(out, inner...)
	}
	return out
}

func product(shape []int) int {
	n := 1
	for _, length := range shape {
		n *= length
	}
	return n
}

func sameShape(a, b []int) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

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

// spaces is an array of spaces.
func (w *wire) spaces(key string, p *[]Space) {
	if w.decoding {
		*p = nil
		b := w.find(key)
		if b == nil {
			return
		}
		list, ok := w.readValue(b).([]any)
		if !ok {
			w.invalid(key, "an array of spaces")
			return
		}
		*p = make([]Space, len(list))
		for i, each := range list {
			space, err := DecodeSpace(each)
			if err != nil && w.err == nil {
				w.err = fmt.Errorf("field %s: %w", key, err)
			}
			(*p)[i] = space
		}
		return
	}
	if len(*p) > 0 {
		w.key(key)
		w.appendValue(*p)
	}
}
