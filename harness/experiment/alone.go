package experiment

import (
	"context"
	"fmt"
	"slices"
	"time"

	"heddle/harness/config"
	"heddle/harness/replay"
	"heddle/harness/replay/calibration"
	"heddle/harness/replay/recorded"
	"heddle/harness/workload"
	"heddle/traces"
)

// aloneTimes returns how long each of a twin's jobs takes alone on the cluster: from
// its submission to its end, with fifo as the cluster's own scheduler. There are no
// faults, no other load and no chance in the times, so that deadlines do not differ
// between repeats and models. One simulation has all jobs, each submitted after the end
// of the one before. Jobs of a workload with the same name are equal, and have the
// time of the first: when heartbeats come makes some difference.
func aloneTimes(ctx context.Context, e *config.Experiment, twin *workload.Twin, input *recorded.Trace, costs *calibration.Calibration) ([]time.Duration, error) {
	after := map[traces.JobID]traces.JobID{}
	for i := 1; i < len(input.Jobs); i++ {
		after[input.Jobs[i].Job] = input.Jobs[i-1].Job
	}
	r, _, err := replay.Run(&replay.Config{
		Trace: input, Model: config.Model{Model: "fifo"}, Actuator: config.ActuatorNone, Seed: e.Seed,
		Change:      recorded.Change{MapSlots: e.MapSlots, ReduceSlots: e.ReduceSlots},
		Calibration: costs, Modelled: true, Work: twin.Work(), After: after, Fetches: e.Fetches, Interrupted: ctx.Err,
	})
	if err != nil {
		return nil, fmt.Errorf("deadline: simulate each job of %s alone: %w", twin.Workload, err)
	}
	list, first := make([]time.Duration, len(r.Jobs)), map[string]time.Duration{}
	for i, j := range r.Jobs {
		name := twin.Jobs[i].Name
		if _, seen := first[name]; !seen {
			first[name] = time.Duration(j.EndMs-j.SubmitMs) * time.Millisecond
		}
		if list[i] = first[name]; j.EndMs < 0 || j.Failed {
			return nil, fmt.Errorf("deadline: the time that job %s of %s takes alone is not known: it does not succeed alone; give a time after the submission, such as 90s", input.Jobs[i].Job, twin.Workload)
		}
	}
	return list, nil
}

// inputOf returns a trace that has a twin's jobs and their input, on a cluster as its file
// describes it.
func inputOf(e *config.Experiment, c *config.Cluster, twin *workload.Twin) (*recorded.Trace, error) {
	h, disk, err := workload.Cluster(c)
	if err != nil {
		return nil, err
	}
	disk.CachedReplicas = max(1, e.Cache.Replicas)
	events, err := twin.Events(&h.Cluster, disk, e.Seed)
	if err != nil {
		return nil, err
	}
	return recorded.New(twin.Workload, h, slices.Values(events))
}

// setDeadlines gives the jobs of a trial on a cluster their deadlines, if these are
// multiples of the jobs' times alone: a simulation says how long they take.
func (t *trialRun) setDeadlines(ctx context.Context) error {
	w, e := t.plan.Workload, t.options.Experiment
	if !w.Deadline.OfAlone() {
		return nil
	}
	twin, err := workload.Of(w).Twin(ctx, e.Cache)
	if err != nil {
		return fmt.Errorf("deadline: simulate the jobs of %s: %w", w.Label, err)
	}
	if len(twin.Jobs) != len(t.submissions) {
		return fmt.Errorf("deadline: a run of %s is several jobs one after the other, and their times alone are not one; give a time after the submission, such as 90s", w.Label)
	}
	input, err := inputOf(e, t.options.Cluster, twin)
	if err != nil {
		return fmt.Errorf("deadline: simulate the jobs of %s: %w", w.Label, err)
	}
	alone, err := aloneTimes(ctx, e, twin, input, t.options.Calibration)
	if err != nil {
		return err
	}
	for i := range t.submissions {
		t.submissions[i].Terms.DeadlineMs = w.Deadline.Multiple(alone[i]).Milliseconds()
	}
	return nil
}
