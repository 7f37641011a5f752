package workload

import (
	"context"
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"heddle/harness/config"
	"heddle/harness/measure"
	"heddle/harness/replay/calibration"
	"heddle/harness/workload/hive"
	"heddle/harness/workload/programs"
	"heddle/hibench"
	"heddle/hibench/tables"
	"heddle/yarnclient"
)

// hiBench is one of the HiBench workloads that package hibench runs, as an
// experiment file describes it.
type hiBench struct{ config.Workload }

// On returns the workload, ready to run on a cluster with HiBench's jobs. These
// run through HiBench's scripts, or directly if there is no HiBench checkout.
func (w hiBench) On(_ context.Context, place Place) (Live, error) {
	live := &hiBenchLive{place: place, config: w.Workload}
	if hibench.ProgramOf(w.Name) != hibench.Examples {
		return live, nil // Prepare makes the runner, since it may have to fetch the program
	}
	var err error
	live.runner, err = hibench.New(place.Env, w.Spec())
	return live, err
}

// hiBenchLive is one of HiBench's workloads on a real cluster.
type hiBenchLive struct {
	place  Place
	config config.Workload
	runner *hibench.Runner
}

func (w *hiBenchLive) Prepare(ctx context.Context, tag string) (Input, error) {
	if w.runner == nil {
		env, spec := w.place.Env, w.config.Spec()
		spec.Seed = w.place.Seed
		err := w.program(ctx, &env)
		if err != nil {
			return Input{}, err
		}
		if w.runner, err = hibench.New(env, spec); err != nil {
			return Input{}, err
		}
	}
	d, err := w.runner.Prepare(ctx, tag)
	return Input{Path: d.Path, Bytes: d.Bytes}, err
}

// program adds to env where the workload's program is. It fetches it if the cluster
// does not have it.
func (w *hiBenchLive) program(ctx context.Context, env *hibench.Env) (err error) {
	switch hibench.ProgramOf(w.config.Name) {
	case hibench.Hive:
		if home := w.place.Cluster.Config.Hive; home != "" {
			env.Hive = filepath.Join(home, "lib")
		} else {
			env.Hive, err = hive.Jars(ctx, w.place.Say)
		}
	case hibench.Tests:
		if hibench.TestsJar(env.HadoopHome) == "" {
			env.Tests, err = programs.HadoopTests(ctx, w.place.Say)
		}
	case hibench.Mahout:
		env.Mahout, err = programs.Mahout(ctx, w.place.Say)
	}
	return err
}

// Submissions returns the workload's equal jobs, all submitted at once.
func (w *hiBenchLive) Submissions() []Submission {
	list := make([]Submission, max(w.config.Jobs, 1))
	jobs := 1
	switch w.config.Name {
	case hibench.Grep:
		jobs = hibench.GrepJobs
	case hibench.Pagerank:
		jobs = hibench.PagerankStages
	case hibench.Kmeans:
		jobs = hibench.KmeansJobs
	case hibench.Bayes:
		jobs = hibench.BayesJobs
	}
	for i := range list {
		list[i] = Submission{Name: w.config.Name, Pool: w.config.Pool(i), Terms: w.config.Terms(0), Jobs: jobs}
	}
	return list
}

func (w *hiBenchLive) Run(ctx context.Context, _ int, tag string, settings ...hibench.Setting) (Ran, error) {
	r, err := w.runner.Run(ctx, tag, settings...)
	if err != nil && ctx.Err() == nil && jobFailed(ctx, w.place.Cluster.RM, tag) {
		err = &JobError{err}
	}
	return Ran{Report: r.Report}, err
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
	c := &hibench.Counters{}
	for _, j := range jobs {
		c.MapInputRecords += j.Records.MapInput
		c.MapOutputRecords += j.Records.MapOutput
		c.ReduceOutputRecords += j.Records.ReduceOutput
		c.HDFSReadBytes += j.Bytes.Input
		c.HDFSWrittenBytes += j.Bytes.Output
		c.MapTime += time.Duration(j.MapTime)
		c.ReduceTime += time.Duration(j.ReduceTime)
	}
	check, err := w.runner.Check(ctx, tag, c)
	return check.Compared, err
}

