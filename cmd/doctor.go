package cmd

import (
	"errors"
	"fmt"

	"github.com/urfave/cli/v2"

	"heddle/harness/doctor"
	"heddle/harness/require"
)

func doctorCommand() *cli.Command {
	return &cli.Command{
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

   heddle doctor --requirements --json | jq -r '.settings[] | select(.required) | .property'`,
		Flags: []cli.Flag{
			clusterFlag(),
			&cli.BoolFlag{Name: "requirements", Usage: "print what a cluster needs, without asking one"},
			tableFlag(),
			jsonFlag(),
		},
		Action: runDoctor,
	}
}

func runDoctor(c *cli.Context) error {
	if c.Bool("requirements") {
		if c.IsSet("cluster") {
			return withCode(exitUsage, errors.New("both --requirements and --cluster; want one of them: the requirements are the same for all clusters"))
		}
		r := require.All(require.Triples)
		return printResult(c, r, r.WriteText)
	}
	cluster, err := loadCluster(c.String("cluster"))
	if err != nil {
		return err
	}
	report, err := doctor.Examine(c.Context, cluster)
	if err != nil {
		return err
	}
	err = printDoc(c, report, report.Doc())
	if f := report.Feature(doctor.Captured); err == nil && f.Verdict != doctor.Yes {
		err = withCode(exitCluster, fmt.Errorf("cluster %s cannot be captured: %s", cluster.Name, f.Why[0]))
	}
	return err
}
