# The verbs on the real file system, as root or an ordinary user, with the shipped policy.

bats_require_minimum_version 1.5.0

setup() {
    HOME=$(mktemp -d)
    export HOME
    unset BAWN_POLICY XDG_CONFIG_HOME XDG_DATA_HOME XDG_STATE_HOME XDG_CACHE_HOME XDG_RUNTIME_DIR
    mkdir -p "$HOME/app/src" "$HOME/.ssh" "$HOME/.claude" "$HOME/.codex"
    echo the-key-itself >"$HOME/.ssh/id_ed25519"
    echo '{}' >"$HOME/.claude/settings.json"
    git -c init.defaultBranch=main init -q "$HOME/app"
    cd "$HOME/app/src" || return 1
}

teardown() {
    cd / && rm -rf -- "$HOME"
}

@test "show --all: claude in a git repository" {
    run "$BAWN" show --all -- claude
    [ "$status" -eq 0 ]
    [[ "${lines[0]}" == "claude in ~/app, by base, agent/claude"* ]]
    [[ "$output" == *"~/app/ (workspace)"* ]]
    [[ "$output" == *"~/.claude/settings.json"* ]]
    [[ "$output" == *".git/config"* ]]
    [[ "$output" == *"api.anthropic.com:443"* ]]
    [[ "$output" == *"~/.ssh"* ]]
    [[ "$output" != *the-key-itself* ]]
}

@test "show --plan --json is JSON with the documented schema" {
    "$BAWN" show --plan --json -- claude --flag >"$HOME/plan.json"
    run jq -r '.schema, .version, .agent, (.command | join(" ")), (.workspaces[0].path)' "$HOME/plan.json"
    [ "$status" -eq 0 ]
    [ "${lines[0]}" = bawn.plan ]
    [ "${lines[1]}" = 1 ]
    [ "${lines[2]}" = agent/claude ]
    [ "${lines[3]}" = 'claude --flag' ]
    [ "${lines[4]}" = "$HOME/app" ]
    run jq -e '[.operations[] | select(.op == "write" and .workspace)] | length == 1' "$HOME/plan.json"
    [ "$status" -eq 0 ]
    run jq -e '[.operations[] | select(.op != "private" and .op != "home" and .op != "decoy" and .op != "net" and (.because | not))] == []' \
        "$HOME/plan.json"
    [ "$status" -eq 0 ]
}

@test "show --brief tells the agent what holds" {
    run "$BAWN" show --brief -- claude
    [ "$status" -eq 0 ]
    [[ "$output" == *"do not work around it"* ]]
    [[ "$output" == *"$HOME/app"* ]]
    [[ "$output" == *"api.anthropic.com:443"* ]]
    run "$BAWN" show --brief --net off
    [[ "$output" == *"There is none."* ]]
}

@test "the plan never holds the value of a variable that passes" {
    ANTHROPIC_API_KEY=sk-hush run "$BAWN" show --plan --json -- claude
    [ "$status" -eq 0 ]
    [[ "$output" == *'"ANTHROPIC_API_KEY"'* ]]
    [[ "$output" != *sk-hush* ]]
}

@test "why: a sealed key, with the rule and how to change it" {
    run "$BAWN" why ~/.ssh/id_ed25519 -- claude
    [ "$status" -eq 0 ]
    [[ "${lines[0]}" == "~/.ssh/id_ed25519 is not there: it is sealed"* ]]
    [[ "${lines[1]}" =~ decides.*seal\ ~/\.ssh/.*base\.bawn:[0-9]+ ]]
    [[ "$output" == *"--read ~/.ssh/id_ed25519"* ]]
}

@test "why: what the flag it suggests does" {
    run "$BAWN" why --read ~/.ssh/id_ed25519 ~/.ssh/id_ed25519
    [[ "${lines[0]}" == "~/.ssh/id_ed25519 can be read"* ]]
}

@test "why: hosts, variables, paths that do not exist" {
    run "$BAWN" why api.anthropic.com example.com:22 '$PATH' '$AWS_SECRET_ACCESS_KEY' none/at/all -- claude
    [ "$status" -eq 0 ]
    [[ "$output" == *"api.anthropic.com:443 can be reached."* ]]
    [[ "$output" == *"example.com:22 cannot be reached: no rule names it"* ]]
    [[ "$output" == *'$PATH is passed on'* ]]
    [[ "$output" == *'$AWS_SECRET_ACCESS_KEY is not passed on'* ]]
    [[ "$output" == *"none/at/all can be read and written (it does not exist now)"* ]]
}

