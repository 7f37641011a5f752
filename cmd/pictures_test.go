package cmd

import (
	"bytes"
	"encoding/xml"
	"flag"
	"fmt"
	"html"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

var update = flag.Bool("update", false, "draw the pictures in .github anew")

// TestPictures draws pictures that the README shows and compares them with the
// files in .github. To draw them anew:
//
//	go test ./cmd -run TestPictures -update
func TestPictures(t *testing.T) {
	for name, picture := range map[string]string{
		"dataflow.svg": dataFlow(),
		"why.svg": terminal(t, "../harness/config/testdata/slowdisks.yaml", "../harness/config/testdata/cachedonly.yaml",
			"trace why RUN/trials/r01-wordcount-yarn/trace.heddle m23", "trace why RUN/trials/r01-wordcount-yarn-cached/trace.heddle m23"),
	} {
		path := filepath.Join("../.github", name)
		if err := xml.Unmarshal([]byte(picture), &struct{ XMLName xml.Name }{}); err != nil {
			t.Errorf("%s is no XML: %v", name, err)
		}
		if *update {
			if err := os.WriteFile(path, []byte(picture), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		kept, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(kept, []byte(picture)) {
			t.Errorf("%s is not what this tree draws; go test ./cmd -run TestPictures -update draws it anew", path)
		}
	}
}

// style is that of both pictures. They have a ground of their own, so that they can
// be read on any page, and a dark one for readers who prefer that.
const style = `<style>
text{font:14px system-ui,-apple-system,"Segoe UI","DejaVu Sans",sans-serif;fill:#1f2328}
.small{font-size:12px;fill:#59636e}
.typed{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;white-space:pre}
.strong{font-weight:600}
.ground{fill:#ffffff;stroke:#d1d9e0}
.box{fill:#f6f8fa;stroke:#8c959f}
.ours{fill:#ddf4ff;stroke:#0969da}
.line{fill:none;stroke:#59636e;stroke-width:1.5}
.head{fill:#59636e}
@media (prefers-color-scheme:dark){
text{fill:#f0f6fc}
.small{fill:#9198a1}
.ground{fill:#0d1117;stroke:#3d444d}
.box{fill:#151b23;stroke:#656c76}
.ours{fill:#121d2f;stroke:#4493f8}
.line{stroke:#9198a1}
.head{fill:#9198a1}
}
</style>
`

// drawing is an SVG that is written from its back to its front.
type drawing struct{ strings.Builder }

func newDrawing(width, height int, title string) *drawing {
	d := &drawing{}
	d.addf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img">`, width, height, width, height)
	d.addf(`<title>%s</title>`, html.EscapeString(title))
	d.WriteString(style)
	d.addf(`<rect class="ground" x="0.5" y="0.5" width="%d" height="%d" rx="8"/>`, width-1, height-1)
	return d
}

func (d *drawing) addf(format string, args ...any) { fmt.Fprintf(d, format+"\n", args...) }

// text writes one line; anchor is start, middle or end.
func (d *drawing) text(x, y int, class, anchor, text string) {
	d.addf(`<text class="%s" x="%d" y="%d" text-anchor="%s">%s</text>`, class, x, y, anchor, html.EscapeString(text))
}

func (d *drawing) done() string { return d.String() + "</svg>\n" }

const boxWidth, boxHeight = 200, 76

// box is a node of the data flow: a title and two lines below it.
func (d *drawing) box(x, y int, class, title string, lines ...string) {
	d.addf(`<rect class="%s" x="%d" y="%d" width="%d" height="%d" rx="6"/>`, class, x, y, boxWidth, boxHeight)
	d.text(x+boxWidth/2, y+24, "strong", "middle", title)
	for i, line := range lines {
		d.text(x+boxWidth/2, y+44+18*i, "small", "middle", line)
	}
}

// arrow follows a path whose last stretch points in a direction: r, l, u or d.
func (d *drawing) arrow(path string, x, y int, direction byte) {
	d.addf(`<path class="line" d="%s"/>`, path)
	head := map[byte]string{'r': "l-9,-5v10z", 'l': "l9,-5v10z", 'u': "l-5,9h10z", 'd': "l-5,-9h10z"}
	d.addf(`<path class="head" d="M%d,%d%s"/>`, x, y, head[direction])
}

// dataFlow shows what passes between heddle's parts.
func dataFlow() string {
	d := newDrawing(800, 420, "How data flows through heddle")
	const left, middle, right = 20, 300, 580
	const top, centre, bottom = 24, 172, 320
	d.box(left, top, "box", "experiment file", "workloads × models", "× repeats")
	d.box(middle, top, "ours", "heddle run", "starts jobs, steers them,", "records what happens")
	d.box(right, top, "box", "YARN and HDFS", "unmodified: heddle's lab", "or your cluster")
	d.box(left, centre, "ours", "scheduler model", "Go code: which job's task", "starts on which node")
	d.box(middle, centre, "ours", "trace", "attempts, blocks, caches,", "nodes, decisions")
	d.box(right, centre, "box", "traces of other tools", "job histories, Rumen,", "SLS, SWIM")
	d.box(left, bottom, "ours", "heddle replay", "the same jobs", "in virtual time")
	d.box(middle, bottom, "ours", "heddle fidelity", "how far replays are", "from the measurement")
	d.box(right, bottom, "ours", "heddle compare", "models against each other,", "with intervals")

	d.arrow("M220,62H292", 299, 62, 'r')
	d.arrow("M500,46H572", 579, 46, 'r')
	d.text(540, 38, "small", "middle", "jobs, labels")
	d.arrow("M580,80H508", 501, 80, 'l')
	d.text(540, 98, "small", "middle", "events")
	d.arrow("M400,100V164", 400, 171, 'd')
	d.arrow("M180,172C180,120 340,160 340,108", 340, 101, 'u')
	d.text(212, 132, "small", "end", "decisions, on a cluster")
	d.arrow("M580,210H508", 501, 210, 'l')
	d.text(540, 202, "small", "middle", "import")
	d.arrow("M80,248V312", 80, 319, 'd')
	d.text(90, 285, "small", "start", "the same code")
	d.arrow("M340,248C340,300 180,264 180,312", 180, 319, 'd')
	d.text(264, 270, "small", "end", "jobs")
	d.arrow("M400,248V312", 400, 319, 'd')
	d.text(410, 285, "small", "start", "measured")
	d.arrow("M460,248C460,300 680,264 680,312", 680, 319, 'd')
	d.arrow("M220,358H292", 299, 358, 'r')
	d.text(260, 350, "small", "middle", "predicted")
	return d.done()
}

// terminal simulates cachedonly.yaml on a cluster and shows commands about its trials with what
// they print, as a terminal does. RUN in a command stands for the run.
func terminal(t *testing.T, cluster, experiment string, commands ...string) string {
	dir := t.TempDir()
	if _, code, err := heddle("run", "--simulate", "--cluster", cluster, "--runs", dir, "--run-name", "cached", experiment); code != 0 {
		t.Fatal(err)
	}
	var lines []string
	for _, command := range commands {
		out, code, err := heddle(strings.Fields(strings.ReplaceAll(command, "RUN", filepath.Join(dir, "cached")))...)
		if code != 0 {
			t.Fatal(err)
		}
		lines = append(lines, "$ heddle "+strings.ReplaceAll(command, "RUN", "runs/cached"))
		lines = append(lines, strings.Split(strings.TrimRight(out, "\n"), "\n")...)
	}
	const margin, lineHeight, charWidth = 20, 20, 8.5
	widest := 0
	for _, line := range lines {
		widest = max(widest, utf8.RuneCountInString(line))
	}
	d := newDrawing(2*margin+int(charWidth*float64(widest)), 2*margin+lineHeight*len(lines)-6, strings.Join(commands, ", "))
	for i, line := range lines {
		class := "typed"
		if strings.HasPrefix(line, "$") {
			class = "typed strong"
		}
		d.text(margin, margin+12+lineHeight*i, class, "start", line)
	}
	return d.done()
}
