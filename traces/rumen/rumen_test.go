package rumen

import (
	"bytes"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"heddle/traces"
	"heddle/traces/errtest"
	"heddle/traces/format"
	"heddle/traces/internal/jsonstream"
	"heddle/traces/internal/racks"
	"heddle/traces/mend"
)

// jobText is a trace of one job of one map with one attempt; the arguments replace
// parts of it.
func jobText(replace ...string) string {
	return strings.NewReplacer(replace...).Replace(`{"jobID":"job_1400000000000_0001","submitTime":1400000000000,"launchTime":1400000000500,"finishTime":1400000030000,"outcome":"SUCCESS","totalMaps":1,"totalReduces":0,` +
		`"mapTasks":[{"taskID":"task_1400000000000_0001_m_000000","taskType":"MAP","taskStatus":"SUCCESS","startTime":1400000001000,"finishTime":1400000009000,` +
		`"preferredLocations":[{"layers":["r1","n1"]}],"attempts":[{"attemptID":"attempt_1400000000000_0001_m_000000_0","hostName":"/r1/n2","result":"SUCCESS",` +
		`"startTime":1400000002000,"finishTime":1400000008900,"hdfsBytesRead":77}]}],"reduceTasks":[]}` + "\n")
}

// TestDefects: each defect is mended as its kind says, or refused with the
// place; what is around it survives.
func TestDefects(t *testing.T) {
	for _, c := range []struct {
		name, text string
		mends      []mend.Kind
		jobs       int
		tries      int // attempts that end
	}{
		{"none", jobText(), nil, 1, 1},
		{"unknown members", jobText(`"taskType"`, `"new":{"a":[1,{}]},"taskType"`), nil, 1, 1},
		{"nulls", jobText(`"SUCCESS"`, "null", `"/r1/n2"`, "null", "[]", "null"), nil, 1, 1},
		{"a list", "[" + strings.ReplaceAll(jobText()+","+jobText("0001", "0002"), "\n", "") + "]", nil, 2, 2},
		{
			"damaged between two", jobText() + "{\"jobID\":\"job_1_2\",!}\n" + jobText("0000_0001", "0000_0002"),
			[]mend.Kind{jsonstream.Damaged},
			2,
			2,
		},
		{"cut off", jobText() + jobText()[:200], []mend.Kind{jsonstream.CutOff}, 1, 1},
		{"a job twice", jobText() + jobText(), []mend.Kind{format.JobAgain}, 2, 2},
		{"no id", jobText(`"jobID":"job_1400000000000_0001",`, ""), []mend.Kind{noJobID, foreignIDs}, 1, 1},
		{"a text for a number", jobText("77", `"many"`), []mend.Kind{jsonstream.WrongType}, 1, 1},
		{"a number for an object", jobText(`{"layers":["r1","n1"]}`, "5"), []mend.Kind{jsonstream.WrongType}, 1, 1},
		{"negative time", jobText("1400000008900", "-5"), []mend.Kind{negative, noTryEnd}, 1, 1},
		{"huge time", jobText("1400000008900", "9223372036854775807"), []mend.Kind{hugeTime, noTryEnd}, 1, 1},
		{"huge number", jobText("77", "99999999999999999999"), []mend.Kind{jsonstream.WrongType}, 1, 1},
		{"time 0 in a dated job", jobText("1400000009000", "0"), []mend.Kind{undated, noTaskEnd}, 1, 1},
		{"ends before it starts", jobText("1400000008900", "1400000001500"), []mend.Kind{format.EndFirst}, 1, 1},
		{"another's task", jobText("task_1400000000000_0001_m", "task_1400000000000_0007_m"), []mend.Kind{foreignTask}, 1, 1},
		{"a task's id that is none", jobText("task_1400000000000_0001_m_000000", "first"), []mend.Kind{foreignTask}, 1, 1},
		{
			"a task with a huge number", jobText("task_1400000000000_0001_m_000000", "task_1400000000000_0001_m_999999999"),
			[]mend.Kind{foreignTask},
			1, 1,
		},
		{"an attempt that is a reduce's", jobText("attempt_1400000000000_0001_m", "attempt_1400000000000_0001_r"), []mend.Kind{foreignTry}, 1, 1},
		{"an attempt of another task", jobText("m_000000_0", "m_000004_0"), []mend.Kind{foreignTry}, 1, 1},
		{"odd outcome", jobText(`"result":"SUCCESS"`, `"result":"MAYBE"`), []mend.Kind{oddOutcome}, 1, 1},
		{"no end of the job", jobText(`"finishTime":1400000030000`, `"finishTime":-1`), []mend.Kind{noJobEnd}, 1, 1},
		{"submitted late", jobText(`"submitTime":1400000000000`, `"submitTime":1400000005000`), []mend.Kind{lateSubmit}, 1, 1},
		{"no time at all", jobText("1400000000500", "-1", "1400000030000", "-1", `"submitTime":1400000000000`, `"submitTime":-1`, "1400000001000",
			"-1", "1400000002000", "-1"), []mend.Kind{noTime}, 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			log := &mend.Log{File: "f.json"}
			jobs, tries, err := importAll(c.text, log)
			if err != nil {
				t.Fatal(err)
			}
			var want []string
			for _, k := range c.mends {
				want = append(want, k.String())
			}
			slices.Sort(want)
			if got := slices.Sorted(maps.Keys(log.Counts())); !slices.Equal(got, want) {
				t.Errorf("mended %q, want %q", got, want)
			}
			if jobs != c.jobs || tries != c.tries {
				t.Errorf("%d jobs, %d attempts; want %d, %d", jobs, tries, c.jobs, c.tries)
			}
			_, _, err = importAll(c.text, &mend.Log{File: "f.json", Strict: true})
			if len(c.mends) == 0 && err != nil {
				t.Errorf("strict: %v", err)
			}
			if len(c.mends) > 0 && (err == nil || !strings.HasPrefix(err.Error(), "f.json: byte ") ||
				!strings.Contains(err.Error(), "without --strict")) {
				t.Errorf("strict: error %v does not say where and what", err)
			}
		})
	}
}

