package traces

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"heddle/traces/errtest"
)

// TestEveryFieldIsVisited sets each exported field of each event alone: a field
// that no plan has would be lost in files and digests.
func TestEveryFieldIsVisited(t *testing.T) {
	for _, k := range known() {
		empty := stored(New(k))
		for i := range leaves(reflect.ValueOf(New(k)).Elem(), nil) {
			e := New(k)
			leaf := leaves(reflect.ValueOf(e).Elem(), nil)[i]
			setNonZero(leaf.value)
			if stored(e) == empty {
				t.Errorf("%s: field %s is not visited", k, leaf.path)
			}
		}
	}
}

// known are all kinds; 18 is one of earlier versions.
func known() (kinds []Kind) {
	for k := Kind(1); k < Kinds; k++ {
		if k != 18 {
			kinds = append(kinds, k)
		}
	}
	return kinds
}

func TestKinds(t *testing.T) {
	for _, k := range known() {
		e := New(k)
		if e.Kind() != k {
			t.Errorf("New(%s).Kind() = %s", k, e.Kind())
		}
		typeName := reflect.TypeOf(e).Elem().Name()
		if want := strings.ToLower(typeName[:1]) + typeName[1:]; k.String() != want {
			t.Errorf("kind %d is named %q, want %q", k, k, want)
		}
		if got, err := ParseKind(k.String()); err != nil || got != k {
			t.Errorf("ParseKind(%q) = %v, %v", k, got, err)
		}
	}
	for _, k := range []Kind{0, 18, Kinds, 255} {
		if New(k) != nil || k.Known() {
			t.Errorf("kind %d is known", k)
		}
	}
	if _, err := ParseKind(""); err == nil {
		t.Error("ParseKind of nothing: no error")
	}
}

func TestEventsAsJSON(t *testing.T) {
	for _, k := range known() {
		e := New(k)
		for _, l := range leaves(reflect.ValueOf(e).Elem(), nil) {
			setNonZero(l.value)
		}
		text := errtest.Must(json.Marshal(e))
		back := New(k)
		if err := json.Unmarshal(text, back); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if d := cmp.Diff(e, back); d != "" {
			t.Errorf("%s through JSON (-want +got):\n%s", k, d)
		}
	}
}

func TestNamesOfNumbers(t *testing.T) {
	for n := range 8 {
		for _, v := range []interface {
			fmt.Stringer
			MarshalText() ([]byte, error)
		}{Level(n), Outcome(n), TaskKind(n), Room(n), PassedWhy(n), WaitUnit(n)} {
			text, _ := v.MarshalText()
			back := reflect.New(reflect.TypeOf(v))
			err := back.Interface().(interface{ UnmarshalText([]byte) error }).UnmarshalText(text)
			if err != nil || back.Elem().Interface() != v {
				t.Errorf("%T %d: %q reads as %v, %v", v, n, text, back.Elem(), err)
			}
		}
	}
	for _, text := range []string{"", "nearby", "level(x)", "level(300)"} {
		if err := new(Level).UnmarshalText([]byte(text)); err == nil {
			t.Errorf("level %q: no error", text)
		}
	}
}

func TestSortPutsCausesFirst(t *testing.T) {
	finish := &AttemptFinished{T: 5}
	start := &AttemptStarted{T: 5}
	first, second := &Note{T: 1, Text: "a"}, &Note{T: 1, Text: "b"}
	events := []Event{finish, &JobFinished{T: 5}, start, first, second}
	Sort(events)
	want := []Event{first, second, start, finish, events[4]}
	for i := range want {
		if events[i] != want[i] {
			t.Fatalf("position %d is %v %+v", i, events[i].Kind(), events[i])
		}
	}
}

func TestParseIDs(t *testing.T) {
	a := Attempt{Task{"job_1795236380513_0001", Reduce, 3}, 1000}
	if got, err := ParseAttempt(a.String()); err != nil || got != a {
		t.Errorf("ParseAttempt(%q) = %v, %v", a, got, err)
	}
	if got, err := ParseTask(a.Task.String()); err != nil || got != a.Task {
		t.Errorf("ParseTask(%q) = %v, %v", a.Task, got, err)
	}
	for _, id := range []string{"", "task_", "task_1_2_x_3", "task_1_2_m_-3", "attempt_1_2_m_3", "attempt_1_2_m_3_99999999999"} {
		if _, err := ParseTask(id); err == nil {
			t.Errorf("ParseTask(%q): no error", id)
		}
		if _, err := ParseAttempt(id); err == nil {
			t.Errorf("ParseAttempt(%q): no error", id)
		}
	}
}

