package explain

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"heddle/harness/measure"
	"heddle/traces"
)

// fact is an attempt as the events tell it, without what package explain makes of them.
type fact struct {
	id          traces.Attempt
	node        traces.Node
	start, end  traces.Time
	outcome     traces.Outcome
	text        string
	level       traces.Level
	bytes       int64
	decided     traces.Time // -1: not known
	speculative bool
	unlaunched  bool
}

// given is when the attempt got its container, as far as that is known.
func (a *fact) given() traces.Time {
	if a.decided >= 0 {
		return min(a.start, a.decided)
	}
	return a.start
}

// facts is a trace, looked up slowly and plainly.
type facts struct {
	*run
	list      []*fact
	submitted map[traces.JobID]*traces.JobSubmitted
	started   map[traces.JobID][]*traces.JobStarted
	ended     map[traces.JobID]traces.Time
}

func (r *run) facts() *facts {
	f := &facts{r, nil, map[traces.JobID]*traces.JobSubmitted{}, map[traces.JobID][]*traces.JobStarted{}, map[traces.JobID]traces.Time{}}
	decided, bound := map[int64]traces.Time{}, map[traces.Attempt]traces.Time{}
	for _, e := range r.events {
		switch e := e.(type) {
		case *traces.JobSubmitted:
			f.submitted[e.Job] = e
		case *traces.JobStarted:
			f.started[e.Job] = append(f.started[e.Job], e)
		case *traces.JobFinished:
			f.ended[e.Job] = e.T
		case *traces.Decision:
			decided[e.ID] = e.T
		case *traces.Actuation:
			if e.Bound.Job != "" {
				bound[e.Bound] = decided[e.Decision]
			}
		case *traces.AttemptStarted:
			f.list = append(f.list, &fact{
				id: e.Attempt, node: e.Node, start: e.T, end: math.MaxInt64,
				level: cmp.Or(e.ReplicaLocality, e.SplitLocality), decided: -1, speculative: e.Speculative,
			})
		case *traces.AttemptFinished:
			a := f.of(e.Attempt)
			if a == nil {
				a = &fact{id: e.Attempt, node: e.Node, start: e.T, decided: -1, unlaunched: true}
				f.list = append(f.list, a)
			}
			a.end, a.outcome, a.text, a.bytes = e.T, e.Outcome, e.Error, max(e.Counters.HDFSReadBytes, e.Counters.ShuffleBytes)
		}
	}
	for _, a := range f.list {
		if t, ok := bound[a.id]; ok {
			a.decided = t
		}
	}
	return f
}

func (f *facts) of(id traces.Attempt) *fact {
	i := slices.IndexFunc(f.list, func(a *fact) bool { return a.id == id })
	if i < 0 {
		return nil
	}
	return f.list[i]
}

// rooms counts the workers with room for a task of a job, or its master, which takes no slot, at
// a time between events. taken says which attempts take room.
func (f *facts) rooms(job traces.JobID, kind traces.TaskKind, t traces.Time, master bool, taken func(*fact) bool) (n int) {
	for _, x := range f.header.Cluster.Nodes {
		memory, vcores, up := x.MemoryBytes, x.VCores, true
		slots := [2]int32{f.header.MapSlots, f.header.ReduceSlots}
		for _, e := range f.events {
			if e.At() > t {
				break
			}
			switch e := e.(type) {
			case *traces.NodeDown:
				up = up && e.Node != x.Node
			case *traces.NodeUp:
				up = up || e.Node == x.Node
			}
		}
		take := func(job traces.JobID, kind traces.TaskKind) {
			s := f.submitted[job]
			memory -= [2]int64{s.MapMemoryBytes, s.ReduceMemoryBytes}[kind]
			vcores -= [2]int32{s.MapVCores, s.ReduceVCores}[kind]
			slots[kind]--
		}
		for _, a := range f.list {
			if a.node == x.Node && taken(a) {
				if take(a.id.Job, a.id.Kind); a.speculative {
					slots[a.id.Kind]++
				}
			}
		}
		for job, list := range f.started {
			for i, m := range list {
				until := f.ended[job]
				if i+1 < len(list) {
					until = list[i+1].T
				}
				if m.AMNode == x.Node && m.T <= t && t < until {
					memory -= m.AMMemoryBytes
				}
			}
		}
		take(job, kind)
		limited := (f.header.MapSlots > 0 || f.header.ReduceSlots > 0) && !master
		if up && memory >= 0 && vcores >= 0 && (!limited || slots[kind] >= 0) {
			n++
		}
	}
	return n
}

// lastMap is when the last map ended whose output a reduce could have fetched by a time.
func (f *facts) lastMap(job traces.JobID, by traces.Time) (last traces.Time) {
	for _, a := range f.list {
		if a.id.Job == job && a.id.Kind == traces.Map && a.outcome == traces.Succeeded && a.end <= by {
			last = max(last, a.end)
		}
	}
	return last
}

// has is when an attempt had all its input.
func (f *facts) has(a *fact) traces.Time {
	if a.id.Kind == traces.Reduce {
		return max(a.start, f.lastMap(a.id.Job, a.end))
	}
	return a.start
}

