package model

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"heddle/harness/sched"
	"heddle/harness/state"
	"heddle/traces/errtest"
)

// TestRetrains has a job trained once, and again when its cached copies have
// moved or a node has come that it was not trained with; a second job by itself.
func TestRetrains(t *testing.T) {
	x := setup{4, 2, 20, 2, 0.5}
	s, id := x.make(t, 1)
	v := s.View()
	s.NodeDown(3)
	m := mustNew(t, "clqlmrs", sched.Params{"episodes": "50"})
	w := m.(sched.Warmup)
	ask := func(n state.NodeID) *sched.Training {
		t.Helper()
		if out := m.Round(v, []state.NodeID{n}, nil); len(out) != 1 {
			t.Fatalf("decisions %v", out)
		}
		return w.Training(id)
	}
	if got := w.Training(id); got != nil {
		t.Errorf("trained before it was asked: %v", got)
	}
	first := ask(0)
	if len(first.Episodes) != 50 || ask(0) != first {
		t.Errorf("%d episodes, trained again though nothing changed: %t", len(first.Episodes), ask(0) != first)
	}
	moved := 0
	for i := state.TaskID(0); moved < 3; i++ { // 0.1 of 20 maps, and one more
		holder := v.CachedOn(id, i, nil)
		if len(holder) == 0 {
			continue
		}
		if moved++; ask(1) != first {
			t.Errorf("trained again after %d of %d cached copies went", moved-1, x.maps)
		}
		s.Uncached(id, i, holder[0])
	}
	second := ask(1)
	if second == first {
		t.Errorf("not trained again after %d of %d cached copies went", moved, x.maps)
	}
	s.NodeUp(3)
	if ask(0) != second {
		t.Error("trained again for a node that is not offered")
	}
	third := ask(3)
	if third == second {
		t.Error("not trained again for a node that has come")
	}
	urgent := x.job(rand.New(rand.NewPCG(7, 7)))
	urgent.Priority = 1
	other := submit(t, s, urgent)
	if ask(0); w.Training(other) == nil || w.Training(id) != third {
		t.Error("the second job is not trained by itself")
	}
	s.EndJob(other)
	x.submit(t, s, rand.New(rand.NewPCG(8, 8)))
	s.EndJob(id)
	m.Round(v, []state.NodeID{0}, nil)
	if w.Training(other) != nil || w.Training(id) != nil {
		t.Error("jobs that have ended are still known")
	}
}

// TestOutgrown has a job whose table would be too large now that a node has come
// go by class: its own has no column for the node.
func TestOutgrown(t *testing.T) {
	x := setup{4, 2, 20, 2, 0.5}
	s, id := x.make(t, 1)
	m := mustNew(t, "clqlmrs", sched.Params{"episodes": "50", "pairs": "80"}) // 20 maps on 4 nodes
	v := s.View()
	m.Round(v, []state.NodeID{0}, nil)
	before := m.(sched.Warmup).Training(id)
	n := errtest.Must(s.AddNode("late", "rack0", state.Resource{MemoryMB: 1024, VCores: 8}))
	for _, late := range []bool{false, true} {
		s.SetLateBinding(late)
		if out := m.Round(v, []state.NodeID{n}, nil); len(out) != 1 || out[0].Node != n {
			t.Errorf("late binding %t: decisions %v, want one on the node that came", late, out)
		}
	}
	if m.(sched.Warmup).Training(id) == before {
		t.Error("still by the table of before")
	}
}

