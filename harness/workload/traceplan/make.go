package traceplan

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"heddle/harness/measure"
	"heddle/traces"
)

// planner makes a plan of the jobs that a reader collected.
type planner struct {
	Plan
	o       *Options
	files   map[fileKey]int // index of each file in Plan.Files
	hits    map[string]hits // for each path of the trace, how many bytes were read of it
	tasks   int64
	empty   int // number of jobs without tasks, which are left out
	unfed   int // number of jobs whose tasks have no recorded bytes
	without int // number of jobs whose tasks have no recorded CPU time
}

// fileKey says which input file is meant: that with a path of the trace, or the
// file of one job whose input has no path.
type fileKey struct {
	path string
	job  traces.JobID
}

// hits are the bytes that maps of a trace read of one file: all, and those of
// blocks in the HDFS cache.
type hits struct{ all, cached float64 }

func (p *planner) plan(r *reader) error {
	slices.SortStableFunc(r.jobs, func(a, b *recorded) int { return int(min(1, max(-1, a.at-b.at))) })
	input, first := int64(0), traces.Time(-1)
	for _, old := range r.jobs {
		maps, reduces := p.taken(r, old)
		if len(maps)+len(reduces) == 0 {
			p.empty++
			continue
		}
		if first < 0 {
			first = old.at
		}
		j := p.job(old, first)
		j.Recorded = recordedOf(old)
		p.tasks += int64(len(maps) + len(reduces))
		if err := r.tooMany(p.tasks); err != nil {
			return err
		}
		if err := p.fill(&j, maps, reduces); err != nil {
			return fmt.Errorf("job %s: %w", old.id, err)
		}
		for i := range j.Maps {
			input += j.Maps[i].LengthBytes
		}
		if input > maxInputBytes {
			return fmt.Errorf("the jobs read more than %d TiB; a smaller scale makes it less", int64(maxInputBytes)>>40)
		}
		p.Jobs = append(p.Jobs, j)
	}
	for i := range p.Files {
		f := &p.Files[i]
		h := p.hits[f.From]
		f.Path, f.Cached = fmt.Sprintf("input-%06d", i), h.all > 0 && h.cached*2 >= h.all
	}
	if len(p.Jobs) == 0 {
		return p.noJobs(r)
	}
	p.warn()
	return nil
}

func (p *planner) noJobs(r *reader) error {
	switch {
	case p.empty > 0:
		return fmt.Errorf("none of the %d jobs has a recorded task", p.empty)
	case r.skipped > 0:
		return fmt.Errorf("all %d jobs of the trace are submitted before from, or at until or later", r.skipped)
	}
	return errors.New("the trace has no jobs")
}

func (p *planner) warn() {
	if p.empty > 0 {
		p.Warnings = append(p.Warnings, fmt.Sprintf("%d jobs are left out: the trace has none of their tasks", p.empty))
	}
	if p.unfed > 0 {
		p.Warnings = append(p.Warnings, fmt.Sprintf("the trace has no bytes for the tasks of %d jobs: their maps read one line each, "+
			"and nothing is shuffled or written", p.unfed))
	}
	if p.without > 0 && p.o.CPUMsPerMiB > 0 {
		p.Warnings = append(p.Warnings, fmt.Sprintf("the trace has no CPU times for %d jobs: their tasks compute %v ms for each MiB "+
			"that they take in", p.without, p.o.CPUMsPerMiB))
	}
}

// job returns a job of the plan without its tasks. The argument first is the
// submission time of the plan's first job.
func (p *planner) job(old *recorded, first traces.Time) Job {
	o := p.o
	return Job{
		ID: old.id, Name: old.name, At: time.Duration(math.Round(float64(old.at-first) / o.Speed)),
		Queue: mapped(o.Queues, old.queue, ""), User: mapped(o.Users, old.user, ""),
		Priority: mapped(o.Priorities, fmt.Sprint(old.priority), 0), Pool: old.pool, Terms: old.terms,
	}
}

// mapped returns the entry of the map for a value of the trace, or else that
// for "*", or else the default.
func mapped[T any](to map[string]T, value string, other T) T {
	if v, ok := to[value]; ok {
		return v
	}
	if v, ok := to["*"]; ok {
		return v
	}
	return other
}

// taken returns the maps and reduces of a job with the bytes of the trace,
// after merging. It notes which part of each file was cached.
func (p *planner) taken(r *reader, j *recorded) (maps, reduces []task) {
	if j.listed != nil {
		return p.listed(r.list, j.listed)
	}
	maps, reduces = r.sorted(j, traces.Map), r.sorted(j, traces.Reduce)
	for i := range maps {
		if t := &maps[i]; t.path != "" {
			h := p.hits[t.path]
			h.all += float64(t.input())
			if r.cached[t.block] {
				h.cached += float64(t.input())
			}
			p.hits[t.path] = h
		}
	}
	lay(maps)
	return p.merged(maps), p.merged(reduces)
}

