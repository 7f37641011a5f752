// Package invent makes up nodes and replicas for traces of tools that do not
// record them.
//
// Each random number is a hash of the seed and of a name for its purpose, such
// as "replica 1" of a block. So the numbers do not depend on the order in which
// an import needs them. FORMAT.md has the formula.
package invent

import (
	"math/bits"

	"heddle/traces"
)

// draw returns 64 random bits. The argument quantity says what the bits are
// for, such as "replica 1". The argument thing is the hash (HashName) of the
// name of a job or file; i is the number of a task in the job or of a block in
// the file.
func draw(quantity string, seed, thing, i uint64) uint64 {
	return traces.Mix(traces.Mix(traces.Mix(traces.Mix(seed)^traces.HashName(quantity))^thing) ^ i)
}

// The function below turns 64 random bits into a number from 0 to n-1. n must
// be positive.
func below(n int, drawn uint64) int {
	high, _ := bits.Mul64(drawn, uint64(n))
	return int(high)
}
