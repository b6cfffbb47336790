package dovetail

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
)

// Derive makes a seed in 0 … 2^63-1 from a master seed and a path of text and integers, the same in every language.
func Derive(master int64, path ...any) int64 {
	var text strings.Builder
	text.WriteString(strconv.FormatInt(master, 10))
	for _, part := range path {
		fmt.Fprintf(&text, "/%v", part)
	}
	sum := sha256.Sum256([]byte(text.String()))
	return int64(binary.BigEndian.Uint64(sum[:8]) >> 1)
}

// NewRNG returns random numbers that depend on the seed only.
func NewRNG(seed int64) *rand.Rand {
	return rand.New(rand.NewPCG(uint64(seed), 0x646f76657461696c))
}
