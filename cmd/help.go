package cmd

import (
	"errors"
	"strings"

	"github.com/urfave/cli/v2"
)

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

// CommandHelp is what a command prints with --help. Name is how the user calls it, such
// as "heddle trace info".
type CommandHelp struct{ Name, Text string }

// Help returns the help of heddle and of each command that its help lists, each one
// before its subcommands.
func Help() (list []CommandHelp, err error) {
	var walk func(name []string, below []*cli.Command) error
	walk = func(name []string, below []*cli.Command) error {
		var out strings.Builder
		app := newApp()
		app.Writer = &out
		if err := app.Run(append(name, "--help")); err != nil && !errors.Is(err, errHelp) {
			return err
		}
		list = append(list, CommandHelp{strings.Join(name, " "), out.String()})
		for _, c := range below {
			if c.Hidden {
				continue
			}
			if err := walk(append(name[:len(name):len(name)], c.Name), c.Subcommands); err != nil {
				return err
			}
		}
		return nil
	}
	return list, walk([]string{"heddle"}, newApp().Commands)
}
