package cmd

import (
	"io"

	"github.com/urfave/cli/v2"
)

// manCommand is for those who pack heddle. Its page has all commands and flags, without
// the examples of their help.
func manCommand() *cli.Command {
	return command("man", &struct{}{}, func(c *cli.Context, _ *struct{}, _ []string) error {
		page, err := c.App.ToManWithSection(1)
		if err == nil {
			_, err = io.WriteString(asIs(c.App.Writer), page)
		}
		return err
	})
}
