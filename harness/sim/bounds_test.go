package sim

import (
	"encoding/json"
	"fmt"
	"math"
	"testing"

	"pgregory.net/rapid"

	"heddle/harness/sched"
	"heddle/harness/sim/draw"
	"heddle/harness/state"
	"heddle/traces"
)

// drawFixed is a cluster of slots, and jobs of maps alone whose times do not depend
// on where they run.
func drawFixed(t *rapid.T, atOnce bool) (c Machines, jobs []Job, slots int64) {
	for n := range rapid.IntRange(1, 6).Draw(t, "nodes") {
		each := rapid.Int32Range(1, 4).Draw(t, "slots")
		slots += int64(each)
		c.Nodes = append(c.Nodes, Node{
			Name: fmt.Sprint("n", n), Rack: fmt.Sprint("r", n%2),
			Capacity: state.Resource{MemoryMB: 1024, VCores: 1}.Times(each),
		})
	}
	at := int64(0)
	for i := range rapid.IntRange(1, 5).Draw(t, "jobs") {
		maps := rapid.Int32Range(1, 20).Draw(t, "maps")
		j := simpleJob(fmt.Sprint("job", i), at, maps, 0)
		j.MapWork = nil
		for range maps {
			j.MapWork = append(j.MapWork, Work{FixedMs: rapid.Int32Range(1, 30_000).Draw(t, "ms")})
		}
		jobs = append(jobs, j)
		if !atOnce {
			at += rapid.Int64Range(0, 40_000).Draw(t, "gap")
		}
	}
	return c, jobs, slots
}

// idealModels start a task wherever they may, so that no slot is free while a task waits.
var idealModels = []string{"fifo", "capacity", "fair", "random"}

// TestGraham: no schedule ends before the work divided by the slots, nor before the
// longest task, and one that leaves no slot free while a task waits ends by their sum,
// less the part of the longest task that is in both (Graham, 1969). Each task may
// wait a ms for a heartbeat.
func TestGraham(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c, jobs, slots := drawFixed(t, true)
		work, longest, tasks := int64(0), int64(0), int64(0)
		for _, j := range jobs {
			for _, w := range j.MapWork {
				work, longest, tasks = work+int64(w.FixedMs), max(longest, int64(w.FixedMs)), tasks+1
			}
		}
		model := rapid.SampledFrom(idealModels).Draw(t, "model")
		m := must(sched.New(model, nil))
		r := must(Run(&Config{Cluster: c, Source: &Jobs{List: jobs}, Model: m, Actuator: Ideal, Costs: NoCosts()}))
		least := max((work+slots-1)/slots, longest)
		most := (work+(slots-1)*longest)/slots + tasks + 1
		if r.MakespanMs < least || r.MakespanMs > most {
			t.Fatalf("%s: %d tasks of %d ms, the longest of %d, on %d slots take %d ms, want %d to %d", model, tasks, work, longest, slots,
				r.MakespanMs, least, most)
		}
	})
}

// TestSlotsAtAnyTime follows starts and ends of tasks: on no node run more maps or
// reduces at a time than the node has slots, a job's tasks run after its submission,
// and the time for which tasks run is the work that the jobs have.
func TestSlotsAtAnyTime(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c, jobs, _ := drawFixed(t, false)
		config := &Config{
			Cluster: c, Source: &Jobs{List: jobs}, Actuator: Actuator(rapid.IntRange(0, 2).Draw(t, "actuator")), Costs: NoCosts(),
			MapSlots: rapid.Int32Range(1, 3).Draw(t, "map slots"), ReduceSlots: rapid.Int32Range(1, 2).Draw(t, "reduce slots"),
		}
		want, submitted := int64(0), map[traces.JobID]int64{}
		for i := range jobs {
			jobs[i].Reduces = rapid.Int32Range(0, 4).Draw(t, "reduces")
			jobs[i].SlowStart = rapid.SampledFrom([]float32{0, 0.5, 1}).Draw(t, "slow start")
			for _, w := range jobs[i].MapWork {
				want += int64(w.FixedMs)
			}
			submitted[traces.JobID(jobs[i].Name)] = jobs[i].SubmitMs
		}
		running, began, ran := map[string]int32{}, map[traces.Attempt]int64{}, int64(0)
		on := map[traces.Attempt]string{}
		config.Record = func(e traces.Event) {
			switch e := e.(type) {
			case *traces.AttemptStarted:
				place := fmt.Sprint(e.Node, " ", e.Attempt.Kind)
				running[place]++
				if limit := [2]int32{config.MapSlots, config.ReduceSlots}[e.Attempt.Kind]; running[place] > limit {
					t.Fatalf("%d tasks run at %v on %s, want %d at most", running[place], e.T, place, limit)
				}
				if began[e.Attempt], on[e.Attempt] = e.T.Milliseconds(), place; began[e.Attempt] < submitted[e.Attempt.Job] {
					t.Fatalf("%v starts at %v, before its job is submitted", e.Attempt, e.T)
				}
			case *traces.AttemptFinished:
				running[on[e.Attempt]]--
				if e.Attempt.Kind == state.Map {
					ran += e.T.Milliseconds() - began[e.Attempt]
				}
			}
		}
		must(Run(config))
		if ran != want {
			t.Fatalf("maps ran for %d ms, and have %d ms of work", ran, want)
		}
	})
}

