package sweep

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"heddle/collectors/hdfs"
	"heddle/collectors/hdfs/jobsplit"
	"heddle/harness/change"
	"heddle/harness/clients"
	"heddle/harness/internal/poll"
	"heddle/harness/submit"
	"heddle/harness/workload/synthetic"
	"heddle/yarnclient"
)

// YARN runs replays as maps of Hadoop Streaming jobs, whose program is this one. All that
// is known of a sweep is on the cluster: its folder in HDFS has an output folder for each
// job, in which each finished map has a file of rows, and its jobs have the sweep's tag.
// So another process can take a sweep up whose process was killed, while a job goes on.
//
// YARN repeats maps that fail or whose node is lost, and starts slow ones twice. Only one
// attempt of a map commits its output. A row may still come twice, if two jobs have the
// same replay; whoever collects rows takes one of them.
type YARN struct {
	Cluster *clients.Clients
	// Program is the path of this program for the cluster's nodes.
	Program string
	// RunDir is a folder on this machine for files that are uploaded.
	RunDir string
	// Queue is the queue of the jobs; "" is the cluster's default.
	Queue string
	// Say is told what is done, in a line.
	Say func(string)
}

// TaskFile is the name of the Task in the working folder of a map.
const TaskFile = "sweep"

// Names of other files there, and of the file that maps have as input.
const (
	traceLink   = "trace"
	costsLink   = "calibration"
	linesPrefix = "tasks"
)

// Task is what the maps of a job have to do.
type Task struct {
	Plan *Plan
	// Chunks has the replays of each map, by their index in the plan.
	Chunks [][]int
	// MemoryBytes is what this program may take in a map, so that it returns memory in time.
	MemoryBytes int64
}

// jobPolls is the time between two looks at a job and its output.
const jobPolls = 2 * time.Second

// patience is how long a job goes on of whose output HDFS does not tell.
const patience = 5 * time.Minute

// lastWait is how long a job may take to end that has given all rows.
const lastWait = 10 * time.Second

// mostJobs is how many jobs in a row may end without a new row.
const mostJobs = 3

// Run runs replays on the cluster. It is a Where.
func (y *YARN) Run(ctx context.Context, p *Plan, todo []Replay, done func(Row) error) error {
	if len(todo) == 0 {
		return nil
	}
	if err := synthetic.CheckProgram(y.Program, runtime.GOARCH); err != nil {
		return err
	}
	c := &collection{files: y.Cluster.HDFS, folder: y.folder(p), read: map[string]bool{}, left: map[string]bool{}, done: done}
	for i := range todo {
		c.left[todo[i].Key] = true
	}
	if err := c.collect(ctx); err != nil {
		return err
	}
	submitter, err := submit.New(ctx, y.Cluster)
	if err != nil {
		return err
	}
	if err := y.await(ctx, submitter, p, c); err != nil {
		return err
	}
	if len(c.left) == 0 {
		return nil
	}
	cost, err := Expect(ctx, p, c.todo(p), c.add)
	if err != nil {
		return err
	}
	for vain := 0; len(c.left) > 0; {
		before := len(c.left)
		err := y.submit(ctx, submitter, p, c, cost)
		var failed *submit.FailedError
		if err != nil && (!errors.As(err, &failed) || failed.Status == "KILLED" || ctx.Err() != nil) {
			return err // what somebody killed is not begun again
		}
		if vain++; len(c.left) < before {
			vain = 0
		}
		if vain == mostJobs {
			return errors.Join(fmt.Errorf("sweep %s: %d jobs in a row gave no result of the last %d replays", p.Name, mostJobs, len(c.left)), err)
		}
		if err != nil {
			y.Say(fmt.Sprintf("%v; another job runs the %d replays that are left", err, len(c.left)))
		}
	}
	return nil
}

// Clean removes the folder of a sweep in HDFS, once the run folder has all rows.
func (y *YARN) Clean(ctx context.Context, p *Plan) error {
	return y.Cluster.HDFS.RemoveAll(ctx, y.folder(p))
}

