package sim

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"heddle/harness/sched"
	"heddle/harness/state"
	"heddle/traces"
)

// drawConfig is a small cluster, with jobs and faults.
func drawConfig(t *rapid.T) *Config {
	racks := rapid.IntRange(1, 6).Draw(t, "racks")
	c := &Config{Costs: NoCosts(), Seed: rapid.Uint64().Draw(t, "seed")}
	limited := rapid.Bool().Draw(t, "limited")
	for n := range rapid.IntRange(2, 8).Draw(t, "nodes") {
		x := Node{
			Name: fmt.Sprint("n", n), Rack: fmt.Sprint("r", n%racks),
			Capacity: state.Resource{MemoryMB: 1024, VCores: 1}.Times(rapid.Int32Range(1, 4).Draw(t, "slots")),
			Speed:    rapid.SampledFrom([]float64{0, 0.5, 2}).Draw(t, "speed"),
		}
		if limited {
			c.Cluster.WritesWait = true
			x.DiskBytesPerSec, x.LinkBytesPerSec = 100e6, 50e6
			x.Cores = rapid.SampledFrom([]float64{0, 1.5}).Draw(t, "cores")
		}
		c.Cluster.Nodes = append(c.Cluster.Nodes, x)
	}
	if limited {
		for r := range racks {
			c.Cluster.Racks = append(c.Cluster.Racks, Rack{Name: fmt.Sprint("r", r), UplinkBytesPerSec: 40e6})
		}
	}
	if rapid.Bool().Draw(t, "costs") {
		c.Costs = DefaultCosts()
		c.Costs.NodeExpiryMs = 15_000
		c.Costs.AsyncMs = rapid.SampledFrom([]int32{0, 0, 20}).Draw(t, "async")
	}
	c.Actuator = Actuator(rapid.IntRange(0, 2).Draw(t, "actuator"))
	c.Splits = Splits(rapid.IntRange(0, 1).Draw(t, "splits"))
	c.Speculation = Speculation(rapid.IntRange(0, 2).Draw(t, "speculation"))
	if rapid.IntRange(0, 2).Draw(t, "has slots") == 0 {
		c.MapSlots, c.ReduceSlots = rapid.Int32Range(1, 3).Draw(t, "map slots"), rapid.Int32Range(1, 2).Draw(t, "reduce slots")
	}
	c.NodeFetches = rapid.Bool().Draw(t, "node fetches")
	c.Faults = drawFaults(t, len(c.Cluster.Nodes))
	c.Capacity = drawCapacity(t, c.Cluster.Nodes)
	c.Source = &Jobs{List: drawJobs(t, len(c.Cluster.Nodes))}
	m := must(sched.New(rapid.SampledFrom(quickModels()).Draw(t, "model"), nil))
	c.Model = m
	return c
}

func drawFaults(t *rapid.T, nodes int) []Fault {
	var list []Fault
	at := int64(0)
	for range rapid.IntRange(0, 4).Draw(t, "faults") {
		at += rapid.Int64Range(0, 30_000).Draw(t, "after")
		n := state.NodeID(rapid.IntRange(1, nodes-1).Draw(t, "faulty"))
		switch rapid.IntRange(0, 2).Draw(t, "fault") {
		case 0:
			list = append(list, Fault{AtMs: at, What: NodeDown, Node: n})
			at += rapid.Int64Range(0, 30_000).Draw(t, "down")
			list = append(list, Fault{AtMs: at, What: NodeUp, Node: n})
		case 1:
			list = append(list, Fault{AtMs: at, What: NodeSlow, Node: n, Speed: 0.3})
		default:
			list = append(list, Fault{AtMs: at, What: AttemptsFail, Share: rapid.SampledFrom([]float64{0, 0.05, 0.2}).Draw(t, "share")})
		}
	}
	return list
}

