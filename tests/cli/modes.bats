# Modes that give walls up: what is refused, what is said, what stays.
# shellcheck disable=SC2016  # most variables here are those of a shell inside

bats_require_minimum_version 1.5.0

setup() {
    HOME=$(mktemp -d)
    export HOME
    unset BAWN_POLICY XDG_CONFIG_HOME XDG_DATA_HOME XDG_STATE_HOME XDG_CACHE_HOME NO_COLOR
    mkdir "$HOME/app" "$HOME/other"
    cd "$HOME/app" || return 1
}

teardown() {
    cd / && rm -rf -- "$HOME"
}

needs_walls() {
    "$BAWN" --net off -- true || skip 'needs a machine that can hold the walls'
}

# What bawn says on a terminal.
on_terminal() {
    command -v script >/dev/null || skip 'needs script'
    run env TERM=dumb NO_COLOR=1 script -qec "$BAWN --net off $*" /dev/null
}

@test "full access: refused without --i-know, in one sentence, and nothing is run" {
    run "$BAWN" --net off --full-access -- touch ran
    [ "$status" -eq 2 ]
    [ "${#lines[@]}" -eq 1 ]
    [[ "$output" == *"Pass --i-know, too"* ]]
    [ ! -e ran ]
}

@test "full access: the host's files as they are, written as the caller" {
    needs_walls
    run "$BAWN" --net off -- sh -c 'echo x > "$HOME/other/file"; test -e "$HOME/other"'
    [ "$status" -ne 0 ]
    [ ! -e "$HOME/other/file" ]
    run "$BAWN" --net off --full-access --i-know -- sh -c 'echo x > ../other/file; id -u; cat /proc/sys/kernel/hostname'
    [ "$status" -eq 0 ]
    [ "${lines[0]}" = "$(id -u)" ]
    [ "${lines[1]}" = bawn ]
    [ "$(stat -c %u "$HOME/other/file")" = "$(id -u)" ]
}

@test "full access: other processes are not there, and /proc/sys cannot be written" {
    needs_walls
    run "$BAWN" --net off --full-access --i-know -- sh -c 'ls /proc | grep -c "^[0-9]"; echo $$'
    [ "${lines[0]}" -le 5 ]
    [ "${lines[1]}" -le 5 ]
    run "$BAWN" --net off --full-access --i-know -- sh -c 'echo x > /proc/sys/kernel/core_pattern'
    [ "$status" -ne 0 ]
}

@test "a limit that leaves the walls too few files is named, and no wall is offered for it" {
    needs_walls
    echo 'limit files=8' >.bawn
    run "$BAWN" -- true
    rm .bawn
    [ "$status" -eq 125 ]
    [[ "$output" == *"\`limit files\` is too small for bawn itself"* ]]
    [[ "$output" != *"--degrade"* ]]
}

@test "full access: the command cannot give itself more hosts" {
    needs_walls
    run "$BAWN" --full-access --i-know -- "$BAWN" allow example.com
    [ "$status" -ne 0 ]
    [[ "$output" == *"a command in a sandbox cannot give itself more access. Run this in a terminal outside."* ]]
    "$BAWN" -- sh -c 'until test -e go; do sleep 0.05; done' 3>&- &
    until compgen -G "${XDG_STATE_HOME:-$HOME/.local/state}/bawn/sessions/*/control" >/dev/null; do sleep 0.05; done
    run "$BAWN" allow example.com
    touch go
    wait
    [ "$status" -eq 0 ]
}

@test "full access: a command that connects and says nothing holds nobody up" {
    needs_walls
    rm -f go
    "$BAWN" --full-access --i-know -- /usr/bin/python3 -c '
import glob, os, socket, time
place = os.getcwd()
state = os.environ.get("XDG_STATE_HOME") or os.environ["HOME"] + "/.local/state"
while not (found := glob.glob(state + "/bawn/sessions/*/control")): time.sleep(0.05)
os.chdir(os.path.dirname(found[0]))
held = [socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) for i in range(8)]
for one in held: one.connect("control")
os.chdir(place)
open("held", "w").close()
while not os.path.exists("go"): time.sleep(0.05)' 3>&- &
    until test -e held; do sleep 0.05; done
    run "$BAWN" allow example.com
    touch go
    wait
    rm -f go held
    [ "$status" -eq 0 ]
}

