// Package invent makes up what a trace of another tool lacks: nodes and replicas.
// A draw has a name instead of a place in a sequence. It depends on the seed and
// its name alone, so it is the same in whatever order, and by whichever program,
// it is made.
package invent

import (
	"math/bits"

	"heddle/traces"
)

// draw draws 64 bits of a quantity for part i of a thing (a job's or a file's
// HashName).
func draw(quantity string, seed, thing, i uint64) uint64 {
	return traces.Mix(traces.Mix(traces.Mix(traces.Mix(seed)^traces.HashName(quantity))^thing) ^ i)
}

// below makes of a draw a number from 0 to n-1, all as likely; n is over 0.
func below(n int, drawn uint64) int {
	high, _ := bits.Mul64(drawn, uint64(n))
	return int(high)
}
