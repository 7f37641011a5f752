package steer

import (
	"context"
	"errors"
	"io/fs"
	"math"
	"slices"
	"strings"
	"time"

	"heddle/collectors/hdfs"
	"heddle/collectors/hdfs/jobsplit"
	"heddle/collectors/yarn"
	"heddle/harness/clients"
	"heddle/harness/state"
	"heddle/yarnclient"
)

// description is what is known of a job before it runs.
type description struct {
	spec   state.JobSpec // without nodes
	splits [][]string    // by map, the hosts that its master reads
	blocks [][]replica   // by map, where its input is; nil: where splits says
	beat   time.Duration // between its master's heartbeats
	// reduceAfter is how many maps are done before reduces are asked for.
	reduceAfter int32
	again       func(ctx context.Context) ([][]replica, error) // blocks as they are now; may be nil
	staged      *staged                                        // may be nil
}

// replica is a copy of a map's input.
type replica struct {
	host   string
	cached bool
}

type describe func(ctx context.Context, app yarnclient.App) (*description, error)

// locate fills in the nodes. Hosts that are no nodes of ours are left out.
func (a *description) locate(v *state.View) {
	seen := &state.Hosts{}
	var nodes, cached []state.NodeID
	for i := range int(a.spec.Maps) {
		nodes = nodes[:0]
		if i < len(a.splits) {
			nodes = named(v, a.splits[i], nodes)
		}
		seen.Add(nodes...)
		if i >= len(a.blocks) {
			a.spec.Replicas.Add(nodes...)
			continue
		}
		nodes, cached = nodes[:0], cached[:0]
		for _, r := range a.blocks[i] {
			if n := v.NodeNamed(r.host); n != state.None {
				nodes = append(nodes, n)
				if r.cached {
					cached = append(cached, n)
				}
			}
		}
		a.spec.Replicas.Add(nodes...)
		a.spec.Cached.Add(cached...)
	}
	a.spec.SplitHosts = seen
}

func named(v *state.View, hosts []string, to []state.NodeID) []state.NodeID {
	for _, h := range hosts {
		if n := v.NodeNamed(h); n != state.None {
			to = append(to, n)
		}
	}
	return to
}

// fromHDFS describes jobs by the files that their clients stage.
func fromHDFS(ctx context.Context, c *clients.Clients) (describe, error) {
	root, err := c.History.Conf(ctx, "yarn.app.mapreduce.am.staging-dir")
	if errors.Is(err, yarnclient.ErrNotFound) || err == nil && root == "" {
		root, err = "/tmp/hadoop-yarn/staging", nil
	}
	if err != nil {
		return nil, err
	}
	least, err := c.RM.Conf(ctx, "yarn.scheduler.minimum-allocation-mb")
	if err != nil && !errors.Is(err, yarnclient.ErrNotFound) {
		return nil, err
	}
	files, err := c.HDFS.Files()
	if err != nil {
		return nil, err
	}
	root = yarn.WithoutScheme(root)
	return func(ctx context.Context, app yarnclient.App) (*description, error) {
		job := "job_" + strings.TrimPrefix(app.ID, "application_")
		folder := yarn.StagingFolder(root, app.User, job)
		files, err := yarn.ReadStaged(ctx, files, folder)
		if err != nil {
			return nil, err
		}
		conf, err := files.Conf()
		if err != nil {
			return nil, &refusal{err}
		}
		metas, splits, err := files.Splits()
		if err != nil && !errors.As(err, new(*jobsplit.UnknownClassError)) {
			return nil, &refusal{err}
		}
		a := &description{
			spec: state.JobSpec{
				Name: app.Name, User: app.User, Queue: app.Queue, Maps: int32(len(metas)),
				Reduces: int32(conf.Int("mapreduce.job.reduces", 1)),
				MapSize: containerSize(conf, "map", least), ReduceSize: containerSize(conf, "reduce", least),
			},
			beat:        time.Duration(conf.Int("yarn.app.mapreduce.am.scheduler.heartbeat.interval-ms", 1000)) * time.Millisecond,
			reduceAfter: int32(math.Ceil(conf.SlowStart() * float64(len(metas)))),
		}
		for _, m := range metas {
			a.splits = append(a.splits, m.Hosts)
		}
		a.staged = &staged{data: files.SplitMetaInfo, metas: metas, rewrite: func(ctx context.Context, was, now []byte) error {
			return yarn.RewriteSplits(ctx, c.HDFS, folder, was, now)
		}}
		if splits == nil {
			return a, nil
		}
		located, err := c.HDFS.SplitLocations(ctx, splits)
		if errors.Is(err, fs.ErrNotExist) { // generators name files that do not exist
			return a, nil
		}
		if err != nil {
			return nil, err
		}
		a.blocks, a.staged.cached = replicas(located), mostCached(splits, located)
		a.again = func(ctx context.Context) ([][]replica, error) {
			located, err := c.HDFS.SplitLocations(ctx, splits)
			return replicas(located), err
		}
		return a, nil
	}, nil
}

