package why_test

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"heddle/harness/sim"
	"heddle/harness/why"
	"heddle/traces"
)

// This file holds what why says against a computation of its own. It goes through all
// events of the run for each single statement, in the order in which the simulator recorded
// them, and shares no code with the package.

const checkedTasks = 1000

// TestEverySentence checks all sentences about 1,000 random tasks of simulated runs: small
// random clusters, several models, caches, failures, with and without what the model saw.
func TestEverySentence(t *testing.T) {
	said := map[string]int{}
	tasks := 0
	for seed := uint64(0); tasks < checkedTasks; seed++ {
		w := newWorld(t, seed)
		all := why.Read(&w.header, slices.Values(w.sorted))
		ids := slices.SortedFunc(maps.Keys(all), why.Compare)
		if len(ids) != w.attempts {
			t.Fatalf("seed %d: %d attempts are explained, the run had %d", seed, len(ids), w.attempts)
		}
		if len(ids) == 0 {
			continue
		}
		checked := map[traces.Task]bool{}
		for range 8 {
			task := ids[w.rng.IntN(len(ids))].Task
			if checked[task] || tasks == checkedTasks {
				continue
			}
			checked[task] = true
			tasks++
			for _, id := range ids {
				if id.Task == task {
					c := check{world: w, t: t, id: id, said: said}
					c.sentences(all[id].Sentences())
				}
			}
		}
	}
	t.Logf("%d tasks; sentences by what they say: %v", tasks, said)
	for _, what := range []string{
		"replica", "cached", "reduce", "rerun", "random", "on", "cached on", "and on disks", "names", "full", "slots", "down", "free",
		"skips", "ms", "offers", "waited", "decided", "meant", "not asked", "passed: waits", "passed: noRoom", "passed: model", "passed, counted",
		"skips, counted", "before", "beside", "unknown", "killed", "killed for a map",
	} {
		if said[what] == 0 {
			t.Errorf("no sentence says %q: the check does not reach it", what)
		}
	}
}

// check holds the sentences about one attempt against its world.
type check struct {
	*world
	t    *testing.T
	id   traces.Attempt
	said map[string]int

	started  *traces.AttemptStarted  // nil: never launched
	ended    *traces.AttemptFinished // nil: not ended
	start    traces.Time
	node     traces.Node
	decision *traces.Decision // nil: there is none
	place    int              // of the decision
	seen     bool             // the sentences are about what the model saw
	facts    traces.Time
	text     string
}

func (c *check) fail(format string, args ...any) {
	c.t.Helper()
	c.t.Fatalf("seed %d, model %s %v, actuator %d, reasons %v, %v: %q: %s", c.config.Seed, c.model, c.params, c.config.Actuator,
		c.config.Reasons, c.id, c.text, fmt.Sprintf(format, args...))
}

func (c *check) find() {
	for _, e := range c.events {
		switch e := e.(type) {
		case *traces.AttemptStarted:
			if e.Attempt == c.id {
				c.started, c.start, c.node = e, e.T, e.Node
			}
		case *traces.AttemptFinished:
			if e.Attempt == c.id {
				if c.ended = e; e.Unlaunched {
					c.start, c.node = e.T, e.Node
				}
			}
		case *traces.Actuation:
			if e.Bound == c.id && e.Outcome == "honoured" {
				for i, d := range c.events {
					if d, ok := d.(*traces.Decision); ok && d.ID == e.Decision {
						c.decision, c.place = d, i
					}
				}
			}
		}
	}
	c.facts = c.start
	if d := c.decision; d != nil && c.config.Reasons && meant(d) == c.id.Index {
		c.seen, c.facts = true, d.T
	}
}

// meant returns the task that a decision was expected to start.
func meant(d *traces.Decision) int32 {
	if d.What == traces.Map && d.BindIndex >= 0 {
		return d.BindIndex
	}
	return d.TaskIndex
}

// input returns the nodes that cache the map's block, and those that store it or that its
// split names, as far as the trace can tell.
func (c *check) input() (cached, stored []traces.Node) {
	if c.annotate {
		j := c.jobs[c.id.Job]
		return c.names(hostsOf(&j.Cached, c.id.Index)), c.names(hostsOf(&j.Replicas, c.id.Index))
	}
	return nil, c.splitHosts()
}

func (c *check) splitHosts() []traces.Node {
	for _, e := range c.events {
		if e, ok := e.(*traces.TaskScheduled); ok && e.Task == c.id.Task {
			return e.SplitHosts
		}
	}
	return nil
}

