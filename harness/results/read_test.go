package results

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"heddle/harness/config"
	"heddle/harness/measure"
	"heddle/harness/runs"
	"heddle/traces"
	"heddle/traces/errtest"
)

func trialOf(repeat int, workload, model string) Trial {
	return Trial{
		Name: config.TrialName(repeat, workload, model), Workload: workload, Model: model, Repeat: repeat, MakespanMs: 1000,
		Figures: &measure.Figures{},
	}
}

// table makes a run that keeps the trials in one table.
func table(t *testing.T, trials []Trial) *runs.Run {
	t.Helper()
	run := errtest.Must(runs.Create(t.TempDir(), "run", runs.Manifest{World: runs.WorldSimulated}))
	mustDo(t, WriteTable(run, trials))
	mustDo(t, run.End(nil))
	run.Close()
	return run
}

// TestTable has a table give back what was put into it.
func TestTable(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		var trials []Trial
		for i := range rapid.IntRange(1, 20).Draw(r, "trials") {
			x := trialOf(i+1, rapid.StringMatching(`[a-z]{1,8}`).Draw(r, "workload"), rapid.SampledFrom([]string{"yarn", "fifo"}).Draw(r, "model"))
			x.Seed = rapid.Uint64().Draw(r, "seed")
			x.MakespanMs = rapid.Int64Range(0, 1<<50).Draw(r, "makespan")
			x.Figures.MakespanMs = rapid.Float64Range(0, 1e12).Draw(r, "exact")
			x.Warnings = rapid.SliceOfN(rapid.String(), 0, 2).Draw(r, "warnings")
			if len(x.Warnings) == 0 {
				x.Warnings = nil
			}
			trials = append(trials, x)
		}
		got := errtest.Must(List(table(t, trials)))
		for i := range trials { // the encoder replaces what is no UTF-8
			for j, w := range trials[i].Warnings {
				trials[i].Warnings[j] = strings.ToValidUTF8(w, "�")
			}
		}
		if diff := cmp.Diff(trials, got, cmp.Comparer(func(a, b *measure.Figures) bool { return a.MakespanMs == b.MakespanMs })); diff != "" {
			r.Fatalf("-put +got:\n%s", diff)
		}
	})
}

// TestTableLacksARow: a table that lost a row is damaged, also if its record was made anew.
func TestTableLacksARow(t *testing.T) {
	kept := table(t, []Trial{trialOf(1, "sort", "yarn"), trialOf(2, "sort", "yarn")})
	file := filepath.Join(kept.Dir, measuresFile)
	text := errtest.Must(os.ReadFile(file))
	was, _ := kept.File(measuresFile)
	less, _, _ := bytes.Cut(text, []byte("\n"))
	less = append(less, '\n')
	manifest := filepath.Join(kept.Dir, "manifest.json")
	m := errtest.Must(os.ReadFile(manifest))
	m = bytes.Replace(m, []byte(was.SHA256), fmt.Appendf(nil, "%x", sha256.Sum256(less)), 1)
	m = bytes.Replace(m, fmt.Appendf(nil, `"bytes": %d`, was.Bytes), fmt.Appendf(nil, `"bytes": %d`, len(less)), 1)
	mustDo(t, errors.Join(os.WriteFile(file, less, 0o600), os.WriteFile(manifest, m, 0o600)))
	opened := errtest.Must(runs.Open(kept.Dir))
	if _, err := List(opened); !errors.Is(err, runs.ErrDamaged) || !strings.Contains(err.Error(), "has 1 rows, 2 were written") {
		t.Errorf("error %v, want one that says how many rows there were", err)
	}
}

