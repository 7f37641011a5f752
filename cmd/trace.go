package cmd

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/urfave/cli/v2"

	"heddle/harness/capture"
	"heddle/harness/measure"
	"heddle/harness/results"
	"heddle/harness/runs"
	"heddle/traces"
	"heddle/traces/printable"
	"heddle/traces/tracefile"
)

func traceCommand() *cli.Command {
	asJSON := jsonFlag()
	output := &cli.StringFlag{Name: "output", Aliases: []string{"o"}, Usage: "write to `FILE`, which must not exist"}
	return &cli.Command{
		Name:  "trace",
		Usage: "look into traces, say why tasks ran where they did, check, repair, cut, import and export them",
		Description: `A TRACE is a trace file or its export in JSON Lines. For example:

   heddle trace info run.trace
   heddle trace check --json run.trace
   heddle trace export --jsonl run.trace | jq 'select(.kind == "attemptStarted")'`,
		Subcommands: []*cli.Command{
			{
				Name: "info", Usage: "jobs, tasks, locality, phases and node use in figures", ArgsUsage: "TRACE",
				Description: "For example:\n\n   heddle trace info runs/first/trials/r01-wordcount-yarn/trace.heddle",
				Flags:       []cli.Flag{tableFlag(), asJSON}, Action: withTrace(traceInfo),
			},
			traceWhyCommand(),
			{
				Name: "check", Usage: "read every byte; say what is damaged, cannot be, or contradicts itself; code 1 for the first two", ArgsUsage: "TRACE",
				Description: "For example:\n\n   heddle trace check day.trace",
				Flags:       []cli.Flag{asJSON}, Action: withTrace(traceCheck),
			},
			{
				Name: "repair", Usage: "keep what is whole of a damaged trace", ArgsUsage: "TRACE",
				Description: `Writes a new file (TRACE.repaired unless --output says otherwise); TRACE stays as it is. Of the
trace.heddle.part that a killed trial leaves it makes a trace with the histories of the jobs that had ended. For
example:

   heddle trace repair -o mended.trace runs/first/trials/r02-wordcount-yarn.partial/trace.heddle.part`,
				Flags: []cli.Flag{asJSON, output}, Action: withTrace(traceRepair),
			},
			{
				Name: "cut", Usage: "copy some jobs of a trace", ArgsUsage: "TRACE",
				Description: `Keeps whole jobs, and what is known of nodes and blocks up to their end. For example:

   heddle trace cut --from 10m --to 20m -o piece.trace run.trace`,
				Flags: []cli.Flag{
					asJSON, output,
					&cli.DurationFlag{Name: "from", Usage: "jobs submitted at `TIME` after the start or later"},
					&cli.DurationFlag{Name: "to", Usage: "jobs submitted before `TIME` after the start (0 = all)"},
					&cli.StringSliceFlag{Name: "job", Usage: "this job `ID`; may be given again"},
				},
				Action: withTrace(traceCut),
			},
			traceImport(),
			traceExportCommand(),
		},
	}
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

func traceInfo(c *cli.Context, path string) error {
	r, err := tracefile.Open(path)
	if err != nil {
		return withCode(exitUsage, err)
	}
	defer r.Close()
	info := fileInfo{Figures: measure.Of(r.Header(), r.All())}
	if err := results.Classify(path, info.Figures); err != nil {
		info.Warnings = append(info.Warnings, err.Error())
	}
	var damage *tracefile.DamageError
	switch err := r.Err(); {
	case errors.As(err, &damage):
		info.Complete = new(bool)
		info.Warnings = append(info.Warnings, err.Error())
	case err != nil:
		return withCode(exitUsage, err)
	case r.Footer() != nil:
		info.Complete = &r.Footer().Complete
		if !r.Footer().Complete {
			info.Warnings = append(info.Warnings, "the trace is not complete: "+r.Footer().Reason)
		}
	}
	if n := r.Foreign(); n > 0 {
		info.Warnings = append(info.Warnings, fmt.Sprintf("%d events are of kinds, or have fields, that this version of heddle does not know: these figures lack them", n))
	}
	if !wantsJSON(c) {
		warn(info.Warnings...)
	}
	if err = printDoc(c, info, info.Doc()); err == nil && damage != nil && !damage.CutOff {
		return fmt.Errorf("trace %s is damaged: these are the figures of what comes before it", path)
	}
	return err
}

func traceCheck(c *cli.Context, path string) error {
	r, err := tracefile.Check(path)
	if err != nil {
		return withCode(exitUsage, err)
	}
	err = printResult(c, r, func(out io.Writer) error { return printReport(out, r) })
	if err == nil && len(r.Damage) > 0 {
		err = fmt.Errorf("trace %s is damaged in %d places; \"heddle trace repair %s\" keeps what is whole", path, len(r.Damage), path)
	} else if n := int64(len(r.Impossible)) + r.DroppedImpossible; err == nil && n > 0 {
		err = fmt.Errorf("trace %s has %d values that cannot be: make it again from what it was made of, or leave the jobs out with \"heddle trace cut\"", path, n)
	}
	return err
}

func printReport(out io.Writer, r tracefile.Report) error {
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
		printable.Fprintf(&b, "%d events are of kinds, or have fields, that this version of heddle does not know: digests not checked\n", r.Foreign)
	}
	switch {
	case len(r.Damage)+len(r.Impossible) > 0:
	case r.Reason != "":
		printable.Fprintf(&b, "no damage; not complete: %s\n", r.Reason)
	default:
		fmt.Fprintln(&b, "no damage")
	}
	_, err := io.WriteString(out, b.String())
	return err
}

