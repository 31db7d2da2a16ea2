#!/usr/bin/env bats
# Which profile a command gets, through whatever starts it; and which toolchains a workspace brings along.

bats_require_minimum_version 1.5.0

setup() {
    HOME=$(mktemp -d)
    export HOME
    unset XDG_CONFIG_HOME XDG_DATA_HOME XDG_STATE_HOME XDG_CACHE_HOME BAWN_POLICY CLAUDE_CONFIG_DIR
    export PATH=$HOME/bin:/usr/bin:/bin
    mkdir -p "$HOME/app/.git" "$HOME/bin"
    echo 'ref: refs/heads/main' >"$HOME/app/.git/HEAD"
    mkdir "$HOME/app/.git/objects" "$HOME/app/.git/refs"
    cd "$HOME/app"
}

teardown() {
    rm -rf -- "$HOME"
}

# gets PROFILES WORD…: the profiles in use beside base and what those use, by the first line of `bawn show --all`.
agent_of() {
    "$BAWN" show --all -- "$@" | head -n 1 | grep -o 'agent/[a-z]*' || echo none
}

is() {
    local want=$1 got
    shift
    got=$(agent_of "$@")
    [ "$got" = "$want" ] || {
        echo "$*: $got, not $want"
        return 1
    }
}

@test "an agent is known by its name, wherever it lies" {
    is agent/claude claude -p hello
    is agent/claude /opt/tools/claude
    is agent/codex codex exec
    is agent/cursor cursor-agent
    is none bash -c claude
    is none claude.sh
}

@test "an agent is known through env" {
    is agent/claude env claude
    is agent/claude /usr/bin/env -i -u FOO A=1 B=2 claude
    is agent/codex env A=1 env -C /tmp codex
    is agent/codex env -a other codex
    is none env -S 'claude -p'
    is none env
}

@test "an agent is known by its package, through whatever fetches it" {
    is agent/claude npx @anthropic-ai/claude-code
    is agent/claude npx -y @anthropic-ai/claude-code@2.1.0 -p hello
    is agent/codex npx --package @openai/codex -- codex exec
    is agent/codex npx --registry https://npm.corp.test --cache /tmp/x -y @openai/codex
    is agent/opencode bunx opencode-ai@latest
    is agent/opencode bun x opencode-ai
    is agent/gemini pnpm dlx @google/gemini-cli
    is agent/qwen yarn dlx @qwen-code/qwen-code
    is agent/copilot npm exec --yes @github/copilot
    is agent/aider uvx --python 3.12 aider-chat
    is agent/aider uvx --from aider-chat aider
    is agent/aider uv tool run aider-chat==0.86
    is agent/aider pipx run 'aider-chat[browser]'
    is none npx cowsay
    is none npx -c claude
    is none npx
    is none npm install @openai/codex
}

@test "an agent is known by the script that an interpreter runs" {
    mkdir -p "$HOME/lib/node_modules/@anthropic-ai/claude-code" "$HOME/lib/node_modules/opencode-ai/bin"
    touch "$HOME/lib/node_modules/@anthropic-ai/claude-code/cli.js" "$HOME/lib/node_modules/opencode-ai/bin/run"
    is agent/claude node "$HOME/lib/node_modules/@anthropic-ai/claude-code/cli.js"
    is agent/claude node --require ./x.js ../lib/node_modules/@anthropic-ai/claude-code/cli.js -p
    is agent/opencode bun "$HOME/lib/node_modules/opencode-ai/bin/run"
    is none node "$HOME/lib/node_modules/@anthropic-ai/other/cli.js"
    is none node cli.js
    is none node -e 'claude'
}

@test "an agent is known through symbolic links" {
    mkdir -p "$HOME/lib/node_modules/@openai/codex/bin" "$HOME/opt"
    touch "$HOME/lib/node_modules/@openai/codex/bin/codex.js" "$HOME/opt/claude"
    chmod +x "$HOME/lib/node_modules/@openai/codex/bin/codex.js" "$HOME/opt/claude"
    ln -s ../lib/node_modules/@openai/codex/bin/codex.js "$HOME/bin/cx"
    ln -s ../opt/claude "$HOME/bin/ai"
    ln -s ai "$HOME/bin/helper"
    is agent/codex cx
    is agent/claude ai
    is agent/claude helper
    is agent/claude "$HOME/bin/helper"
}

@test "what lies in the workspace is no agent, whoever starts it" {
    mkdir -p node_modules/.bin node_modules/@anthropic-ai/claude-code bin
    touch node_modules/@anthropic-ai/claude-code/cli.js node_modules/.bin/codex bin/npx claude
    chmod +x bin/npx claude
    is none ./claude
    is none npx @anthropic-ai/claude-code
    is none npx codex
    is none node ./node_modules/@anthropic-ai/claude-code/cli.js
    is none env "$PWD/claude"
    is agent/gemini npx @google/gemini-cli
    ln -s "$PWD/claude" "$HOME/bin/claude"
    is none claude
    PATH=$PWD/bin:$PATH is none npx @google/gemini-cli
    mkdir sub
    cd sub
    is none npx codex
}