// TestNoResult has results that cannot be right. The error names the file and what is
// wrong there.
func TestNoResult(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Trial)
		want   string
	}{
		"another's name":     {func(x *Trial) { x.Name = "r02-sort-yarn" }, `belong to trial "r01-sort-yarn"`},
		"another model":      {func(x *Trial) { x.Model = "fifo" }, `and model "fifo" belong to trial`},
		"another repeat":     {func(x *Trial) { x.Repeat = 2 }, "repeat 2"},
		"negative makespan":  {func(x *Trial) { x.MakespanMs = -1 }, "makespanMs: -1: want 0 or more"},
		"negative input":     {func(x *Trial) { x.InputBytes = -1 }, "inputBytes: -1: want 0 or more"},
		"negative time":      {func(x *Trial) { x.Jobs = []Job{{ID: "job_1_0001", CompletionMs: -5}} }, "jobs[0].completionMs: -5"},
		"a job twice":        {func(x *Trial) { x.Jobs = []Job{{ID: "job_1_0001"}, {ID: "job_1_0001"}} }, "jobs[1].id: job_1_0001 occurs twice"},
		"nothing was kept":   {func(x *Trial) { x.Figures = nil }, "no figures"},
		"the same once more": {nil, "trial r01-sort-yarn occurs twice"},
	} {
		t.Run(name, func(t *testing.T) {
			good, bad := trialOf(2, "sort", "fifo"), trialOf(1, "sort", "yarn")
			list := []Trial{good, bad}
			if c.change == nil {
				list = append(list, bad)
			} else {
				c.change(&list[1])
			}
			_, err := List(table(t, list))
			if !errors.Is(err, runs.ErrDamaged) || !strings.Contains(err.Error(), c.want) ||
				!strings.Contains(err.Error(), fmt.Sprintf("measures.jsonl: line %d", len(list))) {
				t.Errorf("error %v, want one of damage with %q and the line", err, c.want)
			}
		})
	}
}

// TestCaptureHasNone has a capture be told from a run whose results are lost.
func TestCaptureHasNone(t *testing.T) {
	run, err := runs.Create(t.TempDir(), "capture", runs.Manifest{Trials: []runs.TrialRecord{{Name: "all"}}})
	mustDo(t, err)
	active := errtest.Must(run.Begin("all"))
	mustDo(t, active.WriteFile(TraceFile, []byte("a trace")))
	mustDo(t, errors.Join(active.Done(), run.End(nil)))
	run.Close()
	if _, err := List(run); !errors.Is(err, ErrNone) || !strings.Contains(err.Error(), "heddle trace info") {
		t.Errorf("error %v, want ErrNone and what to do", err)
	}
	about, err := Describe(run)
	if err != nil || len(about.Models) > 0 || about.Done != 1 || about.World != "cluster" {
		t.Errorf("about %+v, %v", about, err)
	}
	path := filepath.Join(run.TrialDir("all"), TraceFile)
	if got := Traces(run); !cmp.Equal(got, []string{path}) || RunOf(path) != run.Dir {
		t.Errorf("traces %v of run %q", got, RunOf(path))
	}
	if got := RunOf(filepath.Join(t.TempDir(), "a", "b", TraceFile)); got != "" {
		t.Errorf("a trace of no run is of %s", got)
	}
	if _, err := os.Stat(path); err != nil {
		t.Error(err)
	}
}

// TestCountJobs has jobs that YARN refused be counted, though they have no id and so
// are in no list of jobs.
func TestCountJobs(t *testing.T) {
	succeeded, failed, killed := traces.Succeeded.String(), traces.Failed.String(), traces.Killed.String()
	for name, c := range map[string]struct {
		trial       Trial
		all, failed int
	}{
		"nothing known":   {Trial{}, 0, 0},
		"ended well":      {Trial{Jobs: []Job{{Outcome: succeeded}, {Outcome: succeeded}}}, 2, 0},
		"one of each":     {Trial{Jobs: []Job{{Outcome: succeeded}, {Outcome: failed}, {Outcome: killed}}}, 3, 2},
		"one was refused": {Trial{Jobs: []Job{{Outcome: succeeded}}, FailedJobs: []FailedJob{{Name: "b", Outcome: "refused"}}}, 2, 1},
		"failed, told twice": {Trial{
			Jobs: []Job{{ID: "job_1_0001", Outcome: failed}}, FailedJobs: []FailedJob{{ID: "job_1_0001", Outcome: failed}},
		}, 1, 1},
	} {
		if got := c.trial.Completion(); got.Jobs() != c.all || got.Others != c.failed {
			t.Errorf("%s: %d of %d jobs failed, want %d of %d", name, got.Others, got.Jobs(), c.failed, c.all)
		}
	}
}

