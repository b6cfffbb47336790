// Package reading turns values into the JSON reading of SPEC.md and back: binary as {"$bytes": "hex"}, tensors as
// {"$tensor": …}, floats that JSON lacks as {"$float": …}, and other extensions as {"$extension": …}.
package reading

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"

	"dovetail.example/dovetail"
)

// Of returns what encoding/json writes as the reading of a decoded value.
func Of(value any) any {
	switch v := value.(type) {
	case float64:
		return float(v)
	case []byte:
		return map[string]any{"$bytes": hex.EncodeToString(v)}
	case []any:
		out := make([]any, len(v))
		for i, each := range v {
			out[i] = Of(each)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, each := range v {
			out[key] = Of(each)
		}
		return out
	case *dovetail.Tensor:
		data := make([]any, v.Len())
		for i := range data {
			switch v.DType {
			case dovetail.Bool:
				data[i] = v.Int(i) != 0
			case dovetail.Uint64:
				data[i] = uint64(v.Int(i))
			case dovetail.Float16, dovetail.Float32, dovetail.Float64:
				data[i] = float(v.Float(i))
			default:
				data[i] = v.Int(i)
			}
		}
		return map[string]any{"$tensor": map[string]any{"dtype": string(v.DType), "shape": v.Shape, "data": data}}
	case dovetail.Extension:
		return map[string]any{"$extension": map[string]any{"code": v.Code, "data": hex.EncodeToString(v.Data)}}
	}
	return value
}

// float keeps a float a float: 1.0 is not 1.
func float(f float64) any {
	switch {
	case math.IsNaN(f):
		return map[string]any{"$float": "nan"}
	case math.IsInf(f, 1):
		return map[string]any{"$float": "inf"}
	case math.IsInf(f, -1):
		return map[string]any{"$float": "-inf"}
	}
	text := strconv.FormatFloat(f, 'g', -1, 64)
	if !strings.ContainsAny(text, ".e") {
		text += ".0"
	}
	return json.Number(text)
}

// Line returns the reading of a value as JSON.
func Line(value any) ([]byte, error) { return json.Marshal(Of(value)) }

// Parse reads JSON with every integer exact, and returns the value that it stands for.
func Parse(text []byte) (any, error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return nil, err
	}
	return Value(value)
}

// Value returns what a reading, decoded with json.Number, stands for.
func Value(value any) (any, error) {
	switch v := value.(type) {
	case json.Number:
		if n, err := strconv.ParseInt(v.String(), 10, 64); err == nil {
			return n, nil
		}
		if n, err := strconv.ParseUint(v.String(), 10, 64); err == nil {
			return n, nil
		}
		return v.Float64()
	case []any:
		out := make([]any, len(v))
		for i, each := range v {
			var err error
			if out[i], err = Value(each); err != nil {
				return nil, err
			}
		}
		return out, nil
	case map[string]any:
		if len(v) == 1 {
			for key, inner := range v {
				if strings.HasPrefix(key, "$") {
					return special(key, inner)
				}
			}
		}
		out := make(map[string]any, len(v))
		for key, each := range v {
			var err error
			if out[key], err = Value(each); err != nil {
				return nil, err
			}
		}
		return out, nil
	}
	return value, nil
}

func special(key string, inner any) (any, error) {
	wrong := fmt.Errorf("no reading of a value: %s", key)
	switch key {
	case "$bytes":
		text, _ := inner.(string)
		return hex.DecodeString(text)
	case "$float":
		text, _ := inner.(string)
		return strconv.ParseFloat(text, 64)
	}
	m, ok := inner.(map[string]any)
	if !ok {
		return nil, wrong
	}
	switch key {
	case "$extension":
		code, _ := m["code"].(json.Number)
		n, err := code.Int64()
		if err != nil {
			return nil, err
		}
		text, _ := m["data"].(string)
		data, err := hex.DecodeString(text)
		return dovetail.Extension{Code: int8(n), Data: data}, err
	case "$tensor":
		return tensor(m)
	}
	return nil, wrong
}

func tensor(m map[string]any) (any, error) {
	dtype, _ := m["dtype"].(string)
	t := &dovetail.Tensor{DType: dovetail.DType(dtype), Shape: []int{}}
	shape, _ := m["shape"].([]any)
	for _, each := range shape {
		number, _ := each.(json.Number)
		length, err := strconv.Atoi(number.String())
		if err != nil {
			return nil, err
		}
		t.Shape = append(t.Shape, length)
	}
	data, _ := m["data"].([]any)
	for _, each := range data {
		value, err := Value(each)
		if err != nil {
			return nil, err
		}
		t.Data = t.DType.Append(t.Data, value)
	}
	return t, nil
}
