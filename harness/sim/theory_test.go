package sim

import (
	"fmt"
	"math"
	"testing"

	"heddle/harness/sched"
	"heddle/harness/sim/draw"
	"heddle/harness/state"
)

// poisson is jobs of one map each that arrive at random, a mean gap apart.
type poisson struct {
	left      int
	at        float64
	key       draw.Key
	gap       float64
	service   func(k draw.Key) float64
	n         uint64
	totalTime float64
}

func exponential(k draw.Key, mean float64) float64 { return -mean * math.Log(1-k.Fraction()) }

func (p *poisson) Next(j *Job) bool {
	if p.left == 0 {
		return false
	}
	p.left--
	p.n++
	k := p.key.At(p.n)
	p.at += exponential(k.At(0), p.gap)
	ms := math.Round(p.service(k.At(1)))
	p.totalTime += ms
	*j = simpleJob(fmt.Sprint("job", p.n), int64(p.at), 1, 0, Work{FixedMs: max(1, int32(ms))})
	return true
}

// One server: mean waits are those of queueing theory, rho/(1-rho) times the mean
// service for exponential ones (M/M/1), half of that for constant ones (M/D/1).
func TestMeanWaitOfOneServer(t *testing.T) {
	const mean, rho = 10_000.0, 0.7
	for _, c := range []struct {
		name    string
		service func(draw.Key) float64
		want    float64
	}{
		{"M/M/1", func(k draw.Key) float64 { return exponential(k, mean) }, rho / (1 - rho) * mean},
		{"M/D/1", func(draw.Key) float64 { return mean }, rho / (1 - rho) * mean / 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			source := &poisson{left: 100_000, key: draw.Stream(3, c.name), gap: mean / rho, service: c.service}
			r := must(Run(&Config{Cluster: slots(1, 1), Source: source, Model: newModel(t, "fifo"), Actuator: Ideal, Costs: NoCosts()}))
			wait := 0.0
			for _, j := range r.Jobs {
				wait += float64(j.StartMs - j.SubmitMs)
			}
			wait /= float64(len(r.Jobs))
			if math.Abs(wait/c.want-1) > 0.05 {
				t.Errorf("mean wait %.0f ms, theory says %.0f", wait, c.want)
			}
		})
	}
}

// Jobs wait at most D skips for a node with their data: of those with one map of
// R replicas on M nodes, which have a slot free one after the other, 1-exp(-RD/M)
// find one (Zaharia et al., EuroSys 2010, section 3.4, with K = 1).
func TestDelayFindsNodes(t *testing.T) {
	const nodes, replicas = 100, 3
	for _, skips := range []int{0, 10, 33, 66, 150} {
		t.Run(fmt.Sprint(skips), func(t *testing.T) {
			key := draw.Stream(5, "delay")
			source := &Jobs{}
			for i := range 4000 {
				j := simpleJob(fmt.Sprint("job", i), int64(i)*5000+int64(key.At(uint64(i)).At(9).Below(1000)), 1, 0, Work{FixedMs: 1})
				a := key.At(uint64(i)).Below(nodes)
				j.Replicas.Add(state.NodeID(a), state.NodeID((a+37)%nodes), state.NodeID((a+71)%nodes))
				source.List = append(source.List, j)
			}
			m := must(sched.New("delay", sched.Params{"nodeSkips": fmt.Sprint(skips), "rackSkips": "0"}))
			costs := NoCosts()
			costs.NodeBeatMs = 1000
			c := slots(nodes, 1)
			for n := range c.Nodes { // no racks
				c.Nodes[n].Rack = fmt.Sprint("r", n)
			}
			r := must(Run(&Config{Cluster: c, Source: source, Model: m, Actuator: Ideal, Costs: costs}))
			local := float64(r.Maps[state.LevelNode]) / float64(len(source.List))
			// The node after the last skip may be local, too. Offers within one round of
			// heartbeats are of different nodes: the bound with exp is for any.
			want := 1.0
			if skips+1 < nodes {
				exact := 1.0
				for i := range skips + 1 {
					exact *= float64(nodes-replicas-i) / float64(nodes-i)
				}
				if bound := 1 - math.Exp(-replicas*float64(skips)/nodes); 1-exact < bound-0.01 {
					t.Errorf("without replacement %.3f is below the bound %.3f", 1-exact, bound)
				}
				want = 1 - exact
			}
			if math.Abs(local-want) > 0.025 {
				t.Errorf("%.3f of the maps are local, want %.3f", local, want)
			}
		})
	}
}

