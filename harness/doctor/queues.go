package doctor

import (
	"fmt"
	"math"
	"slices"

	"heddle/harness/doc"
	"heddle/harness/queues"
	"heddle/harness/state"
	"heddle/traces/printable"
)

// Queues is what is wrong in a capacity-scheduler.xml. Its JSON keys are stable.
type Queues struct {
	// Refused is why no ResourceManager starts with the file.
	Refused  string    `json:"refused,omitempty"`
	Findings []Finding `json:"findings"`
	// NotSimulated are the keys that heddle's simulated scheduler does not follow.
	NotSimulated []queues.Key `json:"notSimulated"`
}

// Finding is what a file of queues says of one queue that may not be what is meant.
type Finding struct {
	Queue string `json:"queue"`
	Key   string `json:"key"`
	Says  string `json:"says"`
}

// ExamineQueues says what is wrong in a file of queues, or why it could not be read.
func ExamineQueues(f *queues.File, err error) *Queues {
	r := &Queues{Findings: []Finding{}, NotSimulated: []queues.Key{}}
	if err != nil {
		r.Refused = err.Error()
		return r
	}
	for _, k := range f.NotSimulated {
		if !k.Unknown {
			r.NotSimulated = append(r.NotSimulated, k)
		} else {
			r.Findings = append(r.Findings, Finding{Key: k.Name, Says: k.Why})
		}
	}
	const cluster = 1 << 30 // so many MB that shares of it are exact
	shares := f.Shares(state.Resource{MemoryMB: cluster, VCores: cluster}, "")
	for q := range f.All() {
		add := func(key, format string, args ...any) {
			r.Findings = append(r.Findings, Finding{q.Path, q.Path + "." + key, fmt.Sprintf(format, args...)})
		}
		r.capacities(q, add)
		if len(q.Children) == 0 {
			jobs(f, q, &shares[q.Index], add)
			if q.Capacity.Mode != queues.Absolute {
				users(q, &shares[q.Index], float64(shares[q.Index].Most.MemoryMB)/cluster, add)
			}
		}
	}
	r.preemption(f)
	return r
}

// preemption says why nothing is preempted though the file switches it on.
func (r *Queues) preemption(f *queues.File) {
	const key = "yarn.resourcemanager.monitor.capacity.preemption."
	add := func(key, says string) {
		r.Findings = append(r.Findings, Finding{"root", key, "nothing is preempted: " + says})
	}
	switch p := &f.Preemption; {
	case !p.Enabled:
	case p.ObserveOnly:
		add(key+"observe_only", "the ResourceManager only logs what it would take")
	case p.PerRound <= 0:
		add(key+"total_preemption_per_round", "a round may take no part of the cluster")
	case !slices.ContainsFunc(f.Leaves(), func(q *queues.Queue) bool { return !q.NoPreemption }):
		add("root.disable_preemption", "it is disabled for all queues")
	case p.Within && p.UsersFirst:
		for _, q := range f.Leaves() {
			if q.UserLimit >= 100 && len(q.UserWeights) == 0 && !q.NoPreemption && !q.NoPreemptionWithin {
				r.Findings = append(r.Findings, Finding{q.Path, q.Path + ".minimum-user-limit-percent", "nothing is preempted within the queue: " +
					"with 100 no user has more than the limit, and userlimit_first takes from no other; priority_first does"})
			}
		}
	}
}

type adds func(key, format string, args ...any)

// capacities looks at what a queue is guaranteed and may have at most.
func (*Queues) capacities(q *queues.Queue, add adds) {
	least, most := q.Capacity, q.MaxCapacity
	switch {
	case q.Stopped:
		add("state", "the queue is STOPPED: it takes no jobs")
	case least.Mode == queues.Percent && most.Mode == queues.Percent && most.Value < least.Value:
		add("maximum-capacity", "%v percent is below its capacity of %v: it never gets what it is guaranteed", most.Value, least.Value)
	case q.Parent != nil && least.Mode != queues.Absolute && least.Value == 0:
		add("capacity", "it is guaranteed nothing: its jobs run only on what other queues leave")
	}
	if q.Priority != 0 && q.Parent != nil && !q.Parent.ByPriority {
		add("priority", "it does nothing: the ordering-policy of %s is utilization, want priority-utilization", q.Parent.Path)
	}
}

