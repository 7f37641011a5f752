package reverse

import (
	"fmt"
	"math"
	"time"

	"heddle/harness/config"
	"heddle/harness/internal/units"
	"heddle/harness/measure"
	"heddle/harness/option"
	"heddle/harness/paper"
	"heddle/harness/sim"
	"heddle/harness/sim/draw"
	"heddle/harness/state"
	"heddle/traces"
)

// cluster is a cluster that other load shares with jobs that have deadlines.
// Experiment 1 has no other load. In experiment 2 it leaves slots on a sine, in
// experiment 3 it also takes half of these in one interval of four.
type cluster struct {
	Experiment string         `flag:"experiment" values:"1,2,3"`
	Goals      string         `flag:"goals" values:"tight,mid,relaxed"`
	Load       float64        `flag:"load" min:"0.001" max:"10"` // of the mean slots that the other load leaves
	Jobs       int            `flag:"jobs" min:"1" max:"100000"`
	Swing      units.Duration `flag:"swing" min:"2m" max:"1000h"` // period of the other load
	Map        units.Duration `flag:"map" min:"1s" max:"10h"`
	MeanMaps   float64        `flag:"maps" min:"1" max:"10000"` // of a job
	Told       string         `flag:"told" values:"ahead,none"`
	Lag        units.Duration `flag:"lag" min:"0" max:"1000h"` // of what models are told of the other load
	Noise      float64        `flag:"noise" min:"0" max:"1"`   // the same
	Back       string         `flag:"back" values:"ends,kill"`
	Error      string         `flag:"error" values:"own,present,alike,late"`
}

var standard = cluster{
	Experiment: "2", Goals: "mid", Load: 0.7, Jobs: 400, Swing: units.Duration(2 * time.Hour), Map: units.Duration(time.Minute), MeanMaps: 60,
	Told: config.CapacityAhead, Back: "ends", Error: "own",
}

// The cluster has nodes of slotsEach slots. The other load changes so many times
// in a period.
const nodes, slotsEach, steps = 4, 30, 120

// allowances are the factors between which the time to a goal is drawn, of the
// time that the job takes alone on a quarter of the mean slots.
var allowances = map[string][2]float64{"tight": {1, 2}, "mid": {1.5, 4}, "relaxed": {1.5, 10}}

var slot = state.Resource{MemoryMB: 1024, VCores: 1}

// With returns the cluster with one property changed.
func (x cluster) With(name, value string) (paper.Setting, error) {
	err := option.Set(option.Of(&x), name, value)
	return x, err
}

// slots returns the slots that the other load leaves in each step of a period.
func (x cluster) slots() []int {
	list := make([]int, steps)
	for i := range list {
		list[i] = nodes * slotsEach
		if x.Experiment == "1" {
			continue
		}
		share := 0.5 - 0.4*math.Sin(2*math.Pi*(float64(i)+0.5)/steps)
		if x.Experiment == "3" && i/(steps/12)%4 == 3 {
			share /= 2
		}
		list[i] = int(math.Round(nodes * slotsEach * share))
	}
	return list
}

// mean returns the mean slots that the other load leaves.
func (x cluster) mean() float64 {
	sum := 0
	for _, n := range x.slots() {
		sum += n
	}
	return float64(sum) / steps
}

// timetable spreads the slots over the nodes, as evenly as can be.
func (x cluster) timetable() (t state.Timetable) {
	if x.Experiment == "1" {
		return t
	}
	t.EveryMs = time.Duration(x.Swing).Milliseconds()
	t.Telling = traces.Telling{None: x.Told == config.CapacityNone, LagMs: time.Duration(x.Lag).Milliseconds(), Noise: x.Noise}
	for i, n := range x.slots() {
		for k := range nodes {
			each := n / nodes
			if k < n%nodes {
				each++
			}
			t.Changes = append(t.Changes, state.CapacityChange{AtMs: int64(i) * t.EveryMs / steps, Node: nodeName(k), Left: slot.Times(int32(each))})
		}
	}
	return t
}

func nodeName(k int) string { return fmt.Sprintf("node%d", k+1) }