// file returns the index in Plan.Files of the file that a job reads. It makes
// the file if it is new. An empty path means that the trace names none.
func (p *planner) file(path string, job traces.JobID) int {
	key := fileKey{path: path}
	if path == "" {
		key.job = job
	}
	i, ok := p.files[key]
	if !ok {
		i = len(p.Files)
		p.files[key] = i
		p.Files = append(p.Files, File{From: path})
	}
	return i
}

// lay gives the maps that read one file their parts of the file one after the
// other, if the trace says that all of them begin at the file's start. Then it
// does not know where they begin.
func lay(maps []task) {
	count, started := map[string]int{}, map[string]bool{}
	for i := range maps {
		count[maps[i].path]++
		started[maps[i].path] = started[maps[i].path] || maps[i].offset > 0
	}
	ends := map[string]int64{}
	for i := range maps {
		t := &maps[i]
		if t.path != "" && count[t.path] > 1 && !started[t.path] {
			t.offset = ends[t.path]
			ends[t.path] = traces.AddCount(t.offset, t.input())
		}
	}
}

// input returns the bytes that a map reads: the length of its split, or else
// what it read from HDFS.
func (t *task) input() int64 {
	if t.length > 0 {
		return t.length
	}
	return t.read
}

// merged returns a list of at most MaxTasks tasks that have, together, the
// bytes of the given ones. Each consists of neighbours. It reads the file of
// which its parts read most, from the first of these parts on.
func (p *planner) merged(list []task) []task {
	k := p.o.most(int64(len(list)))
	if k == len(list) {
		return list
	}
	out := make([]task, k)
	for g := range out {
		out[g] = sumOf(list[g*len(list)/k : (g+1)*len(list)/k])
	}
	return out
}

// sumOf returns the task into which the given ones are merged.
func sumOf(parts []task) task {
	sum := task{index: parts[0].index}
	bytes := map[string]int64{}
	for i := range parts {
		t := &parts[i]
		bytes[t.path] = traces.AddCount(bytes[t.path], t.input())
		if t.path != sum.path && (bytes[t.path] > bytes[sum.path] || sum.path == "") {
			sum.path = t.path
		}
		sum.length = traces.AddCount(sum.length, t.input())
		sum.put, sum.fetched = traces.AddCount(sum.put, t.put), traces.AddCount(sum.fetched, t.fetched)
		sum.written, sum.cpuMs = traces.AddCount(sum.written, t.written), traces.AddCount(sum.cpuMs, t.cpuMs)
	}
	sum.offset = math.MaxInt64
	for i := range parts {
		if parts[i].path == sum.path {
			sum.offset = min(sum.offset, parts[i].offset)
		}
	}
	return sum
}

// listed returns the tasks that the rules make for a job of a list, after
// merging.
func (p *planner) listed(rules *traces.ListRules, x *traces.JobListed) (maps, reduces []task) {
	n := rules.Maps(x)
	k := int64(p.o.most(n))
	for g := range k {
		begin, end := g*n/k*rules.BlockBytes, (g+1)*n/k*rules.BlockBytes
		maps = append(maps, task{path: x.Path, offset: begin, length: max(0, min(end, x.InputBytes)-begin)})
	}
	reduces = make([]task, p.o.most(rules.Reduces(x)))
	writers := maps
	if len(reduces) > 0 {
		writers = reduces
		for i, bytes := range apportion(x.ShuffleBytes, make([]int64, len(reduces))) {
			reduces[i].fetched = bytes
		}
	}
	for i, bytes := range apportion(x.OutputBytes, make([]int64, len(writers))) {
		writers[i].written = bytes
	}
	return maps, reduces
}

// recordedOf returns what the trace says of a job, before merging and scaling.
func recordedOf(j *recorded) Recorded {
	rec := Recorded{CompletionMs: -1}
	if j.ended > j.at {
		rec.CompletionMs = (j.ended - j.at).Milliseconds()
	}
	if x := j.listed; x != nil {
		rec.Bytes = measure.Bytes{Input: x.InputBytes, Shuffle: x.ShuffleBytes, Output: x.OutputBytes}
		return rec
	}
	for kind := range j.tasks {
		for i := range j.tasks[kind] {
			t := &j.tasks[kind][i]
			b := &rec.Bytes
			if traces.TaskKind(kind) == traces.Map {
				b.Input = traces.AddCount(b.Input, t.input())
				rec.Locality.Add(t.level)
			}
			b.Shuffle = traces.AddCount(b.Shuffle, t.fetched)
			b.Output = traces.AddCount(b.Output, t.written)
		}
	}
	return rec
}
