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
	"heddle/harness/state"
	"heddle/harness/steer"
	"heddle/harness/watch"
	"heddle/yarnclient"
)

// jobFiles reads the files in jobs' staging directories (splits and configuration) and
// replaces the hosts that their splits
// name, so that the ApplicationMaster asks for containers on hosts that heddle chose.
type jobFiles interface {
	read(ctx context.Context, app yarnclient.App) (*steer.JobFiles, error)
	// replicas returns the present replicas of each map's input. It works for jobs
	// whose staged files were read before.
	replicas(ctx context.Context, app string) ([][]steer.Replica, error)
	// rewrite replaces the content of the job's file job.splitmetainfo by the argument
	// called now. It fails if the present content differs from the argument called was.
	rewrite(ctx context.Context, app string, was, now []byte) error
}

// staged reads and rewrites the files of jobs in their staging directories in HDFS.
type staged struct {
	watch   *watch.Watcher
	leastMB int64 // YARN's minimum allocation in MB, to which container sizes are rounded up

	mu   sync.Mutex
	jobs map[string]stagedJob // jobs whose staged files were read, by application id
}

type stagedJob struct {
	id, user string
	splits   []jobsplit.Split // the job's splits as submitted: one for each map, by the map's number
}

func (s *staged) job(app string) stagedJob {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.jobs[app]
}

func (s *staged) read(ctx context.Context, app yarnclient.App) (*steer.JobFiles, error) {
	job := stagedJob{id: "job_" + strings.TrimPrefix(app.ID, "application_"), user: app.User}
	files, _, err := s.watch.Staged(ctx, job.user, job.id)
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
			MapSize: containerSize(conf, "map", s.leastMB), ReduceSize: containerSize(conf, "reduce", s.leastMB),
		},
		Beat:        time.Duration(conf.Int("yarn.app.mapreduce.am.scheduler.heartbeat.interval-ms", 1000)) * time.Millisecond,
		ReduceAfter: int32(math.Ceil(conf.SlowStart() * float64(len(metas)))),
		Meta:        files.SplitMetaInfo, Metas: metas,
	}
	for _, m := range metas {
		f.Splits = append(f.Splits, m.Hosts)
	}
	if splits != nil {
		located, err := s.located(ctx, &stagedJob{job.id, job.user, splits})
		switch {
		case errors.Is(err, fs.ErrNotExist): // no blocks are located: jobs such as TeraGen name input files that do not exist
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
	job := s.job(app)
	located, err := s.located(ctx, &job)
	return replicasOf(located), err
}

// located returns the HDFS blocks of each split. An answer of the NameNode may be up to
// 900 ms old, such as one that a capture has just got; otherwise located asks the
// NameNode again.
func (s *staged) located(ctx context.Context, job *stagedJob) ([][]hdfs.Block, error) {
	blocks, err := s.watch.Blocks(ctx, job.id, job.splits, 900*time.Millisecond)
	located := make([][]hdfs.Block, len(job.splits))
	for i, split := range job.splits {
		located[i] = blocks[split]
	}
	return located, err
}

func (s *staged) rewrite(ctx context.Context, app string, was, now []byte) error {
	job := s.job(app)
	return s.watch.Rewrite(ctx, job.user, job.id, was, now)
}

// containerSize is the size of the container that YARN grants for a task: the size in
// the job's configuration, with the memory rounded up to a multiple of the minimum
// allocation.
func containerSize(conf yarn.Conf, kind string, leastMB int64) state.Resource {
	c := conf.Container(kind)
	return state.Resource{MemoryMB: int32((c.MemoryMB + leastMB - 1) / leastMB * leastMB), VCores: c.VCores}
}

// replicasOf returns the replicas of each split's first block, since the split's
// hosts are those of that block.
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

// mostCached returns, for each split, the hosts that have the most bytes of the split
// in their HDFS cache; none if nothing is cached. Hosts that cache fewer bytes are left
// out: otherwise the ApplicationMaster could run the map on one of them.
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
