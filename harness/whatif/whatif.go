// Package whatif says what another configuration of YARN's queues changes for the jobs of a
// trace: replays under the old and the new file, job by job, by queue and by user, with
// intervals over blocks of time, since waits of one hour depend on each other. What the trace
// does not hold of its cluster stands before the result, and decides what is called shown.
package whatif

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"heddle/harness/compare"
	"heddle/harness/measure"
	"heddle/harness/queues"
	"heddle/harness/stats"
	"heddle/traces"
)

// Side is one of the two configurations, and what became of the jobs under it.
type Side struct {
	Name    string
	Figures []*measure.Figures // one of each seed, in the same order on both sides
	Queues  *queues.File
}

// Report is the answer. Its JSON keys are stable.
type Report struct {
	New      string `json:"queues"`
	Old      string `json:"against"`
	Headline string `json:"headline"`
	Jobs     int    `json:"jobs"`
	Seeds    int    `json:"seeds"`
	// Blocks of BlockHours each are what the intervals are computed from.
	Blocks     int     `json:"blocks"`
	BlockHours float64 `json:"blockHours"`
	LeftOut    LeftOut `json:"leftOut"`
	// Differs has the keys that the files have otherwise: name, old and new value.
	Differs [][3]string `json:"differs"`
	Groups  []*Group    `json:"groups"` // all jobs, then by queue and by user

	files [2]*queues.File
	ran   bool // it is known how the jobs ran
}

// Group is the jobs of a queue or a user.
type Group struct {
	By         string `json:"by,omitempty"`
	Name       string `json:"name,omitempty"`
	Jobs       int    `json:"jobs"`
	Spark      int    `json:"spark,omitempty"` // of Jobs, applications of Spark
	Old        Totals `json:"against"`
	New        Totals `json:"queues"`
	Waiting    Change `json:"waiting"`
	Completion Change `json:"completion"`
	Slowdown   Change `json:"slowdown"`

	// Refusals are why YARN refuses jobs under the new file, a few reasons.
	Refusals []string `json:"refusals,omitempty"`

	pairs []pair
	used  [2]float64 // MiB times ms
}

// mostRefusals is how many such reasons are kept.
const mostRefusals = 5

// Places of properties in the order of measure.JobProperties.
const (
	completion = iota
	waiting
	slowdown
)

// changes are the group's changes by property, in the order of measure.JobProperties.
func (g *Group) changes() [3]*Change {
	return [...]*Change{&g.Completion, &g.Waiting, &g.Slowdown}
}

// Totals count what became of the jobs of a group under one side, as the mean of the seeds.
type Totals struct {
	Refused      float64 `json:"refused"` // by YARN, at their submission
	NotSucceeded float64 `json:"notSucceeded"`
	Missed       float64 `json:"missed,omitempty"`
	Killed       float64 `json:"killedAttempts"`
	Preempted    float64 `json:"preempted,omitempty"`      // of Killed, those whose container YARN took for others
	LostHours    float64 `json:"preemptedHours,omitempty"` // container-hours of these
	UsedPct      float64 `json:"usedPct"`                  // of the memory of all nodes, from the first submission to the last end
}

// Change is how a property of the jobs of a group changes, of those that succeed under both and have, if they ran, as recorded.
type Change struct {
	Jobs    int    `json:"jobs"`
	Longer  int    `json:"longer"`  // jobs of which it grows by more than 1 s, or a tenth
	Shorter int    `json:"shorter"` // and falls so
	Parts   []Part `json:"parts"`
}

// Part is the mean or a percentile of a property: as recorded, under each side, and the
// difference.
type Part struct {
	Of       string         `json:"of"`
	Recorded compare.Number `json:"recorded"`
	Old      compare.Number `json:"old"`
	New      compare.Number `json:"new"`
	// CI95 is the interval of New - Old, and P its p-value, for all groups of a kind together.
	CI95 compare.Interval `json:"ci95"`
	P    compare.Number   `json:"p"`
	Says string           `json:"says"`

	test stats.Comparison
}

