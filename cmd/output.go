package cmd

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"heddle/harness/doc"
)

// tableFlag returns the flag --format, for commands that print tables with printDoc.
func tableFlag() cli.Flag {
	return &cli.GenericFlag{Name: "format", Value: new(tableFormat), DefaultText: "text", Usage: "form of the result: " + strings.Join(doc.Formats, ", ") + " or json"}
}

// tableFormat is the value of --format, empty for text.
type tableFormat string

// Set refuses what is no format.
func (f *tableFormat) Set(text string) error {
	*f = tableFormat(text)
	return checkFormat(text, doc.Formats)
}

// String returns the format's name.
func (f *tableFormat) String() string { return string(*f) }

// checkFormat returns an error if a format is neither json nor one of the others.
func checkFormat(format string, others []string) error {
	if format != "json" && !slices.Contains(others, format) {
		return withCode(exitUsage, fmt.Errorf("--format %q: want %s or json", format, strings.Join(others, ", ")))
	}
	return nil
}

// wantsJSON reports whether --json or --format asks for JSON.
func wantsJSON(c *cli.Context) bool { return c.Bool("json") || c.String("format") == "json" }

// printDoc prints a command's result in the form that --format or --json names: v
// as JSON, otherwise the document d.
func printDoc(c *cli.Context, v any, d doc.Doc) error {
	if wantsJSON(c) {
		return printJSON(c.App.Writer, v)
	}
	format := c.String("format")
	if !isTerminal(c.App.Writer) {
		return doc.Write(c.App.Writer, format, d, false)
	}
	out, colour := asIs(c.App.Writer), os.Getenv("NO_COLOR") == "" // the document escapes what it says
	if format != "" && format != "text" {
		return doc.Write(out, format, d, colour)
	}
	bottom.clear()
	return doc.WriteText(out, d, colour)
}
