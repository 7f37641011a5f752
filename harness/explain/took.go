package explain

import (
	"cmp"
	"math"
	"slices"
	"sort"
	"strings"

	"heddle/traces"
)

// group is which attempts are alike: those of a kind of a job, or of all jobs of a name.
type group struct {
	job, name string
	kind      traces.TaskKind
	late      bool // reduces that started when all maps had ended
}

// typical is what the attempts of a group that succeeded took and read.
type typical struct {
	all       []*attempt
	took      traces.Time // the median
	bytes     int64       // the median; 0: not known of all
	elsewhere map[place]elsewhere
}

// elsewhere is what attempts took on other nodes, and whether theirs is slower.
type elsewhere struct {
	took traces.Time
	slow bool
}

// place is where an attempt ran, and from where its input came.
type place struct {
	node  *node
	level traces.Level
}

// How many attempts tell what is typical, and how many times as long something takes that
// stands out.
const (
	enough     = 3
	standsOut  = 1.4
	manyErrors = 5   // standard errors that a slow node's mean is off: chance does that in none of a thousand runs
	leastFree  = 4   // degrees of freedom of these
	leastIO    = 0.2 // of an attempt's time
	// leastVariance is that of attempts which differ by a fifth, as they do on any node.
	leastVariance = 0.2 * 0.2
)

// lastMap returns the map whose output a reduce that ran up to t waited for last; nil: it waited for none.
func (a *attempt) lastMap(t traces.Time) *attempt {
	if a.shuffled > a.start {
		t = min(t, a.shuffled)
	}
	if m := upTo(a.job.mapEnds, t); a.id.Kind == traces.Reduce && m != nil && m.end > a.start {
		return m
	}
	return nil
}

// groups are those that an attempt is in, the one that it is compared with first.
func (a *attempt) groups() []group {
	late := a.id.Kind == traces.Reduce && a.since == a.start
	return []group{{string(a.job.id), "", a.id.Kind, late}, {"", cmp.Or(a.job.name, string(a.job.id)), a.id.Kind, late}}
}

// measure finds out what is typical of attempts, and how many compute at once.
func (w *Reader) measure() {
	for _, a := range w.ends {
		a.since = a.start
		if m := a.lastMap(a.end); m != nil {
			a.since = m.end
		}
	}
	since := func(a *attempt) traces.Time { return a.since }
	host := w.header.Cluster.HostCores
	all := share(w.ends, since, host)
	for _, n := range w.names {
		if n.busy = all; host <= 0 {
			n.busy = share(n.ran, since, n.Cores)
		}
	}
	for _, a := range w.ends {
		lost, _ := a.shared(a.since, a.end)
		if a.took = a.end - a.since - lost; a.outcome != traces.Succeeded {
			continue
		}
		for _, g := range a.groups() {
			if w.groups[g] == nil {
				w.groups[g] = &typical{elsewhere: map[place]elsewhere{}}
			}
			w.groups[g].all = append(w.groups[g].all, a)
		}
	}
	for _, s := range w.groups { // the order does not matter
		s.took = median(s.all, func(*attempt) bool { return true })
		var bytes []int64
		for _, a := range s.all {
			bytes = append(bytes, a.bytes)
		}
		if slices.Sort(bytes); bytes[0] > 0 {
			s.bytes = bytes[(len(bytes)-1)/2]
		}
	}
}

// sharing is how many attempts computed at once on some cores, over time.
type sharing struct {
	cores float64
	steps []sums
}

// sums are what holds from a time on: how many attempts compute. Up to that time, they had
// computed so long, and one of them that computed all the time had lost so much.
type sums struct {
	t              traces.Time
	n, ran, missed float64
}

// share counts how many attempts there are at once, each from a time on. Of no cores, nothing is lost.
func share(list []*attempt, from func(*attempt) traces.Time, cores float64) *sharing {
	s := &sharing{cores: cores}
	for _, a := range list {
		if from(a) < a.end && cores > 0 {
			s.steps = append(s.steps, sums{t: from(a), n: 1}, sums{t: a.end, n: -1})
		}
	}
	slices.SortStableFunc(s.steps, func(a, b sums) int { return cmp.Compare(a.t, b.t) })
	for i, x := range s.steps {
		s.steps[i] = s.upTo(i, x.t)
		s.steps[i].n += x.n
	}
	return s
}

// upTo returns the sums up to a time, from the i steps before it.
func (s *sharing) upTo(i int, t traces.Time) (x sums) {
	if i > 0 {
		x = s.steps[i-1]
		d := float64(t - x.t)
		x.ran, x.missed = x.ran+d*x.n, x.missed+d*max(0, 1-s.cores/max(1e-9, x.n))
	}
	x.t = t
	return x
}

// between returns the time that an attempt loses between two times since it shares cores, and
// how many compute in the mean.
func (s *sharing) between(from, to traces.Time) (lost traces.Time, load float64) {
	if to <= from {
		return 0, 0
	}
	by := func(t traces.Time) sums {
		return s.upTo(sort.Search(len(s.steps), func(i int) bool { return s.steps[i].t >= t }), t)
	}
	a, b := by(from), by(to)
	return min(to-from, traces.Time(b.missed-a.missed)), (b.ran - a.ran) / float64(to-from)
}

