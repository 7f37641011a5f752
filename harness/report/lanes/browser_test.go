package lanes

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"heddle/harness/report/browsertest"
	"heddle/traces"
	"heddle/traces/errtest"
	"heddle/traces/tracefile"
)

// tab is a page in a headless browser.
type tab struct{ *browsertest.Tab }

// browser returns a tab. The test is skipped if there is no browser.
func browser(t *testing.T) *tab {
	t.Helper()
	return &tab{browsertest.New(t)}
}

// js runs a script in the page.
func js(text string) chromedp.Action[chromedp.Void] {
	return chromedp.Evaluate[chromedp.Void]("(() => {" + text + "})()")
}

// app is the timeline as the page's script has it.
const app = "document.querySelector('.lanes').timeline"

// open shows a page of a timeline.
func (b *tab) open(l *Timeline) {
	b.Helper()
	b.Open(page(b, l), "")
	b.Until("document.querySelector('.lanes')?.dataset.ready === 'true'")
}

// selects selects the attempt of a task by its name, such as m3, in a trial and job.
func (b *tab) selects(trial int, job, task string) {
	b.Helper()
	b.Do(js(fmt.Sprintf("const app = %s, view = app.shown[%d], {trial} = view; app.select({view, bar: trial.jobs[trial.jobPlace.get(%q)].bars.find((i) => trial.task(i) === %q)}, true)", app, trial, job, task)))
}

// text returns the text of an element.
func (b *tab) text(selector string) string {
	b.Helper()
	return b.Text(fmt.Sprintf("document.querySelector(%q).innerText", selector))
}

// press clicks the button that has these words or this label.
func (b *tab) press(words string) {
	b.Helper()
	b.Do(js(fmt.Sprintf("[...document.querySelectorAll('.lanes button')].find((e) => e.innerText === %q || e.ariaLabel === %[1]q).click()",
		words)))
}

// mouse sends an event of the mouse at a place of the window.
func mouse(kind input.DispatchMouseEventType, x, y float64, options ...chromedp.MouseOption) chromedp.Action[chromedp.Void] {
	return chromedp.MouseEvent(kind, x, y, options...)
}

const (
	moved    = input.DispatchMouseEventTypeMouseMoved
	pressed  = input.DispatchMouseEventTypeMousePressed
	released = input.DispatchMouseEventTypeMouseReleased
	wheeled  = input.DispatchMouseEventTypeMouseWheel
)

func held(p *input.DispatchMouseEventParams) {
	p.Button, p.Buttons, p.ClickCount = input.MouseButtonLeft, 1, 1
}

// find moves the pointer over the nth trial at a time in s after its first submission until a
// tip has the words, and returns the place.
func (b *tab) find(trial int, seconds float64, words string) (x, y float64) {
	b.Helper()
	b.Do(js(fmt.Sprintf("document.querySelectorAll('.lanes-trial')[%d].scrollIntoView()", trial)))
	b.Until(fmt.Sprintf("!%s.drawing && !%[1]s.shown[%d].stale", app, trial))
	box := fmt.Sprintf("document.querySelectorAll('.lanes-plot')[%d].getBoundingClientRect()", trial)
	top, bottom := b.Number(box+".top"), b.Number(box+".bottom")
	gutter := b.Number("parseFloat(document.querySelector('.lanes').style.getPropertyValue('--lanes-gutter'))")
	width := b.Number(box + ".width")
	from, to := b.Number(app+".from / 1000"), b.Number(app+".to / 1000")
	x = b.Number(box+".left") + gutter + (seconds-from)/(to-from)*(width-gutter-14)
	for y = top + 2; y < bottom; y += 5 {
		b.Do(mouse(moved, x, y))
		if tip := b.Text("document.querySelector('.lanes-tip').hidden ? '' : document.querySelector('.lanes-tip').innerText"); strings.Contains(tip, words) {
			return x, y
		}
	}
	b.Fatalf("no bar at %g s says %q", seconds, words)
	return 0, 0
}

// click clicks a bar.
func (b *tab) click(trial int, seconds float64, words string) {
	b.Helper()
	x, y := b.find(trial, seconds, words)
	b.Do(mouse(pressed, x, y, held), mouse(released, x, y, held))
}

