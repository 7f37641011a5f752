package kernel

import (
	"testing"

	"pgregory.net/rapid"
)

// A set has what was put into it and not taken out since, and finds the next.
func TestMarks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.SampledFrom([]int{1, 63, 64, 65, 4096, 4097, 9000}).Draw(t, "n")
		var m marks
		m.reset(n)
		want := make([]bool, n)
		for range rapid.IntRange(0, 60).Draw(t, "steps") {
			i := rapid.Int32Range(0, int32(n)-1).Draw(t, "i")
			if want[i] = rapid.Bool().Draw(t, "set"); want[i] {
				m.set(i)
			} else {
				m.clear(i)
			}
			if from := rapid.Int32Range(0, int32(n)+100).Draw(t, "from"); m.after(from) != next(want, from) || m.has(i) != want[i] {
				t.Fatalf("after %d is %d, want %d; %d is in it: %t, want %t", from, m.after(from), next(want, from), i, m.has(i), want[i])
			}
		}
	})
}

func next(list []bool, from int32) int32 {
	for i := from; int(i) < len(list); i++ {
		if list[i] {
			return i
		}
	}
	return -1
}
