package dovetail

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"reflect"
	"slices"
	"unicode/utf8"

	"github.com/tinylib/msgp/msgp"
)

const tensorExtension = 1

// DType is the kind of a tensor's elements.
type DType string

// The dtypes of SPEC.md, section Tensors.
const (
	Bool    DType = "bool"
	Int8    DType = "int8"
	Int16   DType = "int16"
	Int32   DType = "int32"
	Int64   DType = "int64"
	Uint8   DType = "uint8"
	Uint16  DType = "uint16"
	Uint32  DType = "uint32"
	Uint64  DType = "uint64"
	Float16 DType = "float16"
	Float32 DType = "float32"
	Float64 DType = "float64"
)

// Size returns the bytes of an element, 0 for a dtype that there is not.
func (d DType) Size() int {
	switch d {
	case Bool, Int8, Uint8:
		return 1
	case Int16, Uint16, Float16:
		return 2
	case Int32, Uint32, Float32:
		return 4
	case Int64, Uint64, Float64:
		return 8
	}
	return 0
}

func (d DType) isFloat() bool { return d == Float16 || d == Float32 || d == Float64 }

// Append appends a number or boolean as an element of this dtype.
func (d DType) Append(b []byte, value any) []byte {
	le := binary.LittleEndian
	f, _ := AsFloat(value)
	switch d {
	case Float16:
		return le.AppendUint16(b, toHalf(d.nearest(f)))
	case Float32:
		return le.AppendUint32(b, math.Float32bits(float32(f)))
	case Float64:
		return le.AppendUint64(b, math.Float64bits(f))
	}
	var n uint64
	switch v := value.(type) {
	case bool:
		if v {
			n = 1
		}
	case float64:
		if n = uint64(int64(v)); v >= 1<<63 {
			n = uint64(v)
		}
	case uint64:
		n = v
	case int64:
		n = uint64(v)
	case int:
		n = uint64(v)
	}
	return le.AppendUint64(b, n)[:len(b)+d.Size()] // the lowest bytes come first
}

// Tensor is an array of numbers. Data holds the elements in C order, little-endian, as they travel; it must not
// be changed once the tensor was handed out, and that of a received tensor not at all.
type Tensor struct {
	DType DType
	Shape []int
	Data  []byte
}

// Element is what a tensor can be made of.
type Element interface {
	bool | int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64 | float32 | float64
}

// NewTensor makes a tensor of elements in C order. Without a shape it is a vector; NewScalar makes one without
// dimensions.
func NewTensor[T Element](elements []T, shape ...int) *Tensor {
	if len(shape) == 0 {
		shape = []int{len(elements)}
	}
	data, _ := binary.Append(nil, binary.LittleEndian, elements) // it fails for nothing that is an Element
	return &Tensor{DType: DType(reflect.TypeFor[T]().String()), Shape: shape, Data: data}
}

// NewScalar makes a tensor without dimensions.
func NewScalar[T Element](element T) *Tensor {
	t := NewTensor([]T{element})
	t.Shape = []int{}
	return t
}

// Len returns the number of elements.
func (t *Tensor) Len() int {
	if size := t.DType.Size(); size > 0 {
		return len(t.Data) / size
	}
	return 0
}

// Float returns element i in C order as a float64; integers beyond 2^53 lose digits, Int keeps them.
func (t *Tensor) Float(i int) float64 {
	le := binary.LittleEndian
	switch t.DType {
	case Float64:
		return math.Float64frombits(le.Uint64(t.Data[8*i:]))
	case Float32:
		return float64(math.Float32frombits(le.Uint32(t.Data[4*i:])))
	case Float16:
		return halfFloat(le.Uint16(t.Data[2*i:]))
	case Uint64:
		return float64(le.Uint64(t.Data[8*i:]))
	}
	return float64(t.Int(i))
}

// Int returns element i in C order as an int64; a uint64 of 2^63 or more comes as a negative number with the
// same bits, and the fraction of a float is cut off.
func (t *Tensor) Int(i int) int64 {
	le := binary.LittleEndian
	switch t.DType {
	case Bool, Uint8:
		return int64(t.Data[i])
	case Int8:
		return int64(int8(t.Data[i]))
	case Int16:
		return int64(int16(le.Uint16(t.Data[2*i:])))
	case Uint16:
		return int64(le.Uint16(t.Data[2*i:]))
	case Int32:
		return int64(int32(le.Uint32(t.Data[4*i:])))
	case Uint32:
		return int64(le.Uint32(t.Data[4*i:]))
	case Int64, Uint64:
		return int64(le.Uint64(t.Data[8*i:]))
	}
	return int64(t.Float(i))
}