func traceRepair(c *cli.Context, path string) error {
	to := c.String("output")
	if to == "" {
		to = path + ".repaired"
	}
	r, err := capture.Repair(path, to)
	if err != nil {
		return withCode(copyCode(err), err)
	}
	if c.Bool("json") {
		return printJSON(c.App.Writer, r)
	}
	switch {
	case r.To == "":
		_, err = printable.Fprintf(c.App.Writer, "%s is not damaged: nothing to repair\n", path)
	case r.Blocks == 0: // a trace without blocks is in JSON Lines
		_, err = printable.Fprintf(c.App.Writer, "%s has %d events, a line each; %v\n", r.To, r.Events, r)
	default:
		what := fmt.Sprintf("the %d events of %d whole blocks", r.Events, r.Blocks)
		if r.Histories > 0 {
			what = fmt.Sprintf("%d events, of %d whole blocks and of the histories of %s", r.Events, r.Blocks, printable.Count(r.Histories, "job"))
		}
		_, err = printable.Fprintf(c.App.Writer, "%s has %s; %v\n", r.To, what, r)
	}
	return err
}

func traceCut(c *cli.Context, path string) error {
	to := c.String("output")
	if to == "" {
		return withCode(exitUsage, errors.New("trace cut needs --output FILE"))
	}
	piece := tracefile.Piece{From: traces.Time(c.Duration("from")), To: traces.Time(c.Duration("to"))}
	for _, id := range several(c, "job") {
		piece.Jobs = append(piece.Jobs, traces.JobID(id))
	}
	jobs, err := tracefile.Cut(path, to, piece)
	if err != nil {
		return withCode(copyCode(err), err)
	}
	result := cutPiece{to, jobs}
	return printResult(c, result, func(out io.Writer) error {
		_, err := printable.Fprintf(out, "%s has %s\n", result.Output, printable.Count(result.Jobs, "job"))
		return err
	})
}

// cutPiece is one part of a trace that was cut in parts, as "heddle trace cut"
// prints it as JSON.
type cutPiece struct {
	Output string `json:"output"`
	Jobs   int    `json:"jobs"`
}

// copyCode returns the exit code for an error of copying a trace. It is the
// code for bad input if the trace cannot be read, and the code for failed work
// if the copy cannot be written.
func copyCode(err error) int {
	if _, ok := errors.AsType[*tracefile.WriteError](err); ok {
		return exitFailed
	}
	return exitUsage
}

// withTrace makes an action of a function that gets the path of the only argument, a
// trace.
func withTrace(action func(c *cli.Context, path string) error) cli.ActionFunc {
	return withArgument("TRACE", func(c *cli.Context, arg string) error {
		path, err := traceOf(c, arg)
		if err != nil {
			return withCode(exitUsage, err)
		}
		return action(c, path)
	})
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
		return "", fmt.Errorf("run %s has no traces; 'heddle runs show %s' prints what it has, and 'heddle replay --traces' keeps the traces of replays", path, path)
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
