package model

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// threeJobs is the worked example: goals 7, 15 and 20, work 14, 28 and 30.
func threeJobs() []Demand {
	return []Demand{{Goal: 7, work: 14}, {Goal: 15, work: 28}, {Goal: 20, work: 30}}
}

func near(a, b float64) bool { return math.Abs(a-b) < 1e-9*(1+math.Abs(a)) }

// TestWorkedExamples has needs as fractions, worked out by hand: with 4 slots
// always, (15,20) takes 20 of job 3, and (7,15) 10 of job 3 and 22 of job 2. With 1
// slot in [15,20), job 3 gets 5 there, and jobs 2 and 3 share 32 slot-seconds.
func TestWorkedExamples(t *testing.T) {
	four := func(a, b float64) float64 { return 4 * (b - a) }
	dip := &forecast{starts: []float64{0, 15}, slots: []float64{4, 1}, sums: []float64{0, 60}}
	for _, c := range []struct {
		name   string
		avail  func(a, b float64) float64
		latest bool
		want   []float64
	}{
		{"4 slots, alike", four, false, []float64{2, 6.0 / 7, 0}},
		{"4 slots, latest first", four, true, []float64{2, 6.0 / 7, 0}},
		{"dip, alike", dip.avail, false, []float64{2, 12.0 / 7, 9.0 / 7}},
		{"dip, latest first", dip.avail, true, []float64{2, 3, 0}},
	} {
		jobs, w := threeJobs(), walker{latestFirst: c.latest}
		w.walk(jobs, 0, 10, c.avail)
		for i := range jobs {
			if !near(jobs[i].need, c.want[i]) {
				t.Errorf("%s: job %d needs %v slots, want %v", c.name, i+1, jobs[i].need, c.want[i])
			}
		}
	}
	jobs := threeJobs()
	required(jobs, 0)
	for i, want := range []float64{2, 28.0 / 15, 1.5} {
		if !near(jobs[i].need, want) {
			t.Errorf("without look-ahead job %d needs %v slots, want %v", i+1, jobs[i].need, want)
		}
	}
}

// TestGoalsPast has jobs past their goal, and one without a goal.
func TestGoalsPast(t *testing.T) {
	jobs := []Demand{{Goal: 3, work: 40, pending: 7}, {Goal: math.Inf(1), work: 50}, {Goal: 25, work: 30}}
	required(jobs, 5)
	if jobs[0].need != 7 || jobs[1].need != 0 || jobs[2].need != 1.5 {
		t.Errorf("needs %+v, want all 7 tasks, none, and 30 / 20", jobs)
	}
	(&walker{}).walk(jobs, 5, 10, func(a, b float64) float64 { return 2 * (b - a) })
	// The goal past is at 15 now. (15,25) has room for 20 of the third job's 30; the
	// other 10 are done, with the 40, from 5 to 15.
	if !near(jobs[0].need, 4) || jobs[1].need != 0 || !near(jobs[2].need, 1) {
		t.Errorf("needs %+v, want 4, 0 and 1", jobs)
	}
	one := []Demand{{Goal: 100, work: 300}}
	w := walker{nextCycle: true}
	w.walk(one, 0, 10, func(a, b float64) float64 { return 3 * (b - a) })
	if !near(one[0].need, 3) { // 270 fit after 10 s
		t.Errorf("as late as possible the job needs %v slots, want 30 slot-seconds in 10 s", one[0].need)
	}
	scaled(one, 0, &forecast{starts: []float64{0, 50}, slots: []float64{4, 2}, sums: []float64{0, 200}})
	if !near(one[0].need, 4) { // 3 slots of a mean of 3, and there are 4 now
		t.Errorf("with the forecast the job needs %v slots, want 4", one[0].need)
	}
}

