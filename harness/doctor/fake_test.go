package doctor

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"heddle/collectors/hdfs"
	"heddle/collectors/node/agent"
	"heddle/harness/config"
	"heddle/harness/lease/leasetest"
	"heddle/traces/errtest"
)

// fake is a cluster that answers as Hadoop 3.4.2 did (testdata/3.4.2, recorded
// on three nodes), with settings and failures that a test chooses.
type fake struct {
	t *testing.T
	// conf and historyConf are the daemons' settings.
	conf, historyConf map[string]string
	// instead maps a path, without what all of a daemon begin with, to another answer.
	instead map[string]reply
	// down are daemons that take no connection: rm, history, namenode.
	down map[string]bool

	hdfs   fakeHDFS
	files  *leasetest.Files
	agents []*agent.Info // nil: it refuses the token
	// agentTLS says of agents by their place what does not fit of their TLS.
	agentTLS map[int]tlsMismatch
	cluster  config.Cluster

	names []string // old and new, for strings.NewReplacer: what differs from run to run
}

// tlsMismatch is between how an agent runs and what the cluster file says.
type tlsMismatch int

const (
	agentTLSUnasked tlsMismatch = iota + 1 // it serves TLS, the URL is http
	agentPlainAsked                        // it serves no TLS, the URL is https
	agentUnknownCA                         // both are TLS, caFile is missing
	agentGone                              // nothing listens
	agentHostile                           // it answers with what a terminal would obey
)

type reply struct {
	status int
	body   string // where it leads, of a redirect
}

func (f *fake) says(path, body string)                  { f.instead[path] = reply{200, body} }
func (f *fake) refuses(path string, s int, body string) { f.instead[path] = reply{s, body} }

// says and refuses are changes of a fake that make it give one answer.
func says(path, body string) func(*fake) { return refuses(path, 200, body) }

func refuses(path string, status int, body string) func(*fake) {
	return func(f *fake) { f.refuses(path, status, body) }
}

// fakeHDFS answers with the errors set, or as the recorded cluster did.
type fakeHDFS struct {
	root, disks error
	folders     map[string]error
	nodes       []hdfs.DataNode
	pools       []hdfs.CachePool
}

func (f *fakeHDFS) Stat(_ context.Context, path string) (hdfs.File, error) {
	if path == "/" {
		return hdfs.File{Path: path, Dir: true}, f.root
	}
	return hdfs.File{Path: path, Dir: true}, f.folders[path]
}

func (f *fakeHDFS) Locations(_ context.Context, path string) iter.Seq2[hdfs.File, error] {
	return func(yield func(hdfs.File, error) bool) {
		if err := f.folders[path]; err != nil {
			yield(hdfs.File{}, fmt.Errorf("block locations of hdfs %s: %w", path, err))
		}
	}
}

func (f *fakeHDFS) DataNodes(context.Context) ([]hdfs.DataNode, error)   { return f.nodes, f.disks }
func (f *fakeHDFS) CachePools(context.Context) ([]hdfs.CachePool, error) { return f.pools, nil }

const stagingRoot = "/tmp/hadoop-yarn/staging"

// newFake is a cluster that has everything.
func newFake(t *testing.T) *fake {
	f := &fake{
		t: t,
		conf: map[string]string{
			"hadoop.security.authentication":                                    "simple",
			"yarn.admin.acl":                                                    "*",
			"yarn.node-labels.enabled":                                          "true",
			"yarn.node-labels.configuration-type":                               "centralized",
			"yarn.node-labels.fs-store.root-dir":                                "file:///var/lib/hadoop-yarn/node-labels",
			"yarn.resourcemanager.node-labels.am.default-node-label-expression": "am",
			"yarn.cluster.max-application-priority":                             "100",
			"yarn.scheduler.configuration.store.class":                          "memory",
		},
		historyConf: map[string]string{
			"mapreduce.jobhistory.done-dir":              stagingRoot + "/history/done",
			"mapreduce.jobhistory.intermediate-done-dir": stagingRoot + "/history/done_intermediate",
			"mapreduce.jobhistory.jhist.format":          "json",
			"yarn.app.mapreduce.am.staging-dir":          stagingRoot,
		},
		instead: map[string]reply{}, agentTLS: map[int]tlsMismatch{},
		down: map[string]bool{}, files: leasetest.New(),
		hdfs: fakeHDFS{folders: map[string]error{}, nodes: []hdfs.DataNode{
			{Host: "r1n1", Live: true, CacheCapacity: 64 << 20}, {Host: "r1n2", Live: true, CacheCapacity: 64 << 20},
		}},
		cluster: config.Cluster{Name: "blue", User: "bench", NameNodes: []string{"namenode:8020"}, Hosts: map[string]string{}},
	}
	for _, name := range []string{"master", "r1n1", "r1n2"} {
		var info agent.Info
		mustDo(t, json.Unmarshal(recorded(t, "agent-info.json"), &info))
		info.Node = name
		f.agents = append(f.agents, &info)
		f.cluster.Agents = append(f.cluster.Agents, config.Agent{Node: name})
	}
	f.installClient(t, "3.4.2")
	return f
}

// installClient makes a Hadoop client that tells its version.
func (f *fake) installClient(t *testing.T, version string) {
	home := t.TempDir()
	f.names = append(f.names, home, "/opt/hadoop")
	write := func(name, content string, mode os.FileMode) {
		path := filepath.Join(home, name)
		mustDo(t, os.MkdirAll(filepath.Dir(path), 0o755))
		mustDo(t, os.WriteFile(path, []byte(content), mode))
	}
	write("bin/hadoop", "#!/bin/sh\necho Hadoop "+version+"\n", 0o755)
	write("share/hadoop/mapreduce/hadoop-mapreduce-examples-"+version+".jar", "jar", 0o644)
	write("etc/core-site.xml", "<configuration/>", 0o644)
	f.cluster.Hadoop = config.Hadoop{Home: home, Conf: filepath.Join(home, "etc")}
}

