package capture

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"heddle/collectors/hdfs"
	"heddle/collectors/hdfs/jobsplit"
	"heddle/collectors/yarn"
	"heddle/harness/clients"
	"heddle/harness/config"
	"heddle/harness/watch"
	"heddle/traces"
	"heddle/yarnclient"
	"heddle/yarnclient/yarntest"
)

const (
	splitBytes = 100
	class      = "org.apache.hadoop.mapreduce.lib.input.FileSplit"
)

// cluster is a fake one, HDFS included: each map reads a block of its own, of
// the job's file, on the hosts of its split.
type cluster struct {
	*testing.T
	*yarntest.Fake
	clients *clients.Clients
	watch   *watch.Watcher
	folder  *os.Root
	change  Options // of Start

	mu      sync.Mutex
	jobs    map[traces.JobID]yarntest.Job
	cached  map[string]bool // hosts that cache all they have
	noNames bool            // the NameNode does not answer
	late    time.Duration   // from a job's end to its history
	ended   map[traces.JobID]time.Time
}

func newCluster(t *testing.T, nodes []yarntest.Node, change func(*yarntest.Config)) *cluster {
	t.Helper()
	cfg := yarntest.Config{
		Nodes: append(nodes, yarntest.Node{Host: "master", Rack: "/core", MemoryMB: 1 << 20, VCores: 1 << 10, Label: "am"}), LocalityDelay: 4,
		Conf: map[string]string{"yarn.node-labels.enabled": "true", amHeartbeat: "200"},
	}
	if change != nil {
		change(&cfg)
	}
	c := &cluster{
		T: t, Fake: yarntest.New(cfg), jobs: map[traces.JobID]yarntest.Job{}, cached: map[string]bool{},
		ended: map[traces.JobID]time.Time{},
	}
	o := yarnclient.Options{Addresses: []string{"rm:8088"}, Transport: c.Transport(), Retries: -1}
	rm, err := yarnclient.NewRM(o)
	c.must(err)
	history, err := yarnclient.NewHistory(o)
	c.must(err)
	c.clients = &clients.Clients{Config: &config.Cluster{Name: "fake"}, RM: rm, History: history}
	c.watch = watch.New(c.clients, c)
	c.folder, err = os.OpenRoot(t.TempDir())
	c.must(err)
	t.Cleanup(func() { c.folder.Close() })
	return c
}

func (c *cluster) must(err error) {
	c.Helper()
	if err != nil {
		c.Fatal(err)
	}
}

func (c *cluster) start() *Session {
	c.Helper()
	o := c.change
	o.Folder = c.folder
	s, err := Start(c.Context(), c.watch, o)
	c.must(err)
	return s
}

// submit starts a job with a split on each of the hosts.
func (c *cluster) submit(j yarntest.Job, hosts ...string) traces.JobID {
	c.Helper()
	for _, h := range hosts {
		j.Maps = append(j.Maps, []string{h})
	}
	j.AMLabel = "am"
	c.mu.Lock()
	defer c.mu.Unlock()
	app, err := c.Submit(j)
	c.must(err)
	id := traces.JobID("job_" + strings.TrimPrefix(app, "application_"))
	c.jobs[id] = j
	return id
}

// RewriteSplits has nobody who reads them.
func (c *cluster) RewriteSplits(context.Context, string, string, []byte, []byte) error { return nil }

func appOf(job traces.JobID) string { return "application_" + strings.TrimPrefix(string(job), "job_") }

func (c *cluster) Find(context.Context) error { return nil }

func (c *cluster) DataNodes(context.Context) ([]hdfs.DataNode, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.noNames {
		return nil, fmt.Errorf("DataNodes: %w", fs.ErrPermission)
	}
	return []hdfs.DataNode{{Host: "r1n1", CacheUsed: 7, CacheCapacity: 9}, {Host: "r1n2"}, {Host: "r2n1"}, {Host: "r2n2"}}, nil
}

func (c *cluster) SplitLocations(_ context.Context, splits []jobsplit.Split) ([][]hdfs.Block, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	blocks := make([][]hdfs.Block, len(splits))
	for i, s := range splits {
		job := traces.JobID(strings.TrimPrefix(s.Path, "hdfs://nn/"))
		if c.noNames {
			return nil, fmt.Errorf("locate %s: connection refused", s.Path)
		}
		number := int(s.Offset / splitBytes)
		_, serial, _ := strings.Cut(string(job[len("job_"):]), "_")
		b := hdfs.Block{Offset: s.Offset, Length: s.Length}
		_, err := fmt.Sscan(serial, &b.ID)
		c.must(err)
		b.ID = b.ID<<20 + uint64(number)
		for _, host := range c.jobs[job].Maps[number] {
			b.Replicas = append(b.Replicas, hdfs.Replica{Host: host, Rack: "/rack" + host[1:2], Cached: c.cached[host]})
		}
		blocks[i] = []hdfs.Block{b}
	}
	return blocks, nil
}