// check reports what is wrong with a piece of a path; empty: nothing.
func (f *facts) check(s Step) string {
	a, j := f.of(s.Attempt), f.submitted[s.Job]
	ran := a != nil && a.start <= s.From && s.To <= a.end && a.node == s.Node
	mid := s.From + (s.To-s.From)/2
	must := func(what string, is bool) string {
		if is {
			return ""
		}
		return "want that " + what
	}
	switch s.Cause {
	case ownWork, cores, slowNode, farRead, skew, slower, disk:
		if s.Cause == slowNode && ran && f.beside(a) {
			return ""
		}
		if a != nil && s.Cause == ownWork && f.lostBy(a, s.To) {
			return ""
		}
		if !ran || a.outcome != traces.Succeeded || s.From < min(f.has(a), s.To) {
			return "want that it ran then, with all its input, and succeeded"
		}
		return f.checkRun(s, a)
	case link:
		return must("it ran then and read from elsewhere", a != nil && a.start <= s.From && s.To <= a.end &&
			(a.id.Kind == traces.Reduce || a.level > traces.LevelNode))
	case reducesHold:
		return f.checkReduces(s, a)
	case othersHold:
		x := f.of(s.Other)
		if m := f.started[s.Other.Job]; x == nil && len(m) > 0 && s.Other.Job != s.Job && m[0].T <= s.From && s.To <= f.ended[s.Other.Job] {
			return "" // its ApplicationMaster did
		}
		return must("an attempt of another job had the container", x != nil && x.id.Job != s.Job && x.node == s.Node && s.To <= x.end &&
			s.From >= x.given()-handOverMost)
	case kept, masterWait:
		room := f.rooms(s.Job, s.Attempt.Kind, mid, s.Cause == masterWait, func(a *fact) bool {
			return a.start <= mid && mid < a.end &&
				!a.unlaunched
		})
		return must("a node had room", room > 0)
	case handOver:
		return must("it is short, or a container had been given", s.To-s.From <= handOverMost || a != nil && s.From >= a.given()-handOverMost)
	case failed:
		return must("it ran then and failed", ran && a.outcome == traces.Failed)
	case preempted, killed:
		return must("it was killed", a != nil && a.outcome == traces.Killed)
	case speculation:
		return must("there are two attempts at the task", f.beside(a))
	case nodeLost:
		return must("a node had been lost", slices.ContainsFunc(f.events, func(e traces.Event) bool { _, is := e.(*traces.NodeDown); return is }))
	case masterLost:
		return must("there is another master", len(f.started[s.Job]) > 1 || strings.Contains(a.text, traces.KilledWithOwner))
	case masterStart:
		return must("its master was not up", j.T <= s.From && s.To <= f.started[s.Job][0].T)
	case jobEnd:
		return must("its last task had ended", s.To == f.ended[s.Job] && !slices.ContainsFunc(f.list, func(b *fact) bool {
			return b.id.Job == s.Job && b.outcome == traces.Succeeded && b.end > s.From && b.end <= s.To
		}))
	case submittedLate:
		return must("it had not been submitted", s.To <= j.T)
	}
	return ""
}

// lostBy reports whether an attempt ran again since the output of one before it was lost.
func (f *facts) lostBy(a *fact, t traces.Time) bool {
	return slices.ContainsFunc(f.list, func(b *fact) bool {
		return b.id.Task == a.id.Task && b.id != a.id && b.outcome == traces.Succeeded && b.end <= t && b.end <= a.start
	})
}

// beside reports whether another attempt of the task ran at the same time.
func (f *facts) beside(a *fact) bool {
	return slices.ContainsFunc(f.list, func(b *fact) bool { return b.id.Task == a.id.Task && b != a && b.start <= a.end && a.start <= b.end })
}

// checkRun checks what is said of an attempt that ran.
func (f *facts) checkRun(s Step, a *fact) string {
	c := f.header.Cluster
	switch s.Cause {
	case cores:
		n := 0.0
		for _, b := range f.list {
			if c.HostCores > 0 || b.node == a.node {
				n += float64(max(0, min(b.end, a.end)-max(f.has(b), f.has(a))))
			}
		}
		if has := f.nodeCores(a.node); s.Cores != has || s.Load > 0 && n/float64(a.end-f.has(a)) <= 0 {
			return fmt.Sprintf("%.2f attempts on %v cores; want %.2f on %v", s.Load, s.Cores, n/float64(a.end-f.has(a)), has)
		}
	case disk:
		if !slices.Contains(c.Disks, traces.DiskFacts{Node: a.node, BytesPerSec: int64(s.Load)}) || a.level != traces.LevelNode {
			return "want the rate of its disk, and a map with its input on it"
		}
	case farRead:
		if a.level <= traces.LevelCache {
			return "want input elsewhere or on a disk"
		}
	case skew:
		if s.Load < standsOut {
			return "want more bytes"
		}
	}
	return ""
}

