package change

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"heddle/collectors/hdfs"
	"heddle/collectors/hdfs/jobsplit"
	"heddle/harness/clients"
	"heddle/harness/config"
	"heddle/harness/internal/units"
	"heddle/harness/lab"
	"heddle/harness/lab/labtest"
	"heddle/harness/lease"
	"heddle/harness/submit"
	"heddle/traces"
	"heddle/yarnclient"
)

// changeEnv makes this test binary a harness that changes the cluster of a file until
// it is killed. Its value is the file, a space and a seed.
const changeEnv = "HEDDLE_TEST_CHANGE"

// killInput is the input of the jobs that are killed.
const killInput = "/kills/input"

// changeUntilKilled makes changes of all kinds, in an order by the seed, again and again.
func changeUntilKilled(what string) error {
	file, seed, _ := strings.Cut(what, " ")
	number, err := strconv.ParseUint(seed, 10, 64)
	if err != nil {
		return err
	}
	random := rand.New(rand.NewPCG(number, 1))
	ctx := context.Background()
	c, err := config.LoadCluster(file)
	if err != nil {
		return err
	}
	cluster, err := Connect(c)
	if err != nil {
		return err
	}
	to, err := clients.To(c, clients.Patience{})
	if err != nil {
		return err
	}
	submitter, err := submit.New(ctx, to)
	if err != nil {
		return err
	}
	h, err := Take(ctx, cluster, Options{Purpose: "a test of kills"})
	if err != nil {
		return err
	}
	nodes, err := cluster.RM.Nodes(ctx, "RUNNING")
	if err != nil {
		return err
	}
	nodes = slices.DeleteFunc(nodes, func(n yarnclient.Node) bool { return n.Label() != "" })
	slices.SortFunc(nodes, func(a, b yarnclient.Node) int { return strings.Compare(a.ID, b.ID) })
	worker := func() yarnclient.Node { return nodes[random.IntN(len(nodes))] }
	all := []func() error{
		func() error { return h.AddLabels(ctx, fmt.Sprintf("r5%d", random.IntN(3))) },
		func() error {
			return h.ReplaceLabels(ctx, map[string]string{worker().ID: []string{"idle", "m00", "r00"}[random.IntN(3)]})
		},
		func() error {
			return h.SetNodeResource(ctx, worker().ID, yarnclient.Resource{MemoryMB: 512 * int64(1+random.IntN(2)), VCores: 1 + random.IntN(4)})
		},
		func() error {
			return h.SetSchedulerConf(ctx, yarnclient.SchedulerChange{Global: map[string]string{localityDelay: fmt.Sprint(1 + random.IntN(30))}})
		},
		func() error {
			pool, err := h.AddCachePool(ctx)
			if err != nil {
				return err
			}
			_, err = to.HDFS.AddCacheDirective(ctx, hdfs.CacheDirective{Path: killInput, Pool: pool, Replicas: 1})
			return err
		},
		func() error {
			tag, err := h.Tag(ctx)
			if err != nil {
				return err
			}
			_, err = submitter.Submit(ctx, submit.Job{
				Name: "killed", Mapper: "sleep 600", Splits: []jobsplit.Split{{Path: "hdfs://" + c.NameNodes[0] + killInput, Length: 1}},
				Settings: map[string]string{"mapreduce.job.tags": tag + "-1"}, Output: DataRoot + "/streaming/output-" + tag + "-1",
			})
			return err
		},
		func() error { return faultOn(ctx, h, config.FaultSlow, worker().Host, 0.5) },
		func() error { return faultOn(ctx, h, config.FaultDown, nodes[len(nodes)-1].Host, 0) }, // the first ones restore
	}
	fmt.Println("changing")
	for {
		random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		for _, change := range all {
			if err := change(); err != nil {
				fmt.Fprintln(os.Stderr, err) // a node that is down takes no job; the next change may work
			}
			if err := h.Alive(); err != nil {
				return err
			}
		}
	}
}

func faultOn(ctx context.Context, h *Hold, what, host string, speed float64) error {
	if err := h.NoteFaults(ctx, what, []traces.Node{traces.Node(host)}); err != nil {
		return err
	}
	_, err := h.Fault(ctx, what, traces.Node(host), speed)
	return err
}

