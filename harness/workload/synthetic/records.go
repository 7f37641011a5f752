package synthetic

// This file knows how many bytes Hadoop counts for a record, and chooses the
// lengths of keys and values accordingly.
//
// A map's output for one reduce is a segment in Hadoop's IFile form. For each
// record it has the lengths of the serialized key and value, then both. A
// serialized Text is its length and its bytes. Lengths are Hadoop's vints. A
// segment ends with two lengths of -1 and a checksum of four bytes.

const (
	recordBytes = 1024  // size of a record, except for the last, which has up to twice as much
	keyBytes    = 12    // length of a key; a record with an odd size has one byte more
	segmentEnd  = 2 + 4 // bytes of a segment without records: end mark and checksum
)

// vintBytes returns the length of Hadoop's vint of a number from 0 to 65535.
func vintBytes(n int) int {
	switch {
	case n < 128:
		return 1
	case n < 256:
		return 2
	}
	return 3
}

// ifileBytes returns the bytes that a record with a key and a value of these
// lengths has in a segment.
func ifileBytes(key, value int) int {
	key += vintBytes(key)
	value += vintBytes(value)
	return vintBytes(key) + key + vintBytes(value) + value
}

// leastRecordBytes is the size of the smallest record in a segment. A map that
// is asked to give less than this and the segment's end gives no record at all.
var leastRecordBytes = ifileBytes(keyBytes, 0)

// recordOf returns the lengths of key and value of a record that has so many
// bytes in a segment.
func recordOf(bytes int) (key, value int) {
	// Where a vint grows by a byte, one size is left out. A longer key gives it.
	for key = keyBytes; ; key++ {
		most := bytes - ifileBytes(key, 0)
		for value = most; value >= 0 && value >= most-4; value-- {
			if ifileBytes(key, value) == bytes {
				return key, value
			}
		}
	}
}

// lengths are the lengths of a number of records: all have recordBytes, but the
// last one differs.
type lengths struct {
	records int64
	last    int
}

func (l lengths) at(i int64) int {
	if i == l.records-1 {
		return l.last
	}
	return recordBytes
}

// cut divides bytes into records, none shorter than least. What is less than
// that is left out.
func cut(bytes int64, least int) lengths {
	if bytes < int64(least) {
		return lengths{}
	}
	n := max(1, bytes/recordBytes)
	return lengths{n, int(bytes - (n-1)*recordBytes)}
}

// segmentBytes returns the length of the segment of a map that is asked to give
// so many bytes to a reduce. This is the same number, with two exceptions. A
// segment has at least six bytes. And it has no more than these if it is asked
// for fewer than 22 bytes, since there is no smaller record.
func segmentBytes(asked int64) int64 {
	if asked < int64(segmentEnd+leastRecordBytes) {
		return segmentEnd
	}
	return asked
}

// hash returns Hadoop's hash of a Text, which continues the hash h of the bytes
// before. The hash of no bytes is 1.
func hash(h uint32, text []byte) uint32 {
	for _, b := range text {
		h = 31*h + uint32(int32(int8(b)))
	}
	return h
}

const (
	suffixBytes = 4  // bytes at a key's end that decide its reduce
	digits      = 31 // as many letters follow 'A' in a suffix, by which the hash can be moved by any number
	maxReduces  = 31 * 31 * 31 * 31
	hashMask    = 1<<31 - 1
)

// Whatever number of reduces a Spec may have, a suffix can reach each of them.
const _ = uint(maxReduces - maxTasks)

// aim sets the last bytes of a key so that Hadoop's HashPartitioner gives its
// record to the given reduce. It reports false if other bytes before are needed.
// The hash counts in base 31, so a suffix of four letters adds any number below
// 31 to the fourth.
func aim(key []byte, reduce, reduces int) bool {
	suffix := key[len(key)-suffixBytes:]
	copy(suffix, "AAAA")
	h := hash(1, key) & hashMask
	add := uint32((reduce - int(h)%reduces + reduces) % reduces)
	if h+add > hashMask {
		return false
	}
	for i := suffixBytes - 1; i >= 0; i-- {
		suffix[i] = 'A' + byte(add%digits)
		add /= digits
	}
	return true
}
