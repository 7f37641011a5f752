package synthetic

import (
	"testing"

	"pgregory.net/rapid"
)

// TestHash has hashes and partitions that Hadoop 3.4.2's Text.hashCode and
// HashPartitioner gave.
func TestHash(t *testing.T) {
	for _, c := range []struct {
		text      string
		hash      int32
		of3, of1k uint32
	}{
		{"", 1, 1, 1},
		{"a", 128, 2, 128},
		{"heddle", -333677641, 1, 7},
		{"AAAABBBBCCCC", 1014990849, 0, 849},
		{"grün", 127087369, 1, 369},
		{"zzzzzzzzzzzzzzzz", 843814913, 2, 913},
		{"The quick brown fox", 2146807042, 1, 42},
	} {
		h := hash(1, []byte(c.text))
		if int32(h) != c.hash || h&hashMask%3 != c.of3 || h&hashMask%1000 != c.of1k {
			t.Errorf("%q: hash %d, %d of 3, %d of 1000; want %d, %d, %d", c.text, int32(h), h&hashMask%3, h&hashMask%1000, c.hash, c.of3, c.of1k)
		}
	}
}

// TestAim gives keys to any reduce of any number of them.
func TestAim(t *testing.T) {
	words := newText(1, "aim")
	rapid.Check(t, func(t *rapid.T) {
		reduces := rapid.IntRange(1, maxTasks).Draw(t, "reduces")
		reduce := rapid.IntRange(0, reduces-1).Draw(t, "reduce")
		key := make([]byte, rapid.IntRange(keyBytes, keyBytes+1).Draw(t, "length"))
		words.fillKey(key, reduce, reduces)
		if got := int(hash(1, key)&hashMask) % reduces; got != reduce {
			t.Errorf("key %q is of reduce %d, want %d", key, got, reduce)
		}
		for _, b := range key {
			if b < 'A' || b > '_' {
				t.Errorf("key %q has the byte %#x", key, b)
			}
		}
	})
}

// TestRecordSizes finds a key and a value for every size of record that is
// needed.
func TestRecordSizes(t *testing.T) {
	for size := leastRecordBytes; size < 2*recordBytes; size++ {
		key, value := recordOf(size)
		if got := ifileBytes(key, value); got != size || key < keyBytes || key > keyBytes+1 || value < 0 {
			t.Errorf("a record of %d bytes: key of %d and value of %d have %d", size, key, value, got)
		}
	}
}

// TestCut has records of the sum asked for, each of a size that can be made.
func TestCut(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		bytes := rapid.OneOf(rapid.Int64Range(0, 5000), rapid.Int64Range(0, maxValue)).Draw(t, "bytes")
		l := cut(bytes, leastRecordBytes)
		sum := int64(l.last)
		if l.records > 0 {
			sum += (l.records - 1) * recordBytes
		}
		switch {
		case bytes < int64(leastRecordBytes):
			if l.records != 0 {
				t.Errorf("%d bytes are %d records", bytes, l.records)
			}
		case sum != bytes || l.last < leastRecordBytes || l.last >= 2*recordBytes:
			t.Errorf("%d bytes are %d records of %d bytes, the last of %d", bytes, l.records, sum, l.last)
		}
	})
}
