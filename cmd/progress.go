package cmd

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"golang.org/x/term"

	"heddle/harness/experiment"
	"heddle/harness/replay"
	"heddle/harness/state"
	"heddle/harness/steer"
	"heddle/traces/printable"
)

// progress shows the steps of a run while the run goes on. On a terminal it
// rewrites one line. Otherwise it prints a line for each step, and while jobs
// run or trials are simulated a line every few seconds.
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

	simulating time.Time // when the first tasks were simulated; the time before that, for placing inputs, tells nothing about their rate
	before     float64   // number of trials, and part of a trial, that were simulated by then
	states     int       // states of simulations that were shown
}

// quietFor is the time between two progress lines, such as those about running
// jobs, if the output does not go to a terminal.
const quietFor = 5 * time.Second

// repaintAfter is the time between two states of a simulation on a terminal.
const repaintAfter = time.Second

// pause returns the time between two states of a simulation.
func pause(terminal bool) time.Duration {
	if terminal {
		return repaintAfter
	}
	return quietFor
}

func newProgress(out *os.File) *progress {
	return &progress{out: out, terminal: term.IsTerminal(int(out.Fd())), began: time.Now()}
}

func (p *progress) step(s experiment.Step) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if s.Simulated != nil {
		p.simulated(&s)
		return
	}
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
	p.print(step, text)
}

// simulated shows how far the simulation of all trials is. Short trials share a
// line.
func (p *progress) simulated(s *experiment.Step) {
	now := time.Now()
	share := float64(s.Number - 1)
	if s.Simulated.Done > 0 {
		share += float64(s.Simulated.Done) / float64(s.Simulated.Tasks)
	}
	if p.simulating.IsZero() && share > 0 {
		p.simulating, p.before = now, share
	}
	if p.states > 0 && now.Sub(p.lastLine) < pause(p.terminal) {
		return
	}
	p.states++
	const step = "simulate"
	text := fmt.Sprintf("trial %d of %d, %s: %s", s.Number, s.Trials, s.Trial, s.Text)
	if !p.simulating.IsZero() {
		text += left(now.Sub(p.simulating), share-p.before, float64(s.Trials)-share)
	}
	p.print(step, text)
}

// left returns a text about how much longer the work todo takes if the work done
// took the time spent. It is empty while there is too little to tell it by.
func left(spent time.Duration, done, todo float64) string {
	if spent < repaintAfter || done <= 0 || todo <= 0 {
		return ""
	}
	more := float64(spent) * todo / done
	if more > float64(1000*time.Hour) {
		return ", more than 1000 hours left"
	}
	return fmt.Sprintf(", about %v left", time.Duration(more).Round(time.Second))
}

// print shows a line about a step.
func (p *progress) print(step, text string) {
	line := printable.Line(fmt.Sprintf("%5.1fs  %s  %s", time.Since(p.began).Seconds(), step, text))
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

// replayProgress shows how many tasks of replays, which run in parallel, have been
// simulated. Short replays show nothing.
type replayProgress struct {
	mu       sync.Mutex
	out      io.Writer
	terminal bool
	began    time.Time
	shown    time.Time
	done     []int64 // tasks that succeeded, for each replay
	tasks    int64   // tasks of all replays
}

// watch makes replays tell p how far they are. It is called before they begin.
func (p *replayProgress) watch(list []replay.Config) {
	p.began = time.Now()
	p.shown, p.done = p.began, make([]int64, len(list))
	for i := range list {
		p.tasks += list[i].Tasks()
		list[i].Progress = func(done int64) { p.show(i, done) }
	}
}

func (p *replayProgress) show(i int, done int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done[i] = done
	now := time.Now()
	if now.Sub(p.shown) < pause(p.terminal) {
		return
	}
	p.shown = now
	all := int64(0)
	for _, n := range p.done {
		all += n
	}
	spent := now.Sub(p.began)
	line := fmt.Sprintf("%5.1fs  %d of %d tasks%s", spent.Seconds(), all, p.tasks, left(spent, float64(all), float64(p.tasks-all)))
	if p.terminal {
		fmt.Fprintf(p.out, "\r\x1b[K%s", line)
		return
	}
	fmt.Fprintln(p.out, line)
}

// The method close clears the line on the terminal.
func (p *replayProgress) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.terminal && p.shown != p.began {
		fmt.Fprint(p.out, "\r\x1b[K")
	}
}
