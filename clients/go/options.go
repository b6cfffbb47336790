package dovetail

import (
	"fmt"
	"slices"
)

// Option is a parameter of an agent type or an option of an environment. It takes values of its Default's type:
// a bool, an int, a float64 or a string; or any value if the Default has another type or Any is set.
type Option struct {
	Name        string
	Default     any
	Description string
	Any         bool
	Min, Max    *float64 // of numbers
	Choices     []string // of text
}

// Options are the values of all options by name, those left out with their defaults.
type Options map[string]any

// Bool returns a boolean option.
func (o Options) Bool(name string) bool { return o[name].(bool) }

// Int returns an integer option.
func (o Options) Int(name string) int { return int(o[name].(int64)) }

// Float returns a number option.
func (o Options) Float(name string) float64 { f, _ := AsFloat(o[name]); return f }

// Text returns a text option.
func (o Options) Text(name string) string { return o[name].(string) }

func (o *Option) kind() string {
	if o.Any {
		return ""
	}
	switch o.Default.(type) {
	case bool:
		return "boolean"
	case int, int64:
		return "integer"
	case float64:
		return "number"
	case string:
		return "string"
	}
	return ""
}

// value returns the default as it would be decoded.
func (o *Option) value() any {
	if n, ok := o.Default.(int); ok {
		return int64(n)
	}
	return o.Default
}

// schema returns the JSON Schema of each option by name.
func schema(options []Option) map[string]any {
	out := make(map[string]any, len(options))
	for i := range options {
		o := &options[i]
		entry := map[string]any{"default": o.value()}
		if kind := o.kind(); kind != "" {
			entry["type"] = kind
		}
		if o.Description != "" {
			entry["description"] = o.Description
		}
		if o.Min != nil {
			entry["minimum"] = *o.Min
		}
		if o.Max != nil {
			entry["maximum"] = *o.Max
		}
		if o.Choices != nil {
			entry["enum"] = o.Choices
		}
		out[o.Name] = entry
	}
	return out
}

// readOptions checks the values that came and adds the defaults of the others.
func readOptions(options []Option, values map[string]any, what string) (Options, error) {
	out := make(Options, len(options))
	known := make([]string, len(options))
	for i := range options {
		o := &options[i]
		known[i] = o.Name
		value, given := values[o.Name]
		if !given {
			out[o.Name] = o.value()
			continue
		}
		if err := o.check(value); err != nil {
			return nil, fmt.Errorf("%s: option %s %w", what, o.Name, err)
		}
		out[o.Name] = value
	}
	for name := range values {
		if !slices.Contains(known, name) {
			return nil, fmt.Errorf("%s has no option %.40q; it has %v", what, name, known)
		}
	}
	return out, nil
}

func (o *Option) check(value any) error {
	ok := true
	switch o.kind() {
	case "boolean":
		_, ok = value.(bool)
	case "integer":
		_, ok = value.(int64)
	case "number":
		_, ok = AsFloat(value)
	case "string":
		_, ok = value.(string)
	}
	if !ok {
		return fmt.Errorf("must be a %s", o.kind())
	}
	if f, number := AsFloat(value); number {
		if o.Min != nil && f < *o.Min {
			return fmt.Errorf("must be at least %v", *o.Min)
		}
		if o.Max != nil && f > *o.Max {
			return fmt.Errorf("must be at most %v", *o.Max)
		}
	}
	if text, isText := value.(string); isText && o.Choices != nil && !slices.Contains(o.Choices, text) {
		return fmt.Errorf("must be one of %q", o.Choices)
	}
	return nil
}

// Ptr returns a pointer to a value, for fields of which nil stands for the default.
func Ptr[T any](value T) *T { return &value }
