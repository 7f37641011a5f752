package change

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"heddle/collectors/hdfs"
	"heddle/harness/config"
	"heddle/harness/lease"
	"heddle/harness/lease/leasetest"
	"heddle/yarnclient/yarntest"
)

// fakeHDFS is an HDFS in memory with cache pools.
type fakeHDFS struct {
	files *leasetest.Files
	mu    sync.Mutex
	pools map[string]bool
}

func newFakeHDFS(files *leasetest.Files) *fakeHDFS {
	return &fakeHDFS{files: files, pools: map[string]bool{"theirs": true}}
}

func (f *fakeHDFS) DataNodes(context.Context) ([]hdfs.DataNode, error) { return nil, fs.ErrPermission }

func (f *fakeHDFS) CachePools(context.Context) (pools []hdfs.CachePool, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for name := range f.pools {
		pools = append(pools, hdfs.CachePool{Name: name})
	}
	return pools, nil
}

func (f *fakeHDFS) AddCachePool(_ context.Context, p hdfs.CachePool) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.pools[p.Name] = true
	return nil
}

func (f *fakeHDFS) RemoveCachePool(_ context.Context, name string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.pools[name] {
		return fs.ErrInvalid
	}
	delete(f.pools, name)
	return nil
}

func (f *fakeHDFS) List(ctx context.Context, folder string) (list []hdfs.File, err error) {
	names, err := f.files.Names(ctx, folder)
	for _, name := range names {
		_, ferr := f.files.Read(ctx, path.Join(folder, name))
		list = append(list, hdfs.File{Path: path.Join(folder, name), Dir: ferr != nil})
	}
	return list, err
}

func (f *fakeHDFS) Open(ctx context.Context, name string) (io.ReadCloser, error) {
	data, err := f.files.Read(ctx, name)
	return io.NopCloser(bytes.NewReader(data)), err
}

func (f *fakeHDFS) RemoveAll(ctx context.Context, name string) error {
	return f.files.RemoveAll(ctx, name)
}

// tree lists all files and folders, but those of leases.
func (f *fakeHDFS) tree(t testing.TB, folder string) (list []string) {
	t.Helper()
	entries := must(f.List(context.Background(), folder))
	for _, e := range entries {
		if e.Path == lease.Root {
			continue
		}
		list = append(list, e.Path)
		if e.Dir {
			list = append(list, f.tree(t, e.Path)...)
		}
	}
	return list
}

// fakeFaults carries out the faults of a cluster file's commands.
type fakeFaults struct {
	yarn *yarntest.Fake
	mu   sync.Mutex
	slow map[string]bool
	ran  int // how many commands ran
}

var faultCommands = &config.FaultCommands{
	NodeDown: []string{"down", "{node}"}, NodeUp: []string{"up", "{node}"},
	NodeSlow: []string{"slow", "{node}", "{speed}"},
}

func (f *fakeFaults) run(_ context.Context, command []string) ([]byte, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ran++
	switch node := command[1]; command[0] {
	case "down":
		f.yarn.StopNode(node)
	case "up":
		f.yarn.StartNode(node)
	case "slow":
		f.slow[node] = command[2] != "1"
		if !f.slow[node] {
			delete(f.slow, node)
		}
	}
	return nil, nil
}

const staging = "/user/me/.staging"

// write makes a file and the folders above it.
func (w *world) write(ctx context.Context, name, content string) error {
	if err := w.files.MkdirAll(ctx, path.Dir(name)); err != nil {
		return err
	}
	return w.files.Create(ctx, name, []byte(content))
}

func jobXML(tags string) string {
	return fmt.Sprintf("<configuration><property><name>mapreduce.job.tags</name><value>%s</value></property></configuration>", tags)
}

// theirs makes files that are nobody's business, some of them with names like ours,
// and a job that runs through every test.
func (w *world) theirs(t testing.TB) {
	t.Helper()
	for name, content := range map[string]string{
		"/user/bob/thesis": "", "/data/heddle-lab1-0123456789abcdef-1/part": "", "/heddle/trace/input/day/part-0": "",
		"/heddle/hibench/1GiB/Wordcount/Input/part-0": "", "/heddle/trace/output/heddle-lab1-0123456789abcdef-1/part": "",
		staging + "/job_1_0001/job.xml": jobXML("nightly"), staging + "/job_1_0002/job.split": "", staging + "/job_1_0003/job.xml": "not XML",
	} {
		mustDo(t, w.write(t.Context(), name, content))
	}
	hours := func(string, int, int) (time.Duration, bool) { return 100 * time.Hour, false }
	must(w.yarn.Submit(yarntest.Job{Tags: "nightly", Maps: make([][]string, 1), Run: hours}))
}

// submit submits a job as a run does: what it makes is in the staging folder and in a
// folder of outputs.
func (w *world) submit(ctx context.Context, h *Hold) error {
	tag, err := h.Tag(ctx)
	if err != nil {
		return err
	}
	for i, job := range []string{tag + "-prep", tag + "-1", tag + "-2"} {
		if err := w.write(ctx, fmt.Sprintf("%s/job_%s/job.xml", staging, job), jobXML("other,"+job)); err != nil {
			return err
		}
		if err := w.files.MkdirAll(ctx, staging+"/job_9_0001."+job); err != nil { // what a kill leaves before job.xml is written
			return err
		}
		if _, err := w.yarn.Submit(yarntest.Job{Tags: job, Maps: make([][]string, 40)}); err != nil {
			return err
		}
		if err := w.write(ctx, []string{"/heddle/trace/output/", "/heddle/hibench/1GiB/Wordcount/Output-", "/heddle/streaming/output-"}[i]+job+
			"/part", ""); err != nil {
			return err
		}
	}
	return nil
}

func (w *world) unfinishedApps(t testing.TB) (tags []string) {
	t.Helper()
	apps := must(unfinishedApps(context.Background(), w.rm))
	for _, a := range apps {
		tags = append(tags, a.Tags)
	}
	slices.Sort(tags)
	return tags
}

// rest is what the state of YARN does not tell.
func (w *world) rest(t testing.TB) []string {
	w.faults.mu.Lock()
	defer w.faults.mu.Unlock()
	var list []string
	for node := range w.faults.slow {
		list = append(list, "slow "+node)
	}
	for pool := range maps.Keys(w.hdfs.pools) {
		list = append(list, "pool "+pool)
	}
	nodes := must(w.rm.Nodes(context.Background(), "RUNNING"))
	for _, n := range nodes {
		list = append(list, "runs "+n.Host)
	}
	for _, tag := range w.unfinishedApps(t) {
		list = append(list, "app "+tag)
	}
	for _, name := range w.hdfs.tree(t, "/") {
		if name != DataRoot && path.Dir(name) != DataRoot && !strings.HasPrefix(name, staging) || strings.Contains(name, "heddle-") {
			list = append(list, name)
		}
	}
	slices.Sort(list)
	return list
}
