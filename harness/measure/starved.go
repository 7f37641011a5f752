package measure

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"heddle/harness/stats"
	"heddle/traces"
	"heddle/traces/printable"
)

// starved adds up the time in which reduces hold all slots while maps of their own jobs
// wait: no map runs, and no worker has room for one. The reduces need the output of these
// maps, so the jobs stand still until Hadoop kills reduces, at once or after 300 s.
type starved struct {
	since, sum    traces.Time
	jobs          int   // jobs whose reduces run, and whose maps wait and do not run
	maps          int   // maps that run, of any job
	running, peak int   // attempts that run, and the most of them so far
	needMiB       int64 // of a map of the last job that starved; 0: it is not known
}

// turn is what a job still has to run.
type turn struct {
	mapsLeft, maps, reduces int             // maps that have not succeeded; maps and reduces that run
	doneOn                  map[*Node]int32 // maps whose output is on a node
	waits                   bool            // it is counted in starved.jobs
}

// starvedUpTo adds the time up to t.
func (c *Collector) starvedUpTo(t traces.Time) {
	s := &c.starved
	if t > s.since && s.jobs > 0 && s.maps == 0 && c.full() {
		s.sum += t - s.since
	}
	s.since = max(s.since, t)
}

// full reports whether no worker has room for a map. If it is not known how much room there
// is, as many attempts as ever ran at once count as all that there is room for.
func (c *Collector) full() bool {
	workers := 0
	for _, n := range c.figures.Nodes {
		switch {
		case !n.worker || n.down:
			continue
		case c.starved.needMiB == 0 || n.mib == 0 && !c.offered.changed:
			return c.starved.running >= c.starved.peak
		case n.mib-n.usedMiB >= c.starved.needMiB:
			return false
		}
		workers++
	}
	return workers > 0 || c.starved.running >= c.starved.peak
}

// turned takes into account that more or fewer tasks of a job run or are left.
func (c *Collector) turned(j *Job, live *liveJob) {
	t, s := &live.turn, &c.starved
	waits := t.mapsLeft > 0 && t.maps == 0 && t.reduces > 0
	if waits && !t.waits {
		s.jobs, s.needMiB = s.jobs+1, j.containerBytes[traces.Map]>>20
	} else if t.waits && !waits {
		s.jobs--
	}
	t.waits = waits
}

// runs counts an attempt that starts (by is 1) or ends (-1) on a node.
func (c *Collector) runs(j *Job, live *liveJob, kind traces.TaskKind, n *Node, by int) {
	n.usedMiB += int64(by) * (j.containerBytes[kind&1] >> 20)
	s := &c.starved
	s.running += by
	s.peak = max(s.peak, s.running)
	if kind == traces.Map {
		s.maps, live.turn.maps = s.maps+by, live.turn.maps+by
	} else {
		live.turn.reduces += by
	}
	c.turned(j, live)
}

// mapDone counts a map whose output is now on a node.
func (c *Collector) mapDone(j *Job, live *liveJob, n *Node) {
	t := &live.turn
	if t.mapsLeft = max(0, t.mapsLeft-1); t.doneOn == nil {
		t.doneOn = map[*Node]int32{}
	}
	t.doneOn[n]++
	c.turned(j, live)
}

// lost takes the loss of a node into account: maps whose output was there run again.
func (c *Collector) lost(n *Node) {
	if n == nil {
		return
	}
	n.down = true
	for _, id := range slices.Sorted(maps.Keys(c.jobs)) { // in order, since the last one that starves says how large a map is
		if j := c.jobs[id]; j.live != nil && j.live.turn.doneOn[n] > 0 {
			j.live.turn.mapsLeft += int(j.live.turn.doneOn[n])
			delete(j.live.turn.doneOn, n)
			c.turned(j, j.live)
		}
	}
}

// mastered counts the room that a job's ApplicationMaster takes on a worker from now on.
func (c *Collector) mastered(j *Job, on traces.Node, bytes int64) {
	if j.masterOn != nil {
		j.masterOn.usedMiB -= j.masterMiB
	}
	if j.masterOn, j.masterMiB = c.nodes[on], bytes>>20; j.masterOn != nil {
		j.masterOn.usedMiB += j.masterMiB
	}
}

// StarvedText says in how many of some trials reduces held all slots for a hundredth of the
// makespan or more, how long in the median of these and in the worst, and what to change: of each model, if
// there are several, the one with the worst trial first. It is empty if that was so in none.
func StarvedText(trials ...*Figures) string {
	worst := func(a, b *Figures) int { return cmp.Compare(a.StarvedMs, b.StarvedMs) }
	of, lost := map[string]int{}, map[string][]*Figures{}
	for _, f := range trials {
		of[f.Model]++
		if f.StarvedMs >= 1000 && f.StarvedMs >= f.MakespanMs/100 {
			lost[f.Model] = append(lost[f.Model], f)
		}
	}
	if len(lost) == 0 {
		return ""
	}
	models := slices.Sorted(maps.Keys(lost))
	slices.SortStableFunc(models, func(a, b string) int { return worst(slices.MaxFunc(lost[b], worst), slices.MaxFunc(lost[a], worst)) })
	for i, m := range models {
		var waits, spans []float64
		for _, f := range lost[m] {
			waits, spans = append(waits, f.StarvedMs/1000), append(spans, f.MakespanMs/1000)
		}
		wait, span, most := stats.Quantile(waits, 0.5), stats.Quantile(spans, 0.5), slices.MaxFunc(lost[m], worst)
		text := fmt.Sprintf("for %.1f of %.1f s", wait, span)
		if len(trials) > 1 {
			text = fmt.Sprintf("in %d of %d trials, %s", len(waits), of[m], text)
		}
		if len(of) > 1 {
			text = "under " + m + " " + text
		}
		if most.StarvedMs > 2000*wait {
			text += fmt.Sprintf(" and at worst %.1f of %.1f s", most.StarvedMs/1000, most.MakespanMs/1000)
		}
		if wait > span/2 {
			text += " (what is measured is mostly this wait)"
		}
		models[i] = text
	}
	return "reduces held all slots while maps of their own jobs waited " + printable.First(3, models) +
		": give fewer reduces (key reduces, or maxTasks of a trace), the setting mapreduce.job.reduce.slowstart.completedmaps: 1, or more slots"
}
