# Completes `rejoin` in bash.
_rejoin() {
    local cur cword words IFS=$'\n'
    if declare -F _get_comp_words_by_ref >/dev/null; then
        _get_comp_words_by_ref -n : cur words cword
    else
        cur=${COMP_WORDS[COMP_CWORD]} cword=$COMP_CWORD
        words=("${COMP_WORDS[@]}")
    fi
    COMPREPLY=($("${words[0]}" __complete bash "$cword" "${words[@]}" 2>/dev/null </dev/null))
    if declare -F __ltrim_colon_completions >/dev/null; then
        __ltrim_colon_completions "$cur"
    fi
}
complete -o nosort -o default -F _rejoin rejoin
