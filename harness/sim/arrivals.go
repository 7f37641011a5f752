package sim

import (
	"fmt"
	"slices"

	"heddle/harness/sim/kernel"
	"heddle/harness/state"
	"heddle/traces"
)

// arrivals are the jobs that are still to be submitted: those of Config.Source, which come at
// known times, and followers.
type arrivals struct {
	source    Source
	events    *kernel.Events
	jobs      *jobs
	coming    Job        // the job of Source that will be submitted next
	comes     int64      // the time of that; Never if Source has no job left
	taken     bool       // the job in the field coming was submitted
	followers []follower // in the order in which they were read
}

// follower is a job that is submitted some time after another job has ended, like the
// second job of a program that runs two jobs one after the other.
type follower struct {
	job Job
	at  int64 // time of submission, in ms; Never until the other job has ended
}

// begin reads the first job of a source.
func (v *arrivals) begin(source Source, e *kernel.Events, b *jobs) error {
	v.source, v.events, v.jobs = source, e, b
	v.coming.SubmitMs, v.comes, v.taken, v.followers = 0, 0, true, nil
	return v.read()
}

// left reports whether a job is still to be submitted.
func (v *arrivals) left() bool { return v.comes != kernel.Never || len(v.followers) > 0 }

// take returns the job whose time of submission has come: the next of the source, or
// else the first such follower. The caller then calls read.
func (v *arrivals) take() *Job {
	now := v.events.Now
	if v.comes <= now {
		v.taken = true
		return &v.coming
	}
	i := slices.IndexFunc(v.followers, func(f follower) bool { return f.at <= now })
	f := v.followers[i]
	v.followers = slices.Delete(v.followers, i, i+1)
	f.job.SubmitMs = now
	return &f.job
}

// read reads the next job of the source if the last was taken, and checks that it is
// valid. It puts jobs that wait for other jobs aside.
func (v *arrivals) read() error {
	for j := &v.coming; v.taken; {
		before := j.SubmitMs
		if v.taken = v.source.Next(j); !v.taken {
			v.comes = kernel.Never
			break
		}
		if err := j.check(); err != nil {
			return err
		}
		if j.SubmitMs < before {
			return fmt.Errorf("job %q is submitted at %d ms, before the job in front of it at %d ms: sort jobs by time", j.Name, j.SubmitMs, before)
		}
		if v.comes = j.SubmitMs; j.After == "" {
			v.taken = false
		} else {
			v.putAside(j)
		}
	}
	v.await()
	return nil
}

// putAside makes a follower of a job.
func (v *arrivals) putAside(j *Job) {
	f := follower{*j, kernel.Never}
	waits := slices.ContainsFunc(v.followers, func(f follower) bool { return idOf(&f.job) == j.After })
	if !waits && !v.jobs.has(j.After) {
		f.at = max(j.SubmitMs, v.events.Now)
	}
	x := &f.job // copy what the source may use again for its next job
	x.MapWork, x.ReduceWork = slices.Clone(x.MapWork), slices.Clone(x.ReduceWork)
	x.Spread = [2][]Ratio{slices.Clone(x.Spread[0]), slices.Clone(x.Spread[1])}
	x.Replicas, x.Cached = cloned(&x.Replicas), cloned(&x.Cached)
	if x.SplitHosts != nil {
		hosts := cloned(x.SplitHosts)
		x.SplitHosts = &hosts
	}
	x.Blocks, x.Pasts, x.ReduceAskMs = slices.Clone(x.Blocks), slices.Clone(x.Pasts), slices.Clone(x.ReduceAskMs)
	x.ReduceShares = slices.Clone(x.ReduceShares)
	v.followers = append(v.followers, f)
}

func cloned(h *state.Hosts) state.Hosts {
	return state.Hosts{Nodes: slices.Clone(h.Nodes), Ends: slices.Clone(h.Ends)}
}

// idOf returns the job's id in the simulation's trace.
func idOf(x *Job) traces.JobID {
	if x.ID == "" {
		return traces.JobID(x.Name)
	}
	return x.ID
}

// release sets the times of submission of those jobs that waited for the end of
// the job with the given id.
func (v *arrivals) release(id traces.JobID) {
	for i := range v.followers {
		if f := &v.followers[i]; f.job.After == id && f.at == kernel.Never {
			f.at = v.events.Now + f.job.AfterMs
		}
	}
	v.await()
}

// await tells the kernel when the next job will be submitted.
func (v *arrivals) await() {
	at := v.comes
	for i := range v.followers {
		at = min(at, v.followers[i].at)
	}
	v.events.SetArrival(at)
}

// check reports what is wrong with a job that cannot be simulated.
func (j *Job) check() error {
	for k, list := range [2][]Work{j.MapWork, j.ReduceWork} {
		n := [2]int32{j.Maps, j.Reduces}[k]
		if n > 0 && (len(list) == 0 || len(list) > int(n)) {
			return fmt.Errorf("job %q: work is given for %d %ss: it must be for 1 to %d", j.Name, len(list), state.Kind(k), n)
		}
		for i := range list {
			if w := &list[i]; w.InputBytes < 0 || w.OutputBytes < 0 || w.ComputeMs < 0 || w.FixedMs < 0 {
				return fmt.Errorf("job %q: the work of %s %d has a negative number: %+v", j.Name, state.Kind(k), i, *w)
			} else if w.SpreadPercent > 100 {
				return fmt.Errorf(
					"job %q: the work of %s %d differs by up to %d %%: it must be at most 100, or it would take less than no time",
					j.Name,
					state.Kind(k),
					i,
					w.SpreadPercent,
				)
			} else if w.CoresPercent > 100 {
				return fmt.Errorf(
					"job %q: %s %d uses %d %% of a core: it must be at most 100, as a task has one thread that computes",
					j.Name,
					state.Kind(k),
					i,
					w.CoresPercent,
				)
			}
		}
	}
	if j.SubmitMs < 0 {
		return fmt.Errorf("job %q is submitted at %d ms: it must be 0 or more", j.Name, j.SubmitMs)
	}
	if j.SlowStart > 1 {
		return fmt.Errorf("job %q: its reduces start after %g of its maps: it must be at most 1, or they never start", j.Name, j.SlowStart)
	}
	if j.AfterMs < 0 {
		return fmt.Errorf("job %q is submitted %d ms after job %s: it must be 0 or more", j.Name, j.AfterMs, j.After)
	}
	return nil
}
