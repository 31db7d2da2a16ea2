#!/bin/sh
# Says what a variable of the environment holds.
#
# Why: tokens are in the environment of whoever starts an agent. Everything is dropped but a short list.
# Seen: agents that ran `env` and sent it home; LD_PRELOAD and GIT_DIR change what every program does.
#
# case env-aws: AWS_SECRET_ACCESS_KEY => unset | control ~{token}
# case env-github: GITHUB_TOKEN => unset | control ~{token}
# case env-ssh-agent: SSH_AUTH_SOCK => unset | control ~/
# case env-runtime-dir: XDG_RUNTIME_DIR => unset | control ~/
# case env-bus: DBUS_SESSION_BUS_ADDRESS => unset | control ~unix
# case env-display: DISPLAY => unset | control :7
# case env-git-dir: GIT_DIR => unset | control /nowhere
# case env-proxy: http_proxy => unset | control ~http
# case env-aws-full-access: AWS_SECRET_ACCESS_KEY => unset | control ~{token} | flags --full-access --i-know
# case env-mark: BAWN => 1 | control unset
# case env-home: HOME => {home} | control {home}
eval "value=\${$1-unset}"
# shellcheck disable=SC2154 # the line above sets it
printf '%s\n' "$value"