// TestWarmup has training before the run come to the same as training when it
// is needed, and stop when told to.
func TestWarmup(t *testing.T) {
	x := setup{4, 2, 20, 2, 0.5}
	for _, p := range []sched.Params{{"episodes": "300"}, {"episodes": "300", "table": "class"}} {
		s, id := x.make(t, 1)
		v := s.View()
		saved := func(m sched.Model) string {
			data := errtest.Must(m.(sched.Memory).SaveJob(v, id))
			return string(data)
		}
		lazy := mustNew(t, "clqlmrs", p)
		lazy.Round(v, []state.NodeID{0}, nil)
		m := mustNew(t, "clqlmrs", p)
		w := m.(sched.Warmup)
		if _, err := m.(sched.Memory).SaveJob(v, id); err == nil {
			t.Error("saved before it was trained")
		}
		study := errtest.Must(w.Study(v, id))
		asked := 0
		if keep := study(func() bool { asked++; return asked < 2 }); keep != nil || asked != 2 || w.Training(id) != nil {
			t.Errorf("%v: stopped half way: asked %d times, %v", p, asked, w.Training(id))
		}
		keep := study(nil)
		if w.Training(id) != nil {
			t.Errorf("%v: a training changes the model before it is kept", p)
		}
		keep()
		if saved(m) != saved(lazy) {
			t.Errorf("%v: trained before and trained when asked differ", p)
		}
		p2 := maps.Clone(p)
		p2["seed"] = "2"
		other, one := mustNew(t, "clqlmrs", p2), m.(sched.Memory).Fingerprint(v, id)
		if err := sched.Train(other.(sched.Warmup), v, id); err != nil || saved(other) == saved(lazy) ||
			other.(sched.Memory).Fingerprint(v, id) == one {
			t.Errorf("%v: another seed: error %v, same training %t, same fingerprint %t", p, err, saved(other) == saved(lazy),
				other.(sched.Memory).Fingerprint(v, id) == one)
		}
		if n := len(w.Training(id).Episodes); n != 300 {
			t.Errorf("%v: a record of %d episodes", p, n)
		}
		if err := sched.Train(w, v, 7); err == nil {
			t.Errorf("%v: trained for a job that is not there", p)
		}
	}
}

// TestSavedTables has a table decide the same when it was saved and loaded, and
// refused for anything but what it was trained for.
func TestSavedTables(t *testing.T) {
	x := setup{4, 2, 20, 2, 0.5}
	s, id := x.make(t, 1)
	m := mustNew(t, "clqlmrs", sched.Params{"episodes": "300"})
	mustDo(t, sched.Train(m.(sched.Warmup), s.View(), id))
	data, err := m.(sched.Memory).SaveJob(s.View(), id)
	mustDo(t, err)
	again, sameID := x.make(t, 1)
	other := mustNew(t, "clqlmrs", sched.Params{"episodes": "300", "seed": "5"})
	mustDo(t, other.(sched.Memory).LoadJob(again.View(), sameID, data))
	if got, want := other.(sched.Warmup).Training(sameID), m.(sched.Warmup).Training(id); !slices.Equal(got.Episodes, want.Episodes) ||
		got.Epsilon != want.Epsilon {
		t.Error("the record of training changed on its way")
	}
	planA, _ := m.(sched.JobPlanner).PlanJob(s.View(), id)
	if planB, _ := other.(sched.JobPlanner).PlanJob(again.View(), sameID); !slices.Equal(planA, planB) {
		t.Errorf("plans differ: %v, %v", planA, planB)
	}

	damaged := slices.Clone(data)
	damaged[len(damaged)/2] ^= 1
	for _, c := range []struct {
		name  string
		setup setup
		seed  uint64
		p     sched.Params
		data  []byte
		want  string
	}{
		{"another layout", x, 2, sched.Params{"episodes": "300"}, data, "another layout of 20 maps on 4 nodes"},
		{"more maps", setup{4, 2, 21, 2, 0.5}, 1, sched.Params{"episodes": "300"}, data, "for 20 maps on 4 nodes, not for 21 on 4"},
		{"fewer nodes", setup{3, 2, 20, 2, 0.5}, 1, sched.Params{"episodes": "300"}, data, "not for 20 on 3"},
		{"more slots", setup{4, 3, 20, 2, 0.5}, 1, sched.Params{"episodes": "300"}, data, "slots differ"},
		{"another rule", x, 1, sched.Params{"episodes": "300", "alpha": "0.2"}, data, "Alpha:0.1"},
		{"by class", x, 1, sched.Params{"episodes": "300", "table": "class"}, data, "ByClass:false"},
		{"too large", x, 1, sched.Params{"episodes": "300", "pairs": "79"}, data, "table of classes decides"},
		{"damaged", x, 1, sched.Params{"episodes": "300"}, damaged, "checksum"},
		{"cut off", x, 1, sched.Params{"episodes": "300"}, data[:len(data)-5], "checksum"},
		{"empty", x, 1, sched.Params{"episodes": "300"}, nil, "not a saved training"},
		{"another file", x, 1, sched.Params{"episodes": "300"}, []byte("{}"), "not a saved training"},
		{"another model's", x, 1, sched.Params{"episodes": "300"}, seal("other", "", nil), `of model "other"`},
	} {
		s, id := c.setup.make(t, c.seed)
		m := mustNew(t, "clqlmrs", c.p)
		err := m.(sched.Memory).LoadJob(s.View(), id, c.data)
		if err == nil || !strings.Contains(err.Error(), c.want) || m.(sched.Warmup).Training(id) != nil {
			t.Errorf("%s: error %v, want one with %q and nothing loaded", c.name, err, c.want)
		}
	}
	if err := m.(sched.Memory).LoadJob(s.View(), state.None, data); err == nil {
		t.Error("loaded for no job")
	}
	// A table of classes fits every job.
	classes := sched.Params{"episodes": "300", "table": "class"}
	m = mustNew(t, "clqlmrs", classes)
	mustDo(t, sched.Train(m.(sched.Warmup), s.View(), id))
	if data, err = m.(sched.Memory).SaveJob(s.View(), state.None); err != nil {
		t.Fatal(err)
	}
	s, id = setup{3, 1, 5, 1, 1}.make(t, 3)
	if err := mustNew(t, "clqlmrs", classes).(sched.Memory).LoadJob(s.View(), id, data); err != nil {
		t.Error(err)
	}
}