// TestKills kills a harness at random moments while it changes a cluster, HEDDLE_KILLS
// times, and has 'heddle restore' in the network of another host put the cluster back.
// Then all that can be changed is as before, as read anew. HEDDLE_SEED says which moments
// and changes; each seed has a lab of its own, so that several series can run at a time.
// A kill takes about a minute, most of which the lease of the dead is waited for.
func TestKills(t *testing.T) {
	labtest.Long(t)
	count, seed := number(t, "HEDDLE_KILLS", 5), number(t, "HEDDLE_SEED", 1)
	ctx := t.Context()
	l := labtest.Own(t, fmt.Sprintf("kills-%d", seed), func(c *lab.Config) { c.NodeExpiry = units.Duration(15 * time.Second) })
	file := l.Cluster()
	to := must(clients.To(&file, clients.Patience{}))
	defer to.Close()
	mustDo(t, to.HDFS.WriteFile(ctx, killInput, strings.NewReader("a line\n"), hdfs.WriteOptions{}))
	if _, err := submit.New(ctx, to); err != nil { // shares a jar, which stays
		t.Fatal(err)
	}
	if err := to.HDFS.Mkdir(ctx, DataRoot+"/streaming", 0o755); err != nil { // stays, too: only what is in it is of one run
		t.Fatal(err)
	}
	y := newYard(ctx, t, l)
	before, told := y.whole(t, to), y.told(t)
	random := rand.New(rand.NewPCG(uint64(seed), 0))
	kinds, good := map[Kind]int{}, 0
	for i := range count {
		moment := time.Duration(random.Int64N(int64(12 * time.Second)))
		victim := exec.Command(os.Args[0])
		victim.Env = append(os.Environ(), fmt.Sprintf("%s=%s %d", changeEnv, l.ClusterFile(), random.Uint32()))
		var said bytes.Buffer
		victim.Stderr = &said
		out, err := victim.StdoutPipe()
		mustDo(t, err)
		mustDo(t, victim.Start())
		line, err := bufio.NewReader(out).ReadString('\n')
		if err != nil || line != "changing\n" {
			_ = victim.Process.Kill()
			_ = victim.Wait()
			t.Fatalf("kill %d: the harness said %q, %v\n%s", i+1, line, err, said.String())
		}
		<-time.After(moment)
		_ = victim.Process.Kill()
		_ = victim.Wait() // killed
		killed := time.Now()
		journal := must(ReadJournal(ctx, y.cluster.Files))
		for _, c := range journal.Changes {
			kinds[c.Kind]++
		}
		restore := l.Command(ctx, "r1n1", y.binary, "restore", "--json", "--cluster", l.ClusterFile())
		restore.Env = append(restore.Env, "HOME="+t.TempDir())
		var stderr bytes.Buffer
		restore.Stderr = &stderr
		result, err := restore.Output()
		var r Report
		if jerr := json.Unmarshal(result, &r); err != nil || jerr != nil {
			t.Errorf("kill %d, %v after its start: restore: %v, %v\n%s%s", i+1, moment, err, jerr, stderr.String(), result)
		}
		took := time.Since(killed).Round(time.Second)
		if diff := cmp.Diff(before, y.whole(t, to)); diff != "" {
			t.Errorf("kill %d, %v after its start, with %v noted: not as before:\n%s\nthe harness said:\n%s", i+1, moment, journal.Changes, diff,
				said.String())
			if out, err := y.heddle("restore"); err != nil {
				t.Fatalf("a second restore: %v\n%s", err, out)
			}
			if diff := cmp.Diff(before, y.whole(t, to)); diff != "" {
				t.Fatalf("a second restore does not mend it:\n%s", diff)
			}
		} else if err == nil {
			good++
		}
		t.Logf("kill %d after %v: %d noted, %d put back, %d as before, in %v; %d good so far", i+1, moment.Round(time.Millisecond),
			len(journal.Changes), len(r.Back), len(r.Same), took, good)
	}
	t.Logf("%d of %d as before; noted in all: %v", good, count, kinds)
	if d := cmp.Diff(told, y.told(t)); d != "" {
		t.Errorf("Hadoop's own commands tell another thing than before:\n%s", d)
	}
}

