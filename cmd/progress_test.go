package cmd

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"heddle/harness/experiment"
	"heddle/harness/results"
)

// TestSimulationProgress: simulated trials show one state a second on a terminal,
// and one every few seconds elsewhere, however short they are. Long ones say how
// much time is left.
func TestSimulationProgress(t *testing.T) {
	for _, c := range []struct {
		trials   int
		each     time.Duration // a trial takes
		terminal bool
		states   int
		last     string
	}{
		{36, 50 * time.Millisecond, false, 1, `^  0.0s  simulate  trial 1 of 36, r01: 0 of 1000 tasks$`},
		{36, 50 * time.Millisecond, true, 2, `^  1.0s  simulate  trial 21 of 36, r21: 0 of 1000 tasks$`},
		{1, 60 * time.Second, false, 12, `^ 55.0s  simulate  trial 1 of 1, r01: 917 of 1000 tasks, about 5s left$`},
		{2, 30 * time.Second, true, 60, `^ 59.0s  simulate  trial 2 of 2, r02: 967 of 1000 tasks, about 1s left$`},
	} {
		t.Run(fmt.Sprintf("%d trials of %v, terminal %v", c.trials, c.each, c.terminal), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var out bytes.Buffer
				p := &progress{out: &out, terminal: c.terminal, began: time.Now()}
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
				states := regexp.MustCompile("[\r\n]+(\x1b\\[K)?").Split(strings.Trim(out.String(), "\n"), -1)
				if len(states) != c.states || !regexp.MustCompile(c.last).MatchString(states[len(states)-1]) {
					t.Errorf("%d states, want %d, the last as %s:\n%s", len(states), c.states, c.last, strings.Join(states, "\n"))
				}
			})
		})
	}
}

// TestReplayProgress: replays that run in parallel show together how far they are,
// and short ones show nothing.
func TestReplayProgress(t *testing.T) {
	for _, c := range []struct {
		terminal bool
		seconds  int
		want     string
	}{
		{false, 4, ""},
		{false, 11, "  5.0s  100 of 2000 tasks, about 1m35s left\n 10.0s  200 of 2000 tasks, about 1m30s left\n"},
		{true, 2, "\r\x1b[K  1.0s  20 of 2000 tasks, about 1m39s left\r\x1b[K  2.0s  40 of 2000 tasks, about 1m38s left\r\x1b[K"},
	} {
		synctest.Test(t, func(t *testing.T) {
			var out bytes.Buffer
			p := &replayProgress{out: &out, terminal: c.terminal, began: time.Now(), shown: time.Now(), done: make([]int64, 2), tasks: 2000}
			for i := range c.seconds {
				<-time.After(time.Second)
				p.done[1] = int64(10 * (i + 1))
				p.show(0, int64(10*(i+1)))
			}
			p.close()
			if out.String() != c.want {
				t.Errorf("terminal %v, %d s:\n%q, want\n%q", c.terminal, c.seconds, out.String(), c.want)
			}
		})
	}
}

// TestTrialWarnings: a text is there once, with the trials that have it.
func TestTrialWarnings(t *testing.T) {
	got := trialWarnings([]results.Trial{
		{Name: "r01", Warnings: []string{"uncalibrated", "slow", "slow"}},
		{Name: "r02", Warnings: []string{"lost a node", "uncalibrated"}},
		{Name: "r03", Warnings: []string{"uncalibrated", "slow"}},
	})
	want := []string{"all 3 trials: uncalibrated", "2 of 3 trials, r01 first: slow", "r02: lost a node"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