func (c *cluster) ReadStaged(_ context.Context, _, id string) (yarn.Staged, error) {
	job := traces.JobID(id)
	c.mu.Lock()
	defer c.mu.Unlock()
	j := c.jobs[job]
	if j.Name == "unstaged" {
		return yarn.Staged{}, fmt.Errorf("staged files: %w", fs.ErrNotExist)
	}
	conf := fmt.Sprintf("<configuration><property><name>mapreduce.job.reduces</name><value>%d</value></property>"+
		"<property><name>mapreduce.map.memory.mb</name><value>512</value></property></configuration>", j.Reduces)
	split := []byte("SPL\x00\x00\x00\x01")
	text := func(s string) { split = append(append(split, byte(len(s))), s...) } // lengths below 128
	var metas []jobsplit.Meta
	for i, hosts := range j.Maps {
		metas = append(metas, jobsplit.Meta{Hosts: hosts, Offset: int64(len(split)), Length: splitBytes})
		if j.Name == "generate" {
			text("org.example.Rows")
			continue
		}
		text(class)
		text("hdfs://nn/" + string(job))
		split = binary.BigEndian.AppendUint64(split, uint64(i*splitBytes))
		split = binary.BigEndian.AppendUint64(split, splitBytes)
	}
	return yarn.Staged{JobXML: []byte(conf), JobSplit: split, SplitMetaInfo: jobsplit.AppendMeta(nil, metas)}, nil
}

// line is an event of a history file, of whatever kind.
type line struct {
	JobID        string `json:"jobid"`
	JobName      string `json:"jobName"`
	UserName     string `json:"userName"`
	JobQueueName string `json:"jobQueueName"`
	SubmitTime   int64  `json:"submitTime"`
	LaunchTime   int64  `json:"launchTime"`
	FinishTime   int64  `json:"finishTime"`
	TotalMaps    int    `json:"totalMaps"`
	TotalReduces int    `json:"totalReduces"`
	JobStatus    string `json:"jobStatus"`
	TaskID       string `json:"taskid"`
	TaskType     string `json:"taskType"`
	Splits       string `json:"splitLocations"`
	Successful   string `json:"successfulAttemptId"`
	AttemptID    string `json:"attemptId"`
	StartTime    int64  `json:"startTime"`
	TrackerName  string `json:"trackerName"`
	ContainerID  string `json:"containerId"`
	RackName     string `json:"rackname"`
	Status       string `json:"status"`
}

// ReadHistory writes what the cluster knows of a job as its ApplicationMaster would.
func (c *cluster) ReadHistory(ctx context.Context, user, name string) (yarn.History, error) {
	job := traces.JobID(name)
	app, err := c.clients.RM.App(ctx, appOf(job))
	if err != nil {
		return yarn.History{}, err
	}
	c.mu.Lock()
	j, ended := c.jobs[job], c.ended[job]
	if ended.IsZero() {
		c.ended[job], ended = time.Now(), time.Now()
	}
	late := c.late
	c.mu.Unlock()
	if j.Name == "lost" || time.Since(ended) < late {
		return yarn.History{}, yarn.ErrNoHistory
	}
	var fields []string
	var sample map[string]any
	data, _ := json.Marshal(line{})
	c.must(json.Unmarshal(data, &sample))
	for name, value := range sample {
		kind := "long"
		if _, ok := value.(string); ok {
			kind = "string"
		}
		fields = append(fields, fmt.Sprintf(`{"name":%q,"type":%q}`, name, kind))
	}
	slices.Sort(fields)
	var out bytes.Buffer
	fmt.Fprintf(&out, "Avro-Json\n"+`{"type":"record","name":"Event","fields":[{"name":"type","type":"string"},{"name":"event","type":{"type":"record","name":"Any","fields":[%s]}}]}`+"\n", strings.Join(fields, ","))
	add := func(kind string, l line) {
		c.must(json.NewEncoder(&out).Encode(map[string]any{"type": kind, "event": l}))
	}
	id := string(job)
	add("JOB_SUBMITTED", line{JobID: id, JobName: j.Name, UserName: user, JobQueueName: "root.default", SubmitTime: app.StartedMs})
	add("JOB_INITED", line{JobID: id, LaunchTime: app.StartedMs + 600, TotalMaps: len(j.Maps), TotalReduces: j.Reduces})
	tasks := map[string]bool{}
	for _, a := range c.Attempts(appOf(job)) {
		attempt, err := traces.ParseAttempt(a.ID)
		c.must(err)
		task := attempt.Task.String()
		if !tasks[task] {
			tasks[task] = true
			l := line{TaskID: task, TaskType: a.Kind, StartTime: a.Allocated.UnixMilli()}
			if a.Kind == "MAP" {
				l.Splits = strings.Join(j.Maps[a.Task], ",")
			}
			add("TASK_STARTED", l)
		}
		l := line{
			TaskID: task, TaskType: a.Kind, AttemptID: a.ID, StartTime: a.Started.UnixMilli(), TrackerName: a.Host,
			ContainerID: a.Container,
		}
		add(a.Kind+"_ATTEMPT_STARTED", l)
		ending := a.State
		if ending == "SUCCEEDED" {
			ending = "FINISHED"
		}
		add(a.Kind+"_ATTEMPT_"+ending, line{
			TaskID: task, TaskType: a.Kind, AttemptID: a.ID, FinishTime: a.Finished.UnixMilli(),
			RackName: "/rack" + a.Host[1:2],
		})
		if a.State == "SUCCEEDED" {
			add("TASK_FINISHED", line{TaskID: task, TaskType: a.Kind, FinishTime: a.Finished.UnixMilli(), Status: a.State, Successful: a.ID})
		}
	}
	if app.FinalStatus == "SUCCEEDED" {
		add("JOB_FINISHED", line{JobID: id, FinishTime: app.FinishedMs})
	} else {
		add("JOB_FAILED", line{JobID: id, FinishTime: app.FinishedMs, JobStatus: app.FinalStatus})
	}
	return yarn.History{Name: id + "-1-me-x.jhist", Events: out.Bytes()}, nil
}