// small is a timeline of two trials of the same two jobs, of 24 s. Each job has four maps and
// a reduce; the second trial has a map that failed and one that ran elsewhere.
func small() *Timeline {
	l := New(Options{})
	for _, model := range []string{"yarn", "delay"} {
		h, events := smallTrace(model == "delay")
		l.Add(Trial{
			Name: "r01-sort-" + model, Workload: "sort", Model: model, Repeat: 1, Header: h,
			Why: func(a traces.Attempt) []string {
				return []string{fmt.Sprintf("%s %d of %s is there because of a test.", a.Kind, a.Index, a.Job)}
			},
		}, slices.Values(events))
	}
	return l
}

// smallTrace reads one of the traces of small: that of the second trial if other is true.
func smallTrace(other bool) (traces.Header, []traces.Event) {
	h, events, err := tracefile.ReadFile(map[bool]string{false: "testdata/plain.jsonl", true: "testdata/other.jsonl"}[other])
	if err != nil {
		panic(err)
	}
	return h, events
}

func counters(read, shuffled, put int64) traces.Counters {
	c := traces.NoCounters
	c.HDFSReadBytes, c.ShuffleBytes, c.MapOutputBytes = read, shuffled, put
	return c
}

// has says which of the texts another text lacks.
func (b *tab) has(where, text string, wanted ...string) {
	b.Helper()
	for _, w := range wanted {
		if !strings.Contains(text, w) {
			b.Errorf("%s lacks %q; it has:\n%s", where, w, text)
		}
	}
}

func TestClickedBarIsTold(t *testing.T) {
	b := browser(t)
	b.open(small())
	b.click(1, 9.5, "map 3 of second")
	b.Until("document.querySelector('.lanes-details h3').innerText.startsWith('map 3')")
	b.has("the panel", b.text(".lanes-details"),
		"map 3", "of second", "succeeded", "map 3 of job_7_0002 is there because of a test.", "8.00 s to 14.00 s",
		"3.00 s for a container, from the submission of the job",
		"r1n2, rack /rack1", "cache: its block was in the node’s HDFS cache", "64 MiB", "number 14 at 7.50 s, reason: cache",
		"honoured, container after 400 ms",
		"attempt_7_0002_m_000003_0", "merge 1.00 s", "yarn")

	// The same task in the other trial is a link to it, and so is the next of the job.
	b.Do(js("[...document.querySelectorAll('.lanes-details dt')].find((e) => e.innerText === 'yarn').nextSibling.firstChild.click()"))
	b.has("the panel", b.text(".lanes-details"), "rack: the nearest replica was in the node’s rack", "yarn")
	b.press("Next attempt of this job (J)")
	b.has("the panel", b.text(".lanes-details"), "reduce 0", "12 MiB", "shuffle 3.00 s", "sort 1.00 s")
	b.press("Previous attempt of this job (K)")
	b.press("Previous attempt on this node (P)")
	b.has("the panel", b.text(".lanes-details h3"), "map 0", "of second")

	b.click(1, 4.2, "map 2 of first")
	b.has("the panel", b.text(".lanes-details"), "failed", "disk full", "attempt 1")
	b.press("Clear the selection")
	b.has("the panel", b.text(".lanes-details"), "In view", "11 of 11")
}

