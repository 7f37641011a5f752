// Package exchange imports traces of other tools and exports traces in their
// formats.
//
// An import opens the files, detects their format, collects the nodes of the
// cluster from topologies and from the hosts that jobs name, and makes one trace
// of all files. Each format is described in its own package.
package exchange

import (
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

// Imports returns the names of the formats that can be imported.
func Imports() string { return names(func(f *format.Format) bool { return f.NewReader != nil }) }

// Exports returns the names of the formats that can be exported.
func Exports() string { return names(func(f *format.Format) bool { return f.Write != nil }) }

func names(of func(*format.Format) bool) string {
	var all []string
	for _, f := range Formats {
		if of(f) {
			all = append(all, f.Name)
		}
	}
	return strings.Join(all, ", ")
}
