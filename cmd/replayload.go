package cmd

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"heddle/harness/experiment"
	"heddle/harness/measure"
	"heddle/harness/replay"
	"heddle/harness/replay/recorded"
	"heddle/traces"
	"heddle/traces/exchange"
	"heddle/traces/tracefile"
)

// loadTraces reads traces, and what each says of its own run, nil if it says nothing.
func loadTraces(
	c *cli.Context, o *replayOptions, p *progress, files []string, kept *experiment.Replays,
) (list []*recorded.Trace, were []*replay.Outcome, err error) {
	var topologies []string
	paths := slices.DeleteFunc(slices.Clone(files), func(path string) bool {
		topology := exchange.IsTopology(c.Context, path)
		if topology {
			topologies = append(topologies, path)
		}
		return topology
	})
	if len(paths) == 0 {
		return nil, nil, fmt.Errorf("there is no trace among the files, only topologies: %s", strings.Join(topologies, ", "))
	}
	for _, path := range paths {
		t, was, err := loadTrace(c, o, p, path, topologies, kept)
		if err != nil {
			return nil, nil, err
		}
		warn(t.Warnings...)
		list, were = append(list, t), append(were, was)
	}
	return list, were, nil
}

// loadTrace reads a trace in any format, or a folder of histories. It says what the
// import of another tool's trace made up.
func loadTrace(
	c *cli.Context, o *replayOptions, p *progress, path string, topologies []string, kept *experiment.Replays,
) (*recorded.Trace, *replay.Outcome, error) {
	path, err := traceOf(c, path)
	if err != nil && !errors.Is(err, errNoRun) {
		return nil, nil, err
	}
	var r *tracefile.Reader
	var imported *exchange.Imported
	if info, serr := os.Stat(path); serr != nil || !info.Mode().IsRegular() && !info.IsDir() {
		r, err = tracefile.Open(path) // a pipe can be opened only once, so it cannot be asked for its format first
	} else {
		r, imported, err = exchange.Any(c.Context, path, func(x *exchange.ImportOptions) {
			x.Inputs, x.Progress, x.Partial = append(x.Inputs, topologies...), p.imported(), o.Partial
		})
	}
	if err != nil {
		return nil, nil, err
	}
	defer r.Close()
	if imported == nil && len(topologies) > 0 {
		return nil, nil, fmt.Errorf("%s: it is a trace of heddle, which has its nodes: %s is for traces of other tools",
			path, topologies[0])
	}
	if imported != nil {
		imported.Output = path
		fmt.Fprint(c.App.ErrWriter, importedText(imported, false))
		warn(imported.LeftOut...)
	}
	figures, keep := measure.New(r.Header()), kept.Trace(path, r)
	events := 0
	also := func(e traces.Event, counted bool) {
		if !counted {
			figures.Add(e)
			keep(e)
		}
		if events++; events%4096 == 0 {
			n := events
			p.show(func() []string { return []string{fmt.Sprintf("read %d events of %s", n, path)} })
		}
	}
	var t *recorded.Trace
	if onlyTable(c, o) && !o.Follow && o.Against == "" {
		var counts recorded.Counts
		t, counts, err = recorded.ReadBrief(path, r, also)
		figures.AddCounted(counts.Schedule, counts.Maps)
	} else {
		read := recorded.Read
		if o.Against != "" && o.Calibration == "" {
			read = recorded.ReadContainers
		}
		t, err = read(path, r, func(e traces.Event) { also(e, false) })
	}
	if err != nil {
		return nil, nil, err
	}
	of := figures.Figures()
	of.TraceDigest = r.TraceDigest()
	return t, replay.Recorded(t, of), nil
}
