/* Rules about keys of the user's ssh agent: `ssh-key KEY to HOST… [times N] [ask]`. */
#pragma once

#include "base/arena.h"
#include "policy/rule.h"

enum { SSH_PORT = 22 };

/* "git.corp:2222", as ssh's known_hosts has it: "git.corp" or "[git.corp]:2222". */
const char *ssh_key_host_known_as(struct arena *arena, const struct host_object *host) returns_text;

/* "build.corp staging.corp:2222 times 20 ask" */
const char *ssh_key_rights(struct arena *arena, const struct ssh_key_object *key) returns_text;