// plainWalk is the walk as the paper has it, without any data structure: each
// period's room is poured over the jobs until it is gone.
func plainWalk(jobs []Demand, now float64, latest bool, avail func(a, b float64) float64) (needs []float64) {
	var goals []float64
	left := make([]float64, len(jobs))
	for i, j := range jobs {
		if left[i] = j.work; !slices.Contains(goals, j.Goal) && !math.IsInf(j.Goal, 1) {
			goals = append(goals, j.Goal)
		}
	}
	slices.Sort(goals)
	for k := len(goals) - 1; k >= 1; k-- {
		room := avail(goals[k-1], goals[k])
		for room > 1e-12 {
			var act []int
			for i, j := range jobs {
				if j.Goal >= goals[k] && !math.IsInf(j.Goal, 1) && left[i] > 1e-12 {
					act = append(act, i)
				}
			}
			if len(act) == 0 {
				break
			}
			if latest {
				slices.SortFunc(act, func(a, b int) int {
					if jobs[a].Goal != jobs[b].Goal {
						return int(math.Copysign(1, jobs[b].Goal-jobs[a].Goal))
					}
					return a - b
				})
				act = act[:1]
			}
			each := room / float64(len(act))
			for _, i := range act {
				each = min(each, left[i])
			}
			for _, i := range act {
				left[i], room = left[i]-each, room-each
			}
		}
	}
	for i, j := range jobs {
		need := 0.0
		if !math.IsInf(j.Goal, 1) {
			need = left[i] / (goals[0] - now)
		}
		needs = append(needs, need)
	}
	return needs
}

// TestWalk holds the walk, for random jobs and slots, against the plain one.
func TestWalk(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := &forecast{sums: []float64{0}}
		for i := range rapid.IntRange(1, 6).Draw(t, "steps") {
			f.starts = append(f.starts, float64(10*i))
			f.slots = append(f.slots, float64(rapid.IntRange(0, 5).Draw(t, "slots")))
			if i > 0 {
				f.sums = append(f.sums, f.sums[i-1]+10*f.slots[i-1])
			}
		}
		now := float64(rapid.IntRange(0, 20).Draw(t, "now"))
		var jobs []Demand
		first := math.Inf(1)
		for range rapid.IntRange(1, 8).Draw(t, "jobs") {
			j := Demand{Goal: now + float64(rapid.IntRange(1, 60).Draw(t, "goal")), work: float64(rapid.IntRange(1, 90).Draw(t, "work"))}
			if rapid.IntRange(0, 5).Draw(t, "free") == 0 {
				j.Goal = math.Inf(1)
			} else {
				first = min(first, j.Goal)
			}
			jobs = append(jobs, j)
		}
		if math.IsInf(first, 1) {
			return
		}
		for _, latest := range []bool{false, true} {
			want, got := plainWalk(jobs, now, latest, f.avail), slices.Clone(jobs)
			(&walker{latestFirst: latest}).walk(got, now, 10, f.avail)
			for i := range got {
				if math.Abs(got[i].need-want[i]) > 1e-6 {
					t.Fatalf("latest first %v: job %d of %+v needs %v, want %v", latest, i, jobs, got[i].need, want[i])
				}
			}
		}
	})
}

// TestForecast has a timetable that begins again: 4 slots for 10 s, then 1 for 5 s.
func TestForecast(t *testing.T) {
	f := &forecast{starts: []float64{0, 10}, slots: []float64{4, 1}, sums: []float64{0, 40}, period: 15, whole: 45}
	for _, c := range []struct{ a, b, want float64 }{{0, 10, 40}, {0, 15, 45}, {12, 17, 3 + 8}, {0, 150, 450}, {30, 45, 45}, {3, 3, 0}} {
		if got := f.avail(c.a, c.b); !near(got, c.want) {
			t.Errorf("from %v to %v s: %v slot-seconds, want %v", c.a, c.b, got, c.want)
		}
	}
	if f.at(9.9) != 4 || f.at(10) != 1 || f.at(15) != 4 || f.mean(0) != 3 || constant(7).mean(99) != 7 {
		t.Errorf("slots %v, %v, %v and mean %v, want 4, 1, 4 and 3", f.at(9.9), f.at(10), f.at(15), f.mean(0))
	}
	if f.from = 2; f.at(11) != 4 || f.at(12) != 1 {
		t.Error("a forecast that begins at 2 s shows the fall of 10 s at another time than 12 s")
	}
}

