package cmd

import (
	"bytes"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"heddle/harness/capture"
	"heddle/harness/experiment"
	"heddle/traces"
)

// screen is a terminal in memory.
type screen struct{ bytes.Buffer }

// status returns the lines at the bottom of the terminal.
func (s *screen) status(columns int) *status {
	return &status{out: s, size: func() (int, int) { return columns, 24 }}
}

// states returns what was shown at the bottom, one state after the other.
func (s *screen) states() (list []string) {
	for _, state := range regexp.MustCompile("\r(\x1b\\[\\d+A)?\x1b\\[J").Split(s.String(), -1) {
		if state != "" {
			list = append(list, state)
		}
	}
	return list
}

// TestSimulationProgress: simulated trials show at most five states a second on a
// terminal, and one every few seconds elsewhere, however short they are. Long ones say
// how much time is left.
func TestSimulationProgress(t *testing.T) {
	for _, c := range []struct {
		trials   int
		each     time.Duration // a trial takes
		terminal bool
		states   int
		last     string
	}{
		{36, 50 * time.Millisecond, false, 1, `^  0.0s  simulate  trial 1 of 36, r01: 0 of 1000 tasks$`},
		{36, 50 * time.Millisecond, true, 8, `^  1.6s  [█▎▍▌▋▊▉░]{24}  trial 33 of 36, about 0s left\n    trial  r33: simulate 0 of 1000 tasks$`},
		{1, 60 * time.Second, false, 12, `^ 55.0s  simulate  trial 1 of 1, r01: 917 of 1000 tasks, about 5s left$`},
		{2, 30 * time.Second, true, 119, `^ 59.5s  [█▎▍▌▋▊▉░]{24}  trial 2 of 2, about 0s left\n    trial  r02: simulate 984 of 1000 tasks$`},
	} {
		t.Run(fmt.Sprintf("%d trials of %v, terminal %v", c.trials, c.each, c.terminal), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var out bytes.Buffer
				var shown screen
				var bottom *status
				if c.terminal {
					bottom = shown.status(100)
				}
				p := &runProgress{work: work{progress: progressOn(&out, bottom)}}
				for i := range c.trials {
					s := experiment.Step{Trial: fmt.Sprintf("r%02d", i+1), Number: i + 1, Trials: c.trials, Doing: "simulate"}
					began := time.Now()
					for spent := time.Duration(0); spent < c.each; spent = time.Since(began) {
						done := int64((1000*spent + c.each - 1) / c.each)
						s.Text, s.Simulated = fmt.Sprintf("%d of 1000 tasks", done), &experiment.Simulated{Done: done, Tasks: 1000}
						p.step(s)
						<-time.After(min(c.each, 500*time.Millisecond))
					}
				}
				p.close()
				states := shown.states()
				if !c.terminal {
					states = strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
				}
				if len(states) != c.states || !regexp.MustCompile(c.last).MatchString(states[len(states)-1]) {
					t.Errorf("%d states, want %d, the last as %s:\n%s", len(states), c.states, c.last, strings.Join(states, "\n"))
				}
			})
		})
	}
}

// TestNoNewState: elsewhere than on a terminal, work without a newer state says now and
// then that it goes on.
func TestNoNewState(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		p := progressOn(&out, nil)
		p.show(func() []string { return []string{"write day.trace"} })
		<-time.After(100*time.Second + tick/2)
		p.close()
		if lines := strings.Count(out.String(), "\n"); lines != 6 || !strings.HasSuffix(out.String(), " 90.0s  write day.trace\n") {
			t.Errorf("in 100 s, %d lines, want 6:\n%s", lines, out.String())
		}
	})
}

