# bash completion for heddle
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
