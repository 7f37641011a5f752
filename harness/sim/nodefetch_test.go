package sim

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"heddle/harness/sched"
	"heddle/harness/sim/draw"
	"heddle/harness/state"
	"heddle/traces"
)

// placed is a model that starts each job's maps and reduces on given nodes:
// the task with index i of a kind on node on[kind][i], or on any node if that
// node is down.
type placed struct{ on [2][]state.NodeID }

func (m *placed) Name() string { return "placed" }

func (m *placed) Round(v *state.View, free []state.NodeID, out []sched.Decision) []sched.Decision {
	for _, k := range []state.Kind{state.Map, state.Reduce} {
		for _, id := range v.WaitingJobs(k) {
			for i := range v.Tasks(id, k) {
				t := v.Task(id, k, i)
				if n := m.on[k][int(i)%len(m.on[k])]; v.IsWaiting(id, t) && (free[0] == n || !v.Up(n)) && v.Fits(free[0], id, k) {
					return append(out, sched.Decision{Job: id, Kind: k, Node: free[0], Task: t})
				}
			}
		}
	}
	return out
}

// three is n0 and n1 in one rack and n2 in another, with four slots each and
// links of 20 MB/s.
func three(change func(*Machines)) Machines {
	c := slots(3, 4)
	for i := range c.Nodes {
		c.Nodes[i].LinkBytesPerSec = 20e6
	}
	c.Nodes[2].Rack = "other"
	if change != nil {
		change(&c)
	}
	return c
}

// shuffle is a job of two maps of a second, which leave 40 MB each, and of so
// many reduces, which compute half a second.
func shuffle(reduces int32, shares ...int64) Job {
	j := simpleJob("a", 0, 2, reduces, Work{ComputeMs: 1000, OutputBytes: 40e6})
	j.ReduceWork, j.ReduceShares, j.SlowStart = []Work{{ComputeMs: 500}}, shares, 1
	return j
}

func TestNodeFetchesByHand(t *testing.T) {
	type nodes = []state.NodeID
	link := func(n int, rate int64) func(*Machines) {
		return func(c *Machines) { c.Nodes[n].LinkBytesPerSec = rate }
	}
	for _, x := range []struct {
		name          string
		cluster       Machines
		maps, reduces nodes
		job           Job
		want          int64 // of the fetch that ends last, in ms
	}{
		{"all of it on the reduce's own node", three(nil), nodes{0}, nodes{0}, shuffle(1), 0},
		{"half of it on the reduce's own node: 40 MB at 20 MB/s", three(nil), nodes{0, 1}, nodes{0}, shuffle(1), 2000},
		{"from a node of the rack: 80 MB at 20 MB/s", three(nil), nodes{0}, nodes{1}, shuffle(1), 4000},
		{"the link of the node that sends, halved", three(link(0, 10e6)), nodes{0}, nodes{1}, shuffle(1), 8000},
		{"the link of the node that receives, halved", three(link(1, 10e6)), nodes{0}, nodes{1}, shuffle(1), 8000},
		{"the link of a node that neither sends nor receives, halved", three(link(2, 10e6)), nodes{0}, nodes{1}, shuffle(1), 4000},
		{"from two nodes at a time, over the link of the third", three(nil), nodes{0, 2}, nodes{1}, shuffle(1), 4000},
		{"of two that send, the slower takes 40 MB at 5 MB/s", three(link(0, 5e6)), nodes{0, 2}, nodes{1}, shuffle(1), 8000},
		{"one fetcher: 40 MB at 5 MB/s, and 40 MB at 20 MB/s", three(link(0, 5e6)), nodes{0, 2}, nodes{1}, shuffle(1), -10_000},
		{"two reduces share the link of the node that sends", three(nil), nodes{0}, nodes{1, 2}, shuffle(2), 4000},
		{"three reduces, of which one is on the node that sends", three(nil), nodes{0}, nodes{0, 1, 2}, shuffle(3), 2667},
		{"through an uplink of 10 MB/s", three(func(c *Machines) { c.Racks = []Rack{{"other", 10e6}} }), nodes{0}, nodes{2}, shuffle(1), 8000},
		{
			"from the memory of the own node: 80 MB at 40 MB/s", three(func(c *Machines) { c.Nodes[0].MemoryBytesPerSec = 40e6 }),
			nodes{0},
			nodes{0},
			shuffle(1), 2000,
		},
		{"three quarters for one of the reduces: 60 MB at 20 MB/s", three(link(0, 80e6)), nodes{0}, nodes{1, 2}, shuffle(2, 3, 1), 3000},
		{"all for one of the reduces", three(link(0, 80e6)), nodes{0}, nodes{1, 2}, shuffle(2, 0, 7), 4000},
		{"nothing limits", slots(3, 4), nodes{0}, nodes{1}, shuffle(1), 0},
	} {
		c := &Config{
			Cluster: x.cluster, Source: &Jobs{List: []Job{x.job}}, Model: &placed{[2][]state.NodeID{x.maps, x.reduces}}, Actuator: Ideal,
			Costs: NoCosts(), NodeFetches: true,
		}
		if x.want < 0 {
			c.Costs.Fetchers, x.want = 1, -x.want
		}
		r, err := Run(c)
		if err != nil {
			t.Fatalf("%s: %v", x.name, err)
		}
		if got := r.MakespanMs - 1000 - 500; got < x.want || got > x.want+8 {
			t.Errorf("%s: the fetch takes %d ms, want %d", x.name, got, x.want)
		}
		if r.Bytes.Shuffled != 80e6 {
			t.Errorf("%s: %d bytes fetched, want all of the maps' output", x.name, r.Bytes.Shuffled)
		}
	}
}

