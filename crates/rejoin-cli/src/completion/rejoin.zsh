#compdef rejoin
# Completes `rejoin` in zsh.
_rejoin() {
    local -a found
    found=("${(@f)$("${words[1]}" __complete zsh $((CURRENT - 1)) "${(@)words}" 2>/dev/null </dev/null)}")
    if [[ -n "${found[1]}" ]]; then
        _describe -V 'rejoin' found
    else
        _files
    fi
}
if [[ "${funcstack[1]}" == _rejoin ]]; then
    _rejoin "$@"
else
    compdef _rejoin rejoin
fi
