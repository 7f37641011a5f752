package workload

import (
	"context"
	"fmt"
	"hash/fnv"
	"maps"
	"math"
	"path"
	"strconv"
	"time"

	"heddle/collectors/hdfs"
	"heddle/collectors/hdfs/jobsplit"
	"heddle/harness/measure"
	"heddle/harness/submit"
	"heddle/harness/workload/synthetic"
	"heddle/harness/workload/traceplan"
	"heddle/hibench"
)

// traceLive is a workload that runs the jobs of a trace or of a function on a cluster.
type traceLive struct {
	workload traced
	place    Place
	program  string // path of the program of tasks on this machine
	plan     *traceplan.Plan

	folder    string // HDFS folder of the input files
	submitter *submit.Submitter
	shared    string // HDFS path of the program of tasks
	specs     []*synthetic.Spec
}

// Prepare writes the input files, unless they are there already, and uploads
// the program of the tasks.
func (l *traceLive) Prepare(ctx context.Context, _ string) (Input, error) {
	input, err := l.writeInput(ctx)
	if err != nil {
		return Input{}, fmt.Errorf("workload %s: %w", l.workload.Label, err)
	}
	if l.submitter, err = submit.New(ctx, l.place.Cluster); err != nil {
		return Input{}, err
	}
	if l.shared, err = l.submitter.Share(ctx, l.program); err != nil {
		return Input{}, err
	}
	l.specs = nil
	for i := range l.plan.Jobs {
		s := specOf(&l.plan.Jobs[i], l.place.Seed, time.Duration(l.workload.Sleep).Milliseconds())
		if _, err := s.Encode(); err != nil {
			return Input{}, fmt.Errorf("workload %s: job %s: %w", l.workload.Label, l.plan.Jobs[i].ID, err)
		}
		l.specs = append(l.specs, s)
	}
	return input, nil
}

// writeInput writes the plan's files to a folder whose name follows from their
// lengths, so that trials of the same workload share them.
func (l *traceLive) writeInput(ctx context.Context) (Input, error) {
	in := synthetic.Input{Seed: l.place.Seed}
	same := fnv.New64a()
	fmt.Fprintln(same, in.Seed)
	for _, f := range l.plan.Files {
		fmt.Fprintln(same, f.Path, f.Bytes)
	}
	l.folder = path.Join(l.root(), "input", fmt.Sprintf("%s-%016x", l.workload.Label, same.Sum64()))
	input := Input{Path: l.folder}
	for i, f := range l.plan.Files {
		in.Files = append(in.Files, synthetic.File{Path: l.file(i), Bytes: f.Bytes})
		input.Bytes += f.Bytes
		if f.Cached {
			input.Cached = append(input.Cached, l.file(i))
		}
	}
	return input, synthetic.WriteInput(ctx, l.place.Cluster.HDFS, in)
}

// root returns the HDFS folder of what this kind of workload writes.
func (l *traceLive) root() string { return path.Join(path.Dir(l.place.DataDir), "trace") }

// file returns the HDFS path of an input file, by its index in the plan.
func (l *traceLive) file(i int) string { return path.Join(l.folder, l.plan.Files[i].Path) }

// output returns the HDFS folder of what one submission writes.
func (l *traceLive) output(tag string) string { return path.Join(l.root(), "output", tag) }

// Submissions returns the jobs of the plan at their times.
func (l *traceLive) Submissions() []Submission {
	list := make([]Submission, len(l.plan.Jobs))
	for i := range list {
		j := &l.plan.Jobs[i]
		list[i] = Submission{
			Name: string(j.ID), Pool: j.Pool, Terms: l.workload.termsOf(j), At: j.At, Jobs: 1,
			Asked: askedOf(j, l.specs[i]),
		}
	}
	return list
}

