package sim

import (
	"slices"

	"heddle/harness/sim/kernel"
	"heddle/harness/state"
	"heddle/traces"
)

// A follower is a job that is submitted some time after another job has ended,
// like the second job of a program that runs two jobs one after the other.

// follower is a job that waits for the end of another job.
type follower struct {
	job Job
	at  int64 // time of submission, in ms; never until the other job has ended
}

// follows puts the job that was just read from Config.Source aside if it waits
// for the end of another job, and reports whether it did.
func (s *Sim) follows() bool {
	j := &s.coming
	if j.After == "" {
		return false
	}
	f := follower{*j, kernel.Never}
	if !s.unfinished(j.After) {
		f.at = max(j.SubmitMs, s.events.Now)
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
	s.followers = append(s.followers, f)
	return true
}

func cloned(h *state.Hosts) state.Hosts {
	return state.Hosts{Nodes: slices.Clone(h.Nodes), Ends: slices.Clone(h.Ends)}
}

// unfinished reports whether the job with the given id waits for another job or
// has not ended.
func (s *Sim) unfinished(id traces.JobID) bool {
	return slices.ContainsFunc(s.followers, func(f follower) bool { return idOf(&f.job) == id }) ||
		slices.ContainsFunc(s.view.Active(), func(j state.JobID) bool { return s.jobs[s.slot[j]].name == id })
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
func (s *Sim) release(id traces.JobID) {
	for i := range s.followers {
		if f := &s.followers[i]; f.job.After == id && f.at == kernel.Never {
			f.at = s.events.Now + f.job.AfterMs
		}
	}
	s.awaitArrival()
}

// arrive submits the job whose time of submission has come: the next of
// Config.Source, or else the first of those that waited for another one, in the order in
// which they were read.
func (s *Sim) arrive() error {
	now := s.events.Now
	if s.comes <= now {
		if err := s.start(&s.coming); err != nil {
			return err
		}
		return s.fetchNext()
	}
	i := slices.IndexFunc(s.followers, func(f follower) bool { return f.at <= now })
	f := s.followers[i]
	s.followers = slices.Delete(s.followers, i, i+1)
	f.job.SubmitMs = now
	s.awaitArrival()
	return s.start(&f.job)
}

// awaitArrival tells the kernel when the next job will be submitted.
func (s *Sim) awaitArrival() {
	at := s.comes
	for i := range s.followers {
		at = min(at, s.followers[i].at)
	}
	s.events.SetArrival(at)
}
