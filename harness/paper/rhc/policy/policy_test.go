package policy

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"heddle/traces/errtest"
)

func near(t *testing.T, what string, got, want, within float64) {
	t.Helper()
	if !(math.Abs(got-want) <= within) {
		t.Errorf("%s is %.12g, want %.12g", what, got, want)
	}
}

func nearAll(t *testing.T, what string, got, want []float64) {
	t.Helper()
	for i := range max(len(got), len(want)) {
		x, y := 0.0, 0.0 // beyond the end thresholds are 0
		if i < len(got) {
			x = got[i]
		}
		if i < len(want) {
			y = want[i]
		}
		near(t, fmt.Sprintf("%s, slot %d", what, i+1), x, y, 1e-9)
	}
}

// TestStays has the probability that a job is still there, from loads: rho/(1+rho).
func TestStays(t *testing.T) {
	for _, c := range []struct {
		present []int // their mean is rho/(1-rho)
		want    float64
	}{
		{[]int{0}, 0},                      // the first job
		{[]int{0, 0, 0, 1}, 1.0 / 6},       // rho 1/5
		{[]int{0, 2, 0}, 2.0 / 7},          // rho 2/5
		{[]int{1}, 1.0 / 3},                // rho 1/2
		{[]int{3, 0}, 3.0 / 8},             // rho 3/5
		{[]int{9, 9}, 9.0 / 19},            // rho 9/10
		{[]int{50, 50, 1, 1}, 51.0 / 104},  // 25.5 jobs
		{[]int{1000, 1000}, 1000.0 / 2001}, // never 1/2
	} {
		p := &RHC{}
		for _, n := range c.present {
			p.Arrive(&Job{Data: 1, Reduces: 1, Present: n})
		}
		near(t, fmt.Sprint("met ", c.present), p.Stays(), c.want, 1e-12)
	}
}

// TestThresholds has thresholds that were worked out in fractions.
func TestThresholds(t *testing.T) {
	for _, c := range []struct {
		name    string
		law     Law
		printed bool
		want    [][]float64 // for 1, 2, … jobs that follow
	}{
		{
			"one task, 1 or 3",
			Law{Reduces: []float64{1}, Data: []Weighted{{3, 0.5}, {1, 0.5}}},
			false,
			[][]float64{{2}, {2.5, 1.5}, {2.75, 2, 1.25}},
		},
		{"one task, 1 to 100", Law{Reduces: []float64{1}, Data: Uniform(1, 100)}, false, [][]float64{
			{50.5}, {63, 38}, {70.03, 50.5, 30.97}, {74.6709, 58.3591, 42.6409, 26.3291},
		}},
		{"1 or 2 tasks, 2 or 4", Law{Reduces: []float64{0.5, 0.5}, Data: []Weighted{{2, 0.5}, {4, 0.5}}}, false, [][]float64{
			{9.0 / 4, 3.0 / 4}, {43.0 / 16, 29.0 / 16, 9.0 / 8, 3.0 / 8},
		}},
		{"1 or 2 tasks, 2 or 4, as printed", Law{Reduces: []float64{0.5, 0.5}, Data: []Weighted{{2, 0.5}, {4, 0.5}}}, true, [][]float64{
			{9.0 / 4, 9.0 / 8}, {43.0 / 16, 33.0 / 16, 93.0 / 64, 35.0 / 64},
		}},
	} {
		got := Thresholds(&c.law, len(c.want)+1, c.printed)
		nearAll(t, c.name+", no job follows", got[0], nil)
		for n, want := range c.want {
			if c.name == "one task, 1 to 100" && n == 3 { // the specification has three decimals
				for i := range want {
					near(t, fmt.Sprintf("%s, slot %d of 4", c.name, i+1), got[n+1][i], want[i], 5e-4)
				}
				continue
			}
			nearAll(t, fmt.Sprintf("%s, %d jobs follow", c.name, n+1), got[n+1], want)
		}
	}
}

// TestNext holds the law of section V-B: E[X/R] is 50.5 times the tenth harmonic number
// over 10, and thresholds of the five loads follow from it.
func TestNext(t *testing.T) {
	law := Law{Reduces: slices.Repeat([]float64{0.1}, 10), Data: Uniform(1, 100)}
	next := law.Next()
	harmonic := 0.0
	for r := 1.0; r <= 10; r++ {
		harmonic += 1 / r
	}
	near(t, "E[X/R]", next[0], 50.5*harmonic/10, 1e-12)
	near(t, "E[X/R]", next[0], 14.791289682539682, 1e-12)
	near(t, "the tenth slot", next[9], 0.1*5.05, 1e-12)
	for i, want := range []float64{2.4652, 3.4134, 4.2261, 4.9304, 5.5467} {
		rho := 0.2 + float64(i)/10
		near(t, fmt.Sprint("threshold at ", rho), rho/(1+rho)*next[0], want, 5e-5)
	}
	nearAll(t, "one job that follows", Thresholds(&law, 2, false)[1], next)
}

