package cmd

import (
	_ "embed" // for the experiment file
	"fmt"
	"os"

	"github.com/urfave/cli/v2"
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
	f, err := os.OpenFile(files[0], os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o666)
	if err != nil {
		return fmt.Errorf("write an experiment file: %w", err)
	}
	if _, err = f.Write(newExperiment); err == nil {
		err = f.Close()
	}
	if err != nil {
		return fmt.Errorf("write an experiment file: %w", err)
	}
	fmt.Fprintln(c.App.Writer, files[0])
	next(c, "heddle run --simulate", files[0])
	return nil
}
