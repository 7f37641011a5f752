package cmd

import (
	"io"

	"github.com/urfave/cli/v2"
)

// runMan is for those who pack heddle. Its page has all commands and flags, without
// the examples of their help.
func runMan(c *cli.Context, _ *struct{}, _ []string) error {
	page, err := c.App.ToManWithSection(1)
	if err == nil {
		_, err = io.WriteString(asIs(c.App.Writer), page)
	}
	return err
}