@test "--agent names the profile, whatever the command is" {
    run "$BAWN" show --all --agent claude -- bash
    [[ ${lines[0]} == *agent/claude* ]]
    run "$BAWN" show --all --agent=codex -- claude
    [[ ${lines[0]} == *agent/codex* && ${lines[0]} != *agent/claude* ]]
    run "$BAWN" show --all --agent clade -- bash
    [ "$status" = 2 ]
    [[ $output == *"there is no profile 'agent/clade' (did you mean 'agent/claude'?)"* ]]
    run "$BAWN" show --all --agent
    [ "$status" = 2 ]
    [[ $output == *'--agent needs the name of an agent after it'* ]]
}

@test "every profile that is shipped holds together, whichever is named" {
    local name count=0
    for name in $("$BAWN" profiles | grep -o '^[a-z]*/[a-z0-9-]*'); do
        case $name in
        agent/*) run "$BAWN" show --all --agent "${name#agent/}" -- bash ;;
        *) run "$BAWN" show --all --use "$name" -- bash ;;
        esac
        [ "$status" = 0 ] && [[ ${lines[0]} == *"$name"* ]] || {
            echo "$name: status $status, ${lines[0]}"
            return 1
        }
        count=$((count + 1))
    done
    [ "$count" -gt 50 ]
}

@test "toolchains are those that the workspace uses" {
    run "$BAWN" show --all -- bash
    [[ ${lines[0]} != *toolchain/* ]]
    [[ $output == *"note: no profile for bash; using the base policy."* ]]
    touch Cargo.toml requirements-dev.txt
    run "$BAWN" show --all -- bash
    [[ ${lines[0]} == *toolchain/python*toolchain/rust* ]]
    [[ $output == *"note: no profile for bash; using base, toolchain/python, toolchain/rust."* ]]
    run "$BAWN" show --all -- claude
    [[ ${lines[0]} == *toolchain/rust*agent/claude* ]]
    [[ $output == *index.crates.io* ]]
}

# detects PROFILE NAME…: each of these names in the workspace brings the profile.
detects() {
    local profile=$1 name
    shift
    for name; do
        touch "$name"
        run "$BAWN" show --all -- bash
        rm "$name"
        [[ ${lines[0]} == *"$profile"* ]] || {
            echo "$name: ${lines[0]}, not $profile"
            return 1
        }
    done
}

@test "every toolchain is known by what its projects have" {
    detects toolchain/node package.json package-lock.json yarn.lock bun.lock bun.lockb deno.json deno.jsonc deno.lock .nvmrc .node-version
    detects toolchain/pnpm pnpm-lock.yaml pnpm-workspace.yaml
    detects toolchain/python pyproject.toml setup.py requirements.txt Pipfile poetry.lock uv.lock .python-version
    detects toolchain/conda environment.yml pixi.toml
    detects toolchain/rust Cargo.toml rust-toolchain.toml
    detects toolchain/go go.mod go.work
    detects toolchain/java pom.xml build.gradle build.gradle.kts gradlew mvnw
    detects toolchain/ruby Gemfile x.gemspec .ruby-version
    detects toolchain/php composer.json
    detects toolchain/dotnet x.sln x.csproj global.json
    detects toolchain/elixir mix.exs rebar.config
    detects toolchain/c CMakeLists.txt meson.build vcpkg.json
    detects toolchain/conan conanfile.txt conanfile.py
    detects toolchain/nix flake.nix shell.nix
    detects toolchain/mise mise.toml .tool-versions
}

# reaches ANSWER WORD…: may the command reach the index of Python's packages?
reaches() {
    local want=$1 answer
    shift
    answer=$("$BAWN" why --json pypi.org -- "$@" | grep -o '"decision": "[a-z]*"')
    [ "$answer" = "\"decision\": \"$want\"" ] || {
        echo "$*: $answer, not $want"
        return 1
    }
}

# environment FOLDER: what `python3 -m venv` makes.
environment() {
    mkdir -p "$1/bin"
    echo 'home = /usr/bin' >"$1/pyvenv.cfg"
    ln -s /usr/bin/python3 "$1/bin/python"
    printf '#!%s/bin/python\n' "$PWD/$1" >"$1/bin/pip"
    chmod +x "$1/bin/pip"
}

@test "a Python environment in the workspace brings the toolchain, without a manifest" {
    reaches refused claude
    for folder in .venv venv env; do
        environment $folder
        reaches connect claude
        reaches connect bash
        rm "$folder/pyvenv.cfg" # a directory of that name alone is none
        reaches refused bash
        mkdir "$folder/pyvenv.cfg"
        reaches refused bash
        rm -r "$folder"
    done
    touch pyvenv.cfg
    reaches connect bash
    rm pyvenv.cfg
    mkdir node_modules
    run "$BAWN" show --all -- bash
    [[ ${lines[0]} == *toolchain/node* ]]
}

@test "a program in a Python environment brings the toolchain, by its path, by PATH, or because it is activated" {
    mkdir tools
    environment tools/own
    reaches refused bash
    reaches connect tools/own/bin/pip install x
    reaches connect tools/own/bin/python -m pip install x
    reaches connect env A=b tools/own/bin/pip install x
    PATH=$PWD/tools/own/bin:$PATH reaches connect pip install x
    VIRTUAL_ENV=$PWD/tools/own reaches connect claude
    VIRTUAL_ENV=tools/own reaches refused bash
    reaches connect python3 -m pip install x
    reaches refused python3 -m http.server
    rm tools/own/pyvenv.cfg # the controls
    reaches refused tools/own/bin/pip install x
    reaches refused env A=b tools/own/bin/pip install x
    PATH=$PWD/tools/own/bin:$PATH reaches refused pip install x
    VIRTUAL_ENV=$PWD/tools/own reaches refused claude
    mkdir -p "$HOME/.local/bin"
    cd "$HOME"
    environment .local/share/pipx/venvs/tool
    cd app
    ln -s ../share/pipx/venvs/tool/bin/pip "$HOME/.local/bin/tool" # as pipx does
    PATH=$HOME/.local/bin:$PATH reaches connect tool
    rm "$HOME/.local/share/pipx/venvs/tool/pyvenv.cfg"
    PATH=$HOME/.local/bin:$PATH reaches refused tool
}

@test "what a run plants as a Python environment opens no more than a manifest, and does not say what is elsewhere" {
    environment .venv
    "$BAWN" show --all -- bash >"$HOME/environment"
    rm -r .venv
    touch requirements.txt
    "$BAWN" show --all -- bash >"$HOME/manifest"
    rm requirements.txt
    cmp "$HOME/environment" "$HOME/manifest"
    cd "$HOME"
    environment elsewhere # a link to it answers nothing
    cd app
    ln -s ../elsewhere .venv
    reaches refused bash
    reaches refused .venv/bin/python
    VIRTUAL_ENV=$PWD/.venv reaches refused bash
    VIRTUAL_ENV=$HOME/elsewhere reaches connect bash # the control: the user's own words
    rm .venv
    mkdir .venv .venv/bin
    ln -s ../../elsewhere/pyvenv.cfg .venv/pyvenv.cfg
    ln -s /usr/bin/true .venv/bin/pip3.9
    reaches refused bash
    reaches refused .venv/bin/pip3.9
    VIRTUAL_ENV=$PWD/.venv reaches refused bash
}

@test "detect takes a file one folder below the workspace, by its name alone" {
    local profile=$HOME/.config/bawn/profiles/toolchain/own.bawn wrong
    mkdir -p "${profile%/*}" folder
    touch folder/file
    for wrong in '*/file' '../file' 'folder/..' 'folder/' '/file' 'a/b/c'; do
        echo "detect $wrong" >"$profile"
        run "$BAWN" check "$profile"
        [ "$status" = 2 ] && [[ $output == *"this is not the name of a file"* ]] || {
            echo "$wrong: status $status: $output"
            return 1
        }
    done
    echo "detect folder/file" >"$profile"
    run "$BAWN" show --all -- bash
    [[ ${lines[0]} == *toolchain/own* ]]
    rm folder/file
    run "$BAWN" show --all -- bash
    [[ ${lines[0]} != *toolchain/own* ]]
}

