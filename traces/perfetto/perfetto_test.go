package perfetto

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"heddle/traces"
	"heddle/traces/errtest"
)

// someRun has two attempts at once on a node, one that never ends, a reduce
// with phases, a decision and what became of it.
func someRun() (traces.Header, []traces.Event) {
	job := traces.JobID("job_1_0001")
	attempt := func(kind traces.TaskKind, index int32) traces.Attempt {
		return traces.Attempt{Task: traces.Task{Job: job, Kind: kind, Index: index}}
	}
	c := traces.NoCounters
	c.HDFSReadBytes = 4096
	return traces.Header{Cluster: traces.ClusterFacts{Nodes: []traces.NodeFacts{{Node: "n1", Rack: "/r1"}, {Node: "n2", Rack: "/r2"}}}},
		[]traces.Event{
			&traces.NodeSample{T: 0, Node: "n1", CPUUser: 1.5, CPUSystem: 0.25, DiskReadBytesPerSec: -1, ContainersRunning: 2},
			&traces.JobSubmitted{T: 1e6, Job: job, Name: `a "job"`, Maps: 2, Reduces: 1},
			&traces.Decision{T: 2e6, ID: 1, Job: job, Node: "n1", TaskIndex: -1, BindIndex: 0, Reason: "node", Seen: &traces.Seen{
				Candidates: []traces.Candidate{{Node: "n2", Level: traces.LevelNode, Room: traces.RoomFull, ForMs: 1}},
			}},
			&traces.AttemptStarted{T: 5e6, Attempt: attempt(traces.Map, 0), Node: "n1", Rack: "/r1", SplitLocality: traces.LevelNode},
			&traces.AttemptStarted{T: 6e6, Attempt: attempt(traces.Map, 1), Node: "n1", Rack: "/r1"},
			&traces.Actuation{T: 7e6, Decision: 1, AskedAt: 2e6, GrantedAt: 4e6, Outcome: "honoured", Bound: attempt(traces.Map, 0)},
			&traces.AttemptFinished{T: 20e6 + 5, Attempt: attempt(traces.Map, 0), Outcome: traces.Succeeded, MapDone: 15e6, Counters: c},
			&traces.AttemptStarted{T: 21e6, Attempt: attempt(traces.Reduce, 0), Node: "n2"},
			&traces.AttemptFinished{
				T: 40e6, Attempt: attempt(traces.Reduce, 0), Outcome: traces.Failed, ShuffleDone: 30e6, SortDone: 32e6,
				Counters: traces.NoCounters, Error: "lost",
			},
			&traces.Note{T: 41e6, Text: "a note"},
		}
}

// TestFormat holds every event against the rules of the trace-event format: its
// phase, the fields that phase needs, begins that end, arrows that have both
// ends inside slices, slices of a row that do not cross.
func TestFormat(t *testing.T) {
	h, events := someRun()
	var out bytes.Buffer
	errtest.None(t, write(&out, h, slices.Values(events)))
	if want := `"candidates":[{"node":"n2","level":"node","room":"full","forMs":1}]`; !strings.Contains(out.String(), want) {
		t.Errorf("no slice has %s:\n%s", want, out.String())
	}
	var file struct {
		DisplayTimeUnit string `json:"displayTimeUnit"`
		TraceEvents     []struct {
			Ph, Name, Cat string
			PID, TID      *int
			TS, Dur       *float64
			ID            *int
			BP, S         string
			Args          map[string]any
		} `json:"traceEvents"`
	}
	if err := json.Unmarshal(out.Bytes(), &file); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	count := map[string]int{}
	type slice struct{ from, to float64 }
	rows := map[[2]int][]slice{}
	flows := map[int]string{}
	for i, e := range file.TraceEvents {
		count[e.Ph]++
		if e.Name == "" || e.PID == nil || e.TID == nil || e.Ph != "M" && e.TS == nil {
			t.Errorf("event %d lacks name, pid, tid or ts: %+v", i, e)
			continue
		}
		row := [2]int{*e.PID, *e.TID}
		switch e.Ph {
		case "X":
			if e.Dur == nil || *e.Dur < 0 {
				t.Errorf("slice %d has no duration: %+v", i, e)
				continue
			}
			s := slice{*e.TS, *e.TS + *e.Dur}
			for _, o := range rows[row] {
				if s.from < o.to && o.from < s.to && (s.from < o.from || s.to > o.to) && (o.from < s.from || o.to > s.to) {
					t.Errorf("slices %v and %v of row %v cross", s, o, row)
				}
			}
			rows[row] = append(rows[row], s)
		case "b", "e", "s", "f":
			if e.ID == nil || e.Cat == "" {
				t.Errorf("event %d lacks id or category: %+v", i, e)
				continue
			}
			if e.Ph == "s" || e.Ph == "f" {
				flows[*e.ID] += e.Ph
			}
		case "C":
			for name, v := range e.Args {
				if _, ok := v.(float64); !ok {
					t.Errorf("counter %s %s is %v", e.Name, name, v)
				}
			}
		case "M", "i":
		default:
			t.Errorf("event %d has phase %q", i, e.Ph)
		}
	}
	if flows[1] != "sf" || len(flows) != 1 {
		t.Errorf("arrows %v, want one with a start and an end", flows)
	}
	if count["b"] != 1 || count["e"] != 1 || count["X"] != 3+1+1+2 || count["C"] == 0 || count["i"] != 1 {
		t.Errorf("events by phase: %v", count)
	}
	if len(rows) != 4 {
		t.Errorf("%d rows, want one of decisions, two of n1 and one of n2", len(rows))
	}
}
