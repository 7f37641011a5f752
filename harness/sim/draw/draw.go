// Package draw gives random numbers by name instead of by place in a sequence:
// the number for (seed, stream, job, task, attempt) is the same whatever else
// was drawn before it. Two schedulers replayed on one seed then see the same
// replicas, durations and failures, however they reorder the work (common
// random numbers).
//
// It leaves out distributions: a draw is 64 bits, a number below n, or a
// fraction.
package draw

import "math/bits"

// Key names a random number, and all numbers named after it with At.
type Key uint64

// Stream is the key of all draws for one purpose, such as "replicas". It reads
// the whole name: where draws are many, keep it.
func Stream(seed uint64, name string) Key {
	hash := uint64(14695981039346656037) // FNV-1a
	for i := range len(name) {
		hash = (hash ^ uint64(name[i])) * 1099511628211
	}
	return Key(seed).At(hash)
}

// At is the key named i under k: the number i of the SplitMix64 sequence that k
// seeds (Steele, Lea, Flood, "Fast splittable pseudorandom number generators",
// OOPSLA 2014, with Stafford's variant 13 as its mix).
func (k Key) At(i uint64) Key { return Key(mix(uint64(k) + (i+1)*golden)) }

// Below is a number from 0 to n-1, each as likely but for one part in 2^64/n.
// n must be above 0.
func (k Key) Below(n int) int {
	high, _ := bits.Mul64(uint64(k), uint64(n))
	return int(high)
}

// Fraction is a number in [0, 1), a multiple of 2^-53.
func (k Key) Fraction() float64 { return float64(k>>11) / (1 << 53) }

const golden = 0x9e3779b97f4a7c15

func mix(z uint64) uint64 {
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}
