package paper

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"heddle/harness/sim"
	"heddle/harness/state"
	"heddle/harness/stats"
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

// MapStart returns when a map of a simulation started in the mean, in s after its job's
// submission.
func MapStart(s *Simulation) float64 { return s.Times.BeforeStart / 1000 / float64(s.Times.all().Maps) }

// MapTime is where the time of a map went in the mean over a simulation's maps, in s.
type MapTime struct {
	BeforeStart                          float64 // from its job's submission until it started: for the ApplicationMaster, and a container
	FromCache, FromDisk, OverNetwork     float64 // reading its input, spread over all maps
	Computing, ForCores                  float64 // computing with a core of its own, and what it took longer
	ReadersAtOnce, CoresBusyPct, Seconds float64 // maps that read at once on a node that reads; cores busy while maps ran; of the job
}

// mapTimeOf returns where the time of a simulation's maps went.
func mapTimeOf(s *Simulation) MapTime {
	t, all := &s.Times, s.Times.all()
	n := 1000 * float64(all.Maps)
	return MapTime{
		BeforeStart: t.BeforeStart / n, FromCache: t.Levels[traces.LevelCache].Read / n, FromDisk: t.Levels[traces.LevelNode].Read / n,
		OverNetwork: (t.Levels[traces.LevelRack].Read + t.Levels[traces.LevelOff].Read) / n,
		Computing:   t.Computing / n, ForCores: (all.Took - all.Read - t.Computing) / n,
		ReadersAtOnce: all.Read / t.Reading, CoresBusyPct: 100 * t.Computing / t.Cores, Seconds: s.Seconds,
	}
}

// WhereTimeGoes returns a sentence for each scheduler that says where the time of its maps
// went in each of the given columns of a design, and one that says how far the maps run in lock step:
// read together, while cores are idle, and then compute together.
func (d *Data) WhereTimeGoes(design string, columns []int, labels ...string) string {
	g := d.Grid(design, labels...)
	if d.err != nil {
		return ""
	}
	var list []string
	for i := range len(columns) * len(labels) {
		column, label := columns[i/len(labels)], labels[i%len(labels)]
		mean := func(of func(*MapTime) float64) string {
			return number(stats.Mean(g.Mean(label, func(s *Simulation) float64 { x := mapTimeOf(s); return of(&x) }, column)).Value)
		}
		list = append(
			list,
			fmt.Sprintf(
				"%s, %s: the job takes %s s. A map starts after %s s; it reads %s s from a cache, %s s from a disk and %s s over the network, "+
					"computes %s s and waits %s s for a core. %s maps read at once on a node that reads, and cores are busy for %s %% of the time in "+
					"which maps run.",
				g.Column(column),
				label,
				mean(func(x *MapTime) float64 { return x.Seconds }),
				mean(func(x *MapTime) float64 { return x.BeforeStart }),
				mean(
					func(x *MapTime) float64 { return x.FromCache },
				),
				mean(func(x *MapTime) float64 { return x.FromDisk }),
				mean(func(x *MapTime) float64 { return x.OverNetwork }),
				mean(func(x *MapTime) float64 { return x.Computing }),
				mean(func(x *MapTime) float64 { return x.ForCores }),
				mean(func(x *MapTime) float64 { return x.ReadersAtOnce }),
				mean(func(x *MapTime) float64 { return x.CoresBusyPct }),
			),
		)
	}
	return strings.Join(list, "\n")
}

// Priced is a pair of groups of maps, whose times are compared.
type Priced struct {
	Name      string
	far, near []traces.Level
}

// What a map takes longer: if its input is on another node instead of on its own, and if
// it is on a disk of its node instead of in its cache.
var (
	RemoteMap = Priced{
		"price of a remote map",
		[]traces.Level{traces.LevelRack, traces.LevelOff},
		[]traces.Level{traces.LevelCache, traces.LevelNode},
	}
	UncachedMap = Priced{"price of an uncached map", []traces.Level{traces.LevelNode}, []traces.Level{traces.LevelCache}}
)

// Price returns what a map of the far group takes longer than one of the near group, in
// ms and in percent, over all columns of a design. Simulations that lack one of the groups
// do not count.
func (d *Data) Price(design, label string, x Priced) (ms, percent stats.Estimate) {
	var more, part []float64
	g := d.Grid(design, label)
	for i := range d.bench.seeds {
		sumMs, sumPct, n := 0.0, 0.0, 0.0
		for _, trials := range g.at(label, nil) {
			of := func(levels []traces.Level) (sum LevelTimes) {
				for _, l := range levels {
					sum = sum.plus(trials[i].Times.Levels[l])
				}
				return sum
			}
			far, near := of(x.far), of(x.near)
			if far.Maps > 0 && near.Maps > 0 {
				a, b := far.Took/float64(far.Maps), near.Took/float64(near.Maps)
				sumMs, sumPct, n = sumMs+a-b, sumPct+100*(a/b-1), n+1
			}
		}
		if n > 0 {
			more, part = append(more, sumMs/n), append(part, sumPct/n)
		}
	}
	return stats.Mean(more), stats.Mean(part)
}
