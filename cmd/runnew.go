package cmd

import (
	_ "embed" // for the experiment file
	"fmt"
	"os"

	"github.com/urfave/cli/v2"

	"heddle/traces/outfile"
)

// newExperiment is an experiment that runs as it is, with its keys explained.
//
//go:embed new.yaml
var newExperiment []byte

// beginExperiment writes an experiment file to begin with. It overwrites none.
func beginExperiment(c *cli.Context, files []string) error {
	if len(files) != 1 {
		return usagef("--new: want the name of the file to write")
	}
	err := outfile.Create(files[0], func(f *os.File) error { _, err := f.Write(newExperiment); return err })
	if err != nil {
		return fmt.Errorf("write an experiment file: %w", err)
	}
	fmt.Fprintln(c.App.Writer, files[0])
	next(c, "heddle run --simulate", files[0])
	return nil
}
