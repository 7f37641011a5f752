package cmd

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/urfave/cli/v2"

	"heddle/harness/experiment"
)

// runProgress shows a run while it goes on: on a terminal how many trials are done,
// what the trial under way does, its jobs and decisions, and how much time is
// left. Elsewhere it prints a line for each step, and one every few seconds while jobs
// run or trials are simulated.
type runProgress struct {
	work
	steps     sync.Mutex
	simulated bool     // whether a state of a simulation was printed
	page      *runPage // nil for what keeps no page
}

func newRunProgress(c *cli.Context) *runProgress {
	return &runProgress{work: work{progress: newProgress(c)}}
}

// passing are the kinds of steps that a view replaces: the next one follows soon. What
// other steps say stays on the terminal.
var passing = []string{"prepare", "drop", "cache", "run", "capture", "history", "check", "simulate"}

func (p *runProgress) step(s experiment.Step) {
	p.steps.Lock()
	defer p.steps.Unlock()
	p.mu.Lock()
	p.estimate.saw(s.Done())
	p.mu.Unlock()
	if p.page != nil {
		p.page.next(&s)
	}
	switch {
	case s.Failure != "": // the run's error tells it, once for all trials
	case p.bottom != nil && (s.Simulated != nil || slices.Contains(passing, s.Doing)):
		p.view(&s)
	case s.Simulated != nil:
		text := func() string {
			return fmt.Sprintf("simulate  trial %d of %d, %s: %s", s.Number, s.Trials, s.Trial, s.Text)
		}
		if !p.simulated {
			p.say(text())
		}
		p.simulated = true
		p.counted(s.Done(), float64(s.Trials), text)
	case s.Jobs != nil:
		p.show(func() []string { return []string{stepName(&s) + "  " + p.jobs(&s)} })
	default:
		p.say(stepName(&s) + "  " + s.Text)
	}
}

func stepName(s *experiment.Step) string {
	if s.Trial == "" {
		return s.Doing
	}
	return fmt.Sprintf("%s %d/%d %s", s.Trial, s.Number, s.Trials, s.Doing)
}

// jobs says in one line what the jobs of a trial do.
func (p *runProgress) jobs(s *experiment.Step) string {
	j := s.Jobs
	text := fmt.Sprintf("maps %d/%d (%d running)  reduces %d/%d (%d running)", j.MapsDone, j.Maps, j.MapsRunning, j.ReducesDone,
		j.Reduces, j.ReducesRunning)
	if s.Live == nil {
		return text
	}
	now := s.Live.Now()
	if l := now.Locality; l.Known() > 0 {
		text += fmt.Sprintf("  maps by cache %d node %d rack %d off %d", l.Cache, l.Node, l.Rack, l.Off)
	}
	if now.Decisions > 0 {
		text += "  " + now.DecisionsText()
	}
	return text
}

// view shows the run at the bottom of the terminal.
func (p *runProgress) view(s *experiment.Step) {
	share, all := s.Done(), float64(s.Trials)
	p.show(func() []string {
		lines := []string{p.bottom.shareBar(share, all) + fmt.Sprintf("  trial %d of %d", s.Number, s.Trials) + p.estimate.left(share, all)}
		switch {
		case s.Trial == "":
			lines[0] = s.Doing + "  " + s.Text
			return lines
		case s.Doing == "capture": // nobody knows how many jobs will come
			lines[0] = "capture"
		default:
			lines = append(lines, field("trial", s.Trial+": "+strings.TrimSpace(s.Doing+" "+s.Text)))
		}
		now, ok := s.Now()
		if !ok {
			return lines
		}
		for _, f := range s.Facts(&now) {
			lines = append(lines, field(f.Name, f.Value))
		}
		return lines
	})
}

// field returns a line of the view: its name, and what it says.
func field(name, text string) string { return fmt.Sprintf("%9s  %s", name, text) }
