package sls

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"heddle/traces"
	"heddle/traces/format"
	"heddle/traces/internal/invent"
	"heddle/traces/internal/jsonstream"
	"heddle/traces/mend"
)

// Limits that protect the import from damaged or hostile files.
const (
	maxCopies   = 1 << 16    // greatest number of identical copies of a job
	maxTasks    = 1 << 20    // greatest number of tasks of a job
	maxMadeUp   = 20_000_000 // greatest number of tasks of all jobs; one line of a file can ask for a million
	maxVCores   = 1 << 20    // greatest number of cores of a container or a node
	maxMemoryMB = 1 << 40
	maxCount    = 1 << 62
	// maxLengthMs is the longest duration: ten years.
	maxLengthMs = 10 * 365 * 24 * 3600 * 1000
)

// Defects that an import finds in SLS's job traces, and what it does about each.
var (
	badNumber  mend.Kind = "a number out of its range: taken as unknown"
	noJobs     mend.Kind = "an object that is no job: left out (job)"
	noTasks    mend.Kind = "a job without tasks: kept without tasks"
	noStart    mend.Kind = "a job without a start: taken as started at the job before's"
	noLength   mend.Kind = "a task without a duration over 0: taken as 1 ms long"
	oddKind    mend.Kind = "a task that is neither map nor reduce: taken as a map"
	earlyTask  mend.Kind = "a job whose containers start before it: its containers moved to start with it"
	manyCopies mend.Kind = "a job with over 65,536 copies: left out (job)"
	manyTasks  mend.Kind = "a job with over 1,048,576 tasks: left out (job)"
)

// reader reads SLS's files one job after the other.
type reader struct {
	*format.Import
	in  *jsonstream.Reader
	job job
	// nodes and racks are the numbers of nodes and racks in an object without a
	// job; 0 means that there was no such object.
	nodes, racks count
	last         millis // start time of the previous job
	madeUp       int64  // number of tasks of all jobs so far
	scheduled    bool   // true if start times are made up, since a container had none in the file
}

func newReader(im *format.Import) *reader { return &reader{Import: im} }

// Read implements format.Reader: it reads a file and adds the events of its
// jobs.
func (r *reader) Read(in io.Reader) error {
	r.in = jsonstream.New(in, r.Log)
	for {
		err := r.in.Next(r.readJob)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = r.object()
		}
		if err != nil {
			return err
		}
	}
}

func (r *reader) readJob() error {
	j := &r.job
	tasks := j.Tasks[:0]
	*j = noJob
	j.Tasks = tasks
	return r.in.Fields(j, r.into)
}

// into reads a value into a field of a job or a task.
func (r *reader) into(field any) error {
	switch to := field.(type) {
	case *millis:
		return limited(r.in, to, format.LatestMs)
	case *lengthMs:
		return limited(r.in, to, maxLengthMs)
	case *megabytes:
		return limited(r.in, to, maxMemoryMB)
	case *cores:
		return limited(r.in, to, maxVCores)
	case *count:
		return limited(r.in, to, maxCount)
	case *[]task:
		return r.in.List(func() error {
			t := jsonstream.Another(to)
			*t = noTask
			return r.in.Fields(t, r.into)
		})
	}
	return r.in.Skip()
}

// limited reads a number from 0 to the limit most. Any other number is recorded as a
// defect and not used.
func limited[T ~int64](in *jsonstream.Reader, to *T, most T) error {
	n, ok, err := in.Int()
	switch {
	case !ok || err != nil:
		return err
	case n < 0 || T(n) > most:
		return in.MendHere(badNumber, strconv.FormatInt(n, 10))
	}
	*to = T(n)
	return nil
}

// The method object handles the JSON object that was just read: it adds the job
// in the object, or remembers the numbers of nodes and racks.
func (r *reader) object() error {
	j := &r.job
	isJob := j.StartMs >= 0 || j.EndMs >= 0 || j.Queue != "" || j.ID != "" || j.User != "" || len(j.Tasks) > 0
	if !isJob {
		if j.Nodes == 0 && j.Racks == 0 {
			return r.in.Mend(noJobs, "it has no member of a job")
		}
		r.nodes, r.racks = j.Nodes, j.Racks
		return nil
	}
	r.Records++
	if err := r.complete(); err != nil {
		return err
	}
	if ok, err := r.bounded(); !ok {
		r.Log.LostJobs += int(min(j.Count, maxCopies)) - 1
		return err
	}
	if err := r.align(); err != nil {
		return err
	}
	for range j.Count {
		id, err := r.JobID(j.ID, func() error {
			if j.Count > 1 {
				return nil // no defect: identical copies of a job have one id in the file, and SLS itself makes up the ids of the copies
			}
			return r.in.Mend(format.JobAgain, j.ID)
		})
		if err != nil {
			return err
		}
		if err := r.events(id); err != nil {
			return err
		}
	}
	return nil
}

