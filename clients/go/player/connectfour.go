package main

import (
	"math"

	"dovetail.example/dovetail"
)

// Connect Four is observed as uint8, shape (2, rows, columns), row 0 at the bottom: the own discs, then the
// opponent's. Actions are columns.

const (
	free = iota
	mine
	theirs
)

type board struct {
	rows, columns, connect int
	squares                []byte // row by row from the bottom
}

func isConnectFour(spec *dovetail.Spec) bool {
	return spec.Name == "connect_four" || spec.Name == "connect-four"
}

func readBoard(observation any, connect int) (*board, bool) {
	t, ok := observation.(*dovetail.Tensor)
	if !ok || len(t.Shape) != 3 || t.Shape[0] != 2 {
		return nil, false
	}
	b := &board{rows: t.Shape[1], columns: t.Shape[2], connect: connect}
	size := b.rows * b.columns
	b.squares = make([]byte, size)
	for i := range size {
		switch {
		case t.Int(i) != 0:
			b.squares[i] = mine
		case t.Int(size+i) != 0:
			b.squares[i] = theirs
		}
	}
	return b, true
}

// height returns the row on which a disc would land.
func (b *board) height(column int) int {
	for row := range b.rows {
		if b.squares[row*b.columns+column] == free {
			return row
		}
	}
	return b.rows
}

// value is infinite for a move that wins, huge for one that blocks, and else how many lines are open to the disc.
func (b *board) value(column int) float64 {
	if column < 0 || column >= b.columns {
		return math.Inf(-1)
	}
	row := b.height(column)
	if row == b.rows {
		return math.Inf(-1)
	}
	if b.completes(row, column, mine) {
		return math.Inf(1)
	}
	if b.completes(row, column, theirs) {
		return math.MaxFloat64
	}
	return float64(b.open(row, column))
}

var directions = [4][2]int{{0, 1}, {1, 0}, {1, 1}, {1, -1}}

// at returns what is on a square; false beyond the edge.
func (b *board) at(row, column int) (byte, bool) {
	if row < 0 || row >= b.rows || column < 0 || column >= b.columns {
		return 0, false
	}
	return b.squares[row*b.columns+column], true
}

// completes says whether a disc of an owner on a free square makes a full line.
func (b *board) completes(row, column int, owner byte) bool {
	for _, d := range directions {
		length := 1
		for _, sign := range [2]int{1, -1} {
			for k := 1; ; k++ {
				square, on := b.at(row+sign*k*d[0], column+sign*k*d[1])
				if !on || square != owner {
					break
				}
				length++
			}
		}
		if length >= b.connect {
			return true
		}
	}
	return false
}

// open counts the lines through a square that the opponent has not closed, each once and once more for every own
// disc that is in it already.
func (b *board) open(row, column int) int {
	count := 0
	for _, d := range directions {
		for back := range b.connect {
			worth := 1
			for k := range b.connect {
				square, on := b.at(row+(k-back)*d[0], column+(k-back)*d[1])
				if !on || square == theirs {
					worth = 0
					break
				}
				if square == mine {
					worth++
				}
			}
			count += worth
		}
	}
	return count
}
