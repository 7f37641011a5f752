package cmd

import (
	"fmt"
	"io"
	"log/slog"

	"github.com/urfave/cli/v2"

	"heddle/harness/change"
	"heddle/harness/lease"
	"heddle/harness/require"
)

func labelsCommand() *cli.Command {
	return &cli.Command{
		Name:  "labels",
		Usage: "what steering needs and changes on a cluster: show it, prepare it, put it back",
		Description: `Steering moves nodes between labels. It first notes all changes in HDFS (` + lease.Root + `)
and puts them back when it ends. After a kill, restore puts them back.
For example:

   heddle labels show
   heddle labels prepare --dry-run
   heddle labels restore --cluster clusters/blue.yaml`,
		Subcommands: []*cli.Command{labelsShow(), labelsPrepare(), labelsRestore()},
	}
}

func labelsShow() *cli.Command {
	return &cli.Command{
		Name:        "show",
		Usage:       "labels, nodes, who holds the cluster, which changes are to be put back",
		Description: "For example:\n\n   heddle labels show --cluster blue.yaml",
		Flags:       []cli.Flag{clusterFlag(), tableFlag(), jsonFlag()},
		Action: func(c *cli.Context) error {
			return withCluster(c, func(cluster *change.Target) error {
				s, err := change.Inspect(c.Context, cluster)
				if err != nil {
					return withCode(exitCluster, err)
				}
				return printDoc(c, s, s.Doc())
			})
		},
	}
}

func labelsPrepare() *cli.Command {
	var o change.PrepareOptions
	return &cli.Command{
		Name:  "prepare",
		Usage: "add the labels that steering needs, and let a queue use all nodes of each",
		Description: `This stays until 'heddle labels restore --prepared'. Queue capacities are changed if
the running ResourceManager allows it (yarn.scheduler.configuration.store.class),
and only printed otherwise. For example:

   heddle labels prepare --queue root.research --triples 8 --dry-run`,
		Flags: []cli.Flag{
			clusterFlag(),
			&cli.IntFlag{Name: "triples", Value: require.Triples, Destination: &o.Triples, Usage: "labels for `N` jobs at a time"},
			&cli.StringFlag{Name: "queue", Destination: &o.Queue, Usage: "`PATH` of the leaf queue (default: the one with the largest part of the cluster)"},
			&cli.BoolFlag{Name: "dry-run", Destination: &o.DryRun, Usage: "print what would be changed"},
			jsonFlag(),
		},
		Action: func(c *cli.Context) error {
			if o.Triples < 1 || o.Triples > 100 {
				return withCode(exitUsage, fmt.Errorf("--triples %d: want 1 to 100", o.Triples))
			}
			o.Purpose, o.Log = "heddle labels prepare", newLog(c)
			if !o.DryRun {
				putsBack(c, "the lease on "+c.String("cluster")+"; labels that were added stay, and stay noted", "heddle labels restore --prepared --cluster "+c.String("cluster"))
			}
			return withCluster(c, func(cluster *change.Target) error {
				p, err := change.Prepare(c.Context, cluster, o)
				if err != nil {
					return withCode(exitCluster, err)
				}
				return printResult(c, p, func(w io.Writer) error { return p.WriteText(w, o.DryRun) })
			})
		},
	}
}

func labelsRestore() *cli.Command {
	return restoring(&cli.Command{
		Name:  "restore",
		Usage: "put labels, sizes of nodes and queue settings back as they were before a killed harness changed them",
		Description: `'heddle restore' puts back everything else too: faults of nodes, cached inputs,
applications and their files. Waits until the lease of the harness is void, half a
minute after its death, and fails if the harness is alive. Steered jobs first get nodes
in turn until they end, since no node has their labels afterwards. Ends with code 1 if
something could not be put back; then run it again. For example:

   heddle labels restore
   heddle labels restore --drain 0s           leave steered jobs without nodes
   heddle labels restore --run RUN-FOLDER     if HDFS has lost the journal`,
	}, change.RestoreOptions{Labels: true})
}

// withCluster connects to the cluster that the flag --cluster names, and calls
// the function work with it.
func withCluster(c *cli.Context, work func(*change.Target) error) error {
	file, err := loadCluster(c.String("cluster"))
	if err != nil {
		return err
	}
	cluster, err := change.Connect(file)
	if err != nil {
		return withCode(exitUsage, err)
	}
	defer cluster.Close()
	return work(cluster)
}

// newLog returns a logger whose lines go to stderr.
func newLog(c *cli.Context) *slog.Logger { return slog.New(slog.NewTextHandler(c.App.ErrWriter, nil)) }
