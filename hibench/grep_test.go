package hibench

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestGrepCommands: the input is lines of text, the regular expression stands as
// it is, and what the first job finds goes to a folder beside the output, which
// removeRun removes.
func TestGrepCommands(t *testing.T) {
	h := newFakeHadoop(t)
	env := h.env(t)
	env.Checkout = "/no/such/checkout" // HiBench has no grep
	r := newRunner(t, env, Spec{Workload: Grep, SizeBytes: 1000, Maps: 2, Reduces: 3, Regex: `[a-z]*ness\b`})
	text := strings.Join(r.jobArgs(stepPrepare, "t1", ""), " ") + "\n" + strings.Join(r.jobArgs(stepRun, "t1", r.outputPath("t1")), " ")
	want := `randomtextwriter -D mapreduce.randomtextwriter.totalbytes=1000 -D mapreduce.randomtextwriter.bytespermap=500 ` +
		`-D mapreduce.job.maps=2 -D mapreduce.job.reduces=3 -outFormat org.apache.hadoop.mapreduce.lib.output.TextOutputFormat /bench/1000-2maps/Grep/Input
grep -D mapreduce.job.reduces=3 -D dfs.user.home.dir.prefix=/bench/1000-2maps/Grep/Output-t1-found ` +
		`/bench/1000-2maps/Grep/Input /bench/1000-2maps/Grep/Output-t1 [a-z]*ness\b`
	if diff := cmp.Diff(want, text); diff != "" {
		t.Errorf("commands (-want +got):\n%s", diff)
	}
	for _, name := range []string{"Output-t1/part-r-00000", "Output-t1-found/root/grep-temp-1/part-r-00000", "Output-t2/part-r-00000"} {
		write(t, h.fs.path("/bench/1000-2maps/Grep/"+name), "", 0o644)
	}
	mustDo(t, r.removeRun("t1"))
	left, err := h.fs.ReadDir("/bench/1000-2maps/Grep")
	if err != nil || len(left) != 1 || left[0].Name() != "Output-t2" {
		t.Errorf("after removal of t1: %v, %v; want only Output-t2", left, err)
	}
}
