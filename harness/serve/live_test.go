package serve

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"heddle/harness/config"
	"heddle/harness/experiment"
	"heddle/harness/internal/golden"
	"heddle/traces"
)

// two is an experiment of two trials.
const two = `cluster: lab
models: [fifo, delay]
actuator: labels
seed: 7
workloads: [{name: wordcount, size: 1GiB, maps: 1500, reduces: 2}]
`

// simulate runs an experiment in virtual time and returns its folder. step may be nil. If
// it is not, trials run one at a time: none has ended before its steps were told.
func simulate(t testing.TB, root, name, source string, step func(experiment.Step)) string {
	t.Helper()
	if step != nil {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	}
	e, err := config.ParseExperiment(name+".yaml", []byte(source))
	check(t, err)
	lab, err := config.LoadCluster("../config/testdata/slowdisks.yaml")
	check(t, err)
	run, err := experiment.Simulate(t.Context(), experiment.Options{
		Experiment: e, Source: []byte(source), Cluster: lab, Root: root, Name: name, Progress: step, Watched: true,
	}, nil)
	check(t, err)
	return run.Dir
}

// TestLive follows a simulated run: before it, while each of its trials runs, and when it
// has ended.
func TestLive(t *testing.T) {
	l := NewLive()
	page := func(want ...string) {
		t.Helper()
		w := ask(t, l, "/")
		for _, text := range want {
			not, absent := strings.CutPrefix(text, "!")
			if w.Code != 200 || strings.Contains(w.Body.String(), not) == absent {
				t.Errorf("status %d, the page has %q: %v", w.Code, not, absent)
			}
		}
	}
	page("No trial has ended yet", `class="live"`, "connect-src &#39;self&#39;")
	seen := map[int]bool{}
	simulate(t, t.TempDir(), "two", two, func(s experiment.Step) {
		l.Step(s, s.Done(), 90*time.Second)
		if s.Live == nil || s.Simulated.Done == 0 || seen[s.Number] {
			return
		}
		seen[s.Number] = true
		switch s.Number {
		case 1:
			page("<h1>two</h1>", "Trial 1 of 2: r01-wordcount-", "No trial has ended yet", "about 1m30s", "<dd>"+s.Model+": ", "containers", "!Where this is from")
		case 2:
			page("<h1>two</h1>", "Trial 2 of 2: r01-wordcount-", "Where this is from", "still runs: only its finished trials")
		}
	})
	if len(seen) != 2 {
		t.Fatalf("looked at trials %v", seen)
	}
	l.End(t.Context())
	page("<h1>two</h1>", "Where this is from", `!class="live"`, "!connect-src", "!still runs")
	if status := ask(t, l, "/nothing").Code; status != 404 {
		t.Errorf("an unknown path: status %d", status)
	}
}

// TestLiveFailed: trials that fail are counted, with the reason of the last, while the run
// goes on, when it has ended, and for Prometheus.
func TestLiveFailed(t *testing.T) {
	e, err := config.ParseExperiment("e.yaml", []byte(two+"\ntimeout: 1s\n"))
	check(t, err)
	lab, err := config.LoadCluster("../config/testdata/slowdisks.yaml")
	check(t, err)
	l := NewLive()
	told := map[int]string{}
	_, err = experiment.Simulate(t.Context(), experiment.Options{
		Experiment: e, Cluster: lab, Root: t.TempDir(), Name: "late", Watched: true, Progress: func(s experiment.Step) {
			l.Step(s, s.Done(), 0)
			if s.Failure != "" {
				told[s.Number] = ask(t, l, "/").Body.String()
			}
		},
	}, nil)
	if err == nil || len(told) != 2 {
		t.Fatalf("%d trials failed: %v", len(told), err)
	}
	l.End(t.Context())
	told[3] = ask(t, l, "/").Body.String()
	told[4] = ask(t, l, "/metrics").Body.String()
	for page, want := range map[int]string{
		1: "1 failed, the last: trial took ", 2: "2 failed, the last: trial took ", 3: "no finished trial; 2 of 2 trials failed", 4: "heddle_run_trials_failed 2\n",
	} {
		if !strings.Contains(told[page], want) || strings.Contains(told[page], "No trial has ended yet") {
			t.Errorf("page %d does not have %q, or says that no trial has ended", page, want)
		}
	}
}

// stream is a client that takes server-sent events.
type stream struct {
	http.ResponseWriter
	told chan string
}

