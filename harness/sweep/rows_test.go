package sweep

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"heddle/harness/measure"
	"heddle/harness/results"
)

// aPlan returns a plan of so many replays, which are none of any trace.
func aPlan(n int) *Plan {
	p := &Plan{}
	for i := range n {
		p.Replays = append(p.Replays, Replay{Key: fmt.Sprint("key", i), Repeat: i + 1})
	}
	return p
}

func trialOfMs(ms int64) results.Trial {
	return results.Trial{Name: "a trial", MakespanMs: ms, Figures: &measure.Figures{}}
}

func rowOf(t *rapid.T, key string, makespanMs int) (Row, []byte) {
	r := must(newRow(key, trialOfMs(int64(makespanMs))))
	line := must(r.line())
	return r, line
}

// TestRowsOnce writes the rows of a plan in any order, some more than once, and cuts the
// file off anywhere or spoils a byte of it. Every whole line counts once, and what is left
// to do is what has no whole line. With these done, the digest is that of an undisturbed run.
func TestRowsOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := aPlan(rapid.IntRange(1, 12).Draw(t, "replays"))
		whole := newRows()
		lines := map[string][]byte{}
		for i, r := range p.Replays {
			row, line := rowOf(t, r.Key, i)
			lines[r.Key] = line
			if isNew, err := whole.Add(row); err != nil || !isNew {
				t.Fatalf("a first row: new %v, %v", isNew, err)
			}
		}
		var file []byte
		written := rapid.SliceOfN(rapid.IntRange(0, len(p.Replays)-1), 0, 30).Draw(t, "written")
		ends := map[int]string{} // the end of each line, and whose it is
		for _, i := range written {
			file = append(file, lines[p.Replays[i].Key]...)
			ends[len(file)] = p.Replays[i].Key
		}
		cut := rapid.IntRange(0, len(file)).Draw(t, "cut")
		got := newRows()
		if err := got.Read(bytes.NewReader(file[:cut])); err != nil {
			t.Fatal(err)
		}
		want := map[string]bool{}
		for end, key := range ends {
			if end <= cut+1 { // a line that lacks its end alone is whole
				want[key] = true
			}
		}
		if n := len(got.byKey); n != len(want) || len(got.Todo(p)) != len(p.Replays)-len(want) {
			t.Fatalf("%d rows and %d to do of a file cut at %d of %d, want %d and %d", n, len(got.Todo(p)), cut, len(file), len(want),
				len(p.Replays)-len(want))
		}
		for _, r := range got.Todo(p) {
			if err := got.Read(bytes.NewReader(lines[r.Key])); err != nil {
				t.Fatal(err)
			}
		}
		if got.Digest(p) != whole.Digest(p) {
			t.Fatalf("digest %s after a cut, %s without", got.Digest(p), whole.Digest(p))
		}
	})
}

// A row with a byte that changed is not believed, and no other row is lost but the one on
// the same line.
func TestRowsSpoilt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := aPlan(3)
		var file []byte
		for i, r := range p.Replays {
			_, line := rowOf(t, r.Key, i)
			file = append(file, line...)
		}
		at := rapid.IntRange(0, len(file)-1).Draw(t, "at")
		file[at] ^= byte(1 << rapid.IntRange(0, 6).Draw(t, "bit"))
		got := newRows()
		if err := got.Read(bytes.NewReader(file)); err != nil {
			t.Fatal(err)
		}
		for i, r := range p.Replays {
			row, _ := rowOf(t, r.Key, i)
			if have, ok := got.byKey[r.Key]; ok && have.SHA256 != row.SHA256 {
				t.Fatalf("replay %s has another result than it was written with", r.Key)
			}
		}
		if len(got.byKey) < 1 {
			t.Fatalf("one byte lost %d of 3 rows", 3-len(got.byKey))
		}
	})
}

func TestRowsUnlike(t *testing.T) {
	rows := newRows()
	rapid.Check(t, func(t *rapid.T) {
		a, _ := rowOf(t, "key0", 1)
		b, _ := rowOf(t, "key0", 2)
		must(rows.Add(a))
		if _, err := rows.Add(b); !errors.Is(err, errUnlike) {
			t.Fatalf("two results of one replay: %v, want errUnlike", err)
		}
	})
}

// The digest is of results in the plan's order, not in the order in which they came.
func TestDigestOfOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := aPlan(8)
		a, b := newRows(), newRows()
		order := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0)).Perm(8)
		for i := range order {
			x, _ := rowOf(t, p.Replays[i].Key, i)
			y, _ := rowOf(t, p.Replays[order[i]].Key, order[i])
			must(a.Add(x))
			must(b.Add(y))
		}
		if a.Digest(p) != b.Digest(p) {
			t.Fatal("another order gives another digest")
		}
		other := newRows()
		for i, r := range p.Replays {
			x, _ := rowOf(t, r.Key, i+1)
			must(other.Add(x))
		}
		if a.Digest(p) == other.Digest(p) {
			t.Fatal("other results give the same digest")
		}
	})
}

func FuzzParseRow(f *testing.F) {
	f.Add([]byte(`{"key":"a","sha256":"b","trial":{}}`))
	f.Add([]byte(`{"key":"a"`))
	f.Fuzz(func(t *testing.T, line []byte) {
		r, err := parseRow(line)
		if err == nil && (r.Key == "" || r.SHA256 != digest([]byte(r.Key), r.Trial)) {
			t.Errorf("%q is taken for a row, and has no key or another digest", line)
		}
	})
}
