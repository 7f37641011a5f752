package hibench

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestVectors: what appendVector writes, readVector reads, and Mahout's other forms too.
func TestVectors(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.SliceOf(rapid.Float64()).Draw(t, "v")
		got := make([]float64, len(v))
		r := bytes.NewReader(appendVector(nil, v))
		if err := readVector(r, got); err != nil || r.Len() != 0 || !slices.Equal(got, v) {
			t.Fatalf("read %v, %v, and %d bytes are left; want %v", got, err, r.Len(), v)
		}
	})
	double := func(x float64) string { return string(binary.BigEndian.AppendUint64(nil, math.Float64bits(x))) }
	single := func(x float32) string { return string(binary.BigEndian.AppendUint32(nil, math.Float32bits(x))) }
	for name, c := range map[string]struct {
		text string
		want []float64
		err  string
	}{
		"dense":            {"\x03\x02" + double(1.5) + double(-2), []float64{1.5, -2}, ""},
		"dense and single": {"\x0b\x02" + single(1.5) + single(-2), []float64{1.5, -2}, ""},
		"sparse":           {"\x00\x03\x01\x02" + double(7), []float64{0, 0, 7}, ""},
		"in order":         {"\x02\x04\x02\x01" + double(7) + "\x02" + double(8), []float64{0, 7, 0, 8}, ""},
		"named":            {"\x07\x01" + double(3) + "\x00\x02ab", []float64{3}, ""},
		"another size":     {"\x03\x02" + double(1) + double(2), []float64{1}, "2 elements, want 1"},
		"index too large":  {"\x00\x02\x01\x02" + double(1), []float64{0, 0}, "index 2 of 2"},
		"cut off":          {"\x03\x02" + double(1), []float64{0, 0}, "unexpected EOF"},
		"endless number":   {"\x00" + strings.Repeat("\xff", 12), []float64{0}, "overflow"},
		"nothing":          {"", []float64{0}, "unexpected EOF"},
	} {
		got := make([]float64, len(c.want))
		err := readVector(bytes.NewReader([]byte(c.text)), got)
		if c.err == "" && (err != nil || !slices.Equal(got, c.want)) || c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) {
			t.Errorf("%s: %v, %v; want %v %s", name, got, err, c.want, c.err)
		}
	}
}

// FuzzReadKluster: hostile clusters are refused or read, within bounds.
func FuzzReadKluster(f *testing.F) {
	f.Add(append(appendUTF(nil, klusterClass), appendKluster(nil, 3, []float64{1, 2})...))
	f.Fuzz(func(t *testing.T, b []byte) {
		id, _, center, err := readKluster(b, 2)
		if err == nil && (id < 0 || id >= kmeansClusters || len(center) != 2) {
			t.Errorf("cluster %d with the center %v", id, center)
		}
	})
}

// kmeansRunner returns a runner of kmeans over 60 points, with its input, as heddle
// writes it, and the output of Mahout's program in testdata.
func kmeansRunner(t *testing.T) (*Runner, *fakeHadoop) {
	t.Helper()
	h := newFakeHadoop(t)
	env := h.env(t)
	env.Mahout = t.TempDir()
	write(t, filepath.Join(env.Mahout, "mahout-mr-0.11.0.jar"), "", 0o644)
	write(t, filepath.Join(env.Mahout, "mahout-math-0.11.0.jar"), "", 0o644)
	r := newRunner(t, env, Spec{Workload: Kmeans, Samples: 60, Maps: 2, Seed: 1})
	if _, err := r.Prepare(t.Context(), "t1"); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(h.fs.path(r.outputPath("t1")), os.DirFS(filepath.Join("testdata", "kmeans"))); err != nil {
		t.Fatal(err)
	}
	return r, h
}

