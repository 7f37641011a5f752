package export

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"heddle/harness/measure"
	"heddle/harness/results"
	"heddle/traces/errtest"
	"heddle/traces/table"
)

func open(t *testing.T, dirs ...string) (list []*results.Run) {
	t.Helper()
	for _, dir := range dirs {
		run := errtest.Must(results.Open(dir, false))
		list = append(list, run)
	}
	return list
}

// rowsOf writes a table as CSV and reads it back: for each row, its values by column.
func rowsOf(t *testing.T, list []*results.Run, kind string) (head []string, rows []map[string]string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "t.csv")
	errtest.Must(Write(list, kind, path))
	f := errtest.Must(os.Open(path))
	defer f.Close()
	lines := errtest.Must(csv.NewReader(f).ReadAll())
	for _, line := range lines[1:] {
		row := map[string]string{}
		for i, name := range lines[0] {
			row[name] = line[i]
		}
		rows = append(rows, row)
	}
	return lines[0], rows
}

const lab, two = "../fidelity/testdata/run", "../compare/testdata/run"

// TestParquetIsCSV has both forms have the same columns, in the order in which they are
// explained, and the same values. Parquet says what each column is.
func TestParquetIsCSV(t *testing.T) {
	for _, kind := range Kinds() {
		head, rows := rowsOf(t, open(t, lab), kind)
		path := filepath.Join(t.TempDir(), "t.parquet")
		errtest.Must(Write(open(t, lab), kind, path))
		f := errtest.Must(os.Open(path))
		defer f.Close()
		size, _ := f.Seek(0, io.SeekEnd)
		file := errtest.Must(parquet.OpenFile(f, size))
		var names []string
		for _, c := range file.Root().Columns() {
			names = append(names, c.Name())
		}
		explained := Columns(kind)
		if kind != Trials {
			explained = append(table.Texts(trialColumns), explained...)
		}
		for i, x := range explained {
			if text, _ := file.Lookup(x[0]); head[i] != x[0] || text != x[1] || text == "" {
				t.Errorf("%s: column %d is %s, explained as %q; want %s, %q", kind, i, head[i], text, x[0], x[1])
			}
		}
		if !slices.Equal(names, head) || len(explained) != len(head) || file.NumRows() != int64(len(rows)) || len(rows) == 0 {
			t.Fatalf("%s: Parquet has %d rows of %q, CSV %d of %q", kind, file.NumRows(), names, len(rows), head)
		}
		r := parquet.NewReader(file)
		for i := range rows {
			row := make([]parquet.Row, 1)
			if n, err := r.ReadRows(row); n != 1 {
				t.Fatal(err)
			}
			for k, v := range row[0] {
				text, number := rows[i][head[k]], 0.0
				if v.IsNull() != (text == "" && v.Kind() != parquet.ByteArray) {
					t.Errorf("%s, row %d: %s is %v in Parquet and %q in CSV", kind, i, head[k], v, text)
				}
				switch v.Kind() {
				case parquet.Double:
					number, _ = strconv.ParseFloat(text, 64)
					if !v.IsNull() && number != v.Double() {
						t.Errorf("%s, row %d: %s is %v in Parquet and %q in CSV", kind, i, head[k], v, text)
					}
				default:
					if !v.IsNull() && v.String() != text {
						t.Errorf("%s, row %d: %s is %v in Parquet and %q in CSV", kind, i, head[k], v, text)
					}
				}
			}
		}
	}
}

// TestRowsAddUp has jobs and attempts be those that the trials' figures count: as many by
// kind and outcome, and as long in the mean.
func TestRowsAddUp(t *testing.T) {
	runs := open(t, lab)
	_, jobs := rowsOf(t, runs, Jobs)
	_, attempts := rowsOf(t, runs, Attempts)
	for i := range runs[0].Trials {
		r := &runs[0].Trials[i]
		figures, _, err := runs[0].Figures(r)
		mustDo(t, err)
		n, sum, counts := 0, 0.0, map[string]int{}
		for _, j := range jobs {
			if j["trial"] != r.Name {
				continue
			}
			ms, err := strconv.ParseFloat(j["completion_ms"], 64)
			if err != nil || j["run"] != "run" || j["workload"] != r.Workload || j["model"] != r.Model || j["repeat"] != fmt.Sprint(r.Repeat) ||
				j["world"] != "cluster" {
				t.Errorf("%v, %v: want the run, workload, model and repeat of %s", j, err, r.Name)
			}
			n, sum = n+1, sum+ms
		}
		if n != len(figures.JobList) || math.Abs(sum/float64(n)-figures.MeanCompletionMs) > 1e-6 {
			t.Errorf("%s: %d jobs of %v ms in the mean, want %d of %v", r.Name, n, sum/float64(n), len(figures.JobList), figures.MeanCompletionMs)
		}
		for _, a := range attempts {
			if a["trial"] == r.Name {
				counts[a["outcome"]]++
				counts[a["kind"]+" "+a["replica_locality"]]++
			}
		}
		want := figures.Attempts
		if counts["succeeded"] != want.OK || counts["failed"] != want.Failed || counts["killed"] != want.Killed ||
			counts["map node"] < figures.Locality.Node || want.OK == 0 {
			t.Errorf("%s: attempts %v, want %+v, node-local maps %d", r.Name, counts, want, figures.Locality.Node)
		}
	}
}

