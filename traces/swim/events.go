package swim

import (
	"fmt"
	"strconv"
	"strings"

	"heddle/traces"
	"heddle/traces/byjob"
	"heddle/traces/internal/invent"
)

// Synthetic names what Events makes up.
var Synthetic = []string{"tasks", "durations", "schedule"}

// Importer turns jobs into trace events by its rules: as if every task started
// at once, maps at the job's submission, reduces at the last map's end. Where
// Placer is set, splits have hosts, and maps run on the first of theirs; files
// of the same path lie on the same nodes.
type Importer struct {
	Rules
	Placer *invent.Placer // nil: no hosts
	Copies int            // of a block
}

// Events gives add a job's events; id is its name in the trace. The Time 0 is
// the list's. It ends at add's first error.
func (m Importer) Events(j Job, id traces.JobID, add func(traces.Event) error) error {
	maps, reduces := m.Maps(j), m.Reduces(j)
	if maps > maxTasks {
		return &JobError{fmt.Sprintf("%d maps are over the limit of %d a job; larger blocks make fewer", maps, maxTasks)}
	}
	if j.SubmitSec > maxMs/1000 {
		return &JobError{fmt.Sprintf("submitted %d s after the start, over the limit of ten years", j.SubmitSec)}
	}
	a := adder{add: add}
	key, file := j.Key(), j.Key()
	if j.Path != "" {
		file = traces.HashName(j.Path)
	}
	submit := traces.Time(j.SubmitSec * 1e9)
	a.add1(&traces.JobSubmitted{T: submit, Job: id, Name: j.ID, Maps: int32(maps), Reduces: int32(reduces)})
	if j.GapSec != 0 {
		about := traces.Attempt{Task: traces.Task{Job: id, Index: -1}, Number: -1}
		a.add1(&traces.Source{T: submit, Form: "swim", About: about, Members: fmt.Sprintf(`"gap":%d`, j.GapSec)})
	}
	mapsEnd := submit
	for i := range maps {
		s := &traces.TaskScheduled{
			T: submit, Task: traces.Task{Job: id, Kind: traces.Map, Index: int32(i)},
			Path: j.Path, OffsetBytes: i * m.BlockBytes, LengthBytes: m.SplitBytes(j, i),
		}
		level := traces.LevelUnknown
		var node traces.Node
		if !m.Placer.Empty() {
			s.SplitHosts = m.Placer.Replicas(nil, "", m.Copies, m.Seed, file, uint64(i))
			node, level = s.SplitHosts[0], traces.LevelNode
		}
		end := submit + traces.Time(m.MapMs(j, key, i)*1e6)
		mapsEnd = max(mapsEnd, end)
		counters := traces.NoCounters
		counters.HDFSReadBytes, counters.MapOutputBytes = s.LengthBytes, share(j.ShuffleBytes, maps, i)
		if reduces == 0 {
			counters.HDFSWrittenBytes = share(j.OutputBytes, maps, i)
		}
		a.task(s, end, node, level, counters)
	}
	jobEnd := mapsEnd
	for i := range reduces {
		var node traces.Node
		if !m.Placer.Empty() {
			node = m.Placer.Node(m.Seed, key, uint64(i))
		}
		end := mapsEnd + traces.Time(m.ReduceMs(j, key, i)*1e6)
		jobEnd = max(jobEnd, end)
		counters := traces.NoCounters
		counters.ShuffleBytes, counters.HDFSWrittenBytes = share(j.ShuffleBytes, reduces, i), share(j.OutputBytes, reduces, i)
		s := &traces.TaskScheduled{T: mapsEnd, Task: traces.Task{Job: id, Kind: traces.Reduce, Index: int32(i)}}
		a.task(s, end, node, traces.LevelUnknown, counters)
	}
	totals := traces.NoCounters
	totals.HDFSReadBytes, totals.ShuffleBytes, totals.HDFSWrittenBytes = j.InputBytes, j.ShuffleBytes, j.OutputBytes
	a.add1(&traces.JobFinished{
		T: jobEnd, Job: id, Outcome: traces.Succeeded, Counters: totals,
		DataLocalMaps: -1, RackLocalMaps: -1, OtherLocalMaps: -1, LaunchedMaps: -1, LaunchedReds: -1,
	})
	return a.err
}

// JobError says why a job cannot be imported; the next one may.
type JobError struct{ Reason string }

func (e *JobError) Error() string { return e.Reason }

// adder keeps the first error.
type adder struct {
	add func(traces.Event) error
	err error
}

func (a *adder) add1(e traces.Event) {
	if a.err == nil {
		a.err = a.add(e)
	}
}

// task adds a task, its one attempt, and both ends.
func (a *adder) task(s *traces.TaskScheduled, end traces.Time, node traces.Node, level traces.Level, c traces.Counters) {
	id := traces.Attempt{Task: s.Task}
	a.add1(s)
	a.add1(&traces.AttemptStarted{T: s.T, Attempt: id, Node: node, SplitLocality: level, SampleAgeNs: -1})
	a.add1(&traces.AttemptFinished{T: end, Attempt: id, Outcome: traces.Succeeded, Counters: c})
	a.add1(&traces.TaskFinished{T: end, Task: s.Task, Outcome: traces.Succeeded})
}

// FromTrace is the job that Events made its events of, or what a list has of
// any other job: of captured jobs the bytes of attempts that succeeded.
func FromTrace(j *byjob.Job) Job {
	out := Job{ID: string(j.ID)}
	if j.Submitted != nil {
		out.SubmitSec = max(int64(j.Submitted.T), 0) / 1e9
	}
	if j.Source != nil && j.Source.Form == "swim" {
		if j.Submitted != nil && j.Submitted.Name != "" {
			out.ID = j.Submitted.Name
		}
		_, gap, _ := strings.Cut(j.Source.Members, ":")
		n, _ := strconv.ParseInt(gap, 10, 64)
		out.GapSec = max(n, 0)
	}
	var sums traces.Counters
	for _, t := range j.Tasks {
		if t.Scheduled != nil && out.Path == "" {
			out.Path = t.Scheduled.Path
		}
		for _, a := range t.Attempts {
			if a.Finished != nil && a.Finished.Outcome == traces.Succeeded {
				if t.ID.Kind == traces.Map {
					sums.HDFSReadBytes = traces.AddCount(sums.HDFSReadBytes, a.Finished.Counters.HDFSReadBytes)
				}
				sums.ShuffleBytes = traces.AddCount(sums.ShuffleBytes, a.Finished.Counters.ShuffleBytes)
				sums.HDFSWrittenBytes = traces.AddCount(sums.HDFSWrittenBytes, a.Finished.Counters.HDFSWrittenBytes)
			}
		}
	}
	total := traces.NoCounters
	if j.Finished != nil {
		total = j.Finished.Counters
	}
	pick := func(total, sum int64) int64 {
		if total >= 0 {
			return min(total, maxNumber)
		}
		return min(sum, maxNumber)
	}
	out.InputBytes = pick(total.HDFSReadBytes, sums.HDFSReadBytes)
	out.ShuffleBytes = pick(total.ShuffleBytes, sums.ShuffleBytes)
	out.OutputBytes = pick(total.HDFSWrittenBytes, sums.HDFSWrittenBytes)
	return out
}