func TestScheduleDigest(t *testing.T) {
	a := Attempt{Task{"job_1_0001", Map, 3}, 0}
	b := Attempt{Task{"job_1_0001", Reduce, 3}, 0}
	digest := func(events ...Event) ScheduleDigest {
		var s Schedule
		for _, e := range events {
			s.Add(e)
		}
		return s.Digest()
	}
	start := func(a Attempt, n Node, at Time) Event { return &AttemptStarted{Attempt: a, Node: n, T: at} }
	finish := func(a Attempt, at Time) Event { return &AttemptFinished{Attempt: a, T: at} }

	base := digest(start(a, "n1", 10), start(b, "n2", 20), finish(a, 30), finish(b, 40))
	if got := digest(finish(b, 40), start(b, "n2", 20), start(a, "n1", 10), finish(a, 30)); got != base {
		t.Errorf("another order of events gives %v, want %v", got, base)
	}
	if want := "c281468097271998"; base.String() != want {
		t.Errorf("digest %v, want %s: files in use have digests by the documented hash", base, want)
	}
	for name, events := range map[string][]Event{
		"node":    {start(a, "n2", 10), start(b, "n2", 20), finish(a, 30), finish(b, 40)},
		"swapped": {start(b, "n1", 10), start(a, "n2", 20), finish(b, 30), finish(a, 40)},
		"start":   {start(a, "n1", 11), start(b, "n2", 20), finish(a, 30), finish(b, 40)},
		"end":     {start(a, "n1", 10), start(b, "n2", 20), finish(a, 31), finish(b, 40)},
		"open":    {start(a, "n1", 10), start(b, "n2", 20), finish(a, 30)},
	} {
		if got := digest(events...); got == base {
			t.Errorf("%s: same digest", name)
		}
	}
}

type leaf struct {
	path  string
	value reflect.Value
}

// leaves are the fields under v that hold values of their own.
func leaves(v reflect.Value, path []string) []leaf {
	if v.Kind() != reflect.Struct {
		return []leaf{{strings.Join(path, "."), v}}
	}
	var all []leaf
	for i := range v.NumField() {
		all = append(all, leaves(v.Field(i), append(path[:len(path):len(path)], v.Type().Field(i).Name))...)
	}
	return all
}

func setNonZero(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		v.SetString("x")
	case reflect.Int32, reflect.Int64:
		v.SetInt(7)
	case reflect.Uint8, reflect.Uint64:
		v.SetUint(1)
	case reflect.Float64:
		v.SetFloat(0.5)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		setNonZero(v.Index(0))
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		setNonZero(v.Elem())
	case reflect.Struct: // an element of a list
		for _, l := range leaves(v, nil) {
			setNonZero(l.value)
		}
	default:
		panic("no value for " + v.Type().String())
	}
}

// Fields that came later change no digest of events that do not have them.
func TestMoreFields(t *testing.T) {
	digest := func(pool string, terms Terms) string {
		d := NewTraceDigest()
		d.Add(&JobSubmitted{Job: "job_1", Pool: pool, Terms: terms})
		return d.String()
	}
	for _, c := range []struct{ what, pool, before string }{
		{"a job without a pool", "", "sha256:05666dcbd23e16c75ad23faedc6b5335ed569f7106ec2fa249a70fc1378d1fad"},
		{"a job with a pool and without terms", "a", "sha256:2888b7f068ee0022c27979f12f524446313081f3e207738e4416036f38cc7975"},
	} {
		if got := digest(c.pool, Terms{}); got != c.before {
			t.Errorf("%s has digest %s, want %s as before jobs had terms", c.what, got, c.before)
		}
	}
	seen := map[string]string{}
	for what, d := range map[string]string{
		"no pool": digest("", Terms{}), "pool a": digest("a", Terms{}), "pool b": digest("b", Terms{}),
		"deadline": digest("", Terms{DeadlineMs: 1}), "price": digest("", Terms{Price: 1}),
		"map hint":    digest("", Terms{Hints: JobHints{Map: Hints{CPU: 1}}}),
		"reduce hint": digest("", Terms{Hints: JobHints{Reduce: Hints{CPU: 1}}}),
	} {
		if other := seen[d]; other != "" {
			t.Errorf("a job with %s has the digest of one with %s", what, other)
		}
		seen[d] = what
	}
}

func stored(e Event) string {
	var w Encoder
	w.Event(e)
	return string(w.Stored)
}
