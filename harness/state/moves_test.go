package state

import "testing"

// TestMoves counts cached copies that come and go, not those that were there or
// were not, and splits that were rewritten.
func TestMoves(t *testing.T) {
	s := New()
	for _, name := range []string{"a", "b"} {
		must(s.AddNode(name, "rack", Resource{MemoryMB: 512, VCores: 1}))
	}
	spec := JobSpec{Name: "job", Maps: 3}
	spec.Replicas.Add(0, 1)
	spec.Cached.Add(0)
	id := must(s.Submit(&spec))
	for _, c := range []struct {
		what string
		do   func() error
		want int32
	}{
		{"submitted", func() error { return nil }, 0},
		{"cached already", func() error { s.Cached(id, 0, 0); return nil }, 0},
		{"cached", func() error { s.Cached(id, 0, 1); return nil }, 1},
		{"uncached", func() error { s.Uncached(id, 0, 1); return nil }, 2},
		{"uncached already", func() error { s.Uncached(id, 0, 1); return nil }, 2},
		{"no such map", func() error { s.Cached(id, 3, 1); return nil }, 2},
		{"split anew", func() error { return s.Resplit(id, &spec) }, 5},
	} {
		mustDo(t, c.do())
		if got := s.View().InputChanges(id); got != c.want {
			t.Errorf("%s: %d input changes, want %d", c.what, got, c.want)
		}
	}
}
