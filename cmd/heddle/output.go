package main

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"heddle/harness/doc"
)

// tableFlag returns the flag --format, for commands that print tables.
func tableFlag() cli.Flag {
	return &cli.StringFlag{Name: "format", Value: "text", Usage: "form of the result: " + strings.Join(doc.Formats, ", ") + " or json"}
}

// checkFormat returns an error if --format names no format.
func checkFormat(c *cli.Context) error {
	if format := c.String("format"); format != "json" && !slices.Contains(doc.Formats, format) {
		return withCode(exitUsage, fmt.Errorf("--format %q: want %s or json", format, strings.Join(doc.Formats, ", ")))
	}
	return nil
}

// printDoc prints a command's result in the form that --format or --json names: v
// as JSON, otherwise the document d.
func printDoc(c *cli.Context, v any, d doc.Doc) error {
	if c.Bool("json") || c.String("format") == "json" {
		return printJSON(c.App.Writer, v)
	}
	if os.Getenv("NO_COLOR") == "" && isTerminal(c.App.Writer) {
		return doc.Write(asIs(c.App.Writer), c.String("format"), d, true) // the document escapes what it says
	}
	return doc.Write(c.App.Writer, c.String("format"), d, false)
}
