package cmd

import (
	"errors"
	"io"
	"log/slog"
	"time"

	"github.com/urfave/cli/v2"

	"heddle/harness/change"
	"heddle/harness/require"
	"heddle/harness/runs"
)

type showOptions struct {
	inCluster
	printed
}

func labelsShow(c *cli.Context, o *showOptions, _ []string) error {
	return withCluster(o.Cluster, func(cluster *change.Target) error {
		s, err := change.Inspect(c.Context, cluster)
		if err != nil {
			return withCode(exitCluster, err)
		}
		return show(c, s)
	})
}

type prepareOptions struct {
	inCluster
	change.PrepareOptions
	asJSON
}

func labelsPrepare() *cli.Command {
	o := prepareOptions{inCluster: onLab(), PrepareOptions: change.PrepareOptions{Triples: require.Triples}}
	return command("labels prepare", &o, func(c *cli.Context, o *prepareOptions, _ []string) error {
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
	return command("restore", &o, func(c *cli.Context, o *restoreOptions, _ []string) error {
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
