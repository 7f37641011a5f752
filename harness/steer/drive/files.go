package drive

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"heddle/collectors/hdfs"
	"heddle/collectors/hdfs/jobsplit"
	"heddle/collectors/yarn"
	"heddle/harness/clients"
	"heddle/harness/state"
	"heddle/harness/steer"
	"heddle/yarnclient"
)

// jobFiles are the files that jobs' clients stage.
type jobFiles interface {
	read(ctx context.Context, app yarnclient.App) (*steer.JobFiles, error)
	// replicas are where the input of an application that was read is now.
	replicas(ctx context.Context, app string) ([][]steer.Replica, error)
	// rewrite replaces its job.splitmetainfo, which has to hold was.
	rewrite(ctx context.Context, app string, was, now []byte) error
}

// staged are jobFiles in HDFS.
type staged struct {
	cluster *clients.Clients
	root    string // of the folders
	least   string // yarn.scheduler.minimum-allocation-mb

	mu   sync.Mutex
	jobs map[string]stagedJob // that were read, by application
}

type stagedJob struct {
	folder string
	splits []jobsplit.Split
}

func fromHDFS(ctx context.Context, c *clients.Clients) (*staged, error) {
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
	return &staged{cluster: c, root: yarn.WithoutScheme(root), least: least, jobs: map[string]stagedJob{}}, nil
}

func (s *staged) job(app string) stagedJob {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.jobs[app]
}

func (s *staged) read(ctx context.Context, app yarnclient.App) (*steer.JobFiles, error) {
	in, err := s.cluster.HDFS.Files()
	if err != nil {
		return nil, err
	}
	job := stagedJob{folder: yarn.StagingFolder(s.root, app.User, "job_"+strings.TrimPrefix(app.ID, "application_"))}
	files, err := yarn.ReadStaged(ctx, in, job.folder)
	if err != nil {
		return nil, err
	}
	conf, err := files.Conf()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", steer.ErrRefused, err)
	}
	metas, splits, err := files.Splits()
	if err != nil && !errors.As(err, new(*jobsplit.UnknownClassError)) {
		return nil, fmt.Errorf("%w: %w", steer.ErrRefused, err)
	}
	f := &steer.JobFiles{
		Spec: state.JobSpec{
			Name: app.Name, User: app.User, Queue: app.Queue, Maps: int32(len(metas)),
			Reduces: int32(conf.Int("mapreduce.job.reduces", 1)),
			MapSize: containerSize(conf, "map", s.least), ReduceSize: containerSize(conf, "reduce", s.least),
		},
		Beat:        time.Duration(conf.Int("yarn.app.mapreduce.am.scheduler.heartbeat.interval-ms", 1000)) * time.Millisecond,
		ReduceAfter: int32(math.Ceil(conf.SlowStart() * float64(len(metas)))),
		Meta:        files.SplitMetaInfo, Metas: metas,
	}
	for _, m := range metas {
		f.Splits = append(f.Splits, m.Hosts)
	}
	if splits != nil {
		located, err := s.cluster.HDFS.SplitLocations(ctx, splits)
		switch {
		case errors.Is(err, fs.ErrNotExist): // generators name files that do not exist
		case err != nil:
			return nil, err
		default:
			f.Blocks, f.MostCached, f.Moves = replicasOf(located), mostCached(splits, located), true
			job.splits = splits
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.jobs[app.ID] = job
	return f, nil
}

func (s *staged) replicas(ctx context.Context, app string) ([][]steer.Replica, error) {
	located, err := s.cluster.HDFS.SplitLocations(ctx, s.job(app).splits)
	return replicasOf(located), err
}

func (s *staged) rewrite(ctx context.Context, app string, was, now []byte) error {
	return yarn.RewriteSplits(ctx, s.cluster.HDFS, s.job(app).folder, was, now)
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

// replicasOf are those of each split's first block, whose hosts the split names.
func replicasOf(located [][]hdfs.Block) [][]steer.Replica {
	out := make([][]steer.Replica, len(located))
	for i, blocks := range located {
		if len(blocks) == 0 {
			continue
		}
		for _, r := range blocks[0].Replicas {
			out[i] = append(out[i], steer.Replica{Host: r.Host, Cached: r.Cached})
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
