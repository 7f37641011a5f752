package sls

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"heddle/traces"
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
				if a, ok := e.(*traces.AttemptStarted); ok && (a.T != nanos(c.start) || a.Node != "h" || a.Rack != "/r") {
					t.Errorf("%s: started %+v, want at %d ms on /r/h", c.task, a, c.start)
				}
				if a, ok := e.(*traces.AttemptFinished); ok && a.T != nanos(c.end) {
					t.Errorf("%s: ended at %d ms, want %d", c.task, a.T.Milliseconds(), c.end)
				}
			}
		}
	}
}

func all(text string, log *mend.Log) (events []traces.Event, err error) {
	r := NewReader(strings.NewReader(text), log)
	for r.Next() {
		if err := r.Events(func(e traces.Event) error { events = append(events, e); return nil }); err != nil {
			return events, err
		}
	}
	return events, r.Err()
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
		{good + good, []mend.Kind{jobAgain}, 2},
		{spoil("400", "150"), []mend.Kind{noLength}, 1},
		{spoil("400", "-7"), []mend.Kind{badNumber, noLength}, 1},
		{spoil(`"job.start.ms":100,`, ""), []mend.Kind{noStart}, 1},
		{spoil(`"/r/h"`, `"/r/h","container.type":"mapper"`), []mend.Kind{oddKind}, 1},
		{spoil(`"/r/h"`, `"/r/h","count":99999999999`), []mend.Kind{manyCopies}, 0},
		{spoil(`"j"`, `"j","job.count":99999999999`), []mend.Kind{manyCopies}, 0},
		{spoil("400", "[4]"), []mend.Kind{wrongType, noLength}, 1},
		{`{"other":1}` + "\n" + good, []mend.Kind{noJob}, 1},
		{good[:60] + "!\n" + good, []mend.Kind{damaged}, 1},
		{good + good[:60], []mend.Kind{cutOff}, 1},
		{spoil(good[strings.Index(good, `,"job.tasks"`):], "}"), []mend.Kind{noTasks}, 1},
	} {
		log := &mend.Log{File: "f"}
		jobs, tasks := 0, 0
		r := NewReader(strings.NewReader(c.text), log)
		var err error
		for r.Next() && err == nil {
			err = r.Events(func(e traces.Event) error {
				switch e.(type) {
				case *traces.JobSubmitted:
					jobs++
				case *traces.TaskScheduled:
					tasks++
				}
				return nil
			})
		}
		var want []string
		for _, k := range c.mends {
			want = append(want, k.String())
		}
		slices.Sort(want)
		if got := slices.Sorted(maps.Keys(log.Counts())); err != nil || r.Err() != nil || !slices.Equal(got, want) || jobs != c.jobs {
			t.Errorf("%.120s: %d jobs, %d tasks, mended %q, errors %v %v; want %d jobs, %q", c.text, jobs, tasks, got, err, r.Err(), c.jobs, want)
		}
		if _, err := all(c.text, &mend.Log{Strict: true, File: "f"}); (err != nil) != (len(c.mends) > 0) || err != nil && !strings.HasPrefix(err.Error(), "f: byte ") {
			t.Errorf("%.120s: strict: %v", c.text, err)
		}
	}
}

// TestTopology: racks and sizes survive.
func TestTopology(t *testing.T) {
	text := `{"rack":"r1","nodes":[{"node":"a","memory-mb":2048,"vcores":6},{"node":"b"}]} {"nodes":[{"node":"c","labels":"x"}],"rack":"/r2"}`
	nodes, err := ReadTopology(strings.NewReader(text))
	want := []Node{{"/r1", "a", 2048, 6}, {"/r1", "b", 0, 0}, {"/r2", "c", 0, 0}}
	if err != nil || !slices.Equal(nodes, want) {
		t.Fatalf("nodes %v, %v; want %v", nodes, err, want)
	}
	var cluster traces.ClusterFacts
	for _, n := range nodes {
		cluster.Nodes = append(cluster.Nodes, traces.NodeFacts{Node: traces.Node(n.Name), Rack: n.Rack, MemoryBytes: n.MemoryMB << 20, VCores: int32(n.VCores), Worker: true})
	}
	var out strings.Builder
	if err := WriteTopology(&out, cluster); err != nil {
		t.Fatal(err)
	}
	if again, err := ReadTopology(strings.NewReader(out.String())); err != nil || !slices.Equal(again, want) {
		t.Errorf("written and read: %v, %v\n%s", again, err, out.String())
	}
}
