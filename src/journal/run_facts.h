/* What a run did that its end reports: hosts that it reached or did not reach, and decoys that it opened. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"

/* A host that was asked for, and that was refused or could not be reached. */
struct refused_host {
    const char *host;
    uint16_t port; /* 0: the name was asked for, and no port */
    const char *sentence;
};
typedef VEC(struct refused_host) refused_list;

/* A host that was reached. */
struct used_host {
    const char *host;
    uint16_t port;
    size_t times;
    uint64_t sent, received; /* by the connections that have ended */
};
typedef VEC(struct used_host) used_list;

typedef VEC(uint16_t) port_list;

/* A decoy (plan/decoys.h) that was opened. */
struct fired {
    const char *path;    /* inside: the decoy's file, or its folder */
    const char *process; /* what it was started with, where it could be seen; or NULL */
    size_t times;
};
typedef VEC(struct fired) fired_list;

/* A placeholder that a program inside sent to a host that its secret is not for. */
struct misused {
    const char *name, *host;
};

typedef VEC(struct misused) misused_list;

/* A key of the user's ssh agent that was to be used where no rule lets it. */
struct refused_key {
    const char *key, *why; /* both last as long as the run */
};

typedef VEC(struct refused_key) refused_key_list;