// FuzzLoadJob has whatever is inside a frame with the right check sum loaded or
// refused.
func FuzzLoadJob(f *testing.F) {
	x := setup{2, 1, 3, 1, 0.5}
	s, id := x.make(f, 1)
	m := mustNew(f, "clqlmrs", sched.Params{"episodes": "3"}).(*cacheLearner)
	mustDo(f, sched.Train(m, s.View(), id))
	data := errtest.Must(m.SaveJob(s.View(), id))
	learnt := errtest.Must(unseal(m.Name(), m.params(), data))
	f.Add(learnt)
	f.Add(learnt[:len(learnt)-8])
	f.Add([]byte{})
	f.Add(bytes.Repeat([]byte{255}, 40))
	f.Fuzz(func(t *testing.T, learnt []byte) {
		m := mustNew(t, "clqlmrs", sched.Params{"episodes": "3"}).(*cacheLearner)
		s, id := x.make(t, 1)
		if err := m.LoadJob(s.View(), id, seal(m.Name(), m.params(), learnt)); err == nil {
			if again, err := m.SaveJob(s.View(), id); err != nil || string(again) != string(seal(m.Name(), m.params(), learnt)) {
				t.Errorf("saved again it differs; error %v", err)
			}
		}
		rates(t, s, m)
		_ = m.LoadJob(s.View(), id, learnt)
	})
}

// BenchmarkLargeJob trains for 1,000 maps on 100 nodes and says how near their
// placement then comes to matching's.
func BenchmarkLargeJob(b *testing.B) {
	for _, slots := range []int{2, 10} {
		b.Run(fmt.Sprintf("slots=%d", slots), func(b *testing.B) {
			x := setup{100, slots, 1000, 3, 0.5}
			s, _ := x.make(b, 1)
			bestCache, bestLocal := rates(b, s, mustNew(b, "matching", sched.Params{"slots": "1000"}))
			b.ReportAllocs()
			var cache, local float64
			var training *sched.Training
			for b.Loop() {
				s, id := x.make(b, 1)
				m := mustNew(b, "clqlmrs", nil)
				mustDo(b, sched.Train(m.(sched.Warmup), s.View(), id))
				training = m.(sched.Warmup).Training(id)
				b.StopTimer()
				cache, local = rates(b, s, m)
				b.StartTimer()
			}
			if cache < 0.8*bestCache || local < 0.9*bestLocal {
				b.Errorf("cache rate %.3f of %.3f, local rate %.3f of %.3f", cache, bestCache, local, bestLocal)
			}
			b.ReportMetric(cache/bestCache, "cache/matching")
			b.ReportMetric(local/bestLocal, "local/matching")
			b.ReportMetric(float64(len(training.Episodes)), "episodes")
		})
	}
}

