package workload

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"time"

	"heddle/collectors/hdfs/jobsplit"
	"heddle/harness/config"
	"heddle/harness/measure"
	"heddle/harness/replay/calibration"
	"heddle/harness/submit"
	"heddle/harness/workload/synthetic"
	"heddle/hibench"
)

// streaming is a workload of synthetic tasks: each reads, computes, emits and
// writes as much as the experiment file says. On a cluster its jobs run under
// Hadoop Streaming.
type streaming struct{ config.Workload }

// files returns the workload's input files, below a folder in HDFS. Files of
// other sizes or another seed have other names, so later trials find theirs.
func (w streaming) files(folder string, seed uint64) (input string, files []synthetic.File) {
	n := w.Maps
	if n == 0 {
		n = defaultFiles
	}
	input = path.Join(folder, fmt.Sprintf("%d-bytes-%d-files-seed-%d", int64(w.Size), n, seed))
	for i := range n {
		bytes := int64(w.Size)*int64(i+1)/int64(n) - int64(w.Size)*int64(i)/int64(n)
		files = append(files, synthetic.File{Path: path.Join(input, fmt.Sprintf("part-%05d", i)), Bytes: bytes})
	}
	return input, files
}

// defaultFiles is the number of input files if an experiment does not say, as
// for HiBench's workloads.
const defaultFiles = 8

// spec returns what the tasks of one job have to do, whose maps read so many
// bytes each.
func (w streaming) spec(splits []int64, seed uint64) *synthetic.Spec {
	msPerByte := time.Duration(w.CPU).Seconds() * 1000 / (1 << 20)
	times := func(values []int64, factor float64) []int64 {
		out := make([]int64, len(values))
		for i, v := range values {
			out[i] = int64(math.Round(float64(v) * factor))
		}
		return out
	}
	s := &synthetic.Spec{Seed: seed}
	emit := times(splits, orOne(w.MapOutput))
	s.Maps = synthetic.MapTasks{
		Count: len(splits), ReadBytes: synthetic.Each(splits), EmitBytes: synthetic.Each(emit),
		CPUMs: synthetic.Each(times(splits, msPerByte)), SleepMs: synthetic.Same(time.Duration(w.Sleep).Milliseconds()),
		MemoryBytes: synthetic.Same(int64(w.TaskMemory)),
	}
	if w.Reduces == 0 {
		return s
	}
	s.Reduces.Count = w.Reduces
	taken := s.ShuffleBytes()
	s.Reduces.WriteBytes = synthetic.Each(times(taken, orOne(w.Output)))
	s.Reduces.CPUMs = synthetic.Each(times(taken, msPerByte))
	s.Reduces.MemoryBytes = synthetic.Same(int64(w.TaskMemory))
	return s
}

func orOne(factor *float64) float64 {
	if factor == nil {
		return 1
	}
	return *factor
}

// Twin returns the simulated counterpart of the workload.
func (w streaming) Twin(_ context.Context, cache config.Cache) (*Twin, error) {
	job := Job{Name: w.Name, Terms: w.Terms(0), Reduces: int32(w.Reduces), SlowStart: hadoopSlowStart}
	if err := job.setAll(w.Label, w.Settings); err != nil {
		return nil, err
	}
	cpu := calibration.Phase{MsPerMiB: time.Duration(w.CPU).Seconds() * 1000, Corrected: 1}
	ofMap := cpu
	ofMap.SleepMs = float64(time.Duration(w.Sleep).Milliseconds())
	t := twinOf(w.Workload)
	c := &t.Costs
	c.MapOutputPerByte, c.ReduceOutputPerByte, c.Map, c.Reduce = orOne(w.MapOutput), orOne(w.Output), ofMap, cpu
	t.copies(w.Workload, job)
	_, files := w.files(path.Join("/heddle", w.Label), 0)
	for _, f := range files {
		t.Files = append(t.Files, File{Path: f.Path, Bytes: f.Bytes})
	}
	return t, t.cache(cache)
}

// On returns the workload, ready to run on a cluster. It fails if the running
// heddle cannot be the program of tasks.
func (w streaming) On(_ context.Context, place Place) (Live, error) {
	program, err := programOf(place)
	if err != nil {
		return nil, fmt.Errorf("workload %s: %w", w.Label, err)
	}
	return &streamingLive{streaming: w, place: place, program: program, folder: path.Join(path.Dir(place.DataDir), "streaming")}, nil
}

// programOf returns the path of the heddle that runs as the program of synthetic
// tasks. It fails if that cannot run on the cluster's nodes.
func programOf(place Place) (string, error) {
	program := place.Program
	if program == "" {
		var err error
		if program, err = os.Executable(); err != nil {
			return "", fmt.Errorf("find the program of its tasks: %w", err)
		}
	}
	return program, synthetic.CheckProgram(program, runtime.GOARCH)
}

// streamingLive is a workload of synthetic tasks on a real cluster.
type streamingLive struct {
	streaming
	place   Place
	program string // path of heddle on this machine
	folder  string // in HDFS

	// What follows is known after Prepare. All jobs are equal.
	submitter *submit.Submitter
	job       submit.Job
	asked     Asked
}

