package replay

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strconv"
	"sync"

	"golang.org/x/sync/errgroup"

	"heddle/harness/config"
	"heddle/harness/doc"
	"heddle/harness/measure"
	"heddle/harness/queues"
	"heddle/harness/replay/calibration"
	"heddle/harness/replay/recorded"
	"heddle/harness/sched"
	"heddle/harness/sim"
	"heddle/traces"
	"heddle/traces/printable"
)

// Outcome is the result of a replay: the figures of the simulated run, such as the
// makespan, and what they rest on. Its JSON keys are stable.
type Outcome struct {
	*measure.Figures
	// Trace is the name of the trace that was replayed.
	Trace  string            `json:"trace"`
	Seed   uint64            `json:"seed"`
	Params map[string]string `json:"params,omitempty"`
	Splits string            `json:"splits"`
	// Durations says where task times come from: "recorded", "modelled", or the
	// "rules" of a job list.
	Durations string `json:"durations"`
	// Metrics has the values of the metrics that were asked for, by name. Those
	// that the replay has no value of are missing.
	Metrics map[string]float64 `json:"metrics,omitempty"`
	// NewRun predicts a measured run of the jobs, from all replays of the trace under the
	// model; nil if the calibration does not tell how much runs differ.
	NewRun *calibration.NewRun `json:"newRun,omitempty"`
	// Speed is that of the processors relative to the calibration or the trace; 0: the same.
	Speed float64 `json:"speed,omitempty"`
	// RecordedOrder says how far off a replay of what was recorded is; nil if nothing was.
	RecordedOrder *RecordedOrder `json:"recordedOrder,omitempty"`
	// Assumed is what the replay takes for granted because the trace does not record it.
	Assumed []string `json:"assumed,omitempty"`
	// NotSimulated are the keys of the model's file of queues that do nothing in the replay.
	NotSimulated []queues.Key `json:"notSimulated,omitempty"`
	// Warnings say which results of the replay are not to be trusted, and why.
	Warnings []string `json:"warnings,omitempty"`
	// Header is the header of the simulated run's trace.
	Header traces.Header `json:"-"`

	change    recorded.Change
	behaviour config.Behaviour
}

// Outcomes runs replays in parallel, one on each core, and returns their outcomes in
// the order of the given list.
func Outcomes(list []Config) ([]Outcome, error) {
	out := make([]Outcome, len(list))
	err := Each(len(list), func(i int) (Config, error) { return list[i], nil }, func(i int, o *Outcome) error {
		out[i] = *o
		return nil
	})
	return out, err
}

// Each runs n replays in parallel, one on each core. It begins them in order, and calls
// done with each outcome when it has it, from one goroutine at a time. After an error it
// begins no more, and returns the first.
func Each(n int, config func(i int) (Config, error), done func(i int, o *Outcome) error) error {
	g, failed := errgroup.WithContext(context.Background())
	g.SetLimit(runtime.GOMAXPROCS(0))
	var telling sync.Mutex
	orders := map[orderKey]func() (*RecordedOrder, error){}
	orderOf := func(c Config) func() (*RecordedOrder, error) {
		telling.Lock()
		defer telling.Unlock()
		key := orderKey{c.Trace, c.Calibration, c.Modelled, 0}
		if len(c.Trace.Nodes) == 0 {
			key.nodes = c.Change.Nodes
		}
		if orders[key] == nil {
			orders[key] = sync.OnceValues(c.inRecordedOrder)
		}
		return orders[key]
	}
	for i := range n {
		g.Go(func() error {
			if failed.Err() != nil {
				return nil
			}
			c, err := config(i)
			if err != nil {
				return err
			}
			o, err := outcome(c)
			if err == nil && c.Sanity && len(c.Trace.Jobs) > 0 {
				by := c.Calibration
				if !c.Modelled {
					by = nil
				}
				if o.RecordedOrder, err = orderOf(c)(); err == nil {
					o.Warnings = append(o.Warnings, o.RecordedOrder.doubts(c.Trace, by, o.Assumed)...)
				} else if !errors.Is(err, sim.ErrInterrupted) {
					o.Warnings, err = append(o.Warnings,
						fmt.Sprintf("what was recorded cannot be replayed, so it is not known how far off these replays are: %v", err)), nil
				}
			}
			if err != nil {
				return err
			}
			telling.Lock()
			defer telling.Unlock()
			return done(i, o)
		})
	}
	return g.Wait()
}

