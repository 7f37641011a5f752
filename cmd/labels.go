package cmd

import (
	"errors"
	"io"
	"log/slog"
	"time"

	"github.com/urfave/cli/v2"

	"heddle/harness/change"
	"heddle/harness/lease"
	"heddle/harness/require"
	"heddle/harness/runs"
)

func labelsCommand() *cli.Command {
	return &cli.Command{
		Name:  "labels",
		Usage: "what steering needs and changes on a cluster: show it, prepare it",
		Description: `Steering moves nodes between labels. It first notes all changes in HDFS (` + lease.Root + `)
and puts them back when it ends. After a kill, 'heddle restore' does.
For example:

   heddle labels show
   heddle labels prepare --dry-run
   heddle restore --prepared`,
		Subcommands: []*cli.Command{labelsShow(), labelsPrepare()},
	}
}

type showOptions struct {
	inCluster
	printed
}

func labelsShow() *cli.Command {
	return command(&cli.Command{
		Name:        "show",
		Usage:       "labels, nodes, who holds the cluster, which changes are to be put back",
		Description: "For example:\n\n   heddle labels show --cluster blue.yaml",
	}, &showOptions{inCluster: onLab()}, func(c *cli.Context, o *showOptions, _ []string) error {
		return withCluster(o.Cluster, func(cluster *change.Target) error {
			s, err := change.Inspect(c.Context, cluster)
			if err != nil {
				return withCode(exitCluster, err)
			}
			return show(c, s)
		})
	})
}

type prepareOptions struct {
	inCluster
	change.PrepareOptions
	asJSON
}

func labelsPrepare() *cli.Command {
	o := prepareOptions{inCluster: onLab(), PrepareOptions: change.PrepareOptions{Triples: require.Triples}}
	return command(&cli.Command{
		Name:  "prepare",
		Usage: "add the labels that steering needs, and let a queue use all nodes of each",
		Description: `This stays until 'heddle restore --prepared'. Queue capacities are changed if
the running ResourceManager allows it (yarn.scheduler.configuration.store.class),
and only printed otherwise. For example:

   heddle labels prepare --queue root.research --triples 8 --dry-run`,
	}, &o, func(c *cli.Context, o *prepareOptions, _ []string) error {
		o.Purpose, o.Log = "heddle labels prepare", newLog(c)
		if !o.DryRun {
			putsBack(c, "the lease on "+o.Cluster+"; labels that were added stay, and stay noted",
				"heddle restore --prepared --cluster "+o.Cluster)
		}
		return withCluster(o.Cluster, func(cluster *change.Target) error {
			p, err := change.Prepare(c.Context, cluster, o.PrepareOptions)
			if err != nil {
				return withCode(exitCluster, err)
			}
			return printResult(c, p, func(w io.Writer) error { return p.WriteText(w, o.DryRun) })
		})
	})
}

type restoreOptions struct {
	inCluster
	change.RestoreOptions
	Run string `flag:"run" text:"also put back the changes in the journal of the run folder DIR" of:"DIR"`
	printed
}

func restoreCommand() *cli.Command {
	o := restoreOptions{inCluster: onLab(), RestoreOptions: change.RestoreOptions{Drain: change.DrainLimit}}
	return command(&cli.Command{
		Name:  "restore",
		Usage: "put a cluster back as it was before a killed heddle changed it",
		Description: `Brings nodes back that faults took down or made slow, ends the applications that heddle
submitted, removes their files and the cached inputs, and puts labels, sizes of nodes and
queue settings back. All of this is noted in HDFS (` + lease.Root + `) before it is done,
so it works from any machine with the cluster file. The next heddle run does it too.

It waits until the lease of the killed heddle is void, half a minute after its death, and
fails with code 3 if that heddle is alive. Ends with code 1 if something could not be put
back; then run it again. For example:

   heddle restore
   heddle restore --cluster clusters/blue.yaml --json
   heddle restore --prepared                  also what 'heddle labels prepare' set up
   heddle restore --run RUN-FOLDER            if HDFS has lost the journal`,
	}, &o, func(c *cli.Context, o *restoreOptions, _ []string) error {
		if o.Drain < 0 || o.Drain > 24*time.Hour {
			return usagef("--drain %v: want 0s to 24h", o.Drain)
		}
		o.Purpose, o.Log, o.Folder = commandName(c), newLog(c), o.Run
		putsBack(c, "the lease on "+o.Cluster+"; changes that are not put back yet stay noted", "heddle restore --cluster "+o.Cluster)
		return withCluster(o.Cluster, func(cluster *change.Target) error {
			r, err := change.Restore(c.Context, cluster, o.RestoreOptions)
			if errors.Is(err, runs.ErrDamaged) || errors.Is(err, runs.ErrNotRun) {
				return usage(err)
			} else if err != nil {
				return withCode(exitCluster, err)
			}
			return errors.Join(show(c, r), r.Err())
		})
	})
}

// withCluster connects to a cluster, and calls the function work with it.
func withCluster(name string, work func(*change.Target) error) error {
	file, err := loadCluster(name)
	if err != nil {
		return err
	}
	cluster, err := change.Connect(file)
	if err != nil {
		return usage(err)
	}
	defer cluster.Close()
	return work(cluster)
}

// newLog returns a logger whose lines go to stderr.
func newLog(c *cli.Context) *slog.Logger { return slog.New(slog.NewTextHandler(c.App.ErrWriter, nil)) }
