package workload

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"heddle/harness/config"
	"heddle/harness/measure"
	"heddle/harness/replay/calibration"
	"heddle/harness/workload/programs"
	"heddle/hibench"
	"heddle/hibench/tables"
	"heddle/yarnclient"
)

// hiBench is one of the HiBench workloads that package hibench runs, as an
// experiment file describes it.
type hiBench struct{ config.Workload }

// On returns the workload, ready to run on a cluster with HiBench's jobs. These
// run through HiBench's scripts, or directly if there is no HiBench checkout. Programs
// that the cluster does not have are fetched.
func (w hiBench) On(ctx context.Context, place Place) (Live, error) {
	env, spec := place.Env, w.Spec()
	spec.Seed = place.Seed
	for _, p := range hibench.Programs(env.Checkout, spec) {
		var err error
		switch {
		case p == hibench.Hive && place.Cluster.Config.Hive != "":
			env.Hive = filepath.Join(place.Cluster.Config.Hive, "lib")
		case p == hibench.Hive:
			env.Hive, err = programs.Jars(ctx, p, place.Say)
		case p == hibench.Mahout:
			env.Mahout, err = programs.Jars(ctx, p, place.Say)
		case p == hibench.Tests && !hibench.HasTests(env.HadoopHome):
			env.Tests, err = programs.Jars(ctx, p, place.Say)
		}
		if err != nil {
			return nil, err
		}
	}
	runner, err := hibench.New(env, spec)
	return &hiBenchLive{place: place, config: w.Workload, runner: runner}, err
}

// Scripts says which workloads of a cluster's HiBench checkout the checkout's scripts can
// run on this machine, and what each other one lacks; nothing without a checkout.
func Scripts(c *config.Cluster) []string {
	if c.HiBench == "" {
		return nil
	}
	scripts, err := hibench.CheckScripts(hibench.Env{
		HadoopHome: c.Hadoop.Home, ConfDir: c.Hadoop.Conf, DataDir: "/heddle", RunDir: os.TempDir(), Checkout: c.HiBench,
	})
	if err != nil {
		return []string{strings.TrimPrefix(err.Error(), "hibench: ")}
	}
	var run, lack []string
	for _, name := range slices.Sorted(maps.Keys(scripts)) {
		if err := scripts[name]; err != nil {
			lack = append(lack, fmt.Sprintf("{script: %s} does not run here: %s", name, strings.TrimPrefix(err.Error(), "hibench: ")))
		} else {
			run = append(run, name)
		}
	}
	return append([]string{"HiBench's scripts for which this machine has all, as {script: NAME}: " + strings.Join(run, ", ")}, lack...)
}

// HasTwin reports whether a workload has a simulated counterpart.
func HasTwin(w config.Workload) bool {
	return w.Name != hibench.Script && w.Name != hibench.Kmeans && w.Name != hibench.Bayes
}

// hiBenchLive is one of HiBench's workloads on a real cluster.
type hiBenchLive struct {
	place  Place
	config config.Workload
	runner *hibench.Runner
}

func (w *hiBenchLive) Prepare(ctx context.Context, tag string) (Input, error) {
	d, err := w.runner.Prepare(ctx, tag)
	return Input{Path: d.Path, Bytes: d.Bytes}, err
}

// Submissions returns the workload's equal jobs, all submitted at once.
func (w *hiBenchLive) Submissions() []Submission {
	jobs := 1
	if w.config.Name == hibench.Grep {
		jobs = hibench.GrepJobs
	}
	return equalJobs(w.config, Submission{Name: w.config.Name, Jobs: jobs})
}

func (w *hiBenchLive) Run(ctx context.Context, _ int, tag string, settings ...hibench.Setting) (Ran, error) {
	report, err := w.runner.Run(ctx, tag, settings...)
	if err != nil && ctx.Err() == nil && jobFailed(ctx, w.place.Cluster.RM, tag) {
		err = &JobError{err}
	}
	return Ran{Report: report}, err
}

// jobFailed reports whether YARN says that an application with the given tag
// failed, and that none with this tag still runs. A Hadoop client process says
// only that it failed itself.
func jobFailed(ctx context.Context, rm *yarnclient.RM, tag string) bool {
	apps, err := rm.Apps(ctx, yarnclient.AppFilter{Tags: []string{tag}})
	if err != nil || slices.ContainsFunc(apps, func(a yarnclient.App) bool { return !a.Ended() }) {
		return false
	}
	return slices.ContainsFunc(apps, func(a yarnclient.App) bool { return a.FinalStatus != "SUCCEEDED" })
}

func (w *hiBenchLive) Check(ctx context.Context, _ int, tag string, jobs []*measure.Job) ([]string, error) {
	var c hibench.Counters
	for _, j := range jobs {
		c.MapInputRecords += j.Records.MapInput
		c.MapOutputRecords += j.Records.MapOutput
		c.ReduceOutputRecords += j.Records.ReduceOutput
		c.HDFSReadBytes += j.Bytes.Input
		c.HDFSWrittenBytes += j.Bytes.Output
		c.MapTime += time.Duration(j.MapTime)
		c.ReduceTime += time.Duration(j.ReduceTime)
	}
	return w.runner.Check(ctx, tag, c)
}

