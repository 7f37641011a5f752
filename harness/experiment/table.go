package experiment

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"heddle/harness/config"
	"heddle/harness/replay"
	"heddle/harness/runs"
)

// measuresFile is the table of a run of many short trials, which have no folders of
// their own: a Result a line, with its figures.
const measuresFile = "measures.jsonl"

// KeepReplays keeps what replays came to as a run in virtual time, in a new folder
// of root: the run's trials are one table. Traces are workloads, and a model's
// seeds are its repeats. Name is by default the time.
func KeepReplays(root, name string, command []string, list []replay.Outcome) (*runs.Run, error) {
	if name == "" {
		name = runs.Name(time.Now(), "replay")
	}
	if err := os.MkdirAll(root, 0o755); err != nil {
		return nil, fmt.Errorf("make folder of runs: %w", err)
	}
	var b bytes.Buffer
	out := json.NewEncoder(&b)
	for _, r := range resultsOf(list) {
		if err := out.Encode(&r); err != nil {
			return nil, fmt.Errorf("keep replays: %w", err)
		}
	}
	m := runs.Manifest{Command: command, World: runs.WorldSimulated}
	if len(list) > 0 {
		m.Seed = list[0].Seed
	}
	run, err := runs.Create(root, name, m)
	if err != nil {
		return nil, err
	}
	defer run.Close()
	err = run.WriteFile(measuresFile, b.Bytes())
	return run, errors.Join(err, run.End(err))
}

// resultsOf are replays as trials.
func resultsOf(list []replay.Outcome) []Result {
	type series struct{ workload, model string }
	workloads := map[string]string{} // by trace
	taken := map[string]bool{}
	repeats := map[series]int{}
	var results []Result
	for i := range list {
		o := &list[i]
		name, ok := workloads[o.Trace]
		if !ok {
			name = workloadOf(o.Trace)
			for n, plain := 2, name; taken[name]; n++ {
				name = plain + "-" + strconv.Itoa(n)
			}
			workloads[o.Trace], taken[name] = name, true
		}
		of := series{name, o.Model}
		repeats[of]++
		results = append(results, Result{
			Trial: config.TrialName(repeats[of], name, o.Model), Workload: name, Model: o.Model, Repeat: repeats[of],
			InputBytes: o.Bytes.Input, MakespanMs: int64(o.MakespanMs), Figures: o.Summary(), Warnings: o.Warnings,
		})
	}
	return results
}

// workloadOf names a trace by its file, or by its trial's folder where that is how
// traces are told apart.
func workloadOf(path string) string {
	name := filepath.Base(path)
	if dir := filepath.Base(filepath.Dir(path)); name == traceFile && dir != "." {
		name = dir
	}
	name = strings.TrimSuffix(name, filepath.Ext(traceFile))
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '.' || r == '_' {
			return r
		}
		return '-'
	}, name)
}

func hasTable(run *runs.Run) bool {
	return slices.ContainsFunc(run.Manifest().Files, func(f runs.File) bool { return f.Name == measuresFile })
}

func readTable(run *runs.Run) ([]Result, error) {
	data, err := run.ReadFile(measuresFile)
	if err != nil {
		return nil, err
	}
	var results []Result
	seen := map[string]bool{}
	for i, line := range bytes.Split(bytes.TrimSpace(data), []byte("\n")) {
		bad := func(err error) ([]Result, error) {
			return nil, fmt.Errorf("read results: %w: %s: line %d: %w", runs.ErrDamaged, filepath.Join(run.Dir, measuresFile), i+1, err)
		}
		var r Result
		if err := json.Unmarshal(line, &r); err != nil {
			return bad(err)
		}
		if err := r.check(r.Trial); err != nil {
			return bad(err)
		}
		if seen[r.Trial] {
			return bad(fmt.Errorf("trial %s is there twice", r.Trial))
		}
		if r.Figures == nil {
			return bad(errors.New("no figures"))
		}
		seen[r.Trial] = true
		results = append(results, r)
	}
	return results, nil
}
