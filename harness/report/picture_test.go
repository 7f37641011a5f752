package report

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"image"
	"image/color"
	"image/png"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/input"
	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	gocmp "github.com/google/go-cmp/cmp"

	"heddle/harness/internal/golden"
	"heddle/harness/report/browsertest"
)

// The attempt whose bar is clicked in the README's picture: YARN ran it on a node without
// its block in the cache, and the page says why.
const (
	clicked    = "0_0001_m_000023_0"
	clickedMap = "map 23"
)

// seen is an expression for what the README's picture shows, without what depends on fonts
// or on the browser: words, colours, and where bars are.
const seen = `(() => {
	const list = (selector) => [...document.querySelectorAll(selector)];
	const app = document.querySelector('.lanes').timeline;
	const colour = (e, of) => getComputedStyle(e)[of];
	return [
		...list('.lanes-legend, .lanes-trial, .lanes-details').flatMap((e) => e.innerText.split('\n')).map((text) => text.trim()).filter(Boolean),
		...list('.lanes-legend .lanes-swatch').map((e) => colour(e, 'backgroundColor')),
		...['backgroundColor', 'color'].map((of) => colour(app.root, of)),
		...app.shown.flatMap((v) => Array.from({ length: v.trial.count }, (_, i) => v.trial.task(i) + ' ' + v.rect(i).map(Math.round).join(' '))),
	].join('\n');
})()`

// TestScreenshot has the README's pictures of a page be of today's page: of the timeline of
// the README's run, with a bar clicked. A picture has with it what is to be seen in it, and
// this is compared, since another browser or font gives other pixels. To take them anew:
//
//	go test ./harness/report -run TestScreenshot -update
func TestScreenshot(t *testing.T) {
	source := must(os.ReadFile("../config/testdata/cachedonly.yaml"))
	b := browsertest.New(t)
	page := written(t, Options{Runs: []string{simulated(t, string(source))}})
	readme := must(os.ReadFile("../../README.md"))
	for _, x := range []struct{ theme, name string }{{"light", ".github/report.png"}, {"dark", ".github/report-dark.png"}} {
		media(b, "screen", x.theme)
		clip := showClicked(b, page)
		now, path := b.Text(seen), "../../"+x.name
		if *golden.Update {
			shot := must(chromedp.Call(b.Ctx, cdppage.CaptureScreenshot, cdppage.CaptureScreenshotParams{Clip: clip}))
			mustDo(t, os.WriteFile(path, labelled(fewColours(t, shot.Data), now), 0o644))
		}
		kept := must(os.ReadFile(path))
		config := must(png.DecodeConfig(bytes.NewReader(kept)))
		if config.Width != int(clip.Width) || len(kept) > 150_000 {
			t.Errorf("%s: %d bytes, %d pixels wide; want at most 150,000, and %g", x.name, len(kept), config.Width, clip.Width)
		}
		if diff := gocmp.Diff(strings.Split(label(kept), "\n"), strings.Split(now, "\n")); diff != "" {
			t.Errorf("%s is not of today's page; go test ./harness/report -run TestScreenshot -update takes it anew (-picture +page):\n%s", x.name,
				diff)
		}
		if !strings.Contains(string(readme), x.name) {
			t.Errorf("the README does not show %s", x.name)
		}
	}
}

