package experiment

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"heddle/collectors/hdfs/jobsplit"
	"heddle/harness/results"
	"heddle/traces"
	"heddle/traces/tracefile"
)

// resplit is two jobs at once, by a random plan, and under YARN's own scheduler
// by cached replicas alone.
const resplit = `
name: resplit
workloads:
  - {name: wordcount, size: 12MiB, maps: 6, reduces: 1, jobs: 2, settings: {dfs.blocksize: 2097152}}
models:
  - {model: planned, splits: plan}
  - {model: yarn, label: cached, splits: cachedOnly}
actuator: labels
cache: {fraction: 0.5}
coldReads: false
timeout: 10m
`

// TestResplit rewrites what ApplicationMasters read. Every map runs on the
// planned node, YARN sees cached replicas alone, the output is that of the input
// and the cluster is left as it was.
func TestResplit(t *testing.T) {
	c, clients := lab(t)
	before := labelsOf(t, clients)
	again(t, func() (faults []string) {
		run := must(runText(t, c, resplit))
		awaitSame(t, clients, before)
		trials, err := results.List(run)
		if err != nil || len(trials) != 2 {
			t.Fatalf("%d trials, %v", len(trials), err)
		}
		for _, r := range trials {
			warnings := slices.DeleteFunc(r.Warnings, func(text string) bool { return strings.HasPrefix(text, "other programs used ") })
			if !slices.Contains(r.Checked, "counts of all words") || len(warnings) > 0 {
				t.Errorf("%s: checked %q, warnings %q", r.Name, r.Checked, warnings)
			}
			h, events := must2(tracefile.ReadFile(filepath.Join(run.TrialDir(r.Name), "trace.heddle")))
			checkAgainstHadoop(t, clients, events)
			one := 0 // host
			for _, j := range r.Jobs {
				folder := filepath.Join(run.TrialDir(r.Name), "jobs", string(j.ID))
				submitted, read := metas(t, folder, "job.splitmetainfo.submitted"), metas(t, folder, "job.splitmetainfo")
				one += checkResplit(t, j.ID, submitted, read, events)
			}
			switch h.Splits {
			case "plan":
				if r.Plan == nil || r.Plan.Maps < 12 || one != r.Plan.Maps {
					t.Fatalf("%v; %d splits name one host", r.Plan, one)
				}
				if faults = checkDecisions(t, events, false); r.Plan.OnNode != r.Plan.Maps {
					faults = append(faults, r.Plan.String())
				}
			case "cachedOnly":
				if maps := len(splitsOf(events)); r.Plan != nil || one == 0 || one == maps {
					t.Errorf("%d of %d splits name one host, want about half; %v", one, maps, r.Plan)
				}
				if h.Actuator != "none" {
					t.Errorf("actuator %s", h.Actuator)
				}
			default:
				t.Errorf("splits %q", h.Splits)
			}
		}
		return faults
	})
}

func metas(t *testing.T, folder, name string) []jobsplit.Meta {
	t.Helper()
	data := must(os.ReadFile(filepath.Join(folder, name)))
	list := must(jobsplit.ParseMeta(bytes.NewReader(data)))
	return list
}

// checkResplit wants the same splits as were submitted, in whatever order, and
// the trace to say what the ApplicationMaster read. It counts those of one host.
func checkResplit(t *testing.T, job traces.JobID, submitted, read []jobsplit.Meta, events []traces.Event) (one int) {
	t.Helper()
	byOffset := func(a, b jobsplit.Meta) int { return cmp.Compare(a.Offset, b.Offset) }
	a, b := slices.SortedFunc(slices.Values(submitted), byOffset), slices.SortedFunc(slices.Values(read), byOffset)
	if !slices.EqualFunc(a, b, func(a, b jobsplit.Meta) bool { return a.Offset == b.Offset && a.Length == b.Length }) {
		t.Errorf("%s: splits %v, as submitted %v", job, b, a)
	}
	told := splitsOf(events)
	pieces := map[string]bool{}
	for i, m := range read {
		e := told[traces.Task{Job: job, Kind: traces.Map, Index: int32(i)}]
		if e == nil || !slices.Equal(e.SplitHosts, nodesOf(m.Hosts)) || e.LengthBytes != m.Length {
			t.Errorf("%s: map %d read %v, the trace says %+v", job, i, m, e)
			continue
		}
		pieces[fmt.Sprint(e.Path, e.OffsetBytes)] = true
		if len(m.Hosts) == 1 {
			one++
		}
	}
	if len(pieces) != len(read) {
		t.Errorf("%s: %d maps read %d pieces", job, len(read), len(pieces))
	}
	return one
}

func splitsOf(events []traces.Event) map[traces.Task]*traces.TaskScheduled {
	told := map[traces.Task]*traces.TaskScheduled{}
	for _, event := range events {
		if e, ok := event.(*traces.TaskScheduled); ok && e.Task.Kind == traces.Map {
			told[e.Task] = e
		}
	}
	return told
}

func nodesOf(hosts []string) []traces.Node {
	nodes := make([]traces.Node, len(hosts))
	for i, h := range hosts {
		nodes[i] = traces.Node(h)
	}
	return nodes
}