// TestSeveralRuns has the rows of all runs below each other, told apart by their folders,
// and refuses what could not be told apart, or is not there.
func TestSeveralRuns(t *testing.T) {
	other := filepath.Join(t.TempDir(), "other")
	mustDo(t, os.CopyFS(other, os.DirFS(two)))
	list := open(t, lab, other)
	_, rows := rowsOf(t, list, Trials)
	count := map[string]int{}
	for _, r := range rows {
		count[r["run"]]++
	}
	if count["run"] != 6 || count["other"] != 2 || len(rows) != 8 {
		t.Errorf("rows of runs: %v, want 6 of run and 2 of other", count)
	}
	if _, rows := rowsOf(t, nil, Jobs); len(rows) != 0 {
		t.Errorf("%d rows of no run", len(rows))
	}
	list[1].Trials = nil
	there := filepath.Join(t.TempDir(), "there.csv")
	if warnings, err := Write(list, Trials, there); err != nil || len(warnings) != 1 ||
		!strings.Contains(warnings[0], "other has no trial that is done") {
		t.Errorf("a run without a trial that is done: %q, %v", warnings, err)
	}
	figuresAlone := open(t, other)
	figuresAlone[0].Trials[0].Figures = &measure.Figures{}
	for _, c := range []struct {
		list       []*results.Run
		kind, name string
		want       error
		text       string
	}{
		{open(t, lab, two), Trials, "a.csv", ErrSameName, "two are named run"},
		{open(t, lab), "tasks", "b.csv", nil, "want trials, jobs, attempts"},
		{open(t, lab), Trials, "c.xls", table.ErrName, "c.xls"},
		{figuresAlone, Attempts, "d.parquet", ErrNoTraces, "other"},
		{figuresAlone, Jobs, "e.csv", ErrNoTraces, "other"},
	} {
		path := filepath.Join(t.TempDir(), c.name)
		_, err := Write(c.list, c.kind, path)
		if err == nil || c.want != nil && !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s to %s: error %v, want %v, and %q", c.kind, c.name, err, c.want, c.text)
		}
		if _, err := os.Stat(path); err == nil {
			t.Errorf("%s to %s: a file is left", c.kind, c.name)
		}
	}
	before := errtest.Must(os.ReadFile(there))
	errtest.Is(t, errtest.Of(Write(open(t, lab), Jobs, there)), os.ErrExist)
	if after, _ := os.ReadFile(there); string(after) != string(before) {
		t.Error("a file that was there is another now")
	}
}

// TestReadmeColumns has the columns that the page about run folders names be there.
func TestReadmeColumns(t *testing.T) {
	text := errtest.Must(os.ReadFile("../runs/README.md"))
	_, section, found := strings.Cut(string(text), "runs export")
	section, _, _ = strings.Cut(section, "\n#")
	if !found {
		t.Fatal("the page about run folders does not say how to export them")
	}
	known := map[string]bool{}
	for _, kind := range Kinds() {
		for _, c := range Columns(kind) {
			known[c[0]] = true
		}
		if !strings.Contains(section, kind) {
			t.Errorf("the page does not say that there are rows of %s", kind)
		}
	}
	for _, m := range regexp.MustCompile("`([a-zA-Z]+(?:_[a-z]+)+)`").FindAllStringSubmatch(section, -1) {
		if !known[m[1]] {
			t.Errorf("the page names the column %s, and there is none", m[1])
		}
	}
}

var mustDo = errtest.None
