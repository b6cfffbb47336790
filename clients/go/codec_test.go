package dovetail_test

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

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

// TestLengths reads lengths that an int of 32 bits does not hold: GOARCH=386 go test -run TestLengths.
func TestLengths(t *testing.T) {
	for _, start := range []string{
		"92c6ffffff00c0", "92dbffffff00c0", "92c9ffffff0001c0", // bytes, text, an extension
		"92ddffffff00c0", "92dfffffff00c0", "92df80000000c0", "92df7fffffffc0", // an array, mappings
	} {
		frame, _ := hex.DecodeString(start)
		if value, err := dovetail.DecodeValue(frame); err == nil {
			t.Errorf("%s: read as %v", start, value)
		}
		if message, wrong := dovetail.NewDecoder(dovetail.RoleAgent).Decode(frame); wrong == nil {
			t.Errorf("%s: read as %T", start, message)
		} else if wrong.Code != dovetail.CodeMalformed {
			t.Errorf("%s: refused with %s", start, wrong.Code)
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
	vector := func(shape []int, least, most float64) func(any) bool {
		return func(value any) bool {
			tensor, ok := value.(*dovetail.Tensor)
			return ok && slices.Equal(tensor.Shape, shape) &&
				!slices.ContainsFunc(tensor.Floats(), func(f float64) bool { return f < least || f > most })
		}
	}
	text := func(least, most int, charset string) func(any) bool {
		return func(value any) bool {
			text, ok := value.(string)
			return ok && len(text) >= least && len(text) <= most && strings.Trim(text, charset) == ""
		}
	}
	discrete := func(value any) bool { n := value.(int64); return n >= -1 && n <= 1 }
	inf := math.Inf(1)
	all := []struct {
		space dovetail.Space
		in    func(value any) bool
	}{
		{&dovetail.Discrete{N: 3, Start: -1}, discrete},
		{&dovetail.Box{Shape: []int{2, 3}, Low: int64(0), High: int64(2), DType: dovetail.Int8}, vector([]int{2, 3}, 0, 2)},
		{&dovetail.Box{Shape: []int{2}, Low: []any{0.5, -1.0}, DType: dovetail.Float16}, vector([]int{2}, -1, inf)},
		{&dovetail.Box{Shape: []int{}, Low: -1.0, High: 1.0}, vector([]int{}, -1, 1)},
		{&dovetail.Box{Shape: []int{3}, High: -4.0}, vector([]int{3}, -inf, -4)},
		{&dovetail.Box{Shape: []int{3}, Low: 0.5, High: 2.5, DType: dovetail.Uint64}, vector([]int{3}, 1, 2)},
		{&dovetail.Box{Shape: []int{9}, DType: dovetail.Bool}, vector([]int{9}, 0, 1)},
		{&dovetail.MultiDiscrete{NVec: []int64{2, 5}}, vector([]int{2}, 0, 4)},
		{&dovetail.MultiBinary{Shape: []int{2, 2}}, vector([]int{2, 2}, 0, 1)},
		{&dovetail.Text{MaxLength: 4, MinLength: 1, Charset: dovetail.Ptr("ab")}, text(1, 4, "ab")},
		{&dovetail.Text{MaxLength: 1<<63 - 1, MinLength: 5}, text(5, 104, "abcdefghijklmnopqrstuvwxyz")},
		{&dovetail.Tuple{Spaces: []dovetail.Space{&dovetail.Discrete{N: 1}, &dovetail.Text{}}},
			func(value any) bool { return fmt.Sprint(value) == "[0 ]" }},
		{&dovetail.Dict{Spaces: map[string]dovetail.Space{"a": &dovetail.Discrete{N: 1, Start: 4}, "b": &dovetail.Text{}}},
			func(value any) bool { return fmt.Sprint(value) == "map[a:4 b:]" }},
		{&dovetail.Sequence{Element: &dovetail.Discrete{N: 3, Start: -1}, MaxLength: 4, MinLength: 2}, func(value any) bool {
			list, ok := value.([]any)
			return ok && len(list) >= 2 && len(list) <= 4 && !slices.ContainsFunc(list, func(each any) bool { return !discrete(each) })
		}},
	}
	rng := dovetail.NewRNG(1)
	for _, c := range all {
		travelled := again(t, c.space)
		second, err := dovetail.DecodeSpace(travelled)
		if err != nil {
			t.Fatal(err)
		}
		if !same(t, again(t, second), travelled) {
			t.Errorf("%v became %v", travelled, again(t, second))
		}
		for range 50 {
			for _, space := range []dovetail.Space{c.space, second} {
				if value := again(t, space.Sample(rng)); !c.in(value) {
					t.Errorf("%v has %v", travelled, value)
				}
			}
		}
	}
	for _, wrong := range []string{`{"space": "Discrete"}`, `{"space": "Discrete", "n": 0}`, `{"space": "Cube"}`, `{"space": "Tuple", "spaces": [1]}`,
		`{"space": "Box", "shape": [-1]}`, `{"space": "Box", "shape": [], "dtype": "int7"}`, `{"space": "Box", "shape": [], "low": ["x"]}`,
		`{"space": "MultiDiscrete", "nvec": [0]}`, `{"space": "Sequence", "max_length": 1}`, `[]`} {
		value, _ := reading.Parse([]byte(wrong))
		if space, err := dovetail.DecodeSpace(value); err == nil {
			t.Errorf("%s was read as %v", wrong, space)
		}
	}
}

// TestLargeSamples draws nothing that fits into no message.
func TestLargeSamples(t *testing.T) {
	bits := &dovetail.Sequence{Element: &dovetail.Discrete{N: 2}, MaxLength: 10_000, MinLength: 10_000}
	for _, space := range []dovetail.Space{
		&dovetail.Box{Shape: []int{1 << 40}},
		&dovetail.Box{Shape: slices.Repeat([]int{1}, 10_000)},
		&dovetail.MultiBinary{Shape: []int{1 << 62, 2}},
		&dovetail.Text{MaxLength: 1 << 62, MinLength: 1 << 62},
		&dovetail.Sequence{Element: bits, MaxLength: 10_000, MinLength: 10_000},
		&dovetail.Tuple{Spaces: slices.Repeat([]dovetail.Space{bits}, 1000)},
		&dovetail.Dict{Spaces: map[string]dovetail.Space{"a": &dovetail.Text{MaxLength: 1 << 62, MinLength: 1 << 62}}},
	} {
		if value := space.Sample(dovetail.NewRNG(1)); value != nil {
			t.Errorf("a %T was drawn", value)
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

func TestMembers(t *testing.T) {
	var file struct {
		Members []struct {
			SpaceHex string `json:"space_hex"`
			ValueHex string `json:"value_hex"`
			Space    json.RawMessage
			Value    json.RawMessage
			Member   bool
		}
	}
	vectors(t, "members.json", &file)
	if len(file.Members) < 200 {
		t.Fatalf("only %d values", len(file.Members))
	}
	decoded := func(digits string) any {
		value, err := dovetail.DecodeValue((&vector{Hex: digits}).frame(t))
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
	rng := dovetail.NewRNG(1)
	for _, v := range file.Members {
		space, err := dovetail.DecodeSpace(decoded(v.SpaceHex))
		if err != nil {
			t.Fatalf("%s: %v", v.Space, err)
		}
		if dovetail.Contains(space, decoded(v.ValueHex)) != v.Member {
			t.Errorf("%s in %s: not %v", v.Value, v.Space, v.Member)
		}
		if v.Member {
			if drawn := space.Sample(rng); !dovetail.Contains(space, drawn) {
				t.Errorf("%v was drawn from %s", drawn, v.Space)
			}
		}
	}
}

// TestLargeSpaces takes minutes if a character is sought in all of a charset, or a space is weighed at each level.
func TestLargeSpaces(t *testing.T) {
	var charset []rune
	var letters []string
	for r := rune(0x20000); r < 0x30000; r++ {
		charset, letters = append(charset, r), append(letters, string(r))
	}
	text := &dovetail.Text{MaxLength: 1 << 62, Charset: dovetail.Ptr(string(charset))}
	inside := slices.Repeat([]dovetail.Space{&dovetail.Discrete{N: 1}}, 1_000_000)
	for range 3000 {
		inside = []dovetail.Space{&dovetail.Tuple{Spaces: inside}}
	}
	begun := time.Now()
	inside[0].Sample(dovetail.NewRNG(1))
	if !dovetail.Contains(text, strings.Repeat(string(charset), 30)) ||
		!dovetail.Contains(&dovetail.Sequence{Element: text, MaxLength: 1 << 62}, letters) || time.Since(begun) > 10*time.Second {
		t.Error("took", time.Since(begun))
	}
}

func TestContainsTakesValuesOfGo(t *testing.T) {
	box := &dovetail.Box{Shape: []int{2}, DType: dovetail.Float32, Low: 0.0, High: 0.1}
	if !dovetail.Contains(box, []float64{0, 0.1}) || dovetail.Contains(box, []any{false, 0.1}) ||
		dovetail.Contains(box, make(chan int)) {
		t.Error("a slice of floats, a boolean, or what cannot travel")
	}
}
