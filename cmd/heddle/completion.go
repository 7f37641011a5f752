package main

import (
	"io"

	"github.com/urfave/cli/v2"
)

func completionCommand() *cli.Command {
	script := func(shell string, text func(*cli.App) (string, error)) *cli.Command {
		return &cli.Command{
			Name: shell, Usage: "for " + shell,
			Action: func(c *cli.Context) error {
				if err := noArguments(c); err != nil {
					return err
				}
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
	COMPREPLY=($(compgen -W "$("${line[@]}" --generate-bash-completion 2>/dev/null </dev/null)" -- "$word"))
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
	found=("${(@f)$("${(@)line}" --generate-bash-completion 2>/dev/null </dev/null)}")
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