// TestTwiceTheBandwidth: where all tasks run at once and only transfers take time,
// twice the rate of everything is half the time.
func TestTwiceTheBandwidth(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		nodes := rapid.IntRange(2, 6).Draw(t, "nodes")
		rates := rapid.SliceOfN(rapid.Int64Range(1e6, 100e6), 3, 3).Draw(t, "rates")
		j := simpleJob("a", 0, rapid.Int32Range(1, int32(2*nodes)).Draw(t, "maps"), 0)
		j.MapWork = nil
		for range j.Maps {
			j.MapWork = append(j.MapWork, Work{
				InputBytes:  rapid.Int64Range(0, 1<<30).Draw(t, "in"),
				OutputBytes: rapid.Int64Range(0, 1<<28).Draw(t, "out"),
			})
			j.Replicas.Add(state.NodeID(rapid.IntRange(0, nodes-1).Draw(t, "replica")))
			j.Cached.Add()
		}
		end := func(times int64) float64 {
			c := slots(nodes, 2)
			for n := range c.Nodes {
				c.Nodes[n].Rack = fmt.Sprint("r", n%2)
				c.Nodes[n].DiskBytesPerSec, c.Nodes[n].LinkBytesPerSec = rates[0]*times, rates[1]*times
			}
			c.Racks = []Rack{{"r0", rates[2] * times}, {"r1", rates[2] * times}}
			m, err := sched.New("fifo", nil) // which fills a node at one heartbeat, so that all tasks start before any ends
			if err != nil {
				t.Fatal(err)
			}
			r, err := Run(&Config{Cluster: c, Source: &Jobs{List: []Job{j}}, Model: m, Actuator: Ideal, Costs: NoCosts()})
			if err != nil {
				t.Fatal(err)
			}
			return float64(r.MakespanMs)
		}
		one, two := end(1), end(2)
		// Rates are approximate, see package fluid, and what begins within ms of each other does not scale.
		if math.Abs(two-one/2) > 0.1*one/2+50 {
			t.Fatalf("%d maps on %d nodes take %v ms, and %v with twice the bandwidth", j.Maps, nodes, one, two)
		}
	})
}

// TestMeanWaitOfManyServers: the mean wait of M/M/c is Erlang's C formula.
func TestMeanWaitOfManyServers(t *testing.T) {
	const servers, mean, rho = 4, 10_000.0, 0.8
	source := &poisson{
		left: 60_000, key: draw.Stream(9, "M/M/4"), gap: mean / rho / servers,
		service: func(k draw.Key) float64 { return exponential(k, mean) },
	}
	r := must(Run(&Config{Cluster: slots(2, servers/2), Source: source, Model: newModel(t, "fifo"), Actuator: Ideal, Costs: NoCosts()}))
	load, sum, term := servers*rho, 0.0, 1.0
	for k := range servers {
		sum += term
		term *= load / float64(k+1)
	}
	waits := term / (1 - rho) / (sum + term/(1-rho)) // the share of jobs that wait
	want := waits * mean / (servers * (1 - rho))
	got, waited := 0.0, 0.0
	for _, j := range r.Jobs {
		wait := float64(j.StartMs - j.SubmitMs)
		got += wait / float64(len(r.Jobs))
		if wait > 1 {
			waited += 1 / float64(len(r.Jobs))
		}
	}
	if math.Abs(got/want-1) > 0.07 || math.Abs(waited-waits) > 0.02 {
		t.Errorf("%.3f of the jobs wait, %.0f ms in the mean; theory says %.3f and %.0f", waited, got, waits, want)
	}
}

