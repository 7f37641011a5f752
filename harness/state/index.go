package state

import "math/bits"

// index finds the waiting maps of one job by a key: a node or rack that has
// their input. For each key there is a list of maps, in ascending order of
// their numbers, and a cursor, which is a position in the list. No map before
// the cursor waits. All lists lie in one array, and the last entry of each
// list has its sign bit set. A negative cursor, ^i, marks a list that ends
// before entry i and has no waiting map left.
//
// Starting a map does not change the index: the next search moves the cursor
// past the map. So each entry of a list is passed once, unless its map waits
// again.
type index struct {
	cursors table
	tasks   []int32
	lists   int32
}

const lastOfList = -1 << 31

func taskOf(entry int32) int32 { return entry &^ lastOfList }

// first returns the lowest-numbered waiting map in the list of a key (node or
// rack), or None if there is none.
func (x *index) first(key int32, waiting []int32) TaskID {
	at := x.cursors.find(key)
	if at < 0 {
		return None
	}
	i := x.cursors.slots[at+1]
	if i < 0 {
		return None
	}
	for from := i; ; i++ {
		e := x.tasks[i]
		if t := taskOf(e); isSet(waiting, t) {
			if i != from {
				x.cursors.slots[at+1] = i
			}
			return TaskID(t)
		}
		if e < 0 {
			x.cursors.slots[at+1] = ^(i + 1)
			return None
		}
	}
}

// each calls yield with the waiting maps in the list of a key (node or rack),
// in ascending order of their numbers, until yield returns false.
func (x *index) each(key int32, waiting []int32, yield func(TaskID) bool) {
	at := x.cursors.find(key)
	if at < 0 || x.cursors.slots[at+1] < 0 {
		return
	}
	for i := x.cursors.slots[at+1]; ; i++ {
		e := x.tasks[i]
		if t := taskOf(e); isSet(waiting, t) && !yield(TaskID(t)) || e < 0 {
			return
		}
	}
}

// rewind moves the cursor in the list of a key (node or rack) back to map t,
// because the map waits again. It takes one step for each entry between the
// old and the new position.
func (x *index) rewind(key, t int32) {
	at := x.cursors.find(key)
	if at < 0 {
		return
	}
	i := x.cursors.slots[at+1]
	if i < 0 {
		i = ^i - 1
	}
	for taskOf(x.tasks[i]) > t && i > 0 && x.tasks[i-1] >= 0 {
		i--
	}
	if taskOf(x.tasks[i]) == t {
		x.cursors.slots[at+1] = i
	}
}

// build fills the index x, which finds maps by a key (a node or rack with
// their input). The keys of map i are keys[ends[i-1]:ends[i]]. The caller
// gives x an empty hash table that is large enough, and an array x.tasks as
// long as keys. The parameter at is temporary memory as long as keys.
func build[K ~int32](x *index, keys []K, ends, at []int32) {
	slots := x.cursors.slots
	for i, key := range keys { // count the maps of each key (node or rack with their input)
		at[i] = x.cursors.insert(int32(key))
		slots[at[i]+1]++
	}
	sum := int32(0)
	// turn the number of maps of each key (node or rack) into the position where the key's list of maps starts
	for i := 0; i < len(slots); i += 2 {
		slots[i+1], sum = sum, sum+slots[i+1]
	}
	i := 0
	for t, end := range ends {
		for ; i < int(end); i++ {
			next := &slots[at[i]+1]
			x.tasks[*next] = int32(t)
			*next++
		}
	}
	start := int32(0)
	// the loop above has moved the start position of each key's list to the list's end: move this position back
	for i := 0; i < len(slots); i += 2 {
		if slots[i] != 0 {
			end := slots[i+1]
			x.tasks[end-1] |= lastOfList
			slots[i+1], start = start, end
			x.lists++
		}
	}
}