func (s stream) Write(p []byte) (int, error) {
	s.told <- string(p)
	return len(p), nil
}

func (s stream) Flush() {}

// follow opens a stream of events. The channel is closed at its end.
func follow(ctx context.Context, l *Live) stream {
	s := stream{httptest.NewRecorder(), make(chan string, 100)}
	r := httptest.NewRequestWithContext(ctx, "GET", "/events", nil)
	go func() {
		defer close(s.told)
		l.ServeHTTP(s, r)
	}()
	return s
}

func (s stream) next(t testing.TB) (now state) {
	t.Helper()
	text, ok := strings.CutPrefix(<-s.told, "event: state\ndata: ")
	if !ok || !strings.HasSuffix(text, "\n\n") || strings.Count(text, "\n") != 2 {
		t.Fatalf("no event: %q", text)
	}
	check(t, json.Unmarshal([]byte(text), &now))
	return now
}

// TestEvents tells a page what is new at most once a second, and that the stream stands.
func TestEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := NewLive()
		began := time.Now()
		s := follow(t.Context(), l)
		s.next(t)
		for i := range 100 {
			l.Step(experiment.Step{Trial: "t\n\ndata: x", Number: 1, Trials: 4, Doing: "run", Text: strings.Repeat("y", i)}, 0.25, 0)
		}
		if now := s.next(t); now.Doing != `Trial 1 of 4: t\u000a\u000adata: x` || now.Version != "1" || now.Share != 0.0625 || now.Facts[0][1] != "run "+strings.Repeat("y", 99) {
			t.Errorf("told %+v", now)
		}
		if took := time.Since(began); took != tellEvery {
			t.Errorf("told after %v", took)
		}
		if text := <-s.told; text != ": nothing new\n\n" || time.Since(began) != tellEvery+stillEvery {
			t.Errorf("told %q after %v", text, time.Since(began))
		}
		end := make(chan struct{})
		go func() { l.End(t.Context()); close(end) }()
		if now := s.next(t); now.Ended != endDone || now.Share != 1 {
			t.Errorf("at the end %+v", now)
		}
		if text, more := <-s.told; more {
			t.Errorf("behind the end %q", text)
		}
		// The end waits until the page is fetched once more, or its time is over.
		synctest.Wait()
		select {
		case <-end:
			t.Fatal("the run did not wait for its page to be fetched")
		default:
		}
		if ask(t, l, "/").Code != 200 {
			t.Error("no page at the end")
		}
		<-end
		l.End(t.Context()) // does nothing
	})
}

// TestEventsInterrupted: a run that is interrupted waits for nobody.
func TestEventsInterrupted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := NewLive()
		s := follow(t.Context(), l)
		s.next(t)
		ctx, interrupt := context.WithCancel(t.Context())
		interrupt()
		began := time.Now()
		l.End(ctx)
		if now := s.next(t); now.Ended != endInterrupted || time.Since(began) != 0 {
			t.Errorf("told %+v after %v", now, time.Since(began))
		}
	})
}

// TestEventsBetween: a run that ends after a browser has its page, and before the page has
// opened its stream, waits for both, but not for a page that opens none.
func TestEventsBetween(t *testing.T) {
	shown := func(t *testing.T, l *Live) {
		r := httptest.NewRequestWithContext(t.Context(), "GET", "/", nil)
		r.Header.Set("Sec-Fetch-Dest", "document")
		l.ServeHTTP(httptest.NewRecorder(), r)
	}
	for _, test := range []struct {
		name         string
		opens, after time.Duration // opens the stream so long after the end, 0: never
		want         time.Duration
	}{
		{"opens", 2 * time.Second, 4 * time.Second, 6 * time.Second},
		{"never opens", 0, 0, opensWithin},
		{"fetches late", 2 * time.Second, lastPage, lastPage},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := NewLive()
				shown(t, l)
				began := time.Now()
				done := make(chan struct{})
				go func() {
					defer close(done)
					if test.opens == 0 {
						return
					}
					<-time.After(test.opens)
					if now := follow(t.Context(), l).next(t); now.Ended != endDone {
						t.Errorf("told %+v", now)
					}
					<-time.After(test.after)
					shown(t, l)
				}()
				l.End(t.Context())
				if took := time.Since(began); took != test.want {
					t.Errorf("the run ended after %v, want %v", took, test.want)
				}
				<-done
			})
		})
	}
	synctest.Test(t, func(t *testing.T) {
		l := NewLive()
		shown(t, l)
		<-time.After(opensWithin)
		began := time.Now()
		l.End(t.Context())
		if took := time.Since(began); took != 0 {
			t.Errorf("the run waited %v for a page of long ago", took)
		}
	})
}

