package recorded

import "heddle/traces"

// Counts are figures of the attempts of a trace.
type Counts struct {
	Schedule traces.ScheduleDigest
	// Maps are the maps that succeeded, by how near they ran to a replica of their input.
	Maps [traces.LevelOff + 1]int
}

// counting makes Counts while a trace is read. Attempts of jobs that were not submitted
// before an event named a task of theirs do not count, nor do attempts from an end on that
// has no start.
type counting struct {
	Counts
	jobs, nodes []uint64 // hashes of the names, for the schedule
	unsubmitted map[int32]bool
	endedFirst  map[attemptKey]bool
}

// has reports whether attempts of a job count, when an event names a task of the job.
func (c *counting) has(job int32, submitted *Job) bool {
	if submitted == nil {
		if c.unsubmitted == nil {
			c.unsubmitted = map[int32]bool{}
		}
		c.unsubmitted[job] = true
	}
	return !c.unsubmitted[job]
}

// ended reports whether the end of an attempt counts. The argument a is the attempt, nil
// if it has not started.
func (c *counting) ended(key attemptKey, a *Attempt) bool {
	if a == nil {
		if c.endedFirst == nil {
			c.endedFirst = map[attemptKey]bool{}
		}
		c.endedFirst[key] = true
	}
	return !c.endedFirst[key]
}

func (c *counting) add(a *Attempt, end traces.Time) {
	c.Schedule.AddHashed(c.jobs[a.job], a.Kind, a.Index, a.number, c.nodes[a.node], a.Start, end)
	if a.Kind == traces.Map && a.Outcome == traces.Succeeded {
		c.Maps[a.replica]++
	}
}

// countsOfAll returns the counts of all attempts, those that still run included.
func (b *builder) countsOfAll() Counts {
	c := &b.counts
	for key, a := range b.others {
		if !c.unsubmitted[a.job] && !c.endedFirst[key] {
			c.add(a, traces.NoEnd)
		}
	}
	for job, lists := range b.tasks {
		for k := range lists {
			for _, t := range lists[k].tasks {
				if a := t.running; a != nil && !c.unsubmitted[int32(job)] && !c.endedFirst[attemptKey{taskKey{a.job, a.Index, a.Kind}, a.number}] {
					c.add(a, traces.NoEnd)
				}
			}
		}
	}
	return c.Counts
}
