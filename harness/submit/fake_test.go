package submit

import (
	"context"
	"errors"
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
	"heddle/collectors/hdfs/jobsplit"
	"heddle/collectors/yarn"
	"heddle/yarnclient"
	"heddle/yarnclient/yarntest"
)

// memory is HDFS in memory. Each change of it takes 1 ms of its own clock.
type memory struct {
	mu      sync.Mutex
	user    string
	now     time.Time
	entries map[string]hdfs.File
	content map[string]string
	writes  int
	reads   int
	// fail is asked before every call, and the call fails with its error.
	fail func(call, name string) error
}

func newMemory() *memory {
	return &memory{
		user: "ann", now: time.UnixMilli(1000), content: map[string]string{}, fail: func(string, string) error { return nil },
		entries: map[string]hdfs.File{"/": {Path: "/", Dir: true, Mode: 0o755}},
	}
}

func (m *memory) begin(call, name string) (done func(), err error) {
	m.mu.Lock()
	m.now = m.now.Add(time.Millisecond)
	if err := m.fail(call, name); err != nil {
		m.mu.Unlock()
		return nil, &fs.PathError{Op: call, Path: name, Err: err}
	}
	return m.mu.Unlock, nil
}

func (m *memory) Stat(_ context.Context, name string) (hdfs.File, error) {
	done, err := m.begin("stat", name)
	if err != nil {
		return hdfs.File{}, err
	}
	defer done()
	f, ok := m.entries[name]
	if !ok {
		return f, &fs.PathError{Op: "stat", Path: name, Err: fs.ErrNotExist}
	}
	return f, nil
}

func (m *memory) Mkdir(_ context.Context, folder string, mode fs.FileMode) error {
	done, err := m.begin("mkdir", folder)
	if err != nil {
		return err
	}
	defer done()
	for ; m.entries[folder].Path == ""; folder = path.Dir(folder) {
		m.entries[folder] = hdfs.File{Path: folder, Dir: true, Mode: mode, Owner: m.user, Modified: m.now}
		mode = 0o755
	}
	return nil
}

func (m *memory) Chmod(_ context.Context, name string, mode fs.FileMode) error {
	done, err := m.begin("chmod", name)
	if err != nil {
		return err
	}
	defer done()
	f := m.entries[name]
	f.Mode = mode
	m.entries[name] = f
	return nil
}

func (m *memory) Open(_ context.Context, name string) (io.ReadCloser, error) {
	done, err := m.begin("open", name)
	if err != nil {
		return nil, err
	}
	defer done()
	m.reads++
	return io.NopCloser(strings.NewReader(m.content[name])), nil
}

func (m *memory) Write(_ context.Context, name string, r io.Reader, mode fs.FileMode) error {
	b, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	done, err := m.begin("write", name)
	if err != nil {
		return err
	}
	defer done()
	if !m.entries[path.Dir(name)].Dir {
		return fs.ErrNotExist
	}
	m.writes++
	m.content[name] = string(b)
	m.entries[name] = hdfs.File{Path: name, Length: int64(len(b)), Mode: mode, Owner: m.user, Modified: m.now, Replication: 1}
	return nil
}

func (m *memory) SetReplication(_ context.Context, name string, replicas int) error {
	done, err := m.begin("setReplication", name)
	if err != nil {
		return err
	}
	defer done()
	f := m.entries[name]
	f.Replication = replicas
	m.entries[name] = f
	return nil
}

func (m *memory) Rename(_ context.Context, from, to string) error {
	done, err := m.begin("rename", to)
	if err != nil {
		return err
	}
	defer done()
	if _, exists := m.entries[to]; exists {
		return fs.ErrExist
	}
	for name, f := range maps.Clone(m.entries) { // a folder takes with it what is in it
		if rest, below := strings.CutPrefix(name, from); below && (rest == "" || rest[0] == '/') {
			f.Path = to + rest
			m.entries[f.Path] = f
			if content, there := m.content[name]; there {
				m.content[f.Path] = content
			}
			delete(m.entries, name)
			delete(m.content, name)
		}
	}
	return nil
}

func (m *memory) RemoveAll(_ context.Context, folder string) error {
	done, err := m.begin("remove", folder)
	if err != nil {
		return err
	}
	defer done()
	gone := func(name string) bool { return name == folder || strings.HasPrefix(name, folder+"/") }
	maps.DeleteFunc(m.entries, func(name string, _ hdfs.File) bool { return gone(name) })
	maps.DeleteFunc(m.content, func(name, _ string) bool { return gone(name) })
	return nil
}

// left are the names below a folder.
func (m *memory) left(folder string) []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	var names []string
	for _, name := range slices.Sorted(maps.Keys(m.entries)) {
		if strings.HasPrefix(name, folder+"/") {
			names = append(names, name)
		}
	}
	return names
}

const stagingOfAnn = "/tmp/hadoop-yarn/staging/ann/.staging"

// fixture is a Submitter of a fake cluster.
type fixture struct {
	*Submitter
	hdfs *memory
	yarn *yarntest.Fake
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	fake := yarntest.New(yarntest.Config{
		Nodes: yarntest.Workers(1, 2, 4096, 8), Queues: []string{"default", "replay"},
		Labels: []string{"a00"},
	})
	rm := must(yarnclient.NewRM(yarnclient.Options{Addresses: []string{"rm:8088"}, User: "ann", Transport: fake.Transport(), Retries: -1}))
	m := newMemory()
	s := newSubmitter(rm, m, "ann", yarn.Conf{
		"fs.defaultFS": "hdfs://master:8020", "mapreduce.job.queuename": "replay",
		"yarn.app.mapreduce.am.resource.mb": "512",
	})
	s.opens = true
	s.jar = cacheFile{path: "/heddle/shared/0-hadoop-streaming-3.4.2.jar", bytes: 5, modifiedMs: 6, public: true}
	return &fixture{s, m, fake}
}

func job(name string) Job {
	return Job{
		Name: name, Mapper: "/bin/cat -n", Reducer: "/bin/cat", Reduces: 2, Output: "/out/" + name,
		Splits:   []jobsplit.Split{{Path: "hdfs://master:8020/in", Length: 7}, {Path: "hdfs://master:8020/in", Offset: 7, Length: 3}},
		Hosts:    [][]string{{"r1n1"}, {"r1n2"}},
		Settings: map[string]string{"mapreduce.job.tags": "a,b"},
	}
}

// apps are the states of all applications of the fake cluster.
func (f *fixture) apps(t *testing.T) []string {
	t.Helper()
	apps := must(f.rm.Apps(t.Context(), yarnclient.AppFilter{}))
	var states []string
	for _, a := range apps {
		states = append(states, a.State)
	}
	return states
}

var errFull = errors.New("the disks are full")
