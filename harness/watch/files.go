package watch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"heddle/collectors/hdfs"
	"heddle/collectors/hdfs/jobsplit"
	"heddle/collectors/yarn"
	"heddle/harness/clients"
	"heddle/yarnclient"
)

// Files reads the files of jobs in HDFS, and asks the NameNode for DataNodes and
// blocks. Jobs have ids such as "job_1_0001".
type Files interface {
	// Find asks in which HDFS folders the cluster keeps the files of jobs. The methods
	// that read or rewrite files call Find if it was not called before.
	Find(ctx context.Context) error
	DataNodes(ctx context.Context) ([]hdfs.DataNode, error)
	SplitLocations(ctx context.Context, splits []jobsplit.Split) ([][]hdfs.Block, error)
	// ReadStaged reads the files that a job's client has put into the job's staging
	// directory in HDFS. Hadoop deletes them when the job ends.
	ReadStaged(ctx context.Context, user, job string) (yarn.Staged, error)
	// RewriteSplits replaces the content of a job's staged file job.splitmetainfo by
	// the argument called now. It fails if the present content differs from the
	// argument called was.
	RewriteSplits(ctx context.Context, user, job string, was, now []byte) error
	ReadHistory(ctx context.Context, user, job string) (yarn.History, error)
}

// HDFS returns a Files that reads from the HDFS of a real cluster.
func HDFS(cluster *clients.Clients) Files {
	return &inHDFS{Client: cluster.HDFS, history: cluster.History}
}

type inHDFS struct {
	*hdfs.Client
	history *yarnclient.History

	mu      sync.Mutex
	staging string // value of yarn.app.mapreduce.am.staging-dir; empty: not asked for yet
	folders yarn.HistoryFolders
}

// findLimit is the time limit for the few short calls to the history server that Find
// makes.
const findLimit = 8 * time.Second

// Find asks the history server in which HDFS folders jobs' files are. The
// ResourceManager is not asked, because it lacks MapReduce's settings.
func (h *inHDFS) Find(ctx context.Context) (err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.staging != "" {
		return nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, findLimit, fmt.Errorf("the history server did not tell where it keeps files within %v",
		findLimit))
	defer cancel()
	get := func(name string) string {
		if err != nil {
			return ""
		}
		value, cerr := h.history.Conf(ctx, name)
		if cerr != nil && !errors.Is(cerr, yarnclient.ErrNotFound) {
			err = cerr
		}
		return value
	}
	staging := hdfs.BarePath(cmp.Or(get("yarn.app.mapreduce.am.staging-dir"), "/tmp/hadoop-yarn/staging"))
	folders := yarn.FoldersFrom(get, staging)
	if err == nil {
		h.staging, h.folders = staging, folders
	}
	return err
}

func (h *inHDFS) ReadStaged(ctx context.Context, user, job string) (yarn.Staged, error) {
	if err := h.Find(ctx); err != nil {
		return yarn.Staged{}, err
	}
	return yarn.ReadStaged(ctx, h.Client, yarn.StagingFolder(h.staging, user, job))
}

func (h *inHDFS) RewriteSplits(ctx context.Context, user, job string, was, now []byte) error {
	if err := h.Find(ctx); err != nil {
		return err
	}
	return yarn.RewriteSplits(ctx, h.Client, yarn.StagingFolder(h.staging, user, job), was, now)
}

func (h *inHDFS) ReadHistory(ctx context.Context, user, job string) (yarn.History, error) {
	if err := h.Find(ctx); err != nil {
		return yarn.History{}, err
	}
	return yarn.ReadHistory(ctx, h.Client, h.folders, user, job)
}

// stagedFiles are the files in a job's staging directory, as its ApplicationMaster will
// read them.
type stagedFiles struct {
	yarn.Staged
	rewritten chan struct{} // channel that is closed when Rewrite replaces the staged files
}

func stagedOf(job string) question { return question{"staged", job} }

// Staged returns the files in a job's staging directory, as the ApplicationMaster will
// read them. They are read from HDFS only once. The returned channel is closed when
// Rewrite replaces them.
func (w *Watcher) Staged(ctx context.Context, user, job string) (yarn.Staged, <-chan struct{}, error) {
	files, err := w.readOnce(ctx, user, job)
	return files.Staged, files.rewritten, err
}

func (w *Watcher) readOnce(ctx context.Context, user, job string) (stagedFiles, error) {
	return ask(ctx, w, stagedOf(job), math.MaxInt64, func(ctx context.Context) (stagedFiles, error) {
		files, err := w.ReadStaged(ctx, user, job)
		return stagedFiles{files, make(chan struct{})}, err
	})
}

// Rewrite replaces the content of a job's staged file job.splitmetainfo by the argument
// called now. It fails if the present content differs from the argument called was.
// Only one caller may rewrite the files of a job.
func (w *Watcher) Rewrite(ctx context.Context, user, job string, was, now []byte) error {
	files, err := w.readOnce(ctx, user, job)
	if err != nil {
		return err
	}
	// Closing the channel announces the rewriting before it is done. So those who wait
	// on it know the new splits before the job's ApplicationMaster can read them.
	rewritten := files.rewritten
	files.SplitMetaInfo, files.rewritten = now, make(chan struct{})
	a := &answer{sent: time.Now(), given: make(chan struct{}), value: files}
	close(a.given)
	w.mu.Lock()
	w.newest[stagedOf(job)] = a
	w.mu.Unlock()
	close(rewritten)
	return w.RewriteSplits(ctx, user, job, was, now)
}