// containerSize is what YARN makes of a task's request.
func containerSize(conf yarn.Conf, kind, least string) state.Resource {
	mb := conf.Int("mapreduce."+kind+".memory.mb", -1)
	if mb <= 0 {
		mb = 1024
	}
	step := yarn.Conf{"": least}.Int("", 1024)
	return state.Resource{
		MemoryMB: int32((mb + step - 1) / step * step),
		VCores:   int32(conf.Int("mapreduce."+kind+".cpu.vcores", 1)),
	}
}

// replicas are those of each split's first block, whose hosts the split names.
func replicas(located [][]hdfs.Block) [][]replica {
	out := make([][]replica, len(located))
	for i, blocks := range located {
		if len(blocks) == 0 {
			continue
		}
		for _, r := range blocks[0].Replicas {
			out[i] = append(out[i], replica{r.Host, r.Cached})
		}
	}
	return out
}

// mostCached are the hosts that cache the most bytes of each split, none where
// nothing of it is cached. Splits of several blocks are rare: a host that caches
// little of one would draw the map to it all the same.
func mostCached(splits []jobsplit.Split, located [][]hdfs.Block) [][]string {
	out := make([][]string, len(splits))
	for i, s := range splits {
		cached, most := map[string]int64{}, int64(1)
		for _, b := range located[i] {
			n := min(b.Offset+b.Length, s.Offset+s.Length) - max(b.Offset, s.Offset)
			for _, r := range b.Replicas {
				if r.Cached {
					cached[r.Host] += n
					most = max(most, cached[r.Host])
				}
			}
		}
		for host, n := range cached {
			if n == most {
				out[i] = append(out[i], host)
			}
		}
		slices.Sort(out[i])
	}
	return out
}

// refresh follows the cached copies of a job's input.
func (d *Driver) refresh(j *job) {
	if j.about.again == nil {
		return
	}
	began := time.Now()
	askWithin(d, filesLimit, j.about.again, func(blocks [][]replica, err error) {
		if j.ended {
			return
		}
		if err != nil {
			d.log.Warn("where the input of a job is", "job", j.jobID(), "error", err)
		} else {
			d.sawReplicas(j, blocks)
		}
		d.newAlarm(func() { d.refresh(j) }).in(max(time.Second, 20*time.Since(began)))
	})
}

func (d *Driver) sawReplicas(j *job, blocks [][]replica) {
	var had []state.NodeID
	for i, of := range blocks {
		t := state.TaskID(i)
		had = d.view.CachedOn(j.id, t, had[:0])
		for _, r := range of {
			n := d.view.NodeNamed(r.host)
			if n == state.None || !r.cached {
				continue
			}
			if at := slices.Index(had, n); at >= 0 {
				had = slices.Delete(had, at, at+1)
			} else {
				d.state.Cached(j.id, t, n)
			}
		}
		for _, n := range had {
			d.state.Uncached(j.id, t, n)
		}
	}
}
