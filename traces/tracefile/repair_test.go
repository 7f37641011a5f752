package tracefile

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"heddle/traces"
)

// TestRepairAfterEveryCut repairs a file cut off at each byte: what comes out
// must pass the check, never look finished, and be the beginning of the trace.
func TestRepairAfterEveryCut(t *testing.T) {
	events := sampleEvents(20)
	whole := encode(t, events, 7)
	headerEnd := blockOffsets(whole)[1]
	folder := t.TempDir()
	for n := fileFrameBytes; n < len(whole); n += 3 {
		from, to := filepath.Join(folder, "a"), filepath.Join(folder, "b")
		os.Remove(to)
		mustDo(t, os.WriteFile(from, whole[:n], 0o644))
		r, err := Repair(from, to)
		if n < headerEnd {
			if err == nil {
				t.Fatalf("cut at %d, inside the header: no error", n)
			}
			continue
		}
		if err != nil || r.To != to || !r.LostTail {
			t.Fatalf("cut at %d: %+v, %v", n, r, err)
		}
		after, err := Check(to)
		if err != nil || len(after.Damage) > 0 || after.Complete || !strings.HasPrefix(after.Reason, "repaired: ") {
			t.Fatalf("cut at %d: repaired file: %+v, %v", n, after, err)
		}
		_, got, err := ReadFile(to)
		if err != nil || int64(len(got)) != r.Events {
			t.Fatalf("cut at %d: %d events of %d: %v", n, len(got), r.Events, err)
		}
		diffEvents(t, events[:len(got)], got)
	}
}

// TestRepairOfTheMiddle spoils a block's records, then a block's header: the
// other blocks are kept and what is lost is counted.
func TestRepairOfTheMiddle(t *testing.T) {
	events := sampleEvents(21)
	whole := encode(t, events, 7)
	second := blockOffsets(whole)[2]
	for name, at := range map[string]int{"records": second + blockFrameBytes + 9, "header": second + 13, "magic": second + 1} {
		folder := t.TempDir()
		from, to := filepath.Join(folder, "a"), filepath.Join(folder, "b")
		bad := bytes.Clone(whole)
		bad[at] ^= 0xff
		mustDo(t, os.WriteFile(from, bad, 0o644))
		report, err := Check(from)
		if err != nil || len(report.Damage) == 0 || report.Events != 14 {
			t.Errorf("%s: check: %+v, %v", name, report, err)
		}
		r, err := Repair(from, to)
		if err != nil || r.Events != 14 || r.LostEvents != 7 || r.LostTail {
			t.Errorf("%s: repair: %+v, %v", name, r, err)
		}
		_, got := must2(ReadFile(to))
		diffEvents(t, append(events[:7:7], events[14:]...), got)
	}
}

// TestCheckComparesTheFooter gives a file a footer with right checksum and
// wrong contents.
func TestCheckComparesTheFooter(t *testing.T) {
	whole := encode(t, sampleEvents(4), 9)
	at := bytes.LastIndex(whole, []byte(tagFooter)) - 8
	tampered := must(parseFooter(whole[at+frameHeadBytes:]))
	tampered.TraceDigest, tampered.Events = "sha256:0", 5
	data := must(tampered.append(bytes.Clone(whole[:at])))
	path := filepath.Join(t.TempDir(), "a")
	mustDo(t, os.WriteFile(path, data, 0o644))
	r, err := Check(path)
	if err != nil || len(r.Damage) != 2 {
		t.Errorf("%+v, %v, want the number of events and the digest as damage", r, err)
	}
}

