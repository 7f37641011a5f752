package cmd

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/urfave/cli/v2"

	"heddle/harness/doc"
	"heddle/harness/measure"
	"heddle/harness/report"
	"heddle/harness/runs"
	"heddle/traces/outfile"
)

type reportOptions struct {
	Output string `flag:"output,o" text:"write the page to FILE, which must not exist" of:"FILE" without:"report.html in the RUN; TRACE.html here, or report.html for several"`
	report.Options
	inRuns
}

// mostPageBytes is how large a page is without a warning.
const mostPageBytes = 5_000_000

func runReport(c *cli.Context, o *reportOptions, args []string) error {
	if o.Output != "" {
		if err := absent(o.Output); err != nil {
			return err
		}
	}
	if _, err := measure.Find(o.Metrics); err != nil { // before traces are read
		return err
	}
	p := newProgress(c)
	defer p.close()
	o.Command = os.Args
	o.Progress = func(doing string) { p.show(func() []string { return []string{doing} }) }
	usual := runs.PageFile // the path of a page whose name nobody gave; it is written again and again
	for _, arg := range args {
		run, err := runOrTrace(o.inRuns.Runs, arg)
		if err != nil {
			return err
		}
		if len(args) == 1 && run != nil {
			usual = filepath.Join(run.Dir, runs.PageFile)
		} else if abs, err := filepath.Abs(arg); len(args) == 1 && err == nil { // here, since data folders are not heddle's
			usual = filepath.Base(abs) + ".html"
		}
		if run == nil {
			o.Options.Traces = append(o.Options.Traces, arg)
		} else if measured := o.AddRun(run); measured && !c.IsSet("fidelity") {
			o.Fidelity = true
		}
	}
	d, err := report.Of(c.Context, o.Options)
	if err != nil {
		return err
	}
	p.close()
	write, path := outfile.Create, o.Output
	if path == "" {
		if write, path = outfile.Replace, usual; !isPage(path) {
			return usagef("%s is no page of heddle's, so it is kept; --output FILE.html writes elsewhere", path)
		}
	}
	if err := write(path, func(f *os.File) error { return doc.WritePage(f, d) }); err != nil {
		return failed(fmt.Errorf("write page: %w", err))
	}
	fmt.Fprintln(c.App.Writer, path)
	if info, err := os.Stat(path); err == nil && info.Size() > mostPageBytes {
		warn(fmt.Sprintf("%s has %s: browsers are slow with such a page; fewer runs or metrics make it smaller", path,
			doc.Bytes(info.Size())))
	}
	return nil
}

// isPage reports whether nothing is at a path but a page of heddle's.
func isPage(path string) bool {
	info, err := os.Lstat(path)
	if err != nil || !info.Mode().IsRegular() { // one that opens a pipe waits for ever
		return errors.Is(err, fs.ErrNotExist)
	}
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	head := make([]byte, 1<<10)
	n, _ := io.ReadFull(f, head)
	return doc.IsPage(head[:n])
}
