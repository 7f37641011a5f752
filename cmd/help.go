package cmd

import (
	_ "embed" // for the pages
	"strings"
	"sync"

	"heddle/harness/lease"
	"heddle/traces/exchange"
)

//go:embed help.txt
var helpFile string

// helpPage is what help says of a command. In help.txt it is "== NAME: ARGUMENTS", the usage in a
// line, and text about it, in which {metrics} and the like stand for what the program knows.
type helpPage struct{ args, usage, about string }

var helpPages = sync.OnceValue(func() map[string]helpPage {
	all := map[string]helpPage{}
	known := strings.NewReplacer("{loads}", loadLines(), "{metrics}", metricLines(), "{columns}", columnLines(), "{lease}", lease.Root,
		"{read}", exchange.About(exchange.CanRead), "{written}", exchange.About(exchange.CanWrite))
	for text := range strings.SplitSeq("\n"+helpFile, "\n== ") {
		head, text, _ := strings.Cut(text, "\n")
		name, args, _ := strings.Cut(head, ": ")
		usage, about, _ := strings.Cut(text, "\n")
		all[name] = helpPage{args, usage, known.Replace(strings.Trim(about, "\n"))}
	}
	return all
})

// helpTemplate is the help of heddle and of its commands, with headings in the order of
// commands and flags.
const helpTemplate = `NAME:
   {{template "helpNameTemplate" .}}

USAGE:
   {{template "usageTemplate" .}}{{if .Description}}

DESCRIPTION:
   {{template "descriptionTemplate" .}}{{end}}{{$of := ""}}{{if .VisibleCommands}}

COMMANDS:{{range .VisibleCommands}}{{if and .Category (ne .Category $of)}}{{$of = .Category}}
   {{$of}}:{{end}}
     {{join .Names ", "}}{{"\t"}}{{.Usage}}{{end}}{{end}}

OPTIONS:{{$of = ""}}{{range .VisibleFlags}}{{if and .GetCategory (ne .GetCategory $of)}}{{$of = .GetCategory}}
   {{$of}}:{{end}}
     {{.}}{{end}}
`
