package clqlmrs

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"heddle/harness/paper"
	"heddle/harness/sim/draw"
	"heddle/harness/state"
)

// TestBytesByHand has the bytes of each application's jobs: 100 maps of 128 MiB read
// 12.5 GiB, sorting keeps all of it, and each later job reads what the one before wrote.
func TestBytesByHand(t *testing.T) {
	const all = 12.5 * (1 << 30)
	for _, x := range []struct {
		app             string
		fetched, writes []float64 // of the first job's input
	}{
		{"wordcount", []float64{0.001}, []float64{0.0005}},
		{"sort", []float64{1}, []float64{1}},
		{"terasort", []float64{1}, []float64{1}},
		{"join", []float64{0.25, 0.25 * 0.025, 0.25 * 0.025 * 0.025}, []float64{0.025, 0.025 * 0.025, 0.025 * 0.025 * 0.025}},
		{"aggregation", []float64{0.1}, []float64{0.02}},
	} {
		list := stages(t, with(t, "app", x.app), 3)
		reads := all
		for i, s := range list {
			j := &s.Jobs[0]
			for name, of := range map[string][2]float64{
				"reads":  {float64(j.Maps) * float64(j.MapWork[0].InputBytes), reads},
				"puts":   {float64(j.Maps) * float64(j.MapWork[0].OutputBytes), all * x.fetched[i]},
				"writes": {float64(j.Reduces) * float64(j.ReduceWork[0].OutputBytes), all * x.writes[i]},
			} {
				if got, want := of[0], of[1]; math.Abs(got/want-1) > 0.001 {
					t.Errorf("%s, job %d: %s %.0f bytes, want %.0f", x.app, i+1, name, got, want)
				}
			}
			reads = all * x.writes[i]
		}
		if len(list) != len(x.writes) {
			t.Errorf("%s has %d jobs, want %d", x.app, len(list), len(x.writes))
		}
	}
	// Computing times go with the bytes: half the block, half the time, and the property scales them.
	whole, half := stages(t, with(t, "app", "sort"), 3)[0].Jobs[0], stages(t, with(t, "app", "sort", "block", "64MiB"), 3)[0].Jobs[0]
	if whole.MapWork[0].ComputeMs != 128*15 || half.MapWork[0].ComputeMs != 64*15 || whole.ReduceWork[0].ComputeMs != 12_800*15/8 {
		t.Errorf("maps of %d and %d ms, reduces of %d ms; want 1920, 960 and 24000", whole.MapWork[0].ComputeMs, half.MapWork[0].ComputeMs,
			whole.ReduceWork[0].ComputeMs)
	}
	if twice := stages(t, with(t, "app", "sort", "compute", "2"), 3)[0].Jobs[0]; twice.MapWork[0].ComputeMs != 2*128*15 {
		t.Errorf("compute=2: maps of %d ms", twice.MapWork[0].ComputeMs)
	}
}

// TestSeedsDiffer has each seed have its own places of blocks, which all schedulers share,
// and each value of each axis leave them different, so that no two repeats are one.
func TestSeedsDiffer(t *testing.T) {
	p := Paper()
	for _, a := range p.Axes {
		for _, v := range a.Values {
			x, err := paper.Setting(standard).With(p.Key(a.Name), v.Value)
			if err != nil {
				continue // an axis of a model, or of package paper
			}
			places := map[string]uint64{}
			for seed := range uint64(10) {
				j, again := stages(t, x.(testbed), seed)[0].Jobs[0], stages(t, x.(testbed), seed)[0].Jobs[0]
				text := fmt.Sprint(j.Replicas, j.Cached)
				if text != fmt.Sprint(again.Replicas, again.Cached) {
					t.Fatalf("%s=%s: seed %d has two set-ups", a.Name, v.Value, seed)
				}
				if before, ok := places[text]; ok {
					t.Errorf("%s=%s: seeds %d and %d are one", a.Name, v.Value, before, seed)
				}
				places[text] = seed
			}
		}
	}
}

