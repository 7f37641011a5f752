// Package invent makes up nodes and replicas for traces that have none.
//
// Its random numbers do not come from a sequence. Each one is computed from the
// seed and the name of what it is for, so that it does not depend on the order in
// which an import needs the numbers. FORMAT.md has the formula.
package invent

import (
	"math/bits"

	"heddle/traces"
)

// draw returns 64 random bits for a quantity ("replica 1") of part i of a thing,
// which is the HashName of a job or file.
func draw(quantity string, seed, thing, i uint64) uint64 {
	return traces.Mix(traces.Mix(traces.Mix(traces.Mix(seed)^traces.HashName(quantity))^thing) ^ i)
}

// below turns random bits into a number from 0 to n-1; n must be positive.
func below(n int, drawn uint64) int {
	high, _ := bits.Mul64(drawn, uint64(n))
	return int(high)
}
