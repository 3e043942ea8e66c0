# SPDX-License-Identifier: BSD-3-Clause
# Completion of the command lines of ncoll's programs in bash. Nothing about options and their values is written here:
# the programs themselves are asked, so that it is what this build has.

# _ncoll_options PROGRAM ARGUMENT..: its options, one a line: LONG SHORT VALUE, as `--sizes -m =MIN:MAX`, with - for none.
_ncoll_options()
{
    local line options='^ {2,6}((-[A-Za-z?])( [A-Z]+)?, +)?(--[a-z][a-z-]*)(\[?=[^ ]+)?( [A-Z]+)?( |$)'
    while IFS= read -r line; do
        if [[ $line =~ $options ]]; then
            line=${BASH_REMATCH[5]}${BASH_REMATCH[6]/ /=}
            echo "${BASH_REMATCH[4]} ${BASH_REMATCH[2]:--} ${line:--}"
        fi
    done < <(ARGP_HELP_FMT='' "$@" --help 2>/dev/null </dev/null)
}

# _ncoll_words COMMAND ARGUMENT..: the words that the program offers in its complaint about the value '?'. What needs more
# behind a word keeps its colon.
_ncoll_words()
{
    local said part offers="(there are|this build has|takes|give):? (.*)"
    said=$(timeout 5 "$@" 2>&1 </dev/null | head -n 1)
    [[ $said =~ $offers ]] || return 0
    said=${BASH_REMATCH[2]%%, not \'*}
    while IFS= read -r part; do
        part=${part%%:*}${part//[^:]/}
        if [[ $part =~ ^[a-z][a-z0-9+_-]*:?$ ]]; then
            echo "$part"
        fi
    done < <(sed 's/, /\n/g; s/ or /\n/g' <<<"$said")
}

# _ncoll_values PROGRAM OPTION: the words that an option takes. The unknown option ends the program in any case.
_ncoll_values()
{
    if [[ $1 == *ncoll-sim && $2 == --algorithm ]]; then
        echo all
        set -- "${1%sim}explain" "$2"
    fi
    _ncoll_words "$1" "$2=?" --no-such-option
}

# _ncoll_first PROGRAM WORD..: what may stand without an option, after the words that stand before it.
_ncoll_first()
{
    local program=$1 word
    shift
    case ${program##*/} in
    ncoll-explain)
        for word; do
            [[ $word != @(schedule|draw|tuple|list|timeline) ]] || return 0
        done
        _ncoll_words "$program" '?'
        ;;
    ncoll-info) [[ " $* " == *' --choices '* ]] && _ncoll_words "$program" --choices '?' || _ncoll_words "$program" '?' ;;
    ncoll-bench)
        [ $# -gt 0 ] || echo plot
        _ncoll_words "$program" '?'
        ;;
    ncoll-bench-* | ncoll-tune | ncoll-sim) _ncoll_words "$program" '?' ;;
    esac
}

# _ncoll_takes_file PROGRAM WORD..: files may stand without an option.
_ncoll_takes_file()
{
    [[ ${1##*/} == @(ncoll-cg*|ncoll-mf-sgd|ncoll-mpi-try) || ${1##*/} == ncoll-explain && " $* " == *' timeline '* ||
        ${1##*/} == ncoll-bench && ${2:-} == plot ]]
}

_ncoll()
{
    local current=${COMP_WORDS[COMP_CWORD]} before='' program=${COMP_WORDS[0]/#\~/$HOME} found='' long short value words=() command
    ((COMP_CWORD < 1)) || before=${COMP_WORDS[COMP_CWORD - 1]}
    words=("${COMP_WORDS[@]:1:COMP_CWORD-1}")
    COMPREPLY=()
    command -v "$program" >/dev/null || return 0
    command=("$program")
    [[ ${program##*/} != ncoll-bench || ${words[0]:-} != plot ]] || command+=(plot)

    # `--type=fl` comes as three words.
    if [ "$current" = = ]; then
        current=''
    elif [ "$before" = = ]; then
        before=${COMP_WORDS[COMP_CWORD - 2]}
    fi
    if [[ $before == -* ]]; then
        while read -r long short value; do
            if [[ ($before == "$long" || $before == "$short") && $value != - ]]; then
                # A value that may be left out stands behind =.
                [[ $value != \[* || ${COMP_WORDS[COMP_CWORD]} == = || ${COMP_WORDS[COMP_CWORD - 1]} == = ]] || continue
                found=$long
                break
            fi
        done < <(_ncoll_options "${command[@]}")
    fi

    if [ -n "$found" ]; then
        case $value in
        *FILE*)
            compopt -o filenames 2>/dev/null
            mapfile -t COMPREPLY < <(compgen -f -- "$current")
            ;;
        *FOLDER*)
            compopt -o filenames 2>/dev/null
            mapfile -t COMPREPLY < <(compgen -d -- "$current")
            ;;
        *) mapfile -t COMPREPLY < <(compgen -W "$(_ncoll_values "$program" "$found")" -- "$current") ;;
        esac
    elif [[ $current == -* ]]; then
        while read -r long short value; do
            [[ $current != - || $short == - ]] || COMPREPLY+=("$short")
            [[ $long != "$current"* || $value == =* ]] || COMPREPLY+=("$long")
            [[ $long != "$current"* || $value == - ]] || COMPREPLY+=("$long=")
        done < <(_ncoll_options "${command[@]}")
    elif _ncoll_takes_file "$program" "${words[@]}"; then
        compopt -o filenames 2>/dev/null
        mapfile -t COMPREPLY < <(compgen -f -- "$current")
    else
        mapfile -t COMPREPLY < <(compgen -W "$(_ncoll_first "$program" "${words[@]}")" -- "$current")
    fi
    [[ ${#COMPREPLY[@]} != 1 || ${COMPREPLY[0]} != *[=:] ]] || compopt -o nospace 2>/dev/null
    return 0
}

complete -F _ncoll ncoll-bench ncoll-bench-openmpi ncoll-bench-mpich ncoll-bench-ucc ncoll-bench-gpi2 ncoll-info ncoll-tune \
    ncoll-explain ncoll-sim ncoll-cg ncoll-cg-openmpi ncoll-cg-mpich ncoll-mf-sgd ncoll-mpi-try
