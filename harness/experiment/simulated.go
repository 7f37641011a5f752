package experiment

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"heddle/harness/config"
	"heddle/harness/internal/units"
	"heddle/harness/replay"
	"heddle/harness/replay/calibration"
	"heddle/harness/replay/recorded"
	"heddle/harness/results"
	"heddle/harness/runs"
	"heddle/harness/sched"
	"heddle/harness/sim/draw"
	"heddle/harness/workload"
	"heddle/traces"
	"heddle/traces/tracefile"
)

// Simulate carries out an experiment in virtual time. It runs the same measured
// trials in the same order as Run and writes the same kinds of results and
// traces. Simulated jobs take the place of the workloads' jobs, on the nodes
// that the cluster file describes. calibration contains the durations of tasks.
// If it is nil, typical durations are used, with a warning in the results.
//
// The experiment's seed decides on which nodes the input's blocks are. Each
// block is on the same nodes in all trials. Each repeat draws new computing
// times, which are the same for all models.
func Simulate(ctx context.Context, o Options, calibration *calibration.Calibration) (*runs.Run, error) {
	if n := o.Experiment.Warmups; n > 0 {
		e := *o.Experiment
		e.Warmups, o.Experiment = 0, &e
		if o.Progress != nil {
			o.Progress(Step{Doing: "plan", Text: fmt.Sprintf("%d warm-ups are skipped: nothing is cold in virtual time", n)})
		}
	}
	return carryOut(ctx, &o, &simulatedWorld{
		options: &o, calibration: calibration, twins: map[string]*workload.Twin{},
		inputs: map[string]*recorded.Trace{},
	})
}

// simulatedWorld runs the trials of an experiment in virtual time.
type simulatedWorld struct {
	options     *Options
	calibration *calibration.Calibration
	twins       map[string]*workload.Twin  // for each workload's label, its simulated counterpart
	placing     sync.Mutex                 // held while an input is made
	inputs      map[string]*recorded.Trace // for each workload's label, a trace that contains the simulated input and jobs
}

func (w *simulatedWorld) name() string { return runs.WorldSimulated }
func (w *simulatedWorld) atOnce() int  { return runtime.GOMAXPROCS(0) }

// The method open makes the simulated workloads. Its error names those parts of
// the experiment that a simulation does not support.
func (w *simulatedWorld) open(ctx context.Context) (hadoop string, err error) {
	e := w.options.Experiment
	err = errors.Join(e.Supported(), (&recorded.Change{Others: w.options.OthersCores}).Check())
	if len(e.KeepNodes) > 0 {
		err = errors.Join(err, errors.New("keepNodes: a simulation has no jobs of other users; remove the key"))
	}
	if len(e.Clusters()) > 1 {
		err = errors.Join(err, errors.New("models[].cluster: a simulation has one cluster; remove the key"))
	}
	if !e.ColdReads && w.calibration == nil {
		err = errors.Join(err, errors.New("coldReads: typical times are for reads from disk, not from page caches; remove the key, or give "+
			"--calibration from runs with coldReads: false"))
	}
	if w.options.Cluster.Machines != nil { // the method fits refuses one without
		w.options.fillReduces(roomOf(w.options.Cluster))
	}
	for _, x := range e.Workloads {
		if x.Jar != "" && w.calibration == nil {
			err = errors.Join(err,
				fmt.Errorf("workload %s: what the tasks of a jar take is known only from runs of it: run it on a cluster, and give --calibration RUN",
					x.Label))
		}
		twin, terr := workload.Of(x).Twin(ctx, e.Cache)
		w.twins[x.Label] = twin
		err = errors.Join(err, terr)
	}
	if err == nil {
		err = w.fits()
	}
	if err != nil {
		err = refusal(e, config.Problem{Message: "simulate: " + err.Error()})
	}
	return "", err
}

// fits returns an error if the described cluster lacks nodes that the experiment
// names, or cannot hold the workloads. An input that its caches cannot hold has a warning.
func (w *simulatedWorld) fits() error {
	h, disk, err := workload.Cluster(w.options.Cluster)
	if err != nil {
		return err
	}
	e, room := w.options.Experiment, int64(0)
	for _, n := range h.Cluster.Nodes {
		room += n.CacheBytes
	}
	err = refuseNodes(e, h.Cluster.Nodes)
	for _, x := range e.Workloads {
		twin, need := w.twins[x.Label], int64(0)
		for _, f := range twin.Files {
			if f.Cached {
				need += f.Bytes * int64(max(1, e.Cache.Replicas))
			}
		}
		if need > room {
			twin.Warnings = append(twin.Warnings, fmt.Sprintf("%s of the input are to be cached, and the caches of all nodes together hold %s: "+
				"the rest is read from disk here, and a cluster refuses such a run; lower cache.fraction, or give nodes larger caches",
				mib(need), mib(room)))
		}
		err = errors.Join(err, twin.Check(disk))
	}
	return err
}

func (w *simulatedWorld) cleanUp(context.Context, string) error { return nil }
func (w *simulatedWorld) close(context.Context) error           { return nil }

func (w *simulatedWorld) stage(t *trial) stage { return &simulatedTrial{trial: t, world: w} }

// simulatedTrial carries out the steps of one trial in virtual time.
type simulatedTrial struct {
	*trial
	world *simulatedWorld
	input *recorded.Trace
	twin  *workload.Twin
	costs *calibration.Calibration
}

// labAMMemoryMB is the container of an ApplicationMaster, as on a lab, if no calibration says.
const labAMMemoryMB = 512

