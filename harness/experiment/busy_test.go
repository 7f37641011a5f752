package experiment

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"heddle/collectors/node"
	"heddle/harness/results"
)

// TestOthers gives the kernel's counters of this machine and of a cluster's control
// group before and after 10 s, and wants to be told what others used between.
func TestOthers(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the counters are read on Linux only")
	}
	for _, c := range []struct {
		name                             string
		user, system, steal, cgroup, own float64 // cores used
		others                           float64
		warns                            bool
	}{
		{name: "idle"},
		{name: "the cluster alone", user: 1.5, system: 0.25, cgroup: 1.75},
		{name: "the cluster and heddle", user: 1.5, cgroup: 1, own: 0.5},
		{name: "builds of others", user: 1.5, system: 0.5, cgroup: 0.75, others: 1.25, warns: true},
		{name: "a neighbour on the host", user: 0.5, steal: 0.75, cgroup: 0.5, others: 0.75, warns: true},
		{name: "the kernel, a little", user: 1, system: 0.06, cgroup: 1, others: 0.06},
		{name: "counters that do not agree", user: 0.5, cgroup: 0.6},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			at := func(seconds float64) {
				put := func(path, text string) {
					path = filepath.Join(dir, path)
					mustDo(t, os.MkdirAll(filepath.Dir(path), 0o755))
					mustDo(t, os.WriteFile(path, []byte(text), 0o600))
				}
				ticks := func(cores float64) int { return 1000 + int(math.Round(cores*seconds*100)) } // of 10 ms
				times := fmt.Sprintf(" %d 0 %d 5000 0 0 0 %d 0 0\n", ticks(c.user), ticks(c.system), ticks(c.steal))
				put("proc/stat", "cpu "+times+"cpu0"+times)
				put("proc/meminfo", "MemTotal: 1000 kB\nMemFree: 500 kB\n")
				put("cgroup/cgroup.controllers", "cpu io memory\n")
				us := int(c.cgroup * seconds * 1e6)
				put("cgroup/heddle/lab/cpu.stat", fmt.Sprintf("usage_usec %d\nuser_usec %d\nsystem_usec 0\n", us, us))
			}
			synctest.Test(t, func(t *testing.T) {
				at(0)
				b := watchOthers(node.Options{Cgroup: "heddle/lab", ProcRoot: filepath.Join(dir, "proc"), CgroupRoot: filepath.Join(dir, "cgroup")})
				b.ownWas -= time.Duration(c.own * 10e9)
				<-time.After(10 * time.Second)
				at(10)
				var r results.Trial
				warning := b.othersUsed(&r)
				if r.OthersCores == nil || math.Abs(*r.OthersCores-c.others) > 0.03 { // what this test uses counts as heddle's
					t.Fatalf("others used %v cores, want %v; warning %q", r.OthersCores, c.others, warning)
				}
				if strings.HasPrefix(warning, "other programs used ") != c.warns || !c.warns && warning != "" {
					t.Errorf("warning %q; want one: %v", warning, c.warns)
				}
			})
		})
	}
}

// TestOthersUnknown has a cluster with machines of its own, and one whose control group
// this machine lacks.
func TestOthersUnknown(t *testing.T) {
	var r results.Trial
	b := watchOthers(node.Options{})
	if warning := b.othersUsed(&r); warning != "" || r.OthersCores != nil {
		t.Errorf("machines of its own: %v cores, warning %q; want nothing", r.OthersCores, warning)
	}
	b = watchOthers(node.Options{Cgroup: "heddle/none", CgroupRoot: t.TempDir()})
	if warning := b.othersUsed(&r); !strings.Contains(warning, "heddle/none") || r.OthersCores != nil {
		t.Errorf("no such control group: %v cores, warning %q; want one that names it", r.OthersCores, warning)
	}
}
