package serve

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"heddle/harness/experiment"
	"heddle/harness/report/browsertest"
)

// gated is an experiment of 3 trials, which a test lets go on one by one.
const gated = "cluster: lab\nmodels: [fifo]\nactuator: labels\nrepeats: 3\nworkloads: [{name: wordcount, size: 1GiB, maps: 1500, reduces: 2}]\n"

// started starts a run whose page is served. The run goes on with its next trial when
// the test receives from the channel, and closes it at its end.
func started(t *testing.T, l *Live) (address string, trials <-chan int) {
	t.Helper()
	s, err := Listen(Loopback, token)
	check(t, err)
	s.Start(l, func(err error) { t.Error(err) })
	gate := make(chan int)
	root := t.TempDir()
	go func() {
		defer close(gate)
		last := 0
		simulate(t, root, "live", gated, func(step experiment.Step) {
			l.Step(step, step.Done(), time.Minute)
			if step.Live != nil && step.Number != last {
				last = step.Number
				select {
				case gate <- last:
				case <-t.Context().Done():
				}
			}
		})
		l.End(t.Context())
		s.Close(t.Context())
	}()
	t.Cleanup(func() {
		for range gate {
		}
	})
	return s.URL(), gate
}

const doing = "(document.querySelector('.live .doing')?.textContent ?? '')"

// TestLivePage opens the page of a run, sees a trial end, is offered the next one while
// the reader works with the page, and sees the run end as its report.
func TestLivePage(t *testing.T) {
	b := browsertest.New(t)
	l := NewLive()
	l.opens, l.last = time.Minute, time.Minute // the browser may be one of many busy programs
	address, trials := started(t, l)
	b.Do(chromedp.Navigate(address))
	// A page of before the trial says what runs, too, and is loaded again soon.
	b.Until("document.querySelector('.live')?.dataset.version === '1' && " + doing + ".startsWith('Trial 1 of 3')")
	if !strings.Contains(b.Text("document.querySelector('main').innerText"), "No trial has ended yet") {
		t.Error("the page has more than what runs")
	}
	axe(b, "first")
	<-trials
	b.Until(doing + ".startsWith('Trial 2 of 3') && document.querySelectorAll('main > section[aria-labelledby]').length > 2")
	b.Until("document.querySelector('.lanes')?.dataset.ready === 'true'")
	picture(b, "running.png")
	axe(b, "second")
	// The reader looks at something: the page stays, and offers what is new.
	b.Script("window.mark = true; document.querySelector('details').open = true")
	b.Do(chromedp.MouseClickXY(300, 300))
	<-trials
	b.Until("document.querySelector('.news button')?.textContent === 'Show them' && window.mark === true")
	if text := b.Text(doing); !strings.HasPrefix(text, "Trial 3 of 3") {
		t.Errorf("the page says %q", text)
	}
	b.Script("document.querySelector('.news button').click()")
	b.Until("window.mark === undefined && document.querySelector('.live')?.dataset.version === '3'")
	for range trials { // to the end
	}
	b.Until("!document.querySelector('.live') && document.querySelector('h1')?.textContent === 'live'")
	if text := b.Text("document.querySelector('main').innerText"); !strings.Contains(text, "Where this is from") || strings.Contains(text, "still runs") {
		t.Errorf("the last page is no report: %.500s", text)
	}
}

// TestLivePageInterrupted has the page say that the run was interrupted, and stay.
func TestLivePageInterrupted(t *testing.T) {
	b := browsertest.New(t)
	l := NewLive()
	s, err := Listen(Loopback, token)
	check(t, err)
	s.Start(l, func(err error) { t.Error(err) })
	l.Step(experiment.Step{Trial: "<img src=x>", Number: 1, Trials: 2, Doing: "run"}, 0, 0)
	b.Do(chromedp.Navigate(s.URL()))
	b.Until(doing + " === 'Trial 1 of 2: <img src=x>'")
	ctx, interrupt := context.WithCancel(t.Context())
	interrupt()
	l.End(ctx)
	b.Until(doing + " === 'The run was interrupted.'")
	s.Close(ctx)
}

// TestListPage searches a list of runs and opens one.
func TestListPage(t *testing.T) {
	b := browsertest.New(t)
	root := t.TempDir()
	dir := simulate(t, root, "run-00", small, nil)
	for _, name := range []string{"01", "02", "03", "04", "05", "06", "07", "08", "09", "10", "11", `<img src=x onerror=alert(1)>`} {
		check(t, os.CopyFS(filepath.Join(root, "run-"+name), os.DirFS(dir)))
	}
	s, err := Listen(Loopback, token)
	check(t, err)
	s.Start(NewFolder(root), func(err error) { t.Error(err) })
	defer s.Close(t.Context())
	b.Do(chromedp.Navigate(s.URL()))
	b.Until("document.querySelectorAll('table.sorted tbody tr').length === 13")
	axe(b, "list")
	picture(b, "list.png")
	b.Script("const i = document.querySelector('.tools input'); i.value = 'img'; i.dispatchEvent(new Event('input'))")
	if got := b.Text("document.querySelector('.tools [role=status]').innerText"); got != "1 of 13 rows" {
		t.Errorf("a search says %q", got)
	}
	b.Script("document.querySelector('tr:not([hidden]) a[href^=run]').click()")
	b.Until("document.querySelector('h1')?.textContent === 'run-<img src=x onerror=alert(1)>'")
	b.Until("document.querySelector('.lanes')?.dataset.ready === 'true'")
}

// axe has a checker of accessibility find nothing, if it is there.
func axe(b *browsertest.Tab, what string) {
	b.Helper()
	if found := b.Axe(); found != "" {
		b.Errorf("%s: %s", what, found)
	}
}

// picture writes what the browser shows to the folder HEDDLE_PICTURES, for people who
// look at it.
func picture(b *browsertest.Tab, name string) {
	b.Helper()
	if dir := os.Getenv("HEDDLE_PICTURES"); dir != "" {
		shot, err := chromedp.Call(b.Ctx, cdppage.CaptureScreenshot, cdppage.CaptureScreenshotParams{})
		check(b, err)
		check(b, os.WriteFile(filepath.Join(dir, name), shot.Data, 0o644))
	}
}
