package experiment

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"heddle/harness/change"
	"heddle/harness/clients"
	"heddle/harness/config"
	"heddle/harness/measure"
	"heddle/harness/results"
	"heddle/harness/watch"
	"heddle/harness/workload"
	"heddle/hibench"
	"heddle/traces"
)

// outageLimit is how long a trial, before it starts, waits for Hadoop daemons
// that are down.
const outageLimit = 5 * time.Minute

// clusterWorld runs the trials of an experiment on real clusters.
type clusterWorld struct {
	options  *Options
	clusters map[string]*usedCluster    // by the clusters' names
	retake   func(cluster string) error // takes the right to change a cluster anew, for the rest of the run
	folder   string                     // the run folder
	cache    *inputCache                // the part of an input that the last trial left in the HDFS cache for the next one
}

// usedCluster is a cluster that trials of a run use, with the clients of its daemons.
type usedCluster struct {
	*clients.Clients
	sums   hibench.Sums   // checksums of the inputs that trials read
	target *change.Target // the clients to change it
	hold   *change.Hold   // the right to change it
}

func (w *clusterWorld) name() string { return "" }
func (w *clusterWorld) atOnce() int  { return 1 }

func (w *clusterWorld) open(ctx context.Context) (hadoop string, err error) {
	o := w.options
	if err := o.supported(ctx); err != nil {
		return "", err
	}
	for _, name := range o.Experiment.Clusters() {
		c, err := clients.To(o.config(name), clients.Patience{})
		if err != nil {
			return "", err
		}
		w.clusters[name] = &usedCluster{Clients: c}
	}
	var rooms []config.Room
	for i, name := range o.Experiment.Clusters() {
		c := w.clusters[name]
		err := c.Outlast(ctx, w.tell, func() error {
			version, err := c.Answers(ctx)
			if err != nil {
				return fmt.Errorf("start run: cluster %s: %w", o.config(name).Name, err)
			}
			if name == o.Experiment.Cluster {
				hadoop = version
			}
			room, err := roomNow(ctx, c.Clients)
			rooms = append(rooms[:i:i], room)
			return errors.Join(err, refuseNodesOf(ctx, o.Experiment, c.Clients))
		})
		if err != nil {
			return "", err
		}
	}
	o.fillReduces(rooms...)
	return hadoop, nil
}

// cleanUp takes the right to change the clusters, which removes what killed runs left
// there.
func (w *clusterWorld) cleanUp(ctx context.Context, folder string) error {
	w.folder = folder
	w.retake = func(name string) error { return w.take(ctx, name) }
	for _, name := range w.options.Experiment.Clusters() {
		if err := w.take(ctx, name); err != nil {
			return err
		}
		if err := w.clusters[name].Outlast(ctx, w.tell, func() error { return w.tellOthers(ctx, name) }); err != nil {
			return err
		}
	}
	return nil
}

func (w *clusterWorld) close(ctx context.Context) (err error) {
	for _, c := range w.clusters {
		if c.hold != nil {
			report, rerr := c.hold.Release(ctx)
			err = errors.Join(err, rerr, report.Err())
		}
		if c.target != nil {
			c.target.Close()
		}
		c.Close()
	}
	return err
}

func (w *clusterWorld) stage(t *trial) stage {
	c := w.clusters[t.plan.Model.Cluster]
	x := &trialRun{trial: t, world: w, cluster: c.Clients, sums: &c.sums, cache: w.cache}
	w.cache = nil
	x.keepCache = t.next != nil && t.next.Workload.Label == t.plan.Workload.Label && t.next.Model.Cluster == t.plan.Model.Cluster
	return x
}

// trialRun carries out the steps of one trial on a real cluster.
type trialRun struct {
	*trial
	world   *clusterWorld
	cluster *clients.Clients
	hold    *change.Hold // the right to change the cluster
	sums    *hibench.Sums
	files   watch.Files   // nil: those in HDFS
	origin  traces.Origin // how the trace is made; empty: measured
	// leastLocations is the shortest interval between samples of blocks and nodes.
	leastLocations time.Duration
	// cache is the part of the input in the HDFS cache: at first what the
	// previous trial left cached, then what this trial caches. nil means that
	// nothing is cached. If keepCache is true, the part stays cached for the
	// next trial.
	cache     *inputCache
	keepCache bool
	notCold   []string // warnings of nodes whose page cache could not be emptied before the trial

	runner      workload.Live
	submissions []workload.Submission
	tags        []string                  // YARN tag of each submission
	done        []workload.Done           // what became of each submission
	jobs        map[string][]*measure.Job // for each YARN tag, what the jobs with this tag did, in the order of their submission
	failures    []error                   // for each submission, why its job failed; nil if it did not
}

func (t *trialRun) prepare(ctx context.Context) (inputBytes int64, err error) {
	defer func() { // also after an error, remember what is in the HDFS cache, so that the method close removes it
		if err != nil {
			t.world.cache = t.cache
		}
	}()
	if t.step.Number > 1 { // wait for the daemons first, since they may be restarting
		if err := t.cluster.AwaitAnswers(ctx, outageLimit); err != nil {
			return 0, err
		}
	}
	if t.runner, err = t.newRunner(ctx); err != nil {
		return 0, err
	}
	if t.hold, err = t.held(); err != nil {
		return 0, err
	}
	t.say("prepare", "input of "+t.plan.Workload.Label)
	tag, err := t.hold.Tag(ctx)
	if err != nil {
		return 0, err
	}
	data, err := t.runner.Prepare(ctx, tag)
	if err != nil {
		return 0, errors.Join(err, t.hold.EndApps(ctx, tag+"-prep"))
	}
	if err := t.expect(tag); err != nil {
		return 0, err
	}
	if t.options.Experiment.ColdReads && len(t.cluster.Agents) > 0 {
		t.say("drop", "page caches")
		if t.notCold, err = t.cluster.DropCaches(ctx); err != nil {
			return 0, fmt.Errorf("%w; allow it on the agents, or set coldReads: false", err)
		}
	}
	return data.Bytes, t.cacheInput(ctx, data)
}

