#!/usr/bin/env bats
# What the service profiles open, each only when it is asked for.

setup() {
    HOME=$(mktemp -d)
    export HOME
    unset BAWN_POLICY XDG_CONFIG_HOME XDG_DATA_HOME XDG_STATE_HOME XDG_CACHE_HOME DISPLAY WAYLAND_DISPLAY
    export XDG_RUNTIME_DIR=$HOME/run
    mkdir -p "$HOME/app" "$XDG_RUNTIME_DIR/gnupg" "$XDG_RUNTIME_DIR/gcr" "$HOME/.gnupg/private-keys-v1.d"
    git -c init.defaultBranch=main init -q "$HOME/app"
    cd "$HOME/app" || return 1
}

teardown() {
    [ -z "${LISTENER-}" ] || kill "$LISTENER" 2>/dev/null || true
    [ -z "${DEVICE-}" ] || rm -f -- "$DEVICE"
    cd / && rm -rf -- "$HOME"
}

# listen PATH: something that says "served" to whoever connects.
listen() {
    rm -f -- "$HOME/up" # of one before it
    python3 -c '
import socket, sys
server = socket.socket(socket.AF_UNIX)
server.bind(sys.argv[1])
server.listen()
print("up", flush=True)
while True:
    server.accept()[0].sendall(b"served\n")' "$1" >"$HOME/up" 3>&- &
    LISTENER=$!
    for _ in $(seq 1200); do
        [ ! -s "$HOME/up" ] || return 0
        sleep 0.05
    done
    return 1
}

ask='import socket, sys
s = socket.socket(socket.AF_UNIX)
try:
    s.connect(sys.argv[1])
    print(s.recv(100).decode().strip())
except OSError as why:
    print(why.strerror)'

# opens PROFILE SOCKET: not without the profile, with it, and not because a repository says so that nobody trusts.
opens() {
    listen "$2"
    [ "$(python3 -c "$ask" "$2")" = served ]
    run "$BAWN" --net off -- python3 -c "$ask" "$2"
    [ "$output" = 'No such file or directory' ]
    run "$BAWN" --net off --use "$1" -- python3 -c "$ask" "$2"
    [ "$output" = served ]
    # What a mount was for stays behind in the private home as an empty file, which nothing answers at.
    echo "use $1" >.bawn
    run "$BAWN" --net off -- python3 -c "$ask" "$2"
    [ "$output" = 'Connection refused' ]
    rm .bawn
}

@test "every service says what it gives away" {
    run "$BAWN" profiles
    [ "$(grep -c '^service/' <<<"$output")" = 8 ]
    [ "$(grep '^service/' <<<"$output" | grep -vc 'Gives away')" = 0 ]
}

@test "docker's socket is opened by its profile alone" {
    opens service/docker "$XDG_RUNTIME_DIR/docker.sock"
}

@test "an ssh agent's socket is opened by its profile alone" {
    opens service/ssh-agent "$XDG_RUNTIME_DIR/gcr/ssh"
}

@test "a gpg agent's socket is opened by its profile alone; private keys stay sealed" {
    opens service/gpg-sign "$XDG_RUNTIME_DIR/gnupg/S.gpg-agent"
    echo secret >"$HOME/.gnupg/private-keys-v1.d/x.key"
    echo public >"$HOME/.gnupg/pubring.kbx"
    run "$BAWN" --net off --use service/gpg-sign -- sh -c 'cat ~/.gnupg/pubring.kbx; ls ~/.gnupg/private-keys-v1.d'
    [[ $output == *public* && $output != *x.key* ]]
    run "$BAWN" --net off --use service/gpg-sign --read "$HOME/.gnupg" -- cat "$HOME/.gnupg/private-keys-v1.d/x.key"
    [[ $output == *'No such file'* ]]
}

@test "a Wayland display is opened by its profile alone" {
    opens service/wayland "$XDG_RUNTIME_DIR/wayland-0"
}