func number(t *testing.T, variable string, otherwise int) int {
	text := os.Getenv(variable)
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("%s=%s: want a whole number from 1", variable, text)
	}
	return n
}

// whole is all of a cluster that a harness may change.
type whole struct {
	State         state
	Running, Live []string // hosts of NodeManagers and of DataNodes
	Apps          []string // applications that have not ended
	Pools, Files  []string
	Cached        int64             // bytes that DataNodes cache
	Groups        map[string]string // by node, the limits of its control group
	Links         map[string]string // by node, the shaping of its link
}

// whole reads the cluster's state. What a cluster shows only a little later, such as an
// empty cache, is waited for.
func (y *yard) whole(t *testing.T, to *clients.Clients) (w whole) {
	t.Helper()
	ctx := t.Context()
	w = whole{State: y.state(), Groups: map[string]string{}, Links: map[string]string{}}
	check := func(err error) {
		t.Helper()
		mustDo(t, err)
	}
	nodes, err := to.RM.Nodes(ctx, "RUNNING")
	check(err)
	for _, n := range nodes {
		w.Running = append(w.Running, n.Host)
	}
	apps, err := to.RM.Apps(ctx, yarnclient.AppFilter{States: yarnclient.Unfinished})
	check(err)
	for _, a := range apps {
		w.Apps = append(w.Apps, a.ID)
	}
	for limit := time.Now().Add(20 * time.Second); ; <-time.After(500 * time.Millisecond) {
		w.Live, w.Cached = nil, 0
		disks, err := to.HDFS.DataNodes(ctx)
		check(err)
		for _, d := range disks {
			w.Cached += d.CacheUsed
			if d.Live {
				w.Live = append(w.Live, d.Host)
			}
		}
		if w.Cached == 0 && len(w.Live) == len(disks) || time.Now().After(limit) {
			break
		}
	}
	pools, err := to.HDFS.CachePools(ctx)
	check(err)
	for _, p := range pools {
		w.Pools = append(w.Pools, p.Name)
	}
	for _, root := range []string{DataRoot, y.cluster.Staging} {
		w.Files = append(w.Files, tree(t, to.HDFS, root)...)
	}
	for name := range y.lab.Cluster().Hosts {
		out, err := y.lab.Command(ctx, name, "tc", "qdisc", "show").CombinedOutput()
		check(err)
		w.Links[name] = string(out)
		for _, limits := range []string{
			"/sys/fs/cgroup/cpu/heddle/*/" + name + "/cpu.cfs_quota_us",
			"/sys/fs/cgroup/heddle/*/" + name + "/cpu.max",
		} {
			found, err := filepath.Glob(strings.Replace(limits, "*", y.lab.Name, 1))
			check(err)
			for _, f := range found {
				data, err := os.ReadFile(f)
				check(err)
				w.Groups[name] += string(data)
			}
		}
	}
	for _, list := range []*[]string{&w.Running, &w.Live, &w.Apps, &w.Pools, &w.Files} {
		slices.Sort(*list)
	}
	return w
}

// tree lists what is in a folder of HDFS, but for leases.
func tree(t *testing.T, h *hdfs.Client, folder string) (list []string) {
	t.Helper()
	entries, err := h.List(t.Context(), folder)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.Path == lease.Root {
			continue
		}
		list = append(list, fmt.Sprint(e.Path, " ", e.Length))
		if e.Dir {
			list = append(list, tree(t, h, e.Path)...)
		}
	}
	return list
}

// told is what Hadoop's own commands tell of the cluster.
func (y *yard) told(t *testing.T) (list []string) {
	t.Helper()
	for _, command := range []string{
		"hdfs cacheadmin -listPools", "hdfs cacheadmin -listDirectives", "yarn application -list", "yarn cluster --list-node-labels",
		"hdfs dfs -ls -R " + DataRoot + "/streaming " + y.cluster.Staging,
	} {
		cmd := y.lab.Command(t.Context(), "r1n1", strings.Fields(command)...)
		out, err := cmd.Output()
		if err != nil && !strings.Contains(command, "-ls") {
			t.Fatalf("%s: %v", command, err)
		}
		words := strings.Fields(strings.ReplaceAll(string(out), ",", " "))
		slices.Sort(words) // labels come in any order
		list = append(list, command+": "+strings.Join(words, " "))
	}
	return list
}
