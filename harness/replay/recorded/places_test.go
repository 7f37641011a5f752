package recorded

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"heddle/traces"
	"heddle/traces/errtest"
)

// TestTaskList: tasks are found by their numbers, in any order and however far apart
// they are, and memory follows the number of tasks.
func TestTaskList(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var list taskList
		seen := map[int32]int{}
		for range rapid.IntRange(0, 200).Draw(t, "tasks") {
			number := rapid.OneOf(rapid.Int32Range(0, 300), rapid.Int32Range(0, 16<<20)).Draw(t, "task")
			seen[number]++
			list.task(number, 16<<20+1).LengthBytes++
		}
		for _, number := range slices.Sorted(maps.Keys(seen)) {
			if x := list.task(number, 16<<20+1); x.Index != number || x.LengthBytes != int64(seen[number]) {
				t.Fatalf("task %d was named %d times, not %d: it is number %d", number, seen[number], x.LengthBytes, x.Index)
			}
		}
		if len(list.tasks) != len(seen) || len(list.dense) > 2*len(seen)+9 || cap(list.tasks) > 2*len(seen)+32 {
			t.Fatalf("%d tasks, room for %d and %d places, for %d tasks", len(list.tasks), cap(list.tasks), len(list.dense), len(seen))
		}
	})
}

// TestAttempts: starts and ends of attempts come in any order, of several attempts of a
// task at a time and of tasks that no job has. Each end belongs to the last start of its
// attempt that had none, as a plain map of the running attempts has it.
func TestAttempts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		type ran struct {
			Attempt    traces.Attempt
			Start, End traces.Time
		}
		events := []traces.Event{&traces.JobSubmitted{Job: "a", Maps: 2, Reduces: 1}}
		var want []ran
		running := map[traces.Attempt]int{}
		lives := map[traces.Task][]life{}
		for at := range traces.Time(rapid.IntRange(0, 60).Draw(t, "events")) {
			a := traces.Attempt{
				Task: traces.Task{
					Job:   rapid.SampledFrom([]traces.JobID{"a", "a", "a", "a", "b"}).Draw(t, "job"),
					Kind:  rapid.SampledFrom([]traces.TaskKind{traces.Map, traces.Map, traces.Map, traces.Reduce}).Draw(t, "kind"),
					Index: rapid.SampledFrom([]int32{0, 0, 0, 0, 1, 2}).Draw(t, "index"),
				},
				Number: rapid.Int32Range(0, 2).Draw(t, "number"),
			}
			if rapid.Bool().Draw(t, "starts") {
				events = append(events, &traces.AttemptStarted{T: at, Attempt: a, Node: "n"})
				running[a] = len(want)
				want = append(want, ran{Attempt: a, Start: at})
				if _, known := lives[a.Task]; a.Number > 0 && !known {
					lives[a.Task] = nil
				}
				continue
			}
			how := rapid.SampledFrom([]traces.Outcome{traces.Succeeded, traces.Failed, traces.Killed}).Draw(t, "outcome")
			events = append(events, &traces.AttemptFinished{T: at, Attempt: a, Outcome: how})
			i, ok := running[a]
			if !ok {
				continue
			}
			delete(running, a)
			want[i].End = at
			if _, known := lives[a.Task]; known || how != traces.Succeeded {
				lives[a.Task] = append(lives[a.Task], life{want[i].Start, at, "n", how, false})
			}
		}
		x := errtest.Must(New("x", traces.Header{}, slices.Values(events)))
		var got []ran
		name := func(k taskKey) traces.Task { return traces.Task{Job: x.jobNames[k.job], Kind: k.kind, Index: k.index} }
		for a := range x.attempts.all() {
			got = append(got, ran{traces.Attempt{Task: name(taskKey{a.job, a.Index, a.Kind}), Number: a.number}, a.Start, a.End})
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Fatalf("attempts, want -, got +:\n%s", d)
		}
		gotLives := map[traces.Task][]life{}
		for k, list := range x.mishaps.tasks {
			gotLives[name(k)] = list
		}
		if want, got := fmt.Sprint(lives), fmt.Sprint(gotLives); want != got {
			t.Fatalf("tasks with several attempts: %s; want %s", got, want)
		}
	})
}