func (c *check) rackLocal(stored []traces.Node) bool {
	return slices.ContainsFunc(stored, func(n traces.Node) bool { return c.racks[n] == c.racks[c.node] })
}

var (
	shortForm  = regexp.MustCompile(`^(cache-local|node-local|rack-local|off-rack|a map|a reduce) on (\S+) at (\S+ s)(?:: ([^;]*))?(?:; (.*))?$`)
	askedForm  = regexp.MustCompile(`^it had waited (\S+ s) for a container, since its ApplicationMaster asked for it$`)
	decideForm = regexp.MustCompile(`^(\S+) decided at (\S+ s)$`)
	meantForm  = regexp.MustCompile(`^the decision was meant for (map|reduce) (\d+) of the job; its ApplicationMaster started (map|reduce) (\d+) in the container$`)
	aloneForm  = regexp.MustCompile(`^(\S+) was asked about (\S+) alone, whose heartbeat had come; (.*) had room and was not asked about$`)
	passedForm = regexp.MustCompile(`^before it, (\S+) passed over (.*)$`)
	beforeForm = regexp.MustCompile(`^attempt (\d+) before it, on (\S+), (failed|was killed|succeeded) at (\S+ s)(.*)$`)
	killedForm = regexp.MustCompile(`^it was killed at (\S+ s)(.*)$`)
	forMapForm = regexp.MustCompile(`^ by its ApplicationMaster, to make room for map (\d+), which had waited (\S+ s): (YARN said|after 300 s)`)
	besideForm = regexp.MustCompile(`^it is a speculative attempt beside attempt (\d+), which ran on (\S+)$`)
)

func (c *check) sentences(list []string) {
	c.find()
	if len(list) == 0 {
		c.fail("nothing is said")
	}
	for i, s := range list {
		c.text = s
		if i == 0 {
			c.short(s)
			continue
		}
		switch {
		case s == "it got a container there, which was never launched":
			if c.started != nil || !c.ended.Unlaunched {
				c.fail("it was launched")
			}
		case askedForm.MatchString(s):
			c.asked(askedForm.FindStringSubmatch(s)[1])
		case decideForm.MatchString(s):
			m := decideForm.FindStringSubmatch(s)
			if c.decision == nil || m[1] != c.model || m[2] != inSeconds(c.decision.T) {
				c.fail("the decision is %+v", c.decision)
			}
			c.said["decided"]++
		case meantForm.MatchString(s):
			m := meantForm.FindStringSubmatch(s)
			if c.decision == nil || m[1] != c.decision.What.String() || m[2] != fmt.Sprint(meant(c.decision)) || m[3] != c.id.Kind.String() ||
				m[4] != fmt.Sprint(c.id.Index) || m[2] == m[4] {
				c.fail("the decision is %+v", c.decision)
			}
			c.said["meant"]++
		case aloneForm.MatchString(s):
			c.alone(aloneForm.FindStringSubmatch(s))
		case passedForm.MatchString(s):
			c.passed(passedForm.FindStringSubmatch(s))
		case beforeForm.MatchString(s):
			c.before(beforeForm.FindStringSubmatch(s))
		case killedForm.MatchString(s):
			m := killedForm.FindStringSubmatch(s)
			c.killed(c.id, m[1], m[2])
		case besideForm.MatchString(s):
			c.beside(besideForm.FindStringSubmatch(s))
		default:
			c.unknown(s)
		}
	}
	c.missing(list)
}

// missing says what should have been said and was not.
func (c *check) missing(list []string) {
	has := func(form *regexp.Regexp) bool { return slices.ContainsFunc(list, form.MatchString) }
	c.text = strings.Join(list, " | ")
	if c.decision != nil && c.decision.T != c.start && !has(decideForm) {
		c.fail("it does not say when it was decided: %v", c.decision.T)
	}
	if c.decision != nil && meant(c.decision) != c.id.Index && !has(meantForm) {
		c.fail("it does not say that the decision was meant for %d", meant(c.decision))
	}
	if c.config.Reasons && c.decision != nil && !has(passedForm) && c.countsPassed() && len(c.passedBefore()) > 0 {
		c.fail("it does not say that jobs were passed over: %v", c.passedBefore())
	}
}

func inSeconds(t traces.Time) string {
	if s := float64(t) / 1e9; s >= 10 {
		return fmt.Sprintf("%.1f s", s)
	}
	return fmt.Sprintf("%.2f s", float64(t)/1e9)
}

