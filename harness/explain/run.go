package explain

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"heddle/traces"
)

// group is which attempts are alike: those of a kind of a job, or of all jobs of a name.
type group struct {
	job  *job
	name string
	kind traces.TaskKind
	late bool // reduces that started when all maps had ended
}

// sizes are what the attempts of a group that succeeded took and read.
type sizes struct {
	all    []*attempt
	sorted bool
	took   traces.Time // the median
	bytes  int64       // the median; 0: not known
}

// slowKey is a node and the attempts by which it is compared with others.
type slowKey struct {
	node *node
	of   *sizes
}

// How many attempts tell what is typical, and how many times as long something takes that
// stands out.
const (
	enough      = 3
	standsOut   = 1.4
	fewStandOut = 2.0 // of two attempts
	leastIO     = 0.2 // of an attempt's time
)

// since is when an attempt had all that it needed: for a reduce, the end of the last map.
func (a *attempt) since() traces.Time {
	if a.id.Kind == traces.Reduce {
		until := a.end
		if a.shuffled > a.start && a.shuffled < until {
			until = a.shuffled
		}
		if m := upTo(a.job.mapEnds, until); m != nil && m.end > a.start {
			return m.end
		}
	}
	return a.start
}

// late reports whether an attempt is a reduce that waited for no map.
func (a *attempt) late() bool { return a.id.Kind == traces.Reduce && a.since() == a.start }

// measure sorts attempts into groups, and counts how many compute at once.
func (w *world) measure() {
	add := func(g group, a *attempt) {
		if w.groups[g] == nil {
			w.groups[g] = &sizes{}
		}
		w.groups[g].all = append(w.groups[g].all, a)
	}
	for _, a := range w.ends {
		if a.outcome == traces.Succeeded {
			add(group{job: a.job, kind: a.id.Kind, late: a.late()}, a)
			if a.job.name != "" {
				add(group{name: a.job.name, kind: a.id.Kind, late: a.late()}, a)
			}
		}
	}
	if c := w.header.Cluster.HostCores; c > 0 {
		w.busy = counted(w.ends, (*attempt).since, c)
	}
	for _, n := range w.names {
		n.busy = w.busy
		if n.cores > 0 && w.busy == nil {
			n.busy = counted(n.ran, (*attempt).since, n.cores)
		}
	}
	for _, a := range w.ends {
		lost, _ := w.shared(a, a.since(), a.end)
		a.took = a.end - a.since() - lost
	}
}

// sharing is how many attempts computed at once on some cores, over time.
type sharing struct {
	cores float64
	steps []shared
}

// shared is what holds from a time on: how many attempts compute. Up to that time, they had
// computed so long, and one of them that computed all the time had lost so much.
type shared struct {
	t              traces.Time
	n, ran, missed float64
}

// counted counts how many attempts there are at once, each from a time on.
func counted(list []*attempt, from func(*attempt) traces.Time, cores float64) *sharing {
	s := &sharing{cores: cores}
	for _, a := range list {
		if from(a) < a.end {
			s.steps = append(s.steps, shared{t: from(a), n: 1}, shared{t: a.end, n: -1})
		}
	}
	slices.SortStableFunc(s.steps, func(a, b shared) int { return cmp.Compare(a.t, b.t) })
	for i := range s.steps {
		if i > 0 {
			x := s.at(i, s.steps[i].t)
			x.n += s.steps[i].n
			s.steps[i] = x
		}
	}
	return s
}

// at returns the sums up to a time, from the i steps before it.
func (s *sharing) at(i int, t traces.Time) shared {
	if i == 0 {
		return shared{t: t}
	}
	x := s.steps[i-1]
	d := float64(t - x.t)
	x.t, x.ran, x.missed = t, x.ran+d*x.n, x.missed+d*max(0, 1-s.cores/max(1e-9, x.n))
	return x
}

