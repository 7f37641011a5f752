package node

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rogpeppe/go-internal/txtar"
	"pgregory.net/rapid"
)

func TestRunSamplesEveryInterval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, mustParse(t, "testdata/host.txtar"))
		s := must(NewSampler(f.options()))
		ctx, stop := context.WithTimeout(t.Context(), 5*time.Second+time.Millisecond)
		defer stop()
		var seqs []uint64
		s.Run(ctx, time.Second, func(r *Reading, sample Sample) {
			seqs = append(seqs, sample.Seq)
			if sample.IntervalNs != int64(time.Second) {
				t.Errorf("sample %d covers %d ns, want a second", sample.Seq, sample.IntervalNs)
			}
			if want := int64(sample.Seq) * int64(time.Second); sample.MonoNs != want || r.MonoNs != want {
				t.Errorf("sample %d at %d ns, reading at %d, want %d", sample.Seq, sample.MonoNs, r.MonoNs, want)
			}
		})
		if want := []uint64{1, 2, 3, 4, 5}; !slices.Equal(seqs, want) {
			t.Errorf("samples %v, want %v", seqs, want)
		}
	})
}

// TestLoadAverage checks against the closed form: n tasks from time 0 on give
// n·(1-e^(-t/window)).
func TestLoadAverage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, mustParse(t, "testdata/cgroup-v1.txtar"))
		f.turn("after")
		s := must(NewSampler(f.options()))
		ctx, stop := context.WithTimeout(t.Context(), 2*time.Minute+time.Millisecond)
		defer stop()
		var last *Load
		s.Run(ctx, time.Second, func(_ *Reading, sample Sample) { last = sample.Load })
		if want := 2 * (1 - math.Exp(-2)); math.Abs(last.Load1-want) > 1e-9 {
			t.Errorf("load after two minutes of 2 tasks = %v, want %v", last.Load1, want)
		}
	})
}

func TestCgroupPaths(t *testing.T) {
	root := t.TempDir()
	mustDo(t, os.MkdirAll(filepath.Join(root, "memory/lab/worker1"), 0o700))
	for _, c := range []struct {
		path, wantErr string
	}{
		{"lab/worker1", ""},
		{"lab/worker2", "make it before the agent starts"},
		{"/lab/worker1", "want a path below"},
		{"../lab", "want a path below"},
		{".", "want a path below"},
	} {
		_, err := NewSampler(Options{Cgroup: c.path, CgroupRoot: root})
		switch {
		case c.wantErr == "" && err != nil:
			t.Errorf("%q: %v", c.path, err)
		case c.wantErr != "" && (err == nil || !strings.Contains(err.Error(), c.wantErr)):
			t.Errorf("%q: error %v, want one that says %q", c.path, err, c.wantErr)
		}
	}
}

// TestSinceIsFinite: whatever the counters do, rates are finite and not
// negative, and what one reading lacks is absent.
func TestSinceIsFinite(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		before, after := drawReading(t, "before"), drawReading(t, "after")
		s := after.Since(&before)
		check := func(what string, v *float64) {
			if v != nil && (*v < 0 || math.IsNaN(*v) || math.IsInf(*v, 0)) {
				t.Errorf("%s = %v", what, *v)
			}
		}
		if s.CPU != nil {
			check("user", &s.CPU.UserCores)
			check("idle", s.CPU.IdleCores)
		}
		if (s.CPU != nil) != (before.CPU != nil && after.CPU != nil && s.IntervalNs > 0) {
			t.Errorf("cpu %v from %v and %v over %d ns", s.CPU, before.CPU, after.CPU, s.IntervalNs)
		}
		for _, d := range s.Disks {
			check(d.Device+" read", &d.ReadBytesPerSec)
			check(d.Device+" queue", d.QueueMean)
		}
		if before.Disks == nil && s.Disks != nil {
			t.Errorf("disks %v without an earlier list", s.Disks)
		}
	})
}

func drawReading(t *rapid.T, name string) Reading {
	count := rapid.Uint64()
	maybe := rapid.Ptr(count, true)
	r := Reading{MonoNs: rapid.Int64Range(0, math.MaxInt64).Draw(t, name)}
	if rapid.Bool().Draw(t, name+" has cpu") {
		r.CPU = &CPUTimes{UserNs: count.Draw(t, "user"), IdleNs: maybe.Draw(t, "idle")}
	}
	if rapid.Bool().Draw(t, name+" has disks") {
		r.Disks = []DiskCounters{}
		for _, device := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b"}), 0, 2, rapid.ID).Draw(t, "devices") {
			r.Disks = append(r.Disks, DiskCounters{
				Device: device, ReadBytes: count.Draw(t, "read"), QueueMs: maybe.Draw(t, "queue"),
			})
		}
	}
	return r
}