// drawCapacity takes capacity from nodes, all of it at times, and gives it back.
func drawCapacity(t *rapid.T, nodes []Node) (list state.Timetable) {
	steps := rapid.IntRange(0, 5).Draw(t, "capacity steps")
	if steps == 0 {
		return list
	}
	at := int64(0)
	for i := range steps {
		all := rapid.Bool().Draw(t, "all nodes")
		which := rapid.IntRange(0, len(nodes)-1).Draw(t, "which")
		for n, x := range nodes {
			left := state.Resource{MemoryMB: 512 * rapid.Int32Range(0, x.Capacity.MemoryMB/512).Draw(t, "left"), VCores: x.Capacity.VCores}
			if i == steps-1 {
				left = x.Capacity
			}
			if n == which || all || i == steps-1 {
				list.Changes = append(list.Changes, state.CapacityChange{AtMs: at, Node: x.Name, Left: left})
			}
		}
		at += rapid.Int64Range(0, 30_000).Draw(t, "until the next step")
	}
	if rapid.Bool().Draw(t, "again and again") {
		list.EveryMs = at + 100_000
	}
	return list
}

// fitting checks that containers only start where they fit: what is in use on a
// node never grows to more than the node's capacity.
type fitting struct {
	t        *rapid.T
	sim      *Sim
	used     []state.Resource
	capacity []state.Resource
}

func (f *fitting) check() {
	v := f.sim.view
	f.used, f.capacity = resized(f.used, v.Nodes()), resized(f.capacity, v.Nodes())
	for i := range f.used {
		n := state.NodeID(i)
		free, capacity := v.Free(n), v.Capacity(n)
		used := capacity.Sub(free)
		if free.MemoryMB < 0 && used.MemoryMB > f.used[i].MemoryMB && capacity == f.capacity[i] {
			f.t.Fatalf("at %d ms, %v are in use on node %d instead of %v, and its capacity is %v", f.sim.events.Now, used, n, f.used[i], capacity)
		}
		f.used[i], f.capacity[i] = used, capacity
	}
}

func drawJobs(t *rapid.T, nodes int) []Job {
	var list []Job
	at := int64(0)
	size := state.Resource{MemoryMB: 1024, VCores: 1}
	for i := range rapid.IntRange(1, 6).Draw(t, "jobs") {
		at += rapid.Int64Range(0, 20_000).Draw(t, "gap")
		j := Job{SubmitMs: at, SlowStart: rapid.Float32Range(0, 1).Draw(t, "slow start")}
		j.JobSpec = state.JobSpec{
			Name: fmt.Sprint("job", i), Queue: rapid.SampledFrom([]string{"a", "b"}).Draw(t, "queue"),
			Maps: rapid.Int32Range(0, 25).Draw(t, "maps"), Reduces: rapid.SampledFrom([]int32{0, 0, 1, 2, 5, 20}).Draw(t, "reduces"), MapSize: size,
			ReduceSize: size,
		}
		if rapid.Bool().Draw(t, "am") {
			j.AMSize = state.Resource{MemoryMB: 512, VCores: 0}
		}
		draw := func(n int32, input int64) []Work {
			if n == 0 {
				return nil
			}
			list := make([]Work, rapid.IntRange(1, int(n)).Draw(t, "entries"))
			for i := range list {
				list[i] = Work{
					InputBytes: rapid.Int64Range(0, input).Draw(t, "in"), OutputBytes: rapid.Int64Range(0, 64<<20).Draw(t, "out"),
					ComputeMs: rapid.Int32Range(0, 20_000).Draw(t, "compute"), SpreadPercent: uint8(rapid.IntRange(0, 100).Draw(t, "spread")),
				}
				if rapid.IntRange(0, 3).Draw(t, "fixed") == 0 {
					list[i].FixedMs = rapid.Int32Range(1, 20_000).Draw(t, "ms")
				}
			}
			return list
		}
		j.MapWork, j.ReduceWork = draw(j.Maps, 128<<20), draw(j.Reduces, 0)
		if j.Reduces > 0 && rapid.Bool().Draw(t, "shares") {
			j.ReduceShares = rapid.SliceOfN(rapid.Int64Range(0, 9), int(j.Reduces), int(j.Reduces)).Draw(t, "share")
			j.ReduceShares[0]++ // one has to be above 0
		}
		j.Pasts = drawPasts(t, j.Maps, j.Reduces)
		for range j.Maps {
			first := rapid.IntRange(0, nodes-1).Draw(t, "replica")
			j.Replicas.Add(state.NodeID(first), state.NodeID((first+1)%nodes))
			if rapid.Bool().Draw(t, "cached") {
				j.Cached.Add(state.NodeID(first))
			} else {
				j.Cached.Add()
			}
		}
		list = append(list, j)
	}
	return list
}

