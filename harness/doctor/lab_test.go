package doctor

import (
	"testing"

	"heddle/harness/config"
	"heddle/harness/lab/labtest"
	"heddle/traces/errtest"
)

// The lab is made to have everything.
func TestLabHasEverything(t *testing.T) {
	c := labtest.Shared(t).Cluster()
	for _, f := range examineLab(t, &c).Features {
		if f.Verdict != Yes {
			t.Errorf("%s: %s, %v; want yes", f.Name, f.Verdict, f.Why)
		}
		for _, check := range f.Checks {
			// The build machine may have no time daemon; that is a note of an ok.
			if check.Status != OK {
				t.Errorf("%s: %s is %s: %s", f.Name, check.ID, check.Status, check.Found)
			}
		}
	}
}

// With a wrong address for each daemon in turn, the rest is still examined.
func TestLabWrongAddresses(t *testing.T) {
	l := labtest.Shared(t)
	right := l.Cluster()
	rm, history, nn := right.ResourceManagers[0], right.HistoryServer, right.NameNodes[0]

	c := right
	c.ResourceManagers = []string{history} // speaks HTTP, and is no ResourceManager
	expectMissing(t, c.Name+" with the history server as ResourceManager", examineLab(t, &c), "resourceManager", "nameNode", "historyServer")

	c = right
	c.HistoryServer = rm
	expectMissing(t, c.Name+" with the ResourceManager as history server", examineLab(t, &c), "historyServer", "nameNode", "resourceManager")

	c = right
	c.NameNodes = []string{rm[len("http://"):]}
	expectMissing(t, c.Name+" with the ResourceManager as NameNode "+nn, examineLab(t, &c), "nameNode", "resourceManager", "historyServer")
}

func examineLab(t *testing.T, c *config.Cluster) *Report {
	t.Helper()
	r := errtest.Must(Examine(t.Context(), c))
	return r
}

func expectMissing(t *testing.T, what string, r *Report, missing string, ok ...string) {
	t.Helper()
	f := r.Feature(Captured)
	if f.Verdict != No {
		t.Errorf("%s: captured: %s, want no", what, f.Verdict)
	}
	got := map[string]Check{}
	for _, c := range f.Checks {
		got[c.ID] = c
	}
	if c := got[missing]; c.Status != Missing || c.Next == "" {
		t.Errorf("%s: %s is %s (%s), next %q; want missing, with a next step", what, missing, c.Status, c.Found, c.Next)
	}
	for _, id := range ok {
		if c := got[id]; c.Status != OK {
			t.Errorf("%s: %s is %s: %s; want ok", what, id, c.Status, c.Found)
		}
	}
}