func (f *facts) nodeCores(name traces.Node) float64 {
	if c := f.header.Cluster.HostCores; c > 0 {
		return c
	}
	i := slices.IndexFunc(f.header.Cluster.Nodes, func(n traces.NodeFacts) bool { return n.Node == name })
	return f.header.Cluster.Nodes[i].Cores
}

// checkReduces checks that reduces of a job hold what its maps wait for.
func (f *facts) checkReduces(s Step, a *fact) string {
	if a.id.Kind == traces.Reduce {
		if strings.Contains(a.text, traces.KilledForMaps) {
			return ""
		}
		return "want a reduce that was killed for maps"
	}
	mid := s.From + (s.To-s.From)/2
	if s.Load > 0 {
		return ""
	}
	x := f.of(s.Other)
	if x.id.Job != a.id.Job || x.id.Kind != traces.Reduce || x.node != s.Node || s.To > x.end || s.From < x.given()-handOverMost {
		return "want that a reduce of the job had the container"
	}
	if n := f.rooms(a.id.Job, traces.Map, s.To-1, false, func(b *fact) bool {
		return b.given()-handOverMost < s.To && s.To <= b.end
	}); n > 0 {
		return fmt.Sprintf("%d nodes had room", n)
	}
	if f.lastMap(a.id.Job, math.MaxInt64) <= mid {
		return "want that maps were left"
	}
	return ""
}

// TestTrue has a thousand jobs of random runs: each piece of each path is looked up in the
// events by code that knows nothing of the walk, and the pieces follow one another without
// a gap, and add up to the time that package measure finds in the same trace.
func TestTrue(t *testing.T) {
	jobs, seed, most := 0, uint64(0), 1000
	if testing.Short() {
		most = 150
	}
	pieces := map[Cause]int{}
	for ; jobs < most; seed++ {
		r := drawn(t, seed)
		x, of, f := r.explained(t), measure.Of(r.header, slices.Values(r.events)), r.facts()
		check := func(name string, steps []Step, lines []Line, begin traces.Time, wantMs float64) {
			checkSums(t, name, steps, lines, begin, wantMs)
			for _, s := range steps {
				if pieces[s.Cause]++; f.check(s) != "" {
					t.Errorf("%s: %s from %v to %v: %s\n%+v", name, s.Cause, Ns(s.From), Ns(s.To), f.check(s), s)
				}
			}
		}
		check(fmt.Sprintf("seed %d", seed), x.Steps, x.Lines, x.Begin, of.MakespanMs)
		completion := map[traces.JobID]float64{}
		for _, j := range of.JobList {
			completion[j.ID] = j.CompletionMs
		}
		for _, j := range x.Jobs {
			jobs++
			check(fmt.Sprintf("seed %d, %s", seed, j.ID), j.Steps, j.Lines, j.Begin, completion[j.ID])
		}
	}
	t.Logf("%d jobs of %d runs: %v", jobs, seed, pieces)
	for _, c := range []Cause{reducesHold, othersHold, masterWait, kept, slowNode, disk, link, cores, failed, nodeLost, speculation} {
		if pieces[c] == 0 && !testing.Short() {
			t.Errorf("no piece of any path is %s", c)
		}
	}
}

// checkSums checks that pieces follow one another from an end to a begin, and that each line
// has the time of its pieces, and names the task of the longest one.
func checkSums(t *testing.T, name string, steps []Step, lines []Line, begin traces.Time, wantMs float64) {
	t.Helper()
	until, sums := begin+traces.Time(wantMs*1e6), map[Cause]Ns{}
	for _, s := range steps {
		if s.To != until || s.From >= s.To {
			t.Errorf("%s: a piece from %d to %d follows %d", name, s.From, s.To, until)
		}
		until, sums[s.Cause] = s.From, sums[s.Cause]+Ns(s.To-s.From)
	}
	if until != begin {
		t.Errorf("%s: the path ends at %d; want %d", name, until, begin)
	}
	for _, l := range lines {
		if l.Seconds != sums[l.Cause] || math.Abs(l.Share-float64(l.Seconds)/wantMs/1e4) > 1e-6 {
			t.Errorf("%s: %s is %v, %f %%; its pieces are %v of %v ms", name, l.Cause, l.Seconds, l.Share, sums[l.Cause], wantMs)
		}
		delete(sums, l.Cause)
		if name := slowest(steps, l.Cause); slices.Contains([]Cause{slowNode, disk, failed}, l.Cause) && !strings.Contains(l.Sentence, name) {
			t.Errorf("%s: %q does not name %s", name, l.Sentence, name)
		}
	}
	if len(sums) > 0 {
		t.Errorf("%s: no line has %v", name, sums)
	}
}

// slowest is the node on which most time went into a cause.
func slowest(steps []Step, c Cause) (name string) {
	sums := map[traces.Node]traces.Time{}
	for _, s := range steps {
		if s.Cause == c {
			sums[s.Node] += s.To - s.From
		}
	}
	for n, t := range sums {
		if t > sums[traces.Node(name)] || t == sums[traces.Node(name)] && string(n) < name {
			name = string(n)
		}
	}
	return name
}