func importAll(text string, log *mend.Log) (jobs, tries int, err error) {
	err = testReader(log, func(e traces.Event) error {
		switch e := e.(type) {
		case *traces.JobSubmitted:
			jobs++
		case *traces.AttemptFinished:
			tries++
			if e.Attempt.Index != 0 || e.Attempt.Number != 0 {
				return fmt.Errorf("attempt %v", e.Attempt)
			}
		}
		return nil
	}).Read(strings.NewReader(text))
	return jobs, tries, err
}

// testReader reads into add.
func testReader(log *mend.Log, add func(traces.Event) error) *reader {
	return newReader(&format.Import{Log: log, Racks: &racks.Table{}, Add: add, Host: func(string, string) error { return nil }})
}

// TestDuplicates: tasks and attempts with the same id get numbers of their own.
func TestDuplicates(t *testing.T) {
	one := jobText()
	task := one[strings.Index(one, `{"taskID"`):strings.Index(one, `],"reduceTasks"`)]
	try := one[strings.Index(one, `{"attemptID"`):strings.Index(one, `]}],"reduceTasks"`)]
	r := testReader(&mend.Log{}, nil)
	r.open(strings.NewReader(jobText(task, task+","+strings.ReplaceAll(task, try, try+","+try+","+try))))
	errtest.None(t, r.next())
	var got []string
	for _, task := range r.job.Maps {
		for _, a := range task.Attempts {
			got = append(got, fmt.Sprintf("%d_%d", task.ID.index, a.ID.number))
		}
	}
	if want := []string{"0_0", "1_0", "1_1", "1_2"}; !slices.Equal(got, want) {
		t.Errorf("attempts %v, want %v", got, want)
	}
}

func TestTopology(t *testing.T) {
	text := `{"name":"<root>","children":[{"children":[{"name":"a","children":null},{"name":"b"}],"name":"r1"},{"name":"dc","children":[{"name":"r2","children":[{"name":"c"}]}]},{"name":"d"}]}`
	hosts, err := readTopology(strings.NewReader(text))
	want := []traces.NodeFacts{{Node: "a", Rack: "/r1"}, {Node: "b", Rack: "/r1"}, {Node: "c", Rack: "/dc/r2"}, {Node: "d"}}
	if err != nil || !slices.Equal(hosts, want) {
		t.Fatalf("hosts %v, %v; want %v", hosts, err, want)
	}
	var out bytes.Buffer
	errtest.None(t, writeTopology(&out, hosts))
	again, err := readTopology(&out)
	if err != nil || !slices.Equal(again, want) {
		t.Errorf("written and read: %v, %v", again, err)
	}
	for _, bad := range []string{
		`{"name":5,"children":7}`, `{"name":"x","children":[`, `{"name":"x","children":[7]}`,
		strings.Repeat(`{"children":[`, 100),
	} {
		if _, err := readTopology(strings.NewReader(bad)); err == nil || !strings.Contains(err.Error(), "byte ") {
			t.Errorf("%.40s: error %v does not say where", bad, err)
		}
	}
}

// TestMembers: each member of an object that is written is read, so that none is
// missing in the reader.
func TestMembers(t *testing.T) {
	var want job
	n := int64(0)
	var fill func(reflect.Value)
	fill = func(v reflect.Value) {
		switch to := v.Addr().Interface().(type) {
		case *taskID:
			*to = taskID{job: "1_2", index: 3, valid: true}
		case *attemptID:
			*to = attemptID{taskID{job: "1_2", index: 3, valid: true}, 4}
		case *outcome:
			*to = outcome(traces.Killed)
		case *host:
			*to = host{"/r", "h"}
		case *location:
			*to = location{"/r", "g"}
		default:
			switch n++; v.Kind() {
			case reflect.Int64:
				v.SetInt(n)
			case reflect.String:
				v.SetString(fmt.Sprint("text ", n))
			case reflect.Pointer:
				v.Set(reflect.New(v.Type().Elem()))
				fill(v.Elem())
			case reflect.Slice:
				v.Set(reflect.MakeSlice(v.Type(), 1, 1))
				fill(v.Index(0))
			case reflect.Struct:
				for i := range v.NumField() {
					fill(v.Field(i))
				}
			default:
				t.Fatalf("no value is known for a %v", v.Type())
			}
		}
	}
	fill(reflect.ValueOf(&want).Elem())
	text := errtest.Must(json.Marshal(want))
	r := testReader(&mend.Log{Strict: true}, nil)
	r.open(bytes.NewReader(text))
	if err := r.in.Next(r.readJob); err != nil || !reflect.DeepEqual(r.job, want) {
		t.Errorf("read %+v, %v; want %+v", r.job, err, want)
	}
}

// TestManyTasks: a job that lists more tasks than any has is kept with the
// first of them, so that memory is bounded.
func TestManyTasks(t *testing.T) {
	if testing.Short() {
		t.Skip("it reads a job of a million tasks")
	}
	log := &mend.Log{File: "f.json"}
	r := testReader(log, nil)
	r.open(strings.NewReader(jobText(`"mapTasks":[`, `"mapTasks":[`+strings.Repeat("{},", maxListed+4))))
	if err := r.next(); err != nil || len(r.job.Maps) != maxListed || log.Counts()[manyTasks.String()] != 5 {
		t.Errorf("%d maps, mended %v, %v", len(r.job.Maps), log.Counts(), err)
	}
}