func TestZoomIsLinkedAndKept(t *testing.T) {
	b := browser(t)
	b.open(small())
	box := "document.querySelectorAll('.lanes-plot')[0].getBoundingClientRect()"
	left, top, width := b.Number(box+".left"), b.Number(box+".top")+100, b.Number(box+".width")
	at := func(s float64) float64 { return left + 148 + s/24.36*(width-162) }

	// A drag on one trial zooms both.
	b.Do(mouse(pressed, at(6), top, held), mouse(moved, at(9), top, held), mouse(moved, at(11.5), top, held))
	b.has("the band", b.text(".lanes-band"), "5.5")
	b.Do(mouse(released, at(11.5), top, held))
	moves := func(where string) {
		b.Helper()
		b.Until(fmt.Sprintf("((from, to) => from === %s.goal[0] * 1e-3 && %s)(%[1]s.from * 1e-3, %[1]s.to * 1e-3)", app, where))
	}
	moves("from > 5.9 && from < 6.1 && to > 11.4 && to < 11.6")
	for i := range 2 {
		b.has("a trial", b.Text(fmt.Sprintf("document.querySelectorAll('.lanes-plot')[%d].ariaLabel", i)), "8 in view")
	}
	b.Until("document.querySelector('.lanes-live').innerText.includes('16 attempts in view')")

	wheel := func(p *input.DispatchMouseEventParams) { p.DeltaX, p.DeltaY, p.Modifiers = 1e-9, -120, 2 }
	b.Do(mouse(wheeled, at(11), top, wheel))
	moves("to - from < 5")
	b.Do(chromedp.Focus(".lanes-plot"), chromedp.KeyEvent(kb.Home))
	moves("from === 0 && to > 24")
	b.Do(chromedp.KeyEvent("+"), chromedp.KeyEvent("+"), chromedp.KeyEvent(kb.ArrowRight))
	moves("from >= 7 && to - from <= 9") // zoomed in twice and moved right
	b.Do(chromedp.KeyEvent(kb.Enter))
	b.Until(app + ".sel !== null")
	b.Do(chromedp.KeyEvent("n"), chromedp.KeyEvent(kb.ArrowDown), chromedp.KeyEvent(kb.Escape))
	b.Until(app + ".sel === null")
}

// TestPickers picks colours, models and a job.
func TestPickers(t *testing.T) {
	b := browser(t)
	b.open(small())
	b.has("the legend", b.text(".lanes-legend"), "in the rack", "reduce", "killed")
	b.press("Job")
	b.has("the legend", b.text(".lanes-legend"), "second (job_7_0002)")
	b.press("yarn")
	b.Until("document.querySelectorAll('.lanes-trial').length === 1")
	b.press("delay") // the last one stays
	if n := b.Number("document.querySelectorAll('.lanes-trial').length"); n != 1 {
		t.Errorf("%g trials", n)
	}
	without := b.hash(".lanes-plot canvas")
	b.Do(chromedp.SetValue(".lanes-pick select", "job_7_0002"),
		js("document.querySelector('.lanes-pick select').dispatchEvent(new Event('change'))"))
	b.Until("document.querySelector('.lanes-details').innerText.includes('job_7_0002')")
	if b.hash(".lanes-plot canvas") == without {
		t.Error("no bar stands back")
	}
}

// hash sums up the pixels of a canvas, once nothing waits to be drawn.
func (b *tab) hash(canvas string) float64 {
	b.Helper()
	b.Until("!" + app + ".drawing")
	return b.Number(fmt.Sprintf("(() => { const c = document.querySelector(%q); return c.getContext('2d').getImageData(0, 0, c.width, c.height).data.reduce((h, x) => (h * 31 + x) %% 1000003, 7); })()", canvas))
}

func TestReplayShowsWhatWasRecorded(t *testing.T) {
	l := New(Options{})
	h, events := smallTrace(false)
	h.Origin = traces.Imported
	l.Add(Trial{Name: "recorded", Workload: "sort", Recorded: true, Header: h}, slices.Values(events))
	h, events = smallTrace(true)
	l.Add(Trial{Name: "replay", Workload: "sort", Model: "delay", Repeat: 1, Header: h}, slices.Values(events))
	b := browser(t)
	b.open(l)
	b.press("recorded")
	if n := b.Number("document.querySelectorAll('.lanes-trial').length"); n != 1 {
		t.Fatalf("%g trials", n)
	}
	without := b.hash(".lanes-plot canvas")
	b.press("Ghost of recorded")
	if b.hash(".lanes-plot canvas") == without {
		t.Error("no ghosts are drawn")
	}
	b.click(0, 9.5, "map 3 of second")
	b.has("the panel", b.text(".lanes-details"), "recorded", "r1n2 at 8.00 s, 6.00 s, rack")
	b.press("recorded")
	b.Until("document.querySelectorAll('.lanes-trial').length === 2")
	// A trace of another tool does not tell when containers were asked for.
	b.click(0, 9.5, "map 3 of second")
	if panel := b.text(".lanes-details"); strings.Contains(panel, "for a container") {
		t.Errorf("the recorded attempt is said to have waited: %s", panel)
	}
}

