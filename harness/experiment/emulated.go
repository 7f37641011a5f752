package experiment

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strconv"
	"time"

	"heddle/collectors/hdfs"
	"heddle/collectors/hdfs/jobsplit"
	"heddle/collectors/yarn"
	"heddle/harness/change"
	"heddle/harness/config"
	"heddle/harness/emulate"
	"heddle/harness/lease"
	"heddle/harness/measure"
	"heddle/harness/replay"
	"heddle/harness/replay/calibration"
	"heddle/harness/replay/recorded"
	"heddle/harness/results"
	"heddle/harness/runs"
	"heddle/harness/workload"
	"heddle/hibench"
	"heddle/traces"
)

// Emulate carries out an experiment under a real ResourceManager whose nodes, masters and
// tasks are emulated, as the cluster file describes them. It steers and captures as on a
// cluster. A task lasts as long as in a simulation of the same trial under the cluster's own
// scheduler, with the calibration or typical times, so that it is the same under all models.
func Emulate(ctx context.Context, o Options, calibration *calibration.Calibration) (*runs.Run, error) {
	w := &emulatedWorld{
		clusterWorld: clusterWorld{options: &o, clusters: map[string]*usedCluster{}},
		virtual: simulatedWorld{
			options: &o, calibration: calibration, twins: map[string]*workload.Twin{}, inputs: map[string]*recorded.Trace{},
		},
		placed: map[string][]traces.Event{},
	}
	return carryOut(ctx, &o, w)
}

// emulatedWorld runs the trials of an experiment on an emulated cluster.
type emulatedWorld struct {
	clusterWorld
	virtual simulatedWorld // where tasks' times come from
	up      *emulate.Cluster
	files   string                    // folder of the ResourceManager's files
	placed  map[string][]traces.Event // for each workload's label, its jobs and its input
}

func (w *emulatedWorld) name() string { return runs.WorldEmulated }

func (w *emulatedWorld) open(ctx context.Context) (hadoop string, err error) {
	o := w.options
	c := *o.Cluster
	c.Faults = vanish
	if err := o.refuseKeys(&c); err != nil {
		return "", err
	}
	if m := c.Machines; m != nil && (m.Queues != "" || m.Scheduler == "fair") && o.Experiment.Actuator == config.ActuatorLabels {
		return "", refusal(o.Experiment, config.Problem{
			Path: "models", Message: "with machines.queues or the Fair scheduler an emulated cluster has no labels to steer by; want " +
				config.ModelYARN + " alone, or use --simulate",
		})
	}
	if o.Experiment.Speculation == config.SpeculationHadoop {
		return "", refusal(o.Experiment, config.Problem{
			Path: "speculation", Message: "emulated ApplicationMasters start no speculative attempts; want none, or use --simulate",
		})
	}
	if _, err = w.virtual.open(ctx); err != nil {
		return "", err
	}
	if hadoop, err = emulate.Hadoop(o.Cluster.Machines); err != nil {
		err = refusal(o.Experiment, config.Problem{Path: "cluster", Message: err.Error()})
	}
	return hadoop, err
}

// vanish has emulated nodes vanish and come back.
var vanish = &config.FaultCommands{NodeDown: []string{config.FaultDown, "{node}"}, NodeUp: []string{config.FaultUp, "{node}"}}

// cleanUp starts the emulated cluster, and takes the right to change it.
func (w *emulatedWorld) cleanUp(ctx context.Context, folder string) (err error) {
	o := w.options
	w.folder = folder
	if w.files, err = os.MkdirTemp("", "heddle-emulated-"); err != nil {
		return err
	}
	if w.up, err = emulate.Start(ctx, o.Cluster, w.files, w.tell); err != nil {
		return err
	}
	target := &change.Target{
		Name: o.Cluster.Name, RM: w.up.RM, Files: lease.Local(w.files), HDFS: noHDFS{files: emulate.Files{Cluster: w.up}},
		Faults: vanish, Run: func(_ context.Context, command []string) ([]byte, error) {
			return nil, w.up.SetDown(command[1], command[0] == config.FaultDown)
		},
	}
	w.clusters[o.Experiment.Cluster] = &usedCluster{Clients: w.up.Clients, target: target}
	w.retake = func(name string) error { return w.take(ctx, name) }
	return w.take(ctx, o.Experiment.Cluster)
}

func (w *emulatedWorld) close(ctx context.Context) (err error) {
	if c := w.clusters[w.options.Experiment.Cluster]; c != nil && c.hold != nil {
		report, rerr := c.hold.Release(ctx)
		err = errors.Join(rerr, report.Err())
	}
	if w.up != nil {
		w.up.Close()
	}
	return errors.Join(err, os.RemoveAll(w.files))
}

