package sweep

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"heddle/harness/config"
	"heddle/harness/runs"
)

// aSweep returns the plan of a small sweep of a measured trace.
func aSweep(t *testing.T, more string) *Plan {
	t.Helper()
	trace := must(filepath.Abs("../fidelity/testdata/run/trials/r01-wordcount-yarn/trace.heddle"))
	s := must(config.ParseSweep(filepath.Join(t.TempDir(), "small.yaml"), []byte("traces: ["+trace+"]\nmodels: [yarn, delay]\n"+more)))
	p := must(New(s))
	return p
}

const gridOf = "vary: {nodes: [4, 6], delay.nodeSkips: [1, 9]}\nseeds: 2\n"

// Axes of one model do not multiply the settings of another.
func TestPlan(t *testing.T) {
	p := aSweep(t, gridOf)
	var names []string
	for i := range p.Settings {
		names = append(names, p.Settings[i].Label+" "+p.Settings[i].Change)
	}
	want := []string{
		"yarn nodes=4", "yarn nodes=6", "delay-nodeSkips=1 nodes=4", "delay-nodeSkips=1 nodes=6", "delay-nodeSkips=9 nodes=4",
		"delay-nodeSkips=9 nodes=6",
	}
	if !slices.Equal(names, want) || len(p.Replays) != 12 {
		t.Errorf("settings %q of %d replays, want %q of 12", names, len(p.Replays), want)
	}
	if n := len(aSweep(t, "vary: {nodes: {from: 4, to: 40}, load: {from: 0.5, to: 2.0}}\nsample: saltelli\npoints: 8\n").Points["delay"]); n != 8*4 {
		t.Errorf("%d points of 8 base points and 2 axes, want 32", n)
	}
	keys := map[string]bool{}
	for _, r := range p.Replays {
		keys[r.Key] = true
	}
	if len(keys) != 12 {
		t.Errorf("%d keys of 12 replays", len(keys))
	}
	other := aSweep(t, strings.Replace(gridOf, "9", "10", 1))
	for _, r := range other.Replays {
		delete(keys, r.Key)
	}
	if len(keys) != 4 {
		t.Errorf("%d replays differ from those of a sweep in which 4 do", len(keys))
	}
}

func TestPlanRefuses(t *testing.T) {
	for more, says := range map[string]string{
		"vary: {nodez: [1]}":          "nodes",
		"vary: {delay.skips: [1]}":    "skips",
		"vary: {fifo.nodeSkips: [1]}": "MODEL.PARAMETER",
		"vary: {nodes: [0]}":          "want 1 to",
		"cluster: {load: -1}":         "load",
		"vary: {load: {from: 0.5, to: 2.0, steps: 900}, speed: {from: 0.5, to: 2.0, steps: 900}}":            "more than 100000 combinations",
		"vary: {load: {from: 0.5, to: 2.0, steps: 90}, speed: {from: 0.5, to: 2.0, steps: 90}}\nseeds: 9000": "more than 100000 replays",
	} {
		s, err := config.ParseSweep("s.yaml", []byte("traces: [/dev/null]\nmodels: [yarn, delay]\n"+more))
		if err == nil {
			_, err = New(s)
		}
		wantError(t, err, says)
	}
}

// A plan that another process reads is the same, and one whose keys do not fit is refused.
func TestPlanAsFile(t *testing.T) {
	p := aSweep(t, gridOf)
	text := must(json.Marshal(p))
	var q Plan
	if err := json.Unmarshal(text, &q); err != nil {
		t.Fatal(err)
	}
	if err := q.check(); err != nil || !slices.Equal(q.Replays, p.Replays) {
		t.Errorf("a plan that was written and read: %v", err)
	}
	q.Settings[0].Cluster["nodes"] = "5"
	if q.check() == nil {
		t.Error("a plan with another setting than its keys say is accepted")
	}
}

func begin(t *testing.T, root, name string, p *Plan) *runs.Run {
	t.Helper()
	run := must(Begin(root, name, p, []byte("a sweep\n"), nil))
	return run
}