// drawPasts has some attempts fail, be killed, or get a copy.
func drawPasts(t *rapid.T, tasks ...int32) []Past {
	var list []Past
	for k, n := range tasks {
		for task := range n {
			if rapid.IntRange(0, 3).Draw(t, "past") > 0 {
				continue
			}
			for number := range rapid.Int32Range(1, 3).Draw(t, "attempts") {
				list = append(list, Past{
					Kind: state.Kind(k), Task: task, Number: number, Ms: rapid.Int32Range(0, 20_000).Draw(t, "past ms"),
					Outcome:     rapid.SampledFrom([]traces.Outcome{traces.Succeeded, traces.Failed, traces.Killed}).Draw(t, "outcome"),
					SpeculateMs: rapid.SampledFrom([]int32{0, 0, 500, 5000}).Draw(t, "copy"),
				})
			}
		}
	}
	return list
}

// What jobs are to read, fetch and write is read, fetched and written; no node
// ever has more containers than it holds; each task of a job that succeeds ends
// well, and what the trace says comes to the digest of the run. None of this
// depends on whether a trace is written.
func TestConservation(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := drawConfig(t)
		source := c.Source.(*Jobs)
		check := &ledger{t: t, config: c, running: map[traces.Attempt]traces.Node{}, used: map[traces.Node]int64{}, done: map[traces.Task]int32{}}
		var s Sim
		fits, r := fitting{t: t, sim: &s}, new(Result)
		c.Record = func(e traces.Event) {
			fits.check()
			check.add(e)
		}
		err := s.Run(c, r)
		if err != nil {
			t.Fatal(err)
		}
		check.compare(source.List, r)

		source.Rewind()
		c.Record = nil
		var told Attempts
		var read, fetched int64
		c.Ended = func(e AttemptEnd) {
			switch {
			case e.EndMs < e.StartMs && e.Launched:
				t.Fatalf("%+v ended before it began", e)
			case e.Outcome == traces.Failed:
				told.Failed++
			case e.Outcome == traces.Killed:
				told.Killed++
			case e.Kind == state.Map:
				told.Succeeded, read = told.Succeeded+1, read+e.InputBytes
			default:
				told.Succeeded, fetched = told.Succeeded+1, fetched+e.InputBytes
			}
		}
		if c.Model, err = sched.New(c.Model.Name(), nil); err != nil {
			t.Fatal(err)
		}
		again, err := Run(c)
		if err != nil {
			t.Fatal(err)
		}
		if again.Digest != r.Digest {
			t.Fatalf("digest %v without a trace, %v with one", again.Digest, r.Digest)
		}
		for _, bytes := range again.Bytes.Read {
			read -= bytes
		}
		// Maps that are lost after their end are no success in the result, and were told as one.
		got, want := told.Succeeded+told.Failed+told.Killed, again.Attempts.Succeeded+again.Attempts.Failed+again.Attempts.Killed
		if told.Failed != again.Attempts.Failed || got != want || len(c.Faults) == 0 &&
			(told.Killed != again.Attempts.Killed || read != 0 || fetched != again.Bytes.Shuffled) {
			t.Fatalf("told of %+v, of %d bytes read too many, and %d fetched; the result is %+v, %d", told, read, fetched, again.Attempts,
				again.Bytes.Shuffled)
		}
	})
}

// ledger follows a trace.
type ledger struct {
	t        *rapid.T
	config   *Config
	schedule traces.Schedule
	running  map[traces.Attempt]traces.Node
	used     map[traces.Node]int64
	done     map[traces.Task]int32
}

func (l *ledger) add(e traces.Event) {
	l.schedule.Add(e)
	switch e := e.(type) {
	case *traces.AttemptStarted:
		if _, ok := l.running[e.Attempt]; ok {
			l.t.Fatalf("%v started twice", e.Attempt)
		}
		l.running[e.Attempt] = e.Node
		l.used[e.Node] += 1024
		for _, n := range l.config.Cluster.Nodes {
			if n.Name == string(e.Node) && l.used[e.Node] > int64(n.Capacity.MemoryMB) {
				l.t.Fatalf("%d MB in use on %s, which has %d", l.used[e.Node], n.Name, n.Capacity.MemoryMB)
			}
		}
	case *traces.AttemptFinished:
		if e.Unlaunched {
			return
		}
		n, ok := l.running[e.Attempt]
		if !ok {
			l.t.Fatalf("%v ended and did not run", e.Attempt)
		}
		delete(l.running, e.Attempt)
		l.used[n] -= 1024
		if e.Outcome == traces.Succeeded && l.down(n, e.T.Milliseconds()) {
			l.t.Fatalf("%v succeeded at %v on %s, which was down", e.Attempt, e.T, n)
		}
	case *traces.TaskFinished:
		l.done[e.Task] = e.Winner
	}
}