// Stages returns the jobs on the cluster. Nodes report as soon as a map ends, and
// nothing but the maps takes time.
func (x cluster) Stages(seed uint64) ([]paper.Stage, error) {
	c := sim.Config{Actuator: sim.Ideal, Costs: sim.NoCosts(), MinAllocation: slot, Capacity: x.timetable(), CapacityKills: x.Back == "kill"}
	for k := range nodes {
		c.Cluster.Nodes = append(c.Cluster.Nodes, sim.Node{Name: nodeName(k), Rack: "rack1", Capacity: slot.Times(slotsEach)})
	}
	return []paper.Stage{{Config: c, Jobs: x.jobs(seed)}}, nil
}

// jobs draws jobs: their arrival is a Poisson process, their maps have a lognormal
// distribution with sigma 1.
func (x cluster) jobs(seed uint64) []sim.Job {
	key := draw.Stream(seed, "reverse")
	mapMs := time.Duration(x.Map).Milliseconds()
	mean := x.mean()
	apartMs := x.MeanMaps * float64(mapMs) / (x.Load * mean)
	quarter := max(1, int(mean/4))
	allow := allowances[x.Goals]
	var list []sim.Job
	at := 0.0
	for i := range x.Jobs {
		k := key.At(uint64(i))
		maps := max(1, int(math.Round(math.Exp(math.Log(x.MeanMaps)-0.5+normal(k.At(0))))))
		at -= apartMs * math.Log(1-k.At(1).Fraction())
		waves := (maps + quarter - 1) / quarter
		factor := allow[0] + (allow[1]-allow[0])*k.At(2).Fraction()
		j := sim.Job{SubmitMs: int64(at)}
		j.Name, j.Maps, j.MapSize = fmt.Sprintf("job%04d", i+1), int32(maps), slot
		j.DeadlineMs = int64(factor * float64(waves) * float64(mapMs))
		j.MapWork = []sim.Work{{ComputeMs: int32(mapMs)}}
		list = append(list, j)
	}
	return list
}

// normal draws from a normal distribution (Box and Muller, 1958).
func normal(k draw.Key) float64 {
	return math.Sqrt(-2*math.Log(1-k.At(0).Fraction())) * math.Cos(2*math.Pi*k.At(1).Fraction())
}

// Note notes how the jobs met their goals.
func (x cluster) Note(to *paper.Simulation, _ uint64, jobs []sim.Job, f *measure.Figures) {
	sum, squares := 0.0, 0.0
	for i := range jobs {
		due, took := float64(jobs[i].DeadlineMs), f.JobList[i].CompletionMs
		r := took / due
		sum, squares = sum+r, squares+r*r
		to.Samples["distance"] = append(to.Samples["distance"], 100*(r-1))
		to.Samples["late"] = append(to.Samples["late"], max(0, took-due)/1000)
	}
	to.Notes["jain"] = sum * sum / (squares * float64(len(jobs)))
	if d := f.AllJobs.Deadlines; d != nil {
		to.Notes["missed"], to.Notes["lateness"] = 100*float64(d.Missed)/float64(d.Jobs), d.LatenessMs.Mean/1000
		to.Notes["p50"], to.Notes["p90"] = d.DistancePct.P50, d.DistancePct.P90
	}
	to.Notes["used"] = f.UtilisationPct
	to.Notes["hopeless"] = x.hopeless(jobs)
	if y, ok := to.Notes[errors[x.Error]]; ok {
		to.Notes["error"] = y
	}
}

// errors are the notes of models for the values of the axis error.
var errors = map[string]string{
	"own": "predictionErrorPct", "present": "predictionErrorPresentPct", "alike": "predictionErrorAlikePct", "late": "predictionWrongPct",
}

// hopeless returns the share, in percent, of the jobs that no scheduler can finish
// in time, even alone. A map that ends in time begins a map's time before the goal.
// At any time as many run as there are slots, so in each span of a map's time no
// more can begin than the slots at their most in it, since those that began run.
func (x cluster) hopeless(jobs []sim.Job) float64 {
	slots, mapMs := x.slots(), time.Duration(x.Map).Milliseconds()
	stepMs := max(1, time.Duration(x.Swing).Milliseconds()/steps)
	late := 0
	for i := range jobs {
		j := &jobs[i]
		can := 0
		for at, last := j.SubmitMs, j.SubmitMs+j.DeadlineMs-mapMs; at <= last && can < int(j.Maps); at += mapMs {
			most := 0
			for s := at / stepMs; s <= min(at+mapMs, last)/stepMs; s++ {
				most = max(most, slots[s%steps])
			}
			can += most
		}
		if can < int(j.Maps) {
			late++
		}
	}
	return 100 * float64(late) / float64(len(jobs))
}
