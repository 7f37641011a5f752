package cmd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"github.com/urfave/cli/v2"

	"heddle/collectors/node"
	"heddle/collectors/node/agent"
	"heddle/harness/change"
	"heddle/harness/runs"
)

func agentCommand() *cli.Command {
	var o agent.Options
	return &cli.Command{
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
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "listen", Destination: &o.Listen, Usage: fmt.Sprintf("`ADDR` to serve on, host:port (default: with TLS :%[1]d, without 127.0.0.1:%[1]d)", agent.DefaultPort)},
			&cli.StringFlag{Name: "token-file", Destination: &o.TokenFile, Usage: "`FILE` with one or two bearer tokens, mode 0600"},
			&cli.StringFlag{Name: "cgroup", Destination: &o.Sample.Cgroup, Usage: "measure the control group `PATH` and this network namespace, not the host"},
			&cli.StringFlag{Name: "node", Destination: &o.Node, Usage: "`NAME` of the node as Hadoop knows it (default: the hostname)"},
			&cli.DurationFlag{Name: "interval", Destination: &o.Interval, Usage: "`TIME` between samples", Value: time.Second},
			&cli.DurationFlag{Name: "keep", Destination: &o.Keep, Usage: "how long samples stay in memory", Value: time.Hour},
			&cli.StringFlag{Name: "tls-cert", Destination: &o.TLSCert, Usage: "PEM `FILE` with this node's certificate; serves HTTPS"},
			&cli.StringFlag{Name: "tls-key", Destination: &o.TLSKey, Usage: "PEM `FILE` with the certificate's key"},
			&cli.BoolFlag{Name: "allow-drop-caches", Destination: &o.AllowDropCaches, Usage: "let clients empty the page cache, for cold reads: with --cgroup that group's, otherwise the machine's"},
			&cli.StringFlag{Name: "drop-caches-socket", Destination: &o.Sample.DropSocket, Usage: "as --allow-drop-caches, for an agent that is not root: the service behind the Unix socket at `PATH` empties the machine's page cache"},
			&cli.StringSliceFlag{Name: "resident", Usage: "keep the files at `PATH` in memory, so that they are not read from a slow disk"},
			&cli.BoolFlag{Name: "watchdog", Usage: "put the cluster back as it was if a harness died while it steered"},
			clusterFlag(),
		},
		Action: func(c *cli.Context) error { return runAgent(c, o) },
	}
}

func runAgent(c *cli.Context, o agent.Options) error {
	if runtime.GOOS != "linux" && (o.Sample.Cgroup != "" || o.AllowDropCaches) {
		return withCode(exitCluster, fmt.Errorf("agent: --cgroup and --allow-drop-caches need Linux, and this is %s", runtime.GOOS))
	}
	if o.Sample.Cgroup != "" && o.Sample.DropSocket != "" {
		return withCode(exitUsage, errors.New("agent: --drop-caches-socket empties the machine's page cache, not that of --cgroup; leave one out"))
	}
	o.AllowDropCaches = o.AllowDropCaches || o.Sample.DropSocket != ""
	o.Version, o.Log = runs.ThisBuild().Version, newLog(c)
	if o.TokenFile == "" {
		var err error
		if o.TokenFile, err = ownToken("agent.token"); err != nil {
			return withCode(exitUsage, fmt.Errorf("%w; give one with --token-file", err))
		}
		o.Log.Info("token", "file", o.TokenFile)
	}
	a, err := agent.New(o)
	if err != nil {
		return withCode(exitUsage, err)
	}
	if bytes, err := node.Resident(c.StringSlice("resident")...); err != nil {
		o.Log.Warn("resident", "error", err, "bytes", bytes)
	}
	defer rereadAtHangup(c, a)()
	if !c.Bool("watchdog") {
		putsBack(c, "nothing; connections are being closed", "there was nothing to put back")
		return a.Run(c.Context)
	}
	file, err := loadCluster(c.String("cluster"))
	if err != nil {
		return err
	}
	cluster, err := change.Connect(file)
	if err != nil {
		return withCode(exitUsage, err)
	}
	defer cluster.Close()
	putsBack(c, "what a dead harness left changed on "+c.String("cluster")+", if that has begun", "heddle restore --cluster "+c.String("cluster"))
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
