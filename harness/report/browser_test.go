package report

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"heddle/harness/report/browsertest"
)

// open shows the page of a simulated run.
func open(t *testing.T) *browsertest.Tab {
	t.Helper()
	b := browsertest.New(t)
	b.Open(written(t, Options{Runs: []string{simulated(t, two)}}), "")
	b.Until("document.querySelector('.lanes')?.dataset.ready === 'true'")
	return b
}

// media sets what a page is shown for: screen or print, light or dark.
func media(b *browsertest.Tab, medium, scheme string) {
	b.Helper()
	params := emulation.SetEmulatedMediaParams{
		Media:    medium,
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
	}
	must(chromedp.Call(b.Ctx, emulation.SetEmulatedMedia, params))
}

const ground = "getComputedStyle(document.body).backgroundColor"

// TestThemes has the page follow the system, and the reader against it.
func TestThemes(t *testing.T) {
	b := open(t)
	media(b, "screen", "dark")
	dark := b.Text(ground)
	media(b, "screen", "light")
	light := b.Text(ground)
	if light != "rgb(255, 255, 255)" || dark == light {
		t.Errorf("the page is %s in the light and %s in the dark", light, dark)
	}
	press := func() { b.Script("document.querySelector('.bar button').click()") }
	press() // light
	press() // dark
	if got := b.Text(ground); got != dark || b.Text("document.documentElement.dataset.theme") != "dark" {
		t.Errorf("asked for dark, the page is %s", got)
	}
	media(b, "print", "dark")
	if got := b.Text(ground); got != light {
		t.Errorf("printed it is %s", got)
	}
}

// TestPrint has the printed page be without what only a screen needs, and be a PDF.
func TestPrint(t *testing.T) {
	b := open(t)
	media(b, "print", "light")
	for _, gone := range []string{"nav", ".bar", ".save"} {
		if got := b.Text("getComputedStyle(document.querySelector('" + gone + "')).display"); got != "none" {
			t.Errorf("%s is printed: %s", gone, got)
		}
	}
	pdf, err := chromedp.Call(b.Ctx, cdppage.PrintToPDF, cdppage.PrintToPDFParams{})
	if err != nil || len(pdf.Data) < 10_000 {
		t.Fatalf("a PDF of %d bytes, %v", len(pdf.Data), err)
	}
}

// TestSort sorts the table of jobs by a click, turns it round by a second one, and searches.
func TestSort(t *testing.T) {
	b := browsertest.New(t)
	b.Open(written(t, Options{Runs: []string{simulated(t,
		"cluster: lab\nworkloads: [{name: wordcount, size: 64MiB, maps: 4, reduces: 1, jobs: 14}]\n")}}), "")
	const took = "[...document.querySelector('table.sorted').tHead.rows[0].cells].findIndex((c) => c.innerText.startsWith('took'))"
	const values = "[...document.querySelector('table.sorted').tBodies[0].rows].map((r) => Number(r.cells[" + took + "].dataset.value))"
	click := "document.querySelector('table.sorted').tHead.rows[0].cells[" + took + "].querySelector('button').click()"
	b.Script(click)
	if b.Text(values+".every((v, i, l) => !i || l[i - 1] <= v)") != "true" {
		t.Errorf("not ascending: %s", b.Text(values))
	}
	b.Script(click)
	if b.Text(values+".every((v, i, l) => !i || l[i - 1] >= v)") != "true" ||
		b.Text("document.querySelector('th[aria-sort]').getAttribute('aria-sort')") != "descending" {
		t.Errorf("not descending: %s", b.Text(values))
	}
	b.Script("const i = document.querySelector('.tools input'); i.value = '0007'; i.dispatchEvent(new Event('input'))")
	if got := b.Text("document.querySelector('.tools [role=status]').innerText"); got != "1 of 14 rows" {
		t.Errorf("a search for one job says %q", got)
	}
}

