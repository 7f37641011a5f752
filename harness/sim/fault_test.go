package sim

import (
	"fmt"
	"math"
	"testing"
)

// ends are the attempts of a run, as "m0.1 n1 killed 0-4000": task, attempt, node,
// outcome, start and end in ms.
func ends(t *testing.T, c *Config) ([]string, *Result) {
	t.Helper()
	list := []string{}
	c.Ended = func(e AttemptEnd) {
		start := e.StartMs
		if !e.Launched {
			start = -1
		}
		list = append(list, fmt.Sprintf("%v n%d %v %d-%d", e.Kind, e.Node, e.Outcome, start, e.EndMs))
	}
	r := must(Run(c))
	return list, r
}

func sum(list []int64) (all int64) {
	for _, x := range list {
		all += x
	}
	return all
}

func expect(t *testing.T, name string, got []string, want ...string) {
	t.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%s: attempts\n%q, want\n%q", name, got, want)
	}
}

// TestFailingAttempts has each attempt fail by chance: as often as is said, and a job
// end as failed with the fourth failure of one task, no sooner.
func TestFailingAttempts(t *testing.T) {
	c := &Config{
		Cluster: slots(1, 1), Source: &Jobs{List: []Job{simpleJob("a", 0, 3, 0, Work{FixedMs: 1000})}}, Costs: NoCosts(),
		Actuator: Ideal, Faults: []Fault{{What: AttemptsFail, Share: 1}},
	}
	_, r := ends(t, c)
	if !r.Jobs[0].Failed || r.Attempts.Succeeded > 0 || r.Attempts.Failed < 4 || r.Attempts.Failed > 3*4-2 {
		t.Errorf("all attempts fail: %+v, job failed %t; want it failed by one task's four failures", r.Attempts, r.Jobs[0].Failed)
	}
	const maps, share = 3000, 0.05
	c.Cluster, c.Faults[0].Share = slots(10, 4), share
	for seed := range uint64(3) {
		c.Seed, c.Source = seed, &Jobs{List: []Job{simpleJob("a", 0, maps, 0, Work{FixedMs: 1000})}}
		_, r := ends(t, c)
		tries := float64(r.Attempts.Succeeded + r.Attempts.Failed + r.Attempts.Killed)
		if r.Jobs[0].Failed {
			continue // a task fails four times in a row, in one of fifty runs
		}
		if got := float64(r.Attempts.Failed) / tries; math.Abs(got-share) > 4*math.Sqrt(share*(1-share)/tries) {
			t.Errorf("seed %d: %.4f of %.0f attempts fail, want %v", seed, got, tries, share)
		}
		if r.Attempts.Succeeded != maps || r.Attempts.Reruns != r.Attempts.Failed {
			t.Errorf("seed %d: %+v; want each map to succeed once, and each failure to be run again", seed, r.Attempts)
		}
	}
}

// TestSpeculation has one of twenty maps on a node of a twentieth of the speed, where it takes
// 200 s. Hadoop's rule finds it once it has run for longer than the others took, LATE's
// after a minute; the copy then takes 10 s, and the slow attempt is killed.
func TestSpeculation(t *testing.T) {
	for rule, want := range map[Speculation][2]int64{
		NoSpeculation: {200_000, 200_010}, HadoopSpeculation: {20_000, 23_000},
		LATE: {70_000, 73_000},
	} {
		cluster := slots(20, 1)
		cluster.Nodes[7].Speed = 0.05
		j := simpleJob("a", 0, 20, 0, Work{InputBytes: 5, ComputeMs: 10_000})
		got, r := ends(t, &Config{
			Cluster: cluster, Source: &Jobs{List: []Job{j}}, Costs: NoCosts(), Actuator: Ideal, Model: newModel(t, "fifo"),
			Speculation: rule,
		})
		if r.MakespanMs < want[0] || r.MakespanMs > want[1] {
			t.Errorf("rule %d: %d ms, want %v", rule, r.MakespanMs, want)
		}
		copies := int64(min(rule, 1))
		if r.Attempts != (Attempts{Succeeded: 20, Killed: copies, Speculative: copies}) || len(got) != 20+int(copies) {
			t.Errorf("rule %d: %+v in %q, want %d copies", rule, r.Attempts, got, copies)
		}
		if read := sum(r.Bytes.Read[:]); read != 100 {
			t.Errorf("rule %d: %d bytes read, want the 100 of the job: a copy that is killed counts for nothing", rule, read)
		}
	}
}
