package drive

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/klauspost/compress/zstd"

	"heddle/harness/config"
	"heddle/harness/steer"
	"heddle/traces"
	"heddle/yarnclient"
	"heddle/yarnclient/yarntest"
)

// recorded has what a model sees of a fake cluster recorded.
func recorded(t *testing.T, to *bytes.Buffer, model config.Model) func(*fake, *Options) {
	return func(_ *fake, o *Options) {
		var err error
		if o.Core.Model, err = model.Scheduler(1); err != nil {
			t.Fatal(err)
		}
		o.Core.Splits = model.Splits
		if o.Recorder, err = NewRecorder(to, model, 1); err != nil {
			t.Fatal(err)
		}
	}
}

// TestRecordings steers under several models while things go wrong, and goes
// through the recordings again: the same events, and the same actions.
func TestRecordings(t *testing.T) {
	for _, c := range []struct {
		name  string
		model config.Model
		fault func(f *fake, job string)
	}{
		{"fifo", config.Model{Model: "fifo"}, nil},
		{"delay", config.Model{Model: "delay"}, nil},
		{"acl", config.Model{Model: "acl", Params: map[string]string{"c": "3"}}, nil},
		{"clqlmrs", config.Model{Model: "clqlmrs", Params: map[string]string{"episodes": "20"}}, nil},
		{"plan", config.Model{Model: "planned", Splits: config.SplitsPlan}, nil},
		{"ResourceManager restarted", config.Model{Model: "fifo"}, func(f *fake, _ string) { f.c.RestartRM(3*time.Second, time.Second) }},
		{"NodeManager lost", config.Model{Model: "fifo"}, func(f *fake, _ string) { f.c.StopNode("r1n2") }},
		{"ApplicationMaster lost", config.Model{Model: "planned", Splits: config.SplitsPlan}, func(f *fake, job string) { f.c.KillMaster(job) }},
		{"label calls refused", config.Model{Model: "delay"}, func(f *fake, _ string) {
			f.c.Inject(yarntest.Fault{Method: "POST", Path: "replace-node-to-labels", Skip: 4, Times: 2, Status: 503, Body: "busy"})
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var kept bytes.Buffer
			var events []traces.Event
			synctest.Test(t, func(t *testing.T) {
				f := steered(t, yarntest.Config{Nodes: workers(2), Async: async, Latency: time.Millisecond, Expiry: 5 * time.Second},
					recorded(t, &kept, c.model))
				fails := func(j *yarntest.Job) {
					j.Run = func(kind string, task, attempt int) (time.Duration, bool) {
						return time.Second + time.Duration(task%7)*100*time.Millisecond, kind == "REDUCE" && attempt == 0
					}
				}
				a, b := f.submit("a", 20, 2, fails), f.submit("b", 12, 1)
				if c.fault != nil {
					f.wait(3 * time.Second)
					c.fault(f, a)
				}
				f.await(5*time.Minute, a, b)
				f.stop()
				events = f.events
			})
			again, steps := []string{}, 0
			err := Replay(bytes.NewReader(kept.Bytes()), func(_ time.Duration, actions []steer.Action) {
				steps++
				for _, a := range actions {
					if r, ok := a.(*steer.Record); ok {
						again = append(again, r.String())
					}
				}
			})
			mustDo(t, err)
			if len(again) != len(events) {
				t.Fatalf("%d events in %d steps, the trace has %d", len(again), steps, len(events))
			}
			for i, e := range events {
				if want := (&steer.Record{Event: e}).String(); again[i] != want {
					t.Fatalf("event %d is %s, was %s", i, again[i], want)
				}
			}
			t.Logf("%d steps, %d events, %d bytes", steps, len(events), kept.Len())
		})
	}
}

// TestRecordingThatDiffers has recordings that a Core does not follow, or that are
// none: the error names the step.
func TestRecordingThatDiffers(t *testing.T) {
	var kept bytes.Buffer
	synctest.Test(t, func(t *testing.T) {
		f := steered(t, yarntest.Config{Nodes: workers(2), Async: async}, recorded(t, &kept, config.Model{Model: "fifo"}))
		f.await(5*time.Minute, f.submit("a", 6, 1))
		f.stop()
	})
	unzip := must(zstd.NewReader(nil))
	defer unzip.Close()
	plain := must(unzip.DecodeAll(kept.Bytes(), nil))
	zip := must(zstd.NewWriter(nil))
	for _, c := range []struct {
		name, from, to, want string
	}{
		{"another model", `"Model":"fifo"`, `"Model":"nosuch"`, "nosuch"},
		{"another answer", `"Priority":20`, `"Priority":10`, "step"},
		{"a newer format", `{"recording":2`, `{"recording":3`, "format 3"},
		{"no JSON", `"observations"`, `observations`, "step"},
		{"a question that nobody asks", `"what":"apps"`, `"what":"weather"`, "weather"},
	} {
		changed := bytes.ReplaceAll(plain, []byte(c.from), []byte(c.to))
		if bytes.Equal(changed, plain) {
			t.Fatalf("%s: no %s in the recording", c.name, c.from)
		}
		err := Replay(bytes.NewReader(zip.EncodeAll(changed, nil)), nil)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want an error with %q", c.name, err, c.want)
		}
	}
	// What a killed run has recorded is read up to there.
	if err := Replay(bytes.NewReader(zip.EncodeAll(plain[:len(plain)*2/3], nil)), nil); err != nil {
		t.Errorf("cut off: %v", err)
	}
}

