package why_test

import (
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"heddle/harness/sim"
	"heddle/traces"
)

// This file counts by itself how often jobs were passed over, and holds that against what
// the sentences say of waits and of other jobs. It can do so exactly where the rule of the
// model needs nothing that events do not tell: jobs in the order of submission, with maps
// only, of which none fails.

// jobsInOrder are the jobs by priority, then in the order of submission.
func (w *world) jobsInOrder() (ids []traces.JobID) {
	for _, e := range w.events {
		if e, ok := e.(*traces.JobSubmitted); ok {
			ids = append(ids, e.Job)
		}
	}
	slices.SortStableFunc(ids, func(a, b traces.JobID) int { return int(w.jobs[b].Priority - w.jobs[a].Priority) })
	return ids
}

// waiting is how many maps of a job wait before the event at a place, if no map fails.
func (w *world) waiting(id traces.JobID, place int) int {
	if w.places == nil {
		w.places = map[traces.JobID][]int{}
		for i, e := range w.events {
			switch e := e.(type) {
			case *traces.JobStarted:
				asked := e.T // the request goes with the first heartbeat, one interval after the start
				if w.config.Actuator != sim.Ideal {
					asked += traces.Time(w.config.Costs.AMBeatMs) * 1e6
				}
				for i < len(w.events) && w.events[i].At() < asked {
					i++
				}
				w.places[e.Job] = append([]int{i}, w.places[e.Job]...)
			case *traces.Decision:
				w.places[e.Job] = append(w.places[e.Job], i)
			}
		}
	}
	before := 0 // its master's request, and decisions
	for _, i := range w.places[id] {
		if i < place {
			before++
		}
	}
	if before == 0 {
		return 0
	}
	return int(w.jobs[id].Maps) - (before - 1)
}

// fits says whether a node that has just reported can hold a container before the event at a
// place.
func (w *world) fits(n traces.Node, need room, place int, at traces.Time) bool {
	if w.views == nil {
		w.views = map[traces.Node][]step{}
	}
	if w.views[n] == nil {
		w.views[n] = w.view(n)
	}
	free := w.capacity(n)
	for _, s := range w.views[n] {
		if s.place >= 0 && s.place < place || s.place < 0 && s.t <= at {
			for k := range free {
				free[k] += s.by[k]
			}
		}
	}
	return free.holds(need)
}

// counted is how long a job has been passed over, and how far away it may run a map.
type counted struct {
	skips int
	level string // of its last map
}

// countSkips goes through all heartbeats. It returns, by the place of each decision, the counts
// of all jobs when it was made.
func (w *world) countSkips() map[int]map[traces.JobID]counted {
	if w.skips != nil {
		return w.skips
	}
	w.skips = map[int]map[traces.JobID]counted{}
	now := map[traces.JobID]counted{}
	order := w.jobsInOrder()
	// round is one question to the model, about node n, before the event at a place. It
	// chose the job, or none.
	round := func(n traces.Node, place int, at traces.Time, chosen traces.JobID) {
		before := map[traces.JobID]counted{}
		maps.Copy(before, now)
		w.skips[place] = before
		for _, id := range order {
			if id == chosen {
				break
			}
			if w.waiting(id, place) > 0 && w.fits(n, w.need(id, traces.Map), place, at) {
				now[id] = counted{now[id].skips + 1, now[id].level}
			}
		}
	}
	for i := 0; i < len(w.events); i++ {
		beat, ok := w.events[i].(*traces.Heartbeat)
		if !ok {
			continue
		}
		last := i + 1
		for k := i + 1; k < len(w.events); k++ {
			if w.events[k].Kind() == traces.KindHeartbeat {
				break
			}
			d, ok := w.events[k].(*traces.Decision)
			if !ok {
				continue
			}
			round(d.Node, k, d.T, d.Job)
			level := w.levelOn(d.Job, d.TaskIndex, d.Node)
			if x := now[d.Job]; w.model == "delay" || level == "cache-local" || level == "node-local" {
				now[d.Job] = counted{0, level}
			} else {
				now[d.Job] = counted{x.skips, level}
			}
			last = k + 1
		}
		slot := room{1, 1, 1, 0}
		if w.fits(beat.Node, slot, last, beat.T) || w.fits(beat.Node, room{1, 1, 0, 1}, last, beat.T) {
			kept := w.skips[last]
			round(beat.Node, last, beat.T, "")
			if w.skips[last] = kept; kept == nil {
				delete(w.skips, last)
			}
		}
	}
	return w.skips
}

