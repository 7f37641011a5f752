package runs

import (
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"
)

// TestSavedLater: a trial that begins or ends is in the manifest within a second, with all
// that happened meanwhile; a reader is told of it before, by the trial's folder. Why a trial
// failed is in the manifest at once.
func TestSavedLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := create(t, t.TempDir())
		a, b := plan.Trials[0].Name, plan.Trials[1].Name
		want := func(when string, inFile, read [2]TrialState) {
			t.Helper()
			var m Manifest
			mustDo(t, readJSON(r.Dir, manifestFile, &m))
			if got := [2]TrialState{m.Trials[0].State, m.Trials[1].State}; got != inFile {
				t.Errorf("%s the file has %s, want %s", when, got, inFile)
			}
			m = open(t, r.Dir).Manifest()
			if got := [2]TrialState{m.Trials[0].State, m.Trials[1].State}; got != read {
				t.Errorf("%s a reader sees %s, want %s", when, got, read)
			}
		}
		begin := func(name string) *Active {
			t.Helper()
			x := must(r.Begin(name))
			return x
		}
		second := func() {
			<-time.After(time.Second)
			synctest.Wait()
		}
		first := begin(a)
		want("once it has begun,", [2]TrialState{TrialTodo, TrialTodo}, [2]TrialState{TrialRunning, TrialTodo})
		second()
		want("a second later", [2]TrialState{TrialRunning, TrialTodo}, [2]TrialState{TrialRunning, TrialTodo})
		mustDo(t, first.WriteFile("trace.heddle", []byte("whole")))
		mustDo(t, first.Done())
		last := begin(b)
		want("once it is done,", [2]TrialState{TrialRunning, TrialTodo}, [2]TrialState{TrialDone, TrialRunning})
		mustDo(t, last.Failed(os.ErrInvalid))
		want("once the other failed,", [2]TrialState{TrialDone, TrialFailed}, [2]TrialState{TrialDone, TrialFailed})
		begin(b)
		want("once it was begun again,", [2]TrialState{TrialDone, TrialRunning}, [2]TrialState{TrialDone, TrialRunning})
		r.Close()
		before := must(os.Stat(filepath.Join(r.Dir, manifestFile)))
		second()
		if after, err := os.Stat(filepath.Join(r.Dir, manifestFile)); err != nil || !after.ModTime().Equal(before.ModTime()) {
			t.Errorf("the manifest was written after the run was given up: %v", err)
		}
	})
}
