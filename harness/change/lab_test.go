package change

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"heddle/collectors/hdfs"
	"heddle/harness/config"
	"heddle/harness/lab"
	"heddle/harness/lab/labtest"
	"heddle/harness/lease"
	"heddle/harness/require"
	"heddle/traces/errtest"
	"heddle/yarnclient"
)

// steerEnv makes this test binary a harness that steers the cluster of that
// file until it is killed.
const steerEnv = "HEDDLE_TEST_STEER"

func TestMain(m *testing.M) {
	if file := os.Getenv(steerEnv); file != "" {
		if err := steerUntilKilled(file); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
		os.Exit(1)
	}
	if what := os.Getenv(changeEnv); what != "" {
		fmt.Fprintln(os.Stderr, changeUntilKilled(what))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

func steerUntilKilled(file string) error {
	ctx := context.Background()
	c, err := config.LoadCluster(file)
	if err != nil {
		return err
	}
	cluster, err := Connect(c)
	if err != nil {
		return err
	}
	h, err := Take(ctx, cluster, Options{Purpose: "a test"})
	if err != nil {
		return err
	}
	parked := map[string]string{}
	nodes, err := cluster.RM.Nodes(ctx, "RUNNING")
	if err != nil {
		return err
	}
	for _, n := range nodes {
		if n.Label() == "" {
			parked[n.ID] = require.Parking
		}
	}
	if err := h.AddLabels(ctx, "r47"); err != nil {
		return err
	}
	if err := h.ReplaceLabels(ctx, parked); err != nil {
		return err
	}
	for id := range parked {
		if err := h.SetNodeResource(ctx, id, yarnclient.Resource{MemoryMB: 512, VCores: 100}); err != nil {
			return err
		}
		if err := h.ReplaceLabels(ctx, map[string]string{id: "r47"}); err != nil {
			return err
		}
		break
	}
	err = h.SetSchedulerConf(ctx, yarnclient.SchedulerChange{Global: map[string]string{localityDelay: "40"}})
	if err != nil {
		return err
	}
	fmt.Println("steering")
	<-h.Context().Done()
	return context.Cause(h.Context())
}

// journalIsTheUsersAlone looks at the modes of all that a harness has left in HDFS.
func journalIsTheUsersAlone(t *testing.T, l *lab.Lab) {
	t.Helper()
	cfg := l.Cluster()
	cluster := must(Connect(&cfg))
	defer cluster.Close()
	client := must(hdfs.New(hdfs.Options{NameNodes: cfg.NameNodes, User: cfg.User, DialContext: cfg.DialContext()}))
	defer client.Close()
	seen := 0
	var look func(name string)
	look = func(name string) {
		info := must(client.Stat(t.Context(), name))
		want := fs.FileMode(0o600)
		if info.Dir {
			want = 0o700
			names := must(client.Names(t.Context(), name))
			for _, below := range names {
				look(name + "/" + below)
			}
		}
		seen++
		if info.Mode != want {
			t.Errorf("%s has mode %v, want %v", name, info.Mode, want)
		}
	}
	look(lease.Root)
	if seen < 5 {
		t.Errorf("%d files and folders below %s; want a journal", seen, lease.Root)
	}
}

// TestLab kills a harness on a real cluster in several ways, and wants the
// cluster as it was.
func TestLab(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 15*time.Minute)
	defer cancel()
	l := labtest.Own(t, "holdtest", nil)
	y := newYard(ctx, t, l)
	before := y.state()

	t.Run("killed harness", func(t *testing.T) {
		kill := y.harness(t)
		if out, err := y.heddle("restore"); err == nil || !strings.Contains(out, "(a test)") {
			t.Errorf("restore while the harness is alive: %v\n%s", err, out)
		}
		kill()
		journalIsTheUsersAlone(t, l)
		r := y.restore(t)
		if len(r.Back) < 5 || len(r.Left) > 0 {
			t.Errorf("put back %+v", r)
		}
		y.same(t, before)
		if out, err := y.heddle("restore"); err != nil || !strings.Contains(out, "nothing to put back") {
			t.Errorf("second restore: %v\n%s", err, out)
		}
	})
	t.Run("paused harness", func(t *testing.T) {
		labtest.Long(t)
		h := y.start(t)
		mustDo(t, h.cmd.Process.Signal(unix.SIGSTOP))
		y.restore(t)
		y.same(t, before)
		mustDo(t, h.cmd.Process.Signal(unix.SIGCONT))
		_ = h.cmd.Wait()
		if said := h.stderr.String(); !strings.Contains(said, lease.ErrLost.Error()) {
			t.Errorf("the harness said %q when it went on, want that its hold is lost", said)
		}
		y.same(t, before)
	})
	t.Run("NameNode down", func(t *testing.T) {
		labtest.Long(t)
		h := y.start(t)
		mustDo(t, l.Kill(ctx, "master", "namenode", unix.SIGKILL))
		cut := time.Now()
		_ = h.cmd.Wait()
		t.Logf("the harness stopped %v after the NameNode", time.Since(cut).Round(time.Second))
		if said := h.stderr.String(); !strings.Contains(said, lease.ErrLost.Error()) {
			t.Errorf("the harness said %q, want that its hold is lost", said)
		}
		mustDo(t, l.Start(ctx, "master", "namenode"))
		y.waitFor("the NameNode to let us restore", func() bool {
			_, err := y.heddle("restore")
			return err == nil
		})
		y.same(t, before)
	})
	t.Run("prepared", func(t *testing.T) {
		labtest.Long(t)
		prepare := []string{"labels", "prepare", "--triples", "17", "--queue", "root.replay"}
		out, err := y.heddle(append(prepare, "--dry-run")...)
		if err != nil || strings.Count(out, "would be added") != 3 {
			t.Errorf("%v\n%s", err, out)
		}
		y.same(t, before)
		if out, err := y.heddle(prepare...); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		prepared := y.state()
		if !prepared.Labels["r16"] || prepared.Conf[require.Queues+"root.replay.accessible-node-labels.r16.capacity"] != "100" {
			t.Errorf("not prepared: %+v", prepared)
		}
		y.harness(t)()
		y.restore(t)
		y.same(t, prepared)
		if out, err := y.heddle("restore", "--prepared"); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		y.same(t, before)
	})
	t.Run("killed harness and ResourceManager", func(t *testing.T) {
		labtest.Long(t)
		kill := y.harness(t)
		mustDo(t, l.Kill(ctx, "master", "resourcemanager", unix.SIGKILL))
		kill()
		mustDo(t, l.Start(ctx, "master", "resourcemanager"))
		y.restore(t)
		y.same(t, before)
	})
	t.Run("killed harness and a node that is down", func(t *testing.T) {
		labtest.Long(t)
		kill := y.harness(t)
		mustDo(t, l.Kill(ctx, "r2n2", "nodemanager", unix.SIGKILL))
		kill()
		y.waitFor("r2n2 to be lost", func() bool {
			nodes, err := y.cluster.RM.Nodes(ctx, "LOST")
			return err == nil && len(nodes) == 1
		})
		out, err := y.heddle("restore", "--json")
		t.Logf("restore with r2n2 down: %v\n%s", err, out)
		mustDo(t, l.Start(ctx, "r2n2", "nodemanager"))
		y.waitFor("r2n2 to be back", func() bool {
			nodes, err := y.cluster.RM.Nodes(ctx, "RUNNING")
			return err == nil && len(nodes) == len(before.Size)
		})
		y.restore(t)
		y.same(t, before)
	})
	t.Run("watchdogs", func(t *testing.T) {
		labtest.Long(t)
		kill := y.harness(t)
		for range 2 {
			dog := exec.Command(y.binary, "agent", "--watchdog", "--cluster", l.ClusterFile(), "--listen", "127.0.0.1:0", "--token-file",
				filepath.Join(t.TempDir(), "token"))
			token := dog.Args[len(dog.Args)-1]
			mustDo(t, os.WriteFile(token, []byte(strings.Repeat("ab", 32)+"\n"), 0o600))
			var log bytes.Buffer
			dog.Stderr = &log
			mustDo(t, dog.Start())
			t.Cleanup(func() {
				_ = dog.Process.Signal(unix.SIGTERM)
				_ = dog.Wait()
				t.Logf("a watchdog:\n%s", log.String())
			})
		}
		kill()
		y.waitFor("a watchdog to put everything back", func() bool { return cmp.Equal(before, y.state()) })
		y.waitFor("the watchdog to let go", func() bool {
			s, err := Inspect(ctx, y.cluster)
			return err == nil && s.Hold == "released" && len(s.Noted) == 0
		})
	})
	t.Run("steered job ends", func(t *testing.T) {
		labtest.Long(t)
		kill := y.harness(t)
		job := y.job(ctx, t, "-Dmapreduce.map.node-label-expression=m00", "-Dmapreduce.reduce.node-label-expression=r00")
		y.waitFor("the job's master to run", func() bool {
			apps, err := y.cluster.RM.Apps(ctx, yarnclient.AppFilter{States: []string{"RUNNING"}})
			return err == nil && len(apps) == 1
		})
		kill()
		r := y.restore(t)
		if len(r.Stranded) > 0 {
			t.Errorf("left waiting: %v", r.Stranded)
		}
		if out := job(); !strings.Contains(out, "Estimated value of Pi") {
			t.Errorf("the job did not end well:\n%s", out)
		}
		y.same(t, before)
	})
}

// yard is a lab, and a look at it from outside.
type yard struct {
	t       *testing.T
	lab     *lab.Lab
	binary  string
	cluster *Target
	world   *world
}

func newYard(ctx context.Context, t *testing.T, l *lab.Lab) *yard {
	file := l.Cluster()
	cluster := must(Connect(&file))
	t.Cleanup(cluster.Close)
	must(cluster.RM.WaitActive(ctx, 5))
	return &yard{t, l, labtest.Binary(t), cluster, &world{rm: cluster.RM}}
}

func (y *yard) state() state {
	s := y.world.state(y.t)
	s.Priorities = nil // jobs come and go
	return s
}

func (y *yard) same(t *testing.T, before state) {
	t.Helper()
	if d := cmp.Diff(before, y.state()); d != "" {
		t.Errorf("not as before:\n%s", d)
	}
}

// harness starts a process that steers, and returns what kills it.
func (y *yard) harness(t *testing.T) (kill func()) { return y.start(t).kill }

type steerer struct {
	cmd    *exec.Cmd
	stderr bytes.Buffer
}

func (y *yard) start(t *testing.T) *steerer {
	t.Helper()
	h := &steerer{cmd: exec.Command(os.Args[0])}
	h.cmd.Env = append(os.Environ(), steerEnv+"="+y.lab.ClusterFile())
	h.cmd.Stderr = &h.stderr
	out := must(h.cmd.StdoutPipe())
	mustDo(t, h.cmd.Start())
	t.Cleanup(h.kill)
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "steering\n" {
		t.Fatalf("the harness said %q, %v", line, err)
	}
	return h
}

func (h *steerer) kill() {
	_ = h.cmd.Process.Kill()
	_ = h.cmd.Wait()
}

// heddle runs a command on the lab and returns all it says.
func (y *yard) heddle(args ...string) (string, error) {
	out, err := y.command(args...).CombinedOutput()
	return string(out), err
}

func (y *yard) command(args ...string) *exec.Cmd {
	return exec.CommandContext(y.t.Context(), y.binary, append(args, "--cluster", y.lab.ClusterFile())...)
}

func (y *yard) restore(t *testing.T) Report {
	t.Helper()
	cmd := y.command("restore", "--json")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	start := time.Now()
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("restore: %v\n%s%s", err, stderr.String(), out)
	}
	var r Report
	mustDo(t, json.Unmarshal(out, &r))
	t.Logf("restored in %v: %d put back, %d as before, %d kept", time.Since(start).Round(time.Second/10), len(r.Back), len(r.Same),
		len(r.Kept))
	return r
}

// job submits a job to the queue that may be steered; wait for its output.
func (y *yard) job(ctx context.Context, t *testing.T, settings ...string) (wait func() string) {
	t.Helper()
	jar := labtest.Examples(t, y.lab.Cluster().Hadoop.Home)
	args := append([]string{"hadoop", "jar", jar, "pi", "-Dmapreduce.job.queuename=replay"}, append(settings, "3", "10")...)
	cmd := y.lab.Command(ctx, "master", args...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	mustDo(t, cmd.Start())
	return func() string {
		_ = cmd.Wait()
		return out.String()
	}
}

func (y *yard) waitFor(what string, done func() bool) {
	y.t.Helper()
	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()
	for limit := time.After(3 * time.Minute); !done(); {
		select {
		case <-tick.C:
		case <-limit:
			y.t.Fatal("waited too long for " + what)
		}
	}
}

// must returns x, and panics with the error if there is one.
func must[T any](x T, err error) T {
	if err != nil {
		panic(err)
	}
	return x
}

var mustDo = errtest.None
