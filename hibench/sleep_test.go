package hibench

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"heddle/traces/errtest"
)

// withTests adds to a fake Hadoop the jar with the tests of its MapReduce client.
func withTests(t *testing.T) (*fakeHadoop, Env) {
	t.Helper()
	h := newFakeHadoop(t)
	write(t, filepath.Join(h.home, "share", "hadoop", "mapreduce", "hadoop-mapreduce-client-jobclient-3.4.2-tests.jar"), "", 0o644)
	env := h.env(t)
	env.Checkout = "/no/such/checkout" // it changes nothing
	return h, env
}

// lastCall returns the arguments of the last call of a fake Hadoop's command.
func (h *fakeHadoop) lastCall(t *testing.T, env Env) string {
	t.Helper()
	text := must(os.ReadFile(h.calls))
	calls := strings.Split(strings.TrimSuffix(string(text), "\nend-of-call\n"), "end-of-call\n")
	return strings.ReplaceAll(strings.ReplaceAll(calls[len(calls)-1], "\n", " "), env.RunDir, "$RUN")
}

// TestSleepCommand: the times of a profile are seconds, as HiBench's configuration
// says, and the jar is on the class path besides what the user has there.
func TestSleepCommand(t *testing.T) {
	h, env := withTests(t)
	env.Vars = append(env.Vars, "HADOOP_CLASSPATH=/own.jar")
	for want, spec := range map[string]Spec{
		"-m 8 -r 8 -mt 90000 -rt 45000 -recordt 90000": {Workload: Sleep, Profile: "huge"},
		"-m 4 -r 2 -mt 1500 -rt 1500 -recordt 1500":    {Workload: Sleep, Sleep: 1500 * time.Millisecond, Maps: 4, Reduces: 2},
		"-m 1 -r 1 -mt 10 -rt 2000 -recordt 2000": {
			Workload: Sleep, Sleep: 10 * time.Millisecond, ReduceSleep: 2 * time.Second, Maps: 1,
			Reduces: 1,
		},
	} {
		r := newRunner(t, env, spec)
		if d, err := r.Prepare(context.Background(), "t1"); err != nil || d != (Data{}) {
			t.Errorf("%s: prepare: %+v, %v; want nothing", spec, d, err)
		}
		if _, err := r.Run(context.Background(), "t1"); err != nil {
			t.Errorf("%s: %v; want a run without input", spec, err)
		}
		if got, want := h.lastCall(t, env), "--config $RUN/t1/conf org.apache.hadoop.mapreduce.SleepJob "+want; got != want {
			t.Errorf("%s: command\n%s, want\n%s", spec, got, want)
		}
		vars, err := os.ReadFile(filepath.Join(filepath.Dir(h.calls), "env"))
		if err != nil || !strings.Contains(string(vars), "-3.4.2-tests.jar:/own.jar\n") {
			t.Errorf("%s: environment\n%s, %v", spec, vars, err)
		}
	}
}

func TestNewWithoutTheJarOfTests(t *testing.T) {
	h := newFakeHadoop(t)
	spec := Spec{Workload: Sleep, Profile: "tiny"}
	env := h.env(t)
	wantError(t, errOf(New(env, spec)), "/share/hadoop/mapreduce/hadoop-mapreduce-client-jobclient-*-tests.jar; want one")
	env.Tests = filepath.Join(h.home, "other.jar")
	errtest.Is(t, errOf(New(env, spec)), os.ErrNotExist)
	write(t, env.Tests, "", 0o644)
	if _, err := New(env, spec); err != nil {
		t.Error(err)
	}
}

// TestSleepCheck: tasks that did not sleep are found, as those of HiBench's own script.
func TestSleepCheck(t *testing.T) {
	_, env := withTests(t)
	r := newRunner(t, env, Spec{Workload: Sleep, Sleep: 3 * time.Second, ReduceSleep: time.Second, Maps: 4, Reduces: 2})
	good := Counters{MapInputRecords: 4, MapOutputRecords: 8, MapTime: 13 * time.Second, ReduceTime: 2 * time.Second}
	for want, change := range map[string]func(*Counters){
		"":                   func(*Counters) {},
		"maps (counters): 3": func(c *Counters) { c.MapInputRecords = 3 },
		"records for reduces (counters): 4, want 8":             func(c *Counters) { c.MapOutputRecords = 4 },
		"its maps took 11.9s together; want at least the 12s":   func(c *Counters) { c.MapTime = 11900 * time.Millisecond },
		"its reduces took 100ms together; want at least the 2s": func(c *Counters) { c.ReduceTime = 100 * time.Millisecond },
	} {
		c := good
		change(&c)
		k, err := r.Check(t.Context(), "t1", c)
		if want == "" && (err != nil || len(k) != 4) || want != "" &&
			(!errors.Is(err, ErrInvalidOutput) || !strings.Contains(err.Error(), want)) {
			t.Errorf("%+v: %+v, %v; want %q", c, k, err, want)
		}
	}
}
