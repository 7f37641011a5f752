package cmd

import (
	"fmt"
	"os"

	"github.com/urfave/cli/v2"

	"heddle/harness/doctor"
	"heddle/harness/queues"
	"heddle/harness/require"
)

type doctorOptions struct {
	inCluster
	Requirements bool   `flag:"requirements" text:"print what a cluster needs, without asking one"`
	Queues       string `flag:"queues" text:"say what is wrong in FILE, a capacity-scheduler.xml, without asking a cluster" of:"FILE"`
	printed
}

func doctorCommand() *cli.Command {
	return command(&cli.Command{
		Name:  "doctor",
		Usage: "can this cluster be captured, steered, cached? what is missing?",
		Description: `Asks every daemon of a cluster, and says for each feature what the cluster has and
lacks, with the property to set. Changes nothing. Ends with code 3 if the cluster
cannot be captured. For example:

   heddle doctor                              the lab
   heddle doctor --cluster clusters/blue.yaml
   heddle doctor --json | jq '.features[] | {name, verdict}'

With --requirements it asks no cluster. It prints the settings and node labels that
a cluster needs, with the reason for each and the daemon to restart. For example:

   heddle doctor --requirements --json | jq -r '.settings[] | select(.required) | .property'

With --queues it asks no cluster either. It says what stops a ResourceManager in a file of
queues, with code 2, or else what may not be meant: a queue whose ApplicationMasters
leave room for one job, a maximum that no user reaches, keys of queues that are not
there. For example:

   heddle doctor --queues capacity-scheduler.xml`,
	}, &doctorOptions{inCluster: onLab()}, runDoctor)
}

func runDoctor(c *cli.Context, o *doctorOptions, _ []string) error {
	if o.Requirements {
		if c.IsSet("cluster") {
			return usagef("both --requirements and --cluster; want one of them: the requirements are the same for all clusters")
		}
		r := require.All(require.Triples)
		return printResult(c, r, r.WriteText)
	}
	if o.Queues != "" {
		return examineQueues(c, o.Queues)
	}
	cluster, err := loadCluster(o.Cluster)
	if err != nil {
		return err
	}
	report, err := doctor.Examine(c.Context, cluster)
	if err != nil {
		return err
	}
	err = show(c, report)
	if f := report.Feature(doctor.Captured); err == nil && f.Verdict != doctor.Yes {
		err = withCode(exitCluster, fmt.Errorf("cluster %s cannot be captured: %s", cluster.Name, f.Why[0]))
	}
	return err
}

func examineQueues(c *cli.Context, name string) error {
	file, err := os.Open(name)
	if err != nil {
		return withCode(exitUsage, err)
	}
	defer file.Close()
	r := doctor.ExamineQueues(queues.Read(file))
	err = show(c, r)
	if err == nil && r.Refused != "" {
		err = withCode(exitUsage, fmt.Errorf("%s: no ResourceManager starts with it", name))
	}
	return err
}
