# Completes `rejoin` in fish.
function __rejoin_complete
    set -l words (commandline -opc) (commandline -ct)
    set -l found ($words[1] __complete fish (math (count $words) - 1) $words 2>/dev/null </dev/null)
    if test (count $found) -gt 0
        printf '%s\n' $found
    else
        __fish_complete_path (commandline -ct)
    end
end
complete -c rejoin -f -k -a '(__rejoin_complete)'
