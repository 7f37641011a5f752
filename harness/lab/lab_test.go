package lab_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/colinmarc/hdfs/v2"
	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"

	collector "heddle/collectors/hdfs"
	"heddle/harness/internal/units"
	"heddle/harness/lab"
	"heddle/harness/lab/labtest"
	"heddle/traces/errtest"
)

// TestLab goes through the life of one lab: its steps need a cluster in the
// state that the step before has left, and starting it is what takes time.
func TestLab(t *testing.T) {
	labtest.Need(t)
	binary := labtest.Binary(t)
	c := labtest.Default()
	c.Name, c.Executable = "labtest", binary
	c.Nodes, c.Replication = 3, 1 // two in rack 1, one in rack 2
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	down(t, c.Name, true)
	t.Cleanup(func() { down(t, c.Name, true) })
	// What this test reads it reads as fast as the lab can, whatever else the machine does.
	undo := must(lab.ShareCores())
	t.Cleanup(undo)

	leak(t)
	l := up(ctx, t, c)
	t.Run("up again changes nothing", func(t *testing.T) {
		before := l.Status(ctx)
		again := up(ctx, t, c)
		if after := again.Status(ctx); after.State != "up" || pids(after) != pids(before) {
			t.Errorf("the second up changed the lab from\n%+v to\n%+v", before, after)
		}
		other := c
		other.Slots = 3
		errtest.Has(t, errtest.Of(lab.Up(ctx, other, nil)), "slots 2, not 3")
	})
	t.Run("commands run on nodes", func(t *testing.T) {
		out, err := l.Command(ctx, "r1n2", "sh", "-c", "uname -n; getent hosts r2n1; cat /proc/self/cgroup").CombinedOutput()
		if err != nil {
			t.Fatal(err, string(out))
		}
		for _, want := range []string{"r1n2\n", l.Cluster().Hosts["r2n1"], "/heddle/labtest/r1n2\n"} {
			if !strings.Contains(string(out), want) {
				t.Errorf("on r1n2 the command printed %q, want %q in it", out, want)
			}
		}
		if err := l.Command(ctx, "r9n9", "true").Run(); err == nil {
			t.Error("a command ran on a node that is not there")
		}
	})
	t.Run("hadoop's commands work from this machine", func(t *testing.T) {
		cmd := exec.CommandContext(ctx, filepath.Join(l.Cluster().Hadoop.Home, "bin", "yarn"), "node", "-list")
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.Contains(string(out), "Total Nodes:4") {
			t.Errorf("yarn node -list: %v\n%s", err, out)
		}
	})
	t.Run("other users do not reach it", func(t *testing.T) { outsiders(ctx, t, l) })
	t.Run("only agents run as root", func(t *testing.T) { unprivileged(ctx, t, l) })
	t.Run("four levels of reads", func(t *testing.T) { fourLevels(ctx, t, l) })
	t.Run("changes act at once", func(t *testing.T) { changes(ctx, t, l) })
	t.Run("a daemon that dies at its start is named", func(t *testing.T) { deaths(ctx, t, l, c) })
	t.Run("jobs run as users write them", func(t *testing.T) { jobs(ctx, t, l) })
	t.Run("down leaves nothing", func(t *testing.T) {
		down(t, c.Name, false)
		nothingLeft(t, c.Name)
	})
	t.Run("up after an up that was killed", func(t *testing.T) {
		killHalfWay(ctx, t, binary, c.Name)
		l := up(ctx, t, c)
		if _, err := client(t, l, "master").Stat("/levels/r1n1"); err != nil {
			t.Errorf("a file from before did not survive down and up: %v", err)
		}
	})
	t.Run("down after an up that was killed", func(t *testing.T) {
		down(t, c.Name, false)
		killHalfWay(ctx, t, binary, c.Name)
		down(t, c.Name, true)
		nothingLeft(t, c.Name)
		if _, err := os.Stat(l.Cluster().Hadoop.Conf); err == nil {
			t.Error("the state folder is still there after a purge")
		}
		errtest.Is(t, errtest.Of(lab.Open(c.Name)), lab.ErrNotFound)
	})
}

// An up that is interrupted takes down what it has started.
func TestInterruptedUp(t *testing.T) {
	labtest.Need(t)
	c := labtest.Default()
	c.Name, c.Nodes, c.Racks, c.Replication = "labtest-cut", 1, 1, 1
	t.Cleanup(func() { down(t, c.Name, true) })
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	errtest.Is(t, errtest.Of(lab.Up(ctx, c, func(e lab.Event) {
		if strings.Contains(e.What, "nodes in") {
			cancel()
		}
	})), context.Canceled)
	nothingLeft(t, c.Name)
}

