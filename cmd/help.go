package cmd

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