# on_path PROFILE FOLDER…: each of these folders of the home in PATH brings the profile, and shows the folder.
on_path() {
    local profile=$1 folder
    shift
    for folder; do
        mkdir -p "$HOME/$folder"
        PATH=$HOME/$folder:$PATH run "$BAWN" show --all -- bash
        [[ ${lines[0]} == *"$profile"* ]] || {
            echo "$folder: ${lines[0]}, not $profile"
            return 1
        }
        run "$BAWN" why "$HOME/$folder" --use "$profile" -- bash
        [[ $output == *'can be read'* ]] || {
            echo "$folder: $output"
            return 1
        }
    done
}

@test "toolchains that are installed in the home are known by PATH, and can be read" {
    on_path toolchain/node .nvm/versions/node/v22/bin .volta/bin .local/share/fnm/aliases/default/bin .npm-global/bin .yarn/bin .bun/bin .deno/bin
    on_path toolchain/python .pyenv/shims miniconda3/bin .pixi/bin
    on_path toolchain/rust .cargo/bin
    on_path toolchain/go go/bin
    on_path toolchain/java .sdkman/candidates/java/current/bin .sdkman/candidates/kotlin/current/bin
    on_path toolchain/ruby .rbenv/shims .rvm/bin
    on_path toolchain/php .composer/vendor/bin
    on_path toolchain/dotnet .dotnet/tools
    on_path toolchain/elixir .elixir-install/installs/elixir/1/bin
    on_path toolchain/mise .local/share/mise/shims .asdf/shims
    on_path toolchain/nix .nix-profile/bin
}

@test "no toolchain opens a forge" {
    for profile in $("$BAWN" profiles | grep -o '^toolchain/[a-z]*'); do
        run "$BAWN" why github.com gitlab.com --use "$profile" -- bash
        [[ $output != *'can be reached.'* ]]
    done
    run "$BAWN" why github.com --use net/gradle -- bash # the control
    [[ $output == *'can be reached.'* ]]
}