// counts are the counts, in the order of counted.
func (t *Totals) counts() [6]*float64 {
	return [...]*float64{&t.Refused, &t.NotSucceeded, &t.Missed, &t.Killed, &t.Preempted, &t.LostHours}
}

var counted = []string{"refused", "not succeeded", "missed limits", "killed attempts", "preempted", "container-hours lost"}

// difference returns the new value minus the old one.
func (p *Part) difference() float64 { return float64(p.New - p.Old) }

// percents are the percentiles of the parts behind the mean; percentile 50 is half of the jobs.
var percents = []int{50, 95, 99}

// beyond is how many jobs of a group have to be beyond a percentile for it to have an interval.
const beyond = 5

// shortRun is the least run time, in s, by which a slowdown is taken.
const shortRun = 10

// pair is a job as recorded and under both sides, in the order of measure.JobProperties; not a number: not known.
type pair struct {
	block         int
	was, old, new [3]float64
}

// New compares two sides, whose figures are of replays of one trace.
func New(old, new Side, recorded *measure.Figures, left LeftOut) (*Report, error) {
	r := &Report{
		Old: old.Name, New: new.Name, LeftOut: left, Seeds: len(old.Figures),
		files: [2]*queues.File{old.Queues, new.Queues}, ran: recorded != nil, Differs: old.Queues.Differs(new.Queues),
	}
	if len(old.Figures) == 0 || len(old.Figures) != len(new.Figures) {
		return nil, fmt.Errorf("compare queues: %d and %d replays, want as many of each", len(old.Figures), len(new.Figures))
	}
	for _, side := range []*Side{&old, &new} {
		for _, k := range side.Queues.Ignored(left.labelled()) {
			r.LeftOut.add("Not simulated, of %s: %v", side.Name, k)
		}
	}
	r.Jobs = len(old.Figures[0].JobList)
	var times []float64
	for _, j := range slices.Concat(old.Figures[0].JobList, new.Figures[0].JobList) {
		times = append(times, j.CompletionMs/1000)
	}
	var block func(*measure.Job) int
	r.BlockHours, r.Blocks, block = measure.Divide(old.Figures[0].JobList, times)
	was := map[traces.JobID][3]float64{}
	if r.ran {
		failed := 0
		for _, j := range recorded.JobList {
			if was[j.ID] = valuesOf(j); math.IsNaN(was[j.ID][completion]) {
				failed++
			}
		}
		if failed > 0 {
			r.LeftOut.add("Jobs that did not succeed when they ran: %d of %d; they are simulated, but not compared.", failed, r.Jobs)
		}
	}
	groups := map[[2]string]*Group{}
	of := func(j *measure.Job) (list []*Group) {
		for _, key := range [][2]string{{}, {measure.ByQueue, r.queue(j.Queue)}, {measure.ByUser, j.User}} {
			if groups[key] == nil {
				groups[key] = &Group{By: key[0], Name: key[1]}
				r.Groups = append(r.Groups, groups[key])
			}
			list = append(list, groups[key])
		}
		return list
	}
	for i := range old.Figures {
		a, b := old.Figures[i].JobList, new.Figures[i].JobList
		if !slices.EqualFunc(a, b, func(x, y *measure.Job) bool { return x.ID == y.ID }) || len(a) != r.Jobs {
			return nil, fmt.Errorf("compare queues: replays %d are of %d and %d jobs, want the same %d", i, len(a), len(b), r.Jobs)
		}
		for k := range a {
			p := pair{block(a[k]), was[a[k].ID], valuesOf(a[k]), valuesOf(b[k])}
			// Both by the same time, the mean of the run times: else a job that gets fewer containers was slowed down less.
			ran := max(shortRun, (p.old[completion]-p.old[waiting]+p.new[completion]-p.new[waiting])/2)
			p.old[slowdown], p.new[slowdown] = p.old[completion]/ran, p.new[completion]/ran
			for _, g := range of(a[k]) {
				g.add(p, a[k], b[k])
				if left.spark[a[k].ID] != nil {
					g.Spark++
				}
			}
		}
	}
	r.finish(old.Figures, new.Figures)
	if n := r.Groups[0].Old.Refused; n > float64(r.Jobs)/2 {
		return nil, fmt.Errorf("%s is not the file that these jobs ran under: with it, YARN refuses %.4g of %d jobs", r.Old, n, r.Jobs)
	}
	return r, nil
}