// With as many slots as maps, all free at once, the matching model places maps
// as well as any placement does.
func TestMatchingIsBest(t *testing.T) {
	weights := [...]int{state.LevelCache: 4, state.LevelNode: 3, state.LevelRack: 2, state.LevelOff: 1}
	for seed := range uint64(40) {
		key := draw.Stream(seed, "matching")
		const nodes, maps = 5, 5
		c := slots(nodes, 1)
		for n := range c.Nodes {
			c.Nodes[n].Rack = fmt.Sprint("r", n%2)
		}
		j := simpleJob("job", 0, maps, 0, Work{FixedMs: 10_000})
		for m := range uint64(maps) {
			a := key.At(m).Below(nodes)
			j.Replicas.Add(state.NodeID(a))
			if key.At(m).At(1).Below(2) == 0 {
				j.Cached.Add(state.NodeID(a))
			} else {
				j.Cached.Add()
			}
		}
		r := must(Run(&Config{Cluster: c, Source: &Jobs{List: []Job{j}}, Model: newModel(t, "matching"), Actuator: Ideal, Costs: NoCosts()}))
		got := 0
		for level, n := range r.Maps {
			got += weights[level] * int(n)
		}
		best, order := 0, []int{0, 1, 2, 3, 4}
		var permute func(k int)
		permute = func(k int) {
			if k == maps {
				sum := 0
				for m, n := range order {
					replica := int(j.Replicas.Nodes[m])
					switch {
					case len(of(&j.Cached, int32(m))) > 0 && replica == n:
						sum += weights[state.LevelCache]
					case replica == n:
						sum += weights[state.LevelNode]
					case replica%2 == n%2:
						sum += weights[state.LevelRack]
					default:
						sum += weights[state.LevelOff]
					}
				}
				best = max(best, sum)
				return
			}
			for i := k; i < maps; i++ {
				order[k], order[i] = order[i], order[k]
				permute(k + 1)
				order[k], order[i] = order[i], order[k]
			}
		}
		permute(0)
		if got != best {
			t.Errorf("seed %d: weight %d, the best placement has %d (%v)", seed, got, best, r.Maps)
		}
	}
}

// Tasks that share a core, however many there are, stay 1/(1-rho) times as long as they
// compute, whether they are all alike or differ (M/G/1 with processor sharing). The same
// holds for maps that share a disk.
func TestSharingIsFair(t *testing.T) {
	const mean, rho = 4000.0, 0.6
	for _, c := range []struct {
		name    string
		service func(draw.Key) float64
	}{
		{"alike", func(draw.Key) float64 { return mean }},
		{"exponential", func(k draw.Key) float64 { return exponential(k, mean) }},
	} {
		for _, disk := range []bool{false, true} {
			source := &sharing{poisson: poisson{left: 20_000, key: draw.Stream(11, c.name), gap: mean / rho, service: c.service}, disk: disk}
			cluster := slots(1, 200)
			if disk {
				cluster.Nodes[0].DiskBytesPerSec = 1e6
			} else {
				cluster.Nodes[0].Cores = 1
			}
			r := must(Run(&Config{Cluster: cluster, Source: source, Model: newModel(t, "fifo"), Actuator: Ideal, Costs: NoCosts()}))
			stay := 0.0
			for _, j := range r.Jobs {
				stay += float64(j.EndMs-j.StartMs) / float64(len(r.Jobs))
			}
			if want := source.totalTime / float64(len(r.Jobs)) / (1 - rho); math.Abs(stay/want-1) > 0.06 {
				t.Errorf("%s, disk %t: tasks stay %.0f ms in the mean, theory says %.0f", c.name, disk, stay, want)
			}
		}
	}
}

// sharing is poisson's jobs, which compute or read instead of taking a fixed time.
type sharing struct {
	poisson
	disk bool
}

func (p *sharing) Next(j *Job) bool {
	if !p.poisson.Next(j) {
		return false
	}
	ms := j.MapWork[0].FixedMs
	j.MapWork[0] = Work{ComputeMs: ms}
	if p.disk {
		j.MapWork[0] = Work{InputBytes: int64(ms) * 1000}
		j.Replicas.Add(0)
	}
	return true
}
