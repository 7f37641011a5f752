package cmd

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/urfave/cli/v2"

	"heddle/harness/compare"
	"heddle/harness/config"
	"heddle/harness/doc"
	"heddle/harness/export"
	"heddle/harness/measure"
	"heddle/traces/exchange"
	"heddle/traces/format"
	"heddle/traces/parquet"
)

func completionCommand() *cli.Command {
	script := func(shell string, text func(*cli.App) (string, error)) *cli.Command {
		return &cli.Command{
			Name: shell, Usage: "for " + shell,
			Action: func(c *cli.Context) error {
				s, err := text(c.App)
				if err != nil {
					return err
				}
				_, err = io.WriteString(asIs(c.App.Writer), s)
				return err
			},
		}
	}
	fixed := func(s string) func(*cli.App) (string, error) { return func(*cli.App) (string, error) { return s, nil } }
	return &cli.Command{
		Name:  "completion",
		Usage: "print a script that lets a shell complete heddle's commands and flags",
		Description: `The script is for the shell's start-up file, or for a file that it looks for:

   echo 'source <(heddle completion bash)' >> ~/.bashrc
   heddle completion zsh > "${fpath[1]}/_heddle"
   heddle completion fish > ~/.config/fish/completions/heddle.fish`,
		Subcommands: []*cli.Command{
			script("bash", fixed(bashCompletion)),
			script("zsh", fixed(zshCompletion)),
			script("fish", (*cli.App).ToFishCompletion),
		},
	}
}

// flagWords has the words that may be the value of a flag. The key is the
// command and the flag, or the flag alone if it means the same in all commands.
var flagWords = map[string]func() []string{
	"compare by":         compare.Ways,
	"compare metric":     measure.Names,
	"fidelity metric":    measure.Names,
	"compare untold":     fixedWords(config.UntoldFail, config.UntoldPass),
	"doctor format":      fixedWords("text", "xml", "ansible", "json"),
	"paper also":         config.ModelNames,
	"format":             fixedWords(append([]string{"json"}, doc.Formats...)...),
	"replay durations":   fixedWords("recorded", "modelled"),
	"replay metric":      measure.Names,
	"replay model":       config.ModelNames,
	"replay reduces":     config.ModelNames,
	"runs export rows":   export.Kinds,
	"trace export table": fixedWords(parquet.Format.Tables...),
	"run metric":         measure.Names,
	"sweep on":           fixedWords("local", "yarn"),
	"trace export to":    formatWords(exchange.CanWrite),
	"trace import from":  formatWords(exchange.CanRead),
}

// argumentWords has the words that may be an argument of a command.
var argumentWords = map[string]func(*cli.Context) []string{
	"models":      func(*cli.Context) []string { return append([]string{"new", "show"}, ownModels()...) },
	"paper":       paperWords,
	"runs export": runNames,
	"runs rm":     runNames,
	"runs show":   runNames,
	"schema":      func(*cli.Context) []string { return []string{"experiment", "cluster", "sweep"} },
}

func fixedWords(words ...string) func() []string { return func() []string { return words } }

func formatWords(of func(*format.Format) bool) func() []string {
	return func() []string { return strings.Split(exchange.Names(of), ", ") }
}

// paperWords returns the names of the papers, unless the line already has one.
func paperWords(c *cli.Context) []string {
	if c.NArg() == 0 {
		return paperNames()
	}
	return nil
}

// completer returns the function that prints the words which may follow on a
// command line, for a shell that completes it. If it prints none, the shell
// completes names of files.
func completer(command *cli.Command) func(*cli.Context) {
	flagsOrCommands := cli.DefaultCompleteWithFlags(command)
	return func(c *cli.Context) {
		last := os.Args[max(0, len(os.Args)-2)] // the word before --generate-bash-completion
		name := strings.TrimPrefix(commandName(c), c.App.Name+" ")
		flagName := strings.TrimLeft(last, "-")
		flag := flagNamed(command.Flags, flagName)
		word, told := os.LookupEnv(completeWord)
		isValue := last != flagName && flag != nil && !isBool(flag) && (!told || word != last)
		var words []string
		switch of := argumentWords[name]; {
		case isValue:
			full := flag.Names()[0]
			words = valuesOf(flag)
			for _, key := range []string{name + " " + full, full} {
				if of := flagWords[key]; of != nil {
					words = of()
					break
				}
			}
		case last == flagName && of != nil:
			words = of(c)
		default:
			flagsOrCommands(c)
		}
		for _, word := range words {
			fmt.Fprintln(c.App.Writer, word)
		}
	}
}

// completeWord is the environment variable in which the shell scripts below give
// the word at the cursor. With it, "--to" before the cursor can be told from
// "--to" at the cursor.
const completeWord = "HEDDLE_COMPLETE_WORD"

// Shell scripts that complete heddle's command lines, for bash and zsh. They
// call heddle with the words before the cursor, and with the word at the cursor
// if it starts a flag. If one of the words is "--", the scripts do not call
// heddle: heddle would run the command that follows "--".
const (
	bashCompletion = `# bash completion for heddle
_heddle() {
	local word=${COMP_WORDS[COMP_CWORD]} i
	local -a line=("${COMP_WORDS[@]:0:COMP_CWORD}")
	for ((i = 0; i < COMP_CWORD; i++)); do
		[[ ${line[i]} == -- ]] && return
	done
	[[ $word == -* && $word != -- ]] && line+=("$word")
	[[ $word == -- ]] && line+=(-)
	local IFS=$'\n'
	COMPREPLY=($(compgen -W "$(HEDDLE_COMPLETE_WORD=$word "${line[@]}" --generate-bash-completion 2>/dev/null </dev/null)" -- "$word"))
}
complete -o bashdefault -o default -F _heddle heddle
`
	zshCompletion = `#compdef heddle
# zsh completion for heddle
_heddle() {
	local word=${words[CURRENT]}
	local -a line found
	line=("${(@)words[1,CURRENT-1]}")
	if (( ${line[(Ie)--]} )); then
		_files
		return
	fi
	if [[ $word == -- ]]; then
		line+=(-)
	elif [[ $word == -* ]]; then
		line+=("$word")
	fi
	found=("${(@f)$(HEDDLE_COMPLETE_WORD=$word "${(@)line}" --generate-bash-completion 2>/dev/null </dev/null)}")
	found=(${found:#})
	if (( $#found )); then
		compadd -a found
	else
		_files
	fi
}
if [[ $funcstack[1] == _heddle ]]; then
	_heddle "$@"
else
	compdef _heddle heddle
fi
`
)