// TestFollow has one training give the tables of all that would end earlier, each
// as if it had been trained alone.
func TestFollow(t *testing.T) {
	x := setup{4, 2, 20, 2, 0.5}
	s, id := x.make(t, 1)
	v := s.View()
	longest := mustNew(t, "clqlmrs", sched.Params{"episodes": "500", "steps": "6000"}) // of 20 maps: 300 episodes
	counts := []int{300, 50, 100, 100, 400}
	lessons, err := longest.(sched.Course).Follow(v, id, counts)
	if err != nil || len(lessons) != 4 {
		t.Fatalf("%d lessons, error %v, want one for each of 4 numbers", len(lessons), err)
	}
	if longest.(sched.Warmup).Training(id) != nil {
		t.Error("the model that was followed has learnt something itself")
	}
	for i, n := range []int{50, 100, 300, 400} {
		p := sched.Params{"episodes": fmt.Sprint(n), "steps": "6000"}
		alone, taught := mustNew(t, "clqlmrs", p), mustNew(t, "clqlmrs", p)
		mustDo(t, sched.Train(alone.(sched.Warmup), v, id))
		if err := taught.(sched.Memory).LoadJob(v, id, lessons[i].Learnt); err != nil {
			t.Fatalf("%d episodes: %v", n, err)
		}
		if got := taught.(sched.Memory).Fingerprint(v, id); lessons[i].Fingerprint != got {
			t.Errorf("%d episodes: fingerprint %s, want %s", n, lessons[i].Fingerprint, got)
		}
		a, b := alone.(*cacheLearner).jobs.Of(id), taught.(*cacheLearner).jobs.Of(id)
		if !bytes.Equal((*a).table.Append(nil), (*b).table.Append(nil)) {
			t.Errorf("%d episodes: not the table of a training that ends there", n)
		}
		want := alone.(sched.Warmup).Training(id)
		if got := lessons[i].Training; !slices.Equal(got.Episodes, want.Episodes) || got.Epsilon != want.Epsilon ||
			got.Assignments != want.Assignments || got.Assignments != int64(20*min(n, 300)) {
			t.Errorf("%d episodes: a training of %d, with %d maps placed, want %d with %d", n, len(got.Episodes), got.Assignments,
				len(want.Episodes), want.Assignments)
		}
		if got := taught.(sched.Warmup).Training(id); got.Assignments != want.Assignments || got.Epsilon != want.Epsilon {
			t.Errorf("%d episodes: loaded as a training of %d maps placed, want %d", n, got.Assignments, want.Assignments)
		}
	}
	if _, err := longest.(sched.Course).Follow(v, 7, counts); err == nil {
		t.Error("followed for a job that is not there")
	}
	classes := mustNew(t, "clqlmrs", sched.Params{"table": "class"})
	if list, err := classes.(sched.Course).Follow(v, id, counts); err != nil || len(list) != 0 {
		t.Errorf("classes serve any job: %d lessons, error %v, want none", len(list), err)
	}
	uniform, all := setup{2, 1, 4, 2, 1}.make(t, 1)
	if list, err := longest.(sched.Course).Follow(uniform.View(), all, []int{10, 20}); err != nil || len(list) != 2 {
		t.Errorf("nothing to learn: %d lessons, error %v, want 2", len(list), err)
	}
}

var mustDo = errtest.None