func (c *check) short(s string) {
	m := shortForm.FindStringSubmatch(s)
	if m == nil {
		c.fail("it has another form")
	}
	if m[2] != string(c.node) || m[3] != inSeconds(c.start) {
		c.fail("it ran on %s at %v", c.node, c.start)
	}
	cached, stored := c.input()
	level := "off-rack"
	switch {
	case c.id.Kind == traces.Reduce:
		level = "a reduce"
	case c.levelOf() == traces.LevelCache:
		level = "cache-local"
	case slices.Contains(cached, c.node):
		level = "cache-local"
	case slices.Contains(stored, c.node):
		level = "node-local"
	case c.rackLocal(stored):
		level = "rack-local"
	}
	if !c.annotate && c.config.Splits != sim.AsSubmitted || c.started == nil { // by the split's hosts, as the trace tells
		level = map[traces.Level]string{
			traces.LevelCache: "cache-local", traces.LevelNode: "node-local", traces.LevelRack: "rack-local",
			traces.LevelOff: "off-rack",
		}[c.levelOf()]
		if c.id.Kind == traces.Reduce {
			level = "a reduce"
		}
	}
	if m[1] != level {
		c.fail("it was %s", level)
	}
	c.because(m[4], level, cached, stored)
	c.waits(m[5], level)
}

// levelOf is the level in the trace.
func (c *check) levelOf() traces.Level {
	if c.started == nil {
		return c.ended.SplitLocality
	}
	return c.started.ReplicaLocality
}

// because checks the part of the first sentence that gives the reason.
func (c *check) because(text, level string, cached, stored []traces.Node) {
	split := !c.annotate && c.config.Splits != sim.AsSubmitted
	reason := ""
	if c.decision != nil && meant(c.decision) == c.id.Index {
		reason = c.decision.Reason
	}
	switch {
	case reason == "rerun" && text == "a map that runs again goes first, on any node with room":
		earlier := func(e traces.Event) bool {
			f, ok := e.(*traces.AttemptFinished)
			return ok && f.Attempt.Task == c.id.Task && f.T <= c.start && f.Attempt.Number < c.id.Number
		}
		if !slices.ContainsFunc(c.events, earlier) {
			c.fail("no earlier attempt has ended")
		}
		c.said["rerun"]++
	case reason == "random" && text == "random drew it at random":
		c.said["random"]++
	case level == "a reduce" && text == "it reads no block, so any node with room will do":
		c.said["reduce"]++
	case level == "cache-local" && text == "the node has its block in the cache":
		c.said["cached"]++
	case text == "the node has a replica of its block":
		j := c.jobs[c.id.Job]
		if level != "node-local" || !slices.Contains(c.names(hostsOf(&j.Replicas, c.id.Index)), c.node) {
			c.fail("it is on %v, and cached on %v", stored, cached)
		}
		if len(c.nearer(level, cached, stored)) > 0 {
			c.fail("%v were nearer", cached)
		}
		c.said["replica"]++
	case text == "its split names the node":
		if level != "node-local" || c.started != nil || !slices.Contains(c.splitHosts(), c.node) {
			c.fail("the split names %v", c.splitHosts())
		}
		c.said["split"]++
	default:
		c.nodes(text, c.nearer(level, cached, stored), split)
	}
}

// nearer returns the nodes that are nearer than the attempt's, with their level.
func (c *check) nearer(level string, cached, stored []traces.Node) map[traces.Node]string {
	all := map[traces.Node]string{}
	if level == "rack-local" || level == "off-rack" {
		for _, n := range stored {
			all[n] = "stored"
		}
	}
	if level != "cache-local" {
		for _, n := range cached {
			all[n] = "cached"
		}
	}
	delete(all, c.node)
	return all
}

// nodes checks a list of nearer nodes.
func (c *check) nodes(text string, want map[traces.Node]string, split bool) {
	if text == "" {
		if len(want) > 0 {
			c.fail("it does not name %v", want)
		}
		return
	}
	rest := text
	found := map[traces.Node]string{}
	if after, ok := strings.CutPrefix(rest, "its block is cached on "); ok {
		list, disks, both := strings.Cut(after, ", and on the disks of ")
		c.list(list, "cached", found)
		if both {
			c.list(disks, "stored", found)
			c.said["and on disks"]++
		}
		c.said["cached on"]++
	} else if after, ok := strings.CutPrefix(rest, "its block is on "); ok && !split {
		c.list(after, "stored", found)
		c.said["on"]++
	} else if after, ok := strings.CutPrefix(rest, "its split names "); ok && split {
		c.list(after, "stored", found)
		c.said["names"]++
	} else {
		c.fail("it has another form, or blocks for splits")
	}
	if fmt.Sprint(found) != fmt.Sprint(want) {
		c.fail("nearer are %v", want)
	}
}

