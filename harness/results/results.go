// Package results has what the trials of runs gave: the result of each trial, with its
// figures, as run folders keep them, and ways to choose among them. Comparisons,
// papers and exports read runs by it. It makes no result: trials on a cluster and
// simulations do.
package results

import (
	"fmt"

	"heddle/harness/config"
	"heddle/harness/measure"
	"heddle/harness/workload"
	"heddle/traces"
	"heddle/traces/printable"
)

// Trial is the result of a trial. It is stored in the file result.json beside
// the trial's trace.
type Trial struct {
	Name     string `json:"trial"`
	Workload string `json:"workload"`
	Model    string `json:"model"`
	// Params are the scheduler model's parameters, and Reading names the reading of a
	// paper, in runs whose trials say so.
	Params  map[string]string `json:"params,omitempty"`
	Reading string            `json:"reading,omitempty"`
	Repeat  int               `json:"repeat"`
	// World says where the trial ran, if not where the run's other trials did: a
	// trace that stands beside its replays may be of a cluster.
	World string `json:"world,omitempty"`
	// Seed is the seed of the trial's random numbers, if it differs from the
	// run's seed.
	Seed uint64 `json:"seed,omitempty"`
	// StateOf names the trial at whose end the model knew what it knew at this one's
	// beginning. It is empty if the model began afresh.
	StateOf string `json:"stateOf,omitempty"`
	// InputBytes is the total length of the trial's input files.
	InputBytes int64 `json:"inputBytes"`
	Jobs       []Job `json:"jobs,omitempty"`
	// MakespanMs is the time from the first submission of a job to the end of
	// the last job.
	MakespanMs int64 `json:"makespanMs"`
	// StarvedMs is how long reduces held all slots while maps of their own jobs waited.
	StarvedMs float64 `json:"starvedMs,omitempty"`
	// OthersCores is how many cores other programs used on average while the jobs
	// ran, if the cluster runs on this machine. It is nil if it has machines of its
	// own, or if it was not measured.
	OthersCores *float64 `json:"othersCores,omitempty"`
	// Figures are what was computed from the trial's trace, such as locality.
	// They are set only if the trace is not kept.
	Figures *measure.Figures `json:"figures,omitempty"`
	// Later has the figures of what ran after that, if the trial is of several stages
	// that run one after the other, such as the jobs of a query.
	Later []*measure.Figures `json:"laterStages,omitempty"`
	// Held is what the trial of a sweep says of each of its thresholds.
	Held []Held `json:"held,omitempty"`
	// Cache says how much of the input was in the HDFS cache. It is nil if
	// nothing was to be cached.
	Cache *Cache `json:"cache,omitempty"`
	// Plan says how many maps ran on the node that the scheduler model planned
	// for them. It is nil unless the model chose the hosts of the splits.
	Plan *measure.Plan `json:"plan,omitempty"`
	// Notes are the scheduler model's own figures, such as learned delays. They
	// are nil if the model has none.
	Notes map[string]float64 `json:"notes,omitempty"`
	// Achieved compares what the jobs did with what they were asked to do. It is
	// nil for workloads that ask for nothing in particular.
	Achieved *workload.Achieved `json:"achieved,omitempty"`
	// Checked names, in words, what was compared to check the jobs' outputs.
	Checked []string `json:"checked,omitempty"`
	// Reports are HiBench's own report lines, if HiBench's scripts ran the
	// jobs.
	Reports  []string `json:"hibenchReports,omitempty"`
	Warnings []string `json:"warnings,omitempty"`
	// FailedJobs names the jobs that failed, in the order of their submission.
	FailedJobs []FailedJob `json:"failedJobs,omitempty"`
}

// Held is what a trial says of a threshold of its sweep.
type Held struct {
	// Value is that of the threshold's metric, with the ends of its interval if there is one; empty if
	// it is not known. Over is what the interval is from, such as 7 days.
	Value   []float64 `json:"value,omitempty"`
	Over    string    `json:"over,omitempty"`
	Refused int       `json:"refused,omitempty"` // jobs that it is about and YARN refused
}

// Starved says of the trials of each workload what measure.StarvedText says of them.
func Starved(trials []Trial) (list []string) {
	var labels []string
	by := map[string][]*measure.Figures{}
	for _, r := range trials {
		if by[r.Workload] == nil {
			labels = append(labels, r.Workload)
		}
		by[r.Workload] = append(by[r.Workload], &measure.Figures{Model: r.Model, StarvedMs: r.StarvedMs, MakespanMs: float64(r.MakespanMs)})
	}
	for _, label := range labels {
		if text := measure.StarvedText(by[label]...); text != "" {
			list = append(list, label+": "+text)
		}
	}
	return list
}

