package cmd

import (
	_ "embed" // for the scripts
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/urfave/cli/v2"

	"heddle/harness/option"
)

func completionCommand() *cli.Command {
	script := func(shell string, text func(*cli.App) (string, error)) *cli.Command {
		return command("completion "+shell, &struct{}{}, func(c *cli.Context, _ *struct{}, _ []string) error {
			s, err := text(c.App)
			if err != nil {
				return err
			}
			_, err = io.WriteString(asIs(c.App.Writer), s)
			return err
		})
	}
	fixed := func(s string) func(*cli.App) (string, error) { return func(*cli.App) (string, error) { return s, nil } }
	return parent("completion", script("bash", fixed(bashCompletion)), script("zsh", fixed(zshCompletion)),
		script("fish", (*cli.App).ToFishCompletion))
}

// argumentWords returns the words that may be an argument of a command.
func argumentWords(c *cli.Context) []string {
	switch c.Command.ArgsUsage {
	case "[NAME]":
		return append([]string{"new", "show"}, ownModels()...)
	case "[NAME|FOLDER [FIGURE …]]":
		if c.NArg() == 0 {
			return paperNames()
		}
	case "RUN", "RUN|TRACE", "RUN [RUN …]":
		if root, err := runsRoot(c.String("runs")); err == nil && c.Command.Name != "compare" && c.Command.Name != "fidelity" {
			return namesIn(root)
		}
	case "experiment|cluster|sweep":
		return schemas
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
		flagName := strings.TrimLeft(last, "-")
		flag := flagNamed(command.Flags, flagName)
		word, told := os.LookupEnv(completeWord)
		var words []string
		switch {
		case last != flagName && flag != nil && !isBool(flag) && (!told || word != last): // its value
			if generic, ok := flag.(*cli.GenericFlag); ok {
				words = wordsAfter(generic.Value)
			}
		case last == flagName:
			words = argumentWords(c)
			if words == nil {
				flagsOrCommands(c)
			}
		default:
			flagsOrCommands(c)
		}
		for _, word := range words {
			fmt.Fprintln(c.App.Writer, word)
		}
	}
}

// wordsAfter returns the words that may be the value of a flag: the texts of an option, or
// the keys of --set.
func wordsAfter(value cli.Generic) (words []string) {
	switch value := value.(type) {
	case *option.Option:
		return wordsOf(value)
	case keyed:
		for _, o := range value {
			for _, of := range append(wordsOf(o), "")[:max(1, len(wordsOf(o)))] {
				words = append(words, o.Name+"="+of)
			}
		}
	}
	return words
}

// completeWord is the environment variable in which the shell scripts below give
// the word at the cursor. With it, "--to" before the cursor can be told from
// "--to" at the cursor.
const completeWord = "HEDDLE_COMPLETE_WORD"

// Shell scripts that complete heddle's command lines, for bash and zsh. They
// call heddle with the words before the cursor, and with the word at the cursor
// if it starts a flag. If one of the words is "--", the scripts do not call
// heddle: heddle would run the command that follows "--".
var (
	//go:embed completion/heddle.bash
	bashCompletion string
	//go:embed completion/heddle.zsh
	zshCompletion string
)
