package measure

import "heddle/traces"

// offered adds up the memory that the workers have for containers, times the
// time for which they have it, from the first submission to the end of the
// last job. The capacity of nodes may change in between.
type offered struct {
	begun   bool
	changed bool        // the capacity of some node has changed
	mib     int64       // memory of all workers at present, in MiB
	since   traces.Time // time up to which sum has been computed
	sum     float64     // memory times time since the first submission, in MiB times ms
	mibMs   float64     // sum at the end of the last job that has ended
}

// change records the memory of a node from the time t on.
func (o *offered) change(n *Node, mib int64, t traces.Time) {
	o.upTo(t)
	o.changed = true
	o.mib += mib - n.mib
	n.mib = mib
}

// begin records a submission. The first one begins the sum.
func (o *offered) begin(t traces.Time) {
	if !o.begun {
		o.begun, o.since = true, t
	}
}

// end records the end of a job.
func (o *offered) end(t traces.Time) {
	o.upTo(t)
	o.mibMs = o.sum
}

func (o *offered) upTo(t traces.Time) {
	if o.begun && t > o.since {
		o.sum += float64(o.mib) * ms(t-o.since)
		o.since = t
	}
}
