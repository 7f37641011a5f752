package cmd

import (
	"errors"
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"heddle/harness/config"
	"heddle/harness/doc"
	"heddle/harness/doctor"
	"heddle/harness/require"
)

func doctorCommand() *cli.Command {
	fix := doctor.DefaultFix()
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

   heddle doctor --requirements --json | jq -r '.settings[] | select(.required) | .property'

With --fix-plan it prints which properties to change in which files, from what to
what, and which daemons to restart in which order, for a cluster that others set up.
Changes nothing. For example:

   heddle doctor --fix-plan --for captured,steered --cluster blue.yaml
   heddle doctor --fix-plan --format xml --cluster blue.yaml > parts.xml
   heddle doctor --fix-plan --format ansible --cluster blue.yaml > steering.yml`,
		Flags: []cli.Flag{
			clusterFlag(),
			&cli.BoolFlag{Name: "requirements", Usage: "print what a cluster needs, without asking one"},
			&cli.BoolFlag{Name: "fix-plan", Usage: "print what to change on the cluster, and how"},
			&cli.StringFlag{Name: "format", Value: "text", Usage: "form of the report: " + strings.Join(doc.Formats, ", ") + " or json; of the fix plan: text, xml (elements for Hadoop's files), ansible (variables of the role steering) or json"},
			&cli.StringFlag{Name: "for", Value: strings.Join(fix.Features, ","), Usage: "`FEATURES` that the fix plan is for"},
			&cli.StringFlag{Name: "queue", Destination: &fix.Queue, Usage: "`PATH` of the leaf queue for steered jobs in the fix plan (default: the one with the largest capacity)"},
			&cli.IntFlag{Name: "triples", Value: fix.Triples, Destination: &fix.Triples, Usage: "labels for `N` steered jobs at a time in the fix plan"},
			&cli.GenericFlag{Name: "cache", Value: &fix.Cache, Usage: "`SIZE` of a DataNode's cache in locked memory in the fix plan"},
			&cli.StringFlag{Name: "cache-folder", Destination: &fix.CacheFolder, Usage: "`PATH` of a tmpfs on each DataNode's host that is the cache instead"},
			jsonFlag(),
		},
		Action: func(c *cli.Context) error { return runDoctor(c, fix) },
	}
}

func runDoctor(c *cli.Context, fix doctor.FixOptions) error {
	plan := c.Bool("fix-plan")
	formats := doc.Formats
	if plan {
		formats = []string{"text", "xml", "ansible"}
	}
	if err := checkFormat(c.String("format"), formats); err != nil {
		return err
	}
	for _, flag := range []string{"for", "queue", "triples", "cache", "cache-folder"} {
		if c.IsSet(flag) && !plan {
			return withCode(exitUsage, fmt.Errorf("--%s is for a fix plan; want --fix-plan too", flag))
		}
	}
	if c.Bool("requirements") {
		if plan {
			return withCode(exitUsage, errors.New("both --requirements and --fix-plan; want one of them"))
		}
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
	if plan {
		return printFixPlan(c, cluster, fix)
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

// printFixPlan prints what to change on a cluster.
func printFixPlan(c *cli.Context, cluster *config.Cluster, fix doctor.FixOptions) error {
	fix.Features = strings.Split(c.String("for"), ",")
	if c.IsSet("cluster") {
		fix.File = c.String("cluster")
	}
	if err := fix.Validate(); err != nil {
		return withCode(exitUsage, err)
	}
	plan, err := doctor.PlanFix(c.Context, cluster, fix)
	if err != nil {
		return withCode(exitCluster, err)
	}
	switch format := c.String("format"); {
	case wantsJSON(c):
		return printJSON(c.App.Writer, plan)
	case format == "xml":
		return plan.WriteXML(c.App.Writer)
	case format == "ansible":
		return plan.WriteAnsible(c.App.Writer)
	}
	return plan.WriteText(c.App.Writer)
}