// TestUtility has the worked examples: a need of 4 slots of 20 pending tasks, and 8
// reduces.
func TestUtility(t *testing.T) {
	for _, c := range []struct{ alloc, fit, pending, want float64 }{
		{1, 4, 20, -1},
		{2, 4, 20, -0.5},
		{4, 4, 20, 0},
		{8, 4, 20, 0.25},
		{20, 4, 20, 1},
		{0, 4, 20, math.Inf(-1)},
		{0, 0.5, 20, math.Inf(-1)},
		{1, 6.0 / 7, 28, (1 - 6.0/7) / (28 - 6.0/7)},
		{5, 0, 20, 0.25},
		{0, 0, 20, 0},
		{3, 3, 3, 1},
	} {
		if got := utility(c.alloc, c.fit, c.pending); got != c.want && !near(got, c.want) {
			t.Errorf("utility of %v slots of %v needed, %v pending: %v, want %v", c.alloc, c.fit, c.pending, got, c.want)
		}
	}
	for alloc, want := range map[float64]string{0: "-Inf", 1: "-1.0000", 2: "-0.6667", 4: "-0.3333"} {
		if got := fmt.Sprintf("%.4f", utility(alloc, 8, 8)); got != want {
			t.Errorf("utility of %v of 8 reduces: %s, want %s", alloc, got, want)
		}
	}
}

// TestDeal deals 4 slots in the first worked example: two to job 1, one to job 2,
// and the last, with jobs 1 and 3 at utility 0, to the one with the larger need.
func TestDeal(t *testing.T) {
	jobs := []Demand{{need: 2, pending: 14, age: 1}, {need: 6.0 / 7, pending: 28, age: 2}, {need: 0, pending: 30, age: 3}}
	deal(jobs, 4)
	if got := []float64{jobs[0].alloc, jobs[1].alloc, jobs[2].alloc}; !slices.Equal(got, []float64{3, 1, 0}) {
		t.Errorf("slots %v, want 3, 1, 0", got)
	}
	deal(jobs, -3) // more runs than there are slots
	few := []Demand{{need: 1, pending: 2}, {need: 5, pending: 1, alloc: 1}}
	deal(few, 9)
	if few[0].alloc != 2 || few[1].alloc != 1 || jobs[0].alloc != 3 {
		t.Errorf("slots %+v %+v, want no more than there are tasks", few[0], few[1])
	}
}

// TestRoom has what fits between two times on 4 slots, of maps of 60 s: in 170 s, two whole maps.
func TestRoom(t *testing.T) {
	m := &planner{lookout: lookout{firstMap: 60}, ahead: constant(4)}
	for tasks, want := range map[string]float64{"seconds": 680, "half": 560, "whole": 480} {
		m.tasks = tasks
		if got := m.room(10, 180); math.Abs(got-want) > 1e-9 {
			t.Errorf("%s: %g slot-seconds, want %g", tasks, got, want)
		}
	}
}

// TestHorizon plans the jobs of the next goal alone, and all work until the next goal.
func TestHorizon(t *testing.T) {
	for horizon, want := range map[string][3]float64{"next": {2, 0, 0}, "one": {2, 4, 30.0 / 7}} {
		jobs := []Demand{{Goal: 7, work: 14}, {Goal: 15, work: 28}, {Goal: 20, work: 30}}
		w := walker{horizon: horizon}
		w.walk(jobs, 0, 1, constant(4).avail)
		for i, x := range want {
			if math.Abs(jobs[i].need-x) > 1e-9 {
				t.Errorf("%s: job %d needs %g slots, want %g", horizon, i+1, jobs[i].need, x)
			}
		}
	}
}
