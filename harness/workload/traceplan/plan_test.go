package traceplan_test

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"heddle/harness/workload/traceplan"
	"heddle/traces"
	"heddle/traces/errtest"
)

// drawn is a trace of any jobs, some of which read the same files.
func drawn(t *rapid.T) []traces.Event {
	var events []traces.Event
	bytes := rapid.Int64Range(-1, 1<<32)
	for i := range rapid.IntRange(1, 8).Draw(t, "jobs") {
		id := traces.JobID(fmt.Sprint("job_", i))
		at := traces.Time(rapid.Int64Range(0, 1e12).Draw(t, "at"))
		maps, reduces := rapid.Int32Range(1, 9).Draw(t, "maps"), rapid.Int32Range(0, 5).Draw(t, "reduces")
		events = append(events, &traces.JobSubmitted{
			T: at, Job: id, Queue: "q" + fmt.Sprint(i%3), User: "u", Priority: int32(i), Maps: maps,
			Reduces: reduces,
		})
		path := rapid.SampledFrom([]string{"", "/a", "/b", "/c"}).Draw(t, "path")
		for k, n := range []int32{maps, reduces} {
			for x := range n {
				task := traces.Task{Job: id, Kind: traces.TaskKind(k), Index: x}
				s := &traces.TaskScheduled{T: at, Task: task}
				if k == 0 {
					s.Path, s.LengthBytes = path, max(0, bytes.Draw(t, "length"))
					s.OffsetBytes = int64(x) << 26
				}
				c := traces.NoCounters
				c.ShuffleBytes, c.HDFSWrittenBytes, c.MapOutputBytes, c.CPUMs = bytes.Draw(t, "shuffled"), bytes.Draw(t, "written"),
					bytes.Draw(t, "put"), rapid.Int64Range(-1, 9999).Draw(t, "cpu")
				if k == 0 {
					c.ShuffleBytes = -1
				}
				a := traces.Attempt{Task: task}
				events = append(events, s, &traces.AttemptStarted{T: at, Attempt: a, SplitLocality: traces.LevelRack},
					&traces.AttemptFinished{T: at + 1, Attempt: a, Outcome: traces.Succeeded, Counters: c})
			}
		}
		events = append(events, &traces.JobFinished{T: at + 5e9, Job: id, Outcome: traces.Succeeded})
	}
	traces.Sort(events)
	return events
}

// TestPlan holds the plans of any traces against what is asked of each plan:
// jobs keep their order, sums of bytes are those of the trace times the scale
// besides what floors add, no map reads past the end of its file, and jobs share
// a file if and only if they shared it in the trace.
func TestPlan(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		events := drawn(t)
		o := traceplan.Options{
			Speed: rapid.SampledFrom([]float64{0, 0.5, 10}).Draw(t, "speed"), Scale: rapid.SampledFrom([]float64{0, 0.001, 0.3, 2}).Draw(t, "scale"),
			MaxTasks: rapid.IntRange(0, 6).Draw(t, "maxTasks"), CPUMsPerMiB: 20,
		}
		p := errtest.Must(traceplan.New(&traces.Header{}, slices.Values(events), o))
		again, err := traceplan.New(&traces.Header{}, slices.Values(events), o)
		if err != nil || !reflect.DeepEqual(p, again) {
			t.Fatalf("a second plan of the same trace differs (%v)", err)
		}
		paths := map[traces.JobID]string{}
		for _, e := range events {
			if s, ok := e.(*traces.TaskScheduled); ok && s.Task.Kind == traces.Map {
				paths[s.Task.Job] = s.Path
			}
		}
		scale := o.Scale
		if scale == 0 {
			scale = 1
		}
		owner := map[int]traces.JobID{}
		for i := range p.Jobs {
			j := &p.Jobs[i]
			if i > 0 && j.At < p.Jobs[i-1].At || i == 0 && j.At != 0 {
				t.Fatalf("job %d of the plan is submitted at %v", i, j.At)
			}
			if most := o.MaxTasks; most > 0 && (len(j.Maps) > most || len(j.Reduces) > most) {
				t.Fatalf("job %s has %d maps and %d reduces, want at most %d", j.ID, len(j.Maps), len(j.Reduces), most)
			}
			holdBytes(t, j, scale)
			for _, m := range j.Maps {
				f := p.Files[m.File]
				if m.LengthBytes < traceplan.LineBytes || m.OffsetBytes < 0 || m.OffsetBytes+m.LengthBytes > f.Bytes {
					t.Fatalf("job %s: a map reads %d bytes from %d on, of the %d of its file", j.ID, m.LengthBytes, m.OffsetBytes, f.Bytes)
				}
				if f.From != paths[j.ID] {
					t.Fatalf("job %s reads the file of %q, want that of %q", j.ID, f.From, paths[j.ID])
				}
				if other, read := owner[m.File]; f.From == "" && read && other != j.ID {
					t.Fatalf("jobs %s and %s, which name no input, read the same file", j.ID, other)
				}
				owner[m.File] = j.ID
			}
		}
		named := map[string]bool{}
		for i, f := range p.Files {
			if _, read := owner[i]; !read || f.From != "" && named[f.From] {
				t.Fatalf("file %d, of %q, has no reader, or is there twice", i, f.From)
			}
			named[f.From] = true
		}
	})
}