var (
	together = regexp.MustCompile(`^(.*), (?:both|all) (.*)$`)
	alone    = regexp.MustCompile(`^(\S+), (.*)$`)
	single   = regexp.MustCompile(`(\S+) \(([^)]*)\)`)
)

func (c *check) list(text, as string, found map[traces.Node]string) {
	if m := together.FindStringSubmatch(text); m != nil {
		for _, n := range regexp.MustCompile(`, | and `).Split(m[1], -1) {
			found[traces.Node(n)] = as
			c.roomOf(traces.Node(n), m[2])
		}
		return
	}
	if all := single.FindAllStringSubmatch(text, -1); all != nil {
		for _, m := range all {
			found[traces.Node(m[1])] = as
			c.roomOf(traces.Node(m[1]), m[2])
		}
		return
	}
	m := alone.FindStringSubmatch(text)
	if m == nil {
		c.fail("%q is no list of nodes", text)
	}
	found[traces.Node(m[1])] = as
	c.roomOf(traces.Node(m[1]), m[2])
}

// roomOf checks what is said of a node's room.
func (c *check) roomOf(n traces.Node, said string) {
	up, since := true, traces.Time(0)
	for i, e := range c.events {
		if c.seen && i >= c.place || !c.seen && e.At() > c.facts {
			break
		}
		switch e := e.(type) {
		case *traces.NodeDown:
			if e.Node == n {
				up, since = false, e.T
			}
		case *traces.NodeUp:
			if e.Node == n {
				up = true
			}
		}
	}
	// lacks says whether the node lacked room for so much at the time of the facts.
	lacks := func(need room) (full bool, since traces.Time, unsure bool) {
		if c.seen {
			return c.full(n, need, c.facts, c.view(n), func(s step) bool {
				return s.t < c.facts || s.t == c.facts &&
					s.place >= 0 && s.place < c.place
			})
		}
		full, since, _ = c.full(n, need, c.facts, c.launched(n), func(s step) bool { return s.t <= c.facts })
		return full && since < c.facts, since, false
	}
	need := c.need(c.id.Job, c.id.Kind)
	full, from, unsure := lacks(need)
	want := "with room"
	switch {
	case !up:
		want = "down since " + inSeconds(since)
	case full && from == 0:
		want = "full"
		said = strings.Replace(said, " since 0.00 s", "", 1)
	case full:
		want = "full since " + inSeconds(from)
	}
	if slots := strings.NewReplacer("with all its map slots taken", "full", "with all their map slots taken",
		"full").Replace(said); slots != said {
		if short, _, _ := lacks(room{need[0], need[1]}); short && !unsure {
			c.fail("%s had not enough memory or cores", n)
		}
		said = slots
		c.said["slots"]++
	} else if short, _, _ := lacks(room{need[0], need[1]}); full && up && !short && !unsure {
		c.fail("%s had memory and cores, and no slot", n)
	}
	if unsure {
		return
	}
	if said != want {
		c.fail("%s was %s", n, want)
	}
	c.said[strings.Fields(strings.Replace(want, "with room", "free", 1))[0]]++
}

func (c *check) asked(said string) {
	asked := traces.Time(-1)
	for _, e := range c.events {
		switch e := e.(type) {
		case *traces.TaskScheduled:
			if e.Task == c.id.Task {
				asked = max(asked, e.T)
			}
		case *traces.JobStarted:
			if e.Job == c.id.Job && e.T <= c.start {
				asked = max(asked, e.T)
			}
		}
	}
	if c.id.Kind != traces.Map || asked < 0 || said != inSeconds(c.start-asked) {
		c.fail("it had waited since %v, until %v", asked, c.start)
	}
	for _, e := range c.events {
		if e, ok := e.(*traces.AttemptStarted); ok && e.Attempt.Task == c.id.Task && e.T < c.start {
			c.fail("an earlier attempt had a container before")
		}
	}
	c.said["waited"]++
}

