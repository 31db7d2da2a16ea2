/*
 * Says what a variable of the environment holds.
 *
 * Why: tokens are in the environment of whoever starts an agent. Everything is dropped but a short list.
 * Seen: agents that ran `env` and sent it home; LD_PRELOAD and GIT_DIR change what every program does.
 *
 * case env-aws: AWS_SECRET_ACCESS_KEY => unset | control ~{token}
 *   files: read AWS_SECRET_ACCESS_KEY from the environment
 * case env-github: GITHUB_TOKEN => unset | control ~{token}
 *   files: read GITHUB_TOKEN from the environment
 * case env-ssh-agent: SSH_AUTH_SOCK => unset | control ~/
 *   files: learn where the ssh agent listens from the environment
 * case env-runtime-dir: XDG_RUNTIME_DIR => unset | control ~/
 *   files: learn where the session's sockets lie from the environment
 * case env-bus: DBUS_SESSION_BUS_ADDRESS => unset | control ~unix
 *   files: learn where the session bus listens from the environment
 * case env-display: DISPLAY => unset | control :7
 * case env-git-dir: GIT_DIR => unset | control /nowhere
 *   persistence: have git led elsewhere by GIT_DIR of the environment
 * case env-proxy: http_proxy => unset | control ~http
 *   files: read a proxy's password from the environment
 * case env-aws-full-access: AWS_SECRET_ACCESS_KEY => unset | control ~{token} | flags --full-access --i-know
 * case env-mark: BAWN => 1 | control unset
 * case env-home: HOME => {home} | control {home}
 */
#include "attack.h"

ATTACK(variable)
{
    const char *value = getenv(argument(argc, argv, 1));
    saw(value ? value : "unset");
}
