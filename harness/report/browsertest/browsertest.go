// Package browsertest opens pages of files in a headless Chromium, for tests of what a
// reader sees and does. A test is skipped, with what is missing, where there is no browser.
// The tests of a package share one browser, and each tab is as new.
package browsertest

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	cdplog "github.com/chromedp/cdproto/log"
	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// Tab is a page in a headless browser. A test fails if its page throws an error, opens a
// dialog, or does what its Content-Security-Policy refuses.
type Tab struct {
	testing.TB
	// Ctx is the context of the tab, for actions of chromedp.
	Ctx    context.Context
	mutex  sync.Mutex
	errors []string
}

// browser is the one browser of a test program. To start it takes longer than most tests.
var browser struct {
	sync.Mutex
	ctx  context.Context // nil if it does not run
	stop func()
}

// Close ends the browser. TestMain of a package whose tests have tabs calls it after m.Run.
func Close() {
	browser.Lock()
	defer browser.Unlock()
	if browser.ctx != nil {
		browser.stop()
		browser.ctx = nil
	}
}

// started returns the context of the browser, and starts it for the first tab.
func started(t testing.TB) context.Context {
	t.Helper()
	path := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if found, err := exec.LookPath(name); err == nil {
			path = found
			break
		}
	}
	if path == "" {
		t.Skip("chromium is not installed: apt-get install chromium")
	}
	browser.Lock()
	defer browser.Unlock()
	if browser.ctx != nil {
		return browser.ctx
	}
	// Without a folder named, the allocator makes one and removes it at the end.
	allocator, end := chromedp.NewExecAllocator(context.Background(), append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]),
		chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.Flag("headless", "new"), chromedp.WindowSize(1400, 900))...)
	ctx, cancel := chromedp.NewContext(allocator)
	stop := func() { cancel(); end() }
	if err := chromedp.Do(ctx); err != nil {
		stop()
		t.Fatalf("start %s: %v", path, err)
	}
	browser.ctx, browser.stop = ctx, stop
	return ctx
}

// New returns a tab that shares nothing with others: no window, no storage, no setting.
func New(t testing.TB) *Tab {
	t.Helper()
	if testing.Short() {
		t.Skip("a browser takes seconds to start: not with -short")
	}
	ctx, cancel := context.WithTimeout(started(t), 2*time.Minute)
	t.Cleanup(cancel)
	b := &Tab{TB: t}
	b.Ctx, cancel = chromedp.NewContext(ctx, chromedp.WithNewBrowserContext(), chromedp.WithListener(b.heard))
	t.Cleanup(cancel)
	b.Do() // opens the tab
	t.Cleanup(func() {
		b.mutex.Lock()
		defer b.mutex.Unlock()
		for _, text := range b.errors {
			t.Error(text)
		}
	})
	return b
}

// heard keeps what must not happen.
func (b *Tab) heard(e any) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	switch e := e.(type) {
	case *runtime.EventExceptionThrown:
		b.errors = append(b.errors, fmt.Sprintf("%+v", e.ExceptionDetails))
	case *cdplog.EventEntryAdded:
		if e.Entry.Level == cdplog.EntryLevelError {
			b.errors = append(b.errors, e.Entry.Text)
		}
	case *cdppage.EventJavascriptDialogOpening:
		b.errors = append(b.errors, "a dialog: "+e.Message)
	}
}

// Do runs actions.
func (b *Tab) Do(actions ...chromedp.Action[chromedp.Void]) {
	b.Helper()
	if err := chromedp.Do(b.Ctx, actions...); err != nil {
		b.Fatal(err)
	}
}

// Open shows a page, from a file, with what stands behind the # of its address.
func (b *Tab) Open(page, hash string) {
	b.Helper()
	path := filepath.Join(b.TempDir(), "page.html")
	if err := os.WriteFile(path, []byte(page), 0o600); err != nil {
		b.Fatal(err)
	}
	b.Do(chromedp.Navigate("file://" + path + hash))
}

// Text returns what an expression is in the page, as text.
func (b *Tab) Text(expression string) string {
	b.Helper()
	return evaluated[string](b, "String("+expression+")")
}

// Number is Text for numbers.
func (b *Tab) Number(expression string) float64 {
	b.Helper()
	return evaluated[float64](b, expression)
}

func evaluated[T any](b *Tab, expression string) T {
	b.Helper()
	x, err := chromedp.Run(b.Ctx, chromedp.Evaluate[T](expression))
	if err != nil {
		b.Fatalf("%s: %v", expression, err)
	}
	return x
}

// Script runs statements in the page.
func (b *Tab) Script(statements string) {
	b.Helper()
	b.Do(chromedp.Evaluate[chromedp.Void]("(() => {" + statements + "})()"))
}

// Until waits until an expression is true.
func (b *Tab) Until(expression string) {
	b.Helper()
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); {
		if b.Text(expression) == "true" {
			return
		}
		b.Do(chromedp.Sleep(20 * time.Millisecond))
	}
	b.Fatalf("never true: %s; the page has: %.2000s", expression, b.Text("document.body.innerText"))
}

// Readable fails the test if axe-core finds anything in the page in the light, or too little
// contrast in the dark, or if the page is wider than a phone. It leaves the page in the
// dark, in a window of a phone's size. Name is the page's in messages.
func (b *Tab) Readable(name string) {
	b.Helper()
	b.Script("document.documentElement.dataset.theme = 'light'")
	if found := b.Axe(); found != "" {
		b.Errorf("%s: %s", name, found)
	}
	b.Script("document.documentElement.dataset.theme = 'dark'")
	if found := b.Axe("color-contrast"); found != "" {
		b.Errorf("%s in the dark: %s", name, found)
	}
	b.Do(chromedp.EmulateViewport(390, 800))
	if w := b.Number("document.documentElement.scrollWidth"); w > 390 {
		b.Errorf("%s is %g wide", name, w)
	}
}

// Axe returns what axe-core, a checker of accessibility, finds wrong in the page by some of
// its rules, or by all if none is named. The test is skipped if there is none: AXE_CORE
// names its file axe.min.js, or it is where .ci/run puts it.
func (b *Tab) Axe(rules ...string) string {
	b.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		b.Fatal(err)
	}
	path := cmp.Or(os.Getenv("AXE_CORE"), filepath.Join(cache, "heddle", "axe", "node_modules", "axe-core", "axe.min.js"))
	axe, err := os.ReadFile(path)
	if err != nil {
		b.Skipf("axe-core is not there: %v; npm install --prefix %s axe-core", err, filepath.Join(cache, "heddle", "axe"))
	}
	b.Do(chromedp.Evaluate[chromedp.Void](string(axe) + ";0"))
	options := "{preload: false}" // it would ask for style sheets, which a page's policy may refuse
	if len(rules) > 0 {
		options = fmt.Sprintf("{preload: false, runOnly: ['%s']}", strings.Join(rules, "', '"))
	}
	found, err := chromedp.Run(
		b.Ctx,
		chromedp.Evaluate[string](
			`axe.run(`+options+`).then((r) => `+
				`r.violations.map((v) => v.id + ": " + v.nodes.map((n) => n.target + " " + n.failureSummary).join("\n")).join("\n"))`,
			chromedp.EvalAwaitPromise,
		),
	)
	if err != nil {
		b.Fatal(err)
	}
	return found
}
