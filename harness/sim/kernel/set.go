package kernel

import "math/bits"

// marks is a set of small numbers, such as indexes of nodes, kept as one bit
// for each number. A second level, with one bit for each 64 numbers, makes the
// search for the next number in the set fast.
type marks struct{ bits, words []uint64 }

func (m *marks) reset(n int) {
	m.bits = resized(m.bits, (n+63)/64)
	m.words = resized(m.words, (len(m.bits)+63)/64)
}

func (m *marks) set(i int32) {
	m.bits[i>>6] |= 1 << (i & 63)
	m.words[i>>12] |= 1 << (i >> 6 & 63)
}

func (m *marks) has(i int32) bool { return m.bits[i>>6]>>(i&63)&1 != 0 }

func (m *marks) clear(i int32) {
	if m.bits[i>>6] &^= 1 << (i & 63); m.bits[i>>6] == 0 {
		m.words[i>>12] &^= 1 << (i >> 6 & 63)
	}
}

// after returns the smallest number in the set that is i or more, or -1 if
// there is none.
func (m *marks) after(i int32) int32 {
	w := i >> 6
	if int(w) >= len(m.bits) {
		return -1
	}
	if x := m.bits[w] >> (i & 63); x != 0 {
		return i + int32(bits.TrailingZeros64(x))
	}
	w++
	for g := w >> 6; int(g) < len(m.words); g++ {
		if x := m.words[g] >> (w & 63); x != 0 {
			w += int32(bits.TrailingZeros64(x))
			return w<<6 + int32(bits.TrailingZeros64(m.bits[w]))
		}
		w = (g + 1) << 6
	}
	return -1
}

// resized returns a slice of n zeroes. It reuses the memory of the slice s if
// this memory is large enough.
func resized[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	s = s[:n]
	clear(s)
	return s
}
