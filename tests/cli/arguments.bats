# The command line: what is a verb, a flag, a command; what is said about mistakes.

bats_require_minimum_version 1.5.0

setup() {
    HOME=$(mktemp -d)
    export HOME
    unset BAWN_POLICY XDG_CONFIG_HOME XDG_DATA_HOME XDG_STATE_HOME XDG_CACHE_HOME
    mkdir -p "$HOME/app" "$HOME/data"
    cd "$HOME/app" || return 1
}

teardown() {
    cd / && rm -rf -- "$HOME"
}

@test "--help fits a screen and names every verb" {
    run "$BAWN" --help
    [ "$status" -eq 0 ]
    [ "$(wc -l <<<"$output")" -le 24 ]
    for line in "${lines[@]}"; do [ "${#line}" -le 80 ]; done
    for verb in run show why check trust home diff apply discard sessions log undo profiles doctor help; do
        [[ "$output" == *"  $verb "* ]]
    done
    [[ "$output" == *"bawn claude "* && "$output" == *" --branch "* ]]
}

@test "the page of every verb, and that of the rules, fits a screen" {
    count=0
    for word in rules $("$BAWN" --help | grep -oE '[a-z][a-z-]*' | sort -u); do
        "$BAWN" help "$word" >"$HOME/page" 2>/dev/null || continue
        count=$((count + 1))
        [ "$(wc -l <"$HOME/page")" -le 24 ] || { echo "$word has too many lines"; false; }
        # After `!` a failure would not end the test.
        if LC_ALL=C.UTF-8 grep -E '^.{81}' "$HOME/page"; then echo "$word is too wide"; false; fi
    done
    [ "$count" -ge 24 ]
}

@test "without any argument the help is shown" {
    run "$BAWN"
    [ "$status" -eq 0 ]
    [[ "$output" == *"bawn VERB"* ]]
}

@test "every verb has a page with examples" {
    for verb in run show why check trust profiles doctor; do
        run "$BAWN" "$verb" --help
        [ "$status" -eq 0 ]
        [[ "${lines[0]}" == "usage: bawn "* ]]
        [[ "$output" == *"  bawn "* ]]
        by_flag=$output
        run "$BAWN" help "$verb"
        [ "$output" = "$by_flag" ]
    done
}

@test "--version" {
    run "$BAWN" --version
    [ "$status" -eq 0 ]
    [[ "$output" =~ ^bawn\ [0-9]+\.[0-9]+\.[0-9]+$ ]]
}

