package dovetail

import (
	"cmp"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
)

// Space is the set of values that an observation or action may have. It is one of *Discrete, *Box, *MultiDiscrete,
// *MultiBinary, *Text, *Tuple, *Dict and *Sequence.
type Space interface {
	variant() string
	fields
	// Sample draws a value, or returns nil if it would be too large for any message. Elements of a Box without bounds
	// come from a normal distribution.
	Sample(rng *rand.Rand) any
}

// DecodeSpace reads the map that a space travels as.
func DecodeSpace(value any) (Space, error) { return reread(value, space) }

// ObservationSpace returns a seat's observation space; nil if the environment does not say.
func (m *Spec) ObservationSpace(seat int) Space { return spaceOf(m.ObservationSpaces, seat) }

// ActionSpace returns a seat's action space; nil if the environment does not say.
func (m *Spec) ActionSpace(seat int) Space { return spaceOf(m.ActionSpaces, seat) }

func spaceOf(spaces []Space, seat int) Space {
	switch {
	case len(spaces) == 1:
		return spaces[0]
	case seat >= 0 && seat < len(spaces):
		return spaces[seat]
	}
	return nil
}

// Sample implements Space.
func (s *Discrete) Sample(rng *rand.Rand) any { return s.Start + rng.Int64N(s.N) }

// bound returns one bound of every element; one that does not fit the shape is none.
func (s *Box) bound(bound any, infinite float64) func(i int) float64 {
	if f, ok := AsFloat(bound); ok {
		return func(int) float64 { return f }
	}
	list := flatten(bound, s.Shape)
	if bound == nil || list == nil {
		return func(int) float64 { return infinite }
	}
	return func(i int) float64 { f, _ := AsFloat(list[i]); return f }
}

// Sample implements Space.
func (s *Box) Sample(rng *rand.Rand) any {
	if size(s) > largest {
		return nil
	}
	low, high := s.bound(s.Low, math.Inf(-1)), s.bound(s.High, math.Inf(1))
	t := &Tensor{DType: cmp.Or(s.DType, Float32), Shape: s.Shape}
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
func (s *MultiDiscrete) Sample(rng *rand.Rand) any {
	out := make([]int64, len(s.NVec))
	for i, n := range s.NVec {
		out[i] = rng.Int64N(n)
	}
	return NewTensor(out)
}

// Sample implements Space.
func (s *MultiBinary) Sample(rng *rand.Rand) any {
	if size(s) > largest {
		return nil
	}
	t := &Tensor{DType: Int8, Shape: s.Shape, Data: make([]byte, product(s.Shape))}
	for i := range t.Data {
		t.Data[i] = byte(rng.IntN(2))
	}
	return t
}

// Sample implements Space.
func (s *Text) Sample(rng *rand.Rand) any {
	if size(s) > largest {
		return nil
	}
	charset := []rune("abcdefghijklmnopqrstuvwxyz")
	if s.Charset != nil {
		charset = []rune(*s.Charset)
	}
	if len(charset) == 0 {
		return ""
	}
	out := make([]rune, between(rng, s.MinLength, s.MaxLength))
	for i := range out {
		out[i] = charset[rng.IntN(len(charset))]
	}
	return string(out)
}

// Sample implements Space.
func (s *Tuple) Sample(rng *rand.Rand) any {
	if size(s) > largest {
		return nil
	}
	out := make([]any, len(s.Spaces))
	for i, each := range s.Spaces {
		out[i] = each.Sample(rng)
	}
	return out
}

// Sample implements Space.
func (s *Dict) Sample(rng *rand.Rand) any {
	if size(s) > largest {
		return nil
	}
	out := make(map[string]any, len(s.Spaces))
	for _, key := range slices.Sorted(maps.Keys(s.Spaces)) { // so that the same random numbers draw the same
		out[key] = s.Spaces[key].Sample(rng)
	}
	return out
}

// Sample implements Space.
func (s *Sequence) Sample(rng *rand.Rand) any {
	if size(s) > largest {
		return nil
	}
	out := make([]any, between(rng, s.MinLength, s.MaxLength))
	for i := range out {
		out[i] = s.Element.Sample(rng)
	}
	return out
}

// between draws a length; what may be as long as the memory need not be.
func between(rng *rand.Rand, least, most int64) int64 {
	return least + rng.Int64N(min(max(most-least, 0), spread)+1)
}

const (
	// largest is how many elements a value that is drawn has at most; more do not fit into a message.
	largest = 1 << 20
	// spread is how much longer than necessary a text or sequence is at most.
	spread = 99
)

// size returns how many elements a value that is drawn has at most; a float, since it may be any number.
func size(space Space) float64 {
	switch s := space.(type) {
	case *Box:
		return sizeOf(s.Shape)
	case *MultiBinary:
		return sizeOf(s.Shape)
	case *MultiDiscrete:
		return float64(len(s.NVec))
	case *Text:
		return 1 + longest(s.MinLength, s.MaxLength)
	case *Tuple:
		sum := 1.0
		for _, each := range s.Spaces {
			sum += size(each)
		}
		return sum
	case *Dict:
		sum := 1.0
		for _, each := range s.Spaces {
			sum += size(each)
		}
		return sum
	case *Sequence:
		return 1 + longest(s.MinLength, s.MaxLength)*size(s.Element)
	}
	return 1
}

// sizeOf returns how many elements, or empty rows, an array has; infinitely many if it has too many dimensions.
func sizeOf(shape []int) float64 {
	if len(shape) > 32 {
		return math.Inf(1)
	}
	n := 1.0
	for _, length := range shape {
		n *= float64(max(length, 1))
	}
	return n
}

func longest(least, most int64) float64 {
	return float64(least) + float64(min(max(most-least, 0), spread))
}

// numbers says whether a value is a number or nested lists of numbers.
func numbers(value any) bool {
	if list, ok := value.([]any); ok {
		return !slices.ContainsFunc(list, func(each any) bool { return !numbers(each) })
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
