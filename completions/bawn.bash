# Completion of bawn for bash. It works without the package bash-completion; with it, the command after bawn's own words
# is completed as it would be alone.

# The values of a flag or the words of a verb. $1 says which; uses `cur`, fills COMPREPLY.
_bawn_values() {
    local name
    case $1 in
    file | directory)
        if declare -F _filedir >/dev/null; then
            if [[ $1 == file ]]; then _filedir; else _filedir -d; fi
            return
        fi
        compopt -o filenames 2>/dev/null
        mapfile -t COMPREPLY < <(compgen -A "$1" -- "$cur")
        ;;
    profile)
        while read -r name _; do
            [[ $name == "$cur"* ]] && COMPREPLY+=("$name")
        done < <(command bawn profiles 2>/dev/null)
        ;;
    agent)
        while read -r name _; do
            [[ $name == "agent/$cur"* ]] && COMPREPLY+=("${name#agent/}")
        done < <(command bawn profiles 2>/dev/null)
        ;;
    session)
        [[ $verb == log ]] || _bawn_values file
        while read -r name _; do
            [[ $name == "$cur"*-[0-9]* ]] && COMPREPLY+=("$name")
        done < <(command bawn sessions 2>/dev/null)
        ;;
    held)
        while read -r name _; do
            [[ $name == "$cur"* ]] && COMPREPLY+=("$name")
        done < <(command bawn held 2>/dev/null | sort -u -k1,1)
        ;;
    variable)
        mapfile -t COMPREPLY < <(compgen -A export -- "$cur")
        ;;
    host)
        mapfile -t COMPREPLY < <(compgen -A hostname -- "$cur")
        ;;
    limit)
        if [[ $cur == *=* ]]; then # an amount, of which there is only one word
            mapfile -t COMPREPLY < <(compgen -W "${cur%%=*}=none" -- "$cur")
            return
        fi
        compopt -o nospace 2>/dev/null
        mapfile -t COMPREPLY < <(compgen -W 'memory= pids= files= time= disk= rate= snapshot= journals=' -- "$cur")
        ;;
    question)
        if [[ $cur == "'\$"* ]]; then # a variable, which the shell must not replace
            while read -r name; do
                COMPREPLY+=("'\$$name'")
            done < <(compgen -A export -- "${cur:2}")
        else
            _bawn_values file
        fi
        ;;
    *)
        mapfile -t COMPREPLY < <(compgen -W "$1" -- "$cur")
        ;;
    esac
}

# What follows a flag of the policy language: $1 is the flag. Fails if it is none.
_bawn_flag_takes() {
    case $1 in
    --read | --write | --hide | --seal | --freeze | --flag | --copy | --seed | --sift | --sync | --socket | --policy | --report | --session-file) takes='file' ;;
    --workspace) takes=directory ;;
    --connect | --refuse) takes=host ;;
    --net) takes='off allow open' ;;
    --secrets) takes='outside inside' ;;
    --degrade) takes='landlock seccomp root memory' ;;
    --walls) takes='namespaces landlock' ;;
    --require) takes='namespaces' ;;
    --publish | --host-port | --artifacts | --secret | --forge | --ssh-key | --guard | --on-exit | --grep | --because | --jobs) takes='' ;;
    --engine) takes='local slurm' ;;
    --out) takes=directory ;;
    --for) takes='1m 10m 1h' ;;
    --since | --to) takes='10m 1h 2h 1d' ;;
    --wait) takes='1m 5m 1h' ;;
    --from) takes='bwrap claude codex firejail nono safehouse seatbelt srt' ;;
    --checkpoint) takes='5m 15m 30m 1h' ;;
    --env | --unset) takes=variable ;;
    --limit) takes=limit ;;
    --use) takes=profile ;;
    --agent) takes=agent ;;
    *) return 1 ;;
    esac
}

# The command after bawn's own words begins at COMP_WORDS[$1].
_bawn_command() {
    if declare -F _comp_command_offset >/dev/null; then
        _comp_command_offset "$1"
    elif declare -F _command_offset >/dev/null; then
        _command_offset "$1"
    elif ((COMP_CWORD == $1)); then
        mapfile -t COMPREPLY < <(compgen -A command -- "$cur")
    else
        _bawn_values file
    fi
}