func (c *check) alone(m []string) {
	if m[1] != c.model || m[2] != string(c.node) {
		c.fail("the decision is %+v", c.decision)
	}
	beat := func(e traces.Event) bool {
		h, ok := e.(*traces.Heartbeat)
		return ok && h.Node == c.node && h.T == c.decision.T
	}
	if !slices.ContainsFunc(c.events[:c.place], beat) {
		c.fail("no heartbeat of the node had come")
	}
	for _, n := range regexp.MustCompile(`, | and `).Split(m[3], -1) {
		c.roomOf(traces.Node(n), "with room")
	}
	c.said["not asked"]++
}

func (c *check) before(m []string) {
	for _, e := range c.events {
		f, ok := e.(*traces.AttemptFinished)
		if !ok || f.Attempt.Task != c.id.Task || fmt.Sprint(f.Attempt.Number) != m[1] {
			continue
		}
		on := f.Node
		for _, s := range c.events {
			if s, ok := s.(*traces.AttemptStarted); ok && s.Attempt == f.Attempt {
				on = s.Node
			}
		}
		outcome := map[traces.Outcome]string{traces.Failed: "failed", traces.Killed: "was killed", traces.Succeeded: "succeeded"}[f.Outcome]
		if string(on) != m[2] || outcome != m[3] || inSeconds(f.T) != m[4] || f.T > c.start {
			c.fail("that attempt was on %s: %+v", on, f)
		}
		if c.said["before"]++; f.Outcome == traces.Killed {
			c.killed(f.Attempt, m[4], m[5])
		}
		return
	}
	c.fail("no such attempt has ended")
}

// killed checks who killed an attempt, and since when the map waited that a reduce was killed for.
func (c *check) killed(id traces.Attempt, at, by string) {
	var end *traces.AttemptFinished
	for _, e := range c.events {
		if f, ok := e.(*traces.AttemptFinished); ok && f.Attempt == id {
			end = f
		}
	}
	if end == nil || end.Outcome != traces.Killed || inSeconds(end.T) != at {
		c.fail("it ended so: %+v", end)
	}
	m := forMapForm.FindStringSubmatch(by)
	if (m != nil) != (end.Error == traces.KilledForMaps) || by == "" {
		c.fail("it was killed so: %q", end.Error)
	}
	c.said["killed"]++
	if m == nil {
		return
	}
	var since traces.Time
	runs := false
	is := func(t traces.Task) bool {
		return t.Job == id.Job && t.Kind == traces.Map && fmt.Sprint(t.Index) == m[1]
	}
	for _, e := range c.events {
		if e.At() > end.T {
			break
		}
		switch e := e.(type) {
		case *traces.JobStarted:
			if e.Job == id.Job {
				since = max(since, e.T)
			}
		case *traces.AttemptStarted:
			runs = runs || is(e.Attempt.Task) && e.T < end.T
		case *traces.AttemptFinished:
			if is(e.Attempt.Task) && e.T < end.T {
				since, runs = e.T, e.Outcome == traces.Succeeded
			}
		}
	}
	if waited := end.T - since; runs || inSeconds(waited) != m[2] || (m[3] == "after 300 s") != (waited >= 300e9) {
		c.fail("that map waited for %v, runs or is done: %t", time.Duration(waited), runs)
	}
	c.said["killed for a map"]++
}

func (c *check) beside(m []string) {
	ok := slices.ContainsFunc(c.events, func(e traces.Event) bool {
		s, ok := e.(*traces.AttemptStarted)
		return ok && s.Attempt.Task == c.id.Task && fmt.Sprint(s.Attempt.Number) == m[1] && string(s.Node) == m[2] && s.T <= c.start
	})
	if !ok || c.started == nil || !c.started.Speculative {
		c.fail("it is not so")
	}
	c.said["beside"]++
}

func (c *check) unknown(s string) {
	switch s {
	case "it is a speculative attempt, beside a slow one":
		if !c.started.Speculative {
			c.fail("it is not speculative")
		}
	case "the trace does not say which nodes have its block":
		if cached, stored := c.input(); len(cached)+len(stored) > 0 {
			c.fail("it is on %v and %v", cached, stored)
		}
	case "no decision in the trace is known to be that for this attempt: this is told from where tasks ran":
		if c.decision != nil {
			c.fail("it was decided: %+v", c.decision)
		}
	case "the trace does not say what " + c.model + " saw: this is told from where tasks ran":
		if c.config.Reasons {
			c.fail("reasons were recorded")
		}
	default:
		c.fail("this is no known sentence")
	}
	c.said["unknown"]++
}