func TestCheckWarns(t *testing.T) {
	job := traces.JobID("job_1_0001")
	task := traces.Task{Job: job}
	first := traces.Attempt{Task: task}
	good := []traces.Event{
		&traces.JobSubmitted{T: 1, Job: job, Maps: 1},
		&traces.TaskScheduled{T: 2, Task: task},
		&traces.AttemptStarted{T: 3, Attempt: first, Node: "n1", SplitLocality: traces.LevelNode},
		&traces.AttemptFinished{T: 9, Attempt: first, Outcome: traces.Succeeded, MapDone: 6},
		&traces.TaskFinished{T: 9, Task: task, Outcome: traces.Succeeded},
		&traces.JobFinished{T: 10, Job: job, Outcome: traces.Succeeded},
	}
	for _, c := range []struct {
		name   string
		change func([]traces.Event) []traces.Event
		want   string // of the first warning; empty: none
	}{
		{"nothing", func(e []traces.Event) []traces.Event { return e }, ""},
		{
			"order", func(e []traces.Event) []traces.Event { return append(e, &traces.Note{T: 5}) },
			"event 7: note at 5 ns comes after one at 10 ns",
		},
		{
			"no task", func(e []traces.Event) []traces.Event { return append(e[:1:1], e[2:]...) },
			"event 2: task_1_0001_m_000000 was not scheduled",
		},
		{
			"no start", func(e []traces.Event) []traces.Event { return append(e[:2:2], e[3:]...) },
			"event 3: attempt_1_0001_m_000000_0 finishes and has not started",
		},
		{"no end", func(e []traces.Event) []traces.Event { return append(e[:3:3], e[5]) }, "1 attempts do not finish"},
		{
			"no winner", func(e []traces.Event) []traces.Event { return append(e[:3:3], e[4:]...) },
			"event 4: task_1_0001_m_000000 succeeds by attempt 0: that attempt has not ended",
		},
		{"unknown node", func(e []traces.Event) []traces.Event {
			return append(e[:2:2], append([]traces.Event{&traces.AttemptStarted{T: 3, Attempt: first, Node: "n2"}}, e[3:]...)...)
		}, `event 3: node "n2" is not in the header and did not come up`},
		{"level", func(e []traces.Event) []traces.Event {
			return append(e[:2:2], append([]traces.Event{&traces.AttemptStarted{T: 3, Attempt: first, Node: "n1", SplitLocality: traces.LevelCache}},
				e[3:]...)...)
		}, "event 3: attempt_1_0001_m_000000_0 has split locality cache"},
		{"index", func(e []traces.Event) []traces.Event {
			return append([]traces.Event{&traces.JobSubmitted{T: 1, Job: job}}, e[1:]...)
		}, "event 2: taskScheduled: task.index is 0, and job_1_0001 has 0 maps"},
		{"claims", func(e []traces.Event) []traces.Event {
			return append([]traces.Event{&traces.JobSubmitted{T: 1, Job: job, Maps: 1, Reduces: 7}}, e[1:]...)
		}, "job_1_0001 says that it has 7 reduces, and succeeds with 0"},
		{"phase", func(e []traces.Event) []traces.Event {
			return append(e[:3:3], append([]traces.Event{&traces.AttemptFinished{T: 9, Attempt: first, Outcome: traces.Succeeded, MapDone: 11}},
				e[4:]...)...)
		}, "event 4: attempt_1_0001_m_000000_0: the end of its map at 11 ns is not between 3 and 9 ns"},
		{
			"actuation", func(e []traces.Event) []traces.Event { return append(e, &traces.Actuation{T: 10, Decision: 4}) },
			"event 7: actuation of decision 4: no such decision was made",
		},
	} {
		path := filepath.Join(t.TempDir(), "a")
		mustDo(t, os.WriteFile(path, encode(t, c.change(good), 99), 0o644))
		r, err := Check(path)
		if err != nil || len(r.Damage) > 0 || len(r.Impossible) > 0 {
			t.Fatalf("%s: %+v, %v", c.name, r, err)
		}
		got := ""
		if len(r.Warnings) > 0 {
			got = r.Warnings[0].String()
		}
		if got != c.want {
			t.Errorf("%s: warns %q, want %q", c.name, got, c.want)
		}
	}
}

func TestCloseIncomplete(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.trace")
	w := must(Create(path, someHeader))
	mustDo(t, w.CloseIncomplete("interrupted"))
	r, err := Check(path)
	if err != nil || r.Complete || r.Reason != "interrupted" || len(r.Damage) > 0 {
		t.Errorf("%+v, %v", r, err)
	}
	if err := w.Write(&traces.Note{}); err == nil {
		t.Error("write after the end: no error")
	}
}

// TestFlushEvery: an event is readable once the interval has passed, with
// nobody closing the writer.
func TestFlushEvery(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		w := must(newWriter(&out, "test", someHeader))
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- w.FlushEvery(ctx, time.Second) }()
		mustDo(t, w.Write(&traces.Note{T: 1}))
		written := func() []byte {
			w.mu.Lock()
			defer w.mu.Unlock()
			return bytes.Clone(out.Bytes())
		}
		if got, _ := readAll(written()); len(got) != 0 {
			t.Errorf("%d events before the interval has passed", len(got))
		}
		<-time.After(1100 * time.Millisecond)
		synctest.Wait()
		got, err := readAll(written())
		var damage *DamageError
		if len(got) != 1 || !errors.As(err, &damage) || !damage.CutOff {
			t.Errorf("%d events, %v, want 1 and a cut-off", len(got), err)
		}
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

func TestReadErrorIsNoDamage(t *testing.T) {
	whole := encode(t, sampleEvents(9), 2)
	broken := errors.New("disk on fire")
	r, err := NewReader(io.MultiReader(bytes.NewReader(whole[:600]), failing{broken}), "test")
	if err == nil {
		for r.Next() {
		}
		err = r.Err()
	}
	var damage *DamageError
	if !errors.Is(err, broken) || errors.As(err, &damage) {
		t.Errorf("error is %v, want %v and no DamageError", err, broken)
	}
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// blockOffsets are where the block frames of a whole file begin.
func blockOffsets(file []byte) []int {
	var offsets []int
	for at := fileFrameBytes; isFrame(file[at:], tagBlock); {
		offsets = append(offsets, at)
		at += blockFrameBytes + int(binary.LittleEndian.Uint32(file[at+12:]))
	}
	return offsets
}