// A lab that has run a job leaves nothing in /tmp. It gets a /tmp of its own
// here, since others use that of the machine.
func TestNothingInTmp(t *testing.T) {
	labtest.Need(t)
	binary := labtest.Binary(t)
	const name = "labtest-tmp"
	t.Cleanup(func() { down(t, name, true) })
	cmd := exec.CommandContext(t.Context(), "unshare", "--mount", "--propagation", "private", "bash", "-c", `
		set -e
		mount -t tmpfs heddle-test /tmp
		cd /
		"$0" lab up --name "$1" --nodes 1 --racks 1 --replication 1 >&2
		eval "$("$0" lab env --name "$1")"
		hadoop jar "$HADOOP_HOME"/share/hadoop/mapreduce/hadoop-mapreduce-examples-*.jar pi 1 1 >&2
		"$0" lab down --name "$1" >&2
		find /tmp -mindepth 1`, binary, name)
	var log bytes.Buffer
	cmd.Stderr = &log
	left, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, log.Bytes())
	}
	if len(left) > 0 {
		t.Errorf("left in /tmp:\n%s", left)
	}
}

func up(ctx context.Context, t *testing.T, c lab.Config) *lab.Lab {
	t.Helper()
	var lines []string
	l, err := lab.Up(ctx, c, func(e lab.Event) { lines = append(lines, e.String()) })
	if err != nil {
		t.Fatalf("%v\n%s", err, strings.Join(lines, "\n"))
	}
	if s := l.Status(ctx); s.State != "up" {
		t.Fatalf("not up:\n%+v", s)
	}
	return l
}

func down(t *testing.T, name string, purge bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := lab.Down(ctx, name, purge); err != nil {
		t.Error(err)
	}
}

func pids(s lab.Status) string {
	var out strings.Builder
	for _, d := range s.Daemons {
		fmt.Fprintf(&out, "%s %s %d\n", d.Node, d.Daemon, d.PID)
	}
	return out.String()
}

// nothingLeft looks for what a lab could leave behind, in all of this machine.
func nothingLeft(t *testing.T, name string) {
	t.Helper()
	links := must(netlink.LinkList())
	for _, l := range links {
		if l.Attrs().Alias == "heddle lab "+name {
			t.Errorf("network device %s is left", l.Attrs().Name)
		}
	}
	spaces, _ := filepath.Glob("/run/netns/heddle." + name + ".*")
	groups, _ := filepath.Glob("/sys/fs/cgroup/*/heddle/" + name)
	unified, _ := filepath.Glob("/sys/fs/cgroup/heddle/" + name)
	for _, path := range append(append(spaces, groups...), unified...) {
		t.Errorf("%s is left", path)
	}
	mounts := must(os.ReadFile("/proc/self/mountinfo"))
	for line := range strings.Lines(string(mounts)) {
		if strings.Contains(line, "/labs/"+name+"/") {
			t.Errorf("a mount is left: %s", line)
		}
	}
	cmdlines, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, path := range cmdlines {
		text, _ := os.ReadFile(path)
		if strings.Contains(string(text), "/labs/"+name+"/") {
			t.Errorf("a process is left: %s", strings.ReplaceAll(string(text), "\x00", " "))
		}
	}
}

// killHalfWay starts 'lab up' and kills it without notice once it has begun to
// start daemons.
func killHalfWay(ctx context.Context, t *testing.T, binary, name string) {
	t.Helper()
	cmd := exec.CommandContext(ctx, binary, "lab", "up", "--name", name)
	progress := must(cmd.StderrPipe())
	mustDo(t, cmd.Start())
	for lines := bufio.NewScanner(progress); lines.Scan(); {
		if strings.Contains(lines.Text(), "ready") {
			break
		}
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatalf("up ended before it could be killed: %v", err)
	}
	cmd.Wait()
}

// client is an HDFS client on a node: its connections begin there.
func client(t *testing.T, l *lab.Lab, node string) *hdfs.Client {
	t.Helper()
	c := must(hdfs.NewClient(hdfs.ClientOptions{
		Addresses: l.Cluster().NameNodes, User: l.Cluster().User,
		NamenodeDialFunc: l.Dial(node), DatanodeDialFunc: l.Dial(node),
	}))
	t.Cleanup(func() { c.Close() })
	return c
}

const levelBytes = 16 << 20 // one block; at the default uplink 2.3 s