// shared returns how much of a time an attempt lost since it shared cores, and how many attempts computed.
func (a *attempt) shared(from, to traces.Time) (lost traces.Time, load float64) {
	lost, load = a.node.busy.between(from, to)
	if a.cpuMs > 0 {
		lost = min(lost, max(0, to-from-traces.Time(min(a.cpuMs, 1<<40))*1e6))
	}
	return lost, load
}

// typical returns the attempts with which one is compared; nil: there are too few.
func (w *Reader) typical(a *attempt) *typical {
	for _, g := range a.groups() {
		if s := w.groups[g]; s != nil && len(s.all) >= enough {
			return s
		}
	}
	return nil
}

// median is the median time of those attempts of which is is true; 0: there are less than two.
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

// spread is how a number of times lie, as logarithms: their mean, and the sum of the squares of what they are off.
type spread struct{ n, mean, squares float64 }

func (x *spread) add(took traces.Time) {
	y := math.Log(float64(max(1, took)))
	x.n++
	off := y - x.mean
	x.mean += off / x.n
	x.squares += off * (y - x.mean)
}

// slowOn returns what attempts like a typically take on other nodes, if its node is slower; else 0. Only
// attempts of its job are compared, and only those whose input came the same way.
func (w *Reader) slowOn(a *attempt) traces.Time {
	s := w.groups[a.groups()[0]]
	if s == nil {
		return 0
	}
	p := place{a.node, a.level}
	others, ok := s.elsewhere[p]
	if !ok {
		others = elsewhere{median(s.all, func(b *attempt) bool { return b.node != a.node && b.level == a.level }), s.isSlow(a.node)}
		s.elsewhere[p] = others
	}
	if slowed := a.node.slowed; len(slowed) > 0 && slowed[0] < a.end { // it is said to be slow
		others.slow = float64(a.took) >= standsOut*float64(others.took)
	}
	if !others.slow {
		return 0
	}
	return others.took
}

// isSlow reports whether several attempts on a node took clearly longer than those elsewhere whose input came
// the same way, and by far more than times of attempts differ on one node.
func (s *typical) isSlow(n *node) bool {
	var here, there [traces.LevelOff + 1]spread
	for _, a := range s.all {
		to := &there
		if a.node == n {
			to = &here
		}
		to[min(a.level, traces.LevelOff)].add(a.took)
	}
	var own, more, squares, free, scale float64
	for l, x := range here {
		if y := there[l]; x.n > 0 && y.n > 1 {
			own, more, squares = own+x.n, more+x.n*(x.mean-y.mean), squares+x.squares+y.squares
			free, scale = free+x.n+y.n-2, scale+x.n+x.n*x.n/y.n
		}
	}
	return own > 1 && free >= leastFree && more >= own*math.Log(standsOut) && more >= manyErrors*math.Sqrt(scale*(squares/free+leastVariance))
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
	lost, load := a.shared(from, k.at)
	k.to(k.at-x, s)
	s = a.step(cores)
	s.Load, s.Cores = load, a.node.busy.cores
	k.to(k.at-traces.Time(float64(lost)*float64(whole-x)/float64(whole)), s) // the rest of its time was shared as the whole
	k.to(from, a.step(ownWork))
}

// reducesBeside returns the share of a job's running attempts that reduces were in some time, if
// it is more than half; else 0.
func (j *job) reducesBeside(from, to traces.Time) float64 {
	var n [2]float64
	for kind := range n {
		if j.running[kind] == nil {
			j.running[kind] = share(j.ran[kind], func(a *attempt) traces.Time { return a.start }, math.Inf(1))
		}
		_, n[kind] = j.running[kind].between(from, to)
	}
	if n[1] <= n[0] {
		return 0
	}
	return n[1] / (n[0] + n[1])
}

// stray says why an attempt took longer than it must, and by how much; 0: it did not. What it
// takes is compared without what it lost by sharing cores, since that differs from time to time.
func (w *Reader) stray(a *attempt, whole traces.Time) (s Step, x traces.Time) {
	beyond := func(typical traces.Time) traces.Time {
		return traces.Time(float64(whole) * (1 - float64(typical)/float64(max(1, a.took))))
	}
	s, x = w.moved(a, whole)
	// A node where all maps read from elsewhere, or from a disk, is not slow if that takes most of what is more.
	if others := w.slowOn(a); others > 0 && others < a.took && 2*x < beyond(others) {
		return a.step(slowNode), beyond(others)
	}
	if float64(x) >= leastIO*float64(whole) {
		return s, x
	}
	of := w.typical(a)
	if of == nil || float64(a.took) < standsOut*float64(of.took) {
		return s, 0
	}
	nearer := median(of.all, func(b *attempt) bool { return b.level > traces.LevelUnknown && b.level < a.level })
	same := median(of.all, func(b *attempt) bool { return b.level == a.level })
	more := float64(a.bytes) / float64(max(1, of.bytes))
	switch {
	case (a.isFar() || a.node.disk <= 0) && nearer > 0 && float64(cmp.Or(same, a.took)) >= standsOut*float64(nearer):
		return a.step(farRead), beyond(nearer)
	case of.bytes > 0 && more >= standsOut:
		s = a.step(skew)
		s.Load = more
		return s, min(beyond(of.took), traces.Time(float64(whole)*(1-1/more)))
	}
	return a.step(slower), beyond(of.took)
}

