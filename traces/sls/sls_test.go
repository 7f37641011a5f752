package sls

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"heddle/traces"
	"heddle/traces/errtest"
	"heddle/traces/format"
	"heddle/traces/internal/jsonstream"
	"heddle/traces/mend"
)

// TestForms: a task's duration by each of the keys that versions use, in SLS's
// order of preference.
func TestForms(t *testing.T) {
	for _, c := range []struct {
		task       string
		start, end int64
	}{
		{`"container.start.ms":150,"container.end.ms":400`, 150, 400},
		{`"duration.ms":70`, 100, 170},
		{`"container.duration.ms":80`, 100, 180},
		{`"container.duration.ms":"80"`, 100, 180},
		{`"duration.ms":70,"container.duration.ms":80`, 100, 180},
		{`"duration.ms":70,"container.start.ms":150,"container.end.ms":400`, 150, 220},
		{`"container.duration.ms":80,"container.request.delay":30`, 130, 210},
	} {
		for _, key := range []string{"am.type", "yarn.sls.am.type"} {
			text := fmt.Sprintf(`{%q:"mapreduce","job.start.ms":100,"job.queue.name":"q","job.id":"job_1_1","job.tasks":[{"container.host":"/r/h",%s}]}`, key, c.task)
			log := &mend.Log{Strict: true, File: "f"}
			events, err := all(text, log)
			if err != nil {
				t.Errorf("%s: %v", c.task, err)
				continue
			}
			for _, e := range events {
				if a, ok := e.(*traces.AttemptStarted); ok && (a.T != millis(c.start).time() || a.Node != "h" || a.Rack != "/r") {
					t.Errorf("%s: started %+v, want at %d ms on /r/h", c.task, a, c.start)
				}
				if a, ok := e.(*traces.AttemptFinished); ok && a.T != millis(c.end).time() {
					t.Errorf("%s: ended at %d ms, want %d", c.task, a.T.Milliseconds(), c.end)
				}
			}
		}
	}
}

func all(text string, log *mend.Log) (events []traces.Event, err error) {
	im := &format.Import{Log: log, Add: func(e traces.Event) error { events = append(events, e); return nil }}
	return events, newReader(im).Read(strings.NewReader(text))
}

// TestDefects: each defect is mended as its kind says, or refused with the place.
func TestDefects(t *testing.T) {
	const good = `{"job.start.ms":100,"job.queue.name":"q","job.id":"j","job.tasks":[{"container.host":"/r/h","container.start.ms":150,"container.end.ms":400}]}` + "\n"
	spoil := func(pairs ...string) string { return strings.NewReplacer(pairs...).Replace(good) }
	for _, c := range []struct {
		text  string
		mends []mend.Kind
		jobs  int
	}{
		{good, nil, 1},
		{`{"num.nodes":4,"num.racks":2}` + "\n" + good, nil, 1},
		{good + good, []mend.Kind{format.JobAgain}, 2},
		{spoil("400", "150"), []mend.Kind{noLength}, 1},
		{spoil("400", "-7"), []mend.Kind{badNumber, noLength}, 1},
		{spoil(`"job.start.ms":100,`, ""), []mend.Kind{noStart}, 1},
		{spoil(`"/r/h"`, `"/r/h","container.type":"mapper"`), []mend.Kind{oddKind}, 1},
		{spoil(`"/r/h"`, `"/r/h","count":99999999999`), []mend.Kind{manyTasks}, 0},
		{spoil(`"j"`, `"j","job.count":99999999999`), []mend.Kind{manyCopies}, 0},
		{spoil("400", "[4]"), []mend.Kind{jsonstream.WrongType, noLength}, 1},
		{`{"other":1}` + "\n" + good, []mend.Kind{noJobs}, 1},
		{good[:60] + "!\n" + good, []mend.Kind{jsonstream.Damaged}, 1},
		{good + good[:60], []mend.Kind{jsonstream.CutOff}, 1},
		{spoil(good[strings.Index(good, `,"job.tasks"`):], "}"), []mend.Kind{noTasks}, 1},
	} {
		log := &mend.Log{File: "f"}
		events, err := all(c.text, log)
		jobs := 0
		for _, e := range events {
			if e.Kind() == traces.KindJobSubmitted {
				jobs++
			}
		}
		var want []string
		for _, k := range c.mends {
			want = append(want, k.String())
		}
		slices.Sort(want)
		if got := slices.Sorted(maps.Keys(log.Counts())); err != nil || !slices.Equal(got, want) || jobs != c.jobs {
			t.Errorf("%.120s: %d jobs, mended %q, error %v; want %d jobs, %q", c.text, jobs, got, err, c.jobs, want)
		}
		if _, err := all(c.text, &mend.Log{Strict: true, File: "f"}); (err != nil) != (len(c.mends) > 0) || err != nil &&
			!strings.HasPrefix(err.Error(), "f: byte ") {
			t.Errorf("%.120s: strict: %v", c.text, err)
		}
	}
}

// TestTopology: racks and sizes survive.
func TestTopology(t *testing.T) {
	text := `{"rack":"r1","nodes":[{"node":"a","memory-mb":2048,"vcores":6},{"node":"b"}]} {"nodes":[{"node":"c","labels":"x"}],"rack":"/r2"}`
	nodes, err := readTopology(strings.NewReader(text))
	want := []traces.NodeFacts{{Node: "a", Rack: "/r1", MemoryBytes: 2 << 30, VCores: 6}, {Node: "b", Rack: "/r1"}, {Node: "c", Rack: "/r2"}}
	if err != nil || !slices.Equal(nodes, want) {
		t.Fatalf("nodes %v, %v; want %v", nodes, err, want)
	}
	var out strings.Builder
	errtest.None(t, writeTopology(&out, nodes))
	if again, err := readTopology(strings.NewReader(out.String())); err != nil || !slices.Equal(again, want) {
		t.Errorf("written and read: %v, %v\n%s", again, err, out.String())
	}
}
