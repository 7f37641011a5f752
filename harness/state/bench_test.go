package state

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"
)

// load is a cluster of nodes with 8 slots each in racks of 40, and jobs of
// 1,000 maps with three replicas, the second and third in one other rack, as
// HDFS places them.
type load struct {
	s     *State
	spec  JobSpec
	rng   *rand.Rand
	nodes int
	jobs  []JobID // active, submission order
}

func newLoad(tb testing.TB, nodes, maps int) *load {
	l := &load{s: New(), rng: rand.New(rand.NewPCG(1, 2)), nodes: nodes}
	for n := range nodes {
		must(l.s.AddNode(fmt.Sprint("n", n), fmt.Sprint("r", n/40), Resource{8192, 8}))
	}
	l.spec = JobSpec{Name: "job", Maps: int32(maps), Reduces: 1, MapSize: Resource{1024, 1}, ReduceSize: Resource{1024, 1}}
	return l
}

func (l *load) submit(tb testing.TB) {
	l.spec.Replicas.Reset()
	for range l.spec.Maps {
		a := l.rng.IntN(l.nodes)
		b := l.rng.IntN(l.nodes)
		l.spec.Replicas.Add(NodeID(a), NodeID(b), NodeID(min(b/40*40+(b+1)%40, l.nodes-1)))
	}
	id := must(l.s.Submit(&l.spec))
	l.s.Ask(id, Map, l.spec.Maps)
	l.jobs = append(l.jobs, id)
}

// BenchmarkCycle is a task's whole life in the State: its part of the
// submission, the search for a near one on the node that has room, start and
// end. Tasks are on the nodes for as long as it takes every slot to be used
// once.
func BenchmarkCycle(b *testing.B) {
	for _, size := range []struct{ nodes, maps int }{{1000, 1000}, {1000, 10}, {10000, 1000}, {10000, 10000}} {
		b.Run(fmt.Sprintf("nodes=%d/maps=%d", size.nodes, size.maps), func(b *testing.B) {
			l := newLoad(b, size.nodes, size.maps)
			type running struct {
				job  JobID
				task TaskID
			}
			ring := make([]running, 8*size.nodes)
			for i := range ring {
				ring[i].job = None
			}
			v := l.s.View()
			cycle := func(i int) {
				slot := &ring[i%len(ring)]
				n := NodeID(i % size.nodes)
				if slot.job != None {
					mustDo(b, l.s.Finish(slot.job, slot.task))
					if v.Done(slot.job, Map) == l.spec.Maps {
						l.s.EndJob(slot.job)
					}
				}
				if len(v.WaitingJobs(Map)) == 0 {
					l.submit(b)
				}
				job := v.WaitingJobs(Map)[0]
				t, _ := v.Nearest(job, n, LevelCache, LevelOff)
				mustDo(b, l.s.Start(job, t, n))
				*slot = running{job, t}
			}
			warm := 3*len(ring) + 3*size.maps
			for i := range warm {
				cycle(i)
			}
			b.ReportAllocs()
			b.ResetTimer()
			for i := range b.N {
				cycle(warm + i)
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds()/1e6, "Mtasks/s")
		})
	}
}

// BenchmarkMemory is what a resident task takes, with three replicas.
func BenchmarkMemory(b *testing.B) {
	for _, size := range []struct{ nodes, maps int }{{1000, 1000}, {10000, 1000}, {100000, 1000}, {1000, 10}} {
		b.Run(fmt.Sprintf("nodes=%d/maps=%d", size.nodes, size.maps), func(b *testing.B) {
			for range b.N {
				l := newLoad(b, size.nodes, size.maps)
				l.submit(b)
				before := heap()
				jobs := 1_000_000 / size.maps
				for range jobs {
					l.submit(b)
				}
				b.ReportMetric(float64(heap()-before)/float64(jobs*size.maps), "B/task")
				runtime.KeepAlive(l)
			}
		})
	}
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
