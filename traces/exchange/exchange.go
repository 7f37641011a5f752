// Package exchange imports traces of other tools into heddle's format, and
// exports heddle's traces to the formats of other tools.
//
// An import opens the input files, detects their format, collects the cluster's
// nodes from topology files and from the hosts that jobs name, and makes one
// trace of all files. Each format has a package of its own.
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
	"heddle/traces/spark"
	"heddle/traces/swim"
	"heddle/traces/tracefile"
)

// Formats lists the trace formats of other tools that heddle imports or
// exports, and tables of racks. An import reads a file in the first format of the list whose
// function Detect accepts the file.
var Formats = []*format.Format{
	&jhist.Format,
	&jsonLines,
	&parquet.Format,
	&perfetto.Format,
	&rumen.Format,
	&sls.Format,
	&spark.Format,
	&swim.Format,
	&rackXML,
	&rackTable,
}

// jsonLines is the format of a heddle trace in JSON Lines. It can only be
// exported: every heddle command reads it directly, so it needs no import.
var jsonLines = format.Format{
	Name:  "jsonl",
	About: "JSON Lines: the header, then each event on a line",
	Lists: true,
	Write: func(e *format.Export) ([]string, error) { return nil, tracefile.WriteLines(e.Out, e.Header, e.Events) },
}

// Find returns the trace format that has the given name, such as "rumen", or
// nil if there is none.
func Find(name string) *format.Format {
	if i := slices.IndexFunc(Formats, func(f *format.Format) bool { return f.Name == name }); i >= 0 {
		return Formats[i]
	}
	return nil
}

// About returns a help text with the name and description, on one line, of each
// trace format that the given function accepts.
func About(of func(*format.Format) bool) string {
	var b strings.Builder
	for _, f := range Formats {
		if of(f) {
			fmt.Fprintf(&b, "   %-9s %s\n", f.Name, f.About)
		}
	}
	return b.String()
}

// CanRead reports whether heddle can import the format.
func CanRead(f *format.Format) bool { return f.NewReader != nil }

// CanWrite reports whether heddle can export to the format.
func CanWrite(f *format.Format) bool { return f.Write != nil }

// Names returns the names of the trace formats that the given function accepts,
// separated by commas.
func Names(of func(*format.Format) bool) string {
	var all []string
	for _, f := range Formats {
		if of(f) {
			all = append(all, f.Name)
		}
	}
	return strings.Join(all, ", ")
}