// TestPlace has ranks that were worked out by hand.
func TestPlace(t *testing.T) {
	met := func(p Policy, jobs ...Job) Policy {
		for i := range jobs {
			p.Arrive(&jobs[i])
		}
		return p
	}
	// Two jobs that others have met, 3 in all, with 24.79 and 4.79 a task.
	window := []Job{{Data: 24.79, Reduces: 1, Present: 3}, {Data: 9.58, Reduces: 2, Present: 0}}
	for _, c := range []struct {
		name string
		p    Policy
		job  Job
		free int
		want []int
	}{
		{"greedy", Greedy{}, Job{Data: 1, Reduces: 3}, 9, []int{0, 1, 2}},
		{"5 a task is below 3/8 of 14.79", met(&RHC{}, window...), Job{Data: 10, Reduces: 2}, 6, []int{2, 3}},
		{"6 a task is not", met(&RHC{}, window...), Job{Data: 12, Reduces: 2}, 6, []int{0, 1}},
		{"too few free to defer", met(&RHC{}, window...), Job{Data: 10, Reduces: 2}, 3, []int{0, 1}},
		{"just enough free", met(&RHC{}, window...), Job{Data: 10, Reduces: 2}, 4, []int{2, 3}},
		{"the first job", met(&RHC{}, Job{Data: 10, Reduces: 2}), Job{Data: 10, Reduces: 2}, 9, []int{0, 1}},
		{"equals the threshold", met(&RHC{Fixed: 0.5, Mean: 10}, window...), Job{Data: 10, Reduces: 2}, 9, []int{0, 1}},
		// 10.5 < 3/7 * 24.79 = 10.62
		{"a window of one", met(&RHC{Window: 1}, window[1], window[0]), Job{Data: 21, Reduces: 2}, 9, []int{2, 3}},
		// 4.5 is below 7 and not below 4.5
		{"the law of R", met(&RHC{Fixed: 0.5, Next: []float64{14, 9, 8}}, window...), Job{Data: 9, Reduces: 2}, 9, []int{1, 2}},
		// by 4.79 of the job before, not below .9 of 4.79
		{"blind", met(&RHC{Blind: rand.New(rand.NewPCG(1, 1)), Fixed: 0.9}, window[1]), Job{Data: 1, Reduces: 2}, 9, []int{0, 1}},
	} {
		if got := c.p.Place(&c.job, c.free, nil); !slices.Equal(got, c.want) {
			t.Errorf("%s: ranks %v, want %v", c.name, got, c.want)
		}
	}
}

// TestRandomIsUniform has each set of two of four slots equally often, in each order.
func TestRandomIsUniform(t *testing.T) {
	p, count := Random{rand.New(rand.NewPCG(20, 26))}, map[string]int{}
	const times = 24_000
	for range times {
		count[fmt.Sprint(p.Place(&Job{Reduces: 2}, 4, nil))]++
	}
	for a := range 4 {
		for b := range 4 {
			// Each of 12 orders 2,000 times, with a deviation of 43.
			if n := count[fmt.Sprint([]int{a, b})]; a != b && (n < 1800 || n > 2200) || a == b && n > 0 {
				t.Errorf("slots %d and %d: %d times of %d", a, b, n, times)
			}
		}
	}
}

// expected returns the expected cost of jobs that never leave, placed one after the other
// on slots with the given costs: of a policy, or the least over all sets of slots if that
// is nil. It tries all sizes and numbers of tasks.
func expected(l *Law, costs []float64, jobs int, place func(j *Job, left, free int) []int) float64 {
	if jobs == 0 {
		return 0
	}
	mean := 0.0
	for i, p := range l.Reduces {
		for _, x := range l.Data {
			j := Job{Data: x.Value, Reduces: i + 1}
			if l.PerReduce {
				j.Data *= float64(j.Reduces)
			}
			least := math.Inf(1)
			sets := subsets(len(costs), j.Reduces)
			if place != nil {
				sets = [][]int{place(&j, jobs-1, len(costs))}
			}
			for _, set := range sets {
				cost, rest := 0.0, []float64{}
				for k, c := range costs {
					if slices.Contains(set, k) {
						cost += c * j.Each()
					} else {
						rest = append(rest, c)
					}
				}
				least = min(least, cost+expected(l, rest, jobs-1, place))
			}
			mean += p * x.P * least
		}
	}
	return mean
}

func subsets(n, size int) (list [][]int) {
	if size == 0 {
		return [][]int{nil}
	}
	for last := size - 1; last < n; last++ {
		for _, s := range subsets(last, size-1) {
			list = append(list, append(slices.Clone(s), last))
		}
	}
	return list
}

