package dovetail_test

import (
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dovetail.example/dovetail"
	"dovetail.example/dovetail/internal/reading"
)

func vectors(t *testing.T, name string, into any) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "protocol", "vectors", name))
	if os.IsNotExist(err) {
		t.Skipf("%s is not there: this folder is not inside the project", name)
	}
	if err == nil {
		err = json.Unmarshal(text, into)
	}
	if err != nil {
		t.Fatal(err)
	}
}

type vector struct {
	Name, Direction, Receiver, From, Hex, Code string
	JSON                                       json.RawMessage
}

func (v *vector) frame(t *testing.T) []byte {
	t.Helper()
	frame, err := hex.DecodeString(v.Hex)
	if err != nil {
		t.Fatal(err)
	}
	return frame
}

// again encodes a decoded value and decodes it once more.
func again(t *testing.T, value any) any {
	t.Helper()
	frame, err := dovetail.EncodeValue(value)
	if err != nil {
		t.Fatal(err)
	}
	value, err = dovetail.DecodeValue(frame)
	if err != nil {
		t.Fatal(err)
	}
	return value
}

// same compares decoded values by their reading, which tells 1 from 1.0.
func same(t *testing.T, a, b any) bool {
	t.Helper()
	first, err := reading.Line(a)
	if err != nil {
		t.Fatal(err)
	}
	second, err := reading.Line(b)
	if err != nil {
		t.Fatal(err)
	}
	return string(first) == string(second)
}

func TestValidVectors(t *testing.T) {
	var file struct{ Messages, Values []vector }
	vectors(t, "valid.json", &file)
	roles := map[string]dovetail.Role{"environment": "environment", "agent": "agent", "experiment": "experiment", "observer": "experiment"}
	typed := 0
	for _, v := range append(file.Messages, file.Values...) {
		t.Run(v.Name, func(t *testing.T) {
			frame := v.frame(t)
			want, err := reading.Parse(v.JSON)
			if err != nil {
				t.Fatal(err)
			}
			got, err := dovetail.DecodeValue(frame)
			if err != nil {
				t.Fatal(err)
			}
			if !same(t, got, want) {
				t.Errorf("read as %v, not as %v", got, want)
			}
			if !same(t, again(t, got), want) {
				t.Error("encoded again it is another")
			}
			role, ok := roles[v.Receiver]
			if !ok || !strings.HasPrefix(v.Direction, "broker") {
				return
			}
			typed++
			message, wrong := dovetail.NewDecoder(role).Decode(frame)
			if wrong != nil {
				t.Fatal(wrong)
			}
			second, err := dovetail.Encode(message)
			if err != nil {
				t.Fatal(err)
			}
			got, err = dovetail.DecodeValue(second)
			if err != nil {
				t.Fatal(err)
			}
			if !same(t, got, want) {
				t.Errorf("as a message it says %v, not %v", got, want)
			}
		})
	}
	if typed < 80 {
		t.Errorf("only %d messages to a peer", typed)
	}
}

func TestMalformedVectors(t *testing.T) {
	var file struct {
		Malformed []struct {
			vector
			Limits *dovetail.Limits
		}
	}
	vectors(t, "malformed.json", &file)
	tried := 0
	for _, v := range file.Malformed {
		if v.Receiver == "broker" {
			continue
		}
		tried++
		for _, role := range []dovetail.Role{"environment", "agent", "experiment"} {
			// All but what is said of one role holds for the others, too.
			if string(role) != v.Receiver && strings.HasSuffix(v.Name, "to an agent") {
				continue
			}
			decoder := dovetail.NewDecoder(role)
			if v.Limits != nil {
				decoder.Limits = *v.Limits
			}
			message, wrong := decoder.Decode(v.frame(t))
			if wrong == nil {
				t.Errorf("%s: read as %T", v.Name, message)
			} else if wrong.Code != v.Code {
				t.Errorf("%s: refused with %s, not %s", v.Name, wrong.Code, v.Code)
			}
		}
	}
	if tried < 20 {
		t.Errorf("only %d frames to a peer", tried)
	}
}

// TestMalformedValues holds the values in frames that the broker must refuse against the reader of values.
func TestMalformedValues(t *testing.T) {
	var file struct {
		Malformed []struct {
			vector
			Limits *dovetail.Limits
		}
	}
	vectors(t, "malformed.json", &file)
	for _, v := range file.Malformed {
		if v.Limits != nil || v.Code != "malformed" && v.Code != "limit" {
			continue
		}
		if value, err := dovetail.DecodeValue(v.frame(t)); err == nil {
			t.Errorf("%s: read as %v", v.Name, value)
		}
	}
}

func TestIntegersAreExact(t *testing.T) {
	for _, n := range []any{int64(1<<63 - 1), int64(-1 << 63), uint64(1<<64 - 1), int64(1<<53 + 1)} {
		if got := again(t, n); got != n {
			t.Errorf("%v came back as %v", n, got)
		}
	}
}

