package cmd

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"heddle/harness/capture"
	"heddle/harness/measure"
	"heddle/harness/results"
	"heddle/harness/runs"
	"heddle/traces"
	"heddle/traces/printable"
	"heddle/traces/tracefile"
)

type (
	copyOptions struct {
		Output string `flag:"output,o" text:"write to FILE, which must not exist" of:"FILE"`
		asJSON
	}
	cutOptions struct {
		copyOptions
		From time.Duration `flag:"from" text:"jobs submitted at TIME after the start or later" of:"TIME"`
		To   time.Duration `flag:"to" text:"jobs submitted before TIME after the start" of:"TIME" without:"all"`
		Job  []string      `flag:"job" list:"," text:"this job ID; may be given again" of:"ID"`
	}
)

func traceCommand() *cli.Command {
	return parent("trace", reader("trace info", &printed{}, withTrace(traceInfo)),
		reader("trace why", &asJSON{}, explainTask),
		reader("trace check", &asJSON{}, withTrace(traceCheck)),
		reader("trace repair", &copyOptions{}, withTrace(traceRepair)),
		reader("trace cut", &cutOptions{}, withTrace(traceCut)),
		traceImport(),
		reader("trace export", &traceExportOptions{}, withTrace(exportTrace)))
}

// fileInfo is what "heddle trace info" prints as JSON.
type fileInfo struct {
	*measure.Figures
	// Complete is false if the captured run was cut short, or if the end of the
	// trace is missing. A trace in JSON Lines does not say this, so its output
	// lacks this field.
	Complete *bool    `json:"complete,omitempty"`
	Warnings []string `json:"warnings,omitempty"`
}

func traceInfo(c *cli.Context, _ *printed, path string) error {
	r, err := tracefile.Open(path)
	if err != nil {
		return err
	}
	defer r.Close()
	info := fileInfo{Figures: measure.Of(r.Header(), r.All())}
	info.TraceDigest = r.TraceDigest()
	if err := results.Classify(path, info.Figures); err != nil {
		info.Warnings = append(info.Warnings, err.Error())
	}
	var damage *tracefile.DamageError
	switch err := r.Err(); {
	case errors.As(err, &damage):
		info.Complete = new(bool)
		info.Warnings = append(info.Warnings, err.Error())
	case err != nil:
		return err
	case r.Footer() != nil:
		info.Complete = &r.Footer().Complete
		if !r.Footer().Complete {
			info.Warnings = append(info.Warnings, "the trace is not complete: "+r.Footer().Reason)
		}
	}
	if n := r.Foreign(); n > 0 {
		info.Warnings = append(info.Warnings,
			fmt.Sprintf("%d events are of kinds, or have fields, that this version of heddle does not know: these figures lack them", n))
	}
	if !wantsJSON(c) {
		warn(info.Warnings...)
	}
	if err = show(c, info); err == nil && damage != nil && !damage.CutOff {
		return failed(fmt.Errorf("trace %s is damaged: these are the figures of what comes before it", path))
	}
	return err
}

func traceCheck(c *cli.Context, _ *asJSON, path string) error {
	r, err := tracefile.Check(path)
	if err != nil {
		return err
	}
	err = printText(c, r, reportText(r))
	if err == nil && len(r.Damage) > 0 {
		next := "\"heddle trace repair " + path + "\" keeps what is whole"
		if r.Damage[0].Line > 0 {
			next = "delete these lines"
		}
		err = failed(fmt.Errorf("trace %s is damaged in %d places; %s", path, len(r.Damage), next))
	} else if n := int64(len(r.Impossible)) + r.DroppedImpossible; err == nil && n > 0 {
		err = failed(fmt.Errorf("trace %s has %d values that cannot be: make it again from what it was made of, or leave the jobs "+
			"out with \"heddle trace cut\"", path, n))
	}
	return err
}

