/*
 * A program's login with the user's browser: what it prints is shown line by line, and the pages that it wants to open are
 * put to the user. All of it comes from inside and is hostile.
 */
#pragma once

#include <sys/types.h>

#include "cli/world.h"
#include "session/load.h"

struct login {
    const struct world *world;
    struct arena *arena;
    const char *agent;      /* "codex" */
    const char *state;      /* the folder of bawn's sessions */
    const char *folder;     /* the sandbox's workspace, which holds nothing of the user's */
    fs_names hosts;         /* whose pages may be opened */
    bool asks;              /* false: --yes */
    pid_t child;            /* bawn, which runs the program */
    int output_fd, page_fd; /* what the program prints; the addresses that it opens, one a line */
    int signal_fd;
    struct buf output, page; /* lines that have not ended yet */
    fs_names offered;
};

/* Makes what the program finds in the place of a browser. */
int login_furnish(struct login *login, struct err *err) must_check;

/* Until the program has ended. Returns its status. */
int login_attend(struct login *login);
void login_free(struct login *login);
