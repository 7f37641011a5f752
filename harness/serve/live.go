package serve

import (
	"context"
	_ "embed" // for the script and the style sheet
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"io"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	"heddle/collectors/scrape"
	"heddle/harness/compare"
	"heddle/harness/doc"
	"heddle/harness/experiment"
	"heddle/harness/measure"
	"heddle/harness/report"
	"heddle/traces/printable"
)

//go:embed live.css
var liveStyle string

//go:embed live.js
var liveScript string

const (
	// maxStreams is how many pages are told what is new. Browsers open no more than 6
	// connections to a server.
	maxStreams = 16
	// tellEvery is the time between two looks at whether a page has to be told something.
	tellEvery = time.Second
	// stillEvery is how long a stream says nothing at most, so that whoever listens knows
	// that it stands.
	stillEvery = 15 * time.Second
	// lastPage is how long the end of a run waits for browsers to fetch the page as it
	// then is.
	lastPage = 10 * time.Second
	// opensWithin is the time that a browser takes from a page to its stream of events.
	opensWithin = 3 * time.Second
)

// Live is a run that goes on, for a browser and for Prometheus:
//
//	/         the page of heddle report, of the trials so far; before it, what the run does
//	/events   server-sent events, which tell the page what is new
//	/metrics  metrics for Prometheus
//
// The page is made when somebody opens it, and made again when a trial has ended since
// then. When the run has ended, it is that of heddle report.
type Live struct {
	pages   *pages
	metrics http.Handler
	over    chan struct{} // closed when the run has ended

	mu      sync.Mutex
	step    experiment.Step
	done    float64       // trials that are done, with a part of the one under way
	left    time.Duration // until the run ends, 0 if unknown
	folder  string        // the run folder, "" before there is one
	before  measure.Now   // counts of the trials before the one under way
	failed  int           // trials that failed
	failure string        // why the last of them did
	streams int
	loading []time.Time // when browsers asked for pages that have opened no stream yet
	ended   string      // how the run ended; "" while it goes on
	waiting int         // pages that are to be fetched for the last time
	fetched chan struct{}

	opens, last time.Duration // opensWithin and lastPage, but in tests with a browser that is slow
}

// How a run ended.
const (
	endDone        = "done"
	endInterrupted = "interrupted"
)

// NewLive returns a run that has not begun.
func NewLive() *Live {
	l := &Live{pages: newPages(1), over: make(chan struct{}), fetched: make(chan struct{}), opens: opensWithin, last: lastPage}
	l.metrics = scrape.Handler(l.collect)
	return l
}

// Step tells what the run does now, how many trials are done, with a part of the one
// under way, and how long the others will take, 0 if that is unknown.
func (l *Live) Step(s experiment.Step, done float64, left time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.step.Live != s.Live && l.step.Live != nil {
		now := l.step.Live.Now()
		l.before.Count(&now)
	}
	l.step, l.done, l.left = s, done, left
	if s.Folder != "" {
		l.folder = s.Folder
	}
	if s.Failure != "" {
		l.failed++
		l.failure = s.Failure
	}
}

// End tells that the run has ended, or was interrupted if ctx has ended. It waits until
// each browser that shows the page has fetched it as it is now, but not for long.
func (l *Live) End(ctx context.Context) {
	l.mu.Lock()
	if l.ended != "" {
		l.mu.Unlock()
		return
	}
	l.forget()
	l.ended, l.waiting, l.left = endDone, l.streams+len(l.loading), 0
	if ctx.Err() != nil {
		l.ended, l.waiting = endInterrupted, 0
	}
	wait := l.waiting > 0
	l.mu.Unlock()
	close(l.over)
	if !wait {
		return
	}
	opened, patience := time.NewTimer(l.opens), time.NewTimer(l.last)
	defer opened.Stop()
	defer patience.Stop()
	for {
		select {
		case <-opened.C:
			if l.neverOpened() {
				return
			}
		case <-l.fetched:
			return
		case <-patience.C:
			return
		case <-ctx.Done():
			return
		}
	}
}

// forget drops the pages that have had their time to open a stream. l.mu is held.
func (l *Live) forget() {
	l.loading = slices.DeleteFunc(l.loading, func(t time.Time) bool { return time.Since(t) >= l.opens })
}

// neverOpened gives up the pages that have opened no stream, and tells whether nobody
// else is waited for.
func (l *Live) neverOpened() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waiting -= len(l.loading)
	l.loading = nil
	return l.waiting <= 0
}

// ServeHTTP answers a request.
func (l *Live) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/":
		l.servePage(w, r)
	case "/events":
		l.serveEvents(w, r)
	case "/metrics":
		l.metrics.ServeHTTP(w, r)
	default:
		http.NotFound(w, r)
	}
}

func (l *Live) servePage(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Sec-Fetch-Dest") == "document" {
		l.arrive()
	}
	state := l.state()
	page, err := l.pages.get(r.Context(), "", state.Version, func(ctx context.Context) (doc.Doc, error) { return l.document(ctx, &state) })
	if err != nil {
		http.Error(w, "make page: "+printable.Line(err.Error()), http.StatusInternalServerError)
		return
	}
	sendPage(w, page)
	l.mu.Lock()
	defer l.mu.Unlock()
	if state.Ended != "" && l.waiting > 0 {
		if l.waiting--; l.waiting == 0 {
			close(l.fetched)
		}
	}
}

// arrive counts a page that a browser shows: it will open a stream. A run may end between
// the two, and its page must be fetched once more then as well.
func (l *Live) arrive() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended != "" {
		return
	}
	l.forget()
	if len(l.loading) < maxStreams {
		l.loading = append(l.loading, time.Now())
	}
}

