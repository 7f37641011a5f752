// Package why says why each attempt of a task ran on its node: how near the node was to
// the attempt's input, which nodes were nearer and whether they were full, and what a
// scheduler model saw when it decided. It reads the events of a trace once, in order.
//
// A trace may say what a model saw: Decision.Seen of package traces. Then an Explanation has
// that. For other traces it says which nodes were full by where containers ran when the
// attempt started, and lists what is not known. YARN tells nobody why it chose a node.
//
// The package is pure, and its memory follows the jobs that have not ended, except that Read keeps all.
package why

import (
	"iter"

	"heddle/traces"
)

// Explanation is why an attempt ran where it ran, as data. Text of a trace stands in it as
// it is in the trace: whoever prints it must escape it.
type Explanation struct {
	Attempt traces.Attempt `json:"attempt"`
	Node    traces.Node    `json:"node"`
	Rack    string         `json:"rack,omitempty"`
	// Start is when the attempt was launched. If it never was, Unlaunched is true, and Start
	// is when the attempt ended.
	Start      Ms   `json:"startMs"`
	Unlaunched bool `json:"unlaunched,omitempty"`
	// Asked is since when a map had waited for its first container, nil if the trace does not
	// say. Of reduces the trace does not say when they were asked for.
	Asked *Ms `json:"askedMs,omitempty"`
	// Level is how near the node was to the input of a map. BySplit says that the trace tells
	// this by the hosts of the map's split only, and not by replicas and caches.
	Level   traces.Level `json:"level"`
	BySplit bool         `json:"bySplit,omitempty"`
	// Speculative is true for an attempt beside a slow one. Before is the attempt of the task
	// before this one, nil if there was none.
	Speculative bool    `json:"speculative,omitempty"`
	Before      *Before `json:"before,omitempty"`
	// Killed is when the attempt was killed, nil if it was not. KilledBy says by whom and by
	// which rule; empty if the trace does not tell.
	Killed   *Ms    `json:"killedMs,omitempty"`
	KilledBy string `json:"killedBy,omitempty"`
	// Nearer are the nodes that were nearer to the map's input than Node, with whether they
	// were full at the time Facts. MoreNearer counts those that are left out.
	Nearer     []Nearer `json:"nearer,omitempty"`
	MoreNearer int      `json:"moreNearer,omitempty"`
	Facts      Ms       `json:"factsMs"`
	// Seen is true if Nearer, and what is said of waits and other jobs, are what the model saw.
	// Otherwise Nearer is made of where containers ran.
	Seen bool `json:"seen"`
	// Decision is the model's decision that brought the attempt its container, nil if there
	// was none or if the trace does not say which.
	Decision *Decision `json:"decision,omitempty"`
	// Unknown lists, in sentences, what the trace does not tell.
	Unknown []string `json:"unknown,omitempty"`

	model      string
	byYARN     bool // the cluster's own scheduler chose, and no model decided
	namesSplit bool // Nearer are hosts of the map's split, which was rewritten, and not of its block
	hasInput   bool // the trace says where the map's input is
}

// Nearer is a node that was nearer to a map's input than the node on which it ran.
type Nearer struct {
	Node  traces.Node  `json:"node"`
	Level traces.Level `json:"level"`
	// Room is free, full, down or unknown.
	Room string `json:"room"`
	// Since is from when on the node was full or down; nil: not known.
	Since *Ms `json:"sinceMs,omitempty"`
	// Slots is true if a full node had no slot left for a map, though its memory and cores had
	// room: the header of the trace has mapSlots and reduceSlots.
	Slots bool `json:"slots,omitempty"`
	// Running is how many containers of tasks ran on the node; -1 if the model's view has it,
	// which does not count them.
	Running int `json:"running"`
}

// The values of Nearer.Room.
const (
	RoomFree    = "free"
	RoomFull    = "full"
	RoomDown    = "down"
	RoomUnknown = "unknown" // the trace does not say how much the node, or a container, has
)

// Before is the attempt of a task before another one.
type Before struct {
	Number  int32          `json:"number"`
	Node    traces.Node    `json:"node"`
	Outcome traces.Outcome `json:"outcome"` // Unfinished: it still ran
	End     *Ms            `json:"endMs,omitempty"`
	// KilledBy is as in Explanation.
	KilledBy string `json:"killedBy,omitempty"`
}

// Decision is what is known of the decision for an attempt.
type Decision struct {
	ID     int64  `json:"id"`
	At     Ms     `json:"atMs"`
	Reason string `json:"reason,omitempty"`
	Values string `json:"values,omitempty"`
	// Meant is the task that the decision was meant to start, nil if it is the attempt's task
	// or any of the job.
	Meant *traces.Task `json:"meant,omitempty"`
	// The rest is set if the trace has what the model saw; see traces.Seen.
	ViewAgeMs  int64              `json:"viewAgeMs,omitempty"`
	OneNode    bool               `json:"oneNode,omitempty"`
	Passed     []traces.PassedJob `json:"passed,omitempty"`
	MorePassed int32              `json:"morePassed,omitempty"`
	Waited     int64              `json:"waited,omitempty"`
	Limit      int64              `json:"limit,omitempty"`
	WaitUnit   traces.WaitUnit    `json:"waitUnit,omitzero"`
	Farthest   traces.Level       `json:"farthest,omitempty"`
}

// Ms is a time of a trace. As JSON it is a number of milliseconds.
type Ms traces.Time

// Each explains the attempts of a trace with the header h, one after the other. The events
// must come in the order of a finished trace. An attempt comes as soon as all that concerns
// it is known: when it has ended and the outcome of its decision is there, or at the end of
// the trace. Each explains attempts that got a container, whether launched or not.
//
// It takes time by the number of events, and memory by the nodes, the blocks, and the jobs
// that have not ended. The caller may keep an Explanation.
func Each(h *traces.Header, events iter.Seq[traces.Event]) iter.Seq[*Explanation] {
	return func(yield func(*Explanation) bool) {
		r := newReader(h)
		for e := range events {
			r.add(e)
			for _, x := range r.done {
				if !yield(x) {
					return
				}
			}
			r.done = r.done[:0]
		}
		for _, x := range r.rest() {
			if !yield(x) {
				return
			}
		}
	}
}

// Read explains all attempts of a trace with the header h, for a page that shows any of them.
// The events must come in the order of a finished trace. It reads them once. What it returns
// takes about 0.5 kB an attempt, plus the names of nearer nodes; sentences are made when they
// are asked for.
func Read(h *traces.Header, events iter.Seq[traces.Event]) map[traces.Attempt]*Explanation {
	all := map[traces.Attempt]*Explanation{}
	for x := range Each(h, events) {
		all[x.Attempt] = x
	}
	return all
}
