package change

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"heddle/harness/lease"
	"heddle/harness/require"
	"heddle/yarnclient"
)

// forge puts lines into the journal of a heddle that was killed.
func (w *world) forge(t testing.TB, changes ...Change) {
	t.Helper()
	h := take(t, w)
	data := encode(changes)
	mustDo(t, w.files.Create(t.Context(), lease.Folder(h.Epoch())+"/note-000009", data))
	h.die()
}

// foreign is what no journal may have removed.
func (w *world) foreign(t testing.TB) []string {
	return slices.DeleteFunc(append(w.rest(t), w.hdfs.tree(t, "/")...), func(s string) bool { return strings.Contains(s, "heddle-") })
}

// TestHostileJournal restores by journals that name what heddle never made.
func TestHostileJournal(t *testing.T) {
	for _, c := range []Change{
		{Kind: JobFolder, Name: "", Value: staging},
		{Kind: JobFolder, Name: "Input", Value: staging},
		{Kind: JobFolder, Name: "day"},
		{Kind: JobFolder, Name: "/user/bob/thesis"},
		{Kind: JobFolder, Name: "../../user/bob"},
		{Kind: JobFolder, Name: "nightly", Value: staging},
		{Kind: JobFolder, Name: "heddle", Value: "/"},
		{Kind: JobFolder, Name: "heddle-", Value: "/user"},
		{Kind: JobFolder, Name: "heddle-lab1-fedcba9876543210", Value: "/user/bob"},
		{Kind: JobFolder, Name: "heddle-lab1-fedcba9876543210", Value: "/user/../user/me/.staging"},
		{Kind: JobFolder, Name: "heddle-lab1-fedcba9876543210\n", Value: "relative"},
		{Kind: Application, Name: ""},
		{Kind: Application, Name: "nightly"},
		{Kind: Application, Name: "night"},
		{Kind: CachePool, Name: ""},
		{Kind: CachePool, Name: "theirs"},
		{Kind: CachePool, Name: "heddle-cache-theirs"},
		{Kind: NodeDown, Name: ""},
		{Kind: NodeDown, Name: "-oProxyCommand=reboot"},
		{Kind: NodeSlow, Name: "r1n1;reboot"},
		{Kind: NodeDown, Name: "$(reboot)"},
		{Kind: "everything", Name: "/"},
		{Kind: NodeResource, Name: node1},
		{Kind: CachePool, Name: strings.Repeat("x", 1<<20)},
		{Kind: Setting, Queue: "root", Name: "acl_submit_applications", Value: "*"},
		{Kind: Setting, Name: "yarn.scheduler.capacity.maximum-applications", Value: "1"},
		{Kind: Setting, Queue: "root.a", Name: "capacity", Value: "1"},
		{Kind: Setting, Queue: "root.a", Name: "accessible-node-labels.gpu.capacity", Value: "0"},
		{Kind: Setting, Queue: "root.a", Name: "accessible-node-labels.m00.capacity", Value: "x\n"},
		{Kind: Setting, Name: "yarn.scheduler.capacity.node-locality-delay", Value: ""},
		{Kind: AddedLabel, Name: "gpu"},
		{Kind: AddedLabel, Name: ""},
		{Kind: NodeLabel, Name: node1, Label: ""}, // which somebody gave the label gpu
		{Kind: NodeLabel, Name: node1, Label: "gpu"},
		{Kind: NodeResource, Name: "r2n2:45454", Resource: &yarnclient.Resource{MemoryMB: 1, VCores: 1}},
	} {
		t.Run(fmt.Sprintf("%s %.40q", c.Kind, c.Name), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld()
				w.theirs(t)
				mustDo(t, w.rm.ReplaceLabels(t.Context(), map[string]string{node1: "gpu"}))
				before := w.foreign(t)
				w.forge(t, c)
				ran := w.faults.ran
				r := must(Restore(t.Context(), w.cluster(), RestoreOptions{}))
				if len(r.Back) > 0 || w.faults.ran != ran {
					t.Errorf("undone: %+v; %d commands ran", r.Back, w.faults.ran-ran)
				}
				if d := cmp.Diff(before, w.foreign(t)); d != "" {
					t.Errorf("what heddle did not make has changed:\n%s", d)
				}
			})
		})
	}
}

// FuzzHostileJournal restores by any journal: what does not carry the tag of one of
// heddle's jobs stays.
func FuzzHostileJournal(f *testing.F) {
	for _, c := range []Change{
		{Kind: JobFolder, Name: "heddle-lab1-0123456789abcdef", Value: staging},
		{Kind: Application, Name: "nightly"},
		{Kind: CachePool, Name: "theirs"},
		{Kind: NodeDown, Name: "r1n1"},
		{Kind: Setting, Name: localityDelay, Value: "x"},
		{Kind: AddedLabel, Name: "gpu"},
		{Kind: NodeLabel, Name: node1},
	} {
		f.Add(string(c.Kind), c.Name, c.Value)
	}
	f.Fuzz(func(t *testing.T, kind, name, value string) {
		c := Change{Kind: Kind(kind), Name: name, Value: value}
		if c.Kind == settled || c.Kind == AddedLabel && require.InPool(name) || c.Kind == Setting && c.ownSetting(require.InPool) {
			return // heddle can have made these
		}
		synctest.Test(t, func(t *testing.T) {
			w := newWorld()
			w.theirs(t)
			before := w.foreign(t)
			w.forge(t, c)
			must(Restore(t.Context(), w.cluster(), RestoreOptions{}))
			if d := cmp.Diff(before, w.foreign(t)); d != "" {
				t.Errorf("what heddle did not make has changed:\n%s", d)
			}
		})
	})
}

// TestManyNotes: a journal of many lines is in small files, is read and put back.
func TestManyNotes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		var list []Change
		for i := range 5000 {
			list = append(list, Change{Kind: CachePool, Name: fmt.Sprintf("heddle-cache-lab1-%016x", i)})
		}
		w.hdfs.pools["heddle-cache-lab1-0000000000000007"] = true
		h := take(t, w)
		mustDo(t, h.noteAll(t.Context(), list...))
		h.die()
		names, err := w.files.Names(t.Context(), lease.Folder(h.Epoch()))
		for _, name := range names {
			if data, err := w.files.Read(t.Context(), lease.Folder(h.Epoch())+"/"+name); err != nil || len(data) > lease.Small {
				t.Errorf("%s has %d bytes, %v; want at most %d", name, len(data), err, lease.Small)
			}
		}
		r, rerr := Restore(t.Context(), w.cluster(), RestoreOptions{})
		if err != nil || rerr != nil || len(r.Back) != 1 || len(r.Same) != 4999 || len(w.hdfs.pools) != 1 {
			t.Errorf("%d back, %d as before, %v, %v; pools %v", len(r.Back), len(r.Same), err, rerr, w.hdfs.pools)
		}
	})
}