// Run submits one job and waits for its end. If ctx ends before, it kills the
// job.
func (l *traceLive) Run(ctx context.Context, i int, tag string, settings ...hibench.Setting) (Ran, error) {
	var ran Ran
	job, err := l.job(ctx, i, tag)
	if err == nil {
		ran, err = runJob(ctx, l.submitter, job, tag, settings)
	}
	if err != nil {
		return ran, fmt.Errorf("workload %s: job %s: %w", l.workload.Label, l.plan.Jobs[i].ID, err)
	}
	return ran, nil
}

// job describes one job of the plan as it is submitted, and uploads what its
// tasks are to do.
func (l *traceLive) job(ctx context.Context, i int, tag string) (submit.Job, error) {
	j := &l.plan.Jobs[i]
	text, err := l.specs[i].Encode()
	if err != nil {
		return submit.Job{}, err
	}
	spec := path.Join(l.output(tag), synthetic.SpecFile)
	if err := l.submitter.Put(ctx, spec, text); err != nil {
		return submit.Job{}, err
	}
	x := submit.Job{
		Name: string(j.ID), Settings: synthetic.Settings(), Reduces: len(j.Reduces), Mapper: synthetic.Mapper,
		Files:  []submit.File{{Path: l.shared, Link: synthetic.ProgramFile}, {Path: spec, Link: synthetic.SpecFile}},
		Output: path.Join(l.output(tag), "files"),
	}
	if x.Reduces > 0 {
		x.Reducer = synthetic.Reducer
	}
	if j.Queue != "" {
		x.Settings["mapreduce.job.queuename"] = j.Queue
	}
	if j.Priority > 0 {
		x.Settings["mapreduce.job.priority"] = strconv.Itoa(j.Priority)
	}
	maps.Copy(x.Settings, l.workload.Settings)
	for _, m := range j.Maps {
		x.Splits = append(x.Splits, jobsplit.Split{Path: l.submitter.URL(l.file(m.File)), Offset: m.OffsetBytes, Length: m.LengthBytes})
	}
	located, err := l.place.Cluster.HDFS.SplitLocations(ctx, x.Splits)
	if err != nil {
		return submit.Job{}, err
	}
	for m, blocks := range located {
		x.Hosts = append(x.Hosts, hostsOf(blocks, x.Splits[m]))
	}
	return x, nil
}

// hostsOf returns the hosts of the block that has most of a split.
func hostsOf(blocks []hdfs.Block, s jobsplit.Split) []string {
	var hosts []string
	most := int64(0)
	for _, b := range blocks {
		part := min(s.Offset+s.Length, b.Offset+b.Length) - max(s.Offset, b.Offset)
		if part <= most {
			continue
		}
		most, hosts = part, nil
		for _, r := range b.Replicas {
			hosts = append(hosts, r.Host)
		}
	}
	return hosts
}

// Check compares what Hadoop counted with what the tasks were asked for: written
// bytes must be as asked, and shuffled ones too, within 1 % or a header for each
// pair of a map and a reduce.
func (l *traceLive) Check(_ context.Context, i int, _ string, jobs []*measure.Job) ([]string, error) {
	asked := askedOf(&l.plan.Jobs[i], l.specs[i])
	var shuffled, written int64
	for _, j := range jobs {
		shuffled, written = shuffled+j.Bytes.Shuffle, written+j.Bytes.Output
	}
	if written != asked.OutputBytes {
		return nil, fmt.Errorf("workload %s: job %s wrote %d bytes to HDFS, and was asked for %d", l.workload.Label, asked.Job, written,
			asked.OutputBytes)
	}
	slack := max(asked.ShuffleBytes/100, int64(asked.Maps)*int64(asked.Reduces)*segmentBytes)
	if math.Abs(float64(shuffled-asked.ShuffleBytes)) > float64(slack) {
		return nil, fmt.Errorf("workload %s: job %s shuffled %d bytes, and was asked for %d", l.workload.Label, asked.Job, shuffled,
			asked.ShuffleBytes)
	}
	return []string{"bytes written", "bytes shuffled"}, nil
}