// isFar reports whether an attempt is a map that read from another node.
func (a *attempt) isFar() bool { return a.id.Kind == traces.Map && a.level > traces.LevelNode }

// moved returns how long it took at least to move the bytes that an attempt read, over the disk or
// link that took longest.
func (w *Reader) moved(a *attempt, whole traces.Time) (s Step, x traces.Time) {
	switch {
	case a.bytes <= 0:
		return s, 0
	case a.id.Kind == traces.Reduce:
		return w.fetched(a, whole)
	}
	c, rate := disk, a.node.disk
	if a.isFar() {
		c, rate = link, a.node.link
		if up := w.uplinks[a.node.Rack]; a.level == traces.LevelOff && up > 0 && (rate == 0 || up < rate) {
			rate = up
		}
	}
	if rate <= 0 || a.level < traces.LevelNode {
		return s, 0
	}
	s = a.step(c)
	s.Load = float64(rate)
	read := a.beside(func(b *attempt) int64 {
		if b.id.Kind == traces.Map && b.isFar() == a.isFar() && b.level >= traces.LevelNode {
			return b.bytes
		}
		return 0
	})
	return s, traces.Time(min(read/s.Load*1e9, float64(whole)))
}

// beside is how many bytes the attempts of a node moved in the time of one of them: its own, and of each other
// in proportion to the time that they share.
func (a *attempt) beside(bytes func(*attempt) int64) (sum float64) {
	for _, b := range a.node.ran {
		if both := min(a.end, b.end) - max(a.since, b.since); both > 0 {
			sum += float64(max(0, bytes(b))) * float64(both) / float64(b.end-b.since)
		}
	}
	return sum
}

// fetched returns how long the reduces of a job had to fetch after the last map, at least: what
// lay before a link then, of all that came from maps as they ended, and left at the link's rate. What they
// write leaves their node, too, if HDFS keeps several replicas.
func (w *Reader) fetched(a *attempt, whole traces.Time) (s Step, x traces.Time) {
	s = a.step(link)
	j, reduces := a.job, w.groups[a.groups()[0]].all
	first := slices.MinFunc(reduces, func(a, b *attempt) int { return cmp.Compare(a.start, b.start) }).start
	// Over the link of a node or rack go the bytes that reduces on one side of it fetch from maps on the other.
	over := func(name string, rate int64, inside func(*node) bool) {
		if rate <= 0 {
			return
		}
		each, left, t := 0.0, 0.0, first
		for _, r := range reduces {
			if inside(r.node) == inside(a.node) {
				each += float64(max(0, r.bytes)) / float64(len(j.mapEnds))
			}
		}
		pass := func(until traces.Time) {
			left, t = max(0, left-float64(rate)*float64(until-t)/1e9), until
		}
		for _, m := range j.mapEnds[:after(j.mapEnds, a.since)] {
			if inside(m.node) != inside(a.node) {
				pass(max(first, m.end))
				left += each
			}
		}
		pass(max(t, a.since))
		if d := traces.Time(min(left/float64(rate)*1e9, float64(whole))); d > x {
			x, s.Load, s.Node = d, float64(rate), traces.Node(name)
		}
	}
	for _, n := range append([]*node{a.node}, w.names...) { // of links that took as long, its own
		over(string(n.Node), n.link, func(m *node) bool { return m == n })
		over(n.Rack, w.uplinks[n.Rack], func(m *node) bool { return m.Rack == n.Rack })
	}
	if rate := float64(a.node.link); w.copied && rate > 0 {
		x += traces.Time(min(a.beside(func(b *attempt) int64 { return b.written })/rate*1e9, float64(whole)))
		if s.Load == 0 {
			s.Load = rate
		}
	}
	return s, x
}

// lostStep is the time of an attempt that did not succeed.
func (w *Reader) lostStep(a *attempt) Step {
	says := func(what string) bool { return strings.Contains(a.text, what) }
	switch {
	case says(traces.KilledForMaps):
		return a.step(reducesHold)
	case says(traces.KilledByYARN):
		return a.step(preempted)
	case says(traces.KilledWithNode), says(traces.KilledOnLost), a.node.lostIn(a.start, a.end) > never:
		return a.step(nodeLost)
	case says(traces.KilledWithOwner):
		return a.step(masterLost)
	case a.outcome == traces.Failed:
		return a.step(failed)
	case says(traces.KilledAsSlower), slices.ContainsFunc(w.task(a.id.Task).tries, func(b *attempt) bool {
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
func (w *Reader) besideStep(a *attempt) Step {
	s := a.step(speculation)
	s.Other = a.before.id
	if others := w.slowOn(a.before); others > 0 {
		s = a.before.step(slowNode)
		s.Typical = others
	}
	return s
}