// recorded is a file of testdata/3.4.2, unpacked.
func recorded(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata/3.4.2", name))
	if err == nil && strings.HasSuffix(name, ".gz") {
		var z io.Reader
		if z, err = gzip.NewReader(bytes.NewReader(data)); err == nil {
			data, err = io.ReadAll(z)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// examine starts the daemons and examines them.
func (f *fake) examine(t *testing.T) *Report {
	t.Helper()
	e := f.start(t)
	defer e.Close()
	return e.report(t.Context())
}

// start starts the daemons.
func (f *fake) start(t *testing.T) *examiner {
	t.Helper()
	rm := f.serve(t, "rm", "http://rm:8088", map[string]string{
		"/ws/v1/cluster/info":            "info.json",
		"/ws/v1/cluster/nodes":           "nodes.json",
		"/ws/v1/cluster/scheduler":       "scheduler.json.gz",
		"/ws/v1/cluster/scheduler-conf":  "scheduler-conf.xml.gz",
		"/ws/v1/cluster/get-node-labels": "get-node-labels.xml.gz",
		"/jmx":                           "runtime.json",
	}, f.conf)
	history := f.serve(t, "history", "http://history:19888", map[string]string{"/ws/v1/history/info": "history-info.json"}, f.historyConf)
	namenode := f.serve(t, "namenode", "http://namenode:9870", map[string]string{"/jmx": "namenode-info.json"}, nil)
	f.conf["dfs.namenode.http-address"] = strings.TrimPrefix(namenode, "http://")
	f.cluster.ResourceManagers, f.cluster.HistoryServer = append([]string{rm}, f.cluster.ResourceManagers...), history
	f.serveAgents(t)
	mustDo(t, f.cluster.Validate())
	e := errtest.Must(newExaminer(&f.cluster))
	e.hdfs, e.files = &f.hdfs, f.files
	return e
}

func (f *fake) serve(t *testing.T, daemon, name string, files, conf map[string]string) string {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer := func(a reply) {
			if a.status == http.StatusFound {
				w.Header().Set("Location", a.body)
			}
			w.WriteHeader(a.status)
			io.WriteString(w, a.body)
		}
		if a, ok := f.instead[strings.TrimPrefix(strings.TrimPrefix(r.URL.Path, "/ws/v1/"), "cluster/")]; ok {
			answer(a)
			return
		}
		if r.URL.Path == "/conf" {
			property := r.URL.Query().Get("name")
			value, ok := conf[property]
			if !ok {
				answer(reply{404, ""})
				return
			}
			body, _ := json.Marshal(map[string]any{"property": map[string]any{
				"key": property, "value": value, "isFinal": false,
				"resource": "x-site.xml",
			}})
			answer(reply{200, string(body)})
			return
		}
		file, ok := files[r.URL.Path]
		if !ok {
			answer(reply{404, "<html><body>not found</body></html>"})
			return
		}
		answer(reply{200, string(recorded(t, file))})
	}))
	t.Cleanup(s.Close)
	if f.down[daemon] {
		s.Close()
	}
	f.names = append(f.names, s.URL, name, strings.TrimPrefix(s.URL, "http://"), strings.TrimPrefix(name, "http://"))
	return s.URL
}

func (f *fake) serveAgents(t *testing.T) {
	token := filepath.Join(t.TempDir(), "token")
	errtest.Must(agent.CreateToken(token))
	f.names = append(f.names, token, "/etc/heddle/agent.token")
	secrets := errtest.Must(agent.ReadTokens(token))
	for i := range f.cluster.Agents {
		info := f.agents[i]
		s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if info == nil || r.Header.Get("Authorization") != "Bearer "+secrets[0] {
				http.Error(w, "token", http.StatusUnauthorized)
				return
			}
			w.Header().Set("Content-Type", "application/json")
			if f.agentTLS[i] == agentHostile {
				w.WriteHeader(http.StatusInternalServerError)
				w.Write([]byte(`{"error":"\u001b]0;owned\u0007\u001b[2J"}`))
				return
			}
			now := *info
			now.NowWallNs += time.Now().UnixNano()
			json.NewEncoder(w).Encode(now)
		}))
		s.Config.ErrorLog = log.New(io.Discard, "", 0) // failed handshakes
		scheme := "http"
		switch f.agentTLS[i] {
		case agentTLSUnasked:
			s.StartTLS()
		case agentUnknownCA:
			s.StartTLS()
			scheme = "https"
		case agentPlainAsked:
			s.Start()
			scheme = "https"
		case agentGone:
			s.Start()
			s.Close()
		default:
			s.Start()
		}
		t.Cleanup(s.Close)
		s.URL = scheme + "://" + s.Listener.Addr().String()
		f.cluster.Agents[i].URL, f.cluster.Agents[i].TokenFile = s.URL, token
		name := scheme + "://" + f.cluster.Agents[i].Node + ":9177"
		f.names = append(f.names, s.URL, name, s.Listener.Addr().String(), f.cluster.Agents[i].Node+":9177")
	}
}

var (
	errDenied  = fmt.Errorf("NameNode namenode:8020: Permission denied: %w", fs.ErrPermission)
	errMissing = fmt.Errorf("NameNode namenode:8020: File does not exist: %w", fs.ErrNotExist)
)
