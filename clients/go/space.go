package dovetail

import (
	"math"
	"math/rand/v2"
	"slices"
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
		space = &MultiDiscrete{r.ints("nvec", 1)}
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
