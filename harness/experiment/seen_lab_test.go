package experiment

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"heddle/harness/lab/labtest"
	"heddle/traces"
)

// delayed is two jobs at once under delay scheduling, of 8 maps each that read parts of one
// block. Few nodes have it, so some maps run off their node. The limits are 2 skips for the
// node and 3 more for the rack.
const delayed = `
name: seen
workloads:
  - {` + oneFile + `, reduces: 1, jobs: 2, settings: {mapreduce.input.fileinputformat.split.maxsize: 262144}}
models: [{model: delay, params: {nodeSkips: 2, rackSkips: 3}}]
actuator: labels
coldReads: false
timeout: 10m
`

const delayedNodeSkips, delayedRackSkips = 2, 3

// TestSeen steers a real cluster with delay scheduling and reads from the trace what the
// model saw at each decision. What it says of the nodes near the input is held against the
// blocks and racks in the same trace, and its waits against the model's limits. Then one
// map's answer of heddle trace why is held against an answer made here from the events.
func TestSeen(t *testing.T) {
	c, _ := lab(t)
	program := labtest.Binary(t)
	again(t, func() []string {
		run := must(runText(t, c, delayed))
		h, events := readTrace(t, run)
		if !h.Reasons {
			t.Fatal("the header does not say that reasons were recorded")
		}
		w := watchedBy(h, events)
		trace := filepath.Join(run.TrialDir(run.Manifest().Trials[0].Name), "trace.heddle")
		faults := append(checkDecisions(t, events, false), w.check(t)...)
		return append(faults, w.checkWhy(t, program, trace)...)
	})
}

// watched is what a trace says of a steered run.
type watched struct {
	model     string
	racks     map[traces.Node]string
	replicas  map[traces.Block][]traces.Node
	block     map[traces.Task]traces.Block
	decisions []*traces.Decision
	bound     map[traces.Attempt]*traces.Decision // of decisions that were honoured
	started   map[traces.Attempt]*traces.AttemptStarted
}

func watchedBy(h traces.Header, events []traces.Event) *watched {
	w := &watched{
		model: h.Model, racks: map[traces.Node]string{}, replicas: map[traces.Block][]traces.Node{}, block: map[traces.Task]traces.Block{},
		bound: map[traces.Attempt]*traces.Decision{}, started: map[traces.Attempt]*traces.AttemptStarted{},
	}
	for _, n := range h.Cluster.Nodes {
		w.racks[n.Node] = n.Rack
	}
	byID := map[int64]*traces.Decision{}
	for _, e := range events {
		switch e := e.(type) {
		case *traces.BlockReplica:
			if !e.Gone && !slices.Contains(w.replicas[e.Block], e.Node) {
				w.replicas[e.Block] = append(w.replicas[e.Block], e.Node)
			}
		case *traces.TaskScheduled:
			if len(e.Blocks) > 0 {
				w.block[e.Task] = e.Blocks[0]
			}
		case *traces.Decision:
			w.decisions = append(w.decisions, e)
			byID[e.ID] = e
		case *traces.Actuation:
			if d := byID[e.Decision]; d != nil && e.Outcome == "honoured" && e.Bound.Job != "" {
				w.bound[e.Bound] = d
			}
		case *traces.AttemptStarted:
			w.started[e.Attempt] = e
		}
	}
	return w
}

// levelOf says how near a node is to the input of a map, by the trace's blocks and racks.
func (w *watched) levelOf(m traces.Task, n traces.Node) traces.Level {
	level := traces.LevelOff
	for _, r := range w.replicas[w.block[m]] {
		switch {
		case r == n:
			return traces.LevelNode
		case w.racks[r] == w.racks[n]:
			level = traces.LevelRack
		}
	}
	return level
}