// TestRunView: while a trial runs, the terminal shows its jobs, tasks, the maps'
// locality and decisions; what needs to be known later stays above.
func TestRunView(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		var shown screen
		p := &runProgress{work: work{progress: progressOn(&out, shown.status(100))}}
		s := experiment.Step{Trial: "r01-a\x1b[2Jb-acl", Number: 1, Trials: 2}
		says := func(doing, text string) {
			x := s
			x.Doing, x.Text = doing, text
			p.step(x)
			<-time.After(time.Second / 2)
		}
		says("look", "killed\r what was left")
		says("prepare", "input of a")
		s.Live = &experiment.Live{}
		for i, level := range []traces.Level{traces.LevelCache, traces.LevelNode, traces.LevelNode, traces.LevelNode} {
			s.Live.Add(&traces.AttemptStarted{
				Attempt: traces.Attempt{Task: traces.Task{Job: "j", Index: int32(i)}}, Node: "n1",
				ReplicaLocality: level,
			})
		}
		for id, outcome := range []string{"honoured", "honoured", "none", "honoured", "honoured"} {
			s.Live.Add(&traces.Actuation{Decision: int64(id + 1), Outcome: outcome})
		}
		for id := range int64(6) {
			s.Live.Add(&traces.Decision{T: 12e9, ID: id + 1})
		}
		s.Jobs = &capture.Progress{Jobs: 2, JobsEnded: 1, Maps: 8, MapsDone: 3, MapsRunning: 4, Reduces: 2, ReducesRunning: 1}
		says("run", "")
		p.close()
		if want := "  0.0s  r01-a\x1b[2Jb-acl 1/2 look  killed\r what was left\n"; out.String() != want {
			t.Errorf("%q stays, want %q", out.String(), want)
		}
		want := []string{
			"  0.5s  ░░░░░░░░░░░░░░░░░░░░░░░░  trial 1 of 2\n    trial  r01-a\\u001b[2Jb-acl: prepare input of a",
			"  1.0s  ███▌░░░░░░░░░░░░░░░░░░░░  trial 1 of 2\n" +
				"    trial  r01-a\\u001b[2Jb-acl: run\n" +
				"     jobs  1 of 2 ended\n" +
				"    tasks  maps 3 of 8, 4 running; reduces 0 of 2, 1 running\n" +
				"    input  cache 25 %, node 75 %, rack 0 %, off 0 % of 4 maps\n" +
				"    model  6 decisions, 4 of 5 honoured",
		}
		if states := shown.states(); !slices.Equal(states, want) {
			t.Errorf("%q, want\n%q", states, want)
		}
	})
}

// TestReplayProgress: replays that run in parallel show together how far they are,
// and short ones show nothing.
func TestReplayProgress(t *testing.T) {
	for _, c := range []struct {
		terminal bool
		seconds  int
		want     []string
	}{
		{false, 4, nil},
		{false, 11, []string{"  5.0s  90 of 2000 tasks, about 1m36s left", " 10.0s  190 of 2000 tasks, about 1m31s left"}},
		{true, 3, []string{
			"  0.9s  ░░░░░░░░░░░░░░░░░░░░░░░░  10 of 2000 tasks",
			"  1.8s  ▎░░░░░░░░░░░░░░░░░░░░░░░  30 of 2000 tasks",
			"  2.7s  ▌░░░░░░░░░░░░░░░░░░░░░░░  50 of 2000 tasks, about 1m28s left",
		}},
	} {
		synctest.Test(t, func(t *testing.T) {
			var out bytes.Buffer
			var shown screen
			var bottom *status
			if c.terminal {
				bottom = shown.status(100)
			}
			p := &replayProgress{work: work{progress: progressOn(&out, bottom)}, done: make([]int64, 2), tasks: 2000}
			for i := range c.seconds {
				if c.terminal {
					<-time.After(900 * time.Millisecond)
				} else {
					<-time.After(time.Second)
				}
				p.simulated(1, int64(10*(i+1)))
				p.simulated(0, int64(10*(i+1)))
			}
			p.close()
			states := shown.states()
			if !c.terminal && out.Len() > 0 {
				states = strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
			}
			if !slices.Equal(states, c.want) {
				t.Errorf("terminal %v, %d s:\n%q, want\n%q", c.terminal, c.seconds, states, c.want)
			}
		})
	}
}

// TestClock: on a terminal the time goes on while nothing is heard of the work.
func TestClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var shown screen
		p := progressOn(io.Discard, shown.status(100))
		<-time.After(time.Second / 2)
		p.show(func() []string { return []string{"write input"} })
		<-time.After(3 * time.Second)
		p.close()
		if got, want := shown.states(), []string{"  0.5s  write input", "  2.0s  write input", "  3.0s  write input"}; !slices.Equal(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	})
}

// TestStatus: lines at the bottom are cut to the width of the terminal, their control
// characters are escaped, and they are removed before other output.
func TestStatus(t *testing.T) {
	for _, c := range []struct {
		name    string
		columns int
		lines   []string
		want    string
	}{
		{"hostile", 40, []string{"a\x1b[2Jb", "c\rd\ne"}, `a\u001b[2Jb` + "\n" + `c\u000dd\u000ae`},
		{"narrow", 10, []string{"0123456789", "节点世界"}, "0123456\n节点世"},
	} {
		var shown screen
		s := shown.status(c.columns)
		s.show(c.lines)
		s.clear()
		s.clear()
		if got, want := shown.String(), c.want+"\r\x1b[1A\x1b[J"; got != want {
			t.Errorf("%s:\n%q, want\n%q", c.name, got, want)
		}
	}
}