@test "--version --json names version, architecture, build, verbs and helpers" {
    run "$BAWN" --version
    version=${output#bawn }
    run "$BAWN" --version --json
    [ "$status" -eq 0 ]
    [ "$(jq -r .version <<<"$output")" = "$version" ]
    [ "$(jq -r .architecture <<<"$output")" = "$(uname -m)" ]
    [ "$(jq -r .build <<<"$output")" = host ]
    jq -e '.features | index("run") and index("undo") and index("prove")' <<<"$output"
    for helper in bawn-egress bawn-prove; do
        [ -x "$(jq -r ".programs.\"$helper\"" <<<"$output")" ]
    done
}

@test "bawn CMD and bawn run -- CMD are the same" {
    run "$BAWN" touch made
    [ "$status" -eq 0 ]
    [ -e made ]
    run "$BAWN" run -- touch made-too
    [ "$status" -eq 0 ]
    [ -e made-too ]
    run "$BAWN" run
    [ "$status" -eq 2 ]
    # As in a script: bawn --review $CMD, and $CMD is empty.
    for words in '--net off' --review --discard --quiet --branch=fix --; do
        # shellcheck disable=SC2086
        run "$BAWN" $words
        [ "$status" -eq 2 ]
        [[ "$output" == *"there is no command to run"* ]]
    done
}

@test "the exit status is the command's; bawn's own are 2, 125, 126 and 127" {
    run "$BAWN" sh -c 'exit 7'
    [ "$status" -eq 7 ]
    run "$BAWN" sh -c 'kill -TERM $$'
    [ "$status" -eq 143 ]
    run "$BAWN" no-such-program
    [ "$status" -eq 127 ]
    run "$BAWN" "$HOME/app"
    [ "$status" -eq 126 ]
    run "$BAWN" --walls landlock --nested -- true
    [ "$status" -eq 125 ]
}

@test "a mistake in a rule flag or in a policy file ends a run with 2, and nothing is run" {
    for rule in '--read=' '--read=/none' '--connect=a b c' '--use=nosuch' '--limit=memory' '--policy=/none'; do
        run "$BAWN" --net off "$rule" -- touch "$HOME/app/ran"
        [ "$status" -eq 2 ] || { echo "$rule: status $status: $output"; false; }
        [[ "$output" == "bawn: "* ]] || { echo "$rule: $output"; false; }
    done
    echo 'raed /srv' >.bawn
    for verb in run show; do
        run "$BAWN" "$verb" --net off -- touch "$HOME/app/ran"
        [ "$status" -eq 2 ]
        [[ "$output" == *"unknown verb 'raed' (did you mean 'read'?)"* ]]
    done
    [ ! -e ran ]
    rm .bawn
    run "$BAWN" --net off -- touch "$HOME/app/ran"
    [ "$status" -eq 0 ]
    [ -e ran ]
}

@test "prove refuses a program that does not exist, and attacks nothing" {
    run --separate-stderr "$BAWN" prove --json read-ssh-key
    [ "$status" -eq 2 ]
    [ -z "$output" ]
    [[ "$stderr" == "bawn: there is no program 'read-ssh-key'. Name a command whose sandbox to attack"* ]]
    [ "$(wc -l <<<"$stderr")" -eq 1 ]
}

@test "where there is no process for the command the run is refused, not waited for" {
    [ "$(id -u)" != 0 ] || chown -R 12345:12345 "$HOME"
    as=()
    [ "$(id -u)" != 0 ] || as=(setpriv --reuid 12345 --regid 12345 --clear-groups)
    run timeout 20 "${as[@]}" "$BAWN" --limit pids=1 -- true
    [ "$status" -eq 125 ]
    [[ "$output" == *"cannot make a process for the command"* ]]
    run timeout 20 "${as[@]}" "$BAWN" --limit pids=9 -- true
    [ "$status" -eq 0 ]
}

@test "the command's own flags are never eaten" {
    run "$BAWN" show --plan --json zed --read /none --env X
    [ "$status" -eq 0 ]
    [[ "$output" == *'"zed",'*'"--read",'*'"/none",'*'"--env",'*'"X"'* ]]
    [[ "$output" != *'"name": "X"'* ]]
    run "$BAWN" echo --help --read /none
    [ "$output" = '--help --read /none' ]
}

@test "-- runs a program that bears a verb's name" {
    run "$BAWN" -- show
    [ "$status" -eq 127 ]
    run "$BAWN" show -- why
    [ "$status" -eq 0 ]
    [[ "${lines[0]}" == "why in "* ]]
}

@test "flags may stand before the verb, and as --flag=value" {
    run "$BAWN" --read "$HOME/data" show --plan
    [ "$status" -eq 0 ]
    [[ "$output" == *"read      $HOME/data/"* ]]
    run "$BAWN" show --plan --read="$HOME/data"
    [ "$status" -eq 0 ]
    [[ "$output" == *"read      $HOME/data/"* ]]
}

@test "a flag that does not exist gets a suggestion" {
    run "$BAWN" show --raed /x
    [ "$status" -eq 2 ]
    [ "$output" = 'bawn: `bawn show` has no flag --raed. Did you mean --read?' ]
    run "$BAWN" --wirte /x -- zed
    [ "$status" -eq 2 ]
    [ "$output" = 'bawn: there is no flag --wirte. Did you mean --write?' ]
    run "$BAWN" check --paln
    [ "$status" -eq 2 ]
    [[ "$output" == *"lists them"* ]]
    run "$BAWN" --nosuchflag true
    [ "$status" -eq 2 ]
    [ "$output" = 'bawn: there is no flag --nosuchflag. `bawn run --help` lists them, and `bawn help rules` the rules.' ]
    "$BAWN" run --help | grep -q -- '--review'
    "$BAWN" help rules | grep -q -- '--read'
}

@test "flags of other tools get a hint" {
    for pair in '--add-dirs-ro=--read' '--ro-bind=--read' '--rw=--write' '--allow-net=--connect' '--blacklist=--hide' \
        '--unshare-net=--net off' '--no-net=--net off' '--port=--publish' '--timeout=--limit time=' '--dry-run=--discard' '-v=--write' '--add-dir=--write' '--setenv=--env'; do
        run "$BAWN" "${pair%%=*}" x -- zed
        [ "$status" -eq 2 ]
        [[ "$output" == *"In bawn it is ${pair#*=}"* ]]
    done
    run "$BAWN" --dangerously-skip-permissions claude
    [ "$status" -eq 2 ]
    [[ "$output" == *"goes after the command"* ]]
}

@test "a flag without its object is an error" {
    run "$BAWN" show --read
    [ "$status" -eq 2 ]
    [ "$output" = 'bawn: --read needs PATH after it.' ]
    run "$BAWN" show --json=yes
    [ "$status" -eq 2 ]
    [ "$output" = 'bawn: --json takes no value.' ]
}

@test "verbs refuse what they do not take" {
    run "$BAWN" trust --read x
    [ "$status" -eq 2 ]
    run "$BAWN" --read x trust
    [ "$status" -eq 2 ]
    run "$BAWN" profiles -- claude
    [ "$status" -eq 2 ]
    run "$BAWN" why
    [ "$status" -eq 2 ]
    run "$BAWN" help shwo
    [ "$status" -eq 2 ]
    [ "$output" = "bawn: there is no verb 'shwo'. Did you mean 'show'?" ]
}

@test "mistakes go to standard error and leave standard output empty" {
    run --separate-stderr "$BAWN" show --read /none
    [ "$status" -eq 2 ]
    [ -z "$output" ]
    [[ "$stderr" == "bawn: --read /none: there is nothing at /none"* ]]
}

@test "output to a full disk is an error" {
    run bash -c '"$BAWN" show >/dev/full'
    [ "$status" -eq 125 ]
    [[ "$output" == *"could not be written"* ]]
}

@test "a current directory that is gone is an error" {
    mkdir gone && cd gone && rmdir "$HOME/app/gone"
    run "$BAWN" show
    [ "$status" -eq 2 ]
    [[ "$output" == *"change to a directory that exists"* || "$output" == *"Change to a directory that exists"* ]]
}

@test "without HOME the account's home is used" {
    run env -u HOME "$BAWN" show --plan
    [ "$status" -eq 0 ]
    [[ "$output" == *"home      "* ]]
}

@test "a workspace that is on PATH, by a link too, is refused with the reason; a project with such a folder is not" {
    mkdir -p "$HOME/tools" "$HOME/other/bin"
    ln -s tools "$HOME/linked"
    for path in "$HOME/tools" "$HOME/tools/" "$HOME/linked"; do
        PATH=$path:$PATH run "$BAWN" --net off --workspace "$HOME/tools" true
        [ "$status" -eq 2 ]
        [[ "$output" == *"cannot make $HOME/tools the workspace: it is on your PATH"* ]]
    done
    run "$BAWN" --net off --workspace "$HOME/tools" true
    [ "$status" -eq 0 ]
    PATH=$HOME/other/bin:$PATH run "$BAWN" --net off --workspace "$HOME/other" true
    [ "$status" -eq 0 ]
}

@test "~/.config, and a folder around it, is refused as a workspace with the reason; one project in it is not" {
    mkdir -p "$HOME/.config/nvim" "$HOME/.local/share"
    for folder in .config .local; do
        cd "$HOME/$folder"
        run "$BAWN" --net off true
        [ "$status" -eq 2 ]
        [[ "$output" == *"cannot make $HOME/$folder the workspace: your programs keep their settings and data there"* ]]
    done
    cd "$HOME/.config/nvim"
    run "$BAWN" --net off true
    [ "$status" -eq 0 ]
}

@test "a time limit that ends the command is reported at the end" {
    run "$BAWN" --net off --limit time=1s sleep 20
    [ "$status" -eq 143 ]
    [[ "$output" == *"the time limit ended the command: limit time=1s. --limit time=10m gives it more."* ]]
    run "$BAWN" --net off --limit time=1m true
    [ "$status" -eq 0 ]
    [[ "$output" != *"time limit"* ]]
}
