package main

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"golang.org/x/term"

	"heddle/harness/experiment"
	"heddle/harness/state"
	"heddle/harness/steer"
)

// progress shows the steps of a run while the run goes on. On a terminal it
// rewrites one line. Otherwise it prints a line for each step, and while jobs
// run a line every few seconds.
type progress struct {
	mu       sync.Mutex
	out      io.Writer
	terminal bool
	began    time.Time
	lastLine time.Time
	lastStep string
	open     bool // whether the last line on the terminal still lacks its line feed

	trial     string // name of the trial whose scheduling decisions are counted in the fields below
	decisions int64
	counted   time.Time
	perSecond float64
}

// quietFor is the time between two progress lines, such as those about running
// jobs, if the output does not go to a terminal.
const quietFor = 5 * time.Second

func newProgress(out *os.File) *progress {
	return &progress{out: out, terminal: term.IsTerminal(int(out.Fd())), began: time.Now()}
}

func (p *progress) step(s experiment.Step) {
	p.mu.Lock()
	defer p.mu.Unlock()
	step := s.Doing
	if s.Trial != "" {
		step = fmt.Sprintf("%s %d/%d %s", s.Trial, s.Number, s.Trials, s.Doing)
	}
	text := s.Text
	if j := s.Jobs; j != nil {
		text = fmt.Sprintf("maps %d/%d (%d running)  reduces %d/%d (%d running)", j.MapsDone, j.Maps, j.MapsRunning, j.ReducesDone, j.Reduces, j.ReducesRunning)
		if s.Steering != nil {
			text += p.steering(s.Trial, s.Steering)
		}
		if !p.terminal && time.Since(p.lastLine) < quietFor {
			return
		}
	}
	line := escape(fmt.Sprintf("%5.1fs  %s  %s", time.Since(p.began).Seconds(), step, text))
	switch {
	case !p.terminal:
		fmt.Fprintln(p.out, line)
	case step == p.lastStep:
		fmt.Fprintf(p.out, "\r\x1b[K%s", line)
		p.open = true
	default:
		p.end()
		fmt.Fprint(p.out, line)
		p.open = true
	}
	p.lastLine, p.lastStep = time.Now(), step
}

// steering returns a text about a scheduler model's work so far: the locality
// of the maps that have started, and how many of its decisions were carried
// out.
func (p *progress) steering(trial string, s *steer.Stats) string {
	now := time.Now()
	if trial != p.trial {
		p.trial, p.decisions, p.counted, p.perSecond = trial, 0, now, 0
	}
	if since := now.Sub(p.counted).Seconds(); since >= 1 {
		p.perSecond = float64(s.Decisions-p.decisions) / since
		p.decisions, p.counted = s.Decisions, now
	}
	text := "  maps by"
	for level := state.LevelCache; level <= state.LevelOff; level++ {
		text += fmt.Sprintf(" %v %d", level, s.Maps[level])
	}
	return text + fmt.Sprintf("  decisions %d of %d honoured, %.1f/s", s.Honoured, s.Decisions-s.Open, p.perSecond)
}

// The function end ends the last line on the terminal with a line feed, so that
// the next output starts on a new line.
func (p *progress) end() {
	if p.open {
		fmt.Fprintln(p.out)
		p.open = false
	}
}

func (p *progress) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.end()
}