// A sweep that fails after some rows, and whose last row is torn, goes on with what is
// missing alone. Its table is that of an undisturbed sweep, byte for byte.
func TestResume(t *testing.T) {
	p, root := aSweep(t, gridOf), t.TempDir()
	whole := begin(t, root, "whole", p)
	rows, err := Run(t.Context(), Options{Plan: p, Run: whole, Where: Local})
	if err != nil {
		t.Fatal(err)
	}
	broken := begin(t, root, "broken", p)
	stop := errors.New("the machine is gone")
	n := 0
	_, err = Run(t.Context(), Options{
		Plan: p, Run: broken,
		Where: func(ctx context.Context, p *Plan, todo []Replay, done func(Row) error) error {
			return Local(ctx, p, todo, func(r Row) error {
				if n == 5 {
					return stop
				}
				n++
				return done(r)
			})
		},
	})
	if !errors.Is(err, stop) {
		t.Fatalf("%v, want what stopped it", err)
	}
	file := filepath.Join(broken.Dir, runs.RowsFile)
	text, err := os.ReadFile(file)
	if err != nil || bytes.Count(text, []byte("\n")) != 5 {
		t.Fatalf("%d rows are kept, want 5: %v", bytes.Count(text, []byte("\n")), err)
	}
	if err := os.Truncate(file, int64(len(text)-100)); err != nil {
		t.Fatal(err)
	}
	again := begin(t, root, "broken", p) // the same sweep under the same name
	ran := 0
	rowsAgain, err := Run(t.Context(), Options{
		Plan: p, Run: again,
		Where: func(ctx context.Context, p *Plan, todo []Replay, done func(Row) error) error {
			ran = len(todo)
			slices.Reverse(todo)
			return Local(ctx, p, todo, func(r Row) error { return errors.Join(done(r), done(r)) }) // each row comes twice
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if ran != 8 {
		t.Errorf("%d replays ran, want 8", ran)
	}
	if rows.Digest(p) != rowsAgain.Digest(p) {
		t.Errorf("digests %s and %s", rows.Digest(p), rowsAgain.Digest(p))
	}
	if a, b := table(t, whole), table(t, again); !bytes.Equal(a, b) || len(a) == 0 {
		t.Error("the tables differ")
	}
	run, q, err := Open(again.Dir)
	if err != nil || run.Manifest().State != runs.Finished || len(q.Replays) != 12 {
		t.Fatalf("the finished sweep: %v", err)
	}
	if foreign, err := run.Foreign(); err != nil || len(foreign) > 0 {
		t.Errorf("foreign files %v: %v", foreign, err)
	}
	if _, err := Begin(root, "broken", p, nil, nil); !errors.Is(err, runs.ErrExists) {
		t.Errorf("a finished sweep is begun again: %v", err)
	}
}

// A sweep of other replays, or of other figures of them, does not go on in the folder of an unfinished one.
func TestResumeOther(t *testing.T) {
	p, root := aSweep(t, gridOf), t.TempDir()
	begin(t, root, "it", p).Close()
	for _, other := range []string{"seeds: 3\n", gridOf + "metrics: [waiting]\n"} {
		if _, err := Begin(root, "it", aSweep(t, other), nil, nil); !errors.Is(err, runs.ErrExists) {
			t.Errorf("%s: %v, want ErrExists", other, err)
		}
	}
}

// A trace that changed since the sweep began is refused.
func TestChangedTrace(t *testing.T) {
	p := aSweep(t, "")
	text, err := os.ReadFile(p.Traces[0].Path)
	if err != nil {
		t.Fatal(err)
	}
	p.Traces[0].Path = filepath.Join(t.TempDir(), "trace")
	if err := os.WriteFile(p.Traces[0].Path, append(text, '\n'), 0o600); err != nil {
		t.Fatal(err)
	}
	err = Local(t.Context(), p, p.Replays, func(Row) error { return nil })
	wantError(t, err, "has changed")
}

func table(t *testing.T, run *runs.Run) []byte {
	t.Helper()
	text := must(os.ReadFile(filepath.Join(run.Dir, "measures.jsonl")))
	return text
}

// A sweep that another build of heddle began does not go on: neither under its name nor
// resumed.
func TestOtherBuild(t *testing.T) {
	p, root := aSweep(t, gridOf), t.TempDir()
	p.Build = strings.Repeat("ab", 32)
	run := begin(t, root, "it", p)
	_, err := Run(t.Context(), Options{Plan: p, Run: run, Where: Local})
	run.Close()
	_, berr := Begin(root, "it", aSweep(t, gridOf), nil, nil)
	for _, err := range []error{err, berr} { // of resuming, and of the same name
		wantError(t, err, "another build of heddle began it", "abababababab")
	}
}
