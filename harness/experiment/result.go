package experiment

import (
	"heddle/harness/measure"
	"heddle/harness/workload"
	"heddle/traces"
)

// Result is the result of a trial. It is stored in the file result.json beside
// the trial's trace.
type Result struct {
	Trial    string `json:"trial"`
	Workload string `json:"workload"`
	Model    string `json:"model"`
	Repeat   int    `json:"repeat"`
	// Seed is the seed of the trial's random numbers, if it differs from the
	// run's seed.
	Seed uint64 `json:"seed,omitempty"`
	// InputBytes is the total length of the trial's input files.
	InputBytes int64       `json:"inputBytes"`
	Jobs       []JobResult `json:"jobs,omitempty"`
	// MakespanMs is the time from the first submission of a job to the end of
	// the last job.
	MakespanMs int64 `json:"makespanMs"`
	// OthersCores is how many cores other programs used on average while the jobs
	// ran, if the cluster runs on this machine. It is nil if it has machines of its
	// own, or if it was not measured.
	OthersCores *float64 `json:"othersCores,omitempty"`
	// Figures are what was computed from the trial's trace, such as locality.
	// They are set only if the trace is not kept.
	Figures *measure.Figures `json:"figures,omitempty"`
	// Cache says how much of the input was in the HDFS cache. It is nil if
	// nothing was to be cached.
	Cache *CacheResult `json:"cache,omitempty"`
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

// Completion returns the completion times of the trial's jobs. It counts those
// that YARN refused, of which no trace knows.
func (r *Result) Completion() measure.Completion {
	if r.Figures != nil {
		return r.Figures.Completion()
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
func (r *Result) WithTimes(m *measure.Figures) *measure.Figures {
	f := *m
	f.MakespanMs = float64(r.MakespanMs)
	if len(r.Jobs)+len(r.FailedJobs) > 0 {
		f.SetCompletion(r.Completion())
	}
	return &f
}

// JobResult is the result of one job of a trial.
type JobResult struct {
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