// TestKmeansCheck holds our centers against those of Mahout's program, which made the
// output of testdata from the same points, and finds what differs.
func TestKmeansCheck(t *testing.T) {
	final, points := "clusters-5-final/part-r-00000", "clusteredPoints/part-m-00000"
	for _, c := range []struct {
		want   string
		change func(t *testing.T, dir string)
	}{
		{"", func(*testing.T, string) {}},
		{"there is no folder clusters-*-final", func(t *testing.T, dir string) { rename(t, dir, "clusters-5-final", "clusters-5") }},
		{"want one of iteration 1 to 5", func(t *testing.T, dir string) { rename(t, dir, "clusters-5-final", "clusters-6-final") }},
		{"it ended after iteration 1, in which a center moved by", func(t *testing.T, dir string) { rename(t, dir, "clusters-5-final", "clusters-1-final") }},
		{"as its coordinate 0", func(t *testing.T, dir string) {
			edit(t, filepath.Join(dir, final), func(b []byte) []byte {
				i := bytes.Index(b, []byte(distanceClass)) + len(distanceClass) + 4 + 16
				// flags, size, and for a vector that is not dense also elements and index
				for i += 2; b[i] < 0x40; i++ { // the first byte of a number of some hundreds
				}
				b[i+3] ^= 1
				return b
			})
		}},
		{"unexpected EOF", func(t *testing.T, dir string) {
			edit(t, filepath.Join(dir, points), func(b []byte) []byte { return b[:len(b)-3] })
		}},
		{"points that are nearest to each center", func(t *testing.T, dir string) {
			if err := os.Remove(filepath.Join(dir, points)); err != nil {
				t.Fatal(err)
			}
		}},
	} {
		r, h := kmeansRunner(t)
		c.change(t, h.fs.path(r.outputPath("t1")))
		k, err := r.Check(t.Context(), "t1", nil)
		if c.want == "" && (err != nil || k.Records != 60 || len(k.Compared) != 4) || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%+v, %v; want %q", k, err, c.want)
		}
	}
	r, h := kmeansRunner(t)
	if err := os.RemoveAll(h.fs.path(r.outputPath("t1"))); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Check(t.Context(), "t1", nil); !errors.Is(err, ErrInvalidOutput) {
		t.Errorf("without output: %v", err)
	}
}

func rename(t *testing.T, dir, from, to string) {
	t.Helper()
	if err := os.Rename(filepath.Join(dir, from), filepath.Join(dir, to)); err != nil {
		t.Fatal(err)
	}
}

func edit(t *testing.T, name string, change func([]byte) []byte) {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	write(t, name, string(change(b)), 0o644)
}

// TestKmeansCommand: the program is Mahout's class, its jars go to the cluster with the
// job, and a checkout changes nothing.
func TestKmeansCommand(t *testing.T) {
	r, h := kmeansRunner(t)
	if err := os.Remove(h.calls); err == nil {
		t.Error("heddle writes the points itself, and a program was started")
	}
	if _, err := r.Run(t.Context(), "t1"); err != nil {
		t.Fatal(err)
	}
	called := readFile(t, h.calls)
	jars := filepath.Join(r.env.Mahout, "mahout-math-0.11.0.jar") + "," + filepath.Join(r.env.Mahout, "mahout-mr-0.11.0.jar")
	for _, want := range []string{kmeansClass + "\n-libjars\n" + jars + "\n", "-x\n5\n", "-c\n" + r.centersPath() + "\n", "-cd\n0.5\n"} {
		if !strings.Contains(called, want) {
			t.Errorf("called with %q; want %q in it", called, want)
		}
	}
	if _, err := New(h.env(t), Spec{Workload: Kmeans, Profile: "tiny"}); err == nil || !strings.Contains(err.Error(), "no mahout-mr-*.jar") {
		t.Errorf("without Mahout: %v", err)
	}
}

// TestPoints: points are the same in however many files, and those of one cluster have
// its mean and deviation.
func TestPoints(t *testing.T) {
	spec := Spec{Workload: Kmeans, Samples: 5000, Seed: 3}
	read := func(maps int) (sums, squares [kmeansClusters]float64, all int) {
		h := newFakeHadoop(t)
		env := h.env(t)
		env.Mahout = t.TempDir()
		write(t, filepath.Join(env.Mahout, "mahout-mr-0.11.0.jar"), "", 0o644)
		spec.Maps = maps
		r := newRunner(t, env, spec)
		d, err := r.Prepare(t.Context(), "t1")
		if err != nil || d.Files != maps {
			t.Fatalf("%+v, %v; want %d files", d, err, maps)
		}
		err = r.eachPoint(t.Context(), r.mapInputPath(), func(x []float64) {
			k := all * kmeansClusters / 5000
			sums[k] += x[0]
			squares[k] += x[0] * x[0]
			all++
		})
		if err != nil {
			t.Fatal(err)
		}
		return sums, squares, all
	}
	sums, squares, n := read(1)
	again, _, _ := read(7)
	if sums != again || n != 5000 {
		t.Errorf("%d points; sums %v in one file and %v in 7", n, sums, again)
	}
	means, deviations := spec.points().clusters()
	for k := range kmeansClusters {
		mean := sums[k] / 1000
		deviation := math.Sqrt(squares[k]/1000 - mean*mean)
		if want := deviations[k][0]; math.Abs(mean-means[k][0]) > 5*want/math.Sqrt(1000) || math.Abs(deviation-want) > 0.15*want {
			t.Errorf("cluster %d: mean %v, deviation %v; want %v and %v", k, mean, deviation, means[k][0], want)
		}
	}
}
