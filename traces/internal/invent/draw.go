// Package invent makes what is made up: numbers that have a name instead of a
// place in a sequence. A draw depends on the seed and its name alone, so it is
// the same in whatever order, and by whichever program, it is made.
package invent

import (
	"math/bits"

	"heddle/traces"
)

// Stream separates quantities that are drawn for the same task.
type Stream uint64

// Named is the stream of a quantity's name.
func Named(name string) Stream { return Stream(traces.HashName(name)) }

// Of draws 64 bits for part i of a thing (a job's or a file's HashName). It
// chains the finalizer of splitmix64.
func (s Stream) Of(seed, thing, i uint64) uint64 {
	return mix(mix(mix(mix(seed)^uint64(s))^thing) ^ i)
}

// Below draws evenly from 0 to n-1; n is over 0.
func (s Stream) Below(n int, seed, thing, i uint64) int {
	high, _ := bits.Mul64(s.Of(seed, thing, i), uint64(n))
	return int(high)
}

func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
