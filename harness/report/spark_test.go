package report

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"heddle/harness/report/browsertest"
	"heddle/traces/spark/sparktest"
)

// TestSpark has a page of a folder of event logs show executors as lanes, with stages and queries above them, and
// say of a task what its log tells.
func TestSpark(t *testing.T) {
	folder := t.TempDir()
	for name, write := range map[string]func(*os.File){
		"application_1_0001": func(f *os.File) { sparktest.Join(f, "application_1_0001", "join") },
		"application_1_0002": func(f *os.File) { sparktest.Lost(f, "application_1_0002", "lost") },
	} {
		f := must(os.Create(filepath.Join(folder, name)))
		write(f)
		mustDo(t, f.Close())
	}
	b := browsertest.New(t)
	b.Open(written(t, Options{Traces: []string{folder}}), "")
	b.Until("document.querySelector('.lanes')?.dataset.ready === 'true'")
	got := b.Text(`(() => {
		const app = document.querySelector('.lanes').timeline;
		const { trial } = app.shown[0];
		const bar = Array.from({ length: trial.count }, (_, i) => i).find((i) => trial.lasts[i] === 31000);
		app.select({ view: app.shown[0], bar }, true);
		return [
			...trial.nodes.filter((n) => n.shown).map((n) => n.name + ' ' + n.lanes),
			...trial.jobs.map((j) => j.name),
			...trial.marks.map((m) => m.what + ' ' + m.text),
			document.querySelector('.lanes-legend').innerText,
			document.querySelector('.lanes-details').innerText,
		].join('\n');
	})()`)
	for _, want := range []string{
		"r1n1 1 2", "r2n1 2 2", "r1n2 2 1", "select * from a join b", "stage 4.0: join", "down Container marked as failed",
		"capacity Executor killed by driver.",
		"Spark: on its node", "task 0", "process, as Spark counts",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the page lacks %q:\n%s", want, got)
		}
	}
	if strings.Contains(got, "map 0") {
		t.Errorf("a task of Spark is a map:\n%s", got)
	}
}
