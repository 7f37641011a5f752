package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"heddle/harness/report/browsertest"
)

// TestInBrowser opens pages of the site from files: a checker of accessibility finds
// nothing in the light and in the dark, none is wider than a phone, and the search works by
// keyboard.
func TestInBrowser(t *testing.T) {
	b := browsertest.New(t)
	dir := t.TempDir()
	for name, data := range whole(t) {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"index.html", "reference/experiment.html", "harness/config/index.html", "harness/report/glossary.html", "harness/config/testdata/first.yaml.html"} {
		b.Do(chromedp.EmulateViewport(1400, 900), chromedp.Navigate("file://"+filepath.Join(dir, filepath.FromSlash(name))))
		b.Readable(name)
	}
	// "/" goes to the search, the arrow to what it found, and Enter there.
	b.Do(chromedp.EmulateViewport(1400, 900), chromedp.KeyEvent("/"))
	b.Until("document.activeElement.matches('input[type=search]')")
	b.Script("document.activeElement.value = ''") // a sent key arrives although the page took it
	b.Do(chromedp.KeyEvent("noise floor"))
	b.Until("document.querySelectorAll('.found a').length > 0")
	if first := b.Text("document.querySelector('.found a').textContent"); first != "Words – noise floor" {
		t.Errorf("the search finds %q first, want the word's own entry", first)
	}
	b.Do(chromedp.KeyEvent(kb.ArrowDown))
	b.Until("document.activeElement.matches('.found a')")
	b.Do(chromedp.KeyEvent(kb.Enter))
	b.Until("location.hash === '#noise-floor' && document.title.startsWith('Words')")
}