func reportText(r tracefile.Report) string {
	var b strings.Builder
	printable.Fprintf(&b, "%d events in %d blocks\n", r.Events, r.Blocks)
	for _, f := range r.Damage {
		printable.Fprintf(&b, "damage: %v\n", f)
	}
	for _, f := range r.Impossible {
		printable.Fprintf(&b, "impossible: %v\n", f)
	}
	if r.DroppedImpossible > 0 {
		printable.Fprintf(&b, "impossible: %d more like these\n", r.DroppedImpossible)
	}
	for _, f := range r.Warnings {
		printable.Fprintf(&b, "warning: %v\n", f)
	}
	if r.DroppedWarnings > 0 {
		printable.Fprintf(&b, "warning: %d more like these\n", r.DroppedWarnings)
	}
	if r.Foreign > 0 {
		printable.Fprintf(&b, "%d events are of kinds, or have fields, that this version of heddle does not know: digests not "+
			"checked\n", r.Foreign)
	}
	switch {
	case len(r.Damage)+len(r.Impossible) > 0:
	case r.Reason != "":
		printable.Fprintf(&b, "no damage; not complete: %s\n", r.Reason)
	default:
		fmt.Fprintln(&b, "no damage")
	}
	return b.String()
}

func traceRepair(c *cli.Context, o *copyOptions, path string) error {
	r, err := capture.Repair(path, cmp.Or(o.Output, path+".repaired"))
	if err != nil {
		return err
	}
	text := printable.Sprintf("%s has the %d events of %d whole blocks; %v\n", r.To, r.Events, r.Blocks, r)
	switch {
	case r.To == "":
		text = printable.Sprintf("%s is not damaged: nothing to repair\n", path)
	case r.Histories > 0:
		text = printable.Sprintf("%s has %d events, of %d whole blocks and of the histories of %s; %v\n", r.To, r.Events,
			r.Blocks, printable.Count(r.Histories, "job"), r)
	}
	return printText(c, r, text)
}

func traceCut(c *cli.Context, o *cutOptions, path string) error {
	if o.Output == "" {
		return errors.New("trace cut needs --output FILE")
	}
	piece := tracefile.Piece{From: traces.Time(o.From), To: traces.Time(o.To)}
	for _, id := range o.Job {
		piece.Jobs = append(piece.Jobs, traces.JobID(id))
	}
	jobs, err := tracefile.Cut(path, o.Output, piece)
	if err != nil {
		return err
	}
	return printText(c, cutPiece{o.Output, jobs}, printable.Sprintf("%s has %s\n", o.Output, printable.Count(jobs, "job")))
}

// cutPiece is what "heddle trace cut" prints as JSON.
type cutPiece struct {
	Output string `json:"output"`
	Jobs   int    `json:"jobs"`
}

// withTrace makes an action of a function that gets the path of the only argument, a
// trace.
func withTrace[O any](action func(c *cli.Context, o *O, path string) error) func(*cli.Context, *O, []string) error {
	return func(c *cli.Context, o *O, args []string) error {
		path, err := traceOf(c, args[0])
		if err != nil {
			return err
		}
		return action(c, o, path)
	}
}

// mostTracesNamed is the largest number of a run's traces that a message names.
const mostTracesNamed = 40

// errNoRun is the error for a folder that is no run.
var errNoRun = errors.New("want the file of a trace, or the folder of a run; " +
	`"heddle trace import" makes a trace of a folder of job histories`)

// traceOf returns the path of a trace. The user may also name the folder of a run
// that has only one.
func traceOf(c *cli.Context, path string) (string, error) {
	if info, err := os.Stat(path); err != nil || !info.IsDir() {
		return path, nil // if there is no such file, reading it says so
	}
	run, err := runs.Open(path)
	if err != nil && !errors.Is(err, runs.ErrNotRun) {
		return "", err
	}
	if err != nil {
		return path, fmt.Errorf("%s is a folder and no run; %w", path, errNoRun)
	}
	switch list := results.Traces(run); len(list) {
	case 0:
		return "", fmt.Errorf("run %s has no traces; 'heddle runs show %s' prints what it has, and 'heddle replay --traces' keeps "+
			"the traces of replays", path, path)
	case 1:
		return list[0], nil
	default:
		text := fmt.Sprintf("run %s has %d traces; want one of them, such as", path, len(list))
		for _, trace := range list[:min(len(list), mostTracesNamed)] {
			text += "\n  " + commandName(c) + " " + trace
		}
		return "", errors.New(text)
	}
}