// prepare places the input files of the simulated workload. Trials of the same
// workload share them: only the first trial does this.
func (t *simulatedTrial) prepare(ctx context.Context) (inputBytes int64, err error) {
	w, e := t.world, t.options.Experiment
	twin := w.twins[t.plan.Workload.Label]
	t.twin = twin
	h, _, err := workload.Cluster(t.options.Cluster)
	if err != nil {
		return 0, err
	}
	if t.costs = w.calibration; t.costs == nil {
		t.costs = calibration.Uncalibrated(h.Cluster, twin.Costs)
	}
	w.placing.Lock()
	defer w.placing.Unlock()
	t.input = w.inputs[t.plan.Workload.Label]
	for _, f := range twin.Files {
		inputBytes += f.Bytes
	}
	if t.input == nil {
		t.simulated(fmt.Sprintf("placing the blocks of %s of input", units.Size(inputBytes).Rounded()), 0, 0)
		if t.input, err = inputOf(e, t.options.Cluster, twin); err != nil {
			return 0, err
		}
		for _, j := range t.input.Jobs {
			j.AMMemoryBytes = cmp.Or(t.costs.AMMemoryMB, labAMMemoryMB) << 20
		}
		if ofAlone(t.plan.Workload) {
			if err := t.setDeadlines(ctx); err != nil {
				return 0, err
			}
		}
		w.inputs[t.plan.Workload.Label] = t.input
	}
	return inputBytes, nil
}

// setDeadlines gives the jobs of the input their deadlines, which are multiples of the jobs'
// times alone.
func (t *simulatedTrial) setDeadlines(ctx context.Context) error {
	t.simulated("each job alone, for its deadline", 0, 0)
	due, err := aloneDeadlines(ctx, t.options, &t.plan.Workload, t.twin, t.input, t.costs)
	if err != nil {
		return err
	}
	for i := range t.input.Jobs {
		t.input.Jobs[i].Terms.DeadlineMs = due[i]
	}
	return nil
}

// config returns the replay that the trial is.
func (t *simulatedTrial) config(ctx context.Context) *replay.Config {
	e := t.options.Experiment
	return &replay.Config{
		Trace: t.input, Model: t.plan.Model, Behaviour: e.Under(t.plan.Model), Seed: t.simulatedSeed(),
		Change:      recorded.Change{Others: t.options.OthersCores, Speed: t.options.Speed},
		Calibration: t.costs, Modelled: true, Repeats: true, Work: t.twin.Work(), After: t.twin.After(), Reasons: e.Reasons, Interrupted: ctx.Err,
	}
}

func (t *simulatedTrial) run(ctx context.Context) (results.Trial, error) {
	e := t.options.Experiment
	result := results.Trial{Name: t.plan.Name, Workload: t.plan.Workload.Label, Model: t.plan.Model.Label, Repeat: t.plan.Repeat}
	sorter := tracefile.NewSorter(t.folder.Dir)
	defer func() { _ = sorter.Close() }() // do not check this error: if closing the sorter fails, only a temporary file remains
	c := t.config(ctx)
	// do not check whether Add fails to store an event, since writing the trace (Encode) returns the same error
	c.Record = func(event traces.Event) { _ = sorter.Add(event) }
	var scheduler sched.Model
	c.Begin = func(m sched.Model) (err error) {
		scheduler = m
		result.StateOf, err = t.goOn(m)
		return err
	}
	if t.options.Watched {
		t.step.Live = &Live{}
		record := c.Record
		c.Record = func(event traces.Event) { t.step.Live.Add(event); record(event) }
	}
	tasks := c.Tasks()
	c.Progress = func(done int64) { t.simulated(fmt.Sprintf("%d of %d tasks", done, tasks), done, tasks) }
	simulated, header, err := replay.Run(c)
	if err != nil {
		return result, err
	}
	if err := t.saveState(scheduler); err != nil {
		return result, err
	}
	header.Seed = e.Seed
	result.Notes = simulated.Notes
	names := map[traces.JobID]string{}
	for _, j := range t.input.Jobs {
		names[j.Job] = cmp.Or(j.Name, string(j.Job))
	}
	figures, err := t.keep(&result, header, names, func(out io.Writer, each func(traces.Event)) error {
		return sorter.Encode(out, filepath.Join(t.folder.Dir, results.TraceFile), header, each, "")
	})
	if err != nil {
		return result, err
	}
	result.FailedJobs = failedInSimulation(figures.JobList, names)
	if err := t.accept(&result); err != nil {
		return result, err
	}
	result.Achieved = t.twin.Achieved(figures.JobList)
	result.Warnings = append(result.Warnings, t.twin.Warnings...)
	if text, doubtful := t.costs.Basis(); doubtful {
		result.Warnings = append(result.Warnings, text)
	}
	if limit := time.Duration(e.Timeout); limit > 0 && result.MakespanMs > limit.Milliseconds() {
		return result, fmt.Errorf("trial took %v of virtual time, longer than its timeout of %v; raise timeout: in the experiment",
			time.Duration(result.MakespanMs)*time.Millisecond, limit)
	}
	return result, nil
}

// The method simulated says how far the simulation of the trial is.
func (t *simulatedTrial) simulated(text string, done, tasks int64) {
	step := t.step
	step.Doing, step.Text, step.Simulated = "simulate", text, &Simulated{done, tasks}
	t.options.Progress(step)
}

// simulatedSeed returns the seed of the trial's random numbers in virtual time.
func (t *simulatedTrial) simulatedSeed() uint64 {
	if !t.options.OwnSeeds {
		return t.seed()
	}
	return uint64(draw.Stream(t.seed(), t.plan.Model.Label))
}

// check has nothing to compare, since simulated jobs write no records.
func (t *simulatedTrial) check(context.Context) ([]string, error) { return []string{}, nil }

func (t *simulatedTrial) clean() error { return nil }
