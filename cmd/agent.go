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

func agentCommand() *cli.Command {
	return command(&cli.Command{
		Name:  "agent",
		Usage: "serve this node's metrics over HTTP",
		Description: `Samples CPU, load, memory, disks and network once a second. It serves the samples to
clients with the token: /metrics for Prometheus, /samples and /info as JSON.

   heddle agent --token-file agent.token --tls-cert worker1.pem --tls-key worker1.key --node worker1

With TLS it listens on every address. Without TLS others could read the token on the
network, so it listens on loopback only, unless --listen names an address:

   heddle agent --token-file agent.token --listen 10.0.0.11:9177 --node worker1

The token file has one or two tokens, one a line, and the agent accepts both. It reads
the token file and the certificate again when they have changed, and at SIGHUP.

A cluster file has each agent's url and tokenFile, and as caFile the CA that signed
its certificate. Without --token-file the agent makes a token in the user's state
directory and prints the file's path.

With --watchdog it also watches a cluster. If a harness dies while it steers, the
agent does what 'heddle restore' does. Several agents may watch one cluster.

   heddle agent --watchdog --cluster /etc/heddle/blue.yaml`,
	}, &agentOptions{inCluster: onLab()}, runAgent)
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
	file, err := loadCluster(given.Cluster)
	if err != nil {
		return err
	}
	cluster, err := change.Connect(file)
	if err != nil {
		return usage(err)
	}
	defer cluster.Close()
	putsBack(c, "what a dead harness left changed on "+given.Cluster+", if that has begun", "heddle restore --cluster "+given.Cluster)
	ctx, stop := context.WithCancel(c.Context)
	var watch sync.WaitGroup
	watch.Go(func() { change.Watch(ctx, cluster, "heddle agent --watchdog", o.Log) })
	err = a.Run(ctx)
	stop()
	watch.Wait()
	return err
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