@test "why: a host of a package registry names the profile that has all of its hosts, and the profile opens it" {
    run "$BAWN" why files.pythonhosted.org
    [[ "$output" == *"registry  --use net/pypi has it, and the other hosts that go with it"* ]]
    run "$BAWN" why --use net/pypi files.pythonhosted.org
    [[ "$output" == *"can be reached"* && "$output" != *"registry "* ]]
    run "$BAWN" why nopypi.org
    [[ "$output" == *"cannot be reached"* && "$output" != *"registry "* ]]
}

@test "why --json is JSON" {
    run bash -c '"$BAWN" why --json ~/.ssh example.com | jq -r ".[].decision"'
    [ "${lines[0]}" = hidden ]
    [ "${lines[1]}" = refused ]
}

@test "another agent's state is sealed, its own is not" {
    run "$BAWN" why --json ~/.claude/settings.json -- claude
    [[ "$output" == *'"decision": "copy"'* ]]
    run "$BAWN" why --json ~/.claude/settings.json -- codex
    [[ "$output" == *'"decision": "hidden"'* ]]
    [[ "$output" == *'"verb": "seal"'* ]]
}

@test "check: everything that applies here" {
    run "$BAWN" check -- claude
    [ "$status" -eq 0 ]
    [[ "$output" =~ ^[0-9]+\ rules\ in\ [0-9]+\ files:\ no\ mistakes$ ]]
}

@test "check: a file, as a compiler would" {
    printf 'read /usr\n\traed /x\n' >p.bawn
    run "$BAWN" check p.bawn
    [ "$status" -eq 2 ]
    [[ "${lines[0]}" == *"/src/p.bawn:2:2: unknown verb 'raed' (did you mean 'read'?)" ]]
    [[ "$output" == *"^~~~"* ]]
    [[ "$output" == *"1 rule in 1 file: 1 mistake" ]]
    run "$BAWN" check --json p.bawn
    [ "$status" -eq 2 ]
    [ "$(jq -r '.[0].line' <<<"$output")" = 2 ]
    run "$BAWN" check none.bawn
    [ "$status" -eq 2 ]
}

@test "check: every shipped profile" {
    for name in $("$BAWN" profiles --json | jq -r '.[].name'); do
        run "$BAWN" check --use "$name"
        [ "$status" -eq 0 ]
    done
}

@test "profiles: listed with what they say of themselves, and printed" {
    run "$BAWN" profiles
    [ "$status" -eq 0 ]
    [[ "$output" == *"agent/claude "*"Claude Code"* ]]
    while read -r name about; do [ -n "$about" ] || { echo "$name says nothing of itself"; return 1; }; done <<<"$output"
    run "$BAWN" profiles agent/claude
    [ "$status" -eq 0 ]
    [ "$output" = "$(cat "$BATS_TEST_DIRNAME/../../profiles/agent/claude.bawn")" ]
    run "$BAWN" profiles agent/cluade
    [ "$status" -eq 2 ]
    [[ "$output" == *"Did you mean 'agent/claude'?"* ]]
    run "$BAWN" profiles ../../etc/passwd
    [ "$status" -eq 2 ]
}

@test "profiles: every file in profiles/ is compiled in" {
    want=$(cd "$BATS_TEST_DIRNAME/../../profiles" && find . -name '*.bawn' | sed 's|^\./||; s|\.bawn$||' | LC_ALL=C sort)
    [ "$("$BAWN" profiles --json | jq -r '.[].name')" = "$want" ]
}

# on_terminal ANSWER COMMAND…: what it shows; the answer is typed when bawn asks, as nothing that was typed before counts.
on_terminal() {
    python3 -c '
import os, pty, sys
pid, end = pty.fork()
if pid == 0:
    os.execvp(sys.argv[2], sys.argv[2:])
shown = part = b"\n"
while part:
    try:
        part = os.read(end, 4096)
    except OSError:
        part = b""
    shown += part
    if part and shown.endswith(b"[y/N] "):
        os.write(end, sys.argv[1].encode())
sys.stdout.buffer.write(shown)
' "$@"
}

@test "trust: asked on a terminal, pinned, gone when a byte changes, revoked" {
    command -v python3 >/dev/null || skip "needs python3"
    mkdir "$HOME/data"
    echo "read $HOME/data" >"$HOME/app/.bawn"
    run "$BAWN" why --json "$HOME/data"
    [[ "$output" == *'"decision": "hidden"'* ]]
    run on_terminal n "$BAWN" trust
    [[ "$output" == *"Trust it? [y/N]"*"Not trusted"* ]]
    run on_terminal y "$BAWN" trust
    [[ "$output" == *"Trusted until its content changes"* ]]
    run "$BAWN" why --json "$HOME/data"
    [[ "$output" == *'"decision": "read"'* ]]
    [ "$(stat -c %a "$HOME/.local/share/bawn/trust/"*)" = 600 ]
    echo "# changed" >>"$HOME/app/.bawn"
    run "$BAWN" why --json "$HOME/data"
    [[ "$output" == *'"decision": "hidden"'* ]]
    run "$BAWN" trust --yes
    [ "$status" -eq 0 ]
    run "$BAWN" trust --revoke
    [[ "$output" == "No longer trusted"* ]]
    run "$BAWN" why --json "$HOME/data"
    [[ "$output" == *'"decision": "hidden"'* ]]
}

