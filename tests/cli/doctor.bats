# bawn doctor: on this machine as it is, and where something was taken away from it.

bats_require_minimum_version 1.5.0

setup() {
    HOME=$(mktemp -d)
    export HOME
    unset BAWN_POLICY XDG_CONFIG_HOME XDG_DATA_HOME XDG_STATE_HOME XDG_CACHE_HOME NO_COLOR
    mkdir "$HOME/app"
    cd "$HOME/app" || return 1
}

teardown() {
    cd / && rm -rf -- "$HOME"
}

# A user namespace as a place where settings can be changed and /proc be covered. $1 is run in it as its root, and may
# use as_user to go on as somebody else.
inside() {
    command -v unshare >/dev/null || skip 'needs unshare'
    unshare --user --map-root-user true 2>/dev/null || skip 'needs user namespaces'
    # shellcheck disable=SC2016  # the inner shell's variables
    run unshare --user --map-root-user --mount --pid --fork --mount-proc sh -c '
        as_user() { unshare --user --map-user=1000 --map-group=1000 "$@"; }
        '"$1"
}

@test "it agrees with a run" {
    run "$BAWN" --net off -- true
    ran=$status
    run "$BAWN" doctor
    if [ "$ran" -eq 0 ]; then
        [ "$status" -eq 0 ]
        [[ "$output" == *"A run works here"* ]]
    else
        [ "$status" -eq 1 ]
        [[ "$output" == *"bawn would refuse to run here"* ]]
    fi
}

@test "one line a wall, in their order" {
    run "$BAWN" doctor
    [[ "${lines[0]}" == "Linux $(uname -r) on $(uname -m), as "* ]]
    walls=$(grep -oE '^(files|processes|kernel interfaces|network|limits|root) +(ok|weaker|missing) ' <<<"$output" |
        sed -E 's/ +(ok|weaker|missing) $//')
    [ "$walls" = $'files\nprocesses\nkernel interfaces\nnetwork\nlimits\nroot' ]
}

@test "--json is JSON and says the same" {
    command -v jq >/dev/null || skip 'needs jq'
    run --separate-stderr "$BAWN" doctor
    plain=$status
    run --separate-stderr "$BAWN" doctor --json
    [ "$status" -eq "$plain" ]
    [ "$(jq -r .schema <<<"$output")" = bawn.doctor ]
    [ "$(jq -r .works <<<"$output")" = "$([ "$plain" -eq 0 ] && echo true || echo false)" ]
    [ "$(jq -r '.walls | map(.wall) | .[0:6] | join(" ")' <<<"$output")" = \
        'files processes kernel interfaces network limits root' ]
    [ "$(jq -r '.facts.release' <<<"$output")" = "$(uname -r)" ]
    [ "$(jq -r '.facts.uid' <<<"$output")" = "$(id -u)" ]
    [ "$(jq -r '.walls[] | select(.state != "ok" and (.fixes | length) == 0 and (.says | startswith("needs ") | not))' \
        <<<"$output")" = '' ]
}

@test "it changes nothing" {
    run "$BAWN" doctor
    [ "$(find "$HOME" -mindepth 1)" = "$HOME/app" ]
}

@test "it takes no words" {
    run "$BAWN" doctor now
    [ "$status" -eq 2 ]
    [[ "$output" == *"\`bawn doctor\` does not take 'now'"* ]]
    run "$BAWN" doctor --plan
    [ "$status" -eq 2 ]
}

@test "colours on a terminal only" {
    command -v script >/dev/null || skip 'needs script'
    run "$BAWN" doctor
    [[ "$output" != *$'\e'* ]]
    run env TERM=xterm script -qec "$BAWN doctor" /dev/null
    [[ "$output" == *$'\e[32mok\e[0m'* ]]
    run env TERM=xterm NO_COLOR=1 script -qec "$BAWN doctor" /dev/null
    [[ "$output" != *$'\e'* ]]
}

# What follows an `if` is for kernels whose Landlock can stand in for namespaces (Linux 6.12).
stands_in() {
    [ "$("$BAWN" doctor --json | jq '.facts["landlock-abi"]')" -ge 6 ]
}

@test "no user namespaces: doctor says so, and a run stands on Landlock or is refused" {
    command -v jq >/dev/null || skip 'needs jq'
    inside 'echo 0 >/proc/sys/user/max_user_namespaces && exec "$BAWN" doctor'
    if stands_in; then
        [ "$status" -eq 0 ]
        [[ "$output" == *"files              weaker       user namespaces are turned off: user.max_user_namespaces is 0; Landlock"* ]]
        [[ "$output" == *"network            weaker       needs the same as files"* ]]
    else
        [ "$status" -eq 1 ]
        [[ "$output" == *"files              missing      user namespaces are turned off: user.max_user_namespaces is 0"* ]]
        [[ "$output" == *"network            missing      needs the same as files"* ]]
    fi
    [[ "$output" == *"    sudo sysctl -w user.max_user_namespaces=15000"* ]]
    [[ "$output" == *"/etc/sysctl.d/60-bawn.conf"* ]]
    [[ "$output" == *"kernel interfaces  ok "* ]]
    inside 'echo 0 >/proc/sys/user/max_user_namespaces && exec "$BAWN" --net off -- true'
    if stands_in; then [ "$status" -eq 0 ]; else [ "$status" -eq 125 ]; fi
    inside 'echo 0 >/proc/sys/user/max_user_namespaces && exec "$BAWN" --walls namespaces --net off -- true'
    [ "$status" -eq 125 ]
    [[ "$output" == *"namespaces"* ]]
}