@test "full access makes nothing in the host's tree" {
    needs_walls
    made() { stat -c '%n %i %s %Z' /etc/hosts /etc/hostname /etc/resolv.conf /.empty /.no-root /usr/bin/su 2>&1 || true; }
    before=$(made)
    run "$BAWN" --net off --full-access --i-know -- true
    [ "$status" -eq 0 ]
    [ "$(made)" = "$before" ]
    [[ "$before" == *"'/.empty': No such file"*"'/.no-root': No such file"* ]]
}

@test "each wall that is given up is said on a terminal, and in a pipe nothing is" {
    needs_walls
    on_terminal --full-access --i-know -- true
    [[ "$output" == *"note: --full-access gives up a wall: the command can read and write whatever you can"* ]]
    on_terminal --nested -- true
    [[ "$output" == *"note: --nested gives up a wall: only mounts protect files"* ]]
    on_terminal -- true
    [[ "$output" != *"gives up"* ]]
    run "$BAWN" --net off --full-access --i-know -- true
    [ "$output" = "" ]
}

@test "full access is refused where an administrator has locked something" {
    [ "$(id -u)" -eq 0 ] || skip 'only root has an /etc to change'
    needs_walls
    unshare --mount true 2>/dev/null || skip 'needs a mount namespace'
    run unshare --mount sh -c 'mount -t tmpfs tmpfs /etc && mkdir /etc/bawn && echo "lock net off" >/etc/bawn/policy.bawn &&
        exec "$BAWN" --full-access --i-know -- touch ran'
    [ "$status" -eq 2 ]
    [[ "$output" == *"the administrator locked this, and --full-access would override it"* ]]
    [ ! -e ran ]
}

@test "a file system that cannot map ids: refused as root, and run with --degrade=root" {
    [ "$(id -u)" -eq 0 ] || skip 'only root has ids to map'
    needs_walls
    unshare --mount true 2>/dev/null || skip 'needs a mount namespace'
    on_ramfs() {
            run unshare --mount sh -c 'mount -t ramfs ramfs "$HOME/app" && cd "$HOME/app" && "$@"; echo "status $?"' sh "$@"
    }
    on_ramfs "$BAWN" --net off -- true
    [[ "$output" == *"root inside would be root outside for "*"--degrade=root runs without this wall"*"status 125" ]]
    on_ramfs "$BAWN" --net off --degrade=seccomp -- true
    [[ "$output" == *"status 125" ]]
    on_ramfs "$BAWN" --net off --degrade=root -- sh -c 'touch made && cat /etc/shadow; echo x > /proc/sys/kernel/core_pattern'
    [[ "$output" == *"/etc/shadow: No such file or directory"*"Read-only file system"*"status "[12] ]]
    on_ramfs "$BAWN" show --degrade=root -- true
    [[ "$output" == *"note: --degrade=root: if this machine lacks the wall, root inside is root outside"* ]]
}

@test "a limit of memory that nothing holds: refused, or given up by name" {
    needs_walls
    if "$BAWN" show --json --limit memory=1G | grep -q '"held_by": "cgroup"'; then
        run "$BAWN" --net off --limit memory=1G -- true
        [ "$status" -eq 0 ]
        return
    fi
    run "$BAWN" --net off --limit memory=1G -- touch ran
    [ "$status" -eq 125 ]
    [[ "$output" == *"the memory limit cannot be enforced"*"--degrade=memory runs without the limit"* ]]
    [ ! -e ran ]
    run "$BAWN" --net off --limit memory=1G --degrade=memory -- touch ran
    [ "$status" -eq 0 ]
    [ -e ran ]
}

@test "places in memory stay together below the limit of memory" {
    needs_walls
    run "$BAWN" --net off --limit memory=100M --degrade=memory -- \
        sh -c 'df -B1K --output=size /tmp /var/tmp /dev/shm /run | tail -n +2'
    [ "$status" -eq 0 ]
    total=0
    for size in $output; do total=$((total + size)); done
    [ "$total" -gt 51200 ] && [ "$total" -le 102400 ]
}

@test "the command line of bawn is not read inside, and the command's own words are intact" {
    needs_walls
    run "$BAWN" --net off --read /usr -- sh -c 'tr "\0" "\n" < /proc/1/cmdline | grep . ; printf "%s\n" "$@"' sh 'a  b' ''
    [ "${lines[0]}" = bawn ]
    [ "${lines[1]}" = 'a  b' ]
    [ "${#lines[@]}" -eq 2 ]
}
