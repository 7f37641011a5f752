package external

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"heddle/harness/sched"
	"heddle/harness/state"
)

// protocol is the version of the lines.
const protocol = 1

// shown is how much of a line a message shows.
const shown = 200

func badLine(line []byte, why error) error {
	more := ""
	if len(line) > shown {
		line, more = line[:shown], "…"
	}
	return fmt.Errorf("the line %q%s: %w", line, more, why)
}

// parse reads a line that is one JSON object, without keys that nobody knows.
func parse(line []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	err := d.Decode(into)
	if err == nil {
		if _, more := d.Token(); !errors.Is(more, io.EOF) {
			err = errors.New("more than one value")
		}
	}
	if err != nil {
		return badLine(line, fmt.Errorf("%w; want one JSON object a line on standard output, and anything else on standard error", err))
	}
	return nil
}

type hello struct {
	Hello  int    `json:"hello"`
	Model  string `json:"model"`
	Events bool   `json:"events"`
}

// readHello reads the first line of a program. It returns whether the program wants
// events.
func readHello(line []byte) (events bool, err error) {
	var h hello
	if err := parse(line, &h); err != nil {
		return false, fmt.Errorf("hello: %w", err)
	}
	if h.Hello != protocol {
		return false, badLine(line, fmt.Errorf("hello: protocol version %d: this heddle speaks %d; use a program made for that version",
			h.Hello, protocol))
	}
	return h.Events, nil
}

type answer struct {
	Answer int64      `json:"answer"`
	Start  []decision `json:"start"`
}

// decision is one that a program takes. Without a node it is for the node that was asked
// about, without a task for any of its kind, and without a reason for the usual one.
type decision struct {
	Job    state.JobID   `json:"job"`
	Node   *state.NodeID `json:"node"`
	Task   *state.TaskID `json:"task"`
	Kind   string        `json:"kind"`
	Reason string        `json:"reason"`
}

// readAnswer appends the decisions of an answer to out. It refuses those that cannot be
// carried out.
func readAnswer(v *state.View, number int64, asked state.NodeID, line []byte, out []sched.Decision) ([]sched.Decision, error) {
	var a answer
	if err := parse(line, &a); err != nil {
		return out, fmt.Errorf("answer to request %d: %w", number, err)
	}
	if a.Answer != number {
		return out, badLine(line, fmt.Errorf("it answers request %d, and request %d was asked; each request has one answer, with its number",
			a.Answer, number))
	}
	first := len(out)
	for i := range a.Start {
		d, err := a.Start[i].read(v, asked)
		if err == nil {
			err = possible(v, d, out[first:])
		}
		if asked == state.None {
			err = errors.New("the request only tells of events; start nothing")
		}
		if err != nil {
			return nil, badLine(line, fmt.Errorf("start[%d] of the answer to request %d: %w", i, number, err))
		}
		out = append(out, d)
	}
	return out, nil
}

func (x *decision) read(v *state.View, asked state.NodeID) (sched.Decision, error) {
	d := sched.Decision{Job: x.Job, Node: asked, Task: state.None}
	if x.Node != nil {
		d.Node = *x.Node
	}
	switch {
	case d.Job < 0 || int(d.Job) >= v.Jobs():
		return d, fmt.Errorf("there is no job %d; %d were submitted, numbered from 0", d.Job, v.Jobs())
	case d.Node < 0 || int(d.Node) >= v.Nodes():
		return d, fmt.Errorf("there is no node %d; the cluster has %d, numbered from 0", d.Node, v.Nodes())
	case v.Ended(d.Job):
		return d, fmt.Errorf("job %d, %q, has ended", d.Job, v.JobName(d.Job))
	case x.Task == nil && x.Kind == "":
		return d, errors.New("neither task nor kind: name the task, or the kind of any task")
	}
	if x.Task != nil {
		d.Task = *x.Task
		if tasks := v.Tasks(d.Job, state.Map) + v.Tasks(d.Job, state.Reduce); d.Task < 0 || int32(d.Task) >= tasks {
			return d, fmt.Errorf("job %d has no task %d; it has %d, numbered from 0", d.Job, d.Task, tasks)
		}
		d.Kind, _ = v.Index(d.Job, d.Task)
	}
	switch x.Kind {
	case "":
	case "map":
		d.Kind = state.Map
	case "reduce":
		d.Kind = state.Reduce
	default:
		return d, fmt.Errorf("kind %q: want map or reduce", x.Kind)
	}
	return d, x.because(v, &d)
}

// because sets the reason of a decision: the one that the program gives, or how near the
// node is to the input of its map.
func (x *decision) because(v *state.View, d *sched.Decision) error {
	if x.Reason != "" {
		for r := sched.Cache; r <= sched.Plan; r++ {
			if r.String() == x.Reason {
				d.Reason = r
				return nil
			}
		}
		return fmt.Errorf("reason %q: want cache, node, rack, off, rerun, reduce, random, plan or none", x.Reason)
	}
	t := d.Task
	switch {
	case d.Kind == state.Reduce:
		d.Reason = sched.Reduces
		return nil
	case t == state.None:
		t, _ = v.WouldBind(d.Job, d.Node)
	}
	if d.Reason = sched.Off; t != state.None && t == v.NextRerun(d.Job) {
		d.Reason = sched.Rerun
	} else if k, _ := v.Index(d.Job, max(t, 0)); t != state.None && k == state.Map {
		d.Reason = sched.ReasonOf(v.Level(d.Job, t, d.Node))
	}
	return nil
}

// possible says why a decision cannot be carried out after the ones before it in the same
// answer, nil if it can.
func possible(v *state.View, d sched.Decision, before []sched.Decision) error {
	if err := sched.Possible(v, d); err != nil {
		return err
	}
	free, slots, waiting := v.Free(d.Node), v.FreeSlots(d.Node, d.Kind), v.Waiting(d.Job, d.Kind)
	for _, x := range before {
		if x.Node == d.Node {
			free = free.Sub(v.ContainerSize(x.Job, x.Kind))
			if x.Kind == d.Kind {
				slots--
			}
		}
		if x.Job == d.Job && x.Kind == d.Kind {
			waiting--
			if x.Task == d.Task && d.Task != state.None {
				return fmt.Errorf("it starts task %d of job %d twice", d.Task, d.Job)
			}
		}
	}
	switch {
	case !free.Holds(v.ContainerSize(d.Job, d.Kind)) || slots < 1:
		return fmt.Errorf("node %d, %s, is full after the decisions before this one", d.Node, v.NodeName(d.Node))
	case waiting < 1:
		return fmt.Errorf("job %d has no more waiting %ss after the decisions before this one", d.Job, d.Kind)
	}
	return nil
}

// farewell is the last line of a program. It may have one; Seconds is how long its rule
// took of all the time.
type farewell struct {
	Bye     bool    `json:"bye"`
	Seconds float64 `json:"seconds"`
}