// Shares count on clusters of racks, too: 60 MB at 20 MB/s over the own link.
func TestSharesFromRacks(t *testing.T) {
	r := must(Run(&Config{
		Cluster: three(nil), Source: &Jobs{List: []Job{shuffle(2, 3, 1)}}, Model: &placed{[2][]state.NodeID{{0}, {1, 2}}}, Actuator: Ideal,
		Costs: NoCosts(),
	}))
	if got := r.MakespanMs - 1500; got < 3000 || got > 3008 {
		t.Errorf("the fetch takes %d ms, want 3000", got)
	}
}

// The only map's node is lost when the reduce has fetched 20 of 80 MB. A second
// later the ResourceManager notices, the map runs again elsewhere for a second,
// and the reduce fetches the 60 MB that it lacks.
func TestNodeFetchOfLostNode(t *testing.T) {
	j := shuffle(1)
	j.Maps, j.MapWork[0].OutputBytes = 1, 80e6
	c := three(func(c *Machines) { c.Nodes[1].LinkBytesPerSec, c.Nodes[1].Capacity = 10e6, j.ReduceSize }) // n1 has no room for the map
	costs := NoCosts()
	costs.NodeExpiryMs = 1000
	for _, returns := range []bool{false, true} {
		faults := []Fault{{AtMs: 3000, What: NodeDown, Node: 0}}
		if returns {
			faults = append(faults, Fault{AtMs: 4000, What: NodeUp, Node: 0})
		}
		r := must(Run(&Config{
			Cluster: c, Source: &Jobs{List: []Job{j}}, Model: &placed{[2][]state.NodeID{{0}, {1}}}, Actuator: Ideal, Costs: costs, NodeFetches: true,
			Faults: faults,
		}))
		if want := int64(4000 + 1000 + 6000 + 500); r.MakespanMs < want || r.MakespanMs > want+1010 { // up to a second for the master's next look
			t.Errorf("returns %t: the job ends at %d ms, want %d", returns, r.MakespanMs, want)
		}
	}
}

// TestNodeFetchesConserve: when a reduce computes, it has its share of what each
// node holds, whatever came and was lost before.
func TestNodeFetchesConserve(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := drawConfig(t)
		c.NodeFetches = true
		var s Sim
		var r Result
		if err := s.begin(c, &r); err != nil {
			t.Fatal(err)
		}
		for s.jobs.live > 0 || s.arrivals.left() {
			if err := s.step(); err != nil {
				t.Fatal(err)
			}
			for id := range s.attempts.list {
				a := &s.attempts.list[id]
				if !a.runs() || s.attempts.rest[id].fetch < 0 || a.is(dead) {
					continue
				}
				f := &s.attempts.fetches.byNode[s.attempts.rest[id].fetch]
				if a.phase != input && f.running != 0 {
					t.Fatalf("attempt %d computes and fetches", id)
				}
				got := f.twice
				for _, bytes := range f.got {
					if bytes < 0 {
						t.Fatalf("attempt %d has fetched %v", id, f.got)
					}
					got += bytes
				}
				all := s.jobs.list[a.job].part(s.jobs.list[a.job].outBytes, int64(a.task)-int64(s.jobs.list[a.job].total[state.Map]))
				if len(c.Faults) == 0 && a.phase != input && (got < all-int64(len(c.Cluster.Nodes)) || got > all+int64(len(c.Cluster.Nodes))) {
					t.Fatalf("attempt %d computes with %d bytes, its share is %d", id, got, all)
				}
			}
		}
	})
}

