package experiment

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"heddle/harness/config"
	"heddle/harness/replay"
	"heddle/harness/results"
	"heddle/harness/runs"
	"heddle/traces"
	"heddle/traces/tracefile"
)

// Replays writes the results of replays to a run folder, so that they can be
// compared like trials. Each trace counts as a workload, and each seed as a
// repeat.
type Replays struct {
	// Root is the folder that contains the run folders. Name is the name of the
	// new run folder; by default it is the time.
	Root, Name string
	Command    []string
	// Traces says that the trace which a replay records is kept, in a folder of
	// its own for each replay. Otherwise the run folder contains only a table
	// of results.
	Traces bool

	events map[string]*tracefile.Sorter // for each replay and trace, by the name that k.sorter is called with
}

// Trace returns a function that takes the events of the trace at a path, as r reads
// them.
func (k *Replays) Trace(path string, r *tracefile.Reader) func(traces.Event) {
	if k.Traces {
		r.KeepEvents()
	}
	return k.sorter("trace " + path)
}

// Record makes the replays record their events, if Traces says that their
// traces are kept.
func (k *Replays) Record(list []replay.Config) {
	for i := range list {
		if k.Traces {
			list[i].Record = k.sorter(fmt.Sprint(i))
		}
	}
}

func (k *Replays) sorter(name string) func(traces.Event) {
	if !k.Traces {
		return func(traces.Event) {}
	}
	if k.events == nil {
		k.events = map[string]*tracefile.Sorter{}
	}
	if k.events[name] != nil { // a trace that is given twice is kept once
		return func(traces.Event) {}
	}
	sorter := tracefile.NewSorter(os.TempDir())
	k.events[name] = sorter
	// do not check whether Add fails to store an event, since writing the trace (Encode) returns the same error
	return func(e traces.Event) { _ = sorter.Add(e) }
}

// Close deletes the temporary files with the replays' recorded events.
func (k *Replays) Close() {
	for _, s := range k.events {
		_ = s.Close() // if closing the sorter fails, only a temporary file remains
	}
}

// Keep writes the results of the replays, and of the traces that stand beside them, to
// a run folder. If Traces is set, it writes their traces too.
func (k *Replays) Keep(list []replay.Outcome) (*runs.Run, error) {
	m := runs.Manifest{Command: k.Command, World: runs.WorldSimulated, Clusters: map[string]map[string]string{}}
	trials := trialsOf(list)
	for i, r := range trials {
		if !list[i].IsRecorded() {
			m.Seed = cmp.Or(m.Seed, list[i].Seed)
			m.Clusters[r.Workload] = list[i].Cluster()
		}
		if k.Traces {
			m.Trials = append(m.Trials, runs.TrialRecord{Name: r.Name})
		}
	}
	if !k.Traces {
		return results.Keep(k.Root, k.Name, "replay", m, trials)
	}
	run, err := runs.New(k.Root, k.Name, "replay", m)
	if err != nil {
		return nil, err
	}
	defer run.Close()
	replays := 0
	for i := range trials {
		name := "trace " + list[i].Trace
		if !list[i].IsRecorded() {
			name = fmt.Sprint(replays)
			replays++
		}
		if err = k.keepTrial(run, &trials[i], &list[i], k.events[name]); err != nil {
			break
		}
	}
	if err == nil {
		err = results.WriteSummary(run)
	}
	return run, errors.Join(err, run.End(err))
}

// keepTrial writes the result and the trace of one replay.
func (k *Replays) keepTrial(run *runs.Run, r *results.Trial, o *replay.Outcome, events *tracefile.Sorter) error {
	active, err := run.Begin(r.Name)
	if err != nil {
		return err
	}
	r.Figures = nil // leave the figures out of the result, as they can be computed from the trial's trace
	names := map[traces.JobID]string{}
	for _, j := range o.JobList {
		names[j.ID] = j.Name
	}
	t := &trial{folder: active}
	_, err = t.keep(r, o.Header, names, func(out io.Writer, each func(traces.Event)) error {
		return events.Encode(out, filepath.Join(active.Dir, results.TraceFile), o.Header, each, "")
	})
	if err == nil {
		err = results.Write(active, r)
	}
	if err != nil {
		return errors.Join(err, active.Failed(err))
	}
	return active.Done()
}

// trialsOf converts the results of replays to the form in which results of
// trials are stored.
func trialsOf(list []replay.Outcome) []results.Trial {
	type series struct{ workload, model string }
	workloads := map[string]string{} // for each trace's path, the name of its workload
	taken := map[string]bool{}
	repeats := map[series]int{}
	var trials []results.Trial
	for i := range list {
		o := &list[i]
		name, ok := workloads[o.Trace]
		if !ok {
			name = workloadOf(o.Trace)
			for n, plain := 2, name; taken[name]; n++ {
				name = plain + "-" + strconv.Itoa(n)
			}
			workloads[o.Trace], taken[name] = name, true
		}
		of := series{name, o.Model}
		repeats[of]++
		trials = append(trials, Row(o, name, o.Model, repeats[of]))
	}
	return trials
}

// Row returns the result of a replay as a row of a table of results, with the names that
// its workload and its model have there.
func Row(o *replay.Outcome, workload, model string, repeat int) results.Trial {
	world := ""
	if o.Origin != traces.Simulated {
		world = runs.WorldCluster
	}
	return results.Trial{
		Name: config.TrialName(repeat, workload, model), Workload: workload, Model: model, Params: o.Params, Repeat: repeat,
		Seed: o.Seed, World: world, InputBytes: o.Bytes.Input, MakespanMs: int64(o.MakespanMs), Figures: o.Summary(),
		Warnings: append(slices.Clone(o.Warnings), givenTimes(o)...),
	}
}

// givenTimes returns a warning if the tasks of a replay take times that do not depend on
// where they run. A reader may else take equal times for a result.
func givenTimes(o *replay.Outcome) []string {
	const text = "a task takes %s wherever it runs, so locality cannot change it%s"
	switch rates := len(o.Header.Cluster.Disks) + len(o.Header.Cluster.Links); {
	case o.IsRecorded():
		return nil
	case o.Durations == "recorded":
		return []string{fmt.Sprintf(text, "its recorded time", "; with --calibration its time depends on its place")}
	case o.Durations == "rules" && rates == 0:
		return []string{fmt.Sprintf(text, "the time that the job list's rules give", "; --disk and --link make its time depend on its place")}
	}
	return nil
}

// workloadOf returns a name for the workload of a trace. It is the name of the
// trace's file, or of the trial's folder if the file has the standard name
// trace.heddle.
func workloadOf(path string) string {
	name := filepath.Base(path)
	if dir := filepath.Base(filepath.Dir(path)); name == results.TraceFile && dir != "." {
		name = dir
	}
	name = strings.TrimSuffix(name, filepath.Ext(results.TraceFile))
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '.' || r == '_' {
			return r
		}
		return '-'
	}, name)
}