// jobs looks at how many jobs of a queue may run and wait.
func jobs(f *queues.File, q *queues.Queue, s *queues.Share, add adds) {
	const masterGB, little = 1.5, 0.01 // of MapReduce's ApplicationMasters as they ship
	share := float64(q.AMPercent) * float64(s.Part)
	switch {
	case q.Capacity.Mode == queues.Absolute:
		if n := int(float64(q.AMPercent) * float64(q.Capacity.Absolute.MemoryMB) / 1024 / masterGB); n < 2 {
			add("maximum-am-resource-percent", "within its guarantee of %d MB, one job at a time has room for its ApplicationMaster of %v GB",
				q.Capacity.Absolute.MemoryMB, masterGB)
		}
	case share > 0 && share < little:
		add("maximum-am-resource-percent", "ApplicationMasters get %.3g of its %.3g percent of the cluster: within its guarantee, "+
			"a second one of %v GB needs a cluster of %.0f GB, else one job runs at a time", q.AMPercent, 100*s.Part, masterGB,
			math.Ceil(2*masterGB/share))
	}
	most := q.MaxApplications
	if most < 0 {
		most = int(float32(f.MaxApplications) * s.Part)
	}
	if perUser := int(float32(most) * q.UserLimit / 100 * q.UserLimitFactor); q.UserLimitFactor != -1 && perUser < 1 {
		add("maximum-applications", "it takes %d jobs, and of them of one user as large a share as of the queue: none, so all are refused", most)
	}
}

// users looks at what users may have of a queue that may have so much of the cluster at most.
func users(q *queues.Queue, s *queues.Share, most float64, add adds) {
	one := float64(q.UserLimitFactor) * float64(s.Part)
	const close = 1e-5 // shares are of single precision
	switch {
	case q.UserLimitFactor < 0 && q.UserLimitFactor != -1:
		add("user-limit-factor", "%v is below 0: users get one container at a time; -1 is no limit", q.UserLimitFactor)
	case s.Part == 0 || q.UserLimitFactor == -1:
	case one < most-close:
		add("user-limit-factor", "one user gets at most %.3g percent of the cluster, %v times its capacity: only several reach the "+
			"maximum-capacity of %.3g percent", 100*one, q.UserLimitFactor, 100*most)
	case q.UserLimitFactor > 1 && one > most+close && q.UserLimitFactor < 10:
		add("user-limit-factor", "%v times its capacity is %.3g percent of the cluster, which no user reaches: the queue may have %.3g at most",
			q.UserLimitFactor, 100*one, 100*most)
	}
	if q.UserLimit <= 0 || q.UserLimit > 100 {
		add("minimum-user-limit-percent", "%v is outside 1 to 100", q.UserLimit)
	}
}

// Doc returns what was found for people to read.
func (r *Queues) Doc() doc.Doc {
	if r.Refused != "" {
		return doc.Doc{doc.Text("No ResourceManager starts with this file. " + r.Refused)}
	}
	found := printable.Count(len(r.Findings), "thing")
	d := doc.Doc{doc.Text("A ResourceManager starts with this file. " + found + " may not be what is meant.")}
	if len(r.Findings) > 0 {
		t := doc.NewTable("findings", "key", "what it does")
		for _, f := range r.Findings {
			t.Add(f.Key, f.Says)
		}
		d = append(d, t)
	}
	if len(r.NotSimulated) > 0 {
		t := doc.NewTable("notSimulated", "key", "value", "not simulated, because")
		for _, k := range r.NotSimulated {
			t.Add(k.Name, k.Value, k.Why)
		}
		d = append(d, doc.Heading("Keys that heddle does not simulate"), t)
	}
	return d
}
