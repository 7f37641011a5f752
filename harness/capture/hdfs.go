package capture

import (
	"context"

	"heddle/collectors/hdfs"
	"heddle/collectors/hdfs/jobsplit"
	"heddle/collectors/yarn"
	"heddle/harness/clients"
	"heddle/traces"
)

// hdfsReader is what a capture reads of HDFS.
type hdfsReader interface {
	// find asks where the cluster keeps jobs' files; it comes first.
	find(ctx context.Context) error
	dataNodes(ctx context.Context) ([]hdfs.DataNode, error)
	splitLocations(ctx context.Context, splits []jobsplit.Split) ([][]hdfs.Block, error)
	staged(ctx context.Context, user string, job traces.JobID) (yarn.Staged, error)
	history(ctx context.Context, user string, job traces.JobID) (yarn.History, error)
}

// hdfsOf is a cluster's.
type hdfsOf struct {
	cluster *clients.Clients
	staging string // yarn.app.mapreduce.am.staging-dir
	folders yarn.HistoryFolders
}

func (h *hdfsOf) find(ctx context.Context) (err error) {
	h.staging, h.folders, err = findPaths(ctx, h.cluster)
	return err
}

func (h *hdfsOf) dataNodes(ctx context.Context) ([]hdfs.DataNode, error) {
	return h.cluster.HDFS.DataNodes(ctx)
}

func (h *hdfsOf) splitLocations(ctx context.Context, splits []jobsplit.Split) ([][]hdfs.Block, error) {
	return h.cluster.HDFS.SplitLocations(ctx, splits)
}

func (h *hdfsOf) staged(ctx context.Context, user string, job traces.JobID) (yarn.Staged, error) {
	files, err := h.cluster.HDFS.Files()
	if err != nil {
		return yarn.Staged{}, err
	}
	return yarn.ReadStaged(ctx, files, yarn.StagingFolder(h.staging, user, string(job)))
}

func (h *hdfsOf) history(ctx context.Context, user string, job traces.JobID) (yarn.History, error) {
	files, err := h.cluster.HDFS.Files()
	if err != nil {
		return yarn.History{}, err
	}
	return yarn.ReadHistory(ctx, files, h.folders, user, string(job))
}
