package state

import "math/bits"

// pool hands out pieces of memory and takes them back. Sizes are rounded up to
// eight steps a doubling, so that pieces fit other jobs too and at most an
// eighth is unused.
type pool[T ~int32] struct {
	free [8 * 32][][]T
}

// get is a cleared piece of length n.
func (p *pool[T]) get(n int) []T {
	class, size := sizeClass(n)
	// A piece of the next classes will do: at most half as large again.
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

// sizeClass is the class of pieces that hold n, and their size.
func sizeClass(n int) (class, size int) {
	if n <= 64 {
		return 0, 64
	}
	top := bits.Len(uint(n-1)) - 4 // keeps the four highest bits
	steps := (n-1)>>top + 1        // 9 to 16
	return top*8 + steps - 24, steps << top
}

// again takes one of those that are to be used again, or makes one.
func again[T any](spare *[]*T) *T {
	last := len(*spare) - 1
	if last < 0 {
		return new(T)
	}
	x := (*spare)[last]
	*spare = (*spare)[:last]
	return x
}

// scratch holds arrays that a submission needs for its own length only.
type scratch struct {
	racks, rackEnds, at []int32
}

// sized is a slice of length n, of s's memory where that is enough.
func sized(s *[]int32, n int) []int32 {
	if cap(*s) < n {
		*s = make([]int32, n+n/2)
	}
	return (*s)[:n]
}
