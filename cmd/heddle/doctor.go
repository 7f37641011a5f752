package main

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/urfave/cli/v2"
	"golang.org/x/term"

	"heddle/harness/doctor"
)

func doctorCommand() *cli.Command {
	return &cli.Command{
		Name:  "doctor",
		Usage: "can this cluster be captured, steered, cached? what is missing?",
		Description: `Asks every daemon of a cluster and says what it has and lacks for each feature,
with the property to set. Changes nothing. Ends with code 3 if the cluster
cannot be captured. For example:

   heddle doctor                              the lab
   heddle doctor --cluster clusters/blue.yaml
   heddle doctor --json | jq '.features[] | {name, verdict}'`,
		Flags: []cli.Flag{
			clusterFlag(),
			&cli.BoolFlag{Name: "json", Usage: "print JSON"},
		},
		Action: runDoctor,
	}
}

func runDoctor(c *cli.Context) error {
	if c.Args().Present() {
		return withCode(exitUsage, fmt.Errorf("doctor takes no arguments, found %q; name a cluster with --cluster", c.Args().First()))
	}
	cluster, err := loadCluster(c.String("cluster"))
	if err != nil {
		return err
	}
	report, err := doctor.Examine(c.Context, cluster)
	if err != nil {
		return err
	}
	if c.Bool("json") {
		enc := json.NewEncoder(c.App.Writer)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", "  ")
		err = enc.Encode(report)
	} else {
		color := os.Getenv("NO_COLOR") == "" && c.App.Writer == os.Stdout && term.IsTerminal(int(os.Stdout.Fd()))
		err = report.WriteText(c.App.Writer, color)
	}
	if f := report.Feature(doctor.Captured); err == nil && f.Verdict != doctor.Yes {
		err = withCode(exitCluster, fmt.Errorf("cluster %s cannot be captured: %s", cluster.Name, f.Why[0]))
	}
	return err
}
