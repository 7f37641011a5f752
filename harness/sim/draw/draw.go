// Package draw gives random numbers by name instead of by position in a
// sequence. The number for (seed, stream, job, task, attempt) does not depend
// on what else was drawn before. So two schedulers replayed with one seed see
// the same replicas, durations and failures, in whatever order they run the
// tasks (common random numbers).
//
// It has no distributions: a draw is 64 bits, a number below n, or a fraction.
package draw

import "math/bits"

// Key names a random number, and all the numbers named from it with At.
type Key uint64

// Stream returns the key of all draws for one purpose, such as "replicas". It
// hashes the name: keep the key if draws are many.
func Stream(seed uint64, name string) Key {
	hash := uint64(14695981039346656037) // FNV-1a
	for i := range len(name) {
		hash = (hash ^ uint64(name[i])) * 1099511628211
	}
	return Key(seed).At(hash)
}

// At returns the key named i under k. It is the number i of the SplitMix64
// sequence with seed k (Steele, Lea, Flood, "Fast splittable pseudorandom
// number generators", OOPSLA 2014, with Stafford's variant 13 as its mix).
func (k Key) At(i uint64) Key { return Key(mix(uint64(k) + (i+1)*golden)) }

// Below returns a number from 0 to n-1, with equal probabilities up to one part
// in 2^64/n. n must be above 0.
func (k Key) Below(n int) int {
	high, _ := bits.Mul64(uint64(k), uint64(n))
	return int(high)
}

// Fraction returns a number in [0, 1), a multiple of 2^-53.
func (k Key) Fraction() float64 { return float64(k>>11) / (1 << 53) }

const golden = 0x9e3779b97f4a7c15

func mix(z uint64) uint64 {
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}