func TestWhatCannotTravel(t *testing.T) {
	circle := []any{nil}
	circle[0] = circle
	for _, value := range []any{struct{}{}, make(chan int), "\xff", map[string]any{"\xff": 1}, circle, &dovetail.Tensor{DType: "int8", Shape: []int{2}, Data: []byte{1}}} {
		if frame, err := dovetail.EncodeValue(value); err == nil {
			t.Errorf("%T was encoded as %x", value, frame)
		}
	}
}

func TestSeeds(t *testing.T) {
	if got := dovetail.Derive(1, "episode", 0); got != 4384949654484100906 {
		t.Error(got)
	}
	if got := dovetail.Derive(7, "seat", 1); got != 2741667346559110548 {
		t.Error(got)
	}
}

func TestMasks(t *testing.T) {
	if got := dovetail.Mask([]int64{0, 9}, 10); hex.EncodeToString(got) != "0102" {
		t.Errorf("%x", got)
	}
	if got := dovetail.Unmask([]byte{1, 2}); len(got) != 2 || got[0] != 0 || got[1] != 9 {
		t.Error(got)
	}
}

func TestSpaces(t *testing.T) {
	charset := "ab"
	all := []dovetail.Space{
		&dovetail.Discrete{N: 3, Start: -1},
		&dovetail.Box{Shape: []int{2, 3}, Low: int64(0), High: int64(2), DType: dovetail.Int8},
		&dovetail.Box{Shape: []int{2}, Low: []any{0.5, -1.0}, DType: dovetail.Float16},
		&dovetail.Box{Shape: []int{}, Low: -1.0, High: 1.0},
		&dovetail.Box{Shape: []int{3}, Low: 0.5, High: 2.5, DType: dovetail.Uint64},
		&dovetail.MultiDiscrete{NVec: []int64{2, 5}},
		&dovetail.MultiBinary{Shape: []int{2, 2}},
		&dovetail.Text{MaxLength: 4, MinLength: 1, Charset: &charset},
		&dovetail.Text{MaxLength: 1<<63 - 1, MinLength: 5},
	}
	all = append(all, &dovetail.Tuple{Spaces: all}, &dovetail.Dict{Spaces: map[string]dovetail.Space{"a": all[0], "b": all[1]}})
	rng := dovetail.NewRNG(1)
	for _, space := range all {
		second, err := dovetail.DecodeSpace(again(t, space))
		if err != nil {
			t.Fatal(err)
		}
		for range 50 {
			value := again(t, space.Sample(rng))
			if !space.Contains(value) || !second.Contains(value) {
				t.Errorf("%v does not contain its own %v", space.Map(), value)
			}
		}
		for _, value := range []any{nil, "abc!", int64(7), 1.5, []any{}, map[string]any{}} {
			if space.Contains(value) {
				t.Errorf("%v contains %v", space.Map(), value)
			}
		}
	}
	for _, c := range []struct {
		space dovetail.Space
		value any
		in    bool
	}{
		{&dovetail.Discrete{N: 2, Start: -1 << 63}, int64(1<<63 - 1), false},
		{&dovetail.Discrete{N: 1<<63 - 1}, int64(1<<63 - 2), true},
		{&dovetail.Box{DType: dovetail.Int64}, int64(1<<63 - 1), true},
		{&dovetail.Box{DType: dovetail.Int64}, uint64(1 << 63), false},
		{&dovetail.Box{DType: dovetail.Uint64}, uint64(1<<64 - 1), true},
		{&dovetail.Box{DType: dovetail.Int8}, int64(128), false},
		{&dovetail.Box{DType: dovetail.Bool}, int64(1), false},
		{&dovetail.Box{DType: dovetail.Bool}, true, true},
		{&dovetail.Box{}, int64(1), true},
		{&dovetail.Text{MaxLength: 9, Charset: &charset}, "abxab", false},
	} {
		if c.space.Contains(c.value) != c.in {
			t.Errorf("%v contains %v: %v", c.space.Map(), c.value, !c.in)
		}
	}
	for _, wrong := range []string{`{"space": "Discrete"}`, `{"space": "Discrete", "n": 0}`, `{"space": "Cube"}`, `{"space": "Tuple", "spaces": [1]}`, `[]`} {
		value, _ := reading.Parse([]byte(wrong))
		if space, err := dovetail.DecodeSpace(value); err == nil {
			t.Errorf("%s was read as %v", wrong, space)
		}
	}
}

// FuzzDecode looks for frames that do worse than to be refused.
func FuzzDecode(f *testing.F) {
	text, _ := os.ReadFile(filepath.Join("..", "..", "protocol", "vectors", "valid.json"))
	var file struct{ Messages []vector }
	_ = json.Unmarshal(text, &file)
	for _, v := range file.Messages {
		frame, _ := hex.DecodeString(v.Hex)
		f.Add(frame)
	}
	f.Fuzz(func(t *testing.T, frame []byte) {
		for _, role := range []dovetail.Role{"environment", "agent", "experiment"} {
			if message, wrong := dovetail.NewDecoder(role).Decode(frame); wrong == nil {
				if _, err := dovetail.Encode(message); err != nil {
					t.Errorf("%T cannot be encoded again: %v", message, err)
				}
			}
		}
	})
}