// orderKey names what a replay of the recorded order depends on.
type orderKey struct {
	trace    *recorded.Trace
	costs    *calibration.Calibration
	modelled bool
	nodes    int // number of nodes, if the trace does not tell it
}

// EqualSeeds returns a warning for each trace and model whose replays with several
// seeds have equal schedules: such replays are one, not repeats.
func EqualSeeds(list []Outcome) []string {
	type series struct{ trace, model, actuator string }
	seeds, digests := map[series]int{}, map[series]map[string]bool{}
	var order []series
	for i := range list {
		o := &list[i]
		s := series{o.Trace, o.Model, o.Actuator}
		if digests[s] == nil {
			digests[s] = map[string]bool{}
			order = append(order, s)
		}
		seeds[s]++
		digests[s][o.ScheduleDigest] = true
	}
	var warnings []string
	for _, s := range order {
		if n := len(digests[s]); n < seeds[s] {
			schedules := fmt.Sprintf("%d schedules", n)
			if n == 1 {
				schedules = "1 schedule"
			}
			warnings = append(warnings, fmt.Sprintf("replay %s under %s: the %d seeds give %s, since recorded times leave little to chance; "+
				"with --calibration times differ as measured ones do", s.trace, s.model, seeds[s], schedules))
		}
	}
	return warnings
}

// outcome runs a replay and returns its figures, such as the makespan. It does not
// keep the run's events in memory.
func outcome(c Config) (*Outcome, error) {
	x, h, err := c.prepare()
	if err != nil {
		return nil, err
	}
	o := &Outcome{
		Trace: c.Trace.Name, Seed: c.Seed, Params: h.Params, Splits: h.Splits, Durations: "recorded",
		Header: h, change: c.Change, behaviour: c.Behaviour,
		Assumed: c.assumed(x, &h),
	}
	if f := sched.QueuesOf(x.Model); f != nil {
		o.NotSimulated = f.Ignored(slices.ContainsFunc(h.Cluster.Nodes, func(n traces.NodeFacts) bool { return n.Label != "" }))
	}
	if c.Change.Speed != 1 {
		o.Speed = c.Change.Speed
	}
	if c.Modelled {
		o.Durations = "modelled"
	} else if c.computes() {
		o.Durations = "rules"
	}
	if c.WithoutEvents || len(c.Trace.List) > 0 && c.Record == nil {
		o.Figures, _, err = measure.Simulate(h, x)
	} else {
		o.Figures, err = withEvents(&c, x, h)
	}
	if err != nil {
		return nil, c.failed(err)
	}
	if c.Model.Reduces != "" {
		o.Model = c.Model.Label
	}
	refused, why := 0, ""
	for _, j := range o.Figures.JobList {
		if text := j.Diagnostics(); text != "" && j.Outcome == traces.Failed {
			refused, why = refused+1, cmp.Or(why, text)
		}
	}
	if refused > 0 {
		o.Warnings = append(o.Warnings, fmt.Sprintf("replay %s under %s: %d of %s are refused; the first: %s", c.Trace.Name, c.Model.Model,
			refused, printable.Count(len(o.Figures.JobList), "job"), why))
	}
	if text := measure.StarvedText(o.Figures); text != "" {
		o.Warnings = append(o.Warnings, fmt.Sprintf("replay %s under %s, seed %d: %s", c.Trace.Name, c.Model.Model, c.Seed, text))
	}
	return o, nil
}

// withEvents runs a replay, keeps all its events, and computes the figures of the run
// from them. Events of one time get the order that they have in a trace, on which its
// digest depends; the simulator tells them in the order in which it came to them.
func withEvents(c *Config, x *sim.Config, h traces.Header) (*measure.Figures, error) {
	figures := measure.New(h).WithDigest()
	var same []traces.Event // those with the latest time
	flush := func() {
		slices.SortStableFunc(same, traces.Compare)
		for _, e := range same {
			figures.Add(e)
		}
		same = same[:0]
	}
	x.Record = func(e traces.Event) {
		if len(same) > 0 && same[0].At() != e.At() {
			flush()
		}
		same = append(same, e)
		if c.Record != nil {
			c.Record(e)
		}
	}
	_, err := sim.Run(x)
	flush()
	return figures.Figures(), err
}

func (c *Config) failed(err error) error {
	return fmt.Errorf("replay %s under %s: %w", c.Trace.Name, cmp.Or(c.Model.Label, c.Model.Model), err)
}