@test "a partly hidden /proc: doctor says so, and a run stands on Landlock or is refused" {
    command -v jq >/dev/null || skip 'needs jq'
    inside 'as_user "$BAWN" doctor'
    [[ "$output" == *"processes          "[ow]* ]] || skip 'needs user namespaces in a user namespace'
    inside 'mount --bind /dev/null /proc/version && as_user "$BAWN" doctor'
    if stands_in; then [ "$status" -eq 0 ]; else [ "$status" -eq 1 ]; fi
    [[ "$output" == *"files              "[ow]* ]]
    [[ "$output" == *"processes          "[wm]*"      cannot mount a new /proc"*"Operation not permitted"* ]]
    inside 'mount --bind /dev/null /proc/version && as_user "$BAWN" --net off -- true'
    if stands_in; then [ "$status" -eq 0 ]; else [ "$status" -eq 125 ]; fi
    inside 'mount --bind /dev/null /proc/version && as_user "$BAWN" --walls namespaces --net off -- true'
    [ "$status" -eq 125 ]
    [[ "$output" == *"/proc"* ]]
}

@test "as root of a user namespace only: an ordinary user, for doctor and for a run" {
    inside 'exec "$BAWN" doctor'
    [ "$status" -eq 0 ]
    [[ "$output" == *"as root of a user namespace"* ]]
    inside 'exec "$BAWN" --net off -- true'
    [ "$status" -eq 0 ]
}

@test "inside a sandbox of bawn it says so" {
    "$BAWN" --net off -- true || skip 'needs a machine that can hold the walls'
    run "$BAWN" --net off --read "$BAWN" -- "$BAWN" doctor
    [ "$status" -eq 1 ]
    [[ "$output" == *", inside bawn"* ]]
    [[ "$output" == *"this is already a bawn sandbox"* ]]
}

@test "--storage: what bawn stores, as large as du says, and the command that it prints deletes it" {
    command -v jq >/dev/null || skip 'needs jq'
    run "$BAWN" doctor --storage
    [ "$status" -eq 0 ] && [ "$output" = 'bawn has stored nothing here.' ]
    export XDG_DATA_HOME="$HOME/my \$data"
    "$BAWN" --review --net off -- sh -c 'echo changed >file; echo kept >~/kept'
    "$BAWN" doctor --storage --json >"$HOME/json"
    [ "$(jq -r .schema "$HOME/json")" = bawn.storage ]
    [ "$(jq -r '.directories | map(.path) | join(":")' "$HOME/json")" = "$XDG_DATA_HOME/bawn:$HOME/.local/state/bawn" ]
    for i in 0 1; do
        path=$(jq -r ".directories[$i].path" "$HOME/json")
        [ "$(jq ".directories[$i].bytes" "$HOME/json")" -eq "$(du -s -B1 "$path" | cut -f1)" ]
        [ "$(jq ".directories[$i] | .bytes - ([.parts[].bytes] | add)" "$HOME/json")" -eq 0 ]
    done
    [ "$(jq '.bytes - ([.directories[].bytes] | add)' "$HOME/json")" -eq 0 ]
    [ "$(jq -r '[.directories[] | .whole, .parts[].whole] | unique | join(" ")' "$HOME/json")" = true ]
    run "$BAWN" doctor --storage
    [[ "$output" == *"~/my \$data/bawn  "* && "$output" == *"  homes "* && "$output" == *"  sessions "* ]]
    sh -c "$(grep -E '^    rm -rf -- ' <<<"$output")"
    [ ! -e "$XDG_DATA_HOME/bawn" ] && [ ! -e "$HOME/.local/state/bawn" ] && [ -d "$XDG_DATA_HOME" ]
    run "$BAWN" doctor --storage
    [ "$output" = 'bawn has stored nothing here.' ]
}

@test "--storage: what an agent left in its home is counted as far as it can be, through no link" {
    command -v jq >/dev/null || skip 'needs jq'
    "$BAWN" --net off -- sh -c 'ln -s / ~/all; mkdir ~/usual'
    [ "$("$BAWN" doctor --storage --json | jq '.directories[0].whole')" = true ] # the control
    [ "$("$BAWN" doctor --storage --json | jq .bytes)" -lt 10000000 ]
    "$BAWN" --net off -- sh -c 'cd ~; i=0; while [ $i -lt 300 ]; do mkdir d && cd d || exit; i=$((i + 1)); done'
    [ "$("$BAWN" doctor --storage --json | jq -r '.directories[0] | .whole, .trouble' | xargs)" = 'false directories are nested too deep to be counted' ]
    run "$BAWN" doctor --storage
    [[ "$output" == *"/.local/share/bawn  at least "* ]]
}
