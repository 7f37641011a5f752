package schedtest

import (
	"bytes"
	"slices"

	"pgregory.net/rapid"

	"heddle/harness/sched"
)

// keepsState has a model learn from random events. A new model that is given its
// state must have the same one. Bytes that are not its state are refused, and
// change nothing.
func keepsState(t *rapid.T, p sched.Params, model func(*rapid.T) sched.Model) {
	m := model(t)
	keepsRules(t, NewWorld(t, m))
	file := stateOf(t, m, p)
	again := model(t)
	if err := sched.LoadState(again, file); err != nil {
		t.Fatalf("the state that it saved is refused: %v", err)
	}
	if got := stateOf(t, again, p); !bytes.Equal(got, file) {
		t.Fatalf("saved again, the state differs:\n%s\n%s", file, got)
	}
	learner, _ := sched.As[sched.Learner](again)
	for _, table := range learner.Learnt() {
		for _, row := range table.Rows {
			if len(row) != len(table.Columns) {
				t.Fatalf("table %q has a row of %d cells and %d columns", table.Title, len(row), len(table.Columns))
			}
		}
	}
	damaged := slices.Clone(file)
	damaged[rapid.IntRange(0, len(file)-2).Draw(t, "at")] ^= byte(rapid.IntRange(1, 255).Draw(t, "bits"))
	for what, data := range map[string][]byte{"damaged": damaged, "cut off": file[:rapid.IntRange(0, len(file)-2).Draw(t, "length")]} {
		if err := sched.LoadState(again, data); err == nil && !sameState(t, data, file) {
			t.Fatalf("a %s state is accepted:\n%s", what, data)
		}
	}
	s, err := sched.ReadState(file)
	if err != nil {
		t.Fatal(err)
	}
	hostile := slices.Clone(s.Learnt)
	for range rapid.IntRange(1, 4).Draw(t, "changes") {
		at := rapid.IntRange(0, len(hostile)-1).Draw(t, "at")
		hostile = slices.Replace(hostile, at, at+1, rapid.SliceOfN(rapid.Byte(), 0, 4).Draw(t, "bytes")...)
		if len(hostile) == 0 {
			break
		}
	}
	if err := learner.Load(hostile); err != nil {
		if got := stateOf(t, again, p); !bytes.Equal(got, file) {
			t.Fatalf("it refused %q, and its state is another", hostile)
		}
	}
	stateOf(t, again, p)
	learner.Learnt()
}

// sameState reports whether two files differ only in what JSON does not tell apart.
func sameState(t *rapid.T, a, b []byte) bool {
	x, err := sched.ReadState(a)
	y, yerr := sched.ReadState(b)
	if err != nil || yerr != nil {
		t.Fatal(err, yerr)
	}
	return x.Sum == y.Sum && bytes.Equal(x.Learnt, y.Learnt)
}

func stateOf(t *rapid.T, m sched.Model, p sched.Params) []byte {
	data, err := sched.SaveState(m, p)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
