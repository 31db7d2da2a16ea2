#!/usr/bin/env bats
# `bawn show` fits a screen of 25 rows with 80 columns, whatever the policy; `--all` prints every rule.

setup() {
    HOME=$(mktemp -d)
    export HOME
    unset XDG_CONFIG_HOME XDG_DATA_HOME XDG_STATE_HOME XDG_CACHE_HOME BAWN_POLICY
    mkdir -p "$HOME/app" "$HOME/.config/bawn"
    git init -q "$HOME/app"
    cd "$HOME/app" || return 1
}

teardown() {
    cd / && rm -rf -- "$HOME"
}

# The rows that the output takes on a terminal of 80 columns.
rows() {
    awk '{ rows += length($0) > 80 ? int((length($0) + 79) / 80) : 1 } END { print rows + 0 }'
}

# A policy with many rules of every kind, and one path that is longer than a row.
large_policy() {
    local i long
    long=$HOME/$(printf 'd%.0s' {1..200})
    mkdir "$long"
    echo "read $long"
    for i in {1..60}; do
        mkdir "$HOME/read-$i" "$HOME/write-$i"
        echo x >"$HOME/copied-$i"
        echo "read ~/read-$i"
        echo "write ~/write-$i"
        echo "copy ~/copied-$i"
        echo "freeze frozen-$i"
        echo "hide ~/write-$i/.secret*"
        echo "seal ~/write-$i/.env* unless workspace"
        echo "connect host-$i.example.com"
        echo "refuse no-$i.example.com"
        echo "publish $((3000 + i))"
        echo "host-port $((5000 + i))"
        echo "env MINE_$i=1"
    done
}

@test "show: at most 25 rows for the shipped profile of each agent" {
    local agent
    for agent in true claude codex opencode gemini cursor-agent; do
        run "$BAWN" show -- "$agent"
        [ "$status" -eq 0 ]
        [ "$(rows <<<"$output")" -le 25 ] || {
            echo "$agent: $(rows <<<"$output") rows"
            return 1
        }
    done
}

@test "show: at most 25 rows for a policy with hundreds of rules, and it says how many more there are" {
    large_policy >"$HOME/.config/bawn/policy.bawn"
    for i in {1..12}; do
        export "MODEL_${i}_BASE_URL=http://localhost:$((9000 + i))/"
        echo "env MODEL_${i}_BASE_URL" >>"$HOME/.config/bawn/policy.bawn"
    done
    run "$BAWN" show -- claude
    [ "$status" -eq 0 ]
    echo "$output"
    [ "$(rows <<<"$output")" -le 25 ]
    [[ "$output" == *"~/app/ (workspace)"* ]]
    [[ "$output" =~ write\ .*\ and\ [0-9]+\ more ]]
    [[ "$output" =~ network\ .*\ and\ [0-9]+\ more ]]
    [[ "$output" =~ and\ [0-9]+\ more\ notes ]]
    [[ "$output" == *"bawn show --all"* ]]
}

@test "show --all: every rule with its file and line" {
    large_policy >"$HOME/.config/bawn/policy.bawn"
    run "$BAWN" show --all -- claude
    [ "$status" -eq 0 ]
    for i in {1..60}; do
        [[ "$output" == *"~/read-$i/"* && "$output" == *"host-$i.example.com:443"* ]]
    done
    [[ "$output" == *"policy.bawn:2 "* ]]
    [[ "$output" == *"places that do not exist here"* || "$output" == *"(does not exist)"* ]]
}

@test "show: .env files are sealed outside the workspace only, and it says so" {
    echo A=1 >.env
    run "$BAWN" show -- claude
    [[ "$output" == *'~/**/.env* except in the workspace'* ]]
    run "$BAWN" show --all -- claude
    [[ "$output" == *'~/**/.env* (except in the workspace)'* ]]
}

@test "show: without grants of profiles, what a person granted is listed by name" {
    mkdir "$HOME/datasets"
    run "$BAWN" show --read "$HOME/datasets" --connect db.corp:5432 --host-port 5433 --publish 3000 -- claude
    [[ "$output" == *'~/datasets/'* ]]
    [[ "$output" == *'db.corp:5432'* ]]
    [[ "$output" == *"localhost:5433 of this machine"* ]]
    [[ "$output" == *"port 3000 inside is 127.0.0.1:3000 here"* ]]
}
