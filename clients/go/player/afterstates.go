package main

import (
	"fmt"

	"dovetail.example/dovetail"
)

// rankAfterstates says how good the rows of afterstates are, by their shape alone, as far as that can be said of a
// game that one does not know:
//
//   - planes, shape (n ≥ 2, rows, columns): what the seat has (plane 0) less what its opponent has (plane 1), and if
//     that is equal the free squares beside its pieces less those beside its opponent's, as in Amazons;
//   - a board, shape (rows, columns): how many squares are free, as after merging in 2048 and clearing in Tetris;
//   - a vector: the sum, as of boxes completed and the right to move again in dots and boxes.
func rankAfterstates(afterstates any, actions int) ([]float64, error) {
	t, ok := afterstates.(*dovetail.Tensor)
	if !ok || len(t.Shape) == 0 || t.Shape[0] != actions {
		return nil, fmt.Errorf("greedy-go needs one afterstate for each of %d legal actions, as a tensor", actions)
	}
	values := make([]float64, actions)
	if actions == 0 {
		return values, nil
	}
	size := t.Len() / actions
	for i := range values {
		values[i] = rank(t, i*size, size)
	}
	return values, nil
}

func rank(t *dovetail.Tensor, from, size int) float64 {
	value := 0.0
	switch {
	case len(t.Shape) == 4 && t.Shape[1] >= 2:
		plane := size / t.Shape[1]
		for i := range plane {
			value += t.Float(from+i) - t.Float(from+plane+i)
		}
		value += float64(room(t, from, plane, 0)-room(t, from, plane, 1)) / float64(16*plane)
	case len(t.Shape) == 3:
		for i := range size {
			if t.Float(from+i) == 0 {
				value++
			}
		}
	default:
		for i := range size {
			value += t.Float(from + i)
		}
	}
	return value
}

// room counts the free squares beside the pieces of a plane, once for each piece.
func room(t *dovetail.Tensor, from, plane, owner int) int {
	planes, rows, columns := t.Shape[1], t.Shape[2], t.Shape[3]
	isFree := func(row, column int) bool {
		if row < 0 || row >= rows || column < 0 || column >= columns {
			return false
		}
		for p := range planes {
			if t.Float(from+p*plane+row*columns+column) != 0 {
				return false
			}
		}
		return true
	}
	count := 0
	for square := range plane {
		if t.Float(from+owner*plane+square) == 0 {
			continue
		}
		for i := range 9 {
			if isFree(square/columns+i/3-1, square%columns+i%3-1) {
				count++
			}
		}
	}
	return count
}
