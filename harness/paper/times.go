package paper

import (
	"cmp"
	"slices"

	"heddle/harness/sim"
	"heddle/harness/state"
	"heddle/traces"
)

// MapTimes say where the time of the maps that succeeded went, all stages of a
// simulation together. Times are sums in ms.
type MapTimes struct {
	Levels [traces.LevelOff + 1]LevelTimes // by how near a map's input was
	// BeforeStart is the time from a job's submission until its maps started. Computing
	// is the time that maps would have computed with a core of their own, start of the
	// process included.
	BeforeStart, Computing float64
	// Reading is the time in which a node read input for one map or more, over all
	// nodes. Cores is the time from the first map's start to the last map's end, times
	// the number of cores; 0 if cores are not limited.
	Reading, Cores float64
}

// LevelTimes are of the maps whose input was equally near: how many there are, how long
// they took from launch to end, and how long of that they read their input.
type LevelTimes struct {
	Maps       int
	Took, Read float64
}

// add adds the attempts of a stage that have ended.
func (t *MapTimes) add(c *sim.Config, jobs []sim.Job, ended []sim.AttemptEnd) {
	reads := make([][][2]int64, len(c.Cluster.Nodes))
	first, last := int64(-1), int64(0)
	for i := range ended {
		e := &ended[i]
		if e.Kind != state.Map || e.Outcome != traces.Succeeded {
			continue
		}
		l := &t.Levels[e.Level]
		l.Maps++
		l.Took += float64(e.EndMs - e.StartMs)
		l.Read += float64(e.ReadToMs - e.ReadFromMs)
		t.BeforeStart += float64(e.StartMs - jobs[e.Job].SubmitMs)
		t.Computing += meanComputing(c, &jobs[e.Job])
		if first < 0 || e.StartMs < first {
			first = e.StartMs
		}
		last = max(last, e.EndMs)
		reads[e.Node] = append(reads[e.Node], [2]int64{e.ReadFromMs, e.ReadToMs})
	}
	cores := 0.0
	for n, list := range reads {
		t.Reading += float64(union(list))
		cores += c.Cluster.Nodes[n].Cores
	}
	t.Cores += cores * float64(last-max(0, first))
}

// meanComputing returns the computing time of a job's map in the mean, in ms.
func meanComputing(c *sim.Config, j *sim.Job) float64 {
	sum := 0.0
	for i := range j.MapWork {
		w, n := &j.MapWork[i], 1.0
		if i == 0 { // stands for all maps that have no work of their own
			n = float64(int(j.Maps) - len(j.MapWork) + 1)
		}
		if w.FixedMs > 0 {
			sum += n * float64(w.FixedMs)
		} else {
			sum += n * float64(c.Costs.TaskStartMs+w.ComputeMs)
		}
	}
	return sum / float64(max(1, j.Maps))
}

// union returns the length of the time that is in one of the intervals or more.
func union(list [][2]int64) (length int64) {
	slices.SortFunc(list, func(a, b [2]int64) int { return cmp.Compare(a[0], b[0]) })
	end := int64(0)
	for _, x := range list {
		length += max(0, x[1]-max(x[0], end))
		end = max(end, x[1])
	}
	return length
}

// all returns the sums over all levels.
func (t *MapTimes) all() (sum LevelTimes) {
	for _, l := range t.Levels {
		sum = sum.plus(l)
	}
	return sum
}

func (l LevelTimes) plus(o LevelTimes) LevelTimes {
	return LevelTimes{l.Maps + o.Maps, l.Took + o.Took, l.Read + o.Read}
}

// perMap is a time of a simulation's maps, in s for each of them.
func perMap(of func(*MapTimes) float64) func(*Simulation) float64 {
	return func(s *Simulation) float64 { return of(&s.Times) / 1000 / float64(s.Times.all().Maps) }
}

// price is what a map of the far group takes longer than one of the near group: in ms, or in percent.
// It is not a number without maps of both.
func price(percent bool, far, near []traces.Level) func(*Simulation) float64 {
	return func(s *Simulation) float64 {
		took := func(levels []traces.Level) float64 {
			var sum LevelTimes
			for _, l := range levels {
				sum = sum.plus(s.Times.Levels[l])
			}
			return sum.Took / float64(sum.Maps)
		}
		a, b := took(far), took(near)
		if percent {
			return 100 * (a/b - 1)
		}
		return a - b
	}
}

// What is compared for a price: whether a map's input is on another node or on its own, and whether it is
// on a disk of its node or in its cache.
var (
	remote = []traces.Level{traces.LevelRack, traces.LevelOff}
	local  = []traces.Level{traces.LevelCache, traces.LevelNode}
	disk   = local[1:]
	cached = local[:1]
)
