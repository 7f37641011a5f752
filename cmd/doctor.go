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
