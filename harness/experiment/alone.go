package experiment

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"heddle/harness/config"
	"heddle/harness/replay"
	"heddle/harness/replay/calibration"
	"heddle/harness/replay/recorded"
	"heddle/harness/runs"
	"heddle/harness/workload"
	"heddle/traces"
)

// aloneDeadlines returns the deadlines of a twin's jobs in ms, as multiples of how long
// each takes alone on the cluster: from its submission to its end, with fifo as the
// cluster's own scheduler. There are no faults, no other load and no chance in the times,
// so that deadlines do not differ between repeats and models. One simulation has all
// jobs, each submitted after the end of the one before. Jobs of a workload with the same
// name are equal, and have the deadline of the first: when heartbeats come makes some
// difference.
func aloneDeadlines(ctx context.Context, o *Options, w *config.Workload, twin *workload.Twin, input *recorded.Trace,
	costs *calibration.Calibration,
) ([]int64, error) {
	e := o.Experiment
	alone := config.Behaviour{Actuator: config.ActuatorNone, MapSlots: e.MapSlots, ReduceSlots: e.ReduceSlots, Fetches: e.Fetches}
	after := map[traces.JobID]traces.JobID{}
	for i := 1; i < len(input.Jobs); i++ {
		after[input.Jobs[i].Job] = input.Jobs[i-1].Job
	}
	r, _, err := replay.Run(&replay.Config{
		Trace: input, Model: config.Model{Model: "fifo"}, Behaviour: alone, Seed: e.Seed, Change: recorded.Change{Speed: o.Speed},
		Calibration: costs, Modelled: true, Work: twin.Work(), After: after, Interrupted: ctx.Err,
	})
	if err != nil {
		return nil, fmt.Errorf("deadline: simulate each job of %s alone: %w", twin.Workload, err)
	}
	list, first := make([]int64, len(r.Jobs)), map[string]int64{}
	for i, j := range r.Jobs {
		name := twin.Jobs[i].Name
		if _, seen := first[name]; !seen {
			first[name] = w.Deadline.Multiple(time.Duration(j.EndMs-j.SubmitMs) * time.Millisecond).Milliseconds()
		}
		if list[i] = first[name]; j.EndMs < 0 || j.Failed {
			return nil, fmt.Errorf("deadline: the time that job %s of %s takes alone is not known: it does not succeed alone; give a time after "+
				"the submission, such as 90s", input.Jobs[i].Job, twin.Workload)
		}
	}
	return list, nil
}

// inputOf returns a trace that has a twin's jobs and their input, on a cluster as its file
// describes it.
func inputOf(e *config.Experiment, c *config.Cluster, twin *workload.Twin) (*recorded.Trace, error) {
	h, events, err := placed(e, c, twin)
	if err != nil {
		return nil, err
	}
	return recorded.New(twin.Workload, h, slices.Values(events))
}

// placed returns the events of that trace and its header.
func placed(e *config.Experiment, c *config.Cluster, twin *workload.Twin) (h traces.Header, events []traces.Event, err error) {
	h, disk, err := workload.Cluster(c)
	if err == nil {
		disk.CachedReplicas = max(1, e.Cache.Replicas)
		events, err = twin.Events(&h.Cluster, disk, e.Seed)
	}
	return h, events, err
}

// deadlinesFile is the file of a run folder that has the deadlines that were computed
// when the run began, so that the trials of a run that is resumed have the same.
const deadlinesFile = "deadlines.json"

// deadlines are those of workloads whose deadlines are multiples of their jobs' times
// alone: by the workload's label, of each job, in ms.
type deadlines map[string][]int64

func ofAlone(w config.Workload) bool { return w.Deadline.OfAlone() }

// computeDeadlines simulates how long jobs take alone, for a run on a cluster.
func computeDeadlines(ctx context.Context, o *Options) (deadlines, error) {
	e, due := o.Experiment, deadlines{}
	for _, w := range e.Workloads {
		if !ofAlone(w) {
			continue
		}
		twin, err := workload.Of(w).Twin(ctx, e.Cache)
		if err != nil {
			return nil, fmt.Errorf("deadline: simulate the jobs of %s: %w", w.Label, err)
		}
		input, err := inputOf(e, o.Cluster, twin)
		if err != nil {
			return nil, fmt.Errorf("deadline: simulate the jobs of %s: %w", w.Label, err)
		}
		if due[w.Label], err = aloneDeadlines(ctx, o, &w, twin, input, o.Calibration); err != nil {
			return nil, err
		}
	}
	return due, nil
}

// write keeps the deadlines in a run's folder.
func (d deadlines) write(run *runs.Run) error {
	data, _ := json.MarshalIndent(d, "", "  ") // lists of numbers are always JSON
	return run.WriteFile(deadlinesFile, append(data, '\n'))
}

// readDeadlines reads the deadlines that a run on a cluster began with. It fails if the
// run does not have those of all the experiment's workloads that need them: another
// calibration would give other ones.
func readDeadlines(run *runs.Run, e *config.Experiment) (deadlines, error) {
	data, err := run.ReadFile(deadlinesFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("resume %s: the run did not record its deadlines, and its trials might get different ones; start a new run",
			run.Dir)
	} else if err != nil {
		return nil, err
	}
	var due deadlines
	if err := json.Unmarshal(data, &due); err != nil {
		return nil, fmt.Errorf("resume %s: read %s: %w", run.Dir, deadlinesFile, err)
	}
	for _, w := range e.Workloads {
		if list := due[w.Label]; ofAlone(w) && (len(list) == 0 || slices.Min(list) <= 0) {
			return nil, fmt.Errorf("resume %s: %s does not have the deadlines of %s; put the file back as it was, or start a new run",
				run.Dir, deadlinesFile, w.Label)
		}
	}
	return due, nil
}

// setDeadlines gives the jobs of a trial on a cluster their deadlines, which are multiples of
// the jobs' times alone.
func (t *trialRun) setDeadlines() error {
	w := t.plan.Workload
	due := t.options.deadlines[w.Label]
	if len(due) != len(t.submissions) {
		return fmt.Errorf("deadline: a run of %s has %d submissions, and %d times alone are known: its jobs run one after the other, or its "+
			"trace is another; give a time after the submission, such as 90s", w.Label, len(t.submissions), len(due))
	}
	for i := range t.submissions {
		t.submissions[i].Terms.DeadlineMs = due[i]
	}
	return nil
}
