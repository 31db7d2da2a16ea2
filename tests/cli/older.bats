# bawn on a kernel as old as Linux 5.13: build/tests/bawn-older is the same program, to which the kernel seems to be that.

bats_require_minimum_version 1.5.0

setup() {
    older=$BAWN_BUILD/tests/bawn-older
    HOME=$(mktemp -d)
    export HOME
    unset BAWN_POLICY XDG_CONFIG_HOME XDG_DATA_HOME XDG_STATE_HOME XDG_CACHE_HOME
    mkdir "$HOME/app" "$HOME/.ssh"
    echo secret >"$HOME/.ssh/id"
    cd "$HOME/app" || return 1
    "$BAWN" --net off -- true || skip 'needs a machine where bawn runs'
}

teardown() {
    cd / && rm -rf -- "$HOME"
}

@test "doctor tells what an older Landlock does not judge, and that a run works" {
    run "$older" doctor
    [ "$status" -eq 0 ]
    [[ "$output" == *"files              weaker       Landlock version 1 does not control truncation,"* ]]
    [[ "$output" == *"processes          weaker       only namespaces keep signals and abstract sockets inside, so --net open"* ]]
    [[ "$output" == *"A run works here; weaker walls are listed above."* ]]
}

@test "a run works as doctor says" {
    run "$older" --net off -- sh -c 'echo inside >made && cat made'
    [ "$status" -eq 0 ]
    [ "$output" = inside ]
    [ "$(cat made)" = inside ]
}

@test "the host's network, in which nothing keeps its abstract sockets away, is refused unless the wall is given up" {
    run "$older" --net open -- echo inside
    [ "$status" -eq 125 ]
    [[ "$output" == *"with \`net open\`, this kernel lets the command reach this machine's abstract sockets"* ]]
    run "$older" --net open --degrade=landlock -- echo inside
    [ "$status" -eq 0 ]
    run "$BAWN" --net open -- echo inside
    [ "$status" -eq 0 ]
}

@test "what is hidden is empty, files and folders, several of each" {
    mkdir a b
    echo secret | tee a/key b/key c d >/dev/null
    run "$older" --net off --hide ./a --hide ./b --hide ./c --hide ./d -- sh -c 'ls a b && cat c d && cat a/key'
    [ "$status" -eq 1 ]
    [[ "$output" != *secret* ]]
    [[ "$output" == *"a/key"*"No such file or directory"* ]]
    [ "$(cat a/key b/key c d | sort -u)" = secret ]
}

@test "--review and --nested work, and undo" {
    echo one >f
    run "$older" --net off --review -- sh -c 'echo two >f'
    [ "$status" -eq 0 ]
    [ "$(cat f)" = one ]
    run "$older" discard --yes
    [ "$status" -eq 0 ]
    run "$older" --net off --nested -- sh -c 'echo two >f'
    [ "$status" -eq 0 ]
    run "$older" --net off -- sh -c 'echo three >f'
    [ "$(cat f)" = three ]
    run "$older" undo --yes
    [ "$status" -eq 0 ]
    [ "$(cat f)" != three ]
}

@test "a kernel older than that is refused, by doctor and by a run, which says what it takes" {
    export OLDER_LAST_CALL=440 # Linux 5.10: neither mount_setattr nor Landlock
    run "$older" doctor
    [ "$status" -eq 1 ]
    [[ "$output" == *"files              missing      mounting in a namespace fails here: Function not implemented"* ]]
    run "$older" --net off -- touch ran
    [ "$status" -eq 125 ]
    if [ "$(id -u)" = 0 ]; then
        [[ "$output" == *"cannot restrict a mount: Function not implemented."*"Use Linux 5.13 or later."* ]]
    else # without namespaces the other walls are tried, which take a later one
        [[ "$output" == *"walls without namespaces need version 2 of Landlock"*"Use Linux 5.19 or later"* ]]
    fi
    [ ! -e ran ]
}