// check holds what the model saw at each decision against the rest of the trace.
func (w *watched) check(t *testing.T) (faults []string) {
	t.Helper()
	maps, told, far, waited := 0, 0, 0, 0
	for _, d := range w.decisions {
		fault := func(format string, args ...any) {
			faults = append(faults, fmt.Sprintf("decision %d for %v %d of %s on %s, which saw %+v: %s", d.ID, d.What, d.BindIndex, d.Job, d.Node,
				d.Seen, fmt.Sprintf(format, args...)))
		}
		seen := d.Seen
		if seen != nil {
			told++
		} else {
			seen = &traces.Seen{} // nothing to tell, and seen at this very moment
		}
		for _, p := range seen.Passed {
			if p.Job == d.Job {
				fault("its own job was passed over")
			}
			if p.Why == traces.PassedWaits && (p.Waited < 0 || p.Waited >= delayedNodeSkips+delayedRackSkips) {
				fault("%s was passed over after %d skips", p.Job, p.Waited)
			}
		}
		if d.What != traces.Map || d.BindIndex < 0 {
			if len(seen.Candidates) > 0 {
				fault("a task without a known block has candidates")
			}
			continue
		}
		maps++
		m := traces.Task{Job: d.Job, Kind: traces.Map, Index: d.BindIndex}
		level := w.levelOf(m, d.Node)
		var want, got []traces.Node
		if level > traces.LevelNode {
			want = slices.Sorted(slices.Values(w.replicas[w.block[m]]))
			far++
		}
		for _, c := range seen.Candidates {
			got = append(got, c.Node)
			if c.Level != traces.LevelNode {
				fault("%s is %v to a block that nobody caches", c.Node, c.Level)
			}
			if c.ForMs != 0 && c.Room == traces.RoomFree || c.ForMs > int64(d.T)/1e6 {
				fault("%s is %v for %d ms at %v", c.Node, c.Room, c.ForMs, d.T)
			}
		}
		if slices.Sort(got); !slices.Equal(got, want) || seen.MoreCandidates != 0 {
			fault("by the blocks in the trace it is %v, with %v nearer", level, want)
		}
		if seen.Waited > 0 {
			waited++
		}
		switch most := int64(delayedNodeSkips + delayedRackSkips); {
		case seen.Limit < 0 || seen.Limit > most || seen.Waited < 0 || seen.Waited > most:
			fault("the limits are %d and %d skips", delayedNodeSkips, delayedRackSkips)
		case seen.Waited > seen.Limit && level >= traces.LevelOff:
			fault("it waited beyond its limit")
		case level > seen.Farthest && seen.Farthest != traces.LevelUnknown && d.TaskIndex == d.BindIndex:
			fault("its map is %v", level)
		}
	}
	t.Logf("%d decisions, of which %d say what was seen; %d maps, %d of them not at their block, %d after a wait", len(w.decisions), told,
		maps, far, waited)
	if maps < 16 || far == 0 || waited == 0 || told*10 < len(w.decisions)*8 {
		faults = append(faults, "too little was seen for the checks to say anything")
	}
	return faults
}

// checkWhy asks heddle trace why about a map that did not run at its block.
func (w *watched) checkWhy(t *testing.T, program, trace string) []string {
	t.Helper()
	for id, d := range w.bound {
		a := w.started[id]
		if a == nil || id.Task.Kind != traces.Map || d.BindIndex != id.Index || d.Seen == nil || len(d.Seen.Candidates) == 0 ||
			d.Seen.WaitUnit != traces.WaitSkips {
			continue
		}
		at := fmt.Sprintf("%.1f s", float64(a.T)/1e9)
		if a.T < 10e9 {
			at = fmt.Sprintf("%.2f s", float64(a.T)/1e9)
		}
		level := map[traces.Level]string{traces.LevelRack: "rack-local", traces.LevelOff: "off-rack"}[w.levelOf(id.Task, a.Node)]
		want := []string{
			fmt.Sprintf("%s on %s at %s: its block is on ", level, a.Node, at),
			fmt.Sprintf("; %s's limit is %d", w.model, d.Seen.Limit),
		}
		for _, n := range w.replicas[w.block[id.Task]] {
			want = append(want, string(n))
		}
		out, err := exec.CommandContext(t.Context(), program, "trace", "why", trace,
			fmt.Sprintf("%s/m%d/%d", id.Job, id.Index, id.Number)).CombinedOutput()
		if err != nil {
			t.Fatalf("heddle trace why: %v\n%s", err, out)
		}
		t.Logf("%s", out)
		for _, text := range want {
			if !strings.Contains(string(out), text) {
				t.Errorf("heddle trace why says\n%swant in it %q", out, text)
			}
		}
		return nil
	}
	return []string{"no map ran off its block, by a decision that saw it"}
}