// id names a plan on a cluster. Equal plans of one build of heddle have equal ids, wherever
// their run folders are.
func (p *Plan) id() string {
	keys := []byte(p.Build)
	for _, r := range p.first() {
		keys = append(keys, r.Key...)
	}
	return digest(keys)[:16]
}

func (y *YARN) folder(p *Plan) string { return path.Join(change.DataRoot, "sweeps", p.id()) }
func (y *YARN) tag(p *Plan) string    { return "heddle-sweep-" + p.id() }

// await waits for jobs of this sweep that an earlier process left, and collects their rows.
func (y *YARN) await(ctx context.Context, s *submit.Submitter, p *Plan, c *collection) error {
	apps, err := y.Cluster.RM.Apps(ctx, yarnclient.AppFilter{Tags: []string{y.tag(p)}})
	if err != nil {
		return fmt.Errorf("look for jobs of the sweep: %w", err)
	}
	for _, app := range apps {
		if app.Ended() || len(c.left) == 0 {
			continue
		}
		y.Say(fmt.Sprintf("%s of this sweep still runs; its results are collected", app.ID))
		err := y.follow(ctx, s, submit.Submitted{App: app.ID, Job: "job_" + strings.TrimPrefix(app.ID, "application_")}, c)
		if err != nil && (!errors.As(err, new(*submit.FailedError)) || ctx.Err() != nil) {
			return err
		}
	}
	return nil
}

// submit runs a job for all replays that have no row, and collects its rows.
func (y *YARN) submit(ctx context.Context, s *submit.Submitter, p *Plan, c *collection, cost *Cost) error {
	job, err := y.job(ctx, s, p, c, cost)
	if err != nil {
		return err
	}
	submitted, err := s.Submit(ctx, job)
	if err != nil {
		return err
	}
	y.Say(fmt.Sprintf("%s: %d replays in %d maps of %s MB", submitted.App, len(c.left), len(job.Splits),
		job.Settings["mapreduce.map.memory.mb"]))
	return y.follow(ctx, s, submitted, c)
}

// follow collects the rows of a job until it has ended. A job that has given all rows is
// killed if it does not end soon: its ApplicationMaster may try for minutes to reach a
// node that is lost.
func (y *YARN) follow(ctx context.Context, s *submit.Submitter, job submit.Submitted, c *collection) error {
	waiting, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- s.Wait(waiting, job) }()
	var since time.Time // when all rows were there
	heard := time.Now() // when HDFS answered last
	for {
		err := poll.Wait(ctx, jobPolls)
		select {
		case jobErr := <-ended:
			return errors.Join(c.collect(ctx), jobErr)
		default:
		}
		if err == nil {
			err = c.collect(ctx)
		}
		if err == nil {
			heard = time.Now()
		} else if ctx.Err() == nil && clients.Unable(err) && time.Since(heard) < patience {
			y.Say(fmt.Sprintf("%v; it is asked again", err))
			continue // the job goes on meanwhile
		}
		if since.IsZero() && len(c.left) == 0 {
			since = time.Now()
		}
		if err != nil || len(c.left) == 0 && time.Since(since) > lastWait {
			stop() // which kills the job
			return errors.Join(err, ignoreCancelled(<-ended))
		}
	}
}

