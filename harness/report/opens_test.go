package report

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/performance"
	"github.com/chromedp/chromedp"

	"heddle/harness/config"
	"heddle/harness/experiment"
	"heddle/harness/report/browsertest"
)

// whenDrawn runs in a page before its own scripts. It notes the time, from the start of
// the navigation, at which the page was loaded and its timeline was on the screen.
const whenDrawn = `{
	const look = () => {
		if (document.readyState === 'complete' && document.querySelector('.lanes')?.dataset.ready === 'true')
			requestAnimationFrame(() => setTimeout(() => { window.drawnMs = performance.now(); }));
		else requestAnimationFrame(look);
	};
	requestAnimationFrame(look);
}`

// jobsOf returns jobs in the format of SWIM, of so many maps and a reduce each.
func jobsOf(jobs, maps int) string {
	const everySec, block = 5, 128 << 20
	var b strings.Builder
	for i := range jobs {
		fmt.Fprintf(&b, "job%d\t%d\t%d\t%d\t%d\t%d\n", i, i*everySec, everySec*min(i, 1), maps*block, block, block)
	}
	return b.String()
}

// BenchmarkOpens has a browser open pages of simulated runs from files, and measures how
// long it takes until the page is loaded and drawn, and the CPU time of the page's thread,
// which depends less on what else the machine does:
//
//	go test ./harness/report -run '^$' -bench Opens -benchtime 5x
//
// A page has two trials, in the timeline and in all else, with half of the attempts each.
func BenchmarkOpens(b *testing.B) {
	for _, size := range []struct{ nodes, jobs, attempts int }{{20, 10, 1000}, {100, 200, 20_000}, {200, 1000, 100_000}} {
		b.Run(fmt.Sprintf("attempts=%d", size.attempts), func(b *testing.B) {
			tab := browsertest.New(b)
			path := filepath.Join(b.TempDir(), "big.tsv")
			mustDo(b, os.WriteFile(path, []byte(jobsOf(size.jobs, size.attempts/2/size.jobs-1)), 0o600))
			source := "models: [yarn, fifo]\nworkloads: [{trace: " + path + ", scale: 0.05}]\ntimeout: 24h\n"
			e, err := config.ParseExperiment("big.yaml", []byte(source))
			mustDo(b, err)
			lab := must(config.LoadCluster("../config/testdata/slowdisks.yaml"))
			lab.Machines.Nodes = size.nodes
			run := must(experiment.Simulate(b.Context(), experiment.Options{
				Experiment: e, Source: []byte(source), Cluster: lab,
				Root: b.TempDir(), Name: "big",
			}, nil))
			page := written(b, Options{Runs: []string{run.Dir}})
			_, err = chromedp.Call(tab.Ctx, cdppage.AddScriptToEvaluateOnNewDocument,
				cdppage.AddScriptToEvaluateOnNewDocumentParams{Source: whenDrawn})
			mustDo(b, err)
			_, err = chromedp.Call(tab.Ctx, performance.Enable, performance.EnableParams{TimeDomain: performance.EnableTimeDomainThreadTicks})
			mustDo(b, err)
			var sumMs, mostMs, cpuMs float64
			for b.Loop() {
				tab.Open(page, "")
				tab.Until("window.drawnMs > 0")
				ms := tab.Number("window.drawnMs")
				sumMs, mostMs = sumMs+ms, max(mostMs, ms)
				measured := must(chromedp.Call(tab.Ctx, performance.GetMetrics, cdp.Empty{}))
				for _, m := range measured.Metrics {
					if m.Name == "TaskDuration" { // since the navigation
						cpuMs += m.Value * 1000
					}
				}
			}
			b.ReportMetric(float64(len(page))/1e6, "MB")
			b.ReportMetric(sumMs/float64(b.N), "ms/open")
			b.ReportMetric(mostMs, "ms/slowest")
			b.ReportMetric(cpuMs/float64(b.N), "cpu-ms/open")
			b.ReportMetric(0, "ns/op")
		})
	}
}
