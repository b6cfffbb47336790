package dovetail

import (
	"cmp"
	"maps"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
	"unicode/utf8"
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

// Contains says whether a space contains a value as sent on the wire (SPEC.md, S8.1).
func Contains(space Space, value any) bool {
	frame, err := EncodeValue(value)
	if err != nil {
		return false
	}
	decoded, err := DecodeValue(frame)
	return err == nil && charsets{}.contains(space, decoded)
}

// charsets has the characters of each text space in order; it may stand for each element of a sequence.
type charsets map[*Text][]rune

func (known charsets) contains(space Space, value any) bool {
	switch s := space.(type) {
	case *Discrete:
		n, ok := value.(int64)
		return ok && n >= s.Start && uint64(n)-uint64(s.Start) < uint64(s.N)
	case *Box:
		return s.contains(value)
	case *MultiDiscrete:
		elements, dtype := elementsOf(value, []int{len(s.NVec)})
		if elements == nil || dtype != "" && (dtype == Bool || dtype.isFloat()) {
			return false
		}
		for i, each := range elements {
			if n, ok := each.(int64); !ok || n < 0 || n >= s.NVec[i] {
				return false
			}
		}
		return true
	case *MultiBinary:
		elements, dtype := elementsOf(value, s.Shape)
		for _, each := range elements {
			if _, truth := each.(bool); truth {
				if dtype != Bool {
					return false
				}
			} else if f, ok := AsFloat(each); !ok || f != 0 && f != 1 {
				return false
			}
		}
		return elements != nil
	case *Text:
		text, ok := value.(string)
		if n := int64(utf8.RuneCountInString(text)); !ok || n < s.MinLength || n > s.MaxLength {
			return false
		}
		if s.Charset == nil {
			return true
		}
		charset, sorted := known[s]
		if !sorted {
			charset = []rune(*s.Charset)
			slices.Sort(charset)
			known[s] = charset
		}
		return strings.IndexFunc(text, func(r rune) bool {
			_, found := slices.BinarySearch(charset, r)
			return !found
		}) < 0
	case *Tuple:
		list, ok := value.([]any)
		if !ok || len(list) != len(s.Spaces) {
			return false
		}
		for i, each := range list {
			if !known.contains(s.Spaces[i], each) {
				return false
			}
		}
		return true
	case *Dict:
		entries, ok := value.(map[string]any)
		if !ok || len(entries) != len(s.Spaces) {
			return false
		}
		for key, each := range entries {
			if inner, ok := s.Spaces[key]; !ok || !known.contains(inner, each) {
				return false
			}
		}
		return true
	case *Sequence:
		list, ok := value.([]any)
		if n := int64(len(list)); !ok || n < s.MinLength || n > s.MaxLength {
			return false
		}
		for _, each := range list {
			if !known.contains(s.Element, each) {
				return false
			}
		}
		return true
	}
	return false
}

func (s *Box) contains(value any) bool {
	dtype := cmp.Or(s.DType, Float32)
	elements, given := elementsOf(value, s.Shape)
	if elements == nil || dtype.Size() == 0 || given != "" && given != dtype {
		return false
	}
	low, high := s.limits(s.Low, math.Inf(-1)), s.limits(s.High, math.Inf(1))
	if low == nil || high == nil {
		return false
	}
	for i, each := range elements {
		if !dtype.holds(each) || !dtype.ordered(low(i), each) || !dtype.ordered(each, high(i)) {
			return false
		}
	}
	return true
}

// limits returns a bound of every element, or nil if it fits no array of the shape.
func (s *Box) limits(bound any, infinite float64) func(i int) any {
	if bound == nil {
		bound = infinite
	}
	if _, number := AsFloat(bound); number {
		return func(int) any { return bound }
	}
	list := flatten(bound, s.Shape)
	if list == nil || !numbers(bound) {
		return nil
	}
	return func(i int) any { return list[i] }
}

// holds says whether an element, boolean or number, is one that the dtype can hold.
func (d DType) holds(element any) bool {
	switch element.(type) {
	case bool:
		return d == Bool
	case float64:
		return d.isFloat()
	case int64, uint64:
		if d.isFloat() || d == Bool {
			return d != Bool
		}
		least, most := intRange(d)
		return least.Cmp(exact(element)) <= 0 && exact(element).Cmp(most) <= 0
	}
	return false
}

// ordered says whether a <= b: of floats rounded to the dtype, of integers exactly.
func (d DType) ordered(a, b any) bool {
	if d.isFloat() {
		f, _ := AsFloat(a)
		g, _ := AsFloat(b)
		return d.nearest(f) <= d.nearest(g)
	}
	x, y := exact(a), exact(b)
	return x != nil && y != nil && x.Cmp(y) <= 0
}

// exact returns a boolean or number without loss; nil for NaN.
func exact(value any) *big.Float {
	switch v := value.(type) {
	case bool:
		if v {
			return big.NewFloat(1)
		}
		return new(big.Float)
	case int64:
		return new(big.Float).SetInt64(v)
	case uint64:
		return new(big.Float).SetUint64(v)
	case int:
		return new(big.Float).SetInt64(int64(v))
	case float64:
		if !math.IsNaN(v) {
			return big.NewFloat(v)
		}
	}
	return nil
}

// nearest rounds to a dtype of floats: ties to even, infinite beyond the largest.
func (d DType) nearest(f float64) float64 {
	switch {
	case d == Float32:
		return float64(float32(f))
	case d != Float16 || f == 0 || math.IsInf(f, 0) || math.IsNaN(f):
		return f
	}
	_, exponent := math.Frexp(f)
	unit := math.Ldexp(1, max(exponent-1, -14)-10)
	if f = math.RoundToEven(f/unit) * unit; math.Abs(f) > 65504 {
		return math.Inf(int(math.Copysign(1, f)))
	}
	return f
}

// elementsOf returns the elements of a tensor, with its dtype, or of nested lists; nil if they do not have the shape.
func elementsOf(value any, shape []int) ([]any, DType) {
	tensor, ok := value.(*Tensor)
	if !ok {
		return flatten(value, shape), ""
	}
	if len(tensor.Shape) != len(shape) {
		return nil, ""
	}
	for i, length := range shape {
		if tensor.Shape[i] != length {
			return nil, ""
		}
	}
	out := make([]any, tensor.Len())
	for i := range out {
		switch {
		case tensor.DType == Bool:
			out[i] = tensor.Int(i) != 0
		case tensor.DType.isFloat():
			out[i] = tensor.Float(i)
		case tensor.DType == Uint64 && tensor.Int(i) < 0:
			out[i] = uint64(tensor.Int(i))
		default:
			out[i] = tensor.Int(i)
		}
	}
	return out, tensor.DType
}

// Mask returns legal actions as a bit mask: action a is bit a mod 8, from the lowest, of byte a div 8.
// The actions must be in 0 … n-1.
func Mask(actions []int64, n int) []byte {
	out := make([]byte, (n+7)/8)
	for _, action := range actions {
		out[action>>3] |= 1 << (action & 7)
	}
	return out
}

// Unmask returns the actions of a mask in rising order.
func Unmask(mask []byte) []int64 {
	out := []int64{}
	for i, b := range mask {
		for bit := 0; b != 0; bit, b = bit+1, b>>1 {
			if b&1 != 0 {
				out = append(out, int64(8*i+bit))
			}
		}
	}
	return out
}
