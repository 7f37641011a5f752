package cmd

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"sync"

	"github.com/urfave/cli/v2"

	"heddle/collectors/node"
	"heddle/collectors/node/agent"
	"heddle/harness/change"
	"heddle/harness/runs"
)

type agentOptions struct {
	agent.Options
	Resident []string `flag:"resident" text:"keep the files at PATH in memory, so that they are not read from a slow disk; may be repeated" of:"PATH"`
	Watchdog bool     `flag:"watchdog" text:"put the cluster back as it was if a harness died while it steered"`
	inCluster
}

func runAgent(c *cli.Context, given *agentOptions, _ []string) error {
	o := given.Options
	if runtime.GOOS != "linux" && (o.Sample.Cgroup != "" || o.AllowDropCaches) {
		return withCode(exitCluster, fmt.Errorf("agent: --cgroup and --allow-drop-caches need Linux, and this is %s", runtime.GOOS))
	}
	if o.Sample.Cgroup != "" && o.Sample.DropSocket != "" {
		return usagef("agent: --drop-caches-socket empties the machine's page cache, not that of --cgroup; leave one out")
	}
	o.AllowDropCaches = o.AllowDropCaches || o.Sample.DropSocket != ""
	o.Version, o.Log = runs.ThisBuild().Version, newLog(c)
	if o.TokenFile == "" {
		var err error
		if o.TokenFile, err = ownToken("agent.token"); err != nil {
			return usagef("%w; give one with --token-file", err)
		}
		o.Log.Info("token", "file", o.TokenFile)
	}
	a, err := agent.New(o)
	if err != nil {
		return usage(err)
	}
	if bytes, err := node.Resident(given.Resident...); err != nil {
		o.Log.Warn("resident", "error", err, "bytes", bytes)
	}
	defer rereadAtHangup(c, a)()
	if !given.Watchdog {
		putsBack(c, "nothing; connections are being closed", "there was nothing to put back")
		return a.Run(c.Context)
	}
	return withCluster(given.Cluster, func(cluster *change.Target) error {
		putsBack(c, "what a dead harness left changed on "+given.Cluster+", if that has begun", "heddle restore --cluster "+given.Cluster)
		ctx, stop := context.WithCancel(c.Context)
		var watch sync.WaitGroup
		watch.Go(func() { change.Watch(ctx, cluster, "heddle agent --watchdog", o.Log) })
		err := a.Run(ctx)
		stop()
		watch.Wait()
		return err
	})
}

// rereadAtHangup makes the agent read its files again at each SIGHUP, which would
// otherwise end the process. stop ends this.
func rereadAtHangup(c *cli.Context, a *agent.Agent) (stop func()) {
	hangups := make(chan os.Signal, 1)
	hangupsFor(c, hangups)
	go func() {
		for range hangups {
			a.Reread()
		}
	}()
	return func() {
		signal.Stop(hangups)
		close(hangups)
	}
}

// ownToken returns the path of a file of this user with a token, such as that which
// heddle agents ask for. It makes the file, with a new token, if there is none.
func ownToken(name string) (string, error) {
	state, err := runs.StateFolder()
	if err != nil {
		return "", err
	}
	path := filepath.Join(state, name)
	_, err = agent.CreateToken(path)
	return path, err
}
