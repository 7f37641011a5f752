package hibench

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
)

// bayesRunner returns a runner of bayes over 4 pages, with its input, as heddle writes
// it, and the output of Mahout's programs in testdata.
func bayesRunner(t *testing.T) (*Runner, *fakeHadoop) {
	t.Helper()
	h := newFakeHadoop(t)
	env := h.env(t)
	env.Mahout = t.TempDir()
	write(t, filepath.Join(env.Mahout, "mahout-mr-0.11.0.jar"), "", 0o644)
	r := newRunner(t, env, Spec{Workload: Bayes, Pages: 4, Maps: 1, Reduces: 1, Seed: 1})
	if _, err := r.Prepare(t.Context(), "t1"); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(h.fs.path(r.outputPath("t1")), os.DirFS(filepath.Join("testdata", "bayes"))); err != nil {
		t.Fatal(err)
	}
	return r, h
}

// TestBayesCheck holds our numbers against those of Mahout's programs, which made the
// output of testdata from the same pages, and finds what differs.
func TestBayesCheck(t *testing.T) {
	model, words := "model/naiveBayesModel.bin", "vectors/dictionary.file-0"
	for _, c := range []struct {
		want   string
		change func(t *testing.T, dir string)
	}{
		{"", func(*testing.T, string) {}},
		{"there is no result", func(t *testing.T, dir string) { remove(t, filepath.Join(dir, "model")) }},
		{"classes: 0, want", func(t *testing.T, dir string) { remove(t, filepath.Join(dir, "labelindex")) }},
		{"has the number", func(t *testing.T, dir string) {
			edit(t, filepath.Join(dir, model), func(b []byte) []byte {
				b[bytes.LastIndex(b, []byte("/class"))-2-6] ^= 1 // in the last number, before the name of its vector
				return b
			})
		}},
		{"vector: unexpected EOF", func(t *testing.T, dir string) {
			edit(t, filepath.Join(dir, model), func(b []byte) []byte { return b[:len(b)-3] })
		}},
		{"3 bytes follow", func(t *testing.T, dir string) {
			edit(t, filepath.Join(dir, model), func(b []byte) []byte { return append(b, 1, 2, 3) })
		}},
		{"want each of 0 to", func(t *testing.T, dir string) {
			edit(t, filepath.Join(dir, words), func(b []byte) []byte { b[len(b)-1]++; return b })
		}},
		{"elements, want 0", func(t *testing.T, dir string) { remove(t, filepath.Join(dir, words)) }},
	} {
		r, h := bayesRunner(t)
		c.change(t, h.fs.path(r.outputPath("t1")))
		k, err := r.Check(t.Context(), "t1", nil)
		if c.want == "" && (err != nil || k.Records < 100 || len(k.Compared) != 2) || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%+v, %v; want %q", k, err, c.want)
		}
	}
}

func remove(t *testing.T, name string) {
	t.Helper()
	if err := os.RemoveAll(name); err != nil {
		t.Fatal(err)
	}
}

// TestLearn: a word in one page of two, twice, has root(2) * (ln(2/2) + 1), one that occurs
// once in all has no number, nor has one in every page.
func TestLearn(t *testing.T) {
	r, h := bayesRunner(t)
	var b bytes.Buffer
	w := newSeqWriter(&b, "x", textClass, textClass)
	w.write(asText([]byte("/red/a")), asText([]byte("baba dede dede once ")))
	w.write(asText([]byte("/blue/b")), asText([]byte("baba")))
	if err := w.flush(); err != nil {
		t.Fatal(err)
	}
	remove(t, h.fs.path(r.inputPath()))
	write(t, h.fs.path(path.Join(r.inputPath(), "part-00000")), b.String(), 0o644)
	got, err := r.learn(t.Context(), r.inputPath())
	want := float64(float32(math.Sqrt2))
	if err != nil || len(got["red"]) != 1 || got["red"]["dede"] != want || got["blue"] == nil || len(got["blue"]) != 0 {
		t.Errorf("learned %v, %v; want only %v for dede in red", got, err, want)
	}
	write(t, h.fs.path(path.Join(r.inputPath(), "part-00000")), texts("red", "baba"), 0o644)
	if _, err := r.learn(t.Context(), r.inputPath()); err == nil || !strings.Contains(err.Error(), "want /CLASS/NAME") {
		t.Errorf("a page without a class: %v", err)
	}
}

// TestBayesCommand: the second program follows the first, and not if that fails.
func TestBayesCommand(t *testing.T) {
	r, h := bayesRunner(t)
	if _, err := r.Run(t.Context(), "t1"); err != nil {
		t.Fatal(err)
	}
	called := readFile(t, h.calls)
	first, second := strings.Index(called, vectorizeClass+"\n-libjars"), strings.Index(called, trainClass+"\n-libjars")
	if first < 0 || second < first || !strings.Contains(called, "-ng\n1\n") || !strings.Contains(called, "--numReducers\n1\n") {
		t.Errorf("called with %q", called)
	}
	if err := os.Remove(h.calls); err != nil {
		t.Fatal(err)
	}
	h.does(t, "exit 3\n")
	_, err := r.Run(t.Context(), "t1")
	var failed *ClientError
	if !errors.As(err, &failed) || failed.Code != 3 || strings.Contains(readFile(t, h.calls), trainClass) {
		t.Errorf("%v; want the status 3 of the first program, and no second", err)
	}
}

// TestWords: words are drawn by Zipf's law, have letters only, and one number each.
func TestWords(t *testing.T) {
	source := newWordSource()
	seen := map[string]bool{}
	for n := range bayesWords {
		word := string(appendName(nil, n))
		if seen[word] || len(word) < 4 || strings.Trim(word, "abcdefghijklmnopqrstuvwxyz") != "" {
			t.Fatalf("word %d is %q", n, word)
		}
		seen[word] = true
	}
	counts, random := map[string]int{}, points{seed: 5}.draw(0)
	const drawn = 100_000
	for range drawn {
		counts[string(source.appendWord(nil, random))]++
	}
	for _, n := range []int{0, 1, 9} {
		chance := source.until[n]
		if n > 0 {
			chance -= source.until[n-1]
		}
		times := counts[string(appendName(nil, n))]
		if want := chance * drawn; math.Abs(float64(times)-want) > 5*math.Sqrt(want) {
			t.Errorf("word %d was drawn %d times, want about %.0f", n, times, want)
		}
	}
	if ratio := source.until[0] / (source.until[1] - source.until[0]); fmt.Sprintf("%.3f", ratio) != "1.866" { // 2^0.9
		t.Errorf("the first word is %v times as likely as the second", ratio)
	}
}
