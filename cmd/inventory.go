package cmd

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/urfave/cli/v2"

	"heddle/harness/inventory"
	"heddle/traces/outfile"
	"heddle/traces/printable"
)

func clusterCommand() *cli.Command {
	return &cli.Command{
		Name:  "cluster",
		Usage: "cluster files: make one of an Ansible inventory",
		Description: `A cluster file says where a cluster's daemons and agents are. Commands take it
with --cluster. For example:

   heddle cluster from-inventory inventory.yml -o blue.yaml
   heddle doctor --cluster blue.yaml`,
		Subcommands: []*cli.Command{clusterFromInventory()},
	}
}

func clusterFromInventory() *cli.Command {
	return &cli.Command{
		Name:      "from-inventory",
		Usage:     "make the cluster file of what an Ansible inventory sets up",
		ArgsUsage: "INVENTORY",
		Description: `Reads what 'ansible-inventory --list' prints of the inventory, which may be a file
in INI or YAML, a folder, or a program; - reads that JSON from standard input. Takes
the groups namenode, resourcemanager, historyserver, workers and harness, and the
variables that the collection in heddle's folder ansible documents. Reads no secret.
For example:

   heddle cluster from-inventory inventory.yml -o blue.yaml
   ansible-inventory -i inventory.yml --list | heddle cluster from-inventory -`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "output", Aliases: []string{"o"}, Usage: "write to `FILE`, whose name without .yaml becomes the cluster's (default: standard output)"},
		},
		Action: withArguments(func(c *cli.Context, sources []string) error {
			if len(sources) != 1 {
				return withCode(exitUsage, fmt.Errorf("cluster from-inventory: want one inventory, or - for JSON on standard input; found %s", printable.Count(len(sources), "argument")))
			}
			return fromInventory(c, sources[0], c.String("output"))
		}),
	}
}

func fromInventory(c *cli.Context, source, output string) error {
	if _, there := os.Lstat(output); output != "" && there == nil {
		return withCode(exitUsage, fmt.Errorf("cluster from-inventory: %s exists: choose another file", output))
	}
	var data []byte
	var err error
	if source == "-" {
		data, err = io.ReadAll(io.LimitReader(os.Stdin, inventory.MaxBytes+1))
	} else {
		data, err = inventory.List(c.Context, source)
	}
	if errors.Is(err, inventory.ErrNoAnsible) {
		return withCode(exitFailed, err)
	} else if err != nil {
		return withCode(exitUsage, err)
	}
	file, err := filepath.Abs(cmp.Or(output, "cluster.yaml"))
	if err != nil {
		return err
	}
	made, err := inventory.Parse(file, data)
	if err != nil {
		return withCode(exitUsage, fmt.Errorf("make a cluster file of inventory %s:\n%w", source, err))
	}
	for _, note := range made.Notes {
		fmt.Fprintln(c.App.ErrWriter, "note:", note)
	}
	content, err := made.File()
	if err != nil {
		return err
	}
	if output == "" {
		_, err = c.App.Writer.Write(content)
		return err
	}
	return outfile.Create(output, func(f *os.File) error {
		_, err := f.Write(content)
		return err
	})
}