@test "commits are not signed where a repository asks for it, unless signing was granted" {
    git config commit.gpgSign true
    git config user.name x
    git config user.email x@x.test
    run git commit -q --allow-empty -m x
    [ "$status" != 0 ] # there is no key
    run "$BAWN" --net off -- git commit -q --allow-empty -m x
    [ "$status" = 0 ]
    run "$BAWN" --net off --use service/gpg-sign -- git commit -q --allow-empty -m x
    [ "$status" != 0 ]
}

@test "a device is there where a rule names it, and dead everywhere else" {
    [ "$(id -u)" = 0 ] || skip 'needs root'
    DEVICE=/dev/bawn-test-$$
    mknod -m 666 "$DEVICE" c 1 5 || skip 'needs a machine that lets root make devices'
    node=$HOME/app/zero
    mknod -m 666 "$node" c 1 5
    [ "$(head -c 4 "$DEVICE" | od -An -tx1)" = ' 00 00 00 00' ]
    run "$BAWN" --net off -- head -c 4 "$DEVICE"
    [[ $output == *'No such file or directory'* ]]
    run "$BAWN" --net off --write "$DEVICE" -- sh -c "head -c 4 $DEVICE | od -An -tx1"
    [ "$output" = ' 00 00 00 00' ]
    run "$BAWN" --net off --read "$DEVICE" -- head -c 4 "$DEVICE"
    [[ $output == *'Permission denied'* ]]
    run "$BAWN" --net off --write "$DEVICE" -- head -c 4 "$node"
    [[ $output == *'Permission denied'* ]]
}

@test "headless chromium draws a page" {
    command -v chromium >/dev/null || skip 'needs chromium'
    cat >page.html <<'EOF'
<p id=x>no</p><script>document.getElementById("x").textContent = "drawn " + 6 * 7</script>
EOF
    run timeout 90 "$BAWN" --net off --use service/browser -- chromium --headless --no-sandbox --disable-gpu \
        --dump-dom "file://$PWD/page.html"
    [[ $output == *'<p id="x">drawn 42</p>'* ]]
}

@test "ssh-agent: a socket that ssh-agent made in /tmp is opened; another that the variable names is not, and the start says so" {
    folder=$(mktemp -d /tmp/ssh-XXXXXXXX)
    listen "$folder/agent.1"
    export SSH_AUTH_SOCK=$folder/agent.1
    run "$BAWN" --net off --use service/ssh-agent -- python3 -c "$ask" "$SSH_AUTH_SOCK"
    rm -rf -- "$folder"
    [ "$output" = served ]
    kill "$LISTENER"
    listen "$HOME/other.sock"
    export SSH_AUTH_SOCK=$HOME/other.sock
    run "$BAWN" --net off --use service/ssh-agent -- python3 -c "$ask" "$SSH_AUTH_SOCK"
    [ "$output" = 'No such file or directory' ]
    run "$BAWN" show --use service/ssh-agent -- true
    [[ "$output" == *"SSH_AUTH_SOCK names the socket $HOME/other.sock, which is not shown inside (--socket $HOME/other.sock shows it)"* ]]
    run "$BAWN" --net off --use service/ssh-agent --socket "$HOME/other.sock" -- python3 -c "$ask" "$SSH_AUTH_SOCK"
    [ "$output" = served ]
}

@test "why: a socket is opened with --socket, wherever it lies" {
    for path in "$HOME/other.sock" "$HOME/app/own.sock"; do
        listen "$path"
        run "$BAWN" why "$path"
        [[ "$output" == *"to change --socket "* ]]
        [[ "$output" != *"--read"* ]]
        run "$BAWN" --net off -- python3 -c "$ask" "$path"
        [ "$output" != served ]
        run "$BAWN" --net off --socket "$path" -- python3 -c "$ask" "$path"
        [ "$output" = served ]
        kill "$LISTENER"
    done
}
