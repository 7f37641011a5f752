package paper

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"heddle/harness/sched"
	"heddle/harness/state"
)

// Names of properties that are this package's own, in readings and on the
// command line.
const (
	// Offering is which nodes schedulers are offered at a heartbeat. Its values
	// are OfferAll, OfferReported and OfferPrivilege.
	Offering = "offering"
	// Training is whether a job waits for its training: "free", or how long the
	// training takes for each map that it places, such as "20us".
	Training = "training"
)

// Values of the property Offering. The first two are one rule for all
// schedulers of a comparison.
const (
	OfferAll       = "all"       // all schedulers may start tasks on any node with room
	OfferReported  = "reported"  // all schedulers may start tasks only on the node that reported
	OfferPrivilege = "privilege" // schedulers that choose among nodes have all nodes with room, the others the node that reported
)

// player runs a model under the rules of a reading: which nodes it is offered,
// and when its training has ended.
type player struct {
	sched.Model
	offering     string
	perNode      bool
	assignmentMs float64
	episodes     []int
	lessons      *lessons
	ready        map[state.JobID]bool
	owedMs       float64 // training that the jobs have still to wait for
	readyAt      int64   // time in ns before which nothing is decided, since the model is in training
	trained      int64
	trainingMs   float64
	curve        map[string][]Point
	err          error // first error of a training
}

func newPlayer(m sched.Model, c *Case, l *lessons) *player {
	return &player{
		Model:        m,
		offering:     c.Offering,
		perNode:      sched.FirstOnly(m),
		assignmentMs: c.AssignmentMs,
		episodes:     c.Episodes,
		lessons:      l,
		ready:        map[state.JobID]bool{},
	}
}

// Unwrap returns the model, so that drivers find what else it can do.
func (p *player) Unwrap() sched.Model { return p.Model }

// Round asks the model about the nodes that the offering rule allows.
func (p *player) Round(v *state.View, free []state.NodeID, out []sched.Decision) []sched.Decision {
	if p.owedMs > 0 {
		// The training is charged from now, when the job's first task could
		// start, and not from its submission: otherwise the start of the
		// ApplicationMaster would hide it.
		p.readyAt, p.owedMs = v.Now()+int64(p.owedMs*1e6), 0
	}
	switch {
	case v.Now() < p.readyAt:
		return out
	case p.offering == OfferReported:
		return p.Model.Round(v, free[:1], out)
	case p.offering == OfferAll && p.perNode:
		for i := range free {
			if next := p.Model.Round(v, free[i:i+1], out); len(next) > len(out) {
				return next
			}
		}
		return out
	}
	return p.Model.Round(v, free, out)
}

// Observe trains the model when a job is submitted, before it has to decide
// anything for the job, and passes the event on.
func (p *player) Observe(v *state.View, e sched.Event) {
	if e.What == sched.JobSubmitted {
		p.learn(v, e.Job)
	}
	if o, ok := sched.As[sched.Observer](p.Model); ok {
		o.Observe(v, e)
	}
}

// PlanJob returns the model's plan for a job's splits. The model must not be
// trained again afterwards: the plan changes the splits' hosts.
func (p *player) PlanJob(v *state.View, job state.JobID) (sched.SplitPlan, bool) {
	planner, ok := sched.As[sched.JobPlanner](p.Model)
	if !ok {
		return nil, false
	}
	p.learn(v, job)
	return planner.PlanJob(v, job)
}

func (p *player) learn(v *state.View, job state.JobID) {
	warm, ok := sched.As[sched.Warmup](p.Model)
	if !ok || p.ready[job] || p.err != nil {
		return
	}
	p.ready[job] = true
	var l *lesson
	memory, keeps := sched.As[sched.Memory](p.Model)
	if keeps {
		l, p.err = p.lessons.of(v, job, memory, warm, p.episodes)
	}
	var placed int64
	switch {
	case p.err != nil:
		return
	case l != nil:
		p.err = memory.LoadJob(v, job, l.learnt)
		placed, p.curve = l.assignments, l.curve
	default: // what is learnt cannot be kept, so each simulation trains
		if p.err = sched.Train(warm, v, job); p.err == nil {
			t := warm.Training(job)
			placed, p.curve = t.Assignments, curveOf(t)
		}
	}
	ms := float64(placed) * p.assignmentMs
	p.trained, p.trainingMs, p.owedMs = p.trained+placed, p.trainingMs+ms, p.owedMs+ms
}

// assignmentMs returns the ms that a value of the property Training means.
func assignmentMs(value string) (float64, error) {
	if value == "free" || value == "" {
		return 0, nil
	}
	d, err := time.ParseDuration(value)
	if err != nil || d < 0 || d > time.Second {
		return 0, fmt.Errorf("training %q: want free, or the time for each map placed in training, such as 20us: %w", value, ErrUnknown)
	}
	return float64(d) / float64(time.Millisecond), nil
}

func checkOffering(value string) error {
	switch value {
	case OfferAll, OfferReported, OfferPrivilege:
		return nil
	}
	return fmt.Errorf("offering %q: %w: want %s, %s or %s", value, ErrUnknown, OfferAll, OfferReported, OfferPrivilege)
}

// episodesOf returns the numbers in a text such as "1000".
func episodesOf(text string) (int, bool) {
	n, err := strconv.Atoi(strings.TrimSpace(text))
	return n, err == nil && n > 0
}
