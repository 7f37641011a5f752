package state

import "math/bits"

// pool lends pieces of memory and takes them back for reuse. It rounds a
// length up to one of eight lengths between each power of two and the next. So
// a piece can be reused for a job of a somewhat different size, and at most an
// eighth of the piece is unused.
type pool[T ~int32] struct {
	free [8 * 32][][]T
}

// get returns a piece of memory for n numbers, all of them zero.
func (p *pool[T]) get(n int) []T {
	class, size := sizeClass(n)
	// A free piece of memory of one of the next three larger size classes will do:
	// it is larger than needed by half at most.
	for c := class; c < min(class+4, len(p.free)); c++ {
		if k := len(p.free[c]); k > 0 {
			piece := p.free[c][k-1][:n]
			p.free[c] = p.free[c][:k-1]
			clear(piece)
			return piece
		}
	}
	return make([]T, size)[:n]
}

func (p *pool[T]) put(piece []T) {
	if cap(piece) == 0 {
		return
	}
	class, _ := sizeClass(cap(piece))
	p.free[class] = append(p.free[class], piece[:0])
}

// sizeClass returns the size class of the pieces of memory that can hold n
// numbers, and the length of these pieces.
func sizeClass(n int) (class, size int) {
	if n <= 64 {
		return 0, 64
	}
	top := bits.Len(uint(n-1)) - 4 // top is the number of bits that n-1 has below its four highest bits
	steps := (n-1)>>top + 1        // the length of the piece of memory, from 9 to 16, in units of 2^top numbers
	return top*8 + steps - 24, steps << top
}

// reuse takes a value from the list of values that are not used now, or makes
// a new value if the list is empty. The caller clears the value.
func reuse[T any](spare *[]*T) *T {
	last := len(*spare) - 1
	if last < 0 {
		return new(T)
	}
	x := (*spare)[last]
	*spare = (*spare)[:last]
	return x
}

// scratch holds arrays that are needed only while a job is submitted.
type scratch struct {
	racks, rackEnds, at []int32
}

// sized returns a slice of length n in the memory of slice s. If s is too
// small, sized enlarges it. The slice may hold old values.
func sized(s *[]int32, n int) []int32 {
	if cap(*s) < n {
		*s = make([]int32, n+n/2)
	}
	return (*s)[:n]
}