// Measure sets the outcome's Metrics to the values of the given metrics.
func (o *Outcome) Measure(metrics []measure.Metric) {
	o.Metrics = map[string]float64{}
	for _, m := range metrics {
		if x := m.Of(o.Figures); !math.IsNaN(x) {
			o.Metrics[m.Name] = x
		}
	}
}

// Recorded returns a trace's own figures, as an outcome under the model
// config.ModelRecorded that stands beside those of its replays. It returns nil for a
// list of jobs, of which none has run.
func Recorded(t *recorded.Trace, figures *measure.Figures) *Outcome {
	if len(t.List) > 0 {
		return nil
	}
	f, h := *figures, &t.Header
	f.Model = config.ModelRecorded
	return &Outcome{Figures: &f, Trace: t.Name, Seed: h.Seed, Params: h.Params, Splits: h.Splits, Durations: "recorded", Header: *h}
}

// IsRecorded reports whether the outcome is of Recorded, and not of a replay.
func (o *Outcome) IsRecorded() bool { return o.Model == config.ModelRecorded }

// Beside returns the outcomes of replays, those of each trace behind the trace's own.
func Beside(traces []*Outcome, replays []Outcome) (list []Outcome) {
	for i := range replays {
		if i == 0 || replays[i].Trace != replays[i-1].Trace {
			if k := slices.IndexFunc(traces, func(t *Outcome) bool { return t != nil && t.Trace == replays[i].Trace }); k >= 0 {
				list = append(list, *traces[k])
			}
		}
		list = append(list, replays[i])
	}
	return list
}

// Doc returns a table with one row for each outcome, with columns for the given
// metrics. If there are none, the columns are the makespan, the mean completion time
// of jobs that succeeded in all rows of a trace, and locality. If some jobs did not succeed, a column counts
// them. What a trace does not say is "-".
func Doc(list []Outcome, metrics []measure.Metric) doc.Doc {
	columns := metrics
	if len(metrics) == 0 {
		columns, _ = measure.Find([]string{"makespan", "jobCompletion"}) // both are metrics
	}
	several, failed := false, false
	for i := range list {
		several, failed = several || list[i].Trace != list[0].Trace, failed || list[i].NotSucceeded > 0
	}
	var keys doc.List
	t := &doc.Table{Name: "replays"}
	jobs := sameJobs(list)
	for i := range list {
		o := &list[i]
		for _, k := range o.NotSimulated {
			if text := "Not simulated: " + k.String(); !slices.Contains(keys, text) {
				keys = append(keys, text)
			}
		}
		var row []any
		add := func(name string, c any) {
			if row = append(row, c); i == 0 {
				t.Columns = append(t.Columns, name)
			}
		}
		if several {
			add("trace", o.Trace)
		}
		seed := strconv.FormatUint(o.Seed, 10)
		if o.IsRecorded() {
			seed = "-"
		}
		model := doc.Words(o.Model)
		if was, _ := unlike(list, i); was > 0 {
			model = model.After("on " + printable.Count(was, "node"))
		}
		add("model", model)
		add("actuator", cmp.Or(o.Actuator, "-"))
		add("splits", cmp.Or(o.Splits, "-"))
		add("seed", seed)
		add("jobs", o.Jobs)
		if failed {
			add("not succeeded", o.NotSucceeded)
		}
		for _, m := range columns {
			name, value := m.Name, m.Of(o.Figures)
			if name == "jobCompletion" {
				if len(metrics) == 0 {
					name = "mean completion"
				}
				if mean, n := jobs[o.Trace].meanMs(o); n < jobs[o.Trace].most {
					value = mean / 1000
				}
			}
			add(name, doc.Number(value, m.Unit))
		}
		if len(metrics) == 0 {
			l := o.Locality
			nowhere := unplaced(list, i)
			for _, at := range []struct {
				name string
				maps int
			}{{"cache", l.Cache}, {"node", l.Node}, {"rack", l.Rack}, {"off", l.Off}} {
				add(at.name, doc.Known(!nowhere, at.maps))
			}
		}
		add("digest", o.ScheduleDigest)
		t.Add(row...)
	}
	return append(doc.Doc{keys, t}, differences(list, jobs)...)
}

// unplaced reports whether nothing tells where the blocks of an outcome's maps were: the
// recorded trace has no map's locality, and no map of the outcome found its block.
func unplaced(list []Outcome, i int) bool {
	l := list[i].Locality
	for i > 0 && list[i-1].Trace == list[i].Trace {
		i--
	}
	was := list[i].Locality
	return list[i].IsRecorded() && was.Known() == 0 && l.Known() == l.Off
}
