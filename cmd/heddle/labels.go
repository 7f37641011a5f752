package main

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/urfave/cli/v2"

	"heddle/harness/lease"
	"heddle/harness/require"
	"heddle/harness/runs"
)

func labelsCommand() *cli.Command {
	return &cli.Command{
		Name:  "labels",
		Usage: "the cluster's steering set-up: show it, prepare it, put it back as it was",
		Description: `Steering moves nodes between labels. All it changes is noted in HDFS (` + lease.Root + `)
before, and put back when it ends; restore does that for a harness that was killed.
For example:

   heddle labels show
   heddle labels prepare --dry-run
   heddle labels restore --cluster clusters/blue.yaml`,
		Subcommands: []*cli.Command{labelsShow(), labelsPrepare(), labelsRestore()},
	}
}

func labelsShow() *cli.Command {
	return &cli.Command{
		Name:  "show",
		Usage: "labels, nodes, who holds the cluster, what is to be put back",
		Flags: []cli.Flag{clusterFlag(), jsonFlag()},
		Action: func(c *cli.Context) error {
			return withHeld(c, func(cluster *lease.Target) error {
				s, err := lease.Inspect(c.Context, cluster)
				if err != nil {
					return withCode(exitCluster, err)
				}
				return printResult(c, s, s.WriteText)
			})
		},
	}
}

func labelsPrepare() *cli.Command {
	var o lease.PrepareOptions
	return &cli.Command{
		Name:  "prepare",
		Usage: "add the labels that steering needs, and give a queue the whole of each",
		Description: `Stays until 'heddle labels restore --prepared'. Queue capacities are changed where
the ResourceManager allows it while it runs (yarn.scheduler.configuration.store.class),
and printed otherwise. For example:

   heddle labels prepare --queue root.research --triples 8 --dry-run`,
		Flags: []cli.Flag{
			clusterFlag(),
			&cli.IntFlag{Name: "triples", Value: require.Triples, Destination: &o.Triples, Usage: "labels for `N` jobs at a time"},
			&cli.StringFlag{Name: "queue", Destination: &o.Queue, Usage: "`PATH` of the leaf queue (default: the one with the largest capacity)"},
			&cli.BoolFlag{Name: "dry-run", Destination: &o.DryRun, Usage: "say what would be changed"},
			jsonFlag(),
		},
		Action: func(c *cli.Context) error {
			if o.Triples < 1 || o.Triples > 100 {
				return withCode(exitUsage, fmt.Errorf("--triples %d: want 1 to 100", o.Triples))
			}
			o.Purpose, o.Log = "heddle labels prepare", newLog(c)
			if !o.DryRun {
				putsBack(c, "the lease on "+c.String("cluster")+"; labels added so far stay noted", "heddle labels restore --prepared --cluster "+c.String("cluster"))
			}
			return withHeld(c, func(cluster *lease.Target) error {
				p, err := lease.Prepare(c.Context, cluster, o)
				if err != nil {
					return withCode(exitCluster, err)
				}
				return printResult(c, p, func(w io.Writer) error { return p.WriteText(w, o.DryRun) })
			})
		},
	}
}

func labelsRestore() *cli.Command {
	var o lease.RestoreOptions
	return &cli.Command{
		Name:  "restore",
		Usage: "put the cluster back as it was before a harness that was killed",
		Description: `Waits until the lease of the harness is void, half a minute after it died, and
refuses while it is alive. Jobs that were being steered first get nodes in turn
until they end: afterwards no node has the labels they ask for. Ends with code 1 if
something could not be put back; run it again then. For example:

   heddle labels restore
   heddle labels restore --drain 0s           leave steered jobs without nodes
   heddle labels restore --run RUN-FOLDER     where HDFS has lost the journal`,
		Flags: []cli.Flag{
			clusterFlag(),
			&cli.DurationFlag{Name: "drain", Value: lease.DrainLimit, Destination: &o.Drain, Usage: "`TIME` that steered jobs get to end"},
			&cli.BoolFlag{Name: "prepared", Destination: &o.Prepared, Usage: "undo also what prepare has set up"},
			&cli.StringFlag{Name: "run", Destination: &o.Folder, Usage: "put back also what the journal in run folder `DIR` says"},
			&cli.BoolFlag{Name: "unverified", Destination: &o.Unverified, Usage: "with --run, put back what a damaged journal says before the damage"},
			jsonFlag(),
		},
		Action: func(c *cli.Context) error {
			if o.Drain < 0 || o.Drain > 24*time.Hour {
				return withCode(exitUsage, fmt.Errorf("--drain %v: want 0s to 24h", o.Drain))
			}
			o.Purpose, o.Log = "heddle labels restore", newLog(c)
			putsBack(c, "the lease on "+c.String("cluster")+"; what is still to be put back stays noted", "heddle labels restore --cluster "+c.String("cluster"))
			return withHeld(c, func(cluster *lease.Target) error {
				r, err := lease.Restore(c.Context, cluster, o)
				if errors.Is(err, runs.ErrDamaged) || errors.Is(err, runs.ErrNotRun) {
					return withCode(exitUsage, err)
				} else if err != nil {
					return withCode(exitCluster, err)
				}
				return errors.Join(printResult(c, r, r.WriteText), r.Err())
			})
		},
	}
}

// withHeld calls work with the cluster that --cluster names.
func withHeld(c *cli.Context, work func(*lease.Target) error) error {
	if c.Args().Present() {
		return withCode(exitUsage, fmt.Errorf("labels %s takes no arguments, found %q", c.Command.Name, c.Args().First()))
	}
	file, err := loadCluster(c.String("cluster"))
	if err != nil {
		return err
	}
	cluster, err := lease.Connect(file)
	if err != nil {
		return withCode(exitUsage, err)
	}
	defer cluster.Close()
	return work(cluster)
}

// newLog tells progress on stderr.
func newLog(c *cli.Context) *slog.Logger { return slog.New(slog.NewTextHandler(c.App.ErrWriter, nil)) }
