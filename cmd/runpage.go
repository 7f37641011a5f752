package cmd

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/urfave/cli/v2"

	"heddle/harness/compare"
	"heddle/harness/doc"
	"heddle/harness/experiment"
	"heddle/harness/report"
	"heddle/harness/runs"
	"heddle/traces/outfile"
)

// runPage keeps the page of a run in its folder, as report.html: it is written anew
// between trials and at the end, whole or not at all.
type runPage struct {
	c     *cli.Context
	trial int           // number of the trial under way
	ended time.Time     // when the page was last written
	took  time.Duration // to write it
	say   func(string)
	named bool
	fails bool // a warning said so
}

// pageShare is the share of a run's time that its page takes between trials at most. Many
// short simulated trials would wait for it otherwise.
const pageShare = 0.05

// reloadSeconds is how often a browser loads the page of a run that goes on.
const reloadSeconds = 10

// next writes the page if the step is the first one of another trial.
func (p *runPage) next(s *experiment.Step) {
	if s.Folder == "" || s.Number <= p.trial {
		return
	}
	p.trial = s.Number
	if time.Since(p.ended).Seconds() >= p.took.Seconds()/pageShare {
		p.write(s.Folder, reloadSeconds)
	}
}

// end writes the page as it stays. Its name is printed if no trial has had it printed.
func (p *runPage) end(folder string) { p.write(folder, 0) }

func (p *runPage) write(folder string, reload int) {
	began := time.Now()
	path := filepath.Join(folder, runs.PageFile)
	command := []string{"heddle", "report", "-o", runs.PageFile, folder}
	d, err := report.Of(p.c.Context, report.Options{Runs: []string{folder}, Command: command})
	if err == nil {
		err = outfile.Replace(path, func(f *os.File) error { return doc.WriteReloading(f, d, reload) })
	}
	p.ended = time.Now()
	p.took = p.ended.Sub(began)
	switch {
	case errors.Is(err, compare.ErrNoTrial), p.c.Context.Err() != nil: // nothing to show, or no time to
	case err != nil && !p.fails:
		p.fails = true
		warn(fmt.Sprintf("page of the run: %v; the run goes on without", err))
	case err == nil && !p.named:
		p.named = true
		p.say("page: " + path)
	}
}
