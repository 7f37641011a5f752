package report

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"heddle/harness/doc"
	"heddle/harness/measure"
	"heddle/harness/results"
	"heddle/traces"
	"heddle/traces/exchange"
	"heddle/traces/printable"
	"heddle/traces/tracefile"
)

// reading is what was read of a trace.
type reading struct {
	path, file, format, sha256 string
	name, workload             string // as what it stands beside the models of runs
	trial, repeat              string // of a run that replays it: the trial in whose place it stands, and its repeat
	bytes                      int64
	header                     traces.Header
	figures                    *measure.Figures
	warnings                   []string
}

// tellEvery is after how many events progress is told.
const tellEvery = 20_000

// read reads a trace, in any format, to its end.
func (p *page) read(path string) (*reading, error) {
	t := &reading{path: path, file: filepath.Base(path)}
	r, imported, err := exchange.Any(p.ctx, path, nil)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	if imported != nil {
		t.format, t.warnings = imported.Format, imported.LeftOut
	}
	t.header = r.Header()
	collect := measure.New(t.header)
	var interrupted error
	for e := range p.watched(t.file, &interrupted, r.All()) {
		collect.Add(e)
	}
	if interrupted != nil {
		return nil, interrupted
	}
	var damage *tracefile.DamageError
	if err := r.Err(); errors.As(err, &damage) {
		t.warnings = append(t.warnings, fmt.Sprintf("%v: only the part of the trace before that is used", err))
	} else if err != nil {
		return nil, err
	}
	t.figures = collect.Figures()
	t.figures.TraceDigest = r.TraceDigest()
	var known []string
	if p.compared != nil {
		known = p.compared.MadeUp()
	}
	t.warnings = append(t.warnings, t.figures.Doubts(known...)...)
	if err := results.Classify(path, t.figures); err != nil {
		t.warnings = append(t.warnings, printable.OneLine(err.Error()))
	}
	if info, err := os.Stat(path); err == nil && info.IsDir() && len(t.header.Inputs) > 0 {
		t.sha256 = t.header.Inputs[0].SHA256 // of the files' hashes
		return t, nil
	}
	info, err := os.Stat(path)
	if err == nil {
		t.bytes = info.Size()
		t.sha256, err = tracefile.SHA256(path)
	}
	return t, err
}

// properties are those of jobs whose distributions are drawn: of a list, of which nothing
// has run, how large jobs are.
func (t *reading) properties() []*measure.Property {
	if t.figures.List != nil {
		return measure.SizeProperties()
	}
	return measure.JobProperties()
}

// facts are what is known of a trace at first sight.
func (t *reading) facts() doc.Facts {
	f, h := t.figures, &t.header
	list := doc.Facts{
		{Name: "trace", Value: t.file},
		{Name: "origin", Value: strings.TrimSuffix(string(h.Origin)+" from "+t.format, " from ")},
		{Name: "jobs", Value: fmt.Sprint(f.Jobs)},
		{Name: "maps", Value: fmt.Sprint(f.Maps)},
		{Name: "reduces", Value: fmt.Sprint(f.Reduces)},
		{Name: "nodes", Value: fmt.Sprint(len(f.Nodes))},
		{Name: "over", Value: doc.DurationText(f.DurationMs)},
	}
	if n := f.Applications(); n > 0 {
		list[2] = doc.Fact{Name: "of Spark", Value: fmt.Sprint(n)}
		list[3] = doc.Fact{Name: "jobs", Value: fmt.Sprint(f.Jobs - n)}
		list[4] = doc.Fact{Name: "attempts", Value: fmt.Sprint(f.Attempts.OK + f.Attempts.Failed + f.Attempts.Killed)}
	}
	if h.Model != "" {
		list = append(list, doc.Fact{Name: "model", Value: h.Model})
	}
	return list
}

// provenance says where a trace is from.
func (t *reading) provenance() *doc.Table {
	x := doc.NewTable(t.file, "", "")
	row := func(name, text string) {
		if text != "" {
			x.Add(name, text)
		}
	}
	h := &t.header
	row("file", t.path)
	row("bytes", fmt.Sprint(t.bytes))
	row("SHA-256", t.sha256)
	row("origin", string(h.Origin))
	row("format", t.format)
	row("written by", h.Writer)
	row("cluster", h.Cluster.Name)
	row("model", h.Model)
	row("actuator", h.Actuator)
	row("schedule digest", strings.Trim(cmp.Or(t.figures.ScheduleDigest, "-"), "0"))
	row("trace digest", t.figures.TraceDigest)
	return x
}