// down says whether a node is down, and was and will be for a millisecond.
func (l *ledger) down(n traces.Node, ms int64) bool {
	down := false
	for _, f := range l.config.Faults {
		if f.What > NodeUp || l.config.Cluster.Nodes[f.Node].Name != string(n) {
			continue
		}
		if f.AtMs == ms {
			return false
		}
		if f.AtMs < ms {
			down = f.What == NodeDown
		}
	}
	return down
}

func (l *ledger) compare(jobs []Job, r *Result) {
	if len(l.running) > 0 {
		l.t.Fatalf("%d attempts still run", len(l.running))
	}
	if d := l.schedule.Digest(); d != r.Digest {
		l.t.Fatalf("the trace's digest is %v, the run's %v", d, r.Digest)
	}
	var read, shuffled, written int64
	for i := range jobs {
		j := &jobs[i]
		if r.Jobs[i].EndMs < r.Jobs[i].SubmitMs {
			l.t.Fatalf("job %s ended at %d ms, submitted at %d", j.Name, r.Jobs[i].EndMs, r.Jobs[i].SubmitMs)
		}
		if r.Jobs[i].Failed {
			return // it did part of its work
		}
		for k, n := range []int32{j.Maps, j.Reduces} {
			for t := range n {
				if _, ok := l.done[traces.Task{Job: traces.JobID(j.Name), Kind: state.Kind(k), Index: t}]; !ok {
					l.t.Fatalf("%v %d of %s did not end", state.Kind(k), t, j.Name)
				}
				w := work([][]Work{j.MapWork, j.ReduceWork}[k], t, n)
				switch {
				case k == 1:
					written += w.OutputBytes
				case j.Reduces == 0:
					read, written = read+w.InputBytes, written+w.OutputBytes
				default:
					read, shuffled = read+w.InputBytes, shuffled+w.OutputBytes
				}
			}
		}
	}
	sum := int64(0)
	for _, b := range r.Bytes.Read {
		sum += b
	}
	if sum != read || r.Bytes.Shuffled != shuffled || r.Bytes.Written != written {
		l.t.Fatalf("read %d, shuffled %d, written %d; the jobs say %d, %d, %d", sum, r.Bytes.Shuffled, r.Bytes.Written, read, shuffled, written)
	}
	for level, b := range r.Bytes.Read {
		if b < 0 || r.Maps[level] < 0 {
			l.t.Fatalf("%d maps read %d bytes at level %d", r.Maps[level], b, level)
		}
	}
}

// TestSetListed: a job of a list moves what the list says, by whatever rules.
func TestSetListed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.Int64Range(0, 1<<42)
		x := traces.JobListed{InputBytes: size.Draw(t, "input"), ShuffleBytes: size.Draw(t, "shuffle"), OutputBytes: size.Draw(t, "output")}
		r := traces.DefaultListRules
		r.BlockBytes = rapid.Int64Range(1<<25, 1<<35).Draw(t, "block")
		network := rapid.Bool().Draw(t, "network")
		var j Job
		j.SetListed(&r, &x, network)
		sum := func(list []Work, n int32) (in, out int64) {
			for i := range n {
				w := work(list, i, n)
				in, out = in+w.InputBytes, out+w.OutputBytes
			}
			return in, out
		}
		read, put := sum(j.MapWork, j.Maps)
		_, written := sum(j.ReduceWork, j.Reduces)
		if j.Reduces == 0 {
			written, put = put, 0
		}
		if read != x.InputBytes || put != x.ShuffleBytes || written != x.OutputBytes {
			t.Fatalf("tasks read %d, shuffle %d, write %d of %+v", read, put, written, x)
		}
		if j.Reduces == 0 {
			return
		}
		if ms, least := int64(j.ReduceWork[0].ComputeMs),
			x.ShuffleBytes/int64(j.Reduces)*1000/r.ShuffleRate; network == (ms >= r.StartMs+least) && least > 0 && x.OutputBytes == 0 {
			t.Fatalf("reduces take %d ms, with a network: %v", ms, network)
		}
	})
}
