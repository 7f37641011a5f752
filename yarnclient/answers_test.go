package yarnclient

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"heddle/traces/errtest"
)

// recordedCalls are the calls that read recorded answers, by the first part of
// their files' names.
func recordedCalls(t *testing.T) map[string]func(file string) (any, error) {
	const job, task = "job_1795263621469_0002", "task_1795263621469_0002_m_000000"
	const app, appAttempt = "application_1795263621469_0002", "appattempt_1795263621469_0002_000001"
	history := func(name string) *JobReader { return fixtureHistory(t, name).Job(job) }
	am := func(name string) *AM { return fixtureRM(t, name).AM(app) }
	return map[string]func(file string) (any, error){
		"info":           func(f string) (any, error) { return fixtureRM(t, f).Info(bg) },
		"nodes":          func(f string) (any, error) { return fixtureRM(t, f).Nodes(bg) },
		"node":           func(f string) (any, error) { return fixtureRM(t, f).Node(bg, "r2n2:45454") },
		"node-labels":    func(f string) (any, error) { return fixtureRM(t, f).NodeLabels(bg) },
		"node-to-labels": func(f string) (any, error) { return fixtureRM(t, f).NodesToLabels(bg) },
		"scheduler":      func(f string) (any, error) { return fixtureRM(t, f).Scheduler(bg) },
		"scheduler-conf": func(f string) (any, error) { return fixtureRM(t, f).SchedulerConf(bg) },
		"conf": func(f string) (any, error) {
			return fixtureRM(t, f).Conf(bg, "yarn.resourcemanager.nodemanagers.heartbeat-interval-ms")
		},
		"apps":             func(f string) (any, error) { return fixtureRM(t, f).Apps(bg, AppFilter{}) },
		"app":              func(f string) (any, error) { return fixtureRM(t, f).App(bg, app) },
		"app-state":        func(f string) (any, error) { return fixtureRM(t, f).AppState(bg, app) },
		"attempts":         func(f string) (any, error) { return fixtureRM(t, f).Attempts(bg, app) },
		"containers":       func(f string) (any, error) { return fixtureRM(t, f).Containers(bg, appAttempt) },
		"am-job":           func(f string) (any, error) { return am(f).Job(bg) },
		"am-tasks":         func(f string) (any, error) { return am(f).Tasks(bg) },
		"am-attempts":      func(f string) (any, error) { return am(f).Attempts(bg, task) },
		"am-jobcounters":   func(f string) (any, error) { return am(f).Counters(bg) },
		"hist-info":        func(f string) (any, error) { return fixtureHistory(t, f).Info(bg) },
		"hist-job":         func(f string) (any, error) { return history(f).Job(bg) },
		"hist-jobcounters": func(f string) (any, error) { return history(f).Counters(bg) },
		"hist-tasks":       func(f string) (any, error) { return history(f).Tasks(bg) },
		"hist-taskcounters": func(f string) (any, error) {
			return history(f).TaskCounters(bg, task)
		},
		"hist-attempts": func(f string) (any, error) { return history(f).Attempts(bg, task) },
	}
}

// TestRecordedAnswers decodes every recorded answer and compares with the
// golden text beside it, which shows the fields that are not zero.
// UPDATE_GOLDEN=1 rewrites them: then read the difference.
func TestRecordedAnswers(t *testing.T) {
	calls := recordedCalls(t)
	files := must(filepath.Glob("testdata/*/*"))
	seen := map[string]bool{}
	for _, path := range files {
		file, base := strings.TrimPrefix(path, "testdata/"), filepath.Base(path)
		if strings.Contains(base, ".golden") || strings.HasSuffix(base, ".http") || strings.HasSuffix(base, ".md") {
			continue
		}
		t.Run(file, func(t *testing.T) {
			name, _, _ := strings.Cut(base, ".")
			call := calls[name]
			for call == nil && strings.Contains(name, "-") { // nodes-none is of nodes
				name = name[:strings.LastIndexByte(name, '-')]
				call = calls[name]
			}
			if call == nil {
				t.Fatalf("no call reads %s", base)
			}
			seen[name] = true
			v := must(call(file))
			compareGolden(t, goldenOf(path), show(v))
		})
	}
	for name := range calls {
		if !seen[name] {
			t.Errorf("no recorded answer for %s", name)
		}
	}
}

// goldenOf has one name for the JSON and the XML form of the same answer: they
// must decode to the same.
func goldenOf(path string) string {
	dir, base := filepath.Split(path)
	name, _, _ := strings.Cut(base, ".")
	return filepath.Join(dir, name+".golden")
}

func compareGolden(t *testing.T, path, got string) {
	t.Helper()
	if os.Getenv("UPDATE_GOLDEN") != "" {
		errtest.None(t, os.WriteFile(path, []byte(got), 0o644))
	}
	want := must(os.ReadFile(path))
	if d := cmp.Diff(string(want), got); d != "" {
		t.Errorf("%s (-want +got):\n%s", path, d)
	}
}

// show writes one line a value or list element, with its fields that are not
// zero.
func show(v any) string {
	var b strings.Builder
	r := reflect.ValueOf(v)
	switch r.Kind() {
	case reflect.Slice:
		fmt.Fprintf(&b, "%d:\n", r.Len())
		for i := range r.Len() {
			b.WriteString("- " + showOne(r.Index(i)) + "\n")
		}
	case reflect.Map:
		fmt.Fprintf(&b, "%d:\n", r.Len())
		b.WriteString(strings.ReplaceAll(fmt.Sprint(v), " yarn.", "\nyarn.") + "\n")
	case reflect.Struct:
		for i := range r.NumField() {
			if f := r.Field(i); !f.IsZero() {
				b.WriteString(r.Type().Field(i).Name + ": ")
				if f.Kind() == reflect.Slice && f.Type().Elem().Kind() == reflect.Struct {
					b.WriteString(show(f.Interface()))
				} else {
					b.WriteString(showOne(f) + "\n")
				}
			}
		}
	default:
		b.WriteString(showOne(r) + "\n")
	}
	return b.String()
}

func showOne(r reflect.Value) string {
	if r.Kind() == reflect.Slice && r.Type().Elem().Kind() == reflect.Struct {
		var parts []string
		for i := range r.Len() {
			parts = append(parts, showOne(r.Index(i)))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	}
	if r.Kind() != reflect.Struct {
		if r.Kind() == reflect.String {
			return fmt.Sprintf("%q", r.String())
		}
		return fmt.Sprint(r.Interface())
	}
	var parts []string
	for i := range r.NumField() {
		if f := r.Field(i); !f.IsZero() {
			parts = append(parts, r.Type().Field(i).Name+":"+showOne(f))
		}
	}
	return "{" + strings.Join(parts, " ") + "}"
}