// Floats returns all elements as float64.
func (t *Tensor) Floats() []float64 {
	out := make([]float64, t.Len())
	for i := range out {
		out[i] = t.Float(i)
	}
	return out
}

// Ints returns all elements as int64; see Int.
func (t *Tensor) Ints() []int64 {
	out := make([]int64, t.Len())
	for i := range out {
		out[i] = t.Int(i)
	}
	return out
}

func halfFloat(bits uint16) float64 {
	sign, exponent, fraction := 1.0, int(bits>>10&0x1f), float64(bits&0x3ff)
	if bits&0x8000 != 0 {
		sign = -1
	}
	switch exponent {
	case 0:
		return sign * math.Ldexp(fraction, -24)
	case 31:
		if fraction != 0 {
			return math.NaN()
		}
		return math.Inf(int(sign))
	}
	return sign * math.Ldexp(fraction+1024, exponent-25)
}

// toHalf takes a number that a float16 holds.
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

// check says what is wrong with a tensor, if something is.
func (t *Tensor) check() error {
	size := t.DType.Size()
	if size == 0 {
		return protocolErrorf(CodeMalformed, "tensor of unknown dtype %.20q", string(t.DType))
	}
	if len(t.Shape) > 32 {
		return protocolErrorf(CodeMalformed, "tensor of more than 32 dimensions")
	}
	count := uint64(size)
	for _, length := range t.Shape {
		if length < 0 {
			return protocolErrorf(CodeMalformed, "tensor with a negative length")
		}
		over, product := bits.Mul64(count, uint64(length))
		if count = product; over != 0 {
			count = math.MaxUint64 // too large, unless a length to come is 0
		}
	}
	if count != uint64(len(t.Data)) {
		return protocolErrorf(CodeMalformed, "tensor %s%v with %d bytes of data", t.DType, t.Shape, len(t.Data))
	}
	if t.DType == Bool && slices.ContainsFunc(t.Data, func(b byte) bool { return b > 1 }) {
		return protocolErrorf(CodeMalformed, "tensor bool with a byte other than 0 and 1")
	}
	return nil
}

func unpackTensor(data []byte) (*Tensor, error) {
	wrong := func(what string) error {
		return protocolErrorf(CodeMalformed, "tensor that is not [dtype, shape, bytes]: %s", what)
	}
	limits := Limits{Frame: math.MaxInt, Depth: 2, Elements: 64}
	if err := limits.check(data); err != nil {
		return nil, wrong(err.Text)
	}
	n, rest, err := msgp.ReadArrayHeaderBytes(data)
	if err != nil || n != 3 {
		return nil, wrong("not three values")
	}
	dtype, rest, err := msgp.ReadStringZC(rest)
	if err != nil || !utf8.Valid(dtype) {
		return nil, wrong("a dtype that is not text")
	}
	dimensions, rest, err := msgp.ReadArrayHeaderBytes(rest)
	if err != nil {
		return nil, wrong("a shape that is not an array")
	}
	t := &Tensor{DType: DType(dtype), Shape: make([]int, dimensions)}
	for i := range t.Shape {
		if !isInt(rest) {
			return nil, wrong("a length that is not an integer")
		}
		length, after, err := msgp.ReadInt64Bytes(rest)
		if err != nil {
			return nil, wrong("a length of 2^63 or more")
		}
		t.Shape[i], rest = int(length), after
	}
	if t.Data, _, err = msgp.ReadBytesZC(rest); err != nil {
		return nil, wrong("data that is not binary")
	}
	return t, t.check()
}

func appendTensor(out []byte, t *Tensor) ([]byte, error) {
	if t == nil {
		return msgp.AppendNil(out), nil
	}
	if err := t.check(); err != nil {
		return nil, fmt.Errorf("a tensor cannot travel: %w", err)
	}
	content := make([]byte, 0, len(t.Data)+32+9*len(t.Shape))
	content = msgp.AppendArrayHeader(content, 3)
	content = msgp.AppendString(content, string(t.DType))
	content = msgp.AppendArrayHeader(content, uint32(len(t.Shape)))
	for _, length := range t.Shape {
		content = msgp.AppendInt(content, length)
	}
	content = msgp.AppendBytes(content, t.Data)
	return appendExtension(out, Extension{tensorExtension, content}), nil
}
