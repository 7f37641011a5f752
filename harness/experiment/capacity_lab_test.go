package experiment

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"heddle/harness/capture"
	"heddle/harness/clients"
	"heddle/harness/lab/labtest"
	"heddle/traces"
	"heddle/yarnclient"
)

// lessCapacity is a job of 12 maps under a model, while one worker loses all its room
// and then the cluster half of it.
const lessCapacity = `
name: capacity
models: [%s]
workloads:
  - {name: wordcount, size: 12MiB, maps: 6, reduces: 1,
     settings: {dfs.blocksize: 2097152, mapreduce.input.fileinputformat.split.maxsize: 1048576}}
capacity:
  container: 512MiB
  steps:
    - {at: 3s, node: r1n2, left: 0}
    - {at: 8s, left: 0.5}
    - {at: 14s, left: 1}
coldReads: false
timeout: 10m
`

// TestCapacity has workers lose and regain capacity while a job runs, steered and with
// YARN's own scheduler. No container starts on a worker that has less left than is in
// use. Afterwards labels and sizes are as before.
func TestCapacity(t *testing.T) {
	c, clients := lab(t)
	before := labelsOf(t, clients)
	for _, model := range []string{"fifo", "yarn"} {
		t.Run(model, func(t *testing.T) {
			watching, stop := context.WithCancel(t.Context())
			seen := make(chan map[string][]int64, 1)
			go func() { seen <- sizesSeen(watching, clients) }()
			run, err := runText(t, c, fmt.Sprintf(lessCapacity, model))
			stop()
			sizes := <-seen
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("sizes of workers in YARN, in MB: %v", sizes)
			for _, host := range []string{"r1n2", "r1n1"} {
				if least := slices.Min(sizes[host]); least > 512 || host == "r1n2" && least > 0 {
					t.Errorf("%s had %v MB, and none of them was what the timetable leaves", host, sizes[host])
				}
			}
			_, events := readTrace(t, run)
			checkCapacity(t, events)
			awaitSame(t, clients, before)
			noneRunning(t, clients, model)
		})
	}
}

// sizesSeen returns the different sizes of each node that YARN showed until ctx ended.
func sizesSeen(ctx context.Context, clients *clients.Clients) map[string][]int64 {
	sizes := map[string][]int64{}
	for tick := time.Tick(100 * time.Millisecond); ; {
		select {
		case <-ctx.Done():
			return sizes
		case <-tick:
		}
		nodes, _ := clients.RM.Nodes(ctx) // what cannot be seen now is seen later
		for _, n := range nodes {
			if !slices.Contains(sizes[n.Host], n.Total.MemoryMB) {
				sizes[n.Host] = append(sizes[n.Host], n.Total.MemoryMB)
			}
		}
	}
}

// checkCapacity holds the containers of a trace against the capacity that the trace has
// for their nodes. YARN grants a container up to a few seconds before its task starts:
// the most that was left in that time counts.
func checkCapacity(t *testing.T, events []traces.Event) {
	t.Helper()
	const before = 4 * time.Second
	type change struct {
		at    time.Duration
		slots int64
	}
	changes, ends := map[traces.Node][]change{}, map[traces.Attempt]time.Duration{}
	started := []*traces.AttemptStarted{}
	for _, e := range events {
		switch e := e.(type) {
		case *traces.NodeCapacity:
			changes[e.Node] = append(changes[e.Node], change{time.Duration(e.T), e.MemoryBytes >> 29})
		case *traces.AttemptStarted:
			started = append(started, e)
		case *traces.AttemptFinished:
			ends[e.Attempt] = time.Duration(e.T)
		}
	}
	// r1n2 changes at 3 s, and at 14 s; at 8 s half of the cluster is left to it too. The
	// others change at 8 and 14 s. A job that ends before 14 s does not see the last change.
	last := 0
	for _, at := range ends {
		if at > 20*time.Second { // the timetable begins some seconds after the trace
			last = 1
		}
	}
	if n, m := len(changes["r1n2"]), len(changes["r1n1"]); len(changes) != 4 || n < 2+last || n > 3 || m < 1+last || m > 2 {
		t.Errorf("changes of capacity: %v", changes)
	}
	for _, s := range started {
		at, with := time.Duration(s.T), int64(0)
		for _, o := range started {
			if o.Node == s.Node && o.T <= s.T && ends[o.Attempt] > at {
				with++
			}
		}
		left, most := int64(2), int64(0)
		for _, c := range append(changes[s.Node], change{at + 1, 0}) {
			if c.at > at-before { // left was in force in the time that counts
				most = max(most, left)
			}
			if c.at > at {
				break
			}
			left = c.slots
		}
		if with > most {
			t.Errorf("%v is container %d on %s at %v, which had %d slots left at most in the %v before; changes %v", s.Attempt, with, s.Node, at,
				most, before, changes[s.Node])
		}
	}
	t.Logf("%d attempts; changes %v", len(started), changes)
}

// TestCapacityAfterKill kills heddle at random times while it carries out a timetable and
// steers a job, once and with HEDDLE_LONG=1 ten times: heddle restore puts labels and sizes back.
func TestCapacityAfterKill(t *testing.T) {
	l := labtest.Shared(t)
	_, clients := lab(t)
	binary := labtest.Binary(t)
	times := 1
	if os.Getenv("HEDDLE_LONG") == "1" {
		times = 10
	}
	dir, before := t.TempDir(), labelsOf(t, clients)
	source := filepath.Join(dir, "capacity.yaml")
	mustDo(t, os.WriteFile(source, fmt.Appendf(nil, lessCapacity, "fifo"), 0o600))
	for i := range times {
		name := fmt.Sprint("run", i)
		cmd := exec.CommandContext(t.Context(), binary, "run", "--cluster", l.Cluster().Name, "--runs", dir, "--run-name", name, source)
		var said bytes.Buffer
		cmd.Stdout, cmd.Stderr = &said, &said
		mustDo(t, cmd.Start())
		seen := awaitJob(filepath.Join(dir, name, "trials", "r01-wordcount-fifo.partial", capture.PartFile))
		after := 2*time.Second + rand.N(12*time.Second)
		<-time.After(after)
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // killed
		if !seen {
			t.Fatalf("no job was seen within two minutes; heddle said:\n%s", said.Bytes())
		}
		now := labelsOf(t, clients)
		out, err := exec.CommandContext(t.Context(), binary, "restore", "--drain", "0s", "--cluster", l.Cluster().Name).CombinedOutput()
		if err != nil {
			t.Fatalf("restore: %v\n%s", err, out)
		}
		t.Logf("killed %v after the job was seen, with labels and sizes %v; restore said last: %s", after, now, lastLine(out))
		awaitSame(t, clients, before)
		endTagged(t, clients)
	}
}

// endTagged ends what a killed run left running.
func endTagged(t *testing.T, clients *clients.Clients) {
	t.Helper()
	apps := must(clients.RM.Apps(t.Context(), yarnclient.AppFilter{States: yarnclient.Unfinished}))
	for _, app := range apps {
		if strings.Contains(app.Tags, "heddle-") {
			if err := clients.RM.KillApp(t.Context(), app.ID); err != nil {
				t.Error(err)
			}
		}
	}
}
