package exchange

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"heddle/traces"
	"heddle/traces/printable"
)

// noJobs returns the error for input files without jobs. The message says how
// many records were read and which defects were found.
func (im *importer) noJobs() error {
	if len(im.Log.Counts()) == 0 {
		return fmt.Errorf("import: there is no job in the files: %d records were read; no trace is written", im.Records)
	}
	return fmt.Errorf("import: no job is left of the files: %d records were read whole; no trace is written\n  %s",
		im.Records, strings.Join(im.mended(func(string) bool { return true }), "\n  "))
}

// mended says how often each kind of defect was found, and where first.
func (im *importer) mended(which func(kind string) bool) (list []string) {
	for _, kind := range slices.Sorted(maps.Keys(im.Log.Counts())) {
		if which(kind) {
			times := printable.Count(im.Log.Counts()[kind], "time")
			list = append(list, fmt.Sprintf("%s: %s; first at %s", times, kind, im.Log.First(kind)))
		}
	}
	return list
}

// tooFew returns an error if too many jobs are left out.
func (im *importer) tooFew() error {
	lost := im.Log.LostJobs
	if lost <= 1 || 100*lost <= im.jobs+lost {
		return nil
	}
	return fmt.Errorf("import: %d of about %d jobs are left out, more than 1 %%; no trace is written; "+
		"go on without them with --partial\n  %s",
		lost, im.jobs+lost, strings.Join(im.mended(im.Log.Loses), "\n  "))
}

// write completes the header and writes the trace to the output file.
func (im *importer) write() error {
	h := &im.header
	h.Origin, h.Model = im.formats[0].Origin, im.formats[0].Model
	h.Writer, h.Seed, h.Mended = im.o.Writer, im.o.Seed, im.Log.Counts()
	h.Settings = map[string]string{"import.form": im.names()}
	if im.o.Nodes > 0 {
		if len(im.nodes.seen) > 0 {
			return errors.New("import: the jobs name their hosts, so no cluster can be made up")
		}
		h.Synthetic = append(h.Synthetic, "nodes")
	}
	h.Cluster.Nodes = im.nodes.facts()
	var change func(*traces.TaskScheduled)
	for _, r := range im.readers {
		var err error
		if change, err = r.Finish(h); err != nil {
			return err
		}
	}
	by := traces.Time(0) // by which all times move, so that the first job is submitted at Time 0
	if im.submitted >= datedNs && im.submitted < math.MaxInt64 {
		by = -im.submitted
		h.StartUnixNs = int64(im.submitted)
	}
	written := int64(0)
	im.doing = "write"
	return im.sorter.WriteFile(im.o.Output, *h, func(e traces.Event) {
		if written++; written%tellEvery == 0 {
			im.tell(written, im.sorter.Count())
		}
		traces.ShiftTimes(e, by)
		switch e := e.(type) {
		case *traces.TaskScheduled:
			if change != nil && e.Task.Kind == traces.Map {
				change(e)
			}
		case *traces.AttemptStarted:
			if e.Rack = cmp.Or(im.Racks.Of(string(e.Node)), e.Rack); e.Rack == "" && e.Node != "" {
				im.racklessAttempts++
			}
		case *traces.AttemptFinished:
			if e.Node != "" && im.Racks.Of(string(e.Node)) == "" {
				im.racklessAttempts++
			}
		}
	})
}

// datedNs is a time in 1973, in ns since 1970. If the first job is submitted
// later, the times of the files count from 1970; otherwise they count from some
// other start.
const datedNs = 1e17