func TestTreeForScreenReaders(t *testing.T) {
	b := browser(t)
	b.open(small())
	b.selects(1, "job_7_0002", "m3")
	b.Do(js("document.querySelector('.lanes-table').open = true"))
	b.Until("document.querySelectorAll('.lanes-table tbody tr').length === 21")
	tree := errtest.Must(chromedp.Call(b.Ctx, accessibility.GetFullAXTree, accessibility.GetFullAXTreeParams{}))
	roles := map[string][]string{}
	for _, n := range tree.Nodes {
		if n.Ignored || n.Role == nil {
			continue
		}
		text := func(v *accessibility.Value) string {
			if v == nil {
				return ""
			}
			return strings.Trim(string(v.Value), `"`)
		}
		roles[text(n.Role)] = append(roles[text(n.Role)], text(n.Name))
	}
	b.has("applications", strings.Join(roles["application"], "\n"), "Timeline of yarn: 10 attempts, 10 in view, 3 nodes, makespan 24.00 s",
		"Timeline of delay: 11 attempts")
	b.has("articles", strings.Join(roles["article"], "\n"), "Trial yarn", "Trial delay")
	b.has("complementary", strings.Join(roles["complementary"], "\n"), "Selected attempt")
	b.has("column headers", strings.Join(roles["columnheader"], "\n"), "Attempt", "Node", "Outcome")
	b.has("row headers", strings.Join(roles["rowheader"], "\n"), "map 3", "map 2, attempt 1")
	b.has("what is said aloud", b.text(".lanes-live"),
		"map 3 of second, delay: on r1n2 from 8.00 s, took 6.00 s, succeeded. map 3 of job_7_0002 is there because of a test.")
	for _, role := range []string{"button", "combobox", "application", "toolbar"} {
		if len(roles[role]) == 0 && role != "combobox" {
			t.Errorf("nothing is a %s", role)
		}
		if slices.Contains(roles[role], "") {
			t.Errorf("a %s has no name: %q", role, roles[role])
		}
	}
	if n := b.Number("document.querySelectorAll('.lanes-table [aria-current]').length"); n != 1 {
		t.Errorf("%g rows are the selected one", n)
	}
}

// TestAxeFindsNothing runs axe-core, a checker of accessibility.
func TestAxeFindsNothing(t *testing.T) {
	for _, theme := range []string{"light", "dark"} {
		b := browser(t)
		b.open(small())
		b.Do(js("document.documentElement.dataset.theme = '" + theme +
			"'; for (const e of document.querySelectorAll('.lanes details')) e.open = true"))
		if found := b.Axe(); found != "" {
			t.Errorf("%s: %s", theme, found)
		}
		b.selects(1, "job_7_0002", "m3")
		if found := b.Axe(); found != "" {
			t.Errorf("%s, with an attempt selected: %s", theme, found)
		}
	}
}

