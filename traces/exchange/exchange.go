// Package exchange turns other tools' traces into heddle's and back: it opens
// files, tells their format by their content, gathers the cluster from
// topologies and hosts, and makes one trace of any number of files. What each
// format is like is in its own package.
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

// Formats are all formats. The first that takes a file for its own reads it.
var Formats = []*format.Format{&jhist.Format, &jsonLines, &parquet.Format, &perfetto.Format, &rumen.Format, &sls.Format, &swim.Format}

// jsonLines is a trace of heddle's own in JSON, which every command reads.
var jsonLines = format.Format{
	Name:  "jsonl",
	Lists: true,
	Write: func(e *format.Export) ([]string, error) { return nil, tracefile.WriteLines(e.Out, e.Header, e.Events) },
}

// Find is the format of a name, nil for none.
func Find(name string) *format.Format {
	if i := slices.IndexFunc(Formats, func(f *format.Format) bool { return f.Name == name }); i >= 0 {
		return Formats[i]
	}
	return nil
}

// Imports and Exports name the formats that can be read and written.
func Imports() string { return names(func(f *format.Format) bool { return f.NewReader != nil }) }

// Exports names the formats that can be written.
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