// fourLevels reads one block cold from the cache, the own disk, the rack and beyond. The
// fastest read of each must be at least twice as fast as the median read of the next. A
// busy machine makes most reads slower, but one of five from a disk of 80 MB/s once had
// 230 MB/s there.
func fourLevels(ctx context.Context, t *testing.T, l *lab.Lab) {
	mustDo(t, client(t, l, "master").MkdirAll("/levels", 0o755))
	write(t, l, "r1n1", "/levels/cached")
	for _, node := range []string{"r1n1", "r1n2", "r2n1"} {
		write(t, l, node, "/levels/"+node)
	}
	cache(ctx, t, l, "/levels/cached")
	levels := []struct{ name, file string }{
		{"cache", "/levels/cached"}, {"own disk", "/levels/r1n1"}, {"same rack", "/levels/r1n2"}, {"other rack", "/levels/r2n1"},
	}
	coldRead(t, l, "r1n1", "/levels/cached") // has the DataNode's code compiled
	before := math.Inf(1)
	for i, level := range levels {
		reads := make([]float64, 5)
		for i := range reads {
			reads[i] = coldRead(t, l, "r1n1", level.file)
		}
		slices.Sort(reads)
		fastest, median := reads[len(reads)-1], reads[len(reads)/2]
		t.Logf("%-10s %7.1f MB/s, the median %.1f, the slowest %.1f", level.name, fastest/1e6, median/1e6, reads[0]/1e6)
		if before < 2*median {
			t.Errorf("%s at %.1f MB/s is not twice as fast as %s at %.1f MB/s", levels[i-1].name, before/1e6, level.name, median/1e6)
		}
		before = fastest
	}
}

// write makes a file of one block whose one replica is on the node that writes.
func write(t *testing.T, l *lab.Lab, node, path string) {
	t.Helper()
	c := client(t, l, node)
	w := must(c.CreateFile(path, 1, levelBytes, 0o644))
	must(io.Copy(w, io.LimitReader(rand.NewChaCha8([32]byte{1}), levelBytes)))
	mustDo(t, collector.CloseWriter(t.Context(), w))
}

// cache has HDFS cache a file and waits until it is.
func cache(ctx context.Context, t *testing.T, l *lab.Lab, path string) {
	t.Helper()
	for _, args := range [][]string{{"-addPool", "levels"}, {"-addDirective", "-path", path, "-pool", "levels"}} {
		out, err := l.Command(ctx, "master", append([]string{"hdfs", "cacheadmin"}, args...)...).CombinedOutput()
		if err != nil {
			t.Fatalf("cacheadmin %v: %v\n%s", args, err, out)
		}
	}
	host, _, _ := net.SplitHostPort(l.Cluster().NameNodes[0])
	waitFor(t, 30*time.Second, path+" to be cached", func() bool {
		var jmx struct{ Beans []struct{ CacheUsed int64 } }
		getJSON(t, "http://"+host+":9870/jmx?qry=Hadoop:service=NameNode,name=NameNodeInfo", &jmx)
		return len(jmx.Beans) == 1 && jmx.Beans[0].CacheUsed >= levelBytes
	})
}

// coldRead reads a file with no page cache, and gives bytes a second.
func coldRead(t *testing.T, l *lab.Lab, node, path string) float64 {
	t.Helper()
	unix.Sync()
	mustDo(t, os.WriteFile("/proc/sys/vm/drop_caches", []byte("3"), 0))
	f := must(client(t, l, node).Open(path))
	defer f.Close()
	began := time.Now()
	n, err := io.Copy(io.Discard, f)
	if err != nil || n != levelBytes {
		t.Fatalf("read %d bytes of %s: %v", n, path, err)
	}
	return float64(n) / time.Since(began).Seconds()
}

// changes makes one link ten times slower and back.
func changes(ctx context.Context, t *testing.T, l *lab.Lab) {
	slow, normal := units.Rate(2.5e6), l.Config().Link
	before := coldRead(t, l, "r1n1", "/levels/r1n2")
	mustDo(t, l.Set(lab.Change{Nodes: []string{"r1n2"}, Link: &slow}))
	slowed := coldRead(t, l, "r1n1", "/levels/r1n2")
	mustDo(t, l.Set(lab.Change{Nodes: []string{"r1n2"}, Link: &normal}))
	if slowed > before/3 {
		t.Errorf("a link ten times slower changed reads from %.1f to %.1f MB/s", before/1e6, slowed/1e6)
	}
	half := 0.5
	if err := l.Set(lab.Change{Rack: 1, CPUs: &half, Disk: &slow, Uplink: &slow}); err != nil {
		t.Error(err)
	}
	none, zero := units.Rate(0), 0.0
	if err := l.Set(lab.Change{CPUs: &zero, Disk: &none, Link: &none, Uplink: &none}); err != nil {
		t.Error(err)
	}
	for _, bad := range []lab.Change{
		{},
		{Nodes: []string{"r9n9"}, CPUs: &half},
		{Nodes: []string{"master"}, CPUs: &half},
		{Rack: 9, Uplink: &slow},
	} {
		if err := l.Set(bad); err == nil {
			t.Errorf("change %+v was taken", bad)
		}
	}
}

