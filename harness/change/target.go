package change

import (
	"context"
	"fmt"
	"io"
	"os/exec"
	"syscall"
	"time"

	"heddle/collectors/hdfs"
	"heddle/harness/clients"
	"heddle/harness/config"
	"heddle/harness/lease"
	"heddle/harness/submit"
	"heddle/yarnclient"
)

// Target is a cluster to change, with the clients that do so.
type Target struct {
	// Name is the cluster's name, for use in messages.
	Name string
	RM   *yarnclient.RM
	// Files are where the lease and the journal of changes are.
	Files lease.Files
	HDFS  HDFS
	// Staging is the HDFS folder that has the files of the jobs that the cluster
	// file's user submits. It is empty if this machine has no Hadoop configuration.
	Staging string
	// Faults are the commands that carry out faults and undo them, and Run runs one.
	Faults *config.FaultCommands
	Run    func(ctx context.Context, command []string) (said []byte, err error)

	clients *clients.Clients // those that Connect made
}

// HDFS are the operations that changes in HDFS need. An [hdfs.Client] has them.
type HDFS interface {
	DataNodes(ctx context.Context) ([]hdfs.DataNode, error)
	CachePools(ctx context.Context) ([]hdfs.CachePool, error)
	AddCachePool(ctx context.Context, p hdfs.CachePool) error
	RemoveCachePool(ctx context.Context, name string) error
	List(ctx context.Context, folder string) ([]hdfs.File, error)
	Open(ctx context.Context, name string) (io.ReadCloser, error)
	RemoveAll(ctx context.Context, name string) error
}

// Connect returns the Target that a cluster file describes.
func Connect(c *config.Cluster) (*Target, error) {
	to, err := clients.To(c, lease.Patience)
	if err != nil {
		return nil, err
	}
	t := &Target{Name: c.Name, RM: to.RM, Files: lease.On(to.HDFS), HDFS: to.HDFS, Faults: c.Faults, Run: run, clients: to}
	if folder, err := submit.StagingFolder(c.Hadoop.Conf, c.User); err == nil {
		t.Staging = folder
	}
	return t, nil
}

// Close closes the connections that Connect opened.
func (c *Target) Close() { c.clients.Close() }

// run runs a command of the cluster file.
func run(ctx context.Context, command []string) ([]byte, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, commandLimit, fmt.Errorf("no end within %v", commandLimit))
	defer cancel()
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	// a process group of its own, so that ctrl-C does not stop a command that brings nodes back
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.WaitDelay = time.Second
	return cmd.CombinedOutput()
}
