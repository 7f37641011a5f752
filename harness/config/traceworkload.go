package config

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// WorkloadTrace is the name of the workload that runs the jobs of a trace. An
// entry with the key trace need not give it.
const WorkloadTrace = "trace"

// maxPriority is the largest priority of an application. It is far above what a cluster
// can do.
const maxPriority = 1000

// jobKeys are keys by which a workload takes some of given jobs, and changes them.
var jobKeys = []string{"first", "from", "until", "speed", "scale", "maxTasks", "cpu", "sleep", "queues", "users", "priorities"}

// traceLabel returns the name of a trace file without its endings, with _ in
// place of what labels may not contain.
func traceLabel(path string) string {
	name := filepath.Base(path)
	for _, end := range []string{".gz", ".json", ".jsonl", ".tsv", ".jhist", ".heddle", ".txt"} {
		name = strings.TrimSuffix(name, end)
	}
	return labelText(name)
}

// missingTraces returns the traces that cannot be found.
func (e *Experiment) missingTraces() problems {
	var p problems
	for i, w := range e.Workloads {
		if w.Trace == "" {
			continue
		}
		if _, err := os.Stat(w.Trace); err != nil {
			p.addf(fmt.Sprintf("workloads[%d].trace", i), "%v; a relative path starts from the folder of this file", err)
		}
	}
	return p
}

// traceProblems adds what is wrong with an entry that names a trace. The file
// itself is not read here.
func (w Workload) traceProblems(p *problems, path string) {
	if w.Trace == "" {
		p.addf(path+".trace", "no trace; want the path of a trace file, such as that of a run, or one that 'heddle trace import' knows")
		return
	}
	w.jobKeysProblems(p, path)
}

// jobKeysProblems adds what is wrong with the jobKeys of an entry.
func (w Workload) jobKeysProblems(p *problems, path string) {
	if w.Jobs > 1 {
		p.addf(path+".jobs", "%d: a %s has its own jobs; remove the key, or take a part of them with first", w.Jobs, w.Name)
	}
	if w.Until > 0 && w.Until <= w.From {
		p.addf(path+".until", "%v: want a time after from, which is %v", w.Until, w.From)
	}
	for _, from := range slices.Sorted(maps.Keys(w.Queues)) {
		if w.Queues[from] == "" {
			p.addf(path+".queues", "no queue for %q; want the name of one of the cluster's", from)
		}
	}
	for _, from := range slices.Sorted(maps.Keys(w.Priorities)) {
		if n := w.Priorities[from]; n < 0 || n > maxPriority {
			p.addf(path+".priorities", "%d for %q: want 0 to %d", n, from, maxPriority)
		}
	}
}
