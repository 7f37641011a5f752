package hibench

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// pagerankRunner returns a runner of pagerank over the 40 pages of testdata, whose input
// and output are in place.
func pagerankRunner(t *testing.T, change func(ranks string) string) *Runner {
	t.Helper()
	h := newFakeHadoop(t)
	env := h.env(t)
	env.Checkout = hibenchWithPagerank(t)
	r := newRunner(t, env, Spec{Workload: Pagerank, Pages: 40, Maps: 1})
	for name, file := range map[string]string{r.mapInputPath() + "/part-00000": "edges", r.outputPath("t1") + "/pr_vector/part-00000": "ranks"} {
		text, err := os.ReadFile(filepath.Join("testdata", "pagerank", file))
		if err != nil {
			t.Fatal(err)
		}
		if file == "ranks" {
			text = []byte(change(string(text)))
		}
		write(t, h.fs.path(name), string(text), 0o644)
	}
	return r
}

// hibenchWithPagerank is a folder with the files of a checkout that pagerank needs.
func hibenchWithPagerank(t *testing.T) string {
	dir := t.TempDir()
	for _, name := range []string{
		"conf/hibench.conf", "conf/workloads/websearch/pagerank.conf", "bin/workloads/websearch/pagerank/prepare/prepare.sh", "bin/workloads/websearch/pagerank/hadoop/run.sh",
		"bin/functions/load_config.py", "bin/functions/monitor.py", "bin/functions/workload_functions.sh",
	} {
		write(t, filepath.Join(dir, filepath.FromSlash(name)), "", 0o755)
	}
	return dir
}

// TestPagerankCheck holds our ranks against those of HiBench's program, which made the
// ranks of testdata from its links in three iterations, and finds what differs.
func TestPagerankCheck(t *testing.T) {
	replace := func(old, new string) func(string) string {
		return func(s string) string {
			if !strings.Contains(s, old) {
				t.Fatalf("no %q in the ranks", old)
			}
			return strings.Replace(s, old, new, 1)
		}
	}
	for want, change := range map[string]func(string) string{
		"":                                func(s string) string { return s },
		"page 0 has the rank 0.02937877":  replace("0\tv0.029378765669285118", "0\tv0.029378775669285118"),
		"page 0 has the rank NaN":         replace("0\tv0.029378765669285118", "0\tvNaN"),
		"page 2 occurs twice":             func(s string) string { return s + "2\tv0.03865107669259262\n" },
		"ranks of all pages: 39, want 40": replace("0\tv0.029378765669285118\n", ""),
		"want a page below 40":            replace("0\tv0.029378765669285118", "40\tv0.029378765669285118"),
		`line "0 v0"`:                     replace("0\tv0.029378765669285118", "0 v0"),
	} {
		k, err := pagerankRunner(t, change).Check(t.Context(), "t1", nil)
		if want == "" && (err != nil || k.Records != 40 || k.Bytes == 0) || want != "" && (!errors.Is(err, ErrInvalidOutput) || !strings.Contains(err.Error(), want)) {
			t.Errorf("%+v, %v; want %q", k, err, want)
		}
	}
}

// TestRanks: where all pages are alike, each keeps its rank, in however many iterations.
// A page that nobody links to has the least rank, and no iteration follows one that
// changes little.
func TestRanks(t *testing.T) {
	for _, r := range ranks([]int32{0, 1, 2, 3}, []int32{1, 2, 3, 0}, 4, 9) {
		if r < 0.25-1e-12 || r > 0.25+1e-12 {
			t.Errorf("rank %v in a ring of 4, want 0.25", r)
		}
	}
	c := float64(float32(0.85))
	got := ranks([]int32{0, 1}, []int32{1, 1}, 2, 1)
	if want := []float64{(1 - c) / 2, c + (1-c)/2}; got[0] != want[0] || got[1] != want[1] {
		t.Errorf("ranks %v, want %v", got, want)
	}
	if a, b := ranks([]int32{0, 1}, []int32{1, 0}, 2, 1), ranks([]int32{0, 1}, []int32{1, 0}, 2, 50); a[0] != b[0] {
		t.Errorf("ranks %v after 1 iteration and %v after 50, none of which was needed", a, b)
	}
}

func TestPagerankRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		spec Spec
		want string
	}{
		"profile":         {Spec{Profile: "bigdata"}, ""},
		"pages":           {Spec{Pages: 8}, ""},
		"none":            {Spec{}, "no size; want a profile"},
		"both":            {Spec{Profile: "tiny", Pages: 8}, "want one of them"},
		"bytes":           {Spec{SizeBytes: 8}, "its size is a number of pages"},
		"visits":          {Spec{Visits: 8}, "its size is a number of pages"},
		"unknown profile": {Spec{Profile: "middle"}, `unknown profile "middle"`},
		"too few":         {Spec{Pages: 7}, "7 pages: want at least one for each of 8 maps"},
		"too many":        {Spec{Pages: 1 << 31}, "at most 2147483647"},
		"below 0":         {Spec{Pages: -1}, "-1 pages"},
	} {
		c.spec.Workload = Pagerank
		err := c.spec.Validate()
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: error %v; want one with %q", name, err, c.want)
		}
	}
	if _, err := New(newFakeHadoop(t).env(t), Spec{Workload: Pagerank, Profile: "tiny"}); err == nil || !strings.Contains(err.Error(), "want a HiBench checkout, such as hibench: DIR") {
		t.Errorf("without a checkout: %v", err)
	}
	if a, b := (Spec{Workload: Pagerank, Profile: "tiny"}).Iterations(), (Spec{Workload: Pagerank, Pages: 50}).Iterations(); a != 1 || b != 3 {
		t.Errorf("%d and %d iterations, want 1 and 3", a, b)
	}
	if text := fmt.Sprint(Spec{Workload: Pagerank, Pages: 50}); text != "pagerank of 50 pages" {
		t.Errorf("it is called %q", text)
	}
}