func TestDropCaches(t *testing.T) {
	const meminfo = "-- before/proc/meminfo --\nMemTotal: 1000 kB\nBuffers: 0 kB\nCached: 400 kB\n-- before/proc/sys/vm/drop_caches --\n"
	for _, c := range []struct {
		name, files string
		want        Dropped
		wrote, text string
	}{
		{
			"host", meminfo,
			Dropped{"host", "vm.drop_caches", 409600, 409600},
			"proc/sys/vm/drop_caches", "3\n",
		},
		{
			"cgroup v1", "cgroup: a\n" + meminfo + "-- before/cgroup/memory/a/memory.force_empty --\n" +
				"-- before/cgroup/memory/a/memory.usage_in_bytes --\n100\n-- before/cgroup/memory/a/memory.stat --\ntotal_cache 60\n",
			Dropped{"cgroup", "memory.force_empty", 60, 60},
			"cgroup/memory/a/memory.force_empty", "0\n",
		},
		{
			"cgroup v2", "cgroup: a\n" + meminfo + "-- before/cgroup/cgroup.controllers --\nmemory\n-- before/cgroup/a/memory.reclaim --\n" +
				"-- before/cgroup/a/memory.current --\n100\n-- before/cgroup/a/memory.max --\nmax\n-- before/cgroup/a/memory.stat --\nfile 60\n",
			Dropped{"cgroup", "memory.reclaim", 60, 60},
			"cgroup/a/memory.reclaim", "60 swappiness=0\n",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFixture(t, txtar.Parse([]byte(c.files)))
			s := must(NewSampler(f.options()))
			if err := s.CanDropCaches(); err != nil {
				t.Error(err)
			}
			got := must(s.DropCaches())
			if got != c.want {
				t.Errorf("dropped %+v, want %+v", got, c.want)
			}
			if text, err := os.ReadFile(filepath.Join(f.now, c.wrote)); string(text) != c.text {
				t.Errorf("%s holds %q (%v), want %q", c.wrote, text, err, c.text)
			}
		})
	}
}

// The machine's page cache stays as it is when the group's cannot be dropped.
func TestDropCachesStaysInTheGroup(t *testing.T) {
	const meminfo = "cgroup: a\n-- before/proc/meminfo --\nMemTotal: 1000 kB\nBuffers: 0 kB\nCached: 400 kB\n-- before/proc/sys/vm/drop_caches --\n"
	const v2 = meminfo + "-- before/cgroup/cgroup.controllers --\nmemory\n"
	for _, c := range []struct{ name, files, says string }{
		{"v1 without the memory controller", meminfo + "-- before/cgroup/cpu/a/tasks --\n", "controller memory"},
		{"v1 without force_empty", meminfo + "-- before/cgroup/memory/a/memory.usage_in_bytes --\n100\n" +
			"-- before/cgroup/memory/a/memory.stat --\ntotal_cache 60\n", "memory.force_empty"},
		{"v1 whose statistics cannot be read", meminfo + "-- before/cgroup/memory/a/memory.force_empty --\n", "memory."},
		{"v2 without reclaim", v2 + "-- before/cgroup/a/memory.current --\n100\n-- before/cgroup/a/memory.max --\nmax\n" +
			"-- before/cgroup/a/memory.stat --\nfile 60\n", "memory.reclaim"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFixture(t, txtar.Parse([]byte(c.files)))
			s := must(NewSampler(f.options()))
			if err := s.CanDropCaches(); (err == nil) != (c.says == "memory.") { // a file of statistics is not what is written to
				t.Errorf("can drop: %v", err)
			}
			if got, err := s.DropCaches(); err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("dropped %+v, error %v, want one that says %q", got, err, c.says)
			}
			if text, err := os.ReadFile(filepath.Join(f.now, "proc/sys/vm/drop_caches")); err != nil || len(text) > 0 {
				t.Errorf("drop_caches of the machine holds %q (%v), want nothing", text, err)
			}
		})
	}
}

func mustParse(t *testing.T, file string) *txtar.Archive {
	t.Helper()
	archive := must(txtar.ParseFile(file))
	return archive
}

func FuzzCgroupFiles(f *testing.F) {
	f.Add("user 12\nsystem 3\n")
	f.Add("254:0 Read 4096\n254:0 Write 1\nTotal 4097\n")
	f.Add("254:0 rbytes=1 wbytes=2 rios=3 wios=4\n254:16\n")
	f.Add("12 (a) b) D 1 1")
	f.Fuzz(func(t *testing.T, text string) {
		for key := range parseKeyed(text) {
			if strings.ContainsAny(key, "\n") {
				t.Errorf("key %q spans lines", key)
			}
		}
		v1, _ := parseBlkio(text)
		v2, _ := parseIOStat(text)
		for _, d := range slices.Concat(v1, v2) {
			if d.Device == "" || strings.ContainsAny(d.Device, " \n") {
				t.Errorf("device %q from %q", d.Device, text)
			}
		}
		_ = parseTaskState(text)
	})
}

// FuzzHostFiles: no content of /proc stops the agent.
func FuzzHostFiles(f *testing.F) {
	f.Add("cpu  1 2 3 4 5 6 7 8\ncpu0 1 2 3 4 5 6 7 8\n", "0.1 0.2 0.3 1/2 3\n", "MemTotal: 1 kB\n",
		"254 0 vda 1 2 3 4 5 6 7 8 9 10 11\n", "a\nb\neth0: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n")
	f.Add("", "", "", "", "")
	root, err := os.MkdirTemp("/dev/shm", "heddle-fuzz-") // in memory, where there is such a folder
	if err != nil {
		root = f.TempDir()
	}
	f.Cleanup(func() { os.RemoveAll(root) })
	mustDo(f, os.Mkdir(filepath.Join(root, "net"), 0o700))
	f.Fuzz(func(t *testing.T, stat, loadavg, meminfo, diskstats, dev string) {
		for name, text := range map[string]string{
			"stat": stat, "loadavg": loadavg, "meminfo": meminfo, "diskstats": diskstats, "net/dev": dev,
		} {
			path := filepath.Join(root, name)
			mustDo(t, os.WriteFile(path, []byte(text), 0o600))
		}
		s := must(NewSampler(Options{ProcRoot: root, SysRoot: root}))
		_ = s.Read().Since(s.Read())
	})
}