// TestStages has a trial of several stages be as long as all together.
func TestStages(t *testing.T) {
	x := trialOf(1, "query", "fifo")
	x.Reading, x.Params = "as printed", map[string]string{"c": "1"}
	x.Figures = &measure.Figures{MakespanMs: 1500, ScheduleDigest: "a"}
	x.Later = []*measure.Figures{{MakespanMs: 2500, ScheduleDigest: "b"}}
	run, err := Open(table(t, []Trial{x}).Dir, false)
	mustDo(t, err)
	stages, _, err := run.Stages(&run.Trials[0])
	mustDo(t, err)
	list := errtest.Must(measure.Find([]string{"makespan"}))
	if got := list[0].Of(stages...); got != 4 {
		t.Errorf("a makespan of %v s, want 4", got)
	}
	for text, want := range map[string]bool{`reading="as printed" && makespan=4`: true, `reading=repaired`: false, `makespan<4`: false} {
		where := errtest.Must(Where(text))
		if got := where.Match(&Row{Trial: &run.Trials[0], Figures: stages}); got != want {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
}

// TestTableBounds has tables that would take too much memory, or that were cut off.
func TestTableBounds(t *testing.T) {
	var row bytes.Buffer
	mustDo(t, json.NewEncoder(&row).Encode(trialOf(1, "sort", "yarn")))
	good := row.String()
	for want, text := range map[string]string{
		"line 1: no trial":                      "",
		"line 2: unexpected end of JSON":        good + good[:len(good)/2],
		"line 2: bufio.Scanner: token too long": good + strings.Repeat(" ", mostRowBytes+1),
		"line 1: a stage without figures":       strings.Replace(good, `"figures"`, `"laterStages":[null],"figures"`, 1),
	} {
		_, line, err := parseTable(strings.NewReader(text))
		if got := fmt.Sprintf("line %d: %v", line, err); !strings.HasPrefix(got, want) {
			t.Errorf("%.40q: %s, want %s", text, got, want)
		}
	}
}

// FuzzTable reads tables that are like those that are written: each row is right, or
// the error names a line, and what was read is written and read again as it was.
func FuzzTable(f *testing.F) {
	row := errtest.Must(json.Marshal(trialOf(1, "sort", "yarn")))
	f.Add(append(row, '\n'))
	f.Add(append(append(row, '\n'), row[:40]...))
	f.Add([]byte(`{"trial":"r01--","repeat":1,"figures":{"phases":[{}],"jobList":[null],"classes":null},"laterStages":[{}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		list, line, err := parseTable(bytes.NewReader(data))
		if err != nil {
			if line < 1 || list != nil {
				t.Fatalf("line %d, %d trials: %v", line, len(list), err)
			}
			return
		}
		var again bytes.Buffer
		for i := range list {
			for _, m := range measure.Metrics() {
				m.Of(append([]*measure.Figures{list[i].Figures}, list[i].Later...)...)
			}
			list[i].Completion()
			mustDo(t, json.NewEncoder(&again).Encode(&list[i]))
		}
		same, _, err := parseTable(&again)
		if err != nil || len(same) != len(list) {
			t.Fatalf("%d trials, and %d read again: %v", len(list), len(same), err)
		}
	})
}

var mustDo = errtest.None
