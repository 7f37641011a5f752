package workload

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"strconv"
	"strings"

	"heddle/collectors/hdfs"
	"heddle/harness/config"
	"heddle/harness/measure"
	"heddle/hibench"
)

// jar is a program of the user's that submits MapReduce jobs. heddle knows nothing of
// what they do. What it needs of them is that they have the tag of Hadoop's client
// configuration, and write below the folder that the program is told.
type jar struct{ config.Workload }

// text returns the workload that writes lines of random words for a jar to read.
func (w jar) text() hibench.Spec {
	return hibench.Spec{Workload: hibench.Grep, SizeBytes: int64(w.Size), Maps: w.Maps, Regex: "a"}
}

// On returns the workload, ready to run on a cluster.
func (w jar) On(_ context.Context, place Place) (Live, error) {
	l := &jarLive{jar: w, place: place, input: w.Input}
	env := place.Env
	env.DataDir = path.Join(path.Dir(place.DataDir), "jar")
	var err error
	if l.runner, err = hibench.NewJar(env, w.Program()); err != nil {
		return nil, fmt.Errorf("workload %s: %w", w.Label, err)
	}
	return l, nil
}

// jarLive is a jar on a real cluster.
type jarLive struct {
	jar
	place  Place
	runner *hibench.JarRunner
	input  string // HDFS folder, empty if the jar reads none
}

// Prepare writes the input, or looks for that of the user.
func (l *jarLive) Prepare(ctx context.Context, tag string) (Input, error) {
	if l.Size > 0 {
		writer, err := hibench.New(l.place.Env, l.text())
		if err != nil {
			return Input{}, err
		}
		d, err := writer.Prepare(ctx, tag)
		l.input = d.Path
		return Input{Path: d.Path, Bytes: d.Bytes}, err
	}
	if l.input == "" {
		return Input{}, nil
	}
	bytes, _, err := l.runner.FolderSize(l.input)
	if err != nil {
		return Input{}, fmt.Errorf("workload %s: input: %w", l.Label, err)
	}
	return Input{Path: l.input, Bytes: bytes}, nil
}

// Submissions returns the workload's equal runs of the jar, all at once.
func (l *jarLive) Submissions() []Submission {
	return equalJobs(l.Workload, Submission{Name: l.Label, Jobs: 1})
}

func (l *jarLive) Run(ctx context.Context, _ int, tag string, settings ...hibench.Setting) (Ran, error) {
	err := l.runner.Run(ctx, tag, l.input, settings...)
	if err != nil && ctx.Err() == nil && jobFailed(ctx, l.place.Cluster.RM, tag) {
		err = &JobError{err}
	}
	return Ran{}, err
}

// Check looks where the jobs have written. heddle removes the folder that the program
// was told, and no other: a folder of its own that the program leaves is named.
func (l *jarLive) Check(ctx context.Context, _ int, tag string, jobs []*measure.Job) ([]string, error) {
	output := l.runner.Output(tag)
	for _, j := range jobs {
		folder, err := l.place.Cluster.History.Job(string(j.ID)).Conf(ctx, "mapreduce.output.fileoutputformat.outputdir")
		if err != nil {
			return nil, fmt.Errorf("check %s: output of %s: %w", l.Label, j.ID, err)
		}
		folder = hdfs.BarePath(folder)
		if folder == "" || folder == output || strings.HasPrefix(folder, output+"/") {
			continue
		}
		if _, err := l.place.FS.Stat(folder); errors.Is(err, fs.ErrNotExist) {
			continue // the program has removed it
		} else if err != nil {
			return nil, fmt.Errorf("check %s: output of %s: %w", l.Label, j.ID, err)
		}
		return nil, fmt.Errorf("check %s: %s has written to hdfs %s, which heddle leaves as it is; remove it, and give the program %s "+
			"in args, for which heddle puts a folder that it removes", l.Label, j.ID, folder, hibench.OutputPlace)
	}
	if !l.Program().Writes() {
		return nil, nil
	}
	if _, _, err := l.runner.FolderSize(output); err != nil {
		return nil, fmt.Errorf("check %s: the program ended well and has not written its output: %w", l.Label, err)
	}
	return []string{"where its jobs wrote"}, nil
}

// unknownJobs says that a workload has no simulated counterpart, since only a cluster
// knows something of it.
func unknownJobs(label, what string) error {
	return fmt.Errorf("workload %s: only a cluster knows %s; run it there, and simulate the trace: 'heddle replay TRACE', or the "+
		"workload {trace: TRACE}", label, what)
}

const reducesName = "mapreduce.job.reduces"

// Twin returns the simulated counterpart of the workload: a job that reads as many
// bytes, whose tasks take what a calibration says that was fitted to runs of this jar.
func (w jar) Twin(_ context.Context, cache config.Cache) (*Twin, error) {
	if w.Size == 0 {
		return nil, unknownJobs(w.Label, "its input")
	}
	job := Job{Name: w.Label, Terms: w.Terms(0), Reduces: 1, SlowStart: hadoopSlowStart}
	settings := maps.Clone(w.Settings)
	if value, ok := settings[reducesName]; ok {
		n, err := strconv.ParseInt(value, 10, 32)
		if err != nil || n < 0 {
			return nil, fmt.Errorf("workload %s: setting %s: %q: want a whole number", w.Label, reducesName, value)
		}
		job.Reduces = int32(n)
		delete(settings, reducesName)
	}
	if err := job.setAll(w.Label, settings); err != nil {
		return nil, err
	}
	t := twinOf(w.Workload)
	t.copies(w.Workload, job)
	shape := w.text().Shape()
	t.parts(&shape)
	return t, t.cache(cache)
}