// queue returns the path of the queue that a job was submitted to, without the root. A name
// that neither file knows stays.
func (r *Report) queue(name string) string {
	for _, f := range r.files {
		if q, err := f.Leaf(name); err == nil {
			name = q.Path
			break
		}
	}
	return strings.TrimPrefix(name, "root.")
}

func valuesOf(j *measure.Job) (values [3]float64) {
	for n, p := range measure.JobProperties() {
		if v, ok := p.Of(j); ok {
			values[n] = v
		} else {
			values[n] = math.NaN()
		}
	}
	return values
}

func (g *Group) add(p pair, a, b *measure.Job) {
	g.pairs = append(g.pairs, p)
	for i, j := range []*measure.Job{a, b} {
		t := []*Totals{&g.Old, &g.New}[i]
		g.used[i] += float64(j.UsedMiBMs)
		t.Killed += float64(j.Attempts.Killed)
		t.Preempted += float64(j.Preempted)
		t.LostHours += j.PreemptedMs / 3_600_000
		if why := j.Diagnostics(); why != "" {
			t.Refused++
			if i == 1 && !slices.Contains(g.Refusals, why) && len(g.Refusals) < mostRefusals {
				g.Refusals = append(g.Refusals, why)
			}
		}
		if j.Outcome != traces.Succeeded {
			t.NotSucceeded++
		}
		if j.DeadlineMs > 0 && (j.Outcome != traces.Succeeded || j.CompletionMs > float64(j.DeadlineMs)) {
			t.Missed++
		}
	}
}

// finish computes the figures of all groups.
func (r *Report) finish(old, new []*measure.Figures) {
	whole := [2]float64{}
	for i, list := range [][]*measure.Figures{old, new} {
		for _, f := range list {
			used := 0.0
			for _, j := range f.JobList {
				used += float64(j.UsedMiBMs)
			}
			whole[i] += used / (f.UtilisationPct / 100)
		}
	}
	slices.SortFunc(r.Groups, func(a, b *Group) int { // "", queue, user
		return cmp.Or(cmp.Compare(a.By, b.By), cmp.Compare(a.Name, b.Name))
	})
	r.Groups = slices.DeleteFunc(r.Groups, func(g *Group) bool { return len(g.pairs) == 0 })
	for _, g := range r.Groups {
		g.Jobs, g.Spark = len(g.pairs)/r.Seeds, g.Spark/r.Seeds
		for i, t := range []*Totals{&g.Old, &g.New} {
			for _, v := range t.counts() {
				*v /= float64(r.Seeds)
			}
			if t.UsedPct = 100 * g.used[i] / whole[i]; !(t.UsedPct >= 0) {
				t.UsedPct = 0
			}
		}
		for n, c := range g.changes() {
			*c = r.change(g, n)
		}
	}
	for _, by := range []string{"", measure.ByQueue, measure.ByUser} {
		r.judge(r.of(by))
	}
	r.Headline = r.headline()
}

// judge says what can be told of the differences of groups that are looked at together.
func (r *Report) judge(list []*Group) {
	for n := range measure.JobProperties() {
		for part := range len(percents) + 1 {
			var tests []stats.Comparison
			for _, g := range list {
				tests = append(tests, g.changes()[n].Parts[part].test)
			}
			for i, t := range stats.Together(tests) {
				p := &list[i].changes()[n].Parts[part]
				p.CI95, p.P = compare.Interval{t.Lo, t.Hi}, compare.Number(t.P)
				as := compare.Pair{DiffPct: compare.Number(p.difference()), CI95Pct: p.CI95, P: p.P, Runs: t.N}
				if p.Says = as.Says(); !r.LeftOut.Known() && (p.Says == compare.Shown || p.Says == compare.JustShown) {
					p.Says = InHistories
				}
			}
		}
	}
}

// InHistories is said of a difference that chance does not explain, if too much of what the
// cluster ran is not known.
const InHistories = "in these histories alone"