// expect notes what the trial submits, with a tag for each submission.
func (t *trialRun) expect(tag string) error {
	t.submissions = t.runner.Submissions()
	t.done = make([]workload.Done, len(t.submissions))
	t.failures = make([]error, len(t.submissions))
	for i := range t.submissions {
		t.tags = append(t.tags, fmt.Sprintf("%s-%d", tag, i+1))
	}
	if ofAlone(t.plan.Workload) {
		return t.setDeadlines()
	}
	return nil
}

func (t *trialRun) run(ctx context.Context) (results.Trial, error) {
	result, err := t.measure(ctx)
	if err != nil || !t.keepCache {
		err = errors.Join(err, t.cache.remove(ctx, err == nil))
		t.cache = nil
	}
	t.world.cache = t.cache
	return result, err
}

func (t *trialRun) check(ctx context.Context) (compared []string, err error) {
	t.say("check", "output")
	for i, tag := range t.tags {
		if t.failures[i] != nil {
			continue
		}
		if compared, err = t.runner.Check(ctx, i, tag, t.jobs[tag]); err != nil {
			return nil, errors.Join(err, t.hold.EndApps(ctx, tag+"-check"))
		}
	}
	return compared, nil
}

// clean removes what the trial's jobs have left in HDFS: their output, and what was
// staged for those that failed.
func (t *trialRun) clean() error {
	report, err := t.hold.Undo(context.Background(), change.Application, change.JobFolder)
	return errors.Join(err, report.Err(), t.dropLinks())
}

// cacheInput puts the part of the input that the experiment and the workload
// name into the HDFS cache, unless the previous trial has left the same part
// cached.
func (t *trialRun) cacheInput(ctx context.Context, input workload.Input) error {
	say := func(text string) { t.say("cache", text) }
	o, left := t.options.Experiment, t.cache
	t.cache = nil
	if left != nil {
		whole, err := left.stillCached(ctx, t.cluster.HDFS, input.Path, say)
		if whole {
			t.cache = left
			return nil
		}
		if err := errors.Join(err, left.remove(ctx, true)); err != nil {
			return err
		}
	}
	lifetime := 7 * 24 * time.Hour
	if o.Timeout > 0 {
		lifetime = time.Duration(len(o.Models)) * (10*time.Minute + time.Duration(o.Timeout))
	}
	var err error
	t.cache, err = cacheInput(ctx, t.cluster.HDFS, t.hold, input, o.Cache, lifetime, say)
	return err
}

// dropLinks removes symbolic links from the trial's folder. The configuration
// folders of the Hadoop clients contain links to the cluster's own files.
func (t *trialRun) dropLinks() error {
	logs, err := t.folder.Folder("logs")
	if err != nil {
		return err
	}
	defer logs.Close()
	return fs.WalkDir(logs.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && !d.Type().IsRegular() {
			err = logs.Remove(name)
		}
		return err
	})
}

// hdfsFiles are the files in HDFS of a workload. A DataNode that sends nonsense to
// one of its readers gives an error.
type hdfsFiles struct {
	hibench.FileSystem
	open func(name string) (io.ReadCloser, error)
}

func (f hdfsFiles) Open(name string) (io.ReadCloser, error) { return f.open(name) }

// newRunner returns an object that prepares, runs and checks the trial's
// workload on the cluster.
func (t *trialRun) newRunner(ctx context.Context) (workload.Live, error) {
	files, err := t.cluster.HDFS.Files(ctx)
	if err != nil {
		return nil, err
	}
	logs, err := t.folder.Folder("logs")
	if err != nil {
		return nil, err
	}
	defer logs.Close()
	workers, err := t.workers(ctx)
	if err != nil {
		return nil, err
	}
	c := t.cluster.Config
	place := workload.Place{Cluster: t.cluster, Seed: t.options.Experiment.Seed, Program: t.options.Program}
	place.Say = func(text string) { t.say("prepare", text) }
	place.Env = hibench.Env{
		HadoopHome: c.Hadoop.Home, ConfDir: c.Hadoop.Conf, User: c.User,
		FS: hdfsFiles{hibench.HDFS(files), func(name string) (io.ReadCloser, error) {
			return t.cluster.HDFS.Open(ctx,
				name)
		}}, DataDir: change.DataRoot + "/hibench", RunDir: filepath.Join(t.folder.Dir, "logs"), Checkout: c.HiBench,
		Workers: workers, Sums: t.sums,
	}
	return speculating(t.plan.Workload, t.options.Experiment.Speculation).On(ctx, place)
}

// workers returns the host names of the DataNodes, for HiBench's reports. It
// returns none if HiBench's scripts are not used, or if the NameNode tells them
// only to superusers.
func (t *trialRun) workers(ctx context.Context) ([]string, error) {
	if t.cluster.Config.HiBench == "" {
		return nil, nil
	}
	dataNodes, err := t.cluster.HDFS.DataNodes(ctx)
	if errors.Is(err, fs.ErrPermission) {
		return nil, nil
	}
	var hosts []string
	for _, d := range dataNodes {
		hosts = append(hosts, d.Host)
	}
	return hosts, err
}

// cause adds to err the reason why ctx was ended early, if it was, so that the
// message names it.
func cause(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return errors.Join(context.Cause(ctx), err)
	}
	return err
}

func oneLine(text string) string {
	return strings.Join(strings.Fields(text), " ")
}