_bawn() {
    local rules='--workspace --read --write --hide --seal --freeze --flag --copy --seed --sift --sync --socket --net --connect
        --refuse --publish --host-port --env --unset --secret --secrets --forge --ssh-key --limit --artifacts --require --guard --use --policy --read-only --nested --walls --review --discard
        --full-access --i-know --degrade --fresh-home --agent'
    local verbs='run show why check export import learn init login shell-init trust home held review diff apply discard sessions log undo redo profile profiles allow publish requests answer ask fleet web doctor prove help'
    local around='--branch --checkpoint --keep-flagged --ask --notify --log-exec --on-exit --session-file --quiet --json' # what accompanies a run
    COMPREPLY=()

    # bash splits words at = and : as well. What stands side by side on the line is one word here; at[i] is where
    # words[i] begins in COMP_WORDS.
    local -a words=() at=()
    local i last line=${COMP_LINE:-${COMP_WORDS[*]}} rest
    for ((i = 0; i <= COMP_CWORD; i++)); do
        rest=${line#"${line%%[![:blank:]]*}"}
        if ((i > 1)) && [[ $rest == "$line" && -n $line ]]; then
            words[${#words[@]} - 1]+=${COMP_WORDS[i]}
        else
            words+=("${COMP_WORDS[i]}")
            at+=("$i")
        fi
        line=${rest#"${COMP_WORDS[i]}"}
    done
    last=$((${#words[@]} - 1))

    # Whose word is the last one? `takes` is set if it is the value of a flag.
    local verb='' takes='' value_of=''
    for ((i = 1; i < last; i++)); do
        if [[ ${words[i]} == -- ]]; then
            case $verb in
            init | login | shell-init | trust | home | held | review | diff | apply | discard | sessions | log | undo | redo | profiles | allow | publish | requests | answer | ask | web | doctor | help) ;;
            *) cur=${words[last]} _bawn_command "${at[i + 1]}" ;;
            esac
            return
        elif [[ ${words[i]} == -?* ]]; then
            if [[ ${words[i]} != *=* && "$verb ${words[i]}" != 'log --net' ]] && _bawn_flag_takes "${words[i]}"; then
                if ((i + 1 == last)); then value_of=${words[i]}; fi
                i=$((i + 1))
            fi
        elif [[ -z $verb && " $verbs " == *" ${words[i]} "* ]]; then
            verb=${words[i]}
        elif [[ $verb == '' || $verb == run || $verb == show || $verb == learn || $verb == prove ]]; then
            cur=${words[last]} _bawn_command "${at[i]}"
            return
        fi
    done

    # `whole` is the last word, `typed` the part of it that bash replaces, `cur` the part that is completed here.
    local whole=${words[last]} typed=${COMP_WORDS[COMP_CWORD]} cur
    if [[ $typed == [=:] && ${#whole} -gt 1 ]]; then typed=''; fi
    cur=$whole
    if [[ -z $value_of && $whole == --*=* ]]; then
        value_of=${whole%%=*}
        cur=${whole#*=}
    fi

    if [[ $verb == export && $value_of == --to ]]; then
        _bawn_values 'bwrap claude codex docker nono seatbelt srt systemd'
    elif [[ $verb == learn && $value_of == --from ]]; then
        verb=log _bawn_values session
    elif [[ $verb == learn && $value_of == --write ]]; then
        _bawn_values 'user repo'
    elif [[ -n $value_of ]]; then
        _bawn_flag_takes "$value_of" && [[ -n $takes ]] && _bawn_values "$takes"
    elif [[ $whole == -* ]]; then
        local flags='--help'
        case $verb in
        '') flags+=" --version $around $rules" ;;
        run) flags+=" --version $around $rules" ;;
        show) flags+=" --plan --json --brief --all $rules" ;;
        why | check) flags+=" --json $rules" ;;
        export) flags+=" --to --strict $rules" ;;
        import) flags+=' --from' ;;
        learn) flags+=" --for --from --yes --json $rules" ;;
        profile) flags+=" --for $rules" ;;
        trust) flags+=' --yes --revoke' ;;
        home) flags+=' --all --yes' ;;
        held) flags+=' --keep --json' ;;
        allow) flags+=' --once --session --always' ;;
        ask) flags+=' --because --wait' ;;
        requests) flags+=' --follow --json' ;;
        web) flags+=' --port --unix --no-open' ;;
        review) flags+=' --patch --json --from' ;;
        diff) flags+=' --stat --name-only --json' ;;
        apply) flags+=' --patch --yes --allow-risky --merge --markers --ours --theirs' ;;
        discard | login) flags+=' --yes' ;;
        sessions) flags+=' --all --json --repair' ;;
        redo) flags+=' --yes --merge --force' ;;
        undo) flags+=' --to --list --prune --yes --merge --force' ;;
        log) flags+=' --denied --net --files --exec --asked --since --grep --follow --report --verify --json' ;;
        profiles) flags+=' --json --guide' ;;
        doctor) flags+=' --storage --json' ;;
        prove) flags+=" --json --follow --report --log-exec $rules" ;;
        fleet) flags+=" --engine --jobs --out --json --all --yes --allow-risky --merge --markers --ours --theirs $rules" ;;
        esac
        _bawn_values "$flags"
    else
        case $verb in
        '')
            _bawn_values "$verbs"
            if [[ -n $cur ]]; then # all programs there are would bury the verbs
                while read -r i; do
                    if type -P "$i" >/dev/null; then COMPREPLY+=("$i"); fi # not what only the shell has
                done < <(compgen -A command -- "$cur")
            fi
            ;;
        run | show | export | learn | prove)
            _bawn_command "${at[last]}"
            return
            ;;
        ask) _bawn_values 'connect publish read write env' ;;
        answer) _bawn_values 'once session always no never' ;;
        fleet)
            if [[ ${words[last - 1]} == fleet ]]; then _bawn_values 'run status logs diff apply retry cancel report'; else _bawn_values file; fi
            ;;
        why) _bawn_values question ;;
        check | import) _bawn_values file ;;
        trust) _bawn_values directory ;;
        home)
            if [[ ${words[last - 1]} == home ]]; then _bawn_values 'list fetch reset'; else _bawn_values file; fi
            ;;
        held) if [[ ${words[last - 1]} == held || ${words[last - 1]} == --keep ]]; then _bawn_values held; else _bawn_values file; fi ;;
        review | diff | apply | discard | log | undo | redo) _bawn_values session ;;
        profile) if [[ ${words[last - 1]} == profile ]]; then _bawn_values new; fi ;;
        profiles) _bawn_values profile ;;
        login) _bawn_values agent ;;
        shell-init) _bawn_values 'bash zsh fish' ;;
        help) _bawn_values "$verbs rules" ;;
        esac
    fi

    # Only what bash replaces may be in the answers: --net=al is completed by allow, not by --net=allow.
    local before=${whole%"$cur"} kept=${whole%"$typed"}
    for i in "${!COMPREPLY[@]}"; do
        COMPREPLY[i]=$before${COMPREPLY[i]}
        COMPREPLY[i]=${COMPREPLY[i]#"$kept"}
    done
}

complete -F _bawn bawn