// Prepare writes the input and uploads what all jobs share.
func (w *streamingLive) Prepare(ctx context.Context, _ string) (Input, error) {
	input, files := w.files(w.folder, w.place.Seed)
	err := synthetic.WriteInput(ctx, w.place.Cluster.HDFS, synthetic.Input{Files: files, Seed: w.place.Seed})
	if err == nil {
		w.submitter, err = submit.New(ctx, w.place.Cluster)
	}
	if err == nil {
		err = w.describe(ctx, input)
	}
	if err != nil {
		return Input{}, fmt.Errorf("prepare %s: %w", w.Label, err)
	}
	return Input{Path: input, Bytes: w.asked.InputBytes}, nil
}

// describe makes the description of the workload's jobs.
func (w *streamingLive) describe(ctx context.Context, input string) error {
	w.job = submit.Job{Name: w.Label, Reduces: w.Reduces, Mapper: synthetic.Mapper}
	if w.Reduces > 0 {
		w.job.Reducer = synthetic.Reducer
	}
	lengths, err := w.splits(ctx, input)
	if err != nil {
		return err
	}
	s := w.spec(lengths, w.place.Seed)
	text, err := s.Encode()
	if err != nil {
		return err
	}
	local := filepath.Join(w.place.RunDir, synthetic.SpecFile)
	if err := os.WriteFile(local, text, 0o644); err != nil {
		return fmt.Errorf("write job spec: %w", err)
	}
	for _, f := range []struct{ local, link string }{{w.program, synthetic.ProgramFile}, {local, synthetic.SpecFile}} {
		shared, err := w.submitter.Share(ctx, f.local)
		if err != nil {
			return err
		}
		w.job.Files = append(w.job.Files, submit.File{Path: shared, Link: f.link})
	}
	w.asked = askedOfSpec(w.Label, s, lengths)
	return nil
}

// splits sets the job's splits, of which each is a block. As in MapReduce, a
// last block shorter than a tenth of the block before belongs to the same split
// as that block. It returns their lengths.
func (w *streamingLive) splits(ctx context.Context, input string) (lengths []int64, err error) {
	for f, err := range w.place.Cluster.HDFS.Locations(ctx, input) {
		if err != nil {
			return nil, err
		}
		for b, block := range f.Blocks {
			if last := len(lengths) - 1; b > 0 && b == len(f.Blocks)-1 && block.Length*10 < f.BlockSize {
				lengths[last] += block.Length
				w.job.Splits[last].Length += block.Length
				continue
			}
			var hosts []string
			for _, r := range block.Replicas {
				hosts = append(hosts, r.Host)
			}
			lengths = append(lengths, block.Length)
			w.job.Splits = append(w.job.Splits, jobsplit.Split{Path: f.Path, Offset: block.Offset, Length: block.Length})
			w.job.Hosts = append(w.job.Hosts, hosts)
		}
	}
	return lengths, nil
}

// askedOfSpec returns what a job is asked to do, floors included.
func askedOfSpec(name string, s *synthetic.Spec, splits []int64) Asked {
	t := s.Totals()
	a := Asked{
		Job: name, Maps: s.Maps.Count, Reduces: s.Reduces.Count, ShuffleBytes: t.ShuffleBytes, OutputBytes: t.OutputBytes,
		CPUMs: t.CPUMs,
	}
	for _, bytes := range splits {
		a.InputBytes += bytes
	}
	return a
}

// Submissions returns the workload's equal jobs, all submitted at once.
func (w *streamingLive) Submissions() []Submission {
	asked := w.asked
	return equalJobs(w.Workload, Submission{Name: w.Label, Jobs: 1, Asked: &asked})
}

func (w *streamingLive) Run(ctx context.Context, _ int, tag string, settings ...hibench.Setting) (Ran, error) {
	job := w.job
	job.Output = path.Join(w.folder, "output-"+tag)
	job.Settings = synthetic.Settings()
	maps.Copy(job.Settings, w.Settings)
	return runJob(ctx, w.submitter, job, tag, settings)
}

// runJob submits a job with a YARN tag and further settings, and waits for its
// end.
func runJob(ctx context.Context, s *submit.Submitter, job submit.Job, tag string, settings []hibench.Setting) (Ran, error) {
	for _, p := range settings {
		job.Settings[p.Name] = p.Value
	}
	job.Settings["mapreduce.job.tags"] = tag
	var ran Ran
	submitted, err := s.Submit(ctx, job)
	if err == nil {
		ran.Accepted = time.Now()
		err = s.Wait(ctx, submitted)
	}
	if errors.As(err, new(*submit.RefusedError)) || errors.As(err, new(*submit.FailedError)) {
		err = &JobError{err}
	}
	return ran, err
}

// Check compares what Hadoop counted with what was asked.
func (w *streamingLive) Check(_ context.Context, _ int, tag string, jobs []*measure.Job) ([]string, error) {
	var got measure.Bytes
	for _, j := range jobs {
		got.Shuffle += j.Bytes.Shuffle
		got.Output += j.Bytes.Output
	}
	for _, c := range []struct {
		what        string
		got, wanted int64
	}{{"shuffled", got.Shuffle, w.asked.ShuffleBytes}, {"written", got.Output, w.asked.OutputBytes}} {
		if c.got != c.wanted {
			return nil, fmt.Errorf("check %s: its job with the tag %s has %s %d bytes by Hadoop's counters, and was asked for %d",
				w.Label, tag, c.what, c.got, c.wanted)
		}
	}
	return []string{"bytes shuffled and written, with what was asked"}, nil
}