// between returns the time that an attempt loses between two times since it shares cores, and
// how many compute in the mean.
func (s *sharing) between(from, to traces.Time) (lost traces.Time, load float64) {
	if s == nil || to <= from {
		return 0, 0
	}
	until := func(t traces.Time) shared {
		i, _ := slices.BinarySearchFunc(s.steps, t, func(x shared, t traces.Time) int { return cmp.Compare(x.t, t) })
		return s.at(i, t)
	}
	a, b := until(from), until(to)
	return min(to-from, traces.Time(b.missed-a.missed)), (b.ran - a.ran) / float64(to-from)
}

// typical returns the attempts with which one is compared; nil: there are too few.
func (w *world) typical(a *attempt) *sizes {
	for _, g := range []group{{a.job, "", a.id.Kind, a.late()}, {nil, a.job.name, a.id.Kind, a.late()}} {
		s := w.groups[g]
		if s == nil || len(s.all) < enough {
			continue
		}
		if !s.sorted {
			s.sorted, s.took = true, median(s.all, func(*attempt) bool { return true })
			var bytes []int64
			for _, a := range s.all {
				if a.bytes > 0 {
					bytes = append(bytes, a.bytes)
				}
			}
			if slices.Sort(bytes); len(bytes) == len(s.all) {
				s.bytes = bytes[(len(bytes)-1)/2]
			}
		}
		return s
	}
	return nil
}

// median is the median time of those attempts of which is true; 0: there are less than two.
func median(list []*attempt, is func(*attempt) bool) traces.Time {
	var took []traces.Time
	for _, a := range list {
		if is(a) {
			took = append(took, a.took)
		}
	}
	if len(took) < 2 {
		return 0
	}
	slices.Sort(took)
	return took[(len(took)-1)/2]
}

// slowOn returns what attempts like a typically take on other nodes, if its node is slower: those
// of its job, or of jobs of its name, took clearly longer there, nearly every one; else 0.
func (w *world) slowOn(a *attempt) (others traces.Time) {
	s := w.typical(a)
	if s == nil {
		return 0
	}
	key := slowKey{a.node, s}
	if others, ok := w.slows[key]; ok {
		return others
	}
	others = median(s.all, func(b *attempt) bool { return b.node != a.node })
	own := median(s.all, func(b *attempt) bool { return b.node == a.node })
	n, above := 0, 0
	for _, b := range s.all {
		if b.node == a.node {
			n, above = n+1, above+b2i(b.took > others)
		}
	}
	least := standsOut
	switch {
	case slices.ContainsFunc(a.node.slow, func(x slowSpan) bool { return x.speed >= 0 && x.speed < 1 && x.from < a.end }):
		own = max(own, a.took) // it is said to be slow
	case n < enough:
		least = fewStandOut
	}
	if float64(own) < least*float64(others) || 4*above < 3*n {
		others = 0
	}
	w.slows[key] = others
	return others
}

// run goes back to a time at which an attempt ran, and gives what it took to its causes.
func (k *walk) run(a *attempt, from traces.Time) {
	from = max(from, k.floor)
	if k.at <= from {
		return
	}
	if a.why == askedLost { // it would not have run
		s := a.step(nodeLost)
		s.Other = a.before.id
		k.to(from, s)
		return
	}
	if most := a.job.reducesBeside(from, k.at); a.id.Kind == traces.Map && k.waits == a.job && most > 0 {
		s := a.step(reducesHold)
		s.Load = most
		k.to(k.at-traces.Time(float64(k.at-from)*most), s)
	}
	whole := k.at - from
	s, x := k.w.stray(a, whole)
	x = max(0, min(x, whole))
	s.Typical = whole - x
	lost, load := k.w.shared(a, from, k.at)
	k.to(k.at-x, s)
	s = a.step(cores)
	s.Load, s.Cores = load, a.node.busy.count()
	k.to(k.at-traces.Time(float64(lost)*float64(whole-x)/float64(whole)), s) // the rest of its time was shared as the whole
	k.to(from, a.step(ownWork))
}

