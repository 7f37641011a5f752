package cmd

import (
	"errors"
	"fmt"
	"time"

	"github.com/urfave/cli/v2"

	"heddle/harness/change"
	"heddle/harness/lease"
	"heddle/harness/runs"
)

func restoreCommand() *cli.Command {
	return restoring(&cli.Command{
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
	}, change.RestoreOptions{})
}

// restoring makes a command that puts back what the options name.
func restoring(command *cli.Command, o change.RestoreOptions) *cli.Command {
	command.Flags = []cli.Flag{
		clusterFlag(),
		&cli.DurationFlag{Name: "drain", Value: change.DrainLimit, Destination: &o.Drain, Usage: "`TIME` that steered jobs get to end"},
		&cli.BoolFlag{Name: "prepared", Destination: &o.Prepared, Usage: "also undo what 'heddle labels prepare' has set up"},
		&cli.StringFlag{Name: "run", Destination: &o.Folder, Usage: "also put back the changes in the journal of the run folder `DIR`"},
		&cli.BoolFlag{Name: "unverified", Destination: &o.Unverified, Usage: "with --run, put back the changes before the damage in a damaged journal"},
		tableFlag(), jsonFlag(),
	}
	command.Action = func(c *cli.Context) error {
		if o.Drain < 0 || o.Drain > 24*time.Hour {
			return withCode(exitUsage, fmt.Errorf("--drain %v: want 0s to 24h", o.Drain))
		}
		o.Purpose, o.Log = commandName(c), newLog(c)
		putsBack(c, "the lease on "+c.String("cluster")+"; changes that are not put back yet stay noted", "heddle restore --cluster "+c.String("cluster"))
		return withCluster(c, func(cluster *change.Target) error {
			r, err := change.Restore(c.Context, cluster, o)
			if errors.Is(err, runs.ErrDamaged) || errors.Is(err, runs.ErrNotRun) {
				return withCode(exitUsage, err)
			} else if err != nil {
				return withCode(exitCluster, err)
			}
			return errors.Join(printDoc(c, r, r.Doc()), r.Err())
		})
	}
	return command
}
