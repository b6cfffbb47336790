package dovetail

import (
	"cmp"
	"math"
	"math/big"
	"slices"
	"strings"
	"unicode/utf8"
)

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