func ignoreCancelled(err error) error {
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// What a map may take: a chunk is of about so many seconds, so that starting a JVM is
// little of it, and a lost map is soon done again; and a cluster should have several for
// each of its places.
const (
	chunkSeconds = 30
	leastChunks  = 16
	javaMB       = 256 // of the JVM that runs this program
	spareMB      = 64
)

// job makes the job for the replays that are left.
func (y *YARN) job(ctx context.Context, s *submit.Submitter, p *Plan, c *collection, cost *Cost) (submit.Job, error) {
	t := &Task{Plan: p.onCluster(), MemoryBytes: cost.MemoryBytes + spareMB<<20}
	var todo []int
	for i := range p.Replays {
		if c.left[p.Replays[i].Key] {
			todo = append(todo, i)
		}
	}
	seconds := cost.CPUSeconds * float64(len(todo)) / float64(cost.Replays)
	n := min(len(todo), max(leastChunks, int(seconds/chunkSeconds)))
	for i := range n {
		t.Chunks = append(t.Chunks, todo[i*len(todo)/n:(i+1)*len(todo)/n])
	}
	j := submit.Job{
		Name: "sweep " + p.Name, Mapper: "./" + synthetic.ProgramFile + " task sweep",
		Output: path.Join(c.folder, fmt.Sprintf("out-%d", time.Now().UnixNano())),
		Settings: map[string]string{
			"mapreduce.job.tags":        y.tag(p),
			"mapreduce.map.memory.mb":   strconv.FormatInt(javaMB+t.MemoryBytes>>20, 10),
			"mapreduce.map.java.opts":   "-Xmx128m",
			"mapreduce.map.speculative": "true",
			// a map's rows can be read when the map has ended, and stay if the job fails
			"mapreduce.fileoutputcommitter.algorithm.version":        "2",
			"mapreduce.output.fileoutputformat.compress":             "false",
			"mapreduce.job.running.map.limit":                        "0",
			"mapreduce.fileoutputcommitter.cleanup-failures.ignored": "true",
		},
	}
	if y.Queue != "" {
		j.Settings["mapreduce.job.queuename"] = y.Queue
	}
	add := func(local, link string) error {
		shared, err := s.Share(ctx, local)
		j.Files = append(j.Files, submit.File{Path: shared, Link: link})
		return err
	}
	err := add(y.Program, synthetic.ProgramFile)
	for i := 0; err == nil && i < len(p.Traces); i++ {
		err = add(p.Traces[i].Path, fmt.Sprint(traceLink, i))
	}
	if err == nil && p.Calibration != nil {
		err = add(p.Calibration.Path, costsLink)
	}
	var text []byte
	if err == nil {
		text, err = json.Marshal(t)
	}
	local := filepath.Join(y.RunDir, TaskFile)
	if err == nil {
		err = os.WriteFile(local, text, 0o600)
	}
	if err == nil {
		defer os.Remove(local)
		err = add(local, TaskFile)
	}
	if err == nil {
		j.Splits, err = y.splits(ctx, s, c.folder, n)
	}
	return j, err
}

// onCluster returns the plan with the paths that tasks have.
func (p *Plan) onCluster() *Plan {
	q := *p
	q.Traces = slices.Clone(p.Traces)
	for i := range q.Traces {
		q.Traces[i].Path = fmt.Sprint(traceLink, i)
	}
	if p.Calibration != nil {
		costs := *p.Calibration
		costs.Path = costsLink
		q.Calibration = &costs
	}
	return &q
}

// splits writes a file with a line for each map, since a map needs an input, and returns
// its splits. Which replays a map runs follows from its index, not from its line.
func (y *YARN) splits(ctx context.Context, s *submit.Submitter, folder string, n int) (list []jobsplit.Split, err error) {
	if err := y.Cluster.HDFS.Mkdir(ctx, folder, 0o700); err != nil {
		return nil, err
	}
	const width = 8
	var lines strings.Builder
	for i := range n {
		fmt.Fprintf(&lines, "%0*d\n", width-1, i)
	}
	name := path.Join(folder, fmt.Sprintf("%s-%d", linesPrefix, n))
	if err := s.Put(ctx, name, []byte(lines.String())); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	for i := range n {
		list = append(list, jobsplit.Split{Path: s.URL(name), Offset: int64(i * width), Length: width})
	}
	return list, nil
}

// outputs is what a collection needs of HDFS.
type outputs interface {
	Names(ctx context.Context, folder string) ([]string, error)
	List(ctx context.Context, folder string) ([]hdfs.File, error)
	Open(ctx context.Context, name string) (io.ReadCloser, error)
}