// Completion returns the completion times of the trial's jobs. It counts those
// that YARN refused, of which no trace knows.
func (r *Trial) Completion() measure.Completion {
	if r.Figures != nil {
		return measure.CompletionOf(append([]*measure.Figures{r.Figures}, r.Later...)...)
	}
	var c measure.Completion
	for _, j := range r.Jobs {
		c.Add(j.Outcome == traces.Succeeded.String(), float64(j.CompletionMs))
	}
	for _, f := range r.FailedJobs {
		if f.ID == "" {
			c.Add(false, 0)
		}
	}
	return c
}

// WithTimes returns the figures of the trial's trace with the jobs' times of the
// result, which knows of jobs that were refused.
func (r *Trial) WithTimes(m *measure.Figures) *measure.Figures {
	f := *m
	f.MakespanMs = float64(r.MakespanMs)
	if len(r.Jobs)+len(r.FailedJobs) > 0 {
		f.SetCompletion(r.Completion())
	}
	return &f
}

// Job is the result of one job of a trial.
type Job struct {
	ID      traces.JobID `json:"id"`
	Name    string       `json:"name"`
	Outcome string       `json:"outcome"`
	// CompletionMs is the time from the job's submission to its end, by the
	// clocks of Hadoop's daemons.
	CompletionMs int64 `json:"completionMs"`
	// YarnMs is the time from the job's submission to its end as the
	// ResourceManager says. It counts the end of the ApplicationMaster too. It is
	// 0 in virtual time.
	YarnMs int64 `json:"yarnMs,omitempty"`
}

// FailedJob is a job of a trial that failed. Other programs may rely on its
// JSON keys.
type FailedJob struct {
	// Name is the job's name in the workload, such as its id in a trace that is
	// replayed. ID is empty if YARN did not even store the job.
	Name string       `json:"name"`
	ID   traces.JobID `json:"id,omitempty"`
	// Outcome is "failed", "killed" or "refused".
	Outcome string `json:"outcome"`
	// Why is the first line of what YARN says of it.
	Why string `json:"why"`
}

func (f FailedJob) String() string {
	name := printable.Line(f.Name)
	if id := string(f.ID); id != "" && id != name {
		name += " (" + id + ")"
	}
	return fmt.Sprintf("%s %s: %s", name, f.Outcome, f.Why)
}

// Cache says how much of a trial's input was in the HDFS cache.
type Cache struct {
	// Files is how many of the InputFiles were to be cached. Replicas is how
	// many replicas of each block are cached. The seed and
	// [workload.ChooseFiles] decide which files.
	Files      int    `json:"files"`
	InputFiles int    `json:"inputFiles"`
	Replicas   int    `json:"replicas"`
	Seed       uint64 `json:"seed"`
	// BytesAsked is the total length of the blocks to be cached. BytesCached is
	// the length of the blocks that had all their cached replicas when the jobs
	// began. BytesCachedEnd is the same for the time when the jobs had ended.
	// Each block counts once, whatever its number of replicas.
	BytesAsked     int64 `json:"bytesAsked"`
	BytesCached    int64 `json:"bytesCached"`
	BytesCachedEnd int64 `json:"bytesCachedEnd"`
	// Fraction is BytesCached divided by the length of the whole input, 0 to 1.
	Fraction float64 `json:"fraction"`
}

// check returns an error if a result cannot be right, for example if it names
// another trial than the one in whose folder it was.
func (r *Trial) check(name string) error {
	if r.Name != name {
		return fmt.Errorf("trial: %q, but the folder is that of trial %s", r.Name, name)
	}
	if is := config.TrialName(r.Repeat, r.Workload, r.Model); is != name {
		return fmt.Errorf("repeat %d, workload %q and model %q belong to trial %q", r.Repeat, r.Workload, r.Model, is)
	}
	if r.MakespanMs < 0 {
		return fmt.Errorf("makespanMs: %d: want 0 or more", r.MakespanMs)
	}
	if r.InputBytes < 0 {
		return fmt.Errorf("inputBytes: %d: want 0 or more", r.InputBytes)
	}
	seen := map[traces.JobID]bool{}
	for i, j := range r.Jobs {
		if j.CompletionMs < 0 {
			return fmt.Errorf("jobs[%d].completionMs: %d: want 0 or more", i, j.CompletionMs)
		}
		if seen[j.ID] {
			return fmt.Errorf("jobs[%d].id: %s occurs twice", i, j.ID)
		}
		seen[j.ID] = true
	}
	return nil
}
