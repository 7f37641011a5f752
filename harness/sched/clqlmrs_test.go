package sched

import (
	"math/rand/v2"
	"testing"

	"heddle/harness/cluster"
)

// setup is a cluster in two racks, by turns, and a job whose blocks lie at random.
type setup struct {
	nodes, slots, maps, replicas int
	cached                       float64 // share of maps, on one of the replicas
}

func (x setup) make(tb testing.TB, seed uint64) (*cluster.State, cluster.JobID) {
	tb.Helper()
	rng := rand.New(rand.NewPCG(seed, 9))
	s := cluster.New()
	for n := range x.nodes {
		addNode(tb, s, n, n%2, slot.Times(int32(x.slots)))
	}
	return s, x.submit(tb, s, rng)
}

// submit submits a job and asks for its maps.
func (x setup) submit(tb testing.TB, s *cluster.State, rng *rand.Rand) cluster.JobID {
	tb.Helper()
	spec := cluster.JobSpec{Name: "job", Maps: int32(x.maps), MapSize: slot}
	withCache := rng.Perm(x.maps)
	for i := range x.maps {
		var hosts []cluster.NodeID
		for _, n := range rng.Perm(x.nodes)[:x.replicas] {
			hosts = append(hosts, cluster.NodeID(n))
		}
		spec.Replicas.Add(hosts...)
		if float64(withCache[i]) < x.cached*float64(x.maps) {
			spec.Cached.Add(hosts[0])
		} else {
			spec.Cached.Add()
		}
	}
	return submit(tb, s, &spec)
}

// rates has a model place all maps of all jobs, wave by wave: nodes report in a
// random order, and all maps end when no slot is free. It returns the shares of
// cache-local and of cache- or node-local maps.
func rates(tb testing.TB, s *cluster.State, m Model) (cache, local float64) {
	tb.Helper()
	v := s.View()
	rng := rand.New(rand.NewPCG(5, 6))
	var offers Offers
	placed := 0.0
	for now := int64(1); len(v.WaitingJobs(cluster.Map)) > 0; now++ {
		s.SetNow(now * 1e9)
		var wave []Decision
		for _, n := range rng.Perm(v.Nodes()) {
			offers.Heartbeat(m, v, cluster.NodeID(n), func(d Decision) bool {
				if err := Check(v, d); err != nil {
					tb.Fatal(err)
				}
				switch v.Level(d.Job, d.Task, d.Node) {
				case cluster.LevelCache:
					cache++
					local++
				case cluster.LevelNode:
					local++
				}
				placed++
				wave = append(wave, d)
				return s.Start(d.Job, d.Task, d.Node) == nil
			})
		}
		for _, d := range wave {
			if err := s.Finish(d.Job, d.Task); err != nil {
				tb.Fatal(err)
			}
		}
		if len(wave) == 0 {
			tb.Fatalf("nothing started, %d maps wait", v.Waiting(v.WaitingJobs(cluster.Map)[0], cluster.Map))
		}
	}
	return cache / placed, local / placed
}

func mustNew(tb testing.TB, name string, p Params) Model {
	tb.Helper()
	m, err := New(name, p)
	if err != nil {
		tb.Fatal(err)
	}
	return m
}