// document returns the page: what the run does, if it goes on, and the report of its
// trials so far, if there are any.
func (l *Live) document(ctx context.Context, s *state) (doc.Doc, error) {
	l.mu.Lock()
	folder, failed := l.folder, l.failed
	l.mu.Unlock()
	d := doc.Doc{doc.Heading("run"), doc.Text("No trial has ended yet.")}
	if folder != "" {
		d[0] = doc.Heading(filepath.Base(folder))
		// Predictions of the trials are left out: making them would take the cores that
		// the run needs.
		switch made, err := report.Of(ctx, report.Options{Runs: []string{folder}}); {
		case err == nil:
			d = made
		case ctx.Err() != nil:
			return nil, err
		case !errors.Is(err, compare.ErrNoTrial), failed > 0 && s.Ended != "":
			d[1] = doc.Warnings{err.Error()}
		case failed > 0:
			d[1] = doc.Text("No trial has succeeded yet.")
		}
	}
	if s.Ended != "" {
		return d, nil
	}
	now := &doc.Embed{Script: liveScript, Style: liveStyle, Connects: true, HTML: func(out io.Writer) error { return liveBox.Execute(out, s) }}
	return append(doc.Doc{d[0], now}, d[1:]...), nil
}

// state is what a run does, as its page is told.
type state struct {
	// Version is that of the page. It changes when a trial or the run has ended.
	Version string `json:"version"`
	Ended   string `json:"ended,omitempty"`
	// Doing says what the run does. Share of all its trials is done, 0 to 1.
	Doing string      `json:"doing"`
	Share float64     `json:"share"`
	Facts [][2]string `json:"facts"` // names with their values
}

// shownNodes is for how many nodes the page says what runs on each.
const shownNodes = 24

func (l *Live) state() state {
	l.mu.Lock()
	step, done, left, ended, failed, failure := l.step, l.done, l.left, l.ended, l.failed, printable.OneLine(l.failure)
	l.mu.Unlock()
	s := state{Version: strconv.Itoa(step.Number), Ended: ended, Share: done / float64(max(1, step.Trials))}
	fact := func(name, value string) { s.Facts = append(s.Facts, [2]string{name, printable.Line(value)}) }
	switch {
	case ended == endInterrupted:
		s.Version, s.Doing = ended, "The run was interrupted."
		return s
	case ended != "":
		s.Version, s.Doing, s.Share = ended, "The run has ended.", 1
		return s
	case step.Trial == "":
		s.Doing = printable.Line(step.Doing + " " + step.Text)
		return s
	}
	s.Doing = fmt.Sprintf("Trial %d of %d: %s", step.Number, step.Trials, printable.Line(step.Trial))
	fact("step", step.Doing+" "+step.Text)
	if failed > 0 {
		fact("trials", fmt.Sprintf("%d failed, the last: %s", failed, failure))
	}
	if left > 0 {
		fact("time left", "about "+left.Round(time.Second).String())
	}
	now, ok := step.Now()
	if !ok {
		return s
	}
	for _, f := range step.Facts(&now) {
		fact(f.Name, f.Value)
	}
	up, running, each := 0, 0, ""
	for i, n := range now.Nodes {
		running += n.Running
		if !n.Down {
			up++
		}
		if i < shownNodes {
			each += fmt.Sprintf(", %s %d", n.Node, n.Running)
		}
	}
	if len(now.Nodes) > 0 {
		fact("containers", fmt.Sprintf("%d on %d nodes", running, up))
	}
	if n := len(now.Nodes); n > 0 && n <= shownNodes {
		fact("by node", each[2:])
	}
	return s
}

// liveBox is the part of the page that says what the run does. It escapes all names.
var liveBox = template.Must(template.New("live").Parse(`<section class="live" aria-label="The run now" data-version="{{.Version}}">
<p class="doing" role="status">{{.Doing}}</p>
<progress max="1" value="{{.Share}}" aria-label="Trials done"></progress>
<dl class="facts">{{range .Facts}}<div><dt>{{index . 0}}</dt><dd>{{index . 1}}</dd></div>{{end}}</dl>
<p class="news" role="status"></p>
</section>
`))

// serveEvents tells a page what the run does, each time that has changed, until the run
// has ended.
func (l *Live) serveEvents(w http.ResponseWriter, r *http.Request) {
	if !l.enter() {
		w.Header().Set("Retry-After", "10")
		http.Error(w, fmt.Sprintf("%d pages follow this run already", maxStreams), http.StatusServiceUnavailable)
		return
	}
	defer l.leave()
	w.Header().Set("Content-Type", "text/event-stream")
	if r.Method == http.MethodHead {
		return
	}
	tick := time.NewTicker(tellEvery)
	defer tick.Stop()
	last, spoke := "", time.Now()
	for {
		s := l.state()
		text, err := json.Marshal(s)
		if err != nil {
			return // texts and finite numbers can be JSON
		}
		message := ""
		switch {
		case string(text) != last:
			message = "event: state\ndata: " + string(text) + "\n\n"
		case time.Since(spoke) >= stillEvery:
			message = ": nothing new\n\n"
		}
		if message != "" {
			last, spoke = string(text), time.Now()
			patience(w, answerLimit)
			if _, err := io.WriteString(w, message); err != nil {
				return
			}
			if err := http.NewResponseController(w).Flush(); err != nil {
				return
			}
		}
		if s.Ended != "" {
			return
		}
		select {
		case <-tick.C:
		case <-l.over:
		case <-r.Context().Done():
			return
		}
	}
}

func (l *Live) enter() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.streams >= maxStreams {
		return false
	}
	l.streams++
	if len(l.loading) > 0 {
		l.loading = l.loading[1:]
	}
	return true
}

func (l *Live) leave() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.streams--
}
