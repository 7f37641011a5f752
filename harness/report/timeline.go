package report

import (
	"errors"
	"fmt"
	"iter"
	"slices"

	"heddle/harness/compare"
	"heddle/harness/doc"
	"heddle/harness/measure"
	"heddle/harness/report/lanes"
	"heddle/harness/why"
	"heddle/traces"
	"heddle/traces/exchange"
	"heddle/traces/tracefile"
)

// Sizes of the timeline in a page of at most 5 MB.
const (
	mostBars     = 120_000   // attempts that are drawn one by one
	mostReasons  = 20_000    // attempts of a trial for which the page says why they ran where they did
	mostTimeline = 2_600_000 // bytes of all its trials
)

// timeline has the trials and traces on one time axis: first the median trials of the
// two models that the trials tell apart best, or the traces, then others that a reader
// can choose, as long as there is room. All traces are read for the times of their maps.
func (p *page) timeline() (doc.Doc, error) {
	line := lanes.New(lanes.Options{MaxAttempts: mostBars})
	var first []trial
	rest := p.trials(&first)
	all := slices.Concat(first, rest)
	times := map[[2]string][]*measure.MapTimes{}
	var order [][2]string
	left := 0
	for i := range all {
		x := &all[i]
		to := line
		if i >= 2 && size(line) > mostTimeline {
			to, left = nil, left+1
		}
		if x.figures.List != nil {
			continue // of which nothing has run
		}
		maps, err := p.add(to, x, fmt.Sprintf("trace %d of %d, %s", i+1, len(all), x.name))
		if err != nil {
			return nil, err
		}
		key := [2]string{x.workload, x.model}
		if times[key] == nil {
			order = append(order, key)
		}
		times[key] = append(times[key], maps)
	}
	for _, key := range order {
		p.addMaps(key[0], key[1], times[key])
	}
	if line.Trials() == 0 {
		return nil, nil
	}
	d := doc.Doc{doc.Heading("Timeline"), &doc.Embed{HTML: line.WriteHTML, Script: lanes.Script(), Style: lanes.Style()}}
	if left > 0 {
		d = append(d, doc.Notes{fmt.Sprintf("%d trials are not in the timeline, which would make the page too large", left)})
	}
	return d, nil
}

// trial is a trial or trace of the timeline.
type trial struct {
	name, workload, model string
	repeat                int
	recorded              bool
	figures               *measure.Figures
	path                  string
	imported              bool // the trace is in the format of another tool
	explained             bool // the page says what was slow in it
}

// trials returns the trials that have traces, in the order in which the timeline takes
// them. Those that it shows at first are appended to first.
func (p *page) trials(first *[]trial) (rest []trial) {
	for _, t := range p.traces {
		x := trial{
			name: t.name, workload: t.workload, model: t.name, repeat: 1, path: t.path, imported: t.format != "", figures: t.figures,
			recorded: p.compared != nil, explained: true,
		}
		if p.compared == nil {
			*first = append(*first, x)
		} else {
			rest = append(rest, x)
		}
	}
	if p.compared == nil {
		return rest
	}
	of := func(c compare.Chosen) trial {
		return trial{
			name: c.Name, workload: c.Workload, model: c.Model, path: c.TracePath(), repeat: c.Repeat, figures: c.Figures,
			recorded: c.Recorded(),
		}
	}
	seen := map[string]bool{}
	take := func(list *[]trial, c compare.Chosen, median bool) {
		if x := of(c); x.path != "" && !seen[x.path] && !p.given(c) {
			seen[x.path], x.explained = true, median
			*list = append(*list, x)
		}
	}
	workload, a, b := p.compared.Clearest()
	for _, model := range []string{a, b} {
		if c, ok := p.compared.Median(workload, model); ok {
			take(first, c, true)
		}
	}
	for _, w := range p.compared.Workloads() {
		for _, model := range p.compared.AllModels() {
			if c, ok := p.compared.Median(w, model); ok {
				take(&rest, c, true)
			}
		}
	}
	for _, c := range p.compared.AllTrials() {
		take(&rest, c, false)
	}
	return rest
}

// lane returns how the timeline is told of a trial.
func (x *trial) lane(h traces.Header) lanes.Trial {
	file := x.path
	if x.imported { // no command of heddle cuts it
		file = ""
	}
	return lanes.Trial{Name: x.name, Workload: x.workload, Model: x.model, Repeat: x.repeat, Recorded: x.recorded, Header: h, File: file}
}

// few reports whether the timeline has so few attempts of a trial that it says of each why
// it ran where it did.
func (x *trial) few() bool {
	a := x.figures.Attempts
	return a.OK+a.Failed+a.Killed <= mostReasons
}

// addWith adds a trial to a timeline with the reasons of its attempts. It changes the times of the events
// to those of the timeline.
func (x *trial) addWith(line *lanes.Timeline, h traces.Header, events []traces.Event) {
	lane := x.lane(h)
	var all map[traces.Attempt]*why.Explanation
	lane.Why = func(a traces.Attempt) []string {
		if all == nil { // the timeline has read the events
			begin := firstSubmission(events)
			for _, e := range events {
				traces.ShiftTimes(e, -begin)
			}
			all = why.Read(&h, slices.Values(events))
		}
		if reasons := all[a]; reasons != nil {
			return reasons.Sentences()
		}
		return nil
	}
	line.Add(lane, slices.Values(events))
}

// add reads the trace of a trial, adds it to the timeline, if there is one, and returns the
// times of its maps.
func (p *page) add(line *lanes.Timeline, x *trial, name string) (*measure.MapTimes, error) {
	r, _, err := exchange.Any(p.ctx, x.path, nil)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	maps := &measure.MapTimes{}
	slow := p.slowReader(x, r.Header())
	var interrupted error
	each := p.watched(name, &interrupted, func(yield func(traces.Event) bool) {
		for e := range r.All() {
			maps.Add(e)
			if slow != nil {
				slow.Add(e)
			}
			if !yield(e) {
				return
			}
		}
	})
	switch {
	case line == nil:
		for range each { // for the times of its maps
		}
	case x.few():
		r.KeepEvents()
		x.addWith(line, r.Header(), slices.Collect(each))
	default:
		line.Add(x.lane(r.Header()), each)
	}
	var damage *tracefile.DamageError
	if err := r.Err(); err != nil && !errors.As(err, &damage) { // what reads its figures has said that it is damaged
		return nil, err
	}
	p.addSlow(x, slow)
	return maps, interrupted
}

// watched returns events that tell the progress of reading them, and end when the command
// is interrupted.
func (p *page) watched(name string, interrupted *error, events iter.Seq[traces.Event]) iter.Seq[traces.Event] {
	return func(yield func(traces.Event) bool) {
		n := 0
		for e := range events {
			if n%tellEvery == 0 {
				if *interrupted = p.ctx.Err(); *interrupted != nil {
					return
				}
				p.Progress(fmt.Sprintf("read %s: %d events", name, n))
			}
			n++
			if !yield(e) {
				return
			}
		}
	}
}

// firstSubmission returns the time from which a timeline counts.
func firstSubmission(events []traces.Event) traces.Time {
	for _, e := range events {
		if e.Kind().Begins() {
			return e.At()
		}
	}
	return 0
}

// size returns how many bytes a timeline takes in the page.
func size(line *lanes.Timeline) int {
	var n counter
	_ = line.WriteHTML(&n) // counting does not fail
	return int(n)
}

type counter int

func (n *counter) Write(p []byte) (int, error) {
	*n += counter(len(p))
	return len(p), nil
}