func TestHostileNamesAreText(t *testing.T) {
	const evil = `</script><img src=x onerror=alert(1)><b>`
	h := traces.Header{
		Origin:  traces.Measured,
		Cluster: traces.ClusterFacts{Nodes: []traces.NodeFacts{{Node: evil, Rack: "\u202e\x1b[31m", Worker: true}}},
	}
	long := strings.Repeat("long<i>", 1500)
	a := traces.Attempt{Task: traces.Task{Job: "job_" + evil + "_1", Kind: traces.Map}}
	events := []traces.Event{
		&traces.JobSubmitted{Job: a.Job, Name: long, User: evil, Queue: evil},
		&traces.TaskScheduled{Task: a.Task, SplitHosts: []traces.Node{evil, "\u202egnp.exe"}},
		&traces.AttemptStarted{T: second, Attempt: a, Node: evil, Container: evil, SampleAgeNs: -1},
		&traces.Note{T: second, Text: evil},
		&traces.NodeDown{T: 2 * second, Node: evil, Reason: evil},
		&traces.AttemptFinished{T: 3 * second, Attempt: a, Outcome: traces.Failed, Error: evil + "\x1b]0;x\a", Counters: traces.NoCounters},
		&traces.JobFinished{T: 4 * second, Job: a.Job, Outcome: traces.Failed, Diagnostics: evil, Counters: traces.NoCounters},
	}
	l := New(Options{})
	why := func(traces.Attempt) []string { return []string{evil} }
	l.Add(Trial{Name: evil, Workload: evil, Model: evil, Header: h, Why: why}, slices.Values(events))
	l.Add(Trial{Name: long, Workload: long, Model: long, Header: h}, slices.Values(events))
	b := browser(t)
	b.open(l)
	b.Do(chromedp.Focus(".lanes-plot"), chromedp.KeyEvent(kb.Enter), js("document.querySelector('.lanes-table').open = true"))
	b.Until("document.querySelectorAll('.lanes-table tbody tr').length === 1")
	panel := b.text(".lanes-details")
	b.has("the panel", panel, evil, `\u202e\u001b[31m`, `\u001b]0;x\u0007`)
	if strings.ContainsAny(panel, "\u202e\x1b") {
		t.Error("the panel obeys characters of a name")
	}
	if n := b.Number("document.querySelectorAll('.lanes img, .lanes i:empty + b, .lanes [onerror]').length"); n != 0 {
		t.Errorf("%g elements are made of names", n)
	}
	if w := b.Number("document.documentElement.scrollWidth"); w > 1400 {
		t.Errorf("the page is %g pixels wide", w)
	}
}

func TestPhoneAndPaper(t *testing.T) {
	b := browser(t)
	b.Do(chromedp.EmulateViewport(390, 780, chromedp.EmulateMobile, chromedp.EmulateTouch))
	b.open(small())
	b.selects(1, "job_7_0002", "m3")
	if w := b.Number("document.documentElement.scrollWidth"); w > 390 {
		t.Errorf("the page is %g pixels wide on a screen of 390", w)
	}
	if h := b.Number("Math.min(...[...document.querySelectorAll('.lanes-tools button')].map((e) => e.offsetHeight))"); h < 32 {
		t.Errorf("a button is %g pixels high on a phone", h)
	}
	b.Do(js("document.documentElement.dataset.theme = 'dark'"))
	b.Until(app + ".theme.paper === 'rgb(15, 20, 25)'")
	b.Do(js("dispatchEvent(new Event('beforeprint'))"))
	if paper, width := b.Text(app+".theme.paper"),
		b.Number("document.querySelector('.lanes-plot').offsetWidth"); paper != "rgb(255, 255, 255)" || width != 700 {
		t.Errorf("paper is %s, and a plot on it %g pixels wide", paper, width)
	}
	b.Do(js("dispatchEvent(new Event('afterprint'))"))
	pdf := errtest.Must(chromedp.Run(b.Ctx, chromedp.PrintToPDF(chromedp.PDFPrintBackground())))
	if len(pdf) < 10_000 {
		t.Errorf("a print of %d bytes", len(pdf))
	}
	b.Until(app + ".theme.paper === 'rgb(15, 20, 25)'")
}

