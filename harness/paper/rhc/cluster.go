package rhc

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"heddle/harness/paper"
	"heddle/harness/sched"
	"heddle/harness/sim"
	"heddle/harness/sim/draw"
	"heddle/harness/state"
	"heddle/harness/stats"
)

// The clusters of Figures 3 and 10 have nodes of 4 map and 2 reduce slots. The paper does not
// say what their network is: two racks, whose nodes and uplinks have 1 Gbit/s, are ours.
const (
	mapSlots, reduceSlots = 4, 2
	linkBytesPerSec       = 125e6
	placements, repeats   = 20, 5 // of Figure 3's job, of Figure 10's two
	blockBytes            = 64 << 20
	waitMs                = 60_000 // between Figure 10's jobs
)

// varies is what a job's name is followed by in the note of how its time differs between repeats.
const varies = " varies"

// standIns are the scheduler models that stand for the rules on a cluster. Maps are placed by
// delay scheduling, alike for all.
var standIns = map[string]string{"rhc": "rhc", "greedy": "reduce-greedy", "random": "reduce-random"}

// sorts runs the Sort jobs of a figure, which put out as many bytes as they read.
func (x monteCarlo) sorts(ctx context.Context, s paper.Scheduler, seed uint64) (paper.Simulation, error) {
	reduces, ok := standIns[s.Model]
	if !ok {
		return paper.Simulation{}, fmt.Errorf("model %s: no scheduler model stands for it on a cluster", s.Model)
	}
	runs, nodes, jobs := repeats, 15, []sim.Job{sortJob("first", 0, 64, 2), sortJob("second", waitMs, 224, 4)}
	if x.Cluster == "fig3" {
		runs, nodes, jobs = placements, 7, jobs[:1]
	}
	out := paper.Simulation{Notes: map[string]float64{}, Samples: map[string][]float64{}}
	for run := range runs {
		key := draw.Stream(seed, "sorts").At(uint64(run))
		p := sched.Params{"reduces": reduces, "reduces.groups": "true"}
		if s.Model == "random" {
			p["reduces.seed"] = strconv.FormatUint(uint64(key)>>33, 10)
		}
		m, err := sched.New("delay", p)
		if err != nil {
			return out, err
		}
		c := sim.Config{
			Model: m, Actuator: sim.Ideal, Costs: sim.DefaultCosts(), NodeFetches: true, MapSlots: mapSlots, ReduceSlots: reduceSlots,
			MinAllocation: slot, Interrupted: ctx.Err, Seed: uint64(key),
		}
		if x.Cluster == "fig3" {
			c.Seed = seed // what is drawn else is the same for all placements
		}
		for n := range nodes {
			c.Cluster.Nodes = append(
				c.Cluster.Nodes,
				sim.Node{
					Name:            fmt.Sprint("node", n+1),
					Rack:            fmt.Sprint("rack", 1+2*n/nodes),
					Capacity:        slot.Times(mapSlots + reduceSlots),
					LinkBytesPerSec: linkBytesPerSec,
				},
			)
		}
		c.Cluster.Racks = []sim.Rack{{Name: "rack1", UplinkBytesPerSec: linkBytesPerSec}, {Name: "rack2", UplinkBytesPerSec: linkBytesPerSec}}
		for i := range jobs {
			jobs[i].Replicas.Reset()
			for k := range uint64(jobs[i].Maps) {
				a := draw.Stream(seed, "blocks").At(uint64(i)).At(k).Below(nodes)
				jobs[i].Replicas.Add(state.NodeID(a), state.NodeID((a+nodes/2)%nodes))
			}
		}
		ends := make([]float64, len(jobs))
		c.Ended = func(e sim.AttemptEnd) { ends[e.Job] = max(ends[e.Job], float64(e.EndMs)/1000) }
		c.Source = &sim.Jobs{List: slices.Clone(jobs)}
		if _, err := sim.Run(&c); err != nil {
			return out, err
		}
		for i, end := range ends {
			took := end - float64(jobs[i].SubmitMs)/1000
			out.Samples[jobs[i].Name] = append(out.Samples[jobs[i].Name], took)
		}
	}
	for name, times := range out.Samples {
		out.Notes[name], out.Notes[name+varies], out.Notes[name+" spread"] = stats.Mean(
			times,
		).Value, stats.Deviation(
			times,
		), slices.Max(
			times,
		)/slices.Min(
			times,
		)
	}
	return out, nil
}

var slot = state.Resource{MemoryMB: 1024, VCores: 1}

// sortJob is a Sort job of blocks of 64 MB.
func sortJob(name string, submitMs int64, maps, reduces int32) sim.Job {
	j := sim.Job{
		SubmitMs:  submitMs,
		SlowStart: 0.05,
		MapWork:   []sim.Work{{InputBytes: blockBytes, OutputBytes: blockBytes, ComputeMs: 10_000, SpreadPercent: 20}},
	}
	j.ReduceWork = []sim.Work{{OutputBytes: int64(maps) * blockBytes / int64(reduces), ComputeMs: 10_000}}
	j.Name, j.Maps, j.Reduces, j.MapSize, j.ReduceSize = name, maps, reduces, slot, slot
	return j
}
