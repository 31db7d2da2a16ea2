/*
 * Where programs inside have dialled by ssh: bawn-egress says which server's proof (base/ssh_proof.h) came on a connection to which host of an
 * `ssh-key` rule. Only the last connections are kept: a login follows within moments.
 */
#pragma once

#include "base/arena.h"
#include "base/hash.h"
#include "base/vec.h"
#include "plan/plan.h"

enum { DIALLED_KEPT = 1024 };

struct dialled_connection {
    const char *host;
    char mark[SHA256_HEX_SIZE];
};

struct dialled {
    VEC(const char *) hosts; /* of `ssh-key` rules, each once: "build.corp:22" */
    VEC(struct dialled_connection) kept;
    size_t oldest; /* once there are DIALLED_KEPT */
};

/* A host with its port, as `hosts` has it. */
const char *dialled_host_text(struct arena *arena, const struct host_object *host) returns_text;

void dialled_begin(struct dialled *dialled, struct arena *arena, const struct plan *plan);

/* What the helper says: a host that no rule has, or what is no mark, is ignored. */
void dialled_take(struct dialled *dialled, const char *host, const char *mark);

/* The host that was dialled. NULL: no connection had this mark, or connections to several hosts had it. */
const char *dialled_find(const struct dialled *dialled, const char *mark);

void dialled_free(struct dialled *dialled);