// many is a trial of so many attempts on nodes of two slots, one after the other.
func many(nodes, attempts, perJob int) (traces.Header, []traces.Event) {
	r := rand.New(rand.NewPCG(1, 2))
	h := traces.Header{Format: traces.FormatVersion, Origin: traces.Simulated}
	for i := range nodes {
		h.Cluster.Nodes = append(h.Cluster.Nodes, traces.NodeFacts{
			Node: traces.Node(fmt.Sprintf("r%dn%d", i/20, i%20)),
			Rack: fmt.Sprintf("/rack%d", i/20), MemoryBytes: 2 << 30, Worker: true,
		})
	}
	var events []traces.Event
	free := make([]traces.Time, 2*nodes)
	for i := range attempts {
		slot := i % len(free)
		job := traces.JobID(fmt.Sprintf("job_1_%04d", i/perJob))
		from := free[slot] + traces.Time(r.Int64N(int64(3*second)))
		if i%perJob == 0 {
			events = append(events, &traces.JobSubmitted{
				T: max(0, from-second), Job: job, Name: fmt.Sprintf("job number %d", i/perJob), User: "u",
				Maps: int32(perJob), MapMemoryBytes: 1 << 30,
			})
		}
		task := traces.Task{Job: job, Kind: traces.Map, Index: int32(i % perJob)}
		to := from + 2*second + traces.Time(r.Int64N(int64(40*second)))
		free[slot] = to
		id := int64(i + 1)
		node := h.Cluster.Nodes[slot/2].Node
		level := traces.Level(1 + r.IntN(4))
		events = append(
			events, &traces.TaskScheduled{T: max(0, from-traces.Time(r.Int64N(int64(20*second)))), Task: task, SplitHosts: []traces.Node{node}},
			&traces.Decision{T: max(0, from-second), ID: id, Job: job, Node: node, TaskIndex: task.Index, BindIndex: -1, Reason: level.String()},
			&traces.Actuation{
				T: from, Decision: id, AskedAt: from - second, GrantedAt: from, Outcome: "honoured",
				Bound: traces.Attempt{Task: task},
			},
			&traces.AttemptStarted{
				T: from, Attempt: traces.Attempt{Task: task}, Node: node, Container: fmt.Sprintf("container_1_%06d", i),
				ReplicaLocality: level, SplitLocality: level, SampleAgeNs: -1,
			},
			&traces.AttemptFinished{
				T: to, Attempt: traces.Attempt{Task: task}, Outcome: traces.Succeeded, MapDone: from + (to-from)*9/10,
				Counters: counters(r.Int64N(128<<20), -1, r.Int64N(64<<20)),
			},
		)
		if i%perJob == perJob-1 {
			events = append(events, &traces.JobFinished{T: to + second, Job: job, Outcome: traces.Succeeded, Counters: traces.NoCounters})
		}
	}
	traces.Sort(events)
	return h, events
}

// TestHeatMapSaysHowToCut has a trial of which the page has sums only: what needs
// single attempts is not there, and the panel has the command for a part.
func TestHeatMapSaysHowToCut(t *testing.T) {
	b := browser(t)
	h, events := many(10, 2000, 50)
	l := New(Options{MaxAttempts: 100})
	l.Add(Trial{Name: "many", Model: "random", File: "runs/a day/x.trace", Header: h}, slices.Values(events))
	b.open(l)
	page := b.text(".lanes")
	for _, gone := range []string{"Click a bar", "in the rack"} {
		if strings.Contains(page, gone) {
			t.Errorf("a heat map without bars says %q", gone)
		}
	}
	b.has("the panel", b.text(".lanes-details"), "40 jobs with 2,000 tasks were submitted in view", "heddle trace cut --from 1308ms --to ",
		"ms -o piece.trace 'runs/a day/x.trace'")
	b.Do(chromedp.SetValue(".lanes-pick select", "job_1_0017"),
		js("document.querySelector('.lanes-pick select').dispatchEvent(new Event('change'))"))
	b.has("the panel", b.text(".lanes-details"), "job number 17, job_1_0017", "50 maps, 0 reduces",
		"heddle trace cut --job job_1_0017 -o piece.trace 'runs/a day/x.trace'")
}

// several is a timeline of trials of so many models.
func several(models int) *Timeline {
	l := New(Options{})
	for i := range models {
		h, events := smallTrace(i%2 == 1)
		l.Add(Trial{Name: fmt.Sprintf("trial-%d", i), Workload: "sort", Model: fmt.Sprintf("model%d", i), Repeat: 1, Header: h},
			slices.Values(events))
	}
	return l
}

// TestPageHasItsHeightAtOnce has trials below the window: the page is as high before they are
// drawn as after.
func TestPageHasItsHeightAtOnce(t *testing.T) {
	b := browser(t)
	b.open(several(4))
	height := func() float64 { return b.Number("document.documentElement.scrollHeight") }
	before := height()
	b.Do(js("scrollTo(0, document.documentElement.scrollHeight)"))
	b.Until("document.querySelector('.lanes').timeline.shown.every((v) => !v.stale)")
	if after := height(); after != before {
		t.Errorf("the page is %g pixels high at first, and %g when all is drawn", before, after)
	}
}

