package sweep

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"heddle/harness/measure"
	"heddle/harness/results"
)

// madeUp is a Where that gives each replay a makespan of its setting and seed. It goes
// through the replays backwards if asked, and stops after some rows.
func madeUp(meanMs []float64, spreadMs float64, backwards bool, most int) Where {
	return func(_ context.Context, p *Plan, todo []Replay, done func(Row) error) error {
		todo = slices.Clone(todo)
		if backwards {
			slices.Reverse(todo)
		}
		for n, r := range todo {
			if n == most {
				return errors.New("stopped")
			}
			noise := rand.New(rand.NewPCG(r.Seed, uint64(r.Setting))).NormFloat64() * spreadMs
			row, err := newRow(r.Key, results.Trial{
				Name: p.trialName(&r), Workload: p.workload(&r), Model: p.Settings[r.Setting].Label, Repeat: r.Repeat,
				Figures: &measure.Figures{MakespanMs: meanMs[r.Setting] + noise, ScheduleDigest: r.Key},
			})
			if err == nil {
				err = done(row)
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
}

const untilTold = "vary: {nodes: [4, 5, 6]}\nmetrics: [makespan]\nseeds: 3\nmostSeeds: 60\n"

func seedsOf(p *Plan) []int {
	n := make([]int, len(p.Settings))
	for _, r := range p.Replays {
		n[r.Setting]++
	}
	return n
}

// Two settings that differ by less than seeds do get seeds until they are told; one
// that is far off gets none. The same replays are added, and the digest is the same, in
// whatever order they run and wherever the sweep was stopped.
func TestUntilTold(t *testing.T) {
	means := []float64{100e3, 102e3, 200e3, 300e3, 300e3, 300e3} // yarn on 4, 5 and 6 nodes, then delay
	var digests []string
	for i, backwards := range []bool{false, true} {
		p, root := aSweep(t, untilTold), t.TempDir()
		run := begin(t, root, "it", p)
		if i == 1 { // stopped in the second round
			rounds := 0
			_, err := Run(t.Context(), Options{
				Plan: p, Run: run,
				Where: func(ctx context.Context, p *Plan, todo []Replay, done func(Row) error) error {
					most := -1
					if rounds++; rounds == 2 {
						most = 1
					}
					return madeUp(means, 3e3, backwards, most)(ctx, p, todo, done)
				},
			})
			if err == nil {
				t.Fatal("the stopped sweep has no error")
			}
			run.Close()
			p = aSweep(t, untilTold)
			run = begin(t, root, "it", p)
			if n := len(p.Replays); n <= 18 {
				t.Errorf("the plan has %d replays, want those that were added, too", n)
			}
		}
		rows := must(Run(t.Context(), Options{Plan: p, Run: run, Where: madeUp(means, 3e3, backwards, -1)}))
		report := must(NewReport(p, rows))
		n := seedsOf(p)
		if n[2] != 3 || n[0] != n[1] || n[0] <= 3 || n[0] > 60 || report.Answers.Best.Untold != 0 {
			t.Errorf("seeds %v, best %+v; want 3 of the third setting, more of the others, and none that is not told", n, report.Answers.Best)
		}
		digests = append(digests, report.Digest+fmt.Sprint(n))
		_, q, err := Open(run.Dir)
		if err != nil || len(q.Replays) != len(p.Replays) || !bytes.Contains(table(t, run), []byte(fmt.Sprintf("r%02d-", n[0]))) {
			t.Errorf("the finished sweep has %d replays, want %d: %v", len(q.Replays), len(p.Replays), err)
		}
	}
	if digests[0] != digests[1] {
		t.Errorf("digests and seeds %q, want the same", digests)
	}
}

// Settings that are as good as the best get seeds up to the most that are allowed, and
// settings that are one and the same only once more.
func TestNeverTold(t *testing.T) {
	for spread, want := range map[float64][]int{3e3: {10, 10, 3, 3}, 0: {6, 6, 6, 6}} { // three equal pairs have no interval
		p := aSweep(t, "vary: {nodes: [4, 5]}\nmetrics: [makespan]\nseeds: 3\nmostSeeds: 10\n")
		run := begin(t, t.TempDir(), "it", p)
		must(Run(t.Context(), Options{Plan: p, Run: run, Where: madeUp([]float64{100e3, 100e3, 200e3, 200e3}, spread, false, -1)}))
		if n := seedsOf(p); !slices.Equal(n, want) {
			t.Errorf("with seeds that differ by %v ms: seeds %v, want %d", spread, n, want)
		}
	}
}