// table is a hash table from a key (the number of a node or rack, 0 or more)
// to another number, with open addressing. Its slots are pairs of (key+1,
// number), and the number of pairs is a power of two. If there is a pair for
// every possible key, no hash is needed: the key is the position of its pair.
type table struct {
	slots []int32
	shift uint8 // shift of the hash function; 0 means that no hash is used: the key itself is the position in the hash table
}

// tableSize returns how long the slice slots of a hash table must be for up to
// n keys. The parameter all is the number of possible keys.
func tableSize(n, all int) int {
	if n == 0 {
		return 0
	}
	if n >= all {
		return 2 * ceilPower(all)
	}
	return 2 * min(ceilPower(n+n/3+1), ceilPower(all))
}

// reset makes t an empty hash table that uses the memory in the parameter
// slots, which must be all zero. The parameter all is the number of possible
// keys.
func (t *table) reset(slots []int32, all int) {
	t.slots, t.shift = slots, 0
	if pairs := len(slots) / 2; pairs < all {
		t.shift = uint8(33 - bits.Len32(uint32(pairs)))
	}
}

// find returns the position in the hash table's slots of the pair (key,
// number) with the given key, or -1 if the table does not have the key.
func (t *table) find(key int32) int32 {
	mask := int32(len(t.slots) - 1)
	at := t.place(key)
	if at > mask { // the hash table is empty, or the key did not exist when the table was made and so is not in it
		return -1
	}
	for ; ; at = (at + 2) & mask {
		switch t.slots[at] {
		case key + 1:
			return at
		case 0:
			return -1
		}
	}
}

// insert returns the position in the hash table's slots of the pair (key,
// number) with the given key. If the table does not have the key, insert adds
// a pair with number 0. The table must have room for this pair.
func (t *table) insert(key int32) int32 {
	mask := int32(len(t.slots) - 1)
	for at := t.place(key); ; at = (at + 2) & mask {
		switch t.slots[at] {
		case 0:
			t.slots[at] = key + 1
			return at
		case key + 1:
			return at
		}
	}
}

func (t *table) place(key int32) int32 {
	if t.shift == 0 {
		return 2 * key
	}
	return int32(uint32(key)*2654435769>>t.shift) << 1
}

func ceilPower(n int) int {
	if n <= 1 {
		return 1
	}
	return 1 << bits.Len(uint(n-1))
}

// The functions below treat a slice of 32-bit words as a set of tasks, one bit
// for each task. The words are int32 so that a set can share memory with a
// job's other arrays.

func words(n int32) int { return int(n+31) / 32 }

func isSet(set []int32, t int32) bool { return uint32(set[t>>5])>>(t&31)&1 != 0 }

func setBit(set []int32, t int32) { set[t>>5] |= 1 << (t & 31) }

func clearBit(set []int32, t int32) { set[t>>5] &^= 1 << (t & 31) }

// firstSet returns the lowest task in a set of tasks, or None if the set is
// empty. The set is a list of words with one bit for each task. The search
// begins at word *from, since the words before have no bit set, and moves
// *from to the word of the task found, so that the next search begins there.
func firstSet(set []int32, from *int32) TaskID {
	for w := *from; int(w) < len(set); w++ {
		if set[w] != 0 {
			*from = w
			return TaskID(w<<5 + int32(bits.TrailingZeros32(uint32(set[w]))))
		}
	}
	*from = int32(len(set))
	return None
}

// lastSet returns the highest task number in a set of tasks. The set must not
// be empty.
func lastSet(set []int32) int32 {
	w := len(set) - 1
	for set[w] == 0 {
		w--
	}
	return int32(w<<5 + bits.Len32(uint32(set[w])) - 1)
}

// nthSet returns the task in a set of tasks that has n lower-numbered tasks of
// the set before it, or None if there is none.
func nthSet(set []int32, n int32) TaskID {
	for w, word := range set {
		in := int32(bits.OnesCount32(uint32(word)))
		if n >= in {
			n -= in
			continue
		}
		x := uint32(word)
		for ; n > 0; n-- {
			x &= x - 1
		}
		return TaskID(w<<5 + bits.TrailingZeros32(x))
	}
	return None
}