// reducesBeside returns the share of a job's running attempts that reduces were in some time, if
// it is more than half; else 0.
func (j *job) reducesBeside(from, to traces.Time) float64 {
	var n [2]float64
	for kind := range n {
		if j.running[kind] == nil {
			of := slices.DeleteFunc(slices.Clone(j.ends), func(a *attempt) bool { return int(a.id.Kind) != kind })
			j.running[kind] = counted(of, func(a *attempt) traces.Time { return a.start }, math.Inf(1))
		}
		_, n[kind] = j.running[kind].between(from, to)
	}
	if n[1] <= n[0] {
		return 0
	}
	return n[1] / (n[0] + n[1])
}

// shared returns how much of the time from one time to another an attempt lost since it shared
// cores, and how many attempts computed.
func (w *world) shared(a *attempt, from, to traces.Time) (lost traces.Time, load float64) {
	lost, load = a.node.busy.between(from, to)
	if a.cpuMs > 0 {
		lost = min(lost, max(0, to-from-traces.Time(min(a.cpuMs, 1<<40))*1e6))
	}
	return lost, load
}

func (s *sharing) count() float64 {
	if s == nil {
		return 0
	}
	return s.cores
}

// stray says why an attempt took longer than it must, and by how much; 0: it did not. What it
// takes is compared without what it lost by sharing cores, since that differs from time to time.
func (w *world) stray(a *attempt, whole traces.Time) (s Step, x traces.Time) {
	beyond := func(typical traces.Time) traces.Time {
		return traces.Time(float64(whole) * (1 - float64(typical)/float64(max(1, a.took))))
	}
	if others := w.slowOn(a); others > 0 && others < a.took {
		return a.step(slowNode), beyond(others)
	}
	if s, x = w.moved(a, whole); float64(x) >= leastIO*float64(whole) {
		return s, x
	}
	of := w.typical(a)
	if of == nil || float64(a.took) < standsOut*float64(of.took) {
		return s, 0
	}
	local := median(of.all, func(b *attempt) bool { return b.level > traces.LevelUnknown && b.level <= traces.LevelNode })
	far := median(of.all, func(b *attempt) bool { return b.level == a.level })
	switch {
	case a.id.Kind == traces.Map && a.level > traces.LevelNode && local > 0 && (far == 0 || float64(far) >= standsOut*float64(local)):
		return a.step(farRead), beyond(local)
	case of.bytes > 0 && float64(a.bytes) >= standsOut*float64(of.bytes):
		s = a.step(skew)
		s.Load = float64(a.bytes) / float64(of.bytes)
		return s, min(beyond(of.took), traces.Time(float64(whole)*(1-1/s.Load)))
	}
	return a.step(slower), beyond(of.took)
}

// moved returns how long it took at least to move the bytes that an attempt read, over the disk or
// link that took longest.
func (w *world) moved(a *attempt, whole traces.Time) (s Step, x traces.Time) {
	if a.bytes <= 0 {
		return s, 0
	}
	if a.id.Kind == traces.Map {
		c, rate := disk, a.node.disk
		if a.level > traces.LevelNode {
			c, rate = link, a.node.link
			if up := w.uplinks[a.node.rack]; a.level == traces.LevelOff && up > 0 && (rate == 0 || up < rate) {
				rate = up
			}
		}
		if rate <= 0 || a.level < traces.LevelNode {
			return s, 0
		}
		s = a.step(c)
		s.Load = float64(rate)
		return s, traces.Time(min(readBeside(a)/float64(rate)*1e9, float64(whole)))
	}
	return w.fetched(a, whole)
}

