// Package draw gives random numbers by name instead of by position in a
// sequence. The number for (seed, stream, job, task, attempt) does not depend
// on what was drawn before. So two schedulers that are simulated with the same
// seed see the same replicas, durations and failures, in whatever order they
// run the tasks (common random numbers).
//
// The package has no distributions. A draw gives 64 random bits, a whole
// number below n, or a fraction from 0 to 1.
package draw

import "math/bits"

// Key names a random number. Its method At derives the keys of further random
// numbers.
type Key uint64

// Stream returns the key for all random numbers of one purpose, such as
// "replicas". Each call hashes the name, so keep the key if you draw many
// numbers with it.
func Stream(seed uint64, name string) Key {
	hash := uint64(14695981039346656037) // start value of the FNV-1a hash of the name
	for i := range len(name) {
		hash = (hash ^ uint64(name[i])) * 1099511628211
	}
	return Key(seed).At(hash)
}

// At returns the i-th key derived from k. It is number i of the SplitMix64
// sequence with seed k (Steele, Lea, Flood, "Fast splittable pseudorandom
// number generators", OOPSLA 2014, with Stafford's variant 13 as the mixing
// function).
func (k Key) At(i uint64) Key { return Key(mix(uint64(k) + (i+1)*golden)) }

// Below returns a random number from 0 to n-1. The numbers are equally
// probable, up to a relative error of n/2^64. n must be above 0.
func (k Key) Below(n int) int {
	high, _ := bits.Mul64(uint64(k), uint64(n))
	return int(high)
}

// Fraction returns a random number in [0, 1), a multiple of 2^-53.
func (k Key) Fraction() float64 { return float64(k>>11) / (1 << 53) }

const golden = 0x9e3779b97f4a7c15

func mix(z uint64) uint64 {
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// Exponential draws from an exponential distribution of mean 1, as a sum of
// fractions that does without logarithms (von Neumann, 1951).
func (k Key) Exponential() float64 {
	for whole := uint64(0); ; whole++ {
		of := k.At(whole)
		first := of.At(0).Fraction()
		n, last := uint64(1), first
		for {
			next := of.At(n).Fraction()
			if next >= last {
				break
			}
			n, last = n+1, next
		}
		if n%2 == 1 {
			return float64(whole) + first
		}
	}
}

// Normal draws from nearly the normal distribution of mean 0 and standard deviation 1, as
// the sum of twelve fractions. It is never beyond 6.
func (k Key) Normal() float64 {
	sum := -6.
	for i := range uint64(12) {
		sum += k.At(i).Fraction()
	}
	return sum
}