// TestTwoJobs has two jobs of two tasks for sure, on slots of cost 1, 2, 4, 8: below 3 the
// first goes to the dear ones. All sets of slots were tried.
func TestTwoJobs(t *testing.T) {
	second := Law{Reduces: []float64{0, 1}, Data: []Weighted{{3, 1}}}
	for _, c := range []struct {
		data, cost float64
		skip       int
	}{{1, 10.5, 2}, {2, 16.5, 2}, {2.9, 21.9, 2}, {3, 22.5, 0}, {3.1, 22.65, 0}, {4, 24, 0}} {
		first := Law{Reduces: []float64{0, 1}, Data: []Weighted{{c.data, 1}}}
		least := math.Inf(1)
		costs := []float64{1, 2, 4, 8}
		for _, set := range subsets(4, 2) {
			rest := []float64{}
			cost := 0.0
			for k, x := range costs {
				if slices.Contains(set, k) {
					cost += x * first.Each(2) * 1
				} else {
					rest = append(rest, x)
				}
			}
			least = min(least, cost+expected(&second, rest, 1, nil))
		}
		near(t, fmt.Sprintf("first job of %g", c.data), least, c.cost, 1e-9)
		p := errtest.Must(NewOptimal(&second, 2, false))
		j := Job{Data: c.data, Reduces: 2}
		p.Arrive(&j)
		rhc := &RHC{Fixed: 1, Mean: 1.5}
		rhc.Arrive(&j)
		for name, p := range map[string]Policy{"optimal": p, "rhc": rhc} {
			if got := p.Place(&j, 4, nil); got[0] != c.skip {
				t.Errorf("%s, first job of %g: ranks %v, want %d slots left alone", name, c.data, got, c.skip)
			}
		}
	}
}

// TestOptimalIsBest holds the thresholds against all sets of slots, for small laws and
// costs: the policy's expected cost is the least, and it is what thresholds say it is.
func TestOptimalIsBest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := Law{
			PerReduce: rapid.Bool().Draw(t, "perReduce"), Reduces: []float64{1},
			Data: []Weighted{{float64(rapid.IntRange(1, 9).Draw(t, "small")), 0.25}, {float64(rapid.IntRange(1, 30).Draw(t, "large")), 0.75}},
		}
		if rapid.Bool().Draw(t, "two") {
			l.Reduces = []float64{0.4, 0.6}
		}
		jobs := rapid.IntRange(1, 3).Draw(t, "jobs")
		var costs []float64
		for _, c := range rapid.SliceOfN(rapid.IntRange(1, 20), jobs*len(l.Reduces), 6).Draw(t, "costs") {
			costs = append(costs, float64(c))
		}
		slices.Sort(costs)
		place := func(j *Job, left, free int) []int {
			p := errtest.Must(NewOptimal(&l, left+1, false))
			p.Arrive(j)
			return p.Place(j, free, nil)
		}
		best, got := expected(&l, costs, jobs, nil), expected(&l, costs, jobs, place)
		if math.Abs(got-best) > 1e-9*best {
			t.Fatalf("optimal costs %g, the best sets %g", got, best)
		}
		// The thresholds with one more job are the expected data on each slot.
		says := 0.0
		for i, q := range Thresholds(&l, jobs+1, false)[jobs] {
			says += q * costs[min(i, len(costs)-1)]
			if i >= len(costs) && q > 0 {
				t.Fatalf("data on slot %d of %d", i+1, len(costs))
			}
		}
		if math.Abs(says-best) > 1e-9*best {
			t.Fatalf("thresholds say %g, the best sets cost %g", says, best)
		}
	})
}

// TestThresholdsAddUp has the thresholds fall with the slot, and add up to the data of the jobs
// that follow. As printed they do not.
func TestThresholdsAddUp(t *testing.T) {
	law := Law{Reduces: slices.Repeat([]float64{0.1}, 10), Data: Uniform(1, 100)}
	for n, q := range Thresholds(&law, 30, false) {
		sum := 0.0
		for i, x := range q {
			sum += x
			if i > 0 && x > q[i-1]+1e-9 {
				t.Fatalf("%d jobs follow: slot %d has %g, more than the one before", n, i+1, x)
			}
		}
		near(t, fmt.Sprintf("the data of %d jobs", n), sum, 50.5*float64(n), 1e-9*50.5*float64(n)+1e-12)
	}
	printed := 0.0
	for _, x := range Thresholds(&Law{Reduces: []float64{0.5, 0.5}, Data: []Weighted{{2, 0.5}, {4, 0.5}}}, 3, true)[2] {
		printed += x
	}
	near(t, "two jobs of mean 3, as printed", printed, 27.0/4, 1e-9)
	if _, err := NewOptimal(&law, 0, false); err == nil {
		t.Error("no jobs: no error")
	}
	if _, err := NewOptimal(&law, 1_000_000, false); err == nil {
		t.Error("a million jobs: no error")
	}
}