// TestEventsLimit: a page that is closed makes room for another one, and pages that never
// come back hold up no run.
func TestEventsLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := NewLive()
		ctx, leave := context.WithCancel(t.Context())
		follow(ctx, l).next(t)
		for range maxStreams - 1 {
			follow(t.Context(), l).next(t)
		}
		if w := ask(t, l, "/events"); w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") == "" {
			t.Errorf("one more page: status %d", w.Code)
		}
		leave()
		synctest.Wait()
		follow(t.Context(), l).next(t)
		began := time.Now()
		l.End(t.Context())
		if took := time.Since(began); took != lastPage {
			t.Errorf("the run ended after %v", took)
		}
	})
}

// scraped returns the metrics of a run whose second trial is under way, on a cluster
// with hostile names.
func scraped(t *testing.T) string {
	t.Helper()
	l := NewLive()
	for n := 1; n <= 2; n++ {
		live := &experiment.Live{}
		task := traces.Task{Job: "j", Kind: traces.Map}
		for _, e := range []traces.Event{
			&traces.NodeUp{NodeFacts: traces.NodeFacts{Node: "w1\n\"", Rack: "/r1"}}, &traces.NodeUp{NodeFacts: traces.NodeFacts{Node: "w2", Rack: "/r1"}}, &traces.NodeDown{Node: "w2"},
			&traces.JobSubmitted{Job: "j", Maps: 2, Reduces: 1},
			&traces.TaskScheduled{Task: task},
			&traces.Decision{ID: 1}, &traces.Decision{ID: 2, T: 1e9},
			&traces.Actuation{Decision: 1, T: 3e8, Outcome: "honoured"}, &traces.Actuation{Decision: 2, T: 2e9, Outcome: "from a newer version"},
			&traces.AttemptStarted{T: 7e9, Attempt: traces.Attempt{Task: task}, Node: "w1\n\"", ReplicaLocality: traces.LevelCache},
		} {
			live.Add(e)
		}
		l.Step(experiment.Step{Folder: "/x/a \"run\"", Trial: "t", Number: n, Trials: 3, Live: live}, 1.5, time.Minute)
	}
	return ask(t, l, "/metrics").Body.String()
}

// TestMetrics has the metrics of a run: counters over all trials, the others of the one
// under way.
func TestMetrics(t *testing.T) {
	golden.Check(t, "testdata/metrics.txt", scraped(t))
}

// TestMetricsBounded: the number of series does not follow the number of nodes.
func TestMetricsBounded(t *testing.T) {
	live := &experiment.Live{}
	for i := range 3 * mostNodes {
		live.Add(&traces.NodeUp{NodeFacts: traces.NodeFacts{Node: traces.Node(strings.Repeat("n", i+1))}})
	}
	l := NewLive()
	l.Step(experiment.Step{Trial: "t", Number: 1, Trials: 1, Live: live}, 0, 0)
	got := ask(t, l, "/metrics").Body.String()
	if lines := strings.Count(got, "\n"); lines > mostNodes+150 || !strings.Contains(got, `heddle_run_nodes{state="up"} 1500`) {
		t.Errorf("%d lines", lines)
	}
}

// TestGrafana: each metric of the dashboard is one that a run or an agent has.
func TestGrafana(t *testing.T) {
	text, err := os.ReadFile("grafana.json")
	check(t, err)
	var dashboard struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	check(t, json.Unmarshal(text, &dashboard))
	agent, err := os.ReadFile("../../collectors/node/agent/testdata/metrics.txt")
	check(t, err)
	var exported []string
	for line := range strings.Lines(scraped(t) + string(agent)) {
		if !strings.HasPrefix(line, "#") {
			exported = append(exported, regexp.MustCompile(`^\w+`).FindString(line))
		}
	}
	asked := 0
	for _, p := range dashboard.Panels {
		for _, target := range p.Targets {
			for _, name := range regexp.MustCompile(`heddle_\w+`).FindAllString(target.Expr, -1) {
				asked++
				if !slices.Contains(exported, name) {
					t.Errorf("%s: %s: nobody exports %s", p.Title, target.Expr, name)
				}
			}
		}
	}
	if asked < 20 {
		t.Errorf("the dashboard asks for %d metrics", asked)
	}
}