// levelOn is how near a node is to a map's input.
func (w *world) levelOn(id traces.JobID, i int32, n traces.Node) string {
	j := w.jobs[id]
	stored := w.names(hostsOf(&j.Replicas, i))
	switch {
	case slices.Contains(w.names(hostsOf(&j.Cached, i)), n):
		return "cache-local"
	case slices.Contains(stored, n):
		return "node-local"
	case slices.ContainsFunc(stored, func(o traces.Node) bool { return w.racks[o] == w.racks[n] }):
		return "rack-local"
	}
	return "off-rack"
}

// countsPassed says whether the jobs that were passed over can be counted exactly.
func (c *check) countsPassed() bool {
	return c.mapsOnly && c.calm && c.config.Actuator != sim.Labels && slices.Contains([]string{"fifo", "delay", "acl", "random"}, c.model)
}

func (c *check) byTime() bool { return c.params["form"] == "time" }

type passedOver struct {
	job traces.JobID
	why string
}

// passedBefore lists the jobs that the model passed over before the decision, with what is to
// be said of each.
func (c *check) passedBefore() (list []passedOver) {
	counts := c.countSkips()
	for _, id := range c.jobsInOrder() {
		if id == c.decision.Job {
			break
		}
		if c.waiting(id, c.place) == 0 {
			continue
		}
		why := "it does not say why"
		if !c.fits(c.decision.Node, c.need(id, traces.Map), c.place, c.decision.T) {
			why = string(c.decision.Node) + " had no room for its container"
		} else if c.model == "delay" || c.model == "acl" {
			why = "it waits for a node nearer to its data, " + timesOver(counts[c.place][id].skips)
		}
		list = append(list, passedOver{id, why})
	}
	return list
}

func timesOver(n int) string {
	switch n {
	case 0:
		return "not passed over before"
	case 1:
		return "passed over once"
	case 2:
		return "passed over twice"
	}
	return fmt.Sprint("passed over ", n, " times")
}

var (
	passedJob  = regexp.MustCompile(`(\S+) \(([^)]*)\)`)
	morePassed = regexp.MustCompile(`(\d+) more$`)
	forTime    = regexp.MustCompile(`, (?:for [0-9.]+ s|after \d+ offered nodes?|(?:not )?passed over .*)$`)
)

// passed checks the sentence about jobs that were passed over.
func (c *check) passed(m []string) {
	if m[1] != c.model || c.decision == nil {
		c.fail("the decision is %+v", c.decision)
	}
	var got []passedOver
	for _, p := range passedJob.FindAllStringSubmatch(m[2], -1) {
		got = append(got, passedOver{traces.JobID(p[1]), p[2]})
	}
	more := 0
	if x := morePassed.FindStringSubmatch(m[2]); x != nil {
		more, _ = strconv.Atoi(x[1])
	}
	if c.countsPassed() {
		want := c.passedBefore()
		if c.byTime() {
			for i := range want {
				want[i].why = forTime.ReplaceAllString(want[i].why, "")
			}
			for i := range got {
				got[i].why = forTime.ReplaceAllString(got[i].why, "")
			}
		}
		first := want[:min(3, len(want))]
		if fmt.Sprint(got) != fmt.Sprint(first) || more != len(want)-len(first) {
			c.fail("passed over were %v", want)
		}
		c.said["passed, counted"]++
	}
	for _, p := range got {
		submitted, finished := -1, false
		for i, e := range c.events[:c.place] {
			switch e := e.(type) {
			case *traces.JobSubmitted:
				if e.Job == p.job {
					submitted = i
				}
			case *traces.JobFinished:
				finished = finished || e.Job == p.job
			}
		}
		if submitted < 0 || finished || p.job == c.id.Job {
			c.fail("%s did not wait", p.job)
		}
		switch {
		case strings.HasSuffix(p.why, "had no room for its container"):
			if c.calmView() && c.fits(c.node, c.need(p.job, traces.Map), c.place, c.decision.T) &&
				(c.mapsOnly || c.fits(c.node, c.need(p.job, traces.Reduce), c.place, c.decision.T)) {
				c.fail("%s had room for %s", c.node, p.job)
			}
			c.said["passed: noRoom"]++
		case strings.HasPrefix(p.why, "it waits for a node nearer to its data"):
			c.said["passed: waits"]++
		case p.why == "it does not say why":
			c.said["passed: model"]++
		default:
			c.fail("%q is no reason", p.why)
		}
	}
}

// calmView says whether it is known exactly what room nodes had.
func (c *check) calmView() bool { return c.calm }