@test "no agent's hosts are those that collect what it does" {
    collectors=(statsig.anthropic.com sentry.io o1.ingest.sentry.io http-intake.logs.datadoghq.com ab.chatgpt.com api.statsig.com
        play.googleapis.com us.i.posthog.com api.segment.io api.mixpanel.com)
    for profile in $("$BAWN" profiles | grep -oE '^(agent|net|toolchain)/[a-z-]+'); do
        run "$BAWN" why "${collectors[@]}" --use "$profile" -- bash
        [[ $output != *'can be reached.'* ]] || { echo "$profile: $output"; false; }
    done
    run "$BAWN" why api.anthropic.com --use agent/claude -- bash # the control
    [[ $output == *'can be reached.'* ]]
    run "$BAWN" why api.anthropic.com registry.npmjs.org github.com -- bash # and without a profile there is nothing
    [[ $output != *'can be reached.'* ]]
}

@test "pnpm's store lies in the private home, not in the project" {
    run "$BAWN" show --plan -- bash
    [[ $output != *_config_store_dir* ]]
    touch pnpm-lock.yaml
    run "$BAWN" show --plan -- bash
    [[ $output == *"npm_config_store_dir=$HOME/.local/share/pnpm/store"* ]]
    [[ $output == *"pnpm_config_store_dir=$HOME/.local/share/pnpm/store"* ]]
}