// Twin returns the simulated counterpart of the workload. It has as many equal
// jobs at the same time as the workload, with the same input. Those of grep, a join,
// pagerank, kmeans and bayes are jobs one after the other.
func (w hiBench) Twin(_ context.Context, cache config.Cache) (*Twin, error) {
	shape := w.Spec().Shape()
	job := Job{Name: w.Name, Terms: w.Terms(0), FollowMaps: int32(shape.Maps), Reduces: int32(shape.Reduces), SlowStart: hadoopSlowStart}
	for _, name := range slices.Sorted(maps.Keys(w.Settings)) {
		if err := job.set(name, w.Settings[name]); err != nil {
			return nil, fmt.Errorf("workload %s: %w", w.Label, err)
		}
	}
	t := &Twin{
		Workload: w.Label,
		Costs: calibration.Workload{
			Workload: Costs(w.Workload), MapOutputPerByte: shape.MapOutputPerByte, ReduceOutputPerByte: shape.ReduceOutputPerByte,
			Map:    calibration.Phase{MsPerMiB: shape.MapMsPerMiB, SleepMs: shape.MapSleepMs, Corrected: 1},
			Reduce: calibration.Phase{MsPerMiB: shape.ReduceMsPerMiB, SleepMs: shape.ReduceSleepMs, Corrected: 1},
		},
	}
	for i := range max(w.Jobs, 1) {
		job.Pool = w.Pool(i)
		t.Jobs = append(t.Jobs, job)
	}
	t.chain(&shape, w.stages())
	for i := range shape.Files {
		t.Files = append(t.Files, File{Path: path.Join("/heddle", w.Label, fmt.Sprintf("part-m-%05d", i)), Bytes: shape.FileBytes})
	}
	return t, t.cache(cache)
}

// stage is one of the jobs that a workload starts one after the other.
type stage struct {
	name    string
	reduces int
	follows bool // it reads what the stage before wrote; otherwise the input
}

// stages returns the jobs of one of the workload's copies, if it has more than one.
func (w hiBench) stages() []stage {
	spec := w.Spec()
	reduces := spec.Shape().Reduces
	var list []stage
	switch w.Name {
	case hibench.Grep:
		list = []stage{{"grep-search", reduces, false}, {"grep-sort", 1, true}}
	case string(tables.Join):
		list = []stage{{w.Name, reduces, false}, {w.Name, 1, true}}
	case hibench.Pagerank:
		for range spec.Iterations() {
			list = append(list, stage{"Pagerank_Stage1", reduces, false}, stage{"Pagerank_Stage2", reduces, true})
		}
	case hibench.Kmeans:
		for i := range spec.Iterations() {
			list = append(list, stage{fmt.Sprintf("kmeans iteration %d", i+1), reduces, false})
		}
		list = append(list, stage{"kmeans points", 0, false})
	case hibench.Bayes:
		list = []stage{{"bayes tokens", 0, false}, {"bayes words", 1, false}, {"bayes vectors", reduces, false}}
		for _, name := range []string{"merge", "pages", "prune", "merge", "weigh", "merge", "classes", "sums"} {
			next := stage{"bayes " + name, 1, true}
			if name == "merge" {
				next.reduces = reduces
			}
			list = append(list, next)
		}
	}
	return list
}

// chain makes of each job the given stages. A stage that follows another has a map for
// each file that a reduce of that one wrote.
func (t *Twin) chain(s *hibench.Shape, stages []stage) {
	copies := slices.Clone(t.Jobs)
	written := int64(float64(s.FileBytes*int64(s.Files)) * s.MapOutputPerByte * s.ReduceOutputPerByte)
	for n, stage := range stages {
		for i, job := range copies {
			job.Name, job.Reduces = stage.name, int32(stage.reduces)
			if stage.follows {
				before := stages[n-1].reduces
				job.FollowMaps, job.FollowBytes = int32(before), max(1, written/int64(before))
			}
			if n == 0 {
				t.Jobs[i] = job
				continue
			}
			job.After = len(t.Jobs) - len(copies) + 1
			t.Jobs = append(t.Jobs, job)
		}
	}
}

// hadoopSlowStart is Hadoop's default for the share of maps that must be done
// before the ApplicationMaster asks for reduces.
const hadoopSlowStart = 0.05

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
