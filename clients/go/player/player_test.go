package main

import (
	"context"
	"strings"
	"testing"

	"dovetail.example/dovetail"
)

// see returns the observation of a board that is drawn from the top, x the player's own discs.
func see(drawing string) *dovetail.Tensor {
	lines := strings.Fields(drawing)
	rows, columns := len(lines), len(lines[0])
	planes := make([]uint8, 2*rows*columns)
	for i, line := range lines {
		row := rows - 1 - i
		for column, mark := range line {
			switch mark {
			case 'x':
				planes[row*columns+column] = 1
			case 'o':
				planes[(rows+row)*columns+column] = 1
			}
		}
	}
	return dovetail.NewTensor(planes, 2, rows, columns)
}

func decision(observation *dovetail.Tensor, seed int64) *dovetail.Decision {
	d := &dovetail.Decision{
		Seat:        &dovetail.Seat{Spec: &dovetail.Spec{Name: "connect_four"}},
		Observation: observation,
		RNG:         dovetail.NewRNG(seed),
	}
	b, _ := readBoard(observation, 4)
	for column := range b.columns {
		if b.height(column) < b.rows {
			d.Legal = append(d.Legal, int64(column))
		}
	}
	return d
}

func chosen(t *testing.T, observation *dovetail.Tensor, seed int64) int64 {
	t.Helper()
	action, err := (&greedy{connect: 4}).Step(context.Background(), decision(observation, seed))
	if err != nil {
		t.Fatal(err)
	}
	return action.(int64)
}

func TestWinsAndBlocks(t *testing.T) {
	cases := []struct {
		name, drawing string
		want          int64
	}{
		{"wins across", "....... ....... ....... ....... ....... oooxxx.", 6},
		{"wins upwards", "....... ....... ....... x...... xo..... xo.....", 0},
		{"wins upwards diagonally", "....... ....... ....... ..xo... .xoo... xoox..o", 3},
		{"wins downwards diagonally", "....... ....... ....... ...ox.. ...oox. o..xoox", 3},
		{"wins in a gap", "....... ....... ....... ....... ooo.... xx.x...", 2},
		{"wins rather than blocks", "....... ....... ....... ....... xxx.... ooox..o", 3},
		{"blocks across", "....... ....... ....... ....... ....... ooo.x.x", 3},
		{"blocks upwards", "....... ....... ....... ......o x.....o x.....o", 6},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			for seed := range int64(5) {
				got := chosen(t, see(c.drawing), seed)
				if got != c.want {
					t.Errorf("seed %d: column %d instead of %d", seed, got, c.want)
				}
			}
		})
	}
}

func TestNoBlockWhereNoDiscWouldLand(t *testing.T) {
	b, _ := readBoard(see("....... ....... ....... ....... ooo.... xxo...."), 4)
	if value := b.value(3); value > 100 {
		t.Errorf("a disc in column 3 lands below the threat and is worth %v", value)
	}
}

func TestBeginsInTheMiddle(t *testing.T) {
	if got := chosen(t, see("....... ....... ....... ....... ....... ......."), 1); got != 3 {
		t.Errorf("began in column %d", got)
	}
}

func TestTiesAreDrawnBySeed(t *testing.T) {
	empty := see(".... .... .... ....")
	found := map[int64]bool{}
	for seed := range int64(40) {
		got := chosen(t, empty, seed)
		if again := chosen(t, empty, seed); again != got {
			t.Fatalf("seed %d: %d and then %d", seed, got, again)
		}
		found[got] = true
	}
	if len(found) < 2 {
		t.Errorf("all ties went to %v", found)
	}
}

// play lets the greedy player meet a random one and returns 1, 0.5 or 0.
func play(t *testing.T, seed int64) float64 {
	const rows, columns = 6, 7
	discs := [2][rows * columns]uint8{}
	rng := dovetail.NewRNG(seed)
	for move := range rows * columns {
		mover := (move + int(seed)) % 2 // 0 is greedy
		seen := append(append([]uint8{}, discs[mover][:]...), discs[1-mover][:]...)
		observation := dovetail.NewTensor(seen, 2, rows, columns)
		var column int64
		if mover == 0 {
			column = chosen(t, observation, seed*100+int64(move))
		} else {
			d := decision(observation, 0)
			column = d.Legal[rng.IntN(len(d.Legal))]
		}
		b, _ := readBoard(observation, 4)
		row := b.height(int(column))
		if b.completes(row, int(column), mine) {
			return float64(1 - mover)
		}
		discs[mover][row*columns+int(column)] = 1
	}
	return 0.5
}

func TestBeatsRandom(t *testing.T) {
	score, games := 0.0, 200
	for seed := range games {
		score += play(t, int64(seed))
	}
	t.Logf("%v of %d", score, games)
	if score < 0.95*float64(games) {
		t.Errorf("%v of %d points against random", score, games)
	}
}

func TestAfterstates(t *testing.T) {
	cases := []struct {
		name string
		rows *dovetail.Tensor
		want int
	}{
		{"planes", dovetail.NewTensor([]uint8{1, 1, 1, 1, 0, 0, 1, 1, 1, 0, 0, 0}, 3, 2, 1, 2), 2},
		{"a board", dovetail.NewTensor([]uint8{1, 1, 1, 0, 2, 0, 0, 0, 1, 1, 0, 1}, 3, 2, 2), 1},
		{"a vector", dovetail.NewTensor([]float32{0, 1, 1, 1, 1, 0}, 3, 2), 1},
	}
	for _, c := range cases {
		values, err := rankAfterstates(c.rows, 3)
		if err != nil {
			t.Fatal(err)
		}
		best := 0
		for i := range values {
			if values[i] > values[best] {
				best = i
			}
		}
		if best != c.want {
			t.Errorf("%s: %v", c.name, values)
		}
	}
	if _, err := rankAfterstates(nil, 3); err == nil {
		t.Error("no afterstates were ranked")
	}
	if err := (&greedy{}).Init(&dovetail.Seat{Spec: &dovetail.Spec{Name: "x"}}); err == nil {
		t.Error("it took a seat in a game without afterstates")
	}
}
