package schedtest

import (
	"fmt"
	"testing"

	"heddle/harness/sched"
	"heddle/harness/state"
	"heddle/traces"
)

// Listener is a model for one node with all that drivers may tell a model. It starts
// what the NodeModel in it starts, and keeps what it heard. It is for tests of drivers.
type Listener struct {
	sched.NodeModel
	Period int64             // between two ticks, in ms
	Learn  func(state.JobID) // what a training does; nil: nothing

	Heard   map[string]int // how often, by kind of event, or by method for those that are no events
	TicksNs []int64
	// Full counts the reports of nodes without room. Idle counts those of any node
	// while no task waited and none ran.
	Full, Idle int
	// Samples are those of the events, each once. FreshestMs and OldestMs are the least
	// and the greatest age of a sample in an event. SlowestMs is the greatest age of one
	// that was heard for the first time, and Late the number of those of 2 s or more.
	Samples                         []traces.NodeSample
	FreshestMs, OldestMs, SlowestMs int64
	Late                            int
	LateAges                        []string // of each late one its node, its time and its age

	Told *state.Timetable // of the nodes' capacity; nil: nothing

	newest map[traces.Node]traces.Time // time of the newest sample of each node
}

var kindNames = [...]string{
	sched.JobSubmitted: "job submitted", sched.JobEnded: "job ended", sched.TaskStarted: "task started", sched.TaskEnded: "task ended",
	sched.NodeReported: "node reported", sched.Confirmed: "confirmed", sched.Cancelled: "cancelled",
}

// Name returns "test-listener".
func (l *Listener) Name() string { return "test-listener" }

// listeners gets each test-listener that is made, with the period of its clock. It is nil
// until the model is registered, which a process can do once.
var (
	listeners      *[]*Listener
	listenerPeriod int64
)

// RegisterListener registers a model of the name test-listener that starts what fifo
// starts. The slice gets each one that is made until the next call. Tests that call it
// must not run at the same time.
func RegisterListener(t testing.TB, periodMs int64) *[]*Listener {
	made := new([]*Listener)
	registered := listeners != nil
	listeners, listenerPeriod = made, periodMs
	if registered {
		return made
	}
	err := sched.Register(sched.Info{
		Name: "test-listener", Summary: "starts what fifo starts, and listens", Source: "none: for tests",
		Build: func(sched.Args) (sched.Model, error) {
			fifo, err := sched.New("fifo", nil)
			if err != nil {
				return nil, err
			}
			l := &Listener{NodeModel: fifo.(sched.PerNode).NodeModel, Period: listenerPeriod}
			*listeners = append(*listeners, l)
			return sched.PerNode{NodeModel: l}, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func (l *Listener) hear(what string) {
	if l.Heard == nil {
		l.Heard = map[string]int{}
	}
	l.Heard[what]++
}

// Observe counts the event.
func (l *Listener) Observe(v *state.View, e sched.Event) {
	l.hear(kindNames[e.What])
	if e.What != sched.NodeReported {
		return
	}
	if !v.HasRoom(e.Node) {
		l.Full++
	}
	busy := len(v.WaitingJobs(state.Map)) + len(v.WaitingJobs(state.Reduce))
	for _, id := range v.Active() {
		busy += int(v.Running(id, state.Map) + v.Running(id, state.Reduce))
	}
	if busy == 0 {
		l.Idle++
	}
	if x := e.Sample; x != nil {
		if len(l.Samples) == 0 {
			l.FreshestMs = e.SampleAgeMs
		}
		l.FreshestMs, l.OldestMs = min(l.FreshestMs, e.SampleAgeMs), max(l.OldestMs, e.SampleAgeMs)
		if l.newest == nil {
			l.newest = map[traces.Node]traces.Time{}
		}
		if at, heard := l.newest[x.Node]; !heard || at != x.T {
			l.newest[x.Node] = x.T
			if l.SlowestMs = max(l.SlowestMs, e.SampleAgeMs); e.SampleAgeMs >= 2000 {
				l.Late++
				l.LateAges = append(l.LateAges, fmt.Sprintf("%s at %d ms: %d ms", x.Node, int64(x.T)/1e6, e.SampleAgeMs))
			}
			l.Samples = append(l.Samples, *x)
		}
	}
}

// EveryHeartbeat says that the model hears of full and of idle nodes.
func (l *Listener) EveryHeartbeat() {}

// HearsLoad says that the model wants nodes' samples.
func (l *Listener) HearsLoad() {}

// PeriodMs returns the field Period.
func (l *Listener) PeriodMs() int64 { return l.Period }

// Tick counts the tick.
func (l *Listener) Tick(v *state.View) {
	l.hear("tick")
	l.TicksNs = append(l.TicksNs, v.Now())
}

// Foresee keeps the timetable.
func (l *Listener) Foresee(t *state.Timetable) { l.Told = t }

// PredictEnd counts the question. Each job is to end in 5 seconds.
func (l *Listener) PredictEnd(v *state.View, _ state.JobID) (int64, bool) {
	l.hear("predict")
	return v.Now() + 5e9, true
}

// PlanJob counts the question, and plans nothing.
func (l *Listener) PlanJob(*state.View, state.JobID) (sched.SplitPlan, bool) {
	l.hear("plan")
	return nil, false
}

// Study counts the training, in which nothing is learnt, and Learn runs if there is one.
func (l *Listener) Study(_ *state.View, job state.JobID) (sched.Study, error) {
	l.hear("warmup")
	return func(func() bool) func() {
		if l.Learn != nil {
			l.Learn(job)
		}
		return func() {}
	}, nil
}

// Training returns an empty record of a training.
func (l *Listener) Training(state.JobID) *sched.Training { return &sched.Training{} }

// Notes returns one figure.
func (l *Listener) Notes() map[string]float64 {
	l.hear("notes")
	return map[string]float64{"ticks": float64(len(l.TicksNs))}
}

// Wrap hides all that a model can do besides Round. As finds it with Unwrap.
func Wrap(m sched.Model) sched.Model { return wrapped{m} }

type wrapped struct{ sched.Model }

func (w wrapped) Unwrap() sched.Model { return w.Model }