// TestFarTrialsAreDrawn has pictures of the whole page, for which nobody scrolls.
func TestFarTrialsAreDrawn(t *testing.T) {
	b := browser(t)
	b.open(several(4))
	b.Until("document.querySelector('.lanes').timeline.shown.every((v) => !v.stale)")
}

// TestSelectedBarIsInView has a narrow window, in which the panel covers the bottom.
func TestSelectedBarIsInView(t *testing.T) {
	b := browser(t)
	b.Do(chromedp.EmulateViewport(900, 700))
	b.open(several(4))
	for k := range 6 {
		b.selects(k%4, "job_7_0002", []string{"r0", "m0"}[k%2])
		b.Until(`(() => {
			const app = document.querySelector('.lanes').timeline;
			const [, y, , height] = app.sel.view.rect(app.sel.bar);
			const top = app.sel.view.canvas.getBoundingClientRect().top + y;
			return top >= app.main.firstChild.getBoundingClientRect().bottom && top + height <= app.details.getBoundingClientRect().top;
		})()`)
	}
}

// TestOverviewHasAllTrials has more trials than have room at its usual height.
func TestOverviewHasAllTrials(t *testing.T) {
	b := browser(t)
	b.open(several(6))
	b.press("model4")
	b.press("model5")
	b.Until("document.querySelectorAll('.lanes-trial').length === 6 && !" + app + ".drawing")
	dark := b.Number(`(() => {
		const c = document.querySelector('.lanes-overview');
		const app = document.querySelector('.lanes').timeline;
		const scale = c.height / c.clientHeight, each = c.clientHeight / 6;
		let strips = 0;
		for (let k = 0; k < 6; k++) { // a strip has more than one colour
			const data = new Uint32Array(c.getContext('2d').getImageData(app.gutter * scale + 20, (k + 0.2) * each * scale,
				app.plot * scale / 2, each * scale * 0.6).data.buffer);
			if (new Set(data).size > 1) strips++;
		}
		return strips;
	})()`)
	if height := b.Number("document.querySelector('.lanes-overview').clientHeight"); dark != 6 || height < 6*12 {
		t.Errorf("%g of 6 trials have a strip, in %g pixels", dark, height)
	}
}

// TestSlotsAreOfAKind has nodes with slots for maps and for reduces.
func TestSlotsAreOfAKind(t *testing.T) {
	h, events := smallTrace(false)
	h.MapSlots, h.ReduceSlots = 1, 1
	l := New(Options{})
	l.Add(Trial{Name: "x", Model: "x", Header: h}, slices.Values(events))
	b := browser(t)
	b.open(l)
	b.has("the trial", b.text(".lanes-trial"), "Each node has 1 slot for maps and 1 for reduces")
	b.find(0, 20, "reduce slot 1 of 1, idle")
}

// TestHeatMapWhereBarsAreTooMany has trials of more nodes, attempts in view and attempts in all
// than are shown as bars. Pages are small enough to be sent by mail.
func TestHeatMapWhereBarsAreTooMany(t *testing.T) {
	for _, x := range []struct {
		nodes, attempts, perJob int
		says                    string
	}{
		{100, 20_000, 500, ""},
		{250, 5000, 500, "Heat map: bars of 250 nodes would be too thin"},
		{150, 100_000, 10, "Heat map: 100,000 attempts in view are too many for bars"},
		{600, 160_000, 20, "Heat map: 160,000 attempts are too many for this page to hold"},
	} {
		t.Run(fmt.Sprintf("%dx%d", x.nodes, x.attempts), func(t *testing.T) {
			b := browser(t)
			h, events := many(x.nodes, x.attempts, x.perJob)
			l := New(Options{})
			l.Add(Trial{Name: "many", Model: "random", Header: h}, slices.Values(events))
			if n := len(page(t, l)); n > 5_000_000 {
				t.Errorf("the page has %d bytes", n)
			}
			b.open(l)
			if note := b.text(".lanes-note"); !strings.HasPrefix(note, x.says) || x.says == "" && strings.HasPrefix(note, "Heat map") {
				t.Errorf("says %q, want %q", note, x.says)
			}
		})
	}
}
