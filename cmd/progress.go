package cmd

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/urfave/cli/v2"

	"heddle/harness/replay"
)

// progress shows how far the work of a command is. On a terminal it keeps a few
// lines at the bottom up to date. Elsewhere it prints a line now and then: none
// for work that is done sooner than quietFor.
type progress struct {
	mu     sync.Mutex
	out    io.Writer // for lines that stay
	bottom *status   // nil if there is no terminal
	began  time.Time
	shown  time.Time // when the last line was printed, or the lines at the bottom were renewed
	lines  func() []string
	over   chan struct{} // closed by close
	ticks  sync.WaitGroup
}

// quietFor is the time between two progress lines if the output does not go to a
// terminal.
const quietFor = 5 * time.Second

// aliveAfter is the time after which the last line is printed again, with the time that
// has passed, if the output does not go to a terminal and there is no newer state.
const aliveAfter = 15 * time.Second

// repaintAfter is the time between two states on a terminal. If there is no newer
// state, the last one is shown again every tick, with the time that has passed.
const repaintAfter, tick = 200 * time.Millisecond, time.Second

func newProgress(c *cli.Context) *progress {
	if !followsMoves(c.App.ErrWriter) {
		return progressOn(c.App.ErrWriter, nil)
	}
	return progressOn(c.App.ErrWriter, bottom)
}

func progressOn(out io.Writer, bottom *status) *progress {
	p := &progress{out: out, bottom: bottom, began: time.Now(), shown: time.Now(), over: make(chan struct{})}
	p.ticks.Go(p.tick)
	return p
}

// The method tick shows the last state again and again, so that the time goes on.
func (p *progress) tick() {
	t := time.NewTicker(tick)
	defer t.Stop()
	for {
		select {
		case <-t.C:
			p.mu.Lock()
			switch since := time.Since(p.shown); {
			case p.lines == nil:
			case p.bottom != nil && since >= tick:
				p.paint()
			case p.bottom == nil && since >= aliveAfter:
				p.print(p.lines()[0])
			}
			p.mu.Unlock()
		case <-p.over:
			return
		}
	}
}

// show makes a function give the state of the work, in lines. Elsewhere than on a
// terminal only the first is printed. The function is called only if a state is due.
func (p *progress) show(lines func() []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lines = lines
	switch since := time.Since(p.shown); {
	case p.bottom != nil && since >= repaintAfter:
		p.paint()
	case p.bottom == nil && since >= quietFor:
		p.print(lines()[0])
	}
}

// say prints a line that stays.
func (p *progress) say(line string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.print(line)
	if p.bottom != nil && p.lines != nil {
		p.paint()
	}
}

func (p *progress) print(line string) {
	fmt.Fprintln(p.out, strings.Join([]string{p.clock(), line}, "  "))
	p.shown = time.Now()
}

func (p *progress) paint() {
	lines := p.lines()
	lines[0] = p.clock() + "  " + lines[0]
	p.bottom.show(lines)
	p.shown = time.Now()
}

func (p *progress) clock() string { return fmt.Sprintf("%5.1fs", time.Since(p.began).Seconds()) }

// The method close removes the lines at the bottom of the terminal.
func (p *progress) close() {
	p.mu.Lock()
	select {
	case <-p.over:
	default:
		close(p.over)
	}
	p.lines = nil
	if p.bottom != nil {
		p.bottom.clear()
	}
	p.mu.Unlock()
	p.ticks.Wait()
}

// estimate says how much longer work takes, by the time that a part of it took. What
// comes before the first part tells nothing, such as opening files.
type estimate struct {
	since time.Time // when the first part was done
	from  float64   // how much was done then
}

// saw notes how much is done.
func (e *estimate) saw(done float64) {
	if e.since.IsZero() && done > 0 {
		e.since, e.from = time.Now(), done
	}
}

// left returns a text about the time left if so much of all work is done. It is empty
// while there is too little to tell it by.
func (e *estimate) left(done, all float64) string {
	switch more := e.remaining(done, all); {
	case more == 0:
		return ""
	case more > longest:
		return ", more than 1000 hours left"
	default:
		return fmt.Sprintf(", about %v left", more.Round(time.Second))
	}
}

// longest is a time beyond which estimates tell nothing.
const longest = 1000 * time.Hour

// remaining returns the time left if so much of all work is done, 0 if that cannot be
// told. No time is much longer than longest.
func (e *estimate) remaining(done, all float64) time.Duration {
	spent := time.Since(e.since)
	if e.since.IsZero() || spent < tick || done <= e.from || done >= all {
		return 0
	}
	return time.Duration(min(float64(spent)*(all-done)/(done-e.from), float64(2*longest)))
}

// shareBar draws how much of all work is done, for a terminal of so many columns.
func (s *status) shareBar(done, all float64) string {
	barWidth := 24
	if columns, _ := s.size(); columns < 80 {
		barWidth = 10
	}
	const eighths = " ▏▎▍▌▋▊▉"
	n := 0
	if all > 0 {
		n = int(max(0, min(1, done/all)) * float64(barWidth*8))
	}
	text := strings.Repeat("█", n/8)
	if n%8 > 0 {
		text += string([]rune(eighths)[n%8])
	}
	return text + strings.Repeat("░", barWidth-len([]rune(text)))
}

// work is a piece of work that can be counted.
type work struct {
	*progress
	estimate estimate
}

// counted shows how much of the work is done, and says so in the words that text
// returns. It is cheap enough to be called often.
func (w *work) counted(done, all float64, text func() string) {
	w.mu.Lock()
	w.estimate.saw(done)
	w.mu.Unlock()
	w.show(func() []string {
		line := text() + w.estimate.left(done, all)
		if w.bottom != nil {
			line = w.bottom.shareBar(done, all) + "  " + line
		}
		return []string{line}
	})
}

// replayProgress shows how many tasks of replays, which run in parallel, have been
// simulated.
type replayProgress struct {
	work
	replays sync.Mutex
	done    []int64 // tasks that succeeded, for each replay
	sum     int64   // of done
	tasks   int64   // tasks of all replays
}

// watch makes replays tell p how far they are. It is called before they begin.
func (p *replayProgress) watch(list []replay.Config) {
	p.done = make([]int64, len(list))
	for i := range list {
		p.tasks += list[i].Tasks()
		list[i].Progress = func(done int64) { p.simulated(i, done) }
	}
}

func (p *replayProgress) simulated(i int, done int64) {
	p.replays.Lock()
	p.sum += done - p.done[i]
	p.done[i] = done
	sum := p.sum
	p.replays.Unlock()
	p.counted(float64(sum), float64(p.tasks), func() string { return fmt.Sprintf("%d of %d tasks", sum, p.tasks) })
}