// complete sets the start of a job, and what its tasks lack.
func (r *reader) complete() error {
	j := &r.job
	if j.StartMs < 0 {
		if err := r.in.Mend(noStart, j.ID); err != nil {
			return err
		}
		j.StartMs = r.last
	}
	r.last = j.StartMs
	if len(j.Tasks) == 0 {
		return r.in.Mend(noTasks, j.ID)
	}
	for i := range j.Tasks {
		if err := r.task(&j.Tasks[i], fmt.Sprintf("%s, task %d", j.ID, i)); err != nil {
			return err
		}
	}
	return nil
}

// align moves the containers of a job that start before it, as by the clock of another host.
func (r *reader) align() error {
	j := &r.job
	first, last := j.StartMs, j.StartMs
	for i := range j.Tasks {
		if t := &j.Tasks[i]; t.StartMs >= 0 {
			first = min(first, t.StartMs)
		}
	}
	by := j.StartMs - first
	if by == 0 {
		return nil
	}
	for i := range j.Tasks {
		if t := &j.Tasks[i]; t.StartMs >= 0 {
			t.StartMs += by
			last = max(last, t.StartMs+millis(t.DurationMs))
		}
	}
	if j.EndMs >= 0 {
		j.EndMs = max(j.EndMs, last)
	}
	return r.in.Mend(earlyTask, fmt.Sprintf("%s: by %d ms", j.ID, by))
}

// The method task sets the duration of a task and replaces wrong values.
func (r *reader) task(t *task, about string) error {
	if !slices.Contains(kinds[:], t.Type) {
		if err := r.in.Mend(oddKind, t.Type); err != nil {
			return err
		}
		t.Type = kinds[traces.Map]
	}
	// A file may give the duration of a task in up to three ways. SLS takes
	// container.duration.ms, else duration.ms, else the difference of start and
	// end.
	if t.DurationMs < 0 {
		t.DurationMs = t.OldMs
	}
	if t.DurationMs < 0 && t.StartMs >= 0 && t.EndMs >= 0 {
		t.DurationMs = lengthMs(t.EndMs - t.StartMs)
	}
	if t.DurationMs <= 0 {
		t.DurationMs = 1
		return r.in.Mend(noLength, about)
	}
	return nil
}

// bounded reports whether the job's numbers of copies and tasks are within the
// limits. A job over the limits is left out.
func (r *reader) bounded() (bool, error) {
	j := &r.job
	j.Count = max(j.Count, 1)
	if j.Count > maxCopies {
		return false, r.in.Mend(manyCopies, fmt.Sprintf("%s: %d jobs", j.ID, j.Count))
	}
	tasks := count(0)
	for i := range j.Tasks {
		t := &j.Tasks[i]
		t.Count = max(t.Count, 1)
		if t.Count > maxTasks-tasks {
			return false, r.in.Mend(manyTasks, fmt.Sprintf("%s, task %d: %d tasks", j.ID, i, t.Count))
		}
		tasks += t.Count
	}
	if r.madeUp += int64(tasks * j.Count); r.madeUp > maxMadeUp {
		return false, fmt.Errorf("the files ask for over %d tasks, the most that is made up: import fewer jobs at a time", maxMadeUp)
	}
	return true, nil
}

func (m millis) time() traces.Time { return traces.Time(m) * 1e6 }

