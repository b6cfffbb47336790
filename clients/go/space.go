package dovetail

import (
	"cmp"
	"maps"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
)

// Space is the set of values that an observation or action may have. It is one of *Discrete, *Box, *MultiDiscrete,
// *MultiBinary, *Text, *Tuple, *Dict and *Sequence.
type Space interface {
	variant() string
	fields
	// Sample draws a value, or returns nil if it would be too large for any message, or a Box contains none. Floats of
	// a Box without bounds come from a normal distribution.
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

// Sample implements Space.
func (s *Box) Sample(rng *rand.Rand) any {
	t := &Tensor{DType: cmp.Or(s.DType, Float32), Shape: s.Shape}
	low, high := s.limits(s.Low, math.Inf(-1)), s.limits(s.High, math.Inf(1))
	if size(s) > largest || t.DType.Size() == 0 || low == nil || high == nil {
		return nil
	}
	for i := range product(s.Shape) {
		number := t.DType.sample(low(i), high(i), rng)
		if number == nil {
			return nil
		}
		t.Data = t.DType.Append(t.Data, number)
	}
	return t
}

// sample draws a number between two bounds, or returns nil if there is none.
func (d DType) sample(low, high any, rng *rand.Rand) any {
	if d.isFloat() {
		least, _ := AsFloat(low)
		most, _ := AsFloat(high)
		switch share := rng.Float64(); {
		case least == most:
			return least
		case math.IsInf(least, 0) && math.IsInf(most, 0):
			return rng.NormFloat64()
		case math.IsInf(least, 0):
			return most - rng.ExpFloat64()
		case math.IsInf(most, 0):
			return least + rng.ExpFloat64()
		default: // their difference can be infinite
			return min(max(least*(1-share)+most*share, least), most)
		}
	}
	whole := func(bound any, round func(float64) float64) *big.Float {
		if f, ok := bound.(float64); ok {
			bound = round(f)
		}
		return exact(bound)
	}
	first, last := intRange(d)
	least, most := whole(low, math.Ceil), whole(high, math.Floor)
	if least == nil || most == nil || least.Cmp(last) > 0 || most.Cmp(first) < 0 || least.Cmp(most) > 0 {
		return nil
	}
	if least.Cmp(first) > 0 {
		first = least
	}
	if most.Cmp(last) < 0 {
		last = most
	}
	more := twos(last) - twos(first) + 1
	if more == 0 { // all of 64 bits
		return rng.Uint64()
	}
	return twos(first) + rng.Uint64N(more)
}

// twos returns an integer of 64 bits, two's complement if it is negative.
func twos(x *big.Float) uint64 {
	if n, accuracy := x.Int64(); accuracy == big.Exact {
		return uint64(n)
	}
	n, _ := x.Uint64()
	return n
}

// intRange returns the least and the greatest integer of a dtype.
func intRange(d DType) (least, most *big.Float) {
	spare := 64 - 8*d.Size()
	switch {
	case d == Bool:
		return exact(false), exact(true)
	case d[0] == 'u':
		return exact(0), exact(uint64(math.MaxUint64) >> spare)
	}
	return exact(int64(math.MinInt64) >> spare), exact(int64(math.MaxInt64) >> spare)
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
func (s *Tuple) Sample(rng *rand.Rand) any { return sample(s, rng) }

// Sample implements Space.
func (s *Dict) Sample(rng *rand.Rand) any { return sample(s, rng) }

// Sample implements Space.
func (s *Sequence) Sample(rng *rand.Rand) any { return sample(s, rng) }

func sample(space Space, rng *rand.Rand) any {
	if size(space) > largest {
		return nil
	}
	return draw(space, rng)
}

// draw draws a value of a space that is not too large as a whole.
func draw(space Space, rng *rand.Rand) any {
	switch s := space.(type) {
	case *Tuple:
		out := make([]any, len(s.Spaces))
		for i, each := range s.Spaces {
			out[i] = draw(each, rng)
		}
		return out
	case *Dict:
		out := make(map[string]any, len(s.Spaces))
		for _, key := range slices.Sorted(maps.Keys(s.Spaces)) { // so that the same random numbers draw the same
			out[key] = draw(s.Spaces[key], rng)
		}
		return out
	case *Sequence:
		out := make([]any, between(rng, s.MinLength, s.MaxLength))
		for i := range out {
			out[i] = draw(s.Element, rng)
		}
		return out
	}
	return space.Sample(rng)
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