var (
	skipsForm  = regexp.MustCompile(`^(not passed over before|passed over (?:once|twice|[1-9]\d* times)); (\S+)'s limit is (\d+)(, but its job may go (?:anywhere|as far as the rack))?$`)
	msForm     = regexp.MustCompile(`^its job had waited ([0-9.]+ s); (\S+)'s limit is ([0-9.]+ s)(, but its job may go (?:anywhere|as far as the rack))?$`)
	offersForm = regexp.MustCompile(`^its job had let pass (\d+) offered nodes?; (\S+)'s limit is (\d+)(, but its job may go (?:anywhere|as far as the rack))?$`)
)

// waits checks what the first sentence says of how long the job had waited.
func (c *check) waits(text, level string) {
	if text == "" {
		if c.exactSkips() {
			if n := c.countSkips()[c.place][c.decision.Job].skips; n > 0 {
				c.fail("its job was passed over %d times", n)
			}
		}
		return
	}
	if !c.config.Reasons || c.decision == nil {
		c.fail("nothing is known of waits")
	}
	var m []string
	switch {
	case skipsForm.MatchString(text):
		m = skipsForm.FindStringSubmatch(text)
		c.said["skips"]++
		if c.exactSkips() {
			before := c.countSkips()[c.place][c.decision.Job]
			if m[1] != timesOver(before.skips) {
				c.fail("its job was passed over %d times", before.skips)
			}
			if want, ok := c.limit(before); ok && m[3] != fmt.Sprint(want) {
				c.fail("the limit is %d", want)
			}
			c.said["skips, counted"]++
		}
	case msForm.MatchString(text):
		m = msForm.FindStringSubmatch(text)
		c.said["ms"]++
		if !c.byTime() {
			c.fail("the model counts no time")
		}
		waits := map[string]bool{}
		a, b := seconds(c.params["nodeWait"]), seconds(c.params["rackWait"])
		for _, s := range []int{a, b, a + b} {
			waits[inSeconds(traces.Time(s)*1e9)] = true
		}
		if !waits[m[3]] {
			c.fail("the limits are %v", waits)
		}
	case offersForm.MatchString(text):
		m = offersForm.FindStringSubmatch(text)
		c.said["offers"]++
	default:
		c.fail("it has another form")
	}
	if m[2] != c.model {
		c.fail("the model is %s", c.model)
	}
	number := func(s string) float64 {
		x, _ := strconv.ParseFloat(strings.Fields(strings.NewReplacer("not passed over before", "0", "passed over ", "", "once", "1", "twice",
			"2").Replace(s))[0], 64)
		return x
	}
	model := c.levelOn(c.decision.Job, meant(c.decision), c.decision.Node)
	if far := model == "rack-local" || model == "off-rack"; far && meant(c.decision) == c.id.Index && m[4] == "" &&
		number(m[1]) < number(m[3]) {
		c.fail("it had not waited long enough to run %s", model)
	}
}

func seconds(s string) int {
	n, _ := strconv.Atoi(strings.TrimSuffix(s, "s"))
	return n
}

// exactSkips says whether it can be counted how often the job was passed over.
func (c *check) exactSkips() bool {
	return c.config.Reasons && c.decision != nil && c.countsPassed() && !c.byTime() && (c.model == "delay" || c.model == "acl")
}

// limit is the model's limit for the map that it chose.
func (c *check) limit(before counted) (int, bool) {
	number := func(name string) int {
		n, _ := strconv.Atoi(c.params[name])
		return n
	}
	picked := c.levelOn(c.decision.Job, c.decision.TaskIndex, c.decision.Node)
	if c.model == "delay" {
		a, b := number("nodeSkips"), number("rackSkips")
		switch {
		case picked != "off-rack":
			return a, true
		case before.level == "rack-local":
			return b, true
		}
		return a + b, true
	}
	if c.config.Actuator != sim.Ideal {
		return 0, false
	}
	left, cached := 0, 0
	j := c.jobs[c.decision.Job]
	for i := range j.Maps {
		if !slices.ContainsFunc(c.events[:c.place], func(e traces.Event) bool {
			d, ok := e.(*traces.Decision)
			return ok && d.Job == c.decision.Job && d.TaskIndex == i
		}) {
			left++
			if len(hostsOf(&j.Cached, i)) > 0 {
				cached++
			}
		}
	}
	limit := float64(number("c")) * float64(cached) / float64(left)
	if picked == "rack-local" || picked == "off-rack" {
		limit += float64(number("d"))
	}
	return int(math.Ceil(limit - 1e-9)), true
}