// events adds the events of one copy of the current job to the trace. A
// container without a start time in the file starts at the job's start plus the
// container's delay.
func (r *reader) events(id traces.JobID) error {
	j := &r.job
	s := &traces.JobSubmitted{T: j.StartMs.time(), Job: id, User: j.User, Queue: j.Queue, MapLabel: j.Label, ReduceLabel: j.Label}
	for i := range j.Tasks {
		t := &j.Tasks[i]
		count, memory, vcores := &s.Maps, &s.MapMemoryBytes, &s.MapVCores
		if t.kind() == traces.Reduce {
			count, memory, vcores = &s.Reduces, &s.ReduceMemoryBytes, &s.ReduceVCores
		}
		*count += int32(t.Count)
		*memory = max(*memory, int64(t.MemoryMB)<<20)
		*vcores = max(*vcores, int32(t.VCores))
	}
	if err := r.Add(s); err != nil {
		return err
	}
	end := j.StartMs
	var next [len(kinds)]int32
	for i := range j.Tasks {
		t := &j.Tasks[i]
		start := t.StartMs
		if start < 0 {
			r.scheduled = true
			start = j.StartMs + millis(t.DelayMs)
		}
		end = max(end, start+millis(t.DurationMs))
		for range t.Count {
			task := traces.Task{Job: id, Kind: t.kind(), Index: next[t.kind()]}
			next[t.kind()]++
			if err := r.taskEvents(t, task, start); err != nil {
				return err
			}
		}
	}
	if j.EndMs >= j.StartMs {
		if j.EndMs < end {
			if err := r.in.Mend(format.JobEndFirst, string(id)); err != nil {
				return err
			}
		}
		end = j.EndMs
	}
	return r.Add(traces.Uncounted(end.time(), id, traces.Succeeded))
}

func (t *task) kind() traces.TaskKind { return traces.TaskKind(slices.Index(kinds[:], t.Type)) }

// taskEvents adds the events of a task and of its only attempt. The attempt runs
// on the container's host, which is also the only host of a map's split.
func (r *reader) taskEvents(t *task, id traces.Task, start millis) error {
	i := strings.LastIndexByte(t.Host, '/')
	rack, node := t.Host[:max(i, 0)], traces.Node(r.Racks.Name(t.Host[i+1:]))
	end := start + millis(t.DurationMs)
	scheduled := &traces.TaskScheduled{T: min(r.job.StartMs+millis(t.DelayMs), start).time(), Task: id}
	level := traces.LevelUnknown
	if node != "" && id.Kind == traces.Map {
		scheduled.SplitHosts = []traces.Node{node}
		level = traces.LevelNode
	}
	attempt := traces.Attempt{Task: id}
	for _, e := range [...]traces.Event{
		scheduled,
		&traces.AttemptStarted{T: start.time(), Attempt: attempt, Node: node, Rack: rack, SplitLocality: level, SampleAgeNs: -1},
		&traces.AttemptFinished{T: end.time(), Attempt: attempt, Outcome: traces.Succeeded, Counters: traces.NoCounters},
		&traces.TaskFinished{T: end.time(), Task: id, Outcome: traces.Succeeded},
	} {
		if err := r.Add(e); err != nil {
			return err
		}
	}
	return nil
}

// Finish implements format.Reader. An SLS file names one host for each map's
// split. Finish adds further hosts, as HDFS would have placed the replicas if
// the first host had written the block.
func (r *reader) Finish(h *traces.Header) (func(*traces.TaskScheduled), error) {
	if r.nodes > 0 && r.nodes <= maxTasks && len(h.Cluster.Nodes) == 0 {
		var err error
		if h.Cluster.Nodes, err = invent.Nodes(int(r.nodes), int(r.racks)); err != nil {
			return nil, err
		}
		h.Synthetic = append(h.Synthetic, "nodes")
	}
	place := r.Replication > 1 && len(h.Cluster.Nodes) > 1
	if place {
		h.Synthetic = append(h.Synthetic, "replicas")
		h.Settings["import.replication"] = strconv.Itoa(r.Replication)
	}
	if r.scheduled {
		h.Synthetic = append(h.Synthetic, "schedule")
	}
	if !place {
		return nil, nil
	}
	placer := invent.NewPlacer(h.Cluster.Nodes)
	return func(s *traces.TaskScheduled) {
		var writer traces.Node
		if len(s.SplitHosts) > 0 {
			writer = s.SplitHosts[0]
		}
		s.SplitHosts = placer.Replicas(slices.Clip(s.SplitHosts[:0]), writer, r.Replication,
			r.Seed, traces.HashName(string(s.Task.Job)), uint64(s.Task.Index))
	}, nil
}