// deaths keeps a NodeManager and then a DataNode from starting.
func deaths(ctx context.Context, t *testing.T, l *lab.Lab, c lab.Config) {
	named := func(daemon, why string) {
		t.Helper()
		_, err := lab.Up(ctx, c, nil)
		var died *lab.DaemonError
		if !errors.As(err, &died) || died.Node != "r1n2" || died.Daemon != daemon || !strings.Contains(died.Error(), why) {
			t.Errorf("up with a %s that cannot start: error %v; want one that names r1n2, %s and %q", daemon, err, daemon, why)
		}
	}
	mustDo(t, l.Kill(ctx, "r1n2", "nodemanager", unix.SIGKILL))
	port := listen(t, "heddle."+l.Name+".r1n2", ":8040")
	named("nodemanager", "Address already in use")
	port.Close()

	mustDo(t, l.Kill(ctx, "r1n2", "datanode", unix.SIGKILL))
	state := filepath.Dir(l.Cluster().Hadoop.Conf)
	version := filepath.Join(state, "nodes", "r1n2", "data", "current", "VERSION")
	good := must(os.ReadFile(version))
	mustDo(t, os.WriteFile(version, []byte(strings.ReplaceAll(string(good), "clusterID=", "clusterID=not-")), 0o644))
	named("datanode", "Incompatible clusterIDs")
	mustDo(t, os.WriteFile(version, good, 0o644))
	up(ctx, t, c)
	for _, call := range []error{
		l.Kill(ctx, "r1n2", "namenode", unix.SIGKILL), l.Start(ctx, "r9n9", "datanode"), l.Kill(ctx, "master", "nonsense", unix.SIGKILL),
	} {
		if call == nil {
			t.Error("a daemon that is not there was killed or started")
		}
	}
}

// listen takes a port on a node.
func listen(t *testing.T, namespace, addr string) net.Listener {
	t.Helper()
	type result struct {
		net.Listener
		error
	}
	done := make(chan result)
	go func() {
		runtime.LockOSThread() // and never back: the thread stays in the namespace
		ns, err := netns.GetFromName(namespace)
		if err == nil {
			err = netns.Set(ns)
			ns.Close()
		}
		if err != nil {
			done <- result{nil, err}
			return
		}
		// A daemon that was killed may take a moment to let go of its port.
		l, err := net.Listen("tcp", addr)
		for until := time.Now().Add(20 * time.Second); errors.Is(err, unix.EADDRINUSE) && time.Now().Before(until); {
			<-time.After(50 * time.Millisecond)
			l, err = net.Listen("tcp", addr)
		}
		done <- result{l, err}
	}()
	r := <-done
	if r.error != nil {
		t.Fatal(r.error)
	}
	return r.Listener
}

// jobs runs one job whose containers start from the class-data archive, which
// -Xshare:on insists on, and one that wants its own classes first and so goes
// without.
func jobs(ctx context.Context, t *testing.T, l *lab.Lab) {
	if !l.ClassDataSharing() {
		t.Error("the lab runs without class-data sharing")
	}
	jar := labtest.Examples(t, l.Cluster().Hadoop.Home)
	for _, opts := range [][]string{
		{"-Dmapreduce.map.java.opts=-Xmx200m -Xshare:on", "-Dyarn.app.mapreduce.am.command-opts=-Xmx256m -Xshare:on"},
		{"-Dmapreduce.job.user.classpath.first=true"},
	} {
		args := append([]string{"hadoop", "jar", jar, "pi"}, append(opts, "1", "10")...)
		out, err := l.Command(ctx, "master", args...).CombinedOutput()
		if err != nil || !strings.Contains(string(out), "Estimated value of Pi") {
			t.Errorf("%v: %v\n%s", opts, err, out)
		}
	}
}

func getJSON(t *testing.T, url string, into any) {
	t.Helper()
	resp := must(http.Get(url))
	defer resp.Body.Close()
	if err := json.NewDecoder(resp.Body).Decode(into); err != nil {
		t.Fatalf("%s: %v", url, err)
	}
}

func waitFor(t *testing.T, limit time.Duration, what string, done func() bool) {
	t.Helper()
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for stop := time.After(limit); !done(); {
		select {
		case <-tick.C:
		case <-stop:
			t.Fatalf("waited %v for %s", limit, what)
		}
	}
}