func (w *emulatedWorld) stage(t *trial) stage {
	return &emulatedTrial{
		trialRun: trialRun{
			trial: t, world: &w.clusterWorld, cluster: w.up.Clients, files: emulate.Files{Cluster: w.up}, origin: traces.Emulated,
			leastLocations: time.Duration(len(w.up.Nodes)) * 10 * time.Millisecond, // so that a trace has a hundred samples a second at most
		},
		world: w,
	}
}

// emulatedTrial carries out the steps of one trial on an emulated cluster.
type emulatedTrial struct {
	trialRun
	world *emulatedWorld
}

// prepare places the input, and finds out how long each task takes.
func (t *emulatedTrial) prepare(ctx context.Context) (inputBytes int64, err error) {
	s := simulatedTrial{trial: t.trial, world: &t.world.virtual}
	if inputBytes, err = s.prepare(ctx); err != nil {
		return 0, err
	}
	label, o := t.plan.Workload.Label, t.options
	events := t.world.placed[label]
	if events == nil {
		if _, events, err = placed(o.Experiment, o.Cluster, s.twin); err != nil {
			return 0, err
		}
		t.world.placed[label] = events
		emulate.Files{Cluster: t.world.up}.Place(events)
	}
	live, err := newEmulatedLive(ctx, t, &s, events)
	if err != nil {
		return 0, err
	}
	t.runner = live
	if t.hold, err = t.held(); err != nil {
		return 0, err
	}
	tag, err := t.hold.Tag(ctx)
	if err != nil {
		return 0, err
	}
	return inputBytes, t.expect(tag)
}

// run runs the jobs. Heartbeats that come late say that this machine is too busy: YARN then
// learns later of what has ended than it would from nodes of its own.
func (t *emulatedTrial) run(ctx context.Context) (results.Trial, error) {
	const tolerated = 0.01
	beats, late := t.world.up.Counts()
	result, err := t.measure(ctx)
	all, lates := t.world.up.Counts()
	if share := float64(lates-late) / float64(max(1, all-beats)); share > tolerated {
		result.Warnings = append(result.Warnings, fmt.Sprintf("%.0f %% of the emulated nodes' heartbeats were late: this machine is too busy "+
			"for so many, and times are longer than they would be; give nmHeartbeat a longer interval, or fewer nodes", 100*share))
	}
	return result, err
}

func (t *emulatedTrial) check(context.Context) ([]string, error) { return []string{}, nil }

// emulatedLive is a workload whose jobs run on an emulated cluster.
type emulatedLive struct {
	up   *emulate.Cluster
	twin *workload.Twin
	jobs []emulate.Job // of the twin, with the same index
	// submissions are the indexes of the jobs that follow no other.
	first []int
}

// newEmulatedLive makes the jobs of a trial: what they read, and how long their tasks take.
func newEmulatedLive(ctx context.Context, t *emulatedTrial, s *simulatedTrial, events []traces.Event) (*emulatedLive, error) {
	l := &emulatedLive{up: t.world.up, twin: s.twin, jobs: make([]emulate.Job, len(s.twin.Jobs))}
	index := map[traces.JobID]int{}
	beat := strconv.FormatInt(time.Duration(t.options.Cluster.Machines.AMHeartbeat).Milliseconds(), 10)
	costs := s.costs.Costs(s.input, config.ActuatorNone)
	steps := emulate.Steps{
		AMStart: milliseconds(costs.AMStartMs), Launch: milliseconds(costs.LaunchMs), Free: milliseconds(costs.FreeMs),
		Finish: milliseconds(costs.FinishMs),
	}
	lengths, err := taskLengths(s.config(ctx))
	if err != nil {
		return nil, fmt.Errorf("simulate %s for the times of its tasks: %w", s.twin.Workload, err)
	}
	for _, event := range events {
		switch e := event.(type) {
		case *traces.JobSubmitted:
			i := len(index)
			index[e.Job] = i
			text := func(n int64) string { return strconv.FormatInt(n, 10) }
			l.jobs[i] = emulate.Job{Steps: steps, Conf: yarn.Conf{
				"mapreduce.job.name": e.Name, "mapreduce.job.queuename": cmp.Or(e.Queue, emulate.Queue),
				"mapreduce.job.priority": text(int64(e.Priority)), "mapreduce.job.reduces": text(int64(e.Reduces)),
				"mapreduce.map.memory.mb": text(e.MapMemoryBytes >> 20), "mapreduce.reduce.memory.mb": text(e.ReduceMemoryBytes >> 20),
				"mapreduce.map.cpu.vcores": text(int64(max(1, e.MapVCores))), "mapreduce.reduce.cpu.vcores": text(int64(max(1, e.ReduceVCores))),
				config.SlowStart:                                        strconv.FormatFloat(e.SlowStart, 'g', -1, 64),
				"mapreduce.map.speculative":                             "false",
				"mapreduce.reduce.speculative":                          "false",
				"yarn.app.mapreduce.am.resource.mb":                     text(s.input.Jobs[i].AMMemoryBytes >> 20),
				"yarn.app.mapreduce.am.scheduler.heartbeat.interval-ms": beat,
			}}
			if s.twin.Jobs[i].After == 0 {
				l.first = append(l.first, i)
			}
		case *traces.TaskScheduled:
			j, task := &l.jobs[index[e.Task.Job]], lengths[e.Task]
			if e.Task.Kind == traces.Reduce {
				j.Reduces = append(j.Reduces, task)
				continue
			}
			task.Split = jobsplit.Split{Path: cmp.Or(e.Path, fmt.Sprintf("/heddle/%s", e.Task)), Offset: e.OffsetBytes, Length: e.LengthBytes}
			for _, host := range e.SplitHosts {
				task.Hosts = append(task.Hosts, string(host))
			}
			j.Maps = append(j.Maps, task)
		}
	}
	return l, nil
}