// Twin returns the simulated counterpart of the workload. It has as many equal
// jobs at the same time as the workload, with the same input. Those of grep and of a join
// are two jobs one after the other. Which jobs other programs start is not known.
func (w hiBench) Twin(_ context.Context, cache config.Cache) (*Twin, error) {
	if !HasTwin(w.Workload) {
		return nil, unknownJobs(w.Label, "which jobs its programs start")
	}
	shape := w.Spec().Shape()
	job := Job{Name: w.Name, Terms: w.Terms(0), FollowMaps: int32(shape.Maps), Reduces: int32(shape.Reduces), SlowStart: hadoopSlowStart}
	if err := job.setAll(w.Label, w.Settings); err != nil {
		return nil, err
	}
	t := twinOf(w.Workload)
	c := &t.Costs
	c.MapOutputPerByte, c.ReduceOutputPerByte = shape.MapOutputPerByte, shape.ReduceOutputPerByte
	c.Map = calibration.Phase{MsPerMiB: shape.MapMsPerMiB, SleepMs: shape.MapSleepMs, Corrected: 1}
	c.Reduce = calibration.Phase{MsPerMiB: shape.ReduceMsPerMiB, SleepMs: shape.ReduceSleepMs, Corrected: 1}
	t.copies(w.Workload, job)
	if names, ok := stages[w.Name]; ok {
		t.chain(&shape, names)
	}
	t.parts(&shape)
	return t, t.cache(cache)
}

// stages are the names of the two jobs that a workload starts one after the other, if it
// starts two.
var stages = map[string][2]string{
	hibench.Grep:        {"grep-search", "grep-sort"},
	string(tables.Join): {string(tables.Join), string(tables.Join)},
}

// chain adds to each job a second one that follows it. It has one reduce, and a map for
// each file that a reduce of the first one wrote.
func (t *Twin) chain(s *hibench.Shape, names [2]string) {
	written := int64(float64(s.FileBytes*int64(s.Files)) * s.MapOutputPerByte * s.ReduceOutputPerByte)
	for i := range t.Jobs {
		t.Jobs[i].Name = names[0]
		next := t.Jobs[i]
		next.Name, next.After, next.Reduces = names[1], i+1, 1
		next.FollowMaps, next.FollowBytes = int32(s.Reduces), max(1, written/int64(s.Reduces))
		t.Jobs = append(t.Jobs, next)
	}
}

// hadoopSlowStart is Hadoop's default for the share of maps that must be done
// before the ApplicationMaster asks for reduces.
const hadoopSlowStart = 0.05

// setAll changes a simulated job as the Hadoop properties of a workload say.
func (j *Job) setAll(label string, settings map[string]string) error {
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		if err := j.set(name, settings[name]); err != nil {
			return fmt.Errorf("workload %s: %w", label, err)
		}
	}
	return nil
}

// set changes a simulated job as one Hadoop property says, such as its number
// of reduces.
func (j *Job) set(name, value string) error {
	var err error
	whole := func() int64 {
		var n int64
		n, err = strconv.ParseInt(value, 10, 32)
		return n
	}
	switch name {
	case "mapreduce.job.reduce.slowstart.completedmaps":
		j.SlowStart, err = strconv.ParseFloat(value, 64)
		if err == nil && !(j.SlowStart >= 0 && j.SlowStart <= 1) {
			err = fmt.Errorf("it must be from 0 to 1")
		}
	case "mapreduce.map.memory.mb":
		j.MapMemoryBytes = whole() << 20
	case "mapreduce.reduce.memory.mb":
		j.ReduceMemoryBytes = whole() << 20
	case "mapreduce.map.cpu.vcores":
		j.MapVCores = int32(whole())
	case "mapreduce.reduce.cpu.vcores":
		j.ReduceVCores = int32(whole())
	case "mapreduce.job.queuename":
		j.Queue = value
	case "mapreduce.job.priority":
		j.Priority = int32(whole())
	default:
		return fmt.Errorf("setting %s has no effect in a simulation; those that have are %s", name, strings.Join(simulatedSettings, ", "))
	}
	if err != nil {
		return fmt.Errorf("setting %s: %q: %w", name, value, err)
	}
	return nil
}

// simulatedSettings are the Hadoop properties that change a simulated job as
// they change a real one.
var simulatedSettings = []string{
	"mapreduce.job.priority", "mapreduce.job.queuename", "mapreduce.job.reduce.slowstart.completedmaps",
	"mapreduce.map.cpu.vcores", "mapreduce.map.memory.mb", "mapreduce.reduce.cpu.vcores", "mapreduce.reduce.memory.mb",
}
