package cmd

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/urfave/cli/v2"

	"heddle/harness/steer"
	"heddle/harness/steer/drive"
	"heddle/traces/printable"
)

// replayObservations checks the code that steers a cluster. It lets this code
// run again on recorded observations of a cluster and prints the code's
// actions. It returns an error if an action differs from the recorded one.
func replayObservations(c *cli.Context, files []string) error {
	for _, path := range files {
		f, err := os.Open(path)
		if err != nil {
			return usage(err)
		}
		steps := 0
		err = drive.Replay(f, func(after time.Duration, actions []steer.Action) {
			steps++
			for _, a := range actions {
				if steer.Matters(a) {
					printable.Fprintf(c.App.Writer, "%9.3fs  %s\n", after.Seconds(), a)
				}
			}
		})
		f.Close()
		if err != nil && !errors.Is(err, drive.ErrDiffers) {
			return usagef("%s: %w", path, err)
		} else if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		fmt.Fprintf(c.App.Writer, "%s: %d steps, all with the recorded actions\n", path, steps)
	}
	return nil
}