@test "trust: a policy with terminal escapes cannot forge what is shown" {
    printf 'read "/\x1b[2K\rnothing: it only takes access away"\n' >"$HOME/app/.bawn"
    run "$BAWN" trust --yes
    [ "$status" -eq 0 ]
    [[ "$output" != *$'\e'* ]]
    [[ "$output" != *$'\r'* ]]
    printf 'write "/\\x1b[2Knothing"\n' >"$HOME/app/.bawn"
    run "$BAWN" trust --yes
    [ "$status" -eq 0 ]
    [[ "$output" != *$'\e'* ]]
}

@test "colours on a terminal only, and NO_COLOR is honoured" {
    command -v script >/dev/null || skip "needs script(1)"
    run "$BAWN" show
    [[ "$output" != *$'\e'* ]]
    run env -u NO_COLOR TERM=xterm script -qec "\"$BAWN\" show" /dev/null
    [[ "$output" == *$'\e[1m'* ]]
    run env TERM=xterm NO_COLOR=1 script -qec "\"$BAWN\" show" /dev/null
    [[ "$output" != *$'\e'* ]]
    run env TERM=dumb script -qec "\"$BAWN\" show" /dev/null
    [[ "$output" != *$'\e'* ]]
}

@test "a git that misbehaves is never run: PATH is not looked at" {
    mkdir "$HOME/bin"
    printf '#!/bin/sh\ntouch "%s/ran"\n' "$HOME" >"$HOME/bin/git"
    chmod +x "$HOME/bin/git"
    PATH="$HOME/bin:$PATH" run "$BAWN" show
    [ "$status" -eq 0 ]
    [ ! -e "$HOME/ran" ]
}

@test "a real linked worktree and a real submodule are understood" {
    git -C "$HOME/app" -c user.name=u -c user.email=u@example.com commit -q --allow-empty -m x
    git -C "$HOME/app" worktree add -q "$HOME/w" 2>/dev/null
    cd "$HOME/w"
    run "$BAWN" why --json "$HOME/app/.git/objects" "$HOME/app/.git/config" "$HOME/app/src" "$HOME/w/.git"
    [ "$(jq -r '.[].decision' <<<"$output" | tr '\n' ' ')" = 'write frozen hidden frozen ' ]
    git init -q "$HOME/super"
    git -C "$HOME/super" -c protocol.file.allow=always submodule --quiet add "$HOME/app" lib
    cd "$HOME/super/lib"
    run "$BAWN" why --json "$HOME/super/.git/modules/lib/objects" "$HOME/super/.git/modules/lib/config" \
        "$HOME/super/.git/objects" "$HOME/super/lib/.git"
    [ "$(jq -r '.[].decision' <<<"$output" | tr '\n' ' ')" = 'write frozen hidden frozen ' ]
    cd "$HOME/super"
    run "$BAWN" why --json .git/modules/lib/hooks lib/.git .git/modules/lib/objects
    [ "$(jq -r '.[].decision' <<<"$output" | tr '\n' ' ')" = 'frozen frozen write ' ]
}

@test "an ordinary user gets the same plan as root" {
    [ "$(id -u)" = 0 ] || skip "this is one already"
    chown -R 12345:12345 "$HOME"
    chmod 755 "$HOME"
    "$BAWN" show --plan -- claude >"/tmp/bawn-plan-root.$$"
    run setpriv --reuid 12345 --regid 12345 --clear-groups "$BAWN" show --plan -- claude
    [ "$status" -eq 0 ]
    [ "$output" = "$(cat "/tmp/bawn-plan-root.$$")" ]
    rm -f "/tmp/bawn-plan-root.$$"
}

@test "no descriptor is left open and no file is written by asking" {
    before=$(find "$HOME" | sort)
    run "$BAWN" show --all -- claude
    run "$BAWN" why ~/.ssh
    run "$BAWN" check
    [ "$(find "$HOME" | sort)" = "$before" ]
}

