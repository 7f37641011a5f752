package cmd

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/urfave/cli/v2"

	"heddle/harness/experiment"
	"heddle/harness/measure"
	"heddle/traces"
)

// runProgress shows a run while it goes on: on a terminal how many trials are done,
// what the trial under way does, its jobs, nodes and decisions, and how much time is
// left. Elsewhere it prints a line for each step, and one every few seconds while jobs
// run or trials are simulated.
type runProgress struct {
	work
	steps     sync.Mutex
	simulated bool // whether a state of a simulation was printed
	most      int  // containers that ran on a node at most
	rate      decisionRate
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
		text += "  " + now.DecisionsText() + p.rate.text(s.Trial, &now)
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
		columns, _ := p.bottom.size()
		for _, f := range s.Facts(&now) {
			if f.Name == "model" {
				f.Value += p.rate.text(s.Trial, &now)
			}
			lines = append(lines, field(f.Name, f.Value))
			if f.Name == "tasks" {
				lines = append(lines, p.nodes(now.Nodes, columns)...)
			}
		}
		return lines
	})
}

// field returns a line of the view: its name, and what it says.
func field(name, text string) string { return fmt.Sprintf("%9s  %s", name, text) }

// heights are the characters for one to eight eighths of the most containers that ran
// on a node.
var heights = []rune("▁▂▃▄▅▆▇█")

// nodes draws the nodes as a strip with a character for each, or for several if they
// are too many for the terminal. Racks are apart.
func (p *runProgress) nodes(list []measure.NodeNow, columns int) []string {
	if len(list) == 0 {
		return nil
	}
	running, up, racks := 0, 0, 1
	for i, n := range list {
		running += n.Running
		p.most = max(p.most, n.Running)
		if !n.Down {
			up++
		}
		if i > 0 && n.Rack != list[i-1].Rack {
			racks++
		}
	}
	text := fmt.Sprintf("%d containers on %d nodes, %s = %d", running, up, string(heights[len(heights)-1]), p.most)
	if columns < 80 {
		text = fmt.Sprintf("%d on %d", running, up)
	}
	room := max(8, columns-len(field("nodes", ""))-len(text)-len("; 999 nodes a mark  "))
	each, apart := 1, true
	if len(list)+racks-1 > room {
		each, apart = (len(list)+room-1)/room, len(list)+racks-1 <= room
	}
	if each > 1 {
		text += fmt.Sprintf("; %d nodes a mark", each)
	}
	var strip strings.Builder
	for i := 0; i < len(list); i += each {
		group := list[i:min(len(list), i+each)]
		if apart && i > 0 && list[i].Rack != list[i-1].Rack {
			strip.WriteByte(' ')
		}
		strip.WriteRune(mark(group, p.most))
	}
	return []string{field("nodes", strip.String()+"  "+text)}
}

// mark returns the character for nodes: their mean number of containers, × if all are
// down.
func mark(group []measure.NodeNow, most int) rune {
	running, down := 0, 0
	for _, n := range group {
		running += n.Running
		if n.Down {
			down++
		}
	}
	switch {
	case down == len(group):
		return '×'
	case running == 0:
		return '·'
	}
	return heights[min(len(heights), max(1, (running*len(heights)+len(group)*most-1)/(len(group)*most)))-1]
}

// decisionRate says how many decisions a second are made.
type decisionRate struct {
	trial     string
	at        traces.Time
	decisions int
	perSecond float64
}

// text says how many are made, behind a text on what became of them.
func (r *decisionRate) text(trial string, now *measure.Now) string {
	if trial != r.trial {
		*r = decisionRate{trial: trial}
	}
	if since := time.Duration(now.At - r.at).Seconds(); since >= 1 {
		r.perSecond = float64(now.Decisions-r.decisions) / since
		r.at, r.decisions = now.At, now.Decisions
	}
	return fmt.Sprintf(", %.1f/s", r.perSecond)
}
