#compdef heddle
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
