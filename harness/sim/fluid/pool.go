package fluid

import "math/bits"

// pool holds small lists in one array, so that a list costs no memory of its own
// while it is empty, and lists in use stay together.
type pool[T any] struct {
	memory []T
	spare  [32][]block // by size class: blocks that no list uses
}

// block is the memory of a list: in the lower 5 bits the size class k, for 4 * 2^k
// elements, and above them where it begins, in units of 4 elements. 0 is no block.
type block uint32

const unit = 4

// of returns all elements of a block. The slice is valid until the next call of room.
func (p *pool[T]) of(b block) []T {
	from := int(b>>5) * unit
	return p.memory[from : from+unit<<(b&31)]
}

// room returns a block for n elements: b itself if it is large enough, otherwise
// another one with the elements of b, which is freed.
func (p *pool[T]) room(b block, n int) block {
	if b != 0 && n <= unit<<(b&31) {
		return b
	}
	class := bits.Len(uint(n-1) / unit)
	var to block
	if k := len(p.spare[class]); k > 0 {
		to = p.spare[class][k-1]
		p.spare[class] = p.spare[class][:k-1]
	} else {
		if len(p.memory) == 0 {
			p.memory = make([]T, unit) // no block begins at 0
		}
		to = block(len(p.memory)/unit)<<5 | block(class)
		p.memory = append(p.memory, make([]T, unit<<class)...)
	}
	if b != 0 {
		copy(p.of(to), p.of(b))
		p.free(b)
	}
	return to
}

// free makes a block available to other lists, and returns no block.
func (p *pool[T]) free(b block) block {
	p.spare[b&31] = append(p.spare[b&31], b)
	return 0
}