// holdBytes compares what the tasks of a job are asked for with the bytes of the
// trace.
func holdBytes(t *rapid.T, j *traceplan.Job, scale float64) {
	asked, was := j.Asked(), j.Recorded.Bytes
	if len(j.Reduces) == 0 {
		was.Shuffle = 0
	}
	written, emitted := int64(0), int64(0)
	for i := range j.Maps {
		emitted += j.Maps[i].EmitBytes
	}
	for i := range j.Reduces {
		written += j.Reduces[i].OutputBytes
	}
	if want := int64(math.Round(float64(was.Input) * scale)); asked.Input-j.Floors.InputBytes != want {
		t.Fatalf("job %s: maps read %d bytes besides %d of floors, want %d", j.ID, asked.Input, j.Floors.InputBytes, want)
	}
	if len(j.Reduces) == 0 {
		if want := int64(math.Round(float64(was.Output) * scale)); asked.Output != want || asked.Shuffle != 0 {
			t.Fatalf("job %s without reduces writes %d bytes, want %d", j.ID, asked.Output, want)
		}
		return
	}
	if emitted != asked.Shuffle {
		t.Fatalf("job %s: maps emit %d bytes, reduces fetch %d", j.ID, emitted, asked.Shuffle)
	}
	if want := int64(math.Round(float64(was.Shuffle) * scale)); was.Shuffle > 0 && asked.Shuffle != want {
		t.Fatalf("job %s: reduces fetch %d bytes, want %d", j.ID, asked.Shuffle, want)
	}
	if asked.Output != written {
		t.Fatalf("job %s: reduces write %d bytes, the job %d", j.ID, written, asked.Output)
	}
}

// list is a trace that lists jobs: three jobs of 1 GiB, 10 bytes, and 3 GiB; the
// first and the last read the same file.
func list() (*traces.Header, []traces.Event) {
	rules := traces.DefaultListRules
	return &traces.Header{List: &rules}, []traces.Event{
		&traces.JobListed{
			T: 10e9, Job: "a", InputBytes: 1 << 30, ShuffleBytes: 3 << 30, OutputBytes: 100, Path: "/hot", Queue: "etl",
			User: "ann",
		},
		&traces.JobListed{T: 20e9, Job: "b", InputBytes: 10, OutputBytes: 5},
		&traces.JobListed{T: 40e9, Job: "c", InputBytes: 3 << 30, Path: "/hot"},
	}
}

func TestList(t *testing.T) {
	h, events := list()
	p := errtest.Must(traceplan.New(h, slices.Values(events),
		traceplan.Options{
			Speed: 10, MaxTasks: 4, CPUMsPerMiB: 1, Queues: map[string]string{"etl": "batch"},
			Users: map[string]string{"ann": "joe"}, Priorities: map[string]int{"0": 7},
		}))
	a, b, c := &p.Jobs[0], &p.Jobs[1], &p.Jobs[2]
	if a.At != 0 || b.At != time.Second || c.At != 3*time.Second {
		t.Errorf("submitted at %v, %v, %v, want 0s, 1s, 3s", a.At, b.At, c.At)
	}
	if len(a.Maps) != 4 || len(a.Reduces) != 3 || len(b.Maps) != 1 || len(c.Maps) != 4 {
		t.Errorf("maps %d, %d, %d, want 4, 1, 4; reduces %d, want 3", len(a.Maps), len(b.Maps), len(c.Maps), len(a.Reduces))
	}
	if m := a.Maps[3]; m.OffsetBytes != 768<<20 || m.LengthBytes != 256<<20 || m.EmitBytes != 768<<20 || m.CPUMs != 256 {
		t.Errorf("the last map of a is %+v, want the last 256 MiB, a quarter of the shuffle, 1 ms for each MiB", m)
	}
	if m := b.Maps[0]; m.LengthBytes != traceplan.LineBytes || m.EmitBytes != 5 || b.Floors != (traceplan.Floors{Maps: 1, InputBytes: 4086}) {
		t.Errorf("the map of b is %+v with floors %+v, want one line and 5 bytes written", m, b.Floors)
	}
	if a.Maps[0].File != c.Maps[0].File || a.Maps[0].File == b.Maps[0].File || p.Files[c.Maps[0].File].Bytes != 3<<30 {
		t.Errorf("files %+v of maps %+v, want one of 3 GiB for a and c", p.Files, []int{a.Maps[0].File, b.Maps[0].File, c.Maps[0].File})
	}
	if a.Queue != "batch" || a.User != "joe" || a.Priority != 7 || a.Pool != "etl" {
		t.Errorf("queue %q, user %q, priority %d, pool %q, want batch, joe, 7, etl", a.Queue, a.User, a.Priority, a.Pool)
	}
}