// TestLabRecordings goes through what was recorded of steering real clusters: the
// same decisions and actions. What went wrong stands in the file's name, after
// "fault", and is in the recording; where nothing did, each decision was honoured.
func TestLabRecordings(t *testing.T) {
	files, err := filepath.Glob("testdata/*.jsonl.zst")
	if err != nil || len(files) == 0 {
		t.Fatalf("no recordings: %v", err)
	}
	for _, path := range files {
		name := strings.TrimSuffix(filepath.Base(path), ".jsonl.zst")
		t.Run(name, func(t *testing.T) {
			data, err := os.ReadFile(path)
			mustDo(t, err)
			told := observationsIn(t, data)
			_, fault, _ := strings.Cut(name, "-fault-")
			if got := strings.Join(faultsIn(told), ","); got != fault {
				t.Errorf("the recording holds the faults %q, its name says %q", got, fault)
			}
			steps, decided, outcomes := 0, 0, map[string]int{}
			err = Replay(bytes.NewReader(data), func(_ time.Duration, actions []steer.Action) {
				for _, a := range actions {
					if r, ok := a.(*steer.Record); ok {
						switch e := r.Event.(type) {
						case *traces.Decision:
							decided++
							if told[steps].away[string(e.Node)] {
								t.Errorf("step %d decides on %s, which is away: %+v", steps+1, e.Node, e)
							}
						case *traces.Actuation:
							outcomes[e.Outcome]++
						}
					}
				}
				steps++
			})
			mustDo(t, err)
			t.Logf("%d steps, %d decisions: %v", steps, decided, outcomes)
			ended := 0
			for _, n := range outcomes {
				ended += n
			}
			if decided == 0 || ended != decided {
				t.Errorf("%d decisions, of which %d have an outcome: %v", decided, ended, outcomes)
			}
			if fault == "" && outcomes["honoured"] != decided {
				t.Errorf("%v, want all %d honoured", outcomes, decided)
			}
		})
	}
}

// toldStep is what a Core is told in one step, and which nodes YARN has listed last
// as not running.
type toldStep struct {
	observations []steer.Observation
	away         map[string]bool
}

// observationsIn are the steps of a recording.
func observationsIn(t *testing.T, data []byte) (steps []toldStep) {
	t.Helper()
	unzipped := must(zstd.NewReader(bytes.NewReader(data)))
	defer unzipped.Close()
	lines := json.NewDecoder(unzipped)
	var head recordingHead
	mustDo(t, lines.Decode(&head))
	var answers []json.RawMessage
	away := map[string]bool{}
	for {
		var step recordedStep
		if err := lines.Decode(&step); errors.Is(err, io.EOF) {
			return steps
		} else if err != nil {
			t.Fatal(err)
		}
		batch := must(step.batch(&answers))
		for _, o := range batch {
			nodes, _ := o.Answer.([]yarnclient.Node)
			for _, n := range nodes {
				away[n.Host] = n.State != "RUNNING"
			}
		}
		steps = append(steps, toldStep{batch, maps.Clone(away)})
	}
}

// faultsIn are the faults that a Core was told of, in the order in which they began.
func faultsIn(steps []toldStep) (faults []string) {
	saw := func(fault string) {
		if !slices.Contains(faults, fault) {
			faults = append(faults, fault)
		}
	}
	refused, rm, lost := false, int64(0), map[string]bool{}
	for _, step := range steps {
		for _, o := range step.observations {
			refused = refused || o.Err != nil && errors.Is(o.Err, yarnclient.ErrUnreachable)
			switch answer := o.Answer.(type) {
			case yarnclient.ClusterInfo:
				if answer.HAState == yarnclient.HAActive {
					if refused && answer.ID != rm {
						saw("rm-restart")
					}
					refused, rm = false, answer.ID
				}
			case []yarnclient.Node:
				for _, n := range answer {
					if lost[n.Host] && n.State == "RUNNING" {
						saw("node-lost-and-back")
					}
					lost[n.Host] = n.State == "LOST"
				}
			case []yarnclient.TaskAttempt:
				if slices.ContainsFunc(answer, func(a yarnclient.TaskAttempt) bool { return a.Type == "REDUCE" && a.State == "FAILED" }) {
					saw("reduce-failed")
				}
			}
		}
	}
	return faults
}

// must returns x, and panics with the error if there is one.
func must[T any](x T, err error) T {
	if err != nil {
		panic(err)
	}
	return x
}

func mustDo(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
