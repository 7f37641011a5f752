// Package explain says where the time of a run and of its jobs went: which seconds of the
// makespan were the tasks' own work, and which went into waiting, slow nodes, attempts that
// ran again, and so on.
//
// It walks from the end of the job that ended last backwards: from an attempt to what it
// waited for, which is an earlier attempt of the job, the attempt that held the container,
// the map whose output was missing, or the ApplicationMaster. So it finds one chain of things that
// had to happen one after the other, the critical path, and each second of the makespan has
// exactly one cause. In the same way it explains the completion time of each job alone; there,
// time in which another job held the containers is that job's.
//
// The package is pure: a trace in, an Explanation out.
package explain

import (
	"cmp"
	"slices"

	"heddle/traces"
)

// Cause is what a second was spent on.
type Cause string

// The causes. Those before ownWork are what something could be done about.
const (
	reducesHold   Cause = "reducesHold"   // reduces of a job hold containers that its maps wait for
	othersHold    Cause = "othersHold"    // other jobs hold the containers; only of single jobs
	masterWait    Cause = "masterWait"    // a job waits for its ApplicationMaster, longer than a start takes
	kept          Cause = "kept"          // a node has room, and the waiting task does not get it
	slowNode      Cause = "slowNode"      // a node is slower than the others
	farRead       Cause = "farRead"       // a map reads from further away than others: from another node, or from a disk and not the cache
	skew          Cause = "skew"          // a task has more to read than the others
	disk          Cause = "disk"          // disks are read as fast as they can
	link          Cause = "link"          // so are links
	cores         Cause = "cores"         // more attempts than cores
	failed        Cause = "failed"        // attempts that failed
	nodeLost      Cause = "nodeLost"      // attempts and output lost with a node
	preempted     Cause = "preempted"     // attempts that YARN killed for another job
	speculation   Cause = "speculation"   // a slow attempt, until another one replaced it, or one that was replaced
	killed        Cause = "killed"        // attempts that were killed for other reasons
	masterLost    Cause = "masterLost"    // an ApplicationMaster was lost, and another one started
	ownWork       Cause = "work"          // what tasks must take
	masterStart   Cause = "masterStart"   // the start of an ApplicationMaster
	handOver      Cause = "handOver"      // heartbeats and launches, from room for a container until a task runs in it
	jobEnd        Cause = "jobEnd"        // from a job's last task to its end
	submittedLate Cause = "submittedLate" // nothing to do yet: the job was not submitted
	askedLate     Cause = "askedLate"     // an ApplicationMaster that is up does not ask for a task yet
	slower        Cause = "slower"        // an attempt is slower than the others, and it is not known why
	unknown       Cause = "unknown"       // the trace does not tell
)

// Ns is a span of time in ns. As JSON it is a number of seconds.
type Ns traces.Time

// Explanation says where the makespan of a run went, and the time of its jobs. Text of a trace
// stands in it as it is in the trace: whoever prints it must escape it.
type Explanation struct {
	// Makespan is the time from the first submission to the last end of a job. It is the sum
	// of the Lines.
	Makespan Ns     `json:"makespanSeconds"`
	Lines    []Line `json:"lines"`
	// All has what all jobs took, added up, from submission to end: where that went for each alone.
	All *Job `json:"allJobs,omitempty"`
	// Jobs are those that took the longest time, and More is how many others there are.
	Jobs []Job `json:"jobs,omitempty"`
	More int   `json:"moreJobs,omitempty"`
	// Unknown lists, in sentences, what the trace does not tell.
	Unknown []string `json:"unknown,omitempty"`
	// Spark is true if applications of Spark ran.
	Spark bool `json:"spark,omitempty"`
	// Steps are the pieces of the critical path, from the end of the run to its begin.
	Steps []Step `json:"-"`
	// Begin is when the run began, by the trace's clock.
	Begin traces.Time `json:"-"`
}

// Job says where the time of a job went, from its submission to its end.
type Job struct {
	ID         traces.JobID `json:"job,omitempty"`
	Name       string       `json:"name,omitempty"`
	Completion Ns           `json:"completionSeconds"`
	Lines      []Line       `json:"lines"`
	Steps      []Step       `json:"-"`
	Begin      traces.Time  `json:"-"`
}

// Line is a cause with all of its time.
type Line struct {
	Cause   Cause   `json:"cause"`
	Seconds Ns      `json:"seconds"`
	Share   float64 `json:"sharePct"`
	// Sentence says what happened, and Change which key or setting would change it.
	Sentence string `json:"sentence"`
	Change   string `json:"change,omitempty"`
	// Inherent is true for what must be, such as the tasks' own work.
	Inherent bool `json:"inherent,omitempty"`
	// Ask is an attempt of which "heddle trace why" can say more; empty: none.
	Ask string `json:"ask,omitempty"`
}

// Step is a piece of a critical path with one cause.
type Step struct {
	From, To traces.Time
	Cause    Cause
	Job      traces.JobID
	Attempt  traces.Attempt // that ran or waited; its job is empty if there is none
	Node     traces.Node    // on which it ran
	// Other is the attempt that held the container, or that was replaced.
	Other traces.Attempt
	// Typical is what such an attempt takes elsewhere, or with less to read.
	Typical traces.Time
	// Load is how many attempts ran on how many Cores, or what was read in bytes per second.
	Load, Cores float64
	ran         *sparkTask // of Spark; nil: none
}

// mostJobs is how many jobs an Explanation has.
const mostJobs = 20

// Explain explains what was read. ok is false if no job of the trace ended.
func (w *Reader) Explain() (x *Explanation, ok bool) {
	last := w.finish()
	if last == nil {
		return nil, false
	}
	x = &Explanation{Makespan: Ns(last.ended - w.begin), Begin: w.begin, Unknown: w.unknown(), Spark: w.sparked()}
	x.Steps, x.Lines = w.path(last, w.begin, nil)
	list := slices.DeleteFunc(slices.Clone(w.order), func(j *job) bool { return j.ended == -never || j.ended < j.submitted })
	slices.SortStableFunc(list, func(a, b *job) int { return cmp.Compare(b.ended-b.submitted, a.ended-a.submitted) })
	all := Job{}
	for i, j := range list {
		y := Job{ID: j.id, Name: j.name, Completion: Ns(j.ended - j.submitted), Begin: j.submitted}
		y.Steps, y.Lines = w.path(j, j.submitted, j)
		all.Completion, all.Steps = all.Completion+y.Completion, append(all.Steps, y.Steps...)
		if i < mostJobs {
			x.Jobs = append(x.Jobs, y)
		}
	}
	x.More = len(list) - len(x.Jobs)
	if len(list) > 1 {
		all.Lines = w.lines(all.Steps, all.Completion)
		x.All = &all
	}
	return x, true
}

// path returns the critical path from the end of a job back to a time, through all jobs or only one.
func (w *Reader) path(j *job, from traces.Time, only *job) ([]Step, []Line) {
	w.walks++
	k := walk{w: w, at: j.ended, floor: from, only: only, id: w.walks}
	k.job(j)
	return k.steps, w.lines(k.steps, Ns(j.ended-from))
}