// showClicked opens a page, clicks a bar, and returns where the picture is taken: from the
// legend to the sentences that say why, with the panel below the bars of the second trial.
func showClicked(b *browsertest.Tab, page string) *cdppage.Viewport {
	b.Helper()
	const width = 960
	b.Do(chromedp.EmulateViewport(width, 1600))
	b.Open(page, "")
	b.Until("document.querySelector('.lanes')?.dataset.ready === 'true'")
	b.Script("document.querySelector('.lanes').scrollIntoView({behavior: 'instant'})")
	bar := func(k int) float64 {
		return b.Number(fmt.Sprintf("(() => { const v = document.querySelector('.lanes').timeline.shown[0], box = v.canvas.getBoundingClientRect(); return [box.left, box.top][%d] + v.rect(Array.from(v.trial.from.keys()).find((i) => v.trial.id(i) === %q))[%[1]d] + 8; })()", k, clicked))
	}
	x, y := bar(0), bar(1)
	hold := func(p *input.DispatchMouseEventParams) {
		p.Button, p.Buttons, p.ClickCount = input.MouseButtonLeft, 1, 1
	}
	b.Do(chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, x, y), chromedp.MouseEvent(input.DispatchMouseEventTypeMousePressed,
		x, y, hold), chromedp.MouseEvent(input.DispatchMouseEventTypeMouseReleased, x, y, hold))
	b.Until(fmt.Sprintf("document.querySelector('.lanes-details h3')?.innerText.startsWith(%q)", clickedMap))
	b.Do(chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, 1, 1)) // no tip in the picture
	at := func(selector, side string) float64 {
		return b.Number(fmt.Sprintf("document.querySelector(%q).getBoundingClientRect().%s", selector, side))
	}
	height := at(".lanes-trial:nth-of-type(2) .lanes-plot", "bottom") + 8 + at(".lanes-details", "height")
	b.Do(chromedp.EmulateViewport(width, int64(height)))
	b.Script("document.querySelector('.lanes').scrollIntoView({behavior: 'instant'})")
	b.Until("(({drawing, shown}) => !drawing && shown.every((v) => !v.stale))(document.querySelector('.lanes').timeline) && document.querySelector('.lanes-tip').hidden")
	scrolled, top := b.Number("scrollY"), at(".lanes-legend", "top")
	return &cdppage.Viewport{
		X: at(".lanes", "left"), Y: scrolled + top, Width: at(".lanes", "width"),
		Height: float64(int(at(".lanes-why", "bottom")+96) - int(top)), Scale: 1,
	}
}

// fewColours returns a picture with the 256 colours that it has most of, others replaced by
// the nearest: a third of the bytes.
func fewColours(t *testing.T, data []byte) []byte {
	t.Helper()
	from := must(png.Decode(bytes.NewReader(data)))
	box := from.Bounds()
	counts := map[color.Color]int{}
	var all color.Palette
	for y := box.Min.Y; y < box.Max.Y; y++ {
		for x := box.Min.X; x < box.Max.X; x++ {
			c := from.At(x, y)
			if counts[c]++; counts[c] == 1 {
				all = append(all, c)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b color.Color) int { return cmp.Compare(counts[b], counts[a]) })
	to := image.NewPaletted(box, all[:min(len(all), 256)])
	for y := box.Min.Y; y < box.Max.Y; y++ {
		for x := box.Min.X; x < box.Max.X; x++ {
			to.Set(x, y, from.At(x, y))
		}
	}
	var out bytes.Buffer
	mustDo(t, (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&out, to))
	return out.Bytes()
}

// What stands before the text in a PNG's chunk for international text: a keyword, and that
// the text is not compressed and in no language.
const (
	chunkType = "iTXt"
	keyword   = "seen\x00\x00\x00\x00\x00"
	headBytes = 33 // a PNG's signature and its first chunk
)

// labelled returns a PNG with a text.
func labelled(data []byte, text string) []byte {
	body := chunkType + keyword + text
	chunk := binary.BigEndian.AppendUint32(nil, uint32(len(body)-len(chunkType)))
	chunk = append(chunk, body...)
	chunk = binary.BigEndian.AppendUint32(chunk, crc32.ChecksumIEEE([]byte(body)))
	return slices.Concat(data[:headBytes], chunk, data[headBytes:])
}

// label returns the text that labelled put into a PNG, or "" if there is none.
func label(data []byte) string {
	const begin = headBytes + 4
	if len(data) < begin || !strings.HasPrefix(string(data[begin:]), chunkType+keyword) {
		return ""
	}
	length := int(binary.BigEndian.Uint32(data[headBytes:]))
	return string(data[begin+len(chunkType+keyword) : min(begin+len(chunkType)+length, len(data))])
}