func TestRefusedFetches(t *testing.T) {
	for want, change := range map[string]func(*Config, *Job){
		"fetches from nodes: the cluster has 65 nodes, at most 64 are possible; have reduces fetch from racks": func(c *Config,
			_ *Job,
		) {
			c.Cluster = slots(65, 1)
		},
		`submit job "a": shares of map output are given for 1 reduces, and it has 2`: func(_ *Config,
			j *Job,
		) {
			j.ReduceShares = []int64{1}
		},
		`submit job "a": all reduces' shares of map output are 0; leave them out to divide evenly`: func(_ *Config,
			j *Job,
		) {
			j.ReduceShares = []int64{0, 0}
		},
		fmt.Sprintf(`submit job "a": the share of map output of reduce 1 is %d: it must be 0 or more, and all together at most %d`,
			int64(math.MaxInt64), int64(state.MaxShares)): func(_ *Config, j *Job) { j.ReduceShares = []int64{1, math.MaxInt64} },
	} {
		c, j := &Config{Cluster: slots(2, 2), Costs: NoCosts(), NodeFetches: true}, shuffle(2)
		change(c, &j)
		c.Source = &Jobs{List: []Job{j}}
		if _, err := Run(c); err == nil || err.Error() != "simulate: "+want {
			t.Errorf("error %v, want %s", err, want)
		}
	}
}

// randomShuffle is a small cluster whose links and uplinks differ, and a few
// jobs with output of the maps to fetch.
func randomShuffle(seed uint64) *Config {
	key := draw.Stream(seed, "random shuffle")
	below := func(purpose uint64, n int) int64 { key = key.At(purpose); return int64(key.Below(n)) }
	nodes := int(4 + below(0, 13))
	c := slots(nodes, 2)
	racks := 1 + below(1, 4)
	for n := range c.Nodes {
		c.Nodes[n].Rack = fmt.Sprint("r", int64(n)%racks)
		c.Nodes[n].LinkBytesPerSec = 25e6 << below(2, 3)
	}
	for r := range racks {
		c.Racks = append(c.Racks, Rack{fmt.Sprint("r", r), 25e6 << below(3, 4)})
	}
	source := &Jobs{}
	for i := range 1 + below(4, 4) {
		j := simpleJob(fmt.Sprint("job", i), i*5000, int32(4+below(5, 40)), int32(1+below(6, 8)),
			Work{ComputeMs: 4000, SpreadPercent: 50, OutputBytes: 10e6 + 1e6*below(7, 90)})
		j.ReduceWork, j.SlowStart = []Work{{ComputeMs: 2000}}, 0.3
		source.List = append(source.List, j)
	}
	return &Config{Cluster: c, Source: source, Actuator: Ideal, Costs: NoCosts(), Seed: seed}
}

// BenchmarkRackFetches prints the error of fetches from racks against fetches
// from nodes, over 200 random clusters: of the time of each reduce and of each
// job's completion, as median and 95th percentile of absolute errors.
func BenchmarkRackFetches(b *testing.B) {
	var reduces, jobs []float64
	for range b.N {
		reduces, jobs = reduces[:0], jobs[:0]
		for seed := range uint64(200) {
			var took [2]map[traces.Task]int64
			var ends [2][]JobResult
			for form := range took {
				took[form] = map[traces.Task]int64{}
				c := randomShuffle(seed)
				c.NodeFetches = form == 1
				c.Record = func(e traces.Event) {
					switch e := e.(type) {
					case *traces.AttemptStarted:
						if e.Attempt.Kind == state.Reduce {
							took[form][e.Attempt.Task] -= e.T.Milliseconds()
						}
					case *traces.AttemptFinished:
						if e.Attempt.Kind == state.Reduce {
							took[form][e.Attempt.Task] += e.T.Milliseconds()
						}
					}
				}
				r := must(Run(c))
				ends[form] = slices.Clone(r.Jobs)
			}
			for task, ms := range took[1] {
				reduces = append(reduces, math.Abs(float64(took[0][task]-ms))/float64(ms))
			}
			for i, j := range ends[1] {
				all := float64(j.EndMs - j.SubmitMs)
				jobs = append(jobs, math.Abs(float64(ends[0][i].EndMs-j.EndMs))/all)
			}
		}
	}
	for _, x := range []struct {
		name   string
		errors []float64
	}{{"reduce", reduces}, {"job", jobs}} {
		slices.SortFunc(x.errors, cmp.Compare)
		b.ReportMetric(100*x.errors[len(x.errors)/2], x.name+"-median-%")
		b.ReportMetric(100*x.errors[len(x.errors)*95/100], x.name+"-p95-%")
	}
}