func milliseconds(n int32) time.Duration { return time.Duration(n) * time.Millisecond }

// taskLengths returns how long each task takes in a simulation under the cluster's own
// scheduler without faults, and what it reads and writes. A reduce that waited for maps has
// the time from the end of the last.
func taskLengths(c *replay.Config) (map[traces.Task]emulate.Task, error) {
	c.Model, c.Behaviour = config.Model{Model: config.ModelYARN}, config.Behaviour{Actuator: config.ActuatorNone, Fetches: c.Fetches}
	c.Reasons = false
	tasks, began, last := map[traces.Task]emulate.Task{}, map[traces.Attempt]traces.Time{}, map[traces.JobID]traces.Time{}
	c.Record = func(event traces.Event) {
		switch e := event.(type) {
		case *traces.AttemptStarted:
			began[e.Attempt] = e.T
		case *traces.AttemptFinished:
			if e.Outcome != traces.Succeeded {
				return
			}
			from := began[e.Attempt]
			if job := e.Attempt.Job; e.Attempt.Kind == traces.Map {
				last[job] = max(last[job], e.T)
			} else {
				from = max(from, last[job])
			}
			tasks[e.Attempt.Task] = emulate.Task{Length: time.Duration(e.T - from), Counters: e.Counters}
		}
	}
	_, _, err := replay.Run(c)
	return tasks, err
}

func (l *emulatedLive) Prepare(context.Context, string) (workload.Input, error) {
	return workload.Input{}, nil
}

func (l *emulatedLive) Submissions() []workload.Submission {
	list := make([]workload.Submission, len(l.first))
	for i, k := range l.first {
		j := &l.twin.Jobs[k]
		list[i] = workload.Submission{Name: j.Name, Pool: j.Pool, Terms: j.Terms, At: j.At, Jobs: len(l.chain(k)), Asked: j.Asked}
	}
	return list
}

// chain returns the indexes of a job and of those that follow it, one after the other.
func (l *emulatedLive) chain(k int) []int {
	list := []int{k}
	for i := range l.twin.Jobs {
		if after := l.twin.Jobs[i].After; after > 0 && slices.Contains(list, after-1) {
			list = append(list, i)
		}
	}
	return list
}

func (l *emulatedLive) Run(ctx context.Context, i int, tag string, settings ...hibench.Setting) (ran workload.Ran, err error) {
	for n, k := range l.chain(l.first[i]) {
		job := l.jobs[k]
		conf := yarn.Conf{"mapreduce.job.tags": tag}
		maps.Copy(conf, job.Conf)
		for _, p := range settings {
			conf[p.Name] = p.Value
		}
		job.Conf = conf
		accepted, err := l.up.Run(ctx, &job)
		if n == 0 {
			ran.Accepted = accepted
		}
		if failed := (*emulate.JobError)(nil); errors.As(err, &failed) {
			err = &workload.JobError{Err: err}
		}
		if err != nil {
			return ran, err
		}
	}
	return ran, nil
}

func (l *emulatedLive) Check(context.Context, int, string, []*measure.Job) ([]string, error) {
	return nil, nil
}

// noHDFS is the HDFS of a cluster that has none. No caches are changed there.
type noHDFS struct {
	change.HDFS
	files emulate.Files
}

func (n noHDFS) DataNodes(ctx context.Context) ([]hdfs.DataNode, error) {
	return n.files.DataNodes(ctx)
}

func (noHDFS) RemoveAll(context.Context, string) error { return nil }

func (noHDFS) List(_ context.Context, folder string) ([]hdfs.File, error) {
	return nil, &fs.PathError{Op: "list", Path: folder, Err: fs.ErrNotExist}
}