// readBeside is how many bytes the maps of a node read in the time of one of them, by the
// same way: those of its own, and of the others in proportion to the time that they share.
func readBeside(a *attempt) (sum float64) {
	for _, b := range a.node.ran {
		if b.start >= a.end {
			break
		}
		if both := min(a.end, b.end) - max(a.start, b.start); both > 0 && b.bytes > 0 && b.id.Kind == traces.Map &&
			(b.level > traces.LevelNode) == (a.level > traces.LevelNode) && b.level >= traces.LevelNode && b.end > b.start {
			sum += float64(b.bytes) * float64(both) / float64(b.end-b.start)
		}
	}
	return sum
}

// fetched returns how long the reduces of a job had to fetch after the last map, at least: what
// lay before a link then, of all that came from maps as they ended, and left at the link's rate.
func (w *world) fetched(a *attempt, whole traces.Time) (s Step, x traces.Time) {
	s = a.step(link)
	j, first, until := a.job, a.start, a.since()
	all, byNode, byRack := 0.0, map[*node]float64{}, map[string]float64{}
	for _, r := range w.groups[group{job: j, kind: traces.Reduce, late: a.late()}].all {
		b := float64(max(0, r.bytes)) / float64(max(1, len(j.mapEnds)))
		first, all, byNode[r.node], byRack[r.node.rack] = min(first, r.start), all+b, byNode[r.node]+b, byRack[r.node.rack]+b
	}
	consider := func(name string, rate int64, bytes float64, crosses func(m *node) bool) {
		if rate <= 0 || bytes <= 0 {
			return
		}
		left, t := 0.0, first
		for _, m := range j.mapEnds {
			if m.end > until {
				break
			}
			if crosses(m.node) {
				left = max(0, left-float64(rate)*float64(max(first, m.end)-t)/1e9) + bytes
				t = max(first, m.end)
			}
		}
		left -= float64(rate) * float64(until-t) / 1e9
		if d := traces.Time(min(left/float64(rate)*1e9, float64(whole))); d > x {
			x, s.Load, s.Node = d, float64(rate), traces.Node(name)
		}
	}
	n := a.node
	consider(string(n.name), n.link, byNode[n], func(m *node) bool { return m != n })
	consider(n.rack, w.uplinks[n.rack], byRack[n.rack], func(m *node) bool { return m.rack != n.rack })
	racks := map[string]bool{}
	for _, n := range w.names {
		consider(string(n.name), n.link, all-byNode[n], func(m *node) bool { return m == n })
		if !racks[n.rack] {
			racks[n.rack] = true
			consider(n.rack, w.uplinks[n.rack], all-byRack[n.rack], func(m *node) bool { return m.rack == n.rack })
		}
	}
	return s, x
}

// lostStep is the time of an attempt that did not succeed.
func (w *world) lostStep(a *attempt) Step {
	says := func(what string) bool { return strings.Contains(a.text, what) }
	lost := a.node.lostIn(a.start, a.end) >= a.start
	switch {
	case says(traces.KilledForMaps):
		return a.step(reducesHold)
	case says(traces.KilledByYARN):
		return a.step(preempted)
	case says(traces.KilledWithNode), says(traces.KilledOnLost), lost:
		return a.step(nodeLost)
	case says(traces.KilledWithOwner):
		return a.step(masterLost)
	case a.outcome == traces.Failed:
		return a.step(failed)
	case says(traces.KilledAsSlower), slices.ContainsFunc(a.job.task(a.id.Task).tries, func(b *attempt) bool {
		return b != a && b.outcome == traces.Succeeded && b.end <= a.end
	}):
		return a.step(speculation)
	case !a.ended:
		return a.step(unknown)
	}
	return a.step(killed)
}

// besideStep is the time in which an attempt ran alone that was slow, before a speculative one
// started beside it.
func (w *world) besideStep(a *attempt) Step {
	s := a.step(speculation)
	s.Other = a.before.id
	if others := w.slowOn(a.before); others > 0 {
		s = a.before.step(slowNode)
		s.Typical = others
	}
	return s
}
