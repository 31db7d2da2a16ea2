/*
 * The pages of a login: an agent inside wants to open one, or prints its address. The user is asked, and bawn opens it outside. All text
 * comes from inside and is untrusted.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/vec.h"
#include "cli/world.h"
#include "kernel/fsview.h"

struct login {
    const struct world *world;
    struct arena *arena;
    const char *agent;      /* "codex" */
    const char *state;      /* the state folder */
    const char *folder;     /* the sandbox's workspace, with no file of the user's */
    fs_names hosts;         /* hosts whose pages may be opened */
    bool asks;              /* false: --yes */
    pid_t child;            /* the bawn that runs the agent */
    int output_fd, page_fd; /* the agent's output; the addresses that it opens, one a line */
    int signal_fd;
    int stopped_by;          /* the signal that ended it, such as SIGINT; 0: none */
    struct buf output, page; /* incomplete lines */
    fs_names offered;
};

/* Handles an address that the agent opened. */
void login_hear_page(struct login *login, const char *text, size_t size);

/*
 * Shows a line of the agent's output. A login page in it that answers to a local port was printed instead of
 * opened.
 */
void login_hear_line(struct login *login, const char *text, size_t size);