@test "toolchains on PATH are shown, and open no host before something asks for them" {
    mkdir -p "$HOME/.cargo/bin" "$HOME/.nvm/versions/node/v22/bin" "$HOME/.local/share/mise/shims" "$HOME/x.sln"
    PATH=$HOME/.cargo/bin:$HOME/.nvm/versions/node/v22/bin/:$HOME/x.sln:/opt/.local/share/mise/shims:.pyenv/shims::$PATH
    run "$BAWN" show --all -- bash
    [[ ${lines[0]} == *toolchain/node*toolchain/rust* && ${lines[0]} != *toolchain/mise* && ${lines[0]} != *toolchain/python* ]]
    [[ ${lines[0]} != *toolchain/dotnet* && ${lines[0]} != *net/* ]]
    [[ $output == *'~/.cargo/bin'* && $output == *'~/.nvm'* ]]
    [[ $output != *index.crates.io* && $output != *registry.npmjs.org* ]]
    run "$BAWN" show --all -- claude
    [[ $output == *registry.npmjs.org* && $output != *index.crates.io* && $output == *'~/.cargo/bin'* ]]
    run "$BAWN" show --all --use toolchain/rust -- bash
    [[ $output == *index.crates.io* ]]
    touch Cargo.toml
    run "$BAWN" show --all -- bash
    [[ $output == *index.crates.io* && $output != *registry.npmjs.org* ]]
    rm Cargo.toml
    echo 'use toolchain/rust' >.bawn
    "$BAWN" trust --yes
    run "$BAWN" show --all -- bash
    [[ $output == *index.crates.io* ]]
    mkdir -p '~/.volta/bin' # a project cannot name a folder of PATH
    run "$BAWN" why registry.npmjs.org -- bash
    [[ $output == *'cannot be reached'* ]]
}

@test "sift takes only the files that bawn knows" {
    touch "$HOME/.npmrc" "$HOME/.netrc"
    run "$BAWN" show --all --sift "$HOME/.npmrc" -- bash
    [[ $output == *'without secrets (sifted)'* ]]
    run "$BAWN" show --all --sift "$HOME/.netrc" -- bash
    [ "$status" = 2 ]
    [[ $output == *'bawn does not know which settings of this file are secret'* ]]
    run "$BAWN" why "$HOME/.npmrc" -- bash
    [[ $output == *'seal'* ]]
    touch package.json
    run "$BAWN" why "$HOME/.npmrc" -- bash
    [[ $output == *'without its secrets (sifted)'* ]]
}

@test "what a profile tells the agent beside its arguments is said, and stands behind its name" {
    cat >"$HOME/bin/codex" <<'EOF'
#!/bin/sh
echo "$# $*"
EOF
    chmod +x "$HOME/bin/codex"
    run "$BAWN" show --all -- codex
    [[ $output == *'note: bawn starts codex with -c sandbox_mode=danger-full-access (agent/codex.bawn:'* ]]
    mkdir "$HOME/.codex"
    echo 'developer_instructions = "mine"' >"$HOME/.codex/config.toml"
    run "$BAWN" --net off --read "$HOME/bin" -- codex exec 'a b'
    [ "$output" = '4 -c sandbox_mode=danger-full-access exec a b' ]
    run "$BAWN" --net off --read "$HOME/bin" -- env X=1 "$HOME/bin/codex" --version
    [ "$output" = '3 -c sandbox_mode=danger-full-access --version' ]
    run "$BAWN" --net off --agent codex -- sh -c 'echo $#'
    [ "$output" = 0 ] || {
        echo "$output"
        return 1
    }
}

@test "an agent is told where it is in its own way, unless a person tells it otherwise" {
    for name in claude codex; do
        printf '#!/bin/sh\necho $#\nprintf "%%s\\n" "$@"\n' >"$HOME/bin/$name"
        chmod +x "$HOME/bin/$name"
    done
    flags=(--net off --read "$HOME/bin")
    brief=$("$BAWN" show --brief "${flags[@]}" -- claude)
    run "$BAWN" "${flags[@]}" -- claude -p hello
    sandbox_off=$'--settings\n{"sandbox":{"enabled":false}}'
    [ "$output" = "6
--append-system-prompt
$brief

$sandbox_off
-p
hello" ]
    run "$BAWN" "${flags[@]}" -- claude --settings mine --append-system-prompt mine
    [ "$output" = $'4\n--settings\nmine\n--append-system-prompt\nmine' ]
    run "$BAWN" "${flags[@]}" -- codex
    [[ $output == "4
-c
sandbox_mode=danger-full-access
-c
developer_instructions=# You are inside a bawn sandbox"* ]]
    run "$BAWN" "${flags[@]}" -- claude --append-system-prompt mine
    [ "$output" = $'4\n'"$sandbox_off"$'\n--append-system-prompt\nmine' ]
    run "$BAWN" "${flags[@]}" -- claude --append-system-prompt-file=mine
    [ "$output" = $'3\n'"$sandbox_off"$'\n--append-system-prompt-file=mine' ]
    run "$BAWN" "${flags[@]}" -- claude mcp list
    [ "$output" = $'2\nmcp\nlist' ]
    run "$BAWN" show --all "${flags[@]}" -- claude
    [[ $output == *'--append-system-prompt'*'$BRIEFING'* && $output != *'note: claude gets'* ]]
    mkdir "$HOME/.codex"
    echo 'developer_instructions = "mine"' >"$HOME/.codex/config.toml"
    run "$BAWN" "${flags[@]}" -- codex
    [ "$output" = $'2\n-c\nsandbox_mode=danger-full-access' ]
}

@test "a variable with ?= is the caller's, or else the rule's" {
    run "$BAWN" --net off --env 'CORP?=theirs' -- sh -c 'echo "$CORP"'
    [ "$output" = theirs ]
    CORP=mine run "$BAWN" --net off --env 'CORP?=theirs' -- sh -c 'echo "$CORP"'
    [ "$output" = mine ]
    CORP='' run "$BAWN" --net off --env 'CORP?=theirs' -- sh -c 'echo "${CORP-none}"'
    [ -z "$output" ]
    run "$BAWN" why --env 'CORP?=theirs' '$CORP'
    [[ $output == '$CORP is passed on with your value, or with that of a rule if you have none.'* ]]
    run "$BAWN" why --env 'CORP*?=theirs' '$CORP'
    [ "$status" = 2 ]
    run "$BAWN" why --env '?=theirs' '$CORP'
    [ "$status" = 2 ]
}

@test "remote MCP servers are named from settings that are settings: no link, no FIFO, no depth, no lookalike" {
    remote='{"mcpServers":{"far":{"url":"https://far.test/"}}}'
    named='no rule allows the MCP server far of .mcp.json (--connect far.test)'
    echo "$remote" >.mcp.json
    run "$BAWN" show --all -- claude
    [[ $output == *"$named"* ]]
    run "$BAWN" show --all -- bash
    [[ $output != *'MCP server'* ]]
    for flag in '--connect far.test' '--net open' '--net off'; do
        # shellcheck disable=SC2086  # a flag and its object
        run "$BAWN" show --all $flag -- claude
        [[ $output != *'MCP server'* ]]
    done
    mv .mcp.json "$HOME/real"
    ln -s "$HOME/real" .mcp.json
    run "$BAWN" show --all -- claude
    [[ $status = 0 && $output != *'MCP server'* ]]
    rm .mcp.json
    mkfifo .mcp.json
    run timeout 120 "$BAWN" show --all -- claude
    [[ $status = 0 && $output != *'MCP server'* ]]
    rm .mcp.json
    for text in "// $remote" "$remote$remote" "${remote%\}}" '{"mcpServers":{"far":{"url":"https://far.test@evil.test/"}}}' \
        "$(printf '[%.0s' {1..100000})" '{"mcpServers":[{"url":"https://far.test/"}]}' '{"mcpServers":"https://far.test/"}'; do
        echo "$text" >.mcp.json
        run "$BAWN" show --all -- claude
        [[ $status = 0 && $output != *'MCP server'* ]]
    done
    printf '{"mcpServers":{"\\u001b[2J":{"url":"https://far.test/"}}}' >.mcp.json
    run "$BAWN" show --all -- claude
    [[ $output == *'MCP server \x1b[2J of .mcp.json'* ]]
    mkdir .codex
    printf '[other]\nurl = "https://no.test/"\n[mcp_servers.far]\nenabled = true\nurl = "https://far.test/mcp"\n' >.codex/config.toml
    rm .mcp.json
    run "$BAWN" show --all -- codex
    [[ $output == *'MCP server far of .codex/config.toml (--connect far.test).'* ]]
}

@test "init writes a .bawn of comments, once, at the top of the repository" {
    mkdir sub secrets
    touch Cargo.toml .env
    cd sub
    run "$BAWN" init
    [ "$status" = 0 ]
    [ "$output" = '~/app/.bawn was written. All rules in it are comments: remove the # before those that you want.' ]
    cd ..
    [ "$(grep -vc '^#\|^$' .bawn)" = 0 ]
    grep -q '^# hide     .env  secrets/$' .bawn
    grep -q 'used automatically: toolchain/rust' .bawn
    # What it proposes is the language: every line is right once the # is gone.
    grep -E '^# (hide|read|flag|refuse|limit|use|connect|host-port|env) ' .bawn | sed 's/^# //' >rules.bawn
    [ "$(wc -l <rules.bawn)" = 9 ]
    run "$BAWN" check rules.bawn
    [ "$status" = 0 ]
    before=$(cat .bawn)
    run "$BAWN" init
    [ "$status" = 2 ]
    [[ $output == *'.bawn exists already'* ]]
    [ "$before" = "$(cat .bawn)" ]
}

@test "init follows no link and leaves nothing where it cannot write" {
    ln -s "$HOME/elsewhere" .bawn
    run "$BAWN" init
    [ "$status" = 2 ]
    [ ! -e "$HOME/elsewhere" ]
    cd /
    run "$BAWN" init
    [ "$status" = 2 ]
    [[ $output == *'cannot make / the workspace'* ]]
    [ ! -e /.bawn ]
}

@test "shell-init makes an agent's name mean that agent in bawn" {
    for name in claude codex; do
        printf '#!/bin/sh\nshift $(($# - 2))\necho "%s in ${BAWN:-nothing}: $*"\n' "$name" >"$HOME/bin/$name"
        chmod +x "$HOME/bin/$name"
    done
    ln -s "$BAWN" "$HOME/bin/bawn"
    mkdir -p "$HOME/.config/bawn"
    printf 'read ~/bin\nnet off\n' >"$HOME/.config/bawn/policy.bawn"
    script='claude -p "a b"; command claude -p "a b"; type gemini >/dev/null 2>&1 || echo no gemini'
    want='claude in 1: -p a b
claude in nothing: -p a b
no gemini'
    run env -u BAWN bash -c "eval \"\$(bawn shell-init bash)\"; $script"
    [ "$output" = "$want" ]
    if command -v zsh >/dev/null; then
        run env -u BAWN zsh -fc "eval \"\$(bawn shell-init zsh)\"; $script"
        [ "$output" = "$want" ]
    fi
    if command -v fish >/dev/null; then
        run env -u BAWN fish --no-config -c "bawn shell-init fish | source; $script"
        [ "$output" = "$want" ]
    fi
    BAWN=1 run bawn shell-init bash
    [ -z "$output" ]
    run bawn shell-init tcsh
    [ "$status" = 2 ]
    run bawn shell-init
    [ "$status" = 2 ]
}

@test "what the host runs or obeys by itself is flagged, wherever it lies; other files are not" {
    local path
    for path in .envrc sub/.envrc.local .config/mise.toml sub/mise/config.toml .vim/coc-settings.json sub/.vscode/tasks.json \
        .externalToolBuilders/x.launch .ycm_extra_conf.py .pryrc .irbrc .ghci .iex.exs .Rprofile prek.toml hk.pkl \
        lint-staged.config.mjs sub/commitlint.config.js .roomodes .continuerules .aiassistant/rules/x.md .mcp.json .bazeliskrc \
        .bazelversion .readthedocs.yaml bitrise.yml; do
        run "$BAWN" why "./$path"
        [[ $output == *"you decide about changes at the end of the run"* ]] || {
            echo "$path: $output"
            return 1
        }
    done
    for path in src/main.c mise.md docs/mise/config.md .vimrc.txt commitlint.md readthedocs.yaml sub/bitrise.yml; do
        run "$BAWN" why "./$path"
        [[ $output != *"you decide about"* ]] || {
            echo "$path: $output"
            return 1
        }
    done
}

@test "a command that uses an agent's profile gets none of the agent's arguments" {
    for profile in agent/claude agent/codex; do
        run "$BAWN" --net off --use "$profile" -- sh -c 'echo $#'
        [ "$output" = 0 ]
    done
}

# says STATUS TEXT WORD…: the exit status of bawn WORD…, and a part of what it prints.
says() {
    local want=$1 text=$2
    shift 2
    run "$BAWN" "$@"
    [ "$status" -eq "$want" ] || {
        echo "$*: status $status: $output"
        return 1
    }
    [[ "$output" == *"$text"* ]] || {
        echo "$*: $output"
        return 1
    }
}

@test "a mistyped verb, agent or profile: bawn says which one was probably meant" {
    says 127 'Did you mean `bawn --version`?' --net off version
    says 127 'Did you mean `bawn sessions`?' --net off sesions
    says 127 'Did you mean `bawn diff`?' --net off dif
    says 127 'Did you mean `bawn claude`?' --net off cluade
    says 2 "did you mean 'agent/claude'?" --net off --agent cluade true
    says 2 "did you mean 'net/anthropic'?" --use net/antropic true
    says 2 "Did you mean 'agent/claude'?" profiles agent/cluade
    run "$BAWN" --net off no-such-program
    [ "$status" -eq 127 ]
    [[ "$output" != *"Did you mean"* ]]
}

@test "an agent that is not installed: bawn says so, and what to install" {
    says 127 "claude is not installed: no folder of your PATH has it. \`npm install -g @anthropic-ai/claude-code\` installs it." --net off claude
    says 127 "codex is not installed: no folder of your PATH has it. \`npm install -g @openai/codex\` installs it." --net off codex -p hi
    says 127 "goose is not installed: no folder of your PATH has it. Install it, then try again." --net off goose
}

@test "a program that the host has and the sandbox does not show: bawn names the flag" {
    mkdir "$HOME/tools"
    printf '#!/bin/sh\necho it runs\n' >"$HOME/tools/mytool"
    chmod +x "$HOME/tools/mytool"
    PATH=$HOME/tools:$PATH
    says 127 "mytool is in $HOME/tools, which the sandbox does not show. --read $HOME/tools shows it." --net off mytool
    says 0 "it runs" --net off --read "$HOME/tools" mytool
    mkdir "$HOME/links"
    ln -s ../tools/mytool "$HOME/links/linked"
    PATH=$HOME/links:$PATH
    says 127 "linked is in $HOME/links, which the sandbox does not show. --read $HOME/links --read $HOME/tools shows it." --net off linked
    says 0 "it runs" --net off --read "$HOME/links" --read "$HOME/tools" linked
}

# unseen WANTED WORD…: the flags that bawn names for the program; with them it runs.
unseen() {
    local wanted=$1
    shift
    says 127 "which the sandbox does not show. $wanted shows it." --net off "$@"
    # shellcheck disable=SC2086 # several words
    says 0 "it runs" --net off ${wanted} "$@"
}

@test "a program of npm's or of a Python environment that the sandbox does not show: bawn names the folder with its modules" {
    local modules=$HOME/acp/lib/node_modules package=@zed-industries/claude-code-acp
    tool() {
        mkdir -p "${1%/*}"
        printf '#!/bin/sh\ncat %s && echo it runs\n' "$2" >"$1"
        chmod +x "$1"
        mkdir -p "${2%/*}"
        touch "$2"
    }
    # `npm install -g`: what the program needs lies in its package.
    tool "$modules/$package/dist/index.js" "$modules/$package/node_modules/dep/index.js"
    mkdir "$HOME/acp/bin"
    ln -s "../lib/node_modules/$package/dist/index.js" "$HOME/acp/bin/claude-code-acp"
    PATH=$HOME/acp/bin:$PATH unseen "--read $HOME/acp/bin --read $modules/$package" claude-code-acp
    unseen "--read $HOME/acp/bin --read $modules/$package" "$HOME/acp/bin/claude-code-acp"
    # The advice until now: its own folder. It starts, and fails.
    says 1 "dep/index.js: No such file" --net off --read "$HOME/acp/bin" --read "$modules/$package/dist" "$HOME/acp/bin/claude-code-acp"
    tool "$modules/plain/cli.js" "$modules/plain/lib/part.js"
    unseen "--read $modules/plain" "$modules/plain/cli.js"
    # Another installation puts it beside the package.
    tool "$HOME/npx/node_modules/tool/dist/cli.js" "$HOME/npx/node_modules/dep/index.js"
    unseen "--read $HOME/npx/node_modules" "$HOME/npx/node_modules/tool/dist/cli.js"
    tool "$HOME/venvs/x/bin/tool" "$HOME/venvs/x/lib/module.py"
    touch "$HOME/venvs/x/pyvenv.cfg"
    unseen "--read $HOME/venvs/x" "$HOME/venvs/x/bin/tool"
    ln -s tool "$HOME/venvs/x/bin/again" # named once
    unseen "--read $HOME/venvs/x" "$HOME/venvs/x/bin/again"
}

@test "a link in the workspace to what the sandbox does not show: no flag is proposed (control: a link elsewhere)" {
    mkdir "$HOME/private"
    cp /usr/bin/true "$HOME/private/keys"
    ln -s "$HOME/private/keys" build.sh
    says 127 "./build.sh is in $HOME/private, which the sandbox does not show. A link in the workspace leads there: is it yours?" --net off ./build.sh
    [[ $output != *--read* ]]
    mkdir "$HOME/links"
    ln -s "$HOME/private/keys" "$HOME/links/link"
    says 127 "--read $HOME/links --read $HOME/private shows it" --net off "$HOME/links/link"
}

@test "a program in the home directory itself: bawn names the program, and not all of the home" {
    printf '#!/bin/sh\necho it runs\n' >"$HOME/mytool"
    chmod +x "$HOME/mytool"
    unseen "--read $HOME/mytool" "$HOME/mytool"
}

@test "a folder of PATH that may not be searched is not said to have a program" {
    mkdir "$HOME/closed"
    chmod 0 "$HOME/closed"
    local as=()
    [ "$(id -u)" != 0 ] || as=(setpriv --reuid 12345 --regid 12345 --clear-groups)
    [ "$(id -u)" != 0 ] || chown -R 12345:12345 "$HOME"
    PATH=$HOME/closed:$PATH run -127 "${as[@]}" "$BAWN" --net off no-such-tool
    [[ $output == *"cannot run no-such-tool: No such file or directory."* ]]
}

@test "a program whose interpreter the sandbox does not show: bawn names that" {
    printf '#!%s/none/python\n' "$HOME" >"$HOME/bin/own-script"
    chmod +x "$HOME/bin/own-script"
    says 127 "cannot run own-script: " --net off --read "$HOME/bin" own-script
    [[ "$output" == *"the interpreter that its first line names"* ]]
}

# agent NAME SCRIPT: a stand-in for an agent, on PATH.
agent() {
    printf '#!/bin/sh\n%s\n' "$2" >"$HOME/bin/$1"
    chmod +x "$HOME/bin/$1"
}

@test "continue finds that its onboarding is done, also when that happens on the host after the first run" {
    agent cn 'test -e ~/.continue/.onboarding_complete && echo onboarded || echo asks'
    says 0 asks --net off --read "$HOME/bin" cn
    mkdir "$HOME/.continue"
    touch "$HOME/.continue/.onboarding_complete"
    says 0 onboarded --net off --read "$HOME/bin" cn
}

@test "pi has the tools that it fetched on the host" {
    mkdir -p "$HOME/.pi/agent/bin"
    printf '#!/bin/sh\necho found by fd\n' >"$HOME/.pi/agent/bin/fd"
    chmod +x "$HOME/.pi/agent/bin/fd"
    agent pi 'exec ~/.pi/agent/bin/fd'
    says 0 "found by fd" --net off --read "$HOME/bin" pi
}

@test "gemini and qwen are told that they are in a sandbox" {
    for name in gemini qwen; do
        agent "$name" 'echo "in: $SANDBOX"'
        says 0 "in: bawn" --net off --read "$HOME/bin" "$name"
    done
}

# claude_folders FOLDER: two folders of claude's, each with a login and settings; CLAUDE_CONFIG_DIR names FOLDER.
claude_folders() {
    local folder
    mkdir -p "$HOME/.claude" "$HOME/.claude-work" "$HOME/app/.claude-here"
    for folder in "$HOME/.claude" "$HOME/.claude-work"; do
        echo '{"claudeAiOauth":{"accessToken":"x","refreshToken":"y"}}' >"$folder/.credentials.json"
        echo '{}' >"$folder/settings.json"
    done
    echo '{"hasCompletedOnboarding":true}' | tee "$HOME/.claude.json" >"$HOME/.claude-work/.claude.json"
    export CLAUDE_CONFIG_DIR=$1
}

# has FILTER: an operation of the plan in $output is so.
has() {
    jq -e --arg home "$HOME" "any(.operations[]; $1)" <<<"$output" >/dev/null
}

@test "the folder that CLAUDE_CONFIG_DIR names is claude's, with its login, settings and history" {
    claude_folders "$HOME/.claude-work"
    run "$BAWN" show --plan --json -- claude
    [ "$status" = 0 ]
    has '.op == "sync" and .path == $home + "/.claude-work/.credentials.json"'
    has '.op == "copy" and .path == $home + "/.claude-work/settings.json"'
    has '.op == "sift" and .path == $home + "/.claude-work/.claude.json"'
    has '.op == "write" and (.path | startswith($home + "/.claude-work/projects/"))'
    has '.op == "env-set" and .name == "CLAUDE_CONFIG_DIR" and .value == $home + "/.claude-work"'
    # The other account's folder, and its file beside it, stay outside.
    if has '(.op | IN("sync", "copy", "sift", "write", "read")) and (.path | startswith($home + "/.claude/") or . == $home + "/.claude.json")'; then
        return 1
    fi
    run "$BAWN" why "$HOME/.claude-work/settings.json" -- codex
    [[ $output == *'$CLAUDE_CONFIG_DIR/'* ]] # sealed
}

@test "without CLAUDE_CONFIG_DIR it is ~/.claude, and its state is ~/.claude.json" {
    claude_folders ''
    run "$BAWN" show --plan --json -- claude
    has '.op == "sync" and .path == $home + "/.claude/.credentials.json"'
    has '.op == "sift" and .path == $home + "/.claude.json"'
    [[ $output != *claude-work* ]]
}

@test "a CLAUDE_CONFIG_DIR that cannot be used is named with the reason, and claude has ~/.claude" {
    local value reason
    touch "$HOME/file"
    while read -r value reason; do
        claude_folders "$value"
        run "$BAWN" show --all -- claude
        [[ $output == *"note: CLAUDE_CONFIG_DIR $reason, so claude uses ~/.claude inside"* && $output == *'~/.claude/settings.json'* ]] || {
            echo "$value: $output"
            return 1
        }
        run "$BAWN" show --all -- codex
        [[ $output != *'note: CLAUDE_CONFIG_DIR'* ]]
    done <<EOF
.claude-work is not an absolute path
/var/lib/claude is not a directory below your home
$HOME is not a directory below your home
$HOME/.claude-work/../../../etc is not a directory below your home
$HOME/file is not a directory
$HOME/app/.claude-here is in the workspace
EOF
    # Such a folder would seal the workspace for every other agent.
    mkdir "$HOME/src" && mv "$HOME/app" "$HOME/src/app" && cd "$HOME/src/app"
    export CLAUDE_CONFIG_DIR=$HOME/src
    run "$BAWN" show --all -- claude
    [[ $output == *'note: CLAUDE_CONFIG_DIR contains the workspace, so claude uses ~/.claude inside'* ]]
    run "$BAWN" show --all -- codex
    [ "$status" = 0 ]
}