@test "log: the latest session of this workspace, checked, and a change that is found" {
    "$BAWN" --net off -- true || skip "needs a machine on which bawn can run a command"
    run "$BAWN" log
    [ "$status" -eq 0 ]
    [[ "${lines[0]}" == *"start"*"true in ~/app" ]]
    [[ "${lines[1]}" == *"plan"*"true; live, net off; walls: "* ]]
    [[ "${lines[2]}" == *"end"*"status 0 after "*" ms" ]]
    run "$BAWN" log --verify
    [ "$status" -eq 0 ]
    [[ "${lines[0]}" == "app-1: 3 records, hash chain intact" ]]
    [[ "${lines[1]}" == "last hash: "* ]]
    [[ "$(<"$HOME/.local/state/bawn/sessions/app-1/journal.jsonl")" == *"${lines[1]##* }\"}" ]]
    sed -i 's/"status":"0"/"status":"1"/' "$HOME/.local/state/bawn/sessions/app-1/journal.jsonl"
    run "$BAWN" log app-1 --verify
    [ "$status" -eq 1 ]
    [[ "$output" == *"record 3 of the journal was changed, moved or dropped"* ]]
    run "$BAWN" log ../app-1
    [ "$status" -eq 2 ]
}

@test "inside lies what show --brief says" {
    "$BAWN" --net off -- true || skip "needs a machine on which bawn can run a command"
    run diff <("$BAWN" --net off -- cat /run/bawn/BRIEFING.md) <("$BAWN" show --brief --net off -- cat)
    [ "$status" -eq 0 ]
}

@test "at home, a verb hints at what it takes: --workspace only where that is" {
    cd "$HOME"
    for verb in diff apply undo review; do
        run "$BAWN" "$verb"
        [ "$status" -eq 2 ]
        [[ "$output" == *"it is your home directory"* ]]
        [[ "$output" == *"name a session: \`bawn sessions --all\`"* ]]
        [[ "$output" != *--workspace* ]]
    done
    for verb in init trust; do
        run "$BAWN" "$verb"
        [ "$status" -eq 2 ]
        [[ "$output" == *"start in a project directory"* ]]
        [[ "$output" != *--workspace* ]]
    done
    run "$BAWN" show
    [ "$status" -eq 2 ]
    [[ "$output" == *"pass --workspace DIR"* ]]
}

@test "publish without a running session names the flag for the next one" {
    run "$BAWN" publish 8080:3000
    [ "$status" -eq 2 ]
    [[ "$output" == *"no session is running"* ]]
    [[ "$output" == *"--publish PORT CMD"* ]]
    [[ "$output" != *allow* ]]
}

@test "allow for a session that does not exist names it, and no path of bawn's" {
    run "$BAWN" allow @nosuch api.example
    [ "$status" -eq 2 ]
    [ "$output" = 'bawn: there is no session nosuch. `bawn sessions` lists the sessions.' ]
}

@test "answer: a word that is no answer is named, with those that are" {
    run "$BAWN" answer 1 yes
    [ "$status" -eq 2 ]
    [ "$output" = "bawn: 'yes' is not an answer. Use once, session, always, no or never." ]
    run "$BAWN" answer
    [ "$status" -eq 2 ]
    [ "$output" = 'bawn: `bawn answer` needs a question and an answer. For example: `bawn answer 2 session`.' ]
}

@test "login: an agent that does not exist is named before a terminal is asked for" {
    run "$BAWN" login nosuch </dev/null
    [ "$status" -eq 2 ]
    [[ "$output" == *nosuch* && "$output" != *terminal* ]]
}

@test "why: an empty word is a mistake, not the current directory" {
    run "$BAWN" why ''
    [ "$status" -eq 2 ]
    [[ "$output" == "bawn: \`bawn why\` got an empty argument."* ]]
}

@test "a rule that is no flag is said to belong into the policy" {
    run "$BAWN" --leak block true
    [ "$status" -eq 2 ]
    [[ "$output" == *'Write `leak warn|block|off [plain]` into ~/.config/bawn/policy.bawn.' ]]
}

@test "allow localhost names --host-port, and writes nothing" {
    run "$BAWN" allow --always localhost:5432
    [ "$status" -eq 2 ]
    [[ "$output" == *"localhost is the sandbox's own"* ]]
    [[ "$output" == *"--host-port 5432"* ]]
    [ ! -e "$HOME/.config/bawn/policy.bawn" ]
    "$BAWN" allow --always db.example:5432 # the control: another host is written down
    grep -q 'connect db.example:5432' "$HOME/.config/bawn/policy.bawn"
}

@test "shell-init: no agent on PATH is said on standard error, and nothing is printed for the shell" {
    run --separate-stderr env PATH=/nonexistent "$BAWN" shell-init bash
    [ "$status" -eq 0 ]
    [ -z "$output" ]
    [[ "$stderr" == *"no agent on your PATH"* ]]
    mkdir -p "$HOME/bin" && printf '#!/bin/sh\n' >"$HOME/bin/claude" && chmod +x "$HOME/bin/claude" # the control
    run --separate-stderr env PATH="$HOME/bin" "$BAWN" shell-init bash
    [[ "$output" == "claude() {"* ]]
    [ -z "$stderr" ]
}