// TestSeeds: one seed gives one and the same trace, byte by byte. Each other seed
// gives another schedule, so that repeats with seeds of their own are not one.
func TestSeeds(t *testing.T) {
	run := func(seed uint64) (traces.ScheduleDigest, string) {
		text := []byte(nil)
		c := scenario(t, "capacity", Labels, 1)
		c.Seed = seed
		c.Source.(*Jobs).List = c.Source.(*Jobs).List[:4]
		c.Record = func(e traces.Event) {
			line := must(json.Marshal(e))
			text = append(append(text, line...), '\n')
		}
		r := must(Run(c))
		return r.Digest, string(text)
	}
	seen := map[traces.ScheduleDigest]uint64{}
	for seed := range uint64(12) {
		digest, text := run(seed)
		if again, other := run(seed); again != digest || other != text {
			t.Errorf("seed %d: two runs differ", seed)
		}
		if before, ok := seen[digest]; ok {
			t.Errorf("seeds %d and %d have one schedule", before, seed)
		}
		seen[digest] = seed
	}
}

// TestDrawnTimes has times that are drawn be as their distribution is: evenly from
// SpreadPercent below the computing time to as much above it, and between the quantiles of
// a job's ratios and of the times of labels.
func TestDrawnTimes(t *testing.T) {
	const maps, computeMs = 4000, 10_000
	one := func(x float64) Ratio { return Ratio(x * float64(RatioOne)) }
	for _, x := range []struct {
		name            string
		change          func(*Config, *Job)
		least, most     float64 // of the time from the job's start, in ms
		mean, deviation float64
	}{
		{"even", func(_ *Config, j *Job) { j.MapWork[0].SpreadPercent = 40 }, 6000, 14_000, 10_000, 8000 / math.Sqrt(12)},
		{"all of it", func(_ *Config, j *Job) { j.MapWork[0].SpreadPercent = 100 }, 0, 20_000, 10_000, 20_000 / math.Sqrt(12)},
		// Half of the ratios are evenly from 0.5 to 1, and half from 1 to 3.
		{
			"quantiles", func(_ *Config, j *Job) { j.Spread[state.Map] = []Ratio{one(0.5), one(1), one(3)} }, 5000, 30_000, 13_750,
			math.Sqrt((1.75/3+13.0/3)/2*1e8 - 13_750*13_750),
		},
		{"one ratio", func(_ *Config, j *Job) { j.Spread[state.Map] = []Ratio{one(1.5)} }, 15_000, 15_000, 15_000, 0},
		{
			"labels", func(c *Config, _ *Job) { c.Actuator, c.Costs.LabelMs = Labels, []int32{1000, 3000} }, 11_000, 13_000, 12_000,
			2000 / math.Sqrt(12),
		},
	} {
		c := &Config{Cluster: slots(maps, 1), Model: newModel(t, "fifo"), Actuator: Ideal, Costs: NoCosts(), Seed: 11}
		j := simpleJob("a", 0, maps, 0, Work{ComputeMs: computeMs})
		x.change(c, &j)
		c.Source = &Jobs{List: []Job{j}}
		sum, squares := 0.0, 0.0
		c.Ended = func(e AttemptEnd) {
			ms := float64(e.EndMs)
			if ms < x.least-1 || ms > x.most+2 {
				t.Errorf("%s: a map ends after %v ms, want %v to %v", x.name, ms, x.least, x.most)
			}
			sum, squares = sum+ms/maps, squares+ms*ms/maps
		}
		must(Run(c))
		deviation := math.Sqrt(max(0, squares-sum*sum))
		if math.Abs(sum-x.mean) > 2+4*x.deviation/math.Sqrt(maps) || math.Abs(deviation-x.deviation) > 2+0.05*x.deviation {
			t.Errorf("%s: %.0f ms in the mean and a deviation of %.0f, want %.0f and %.0f", x.name, sum, deviation, x.mean, x.deviation)
		}
	}
}