// TestHover shows what curves are at the place of the pointer.
func TestHover(t *testing.T) {
	b := open(t)
	b.Script("document.querySelector('figure.chart').scrollIntoView()")
	box := "document.querySelector('svg.plot').getBoundingClientRect()"
	x, y := b.Number(box+".left + "+box+".width * 0.6"), b.Number(box+".top + "+box+".height / 2")
	b.Do(chromedp.MouseEvent("mouseMoved", x, y))
	tip := b.Text("document.querySelector('.tip').innerText")
	if !strings.Contains(tip, "yarn-cached") || !strings.Contains(tip, " %") || !strings.Contains(tip, " s") {
		t.Errorf("the tip says %q, want the share of both models and the time", tip)
	}
}

// TestPhone has the page be no wider than a phone.
func TestPhone(t *testing.T) {
	b := open(t)
	b.Do(chromedp.EmulateViewport(390, 800))
	b.Until("document.documentElement.scrollWidth <= 390") // the timeline is laid out a moment later
}

// TestAxe has a checker of accessibility find nothing, with all that is folded unfolded. In
// the dark it looks at colours alone: nothing else differs.
func TestAxe(t *testing.T) {
	for name, page := range map[string]string{
		"run":      written(t, Options{Runs: []string{simulated(t, two)}}),
		"measured": written(t, Options{Runs: []string{"../fidelity/testdata/run"}, Fidelity: true}),
		"trace":    written(t, Options{Traces: []string{hostileTrace(t, "plain")}}),
	} {
		b := browsertest.New(t)
		b.Open(page, "")
		b.Until("document.querySelector('.lanes')?.dataset.ready === 'true'")
		b.Script("for (const e of document.querySelectorAll('details')) e.open = true")
		media(b, "screen", "light")
		if found := b.Axe(); found != "" {
			t.Errorf("%s: %s", name, found)
		}
		media(b, "screen", "dark")
		if found := b.Axe("color-contrast"); found != "" {
			t.Errorf("%s in the dark: %s", name, found)
		}
	}
}

// TestHostilePage has a browser show hostile names as text: nothing of them runs.
func TestHostilePage(t *testing.T) {
	for _, name := range evil {
		b := browsertest.New(t)
		b.Open(written(t, Options{Traces: []string{hostileTrace(t, name)}}), "")
		b.Until("document.querySelector('.lanes')?.dataset.ready === 'true'")
		if n := b.Number("document.querySelectorAll('img').length"); n > 0 {
			t.Errorf("%.30q became a picture", name)
		}
		b.Do(chromedp.EmulateViewport(390, 800))
		b.Until("document.documentElement.scrollWidth <= 390")
		if strings.HasPrefix(name, "</script>") && !strings.Contains(b.Text("document.querySelector('table.sorted').innerText"), name) {
			t.Errorf("%.30q is not shown as it is", name)
		}
	}
}

// TestPictures writes pictures of a page to the folder HEDDLE_PICTURES, for people who
// look at them: in the light, in the dark, on a phone, and printed.
func TestPictures(t *testing.T) {
	dir := os.Getenv("HEDDLE_PICTURES")
	if dir == "" {
		t.Skip("HEDDLE_PICTURES names no folder")
	}
	b := open(t)
	for _, x := range []struct {
		name, medium, scheme string
		width                int64
	}{
		{"light", "screen", "light", 1280},
		{"dark", "screen", "dark", 1280},
		{"phone", "screen", "light", 390},
		{"print", "print", "light", 720},
	} {
		media(b, x.medium, x.scheme)
		b.Do(chromedp.EmulateViewport(x.width, 900), chromedp.Sleep(300e6))
		png := must(chromedp.Run(b.Ctx, chromedp.FullScreenshot(100)))
		mustDo(t, os.WriteFile(filepath.Join(dir, x.name+".png"), png, 0o644))
	}
	pdf := must(chromedp.Call(b.Ctx, cdppage.PrintToPDF, cdppage.PrintToPDFParams{}))
	mustDo(t, os.WriteFile(filepath.Join(dir, "print.pdf"), pdf.Data, 0o644))
}
