// Package exchange imports traces of other tools and exports traces in their
// formats.
//
// An import opens the files, detects their format, collects the nodes of the
// cluster from topologies and from the hosts that jobs name, and makes one trace
// of all files. Each format is described in its own package.
package exchange

import (
	"fmt"
	"slices"
	"strings"

	"heddle/traces/format"
	"heddle/traces/jhist"
	"heddle/traces/parquet"
	"heddle/traces/perfetto"
	"heddle/traces/rumen"
	"heddle/traces/sls"
	"heddle/traces/swim"
	"heddle/traces/tracefile"
)

// Formats has all formats. The first one that detects a file reads it.
var Formats = []*format.Format{&jhist.Format, &jsonLines, &parquet.Format, &perfetto.Format, &rumen.Format, &sls.Format, &swim.Format}

// jsonLines is heddle's own trace as JSON Lines. Every command reads it, so that
// it needs no import.
var jsonLines = format.Format{
	Name:  "jsonl",
	About: "JSON Lines: the header, then each event on a line",
	Lists: true,
	Write: func(e *format.Export) ([]string, error) { return nil, tracefile.WriteLines(e.Out, e.Header, e.Events) },
}

// Find returns the format with a name, or nil.
func Find(name string) *format.Format {
	if i := slices.IndexFunc(Formats, func(f *format.Format) bool { return f.Name == name }); i >= 0 {
		return Formats[i]
	}
	return nil
}

// About lists formats with what they are, a line each.
func About(of func(*format.Format) bool) string {
	var b strings.Builder
	for _, f := range Formats {
		if of(f) {
			fmt.Fprintf(&b, "   %-9s %s\n", f.Name, f.About)
		}
	}
	return b.String()
}

// CanRead reports whether heddle reads the format.
func CanRead(f *format.Format) bool { return f.NewReader != nil }

// CanWrite reports whether heddle writes the format.
func CanWrite(f *format.Format) bool { return f.Write != nil }

// Names lists the names of formats.
func Names(of func(*format.Format) bool) string {
	var all []string
	for _, f := range Formats {
		if of(f) {
			all = append(all, f.Name)
		}
	}
	return strings.Join(all, ", ")
}
