package cmd

import (
	"encoding/json"
	"io"
	"os"

	"github.com/urfave/cli/v2"

	"heddle/harness/doc"
)

// wantsJSON reports whether --json or --format asks for JSON.
func wantsJSON(c *cli.Context) bool { return c.Bool("json") || c.String("format") == "json" }

// show prints a command's result: as JSON if that is asked for, else as its document.
func show(c *cli.Context, r interface{ Doc() doc.Doc }) error { return printDoc(c, r, r.Doc()) }

// printDoc prints a command's result in the form that --format or --json names: v
// as JSON, otherwise the document d.
func printDoc(c *cli.Context, v any, d doc.Doc) error {
	return printResult(c, v, func(out io.Writer) error {
		format := c.String("format")
		if !isTerminal(out) {
			return doc.Write(out, format, d, false)
		}
		out, colour := asIs(out), os.Getenv("NO_COLOR") == "" // the document escapes what it says
		if format != "" && format != "text" {
			return doc.Write(out, format, d, colour)
		}
		bottom.clear()
		return doc.WriteText(out, d, colour)
	})
}

// printResult prints a command's result as JSON or as text.
func printResult(c *cli.Context, v any, text func(io.Writer) error) error {
	if wantsJSON(c) {
		return failed(printJSON(c.App.Writer, v))
	}
	return failed(text(c.App.Writer))
}

// printText prints a command's result as JSON, or as a text that escapes what it says.
func printText(c *cli.Context, v any, text string) error {
	return printResult(c, v, func(out io.Writer) error {
		_, err := io.WriteString(out, text)
		return err
	})
}

func printJSON(out io.Writer, v any) error {
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}
