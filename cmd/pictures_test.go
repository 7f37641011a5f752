package cmd

import (
	"flag"
	"fmt"
	"html"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

var update = flag.Bool("update", false, "draw the picture in .github anew")

// TestPictures has .github/why.svg be what the commands in it print today. To draw it anew:
//
//	go test ./cmd -run TestPictures -update
//
// The picture of how data flows is drawn by hand, in the same style.
func TestPictures(t *testing.T) {
	const path = "../.github/why.svg"
	picture := terminal(t, "../harness/config/testdata/slowdisks.yaml", "../harness/config/testdata/cachedonly.yaml",
		"trace why RUN/trials/r01-wordcount-yarn/trace.heddle m23", "trace why RUN/trials/r01-wordcount-yarn-cached/trace.heddle m23")
	if *update {
		if err := os.WriteFile(path, []byte(picture), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	kept, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(kept) != picture {
		t.Errorf("%s is not what this tree draws; go test ./cmd -run TestPictures -update draws it anew", path)
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
	var d strings.Builder
	addf := func(format string, args ...any) { fmt.Fprintf(&d, format+"\n", args...) }
	width, height := 2*margin+int(charWidth*float64(widest)), 2*margin+lineHeight*len(lines)-6
	addf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img">`, width, height, width, height)
	addf(`<title>%s</title>`+"\n"+style+`<rect class="ground" x="0.5" y="0.5" width="%d" height="%d" rx="8"/>`, html.EscapeString(strings.Join(commands, ", ")), width-1, height-1)
	for i, line := range lines {
		class := "typed"
		if strings.HasPrefix(line, "$") {
			class = "typed strong"
		}
		addf(`<text class="%s" x="%d" y="%d" text-anchor="start">%s</text>`, class, margin, margin+12+lineHeight*i, html.EscapeString(line))
	}
	return d.String() + "</svg>\n"
}
