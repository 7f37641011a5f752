package report

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"os"
	"slices"

	"heddle/harness/compare"
	"heddle/harness/config"
	"heddle/harness/doc"
	"heddle/harness/measure"
	"heddle/harness/report/lanes"
	"heddle/harness/results"
	"heddle/harness/why"
	"heddle/traces"
	"heddle/traces/exchange"
	"heddle/traces/tracefile"
)

// reading is what was read of a trace.
type reading struct {
	path, name, workload, format, sha256 string
	bytes                                int64
	header                               traces.Header
	figures                              *measure.Figures
	maps                                 *measure.MapTimes
	warnings                             []string

	kept []traces.Event // all events, if they are not too many
	many bool           // they are too many
}

// mostKept is how many events of a trace are kept in memory. A longer trace is read again.
const mostKept = 500_000

// tellEvery is after how many events progress is told.
const tellEvery = 20_000

// read reads a trace, in any format, to its end.
func read(ctx context.Context, path, name string, progress func(string)) (*reading, error) {
	t := &reading{path: path, name: name, maps: &measure.MapTimes{}}
	r, imported, err := exchange.Any(ctx, path, nil)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	if imported != nil {
		t.format = imported.Format
	}
	r.KeepEvents()
	t.header = r.Header()
	collect := measure.New(t.header)
	n := 0
	for e := range r.All() {
		if n%tellEvery == 0 {
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			progress(fmt.Sprintf("read %s: %d events", name, n))
		}
		n++
		collect.Add(e)
		t.maps.Add(e)
		if t.many = t.many || len(t.kept) >= mostKept; !t.many {
			t.kept = append(t.kept, e)
		}
	}
	if t.many {
		t.kept = nil
	}
	var damage *tracefile.DamageError
	if err := r.Err(); errors.As(err, &damage) {
		t.warnings = append(t.warnings, fmt.Sprintf("%v: only the part of the trace before that is used", err))
	} else if err != nil {
		return nil, err
	}
	t.figures = collect.Figures()
	t.warnings = append(t.warnings, t.figures.Doubts()...)
	if err := results.Classify(path, t.figures); err != nil {
		t.warnings = append(t.warnings, err.Error())
	}
	t.bytes, t.sha256, err = hashed(path)
	return t, err
}

func hashed(path string) (int64, string, error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, "", err
	}
	defer f.Close()
	h := sha256.New()
	n, err := io.Copy(h, f)
	return n, hex.EncodeToString(h.Sum(nil)), err
}

// again returns the events of the trace, from memory or from the file.
func (t *reading) again(ctx context.Context) (events iter.Seq[traces.Event], done func(), err error) {
	if !t.many {
		return slices.Values(t.kept), func() {}, nil
	}
	r, _, err := exchange.Any(ctx, t.path, nil)
	if err != nil {
		return nil, nil, err
	}
	return r.All(), func() { r.Close() }, nil
}

// Sizes of the timeline in a page of at most 5 MB.
const (
	mostBars     = 120_000   // attempts that are drawn one by one
	mostReasons  = 20_000    // attempts of a trial for which the page says why they ran where they did
	mostTimeline = 2_600_000 // bytes of all its trials
)

// timeline has the trials and traces on one time axis: first the median trials of the
// two models that the trials tell apart best, or the traces, then others that a reader
// can choose, as long as there is room.
func (p *page) timeline() (doc.Doc, error) {
	line := lanes.New(lanes.Options{MaxAttempts: mostBars})
	var first []trial
	rest := p.trials(&first)
	left := 0
	times := map[[2]string][]*measure.MapTimes{}
	var order [][2]string
	all := slices.Concat(first, rest)
	for i, x := range all {
		full := i >= 2 && size(line) > mostTimeline
		if full && x.read != nil {
			left++
			continue
		}
		t := x.read
		if t == nil {
			var err error
			if t, err = read(p.ctx, x.path, fmt.Sprintf("trace %d of %d, %s", i+1, len(all), x.name), p.Progress); err != nil {
				return nil, err
			}
			key := [2]string{x.workload, x.model}
			if times[key] == nil {
				order = append(order, key)
			}
			times[key] = append(times[key], t.maps)
		}
		if full {
			left++
			continue
		}
		if err := p.addLane(line, &x, t); err != nil {
			return nil, err
		}
		if x.read == nil {
			t.kept = nil
		}
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
	name, workload, model, path string
	repeat                      int
	recorded                    bool
	read                        *reading // nil: read it from path
}

// trials returns the trials that have traces, in the order in which the timeline takes
// them. Those that it shows at first are appended to first.
func (p *page) trials(first *[]trial) (rest []trial) {
	for _, t := range p.traces {
		x := trial{name: t.name, workload: t.workload, model: t.name, repeat: 1, read: t, recorded: p.compared != nil}
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
		return trial{name: c.Name, workload: c.Workload, model: c.Model, path: c.TracePath(), repeat: c.Repeat, recorded: recorded(c)}
	}
	seen := map[string]bool{}
	take := func(list *[]trial, c compare.Chosen) {
		if x := of(c); x.path != "" && !seen[x.path] {
			seen[x.path] = true
			*list = append(*list, x)
		}
	}
	workload, a, b := p.compared.Told()
	for _, model := range []string{a, b} {
		if c, ok := p.compared.Median(workload, model); ok {
			take(first, c)
		}
	}
	for _, w := range p.compared.Workloads() {
		for _, model := range p.compared.AllModels() {
			if c, ok := p.compared.Median(w, model); ok {
				take(&rest, c)
			}
		}
	}
	for _, c := range p.compared.AllTrials() {
		take(&rest, c)
	}
	return rest
}

// recorded reports whether a trial is the trace itself, beside its replays.
func recorded(c compare.Chosen) bool {
	return c.Figures.Model == config.ModelRecorded || c.Model == config.ModelRecorded
}

// addLane adds a trial to the timeline.
func (p *page) addLane(line *lanes.Timeline, x *trial, t *reading) error {
	attempts := t.figures.Attempts.OK + t.figures.Attempts.Failed + t.figures.Attempts.Killed
	lane := lanes.Trial{Name: x.name, Workload: x.workload, Model: x.model, Repeat: x.repeat, Recorded: x.recorded, Header: t.header}
	if t.format == "" {
		lane.File = t.path
	}
	if attempts <= mostReasons && !t.many {
		all, begin := why.Read(&t.header, slices.Values(t.kept)), firstSubmission(t.kept)
		lane.Why = func(a traces.Attempt) []string { return all.SentencesSince(a, begin) }
	}
	events, done, err := t.again(p.ctx)
	if err != nil {
		return err
	}
	defer done()
	line.Add(lane, events)
	return nil
}

// firstSubmission returns the time from which a timeline counts.
func firstSubmission(events []traces.Event) traces.Time {
	for _, e := range events {
		if s, ok := e.(*traces.JobSubmitted); ok {
			return s.T
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

// point is a point of a chart without an interval.
func point(v float64) doc.Point { return doc.Point{Value: v, Lo: math.Inf(-1), Hi: math.Inf(1)} }