// TestCacheSizes has caches hold what was said of them: all of the cache's size, in
// parts by the rule, and never a copy on a node without a replica.
func TestCacheSizes(t *testing.T) {
	for by, want := range map[string][]float64{"equal": {1, 1, 1, 1, 1, 1}, "spare": {1, 3, 5, 1, 3, 5}} {
		x := with(t, "cacheBy", by, "cut", "node")
		sum := 0.0
		for _, part := range want {
			sum += part
		}
		sizes, fit := x.cacheSizes(64, 0)
		all := 0.0
		for n, part := range want {
			blocks := math.Floor(64 * part / sum)
			if all += blocks; float64(sizes[n]) != blocks*float64(x.Block) {
				t.Errorf("by %s: node %d holds %d bytes, want %v blocks", by, n, sizes[n], blocks)
			}
		}
		if fit != all || all > 64 {
			t.Errorf("by %s: %v blocks fit, want %v", by, fit, all)
		}
	}
	for seed := range uint64(20) {
		j := stages(t, with(t, "cachedPct", "90"), seed)[0].Jobs[0]
		start, from := int32(0), int32(0)
		for m := range j.Cached.Ends {
			hosts := j.Replicas.Nodes[from:j.Replicas.Ends[m]]
			for _, n := range j.Cached.Nodes[start:j.Cached.Ends[m]] {
				if !slices.Contains(hosts, n) {
					t.Fatalf("seed %d: map %d is cached on node %d, and stored on %v", seed, m, n, hosts)
				}
			}
			start, from = j.Cached.Ends[m], j.Replicas.Ends[m]
		}
	}
}

// TestReplicasAreEven has blocks be on each node about equally often, as HDFS places
// them for a writer outside: each node has half of the blocks of its six.
func TestReplicasAreEven(t *testing.T) {
	_, topology := standard.cluster()
	counts := make([]int, len(ramGB))
	const blocks = 6000
	var hosts state.Hosts
	topology.File(&hosts, draw.Stream(1, "even"), blocks, state.None, replication)
	for _, n := range hosts.Nodes {
		counts[n]++
	}
	for n, got := range counts {
		if want := float64(blocks * replication / len(ramGB)); math.Abs(float64(got)-want) > 4*math.Sqrt(want/2) {
			t.Errorf("node %d stores %d of %d blocks, want about %.0f: %v", n, got, blocks, want, counts)
		}
	}
}

// TestDerived has the numbers that are marked as derived follow from those that the paper
// prints: what B saves against A is what C saves against A, without what C saves against B.
func TestDerived(t *testing.T) {
	number := func(part, what, label string) float64 {
		x := numbers.Value(part, label, what)
		if math.IsNaN(x) {
			t.Fatalf("%s has no %s of %s", part, what, label)
		}
		return x
	}
	for _, x := range []struct{ part, gain, label string }{
		{"fig9", "mean gain over ", delay},
		{"table5", "Sort, gain over ", acl},
		{"table5", "TeraSort, gain over ", acl},
	} {
		of := func(against string) float64 { return 1 - number(x.part, x.gain+against, learner)/100 }
		want := 100 * (1 - of(fifo)/of(x.label))
		if got := number(x.part, x.gain+fifo, x.label); math.Abs(got-want) > 0.05 {
			t.Errorf("%s: %s%s of %s is derived as %v, and follows as %.2f", x.part, x.gain, fifo, x.label, got, want)
		}
	}
	sum := 0.0
	for _, a := range applications {
		sum += number("fig8", a.title+" above FIFO", learner) / float64(len(applications))
	}
	if mean := number("fig8", "mean above FIFO", learner); math.Abs(sum-mean) > 0.05 {
		t.Errorf("five applications are %.2f points above FIFO in the mean, and the paper prints %v", sum, mean)
	}
}