// TestParts takes parts of a trace by time and number.
func TestParts(t *testing.T) {
	for _, c := range []struct {
		o    traceplan.Options
		want string
	}{
		{traceplan.Options{}, "a b c"},
		{traceplan.Options{First: 2}, "a b"},
		{traceplan.Options{From: 20 * time.Second}, "b c"},
		{traceplan.Options{From: 20 * time.Second, First: 1}, "b"},
		{traceplan.Options{Until: 20 * time.Second}, "a"},
		{traceplan.Options{From: time.Minute}, "error: plan: all 3 jobs of the trace are submitted before from, or at until or later"},
		{traceplan.Options{Scale: 1e9}, "error: plan: job a: 1.07e+18 bytes are over the limit of 1024 TiB; a smaller scale makes it less"},
		{traceplan.Options{Speed: -1}, "error: plan: speed is -1, want a number above 0"},
		{traceplan.Options{Scale: math.NaN()}, "error: plan: scale is NaN, want a number above 0"},
		{traceplan.Options{From: 2, Until: 1}, "error: plan: from is 2ns and until is 1ns, want a time from 0 on and a later one"},
	} {
		h, events := list()
		p, err := traceplan.New(h, slices.Values(events), c.o)
		got := fmt.Sprintf("error: %v", err)
		if err == nil {
			var ids []string
			for i := range p.Jobs {
				ids = append(ids, string(p.Jobs[i].ID))
			}
			got = strings.Join(ids, " ")
		}
		if got != c.want {
			t.Errorf("%+v: got %s, want %s", c.o, got, c.want)
		}
	}
}

// TestTermsInPlan keeps what the trace says of a job's deadline, in lists too.
func TestTermsInPlan(t *testing.T) {
	terms := traces.Terms{DeadlineMs: 5000, Price: 1}
	h, events := list()
	events[0].(*traces.JobListed).Terms = terms
	p := errtest.Must(traceplan.New(h, slices.Values(events), traceplan.Options{Speed: 2}))
	for i := range p.Jobs {
		want := traces.Terms{}
		if i == 0 {
			want = terms
		}
		if p.Jobs[i].Terms != want {
			t.Errorf("job %d has the terms %+v, want %+v", i, p.Jobs[i].Terms, want)
		}
	}
}

// TestCached has a file in the HDFS cache if most that is read of it was.
func TestCached(t *testing.T) {
	at := func(i int32, path string, block traces.Block) traces.Event {
		return &traces.TaskScheduled{Task: traces.Task{Job: "j", Index: i}, Path: path, LengthBytes: 1 << 20, Blocks: []traces.Block{block}}
	}
	events := []traces.Event{
		&traces.JobSubmitted{Job: "j", Maps: 4}, at(0, "/warm", 1), at(1, "/warm", 2), at(2, "/cold", 3), at(3, "", 4),
		&traces.BlockCached{Block: 1, Node: "n"}, &traces.BlockCached{Block: 4, Node: "n"},
		&traces.BlockReplica{Block: 4, Node: "n", Path: "/told", OffsetBytes: 0},
	}
	p := errtest.Must(traceplan.New(&traces.Header{}, slices.Values(events), traceplan.Options{}))
	got := map[string]bool{}
	for _, f := range p.Files {
		got[f.From] = f.Cached
	}
	if want := map[string]bool{"/warm": true, "/cold": false, "/told": true}; !reflect.DeepEqual(got, want) {
		t.Errorf("cached are %v, want %v", got, want)
	}
	if m := p.Jobs[0].Maps[1]; m.OffsetBytes != 1<<20 {
		t.Errorf("the second map of a file without offsets begins at %d, want behind the first", m.OffsetBytes)
	}
}
