/*
 * The network's helper, bawn-egress, as the supervisor sees it: helper.c starts it, helper_events.c speaks with it. Both sides
 * send lines of bounded length. The helper's lines go into the journal and are kept for the summary.
 */
#pragma once

#include "supervise/network.h"

enum { MOST_ADDED = 8192, LONGEST_LINE = 1024 };

/* Starts the helper with everything that the network has. Fills in `helper` and `link_fd`. */
int helper_start(struct network *network, struct err *err) must_check;

struct helper_program {
    const char *path, *name;
    const char *const *environment; /* the caller's */
    const char *const *kept;        /* the variables of it that the program gets */
    size_t kept_count;
};

/*
 * In a new process: becomes the program, with these descriptors as its arguments. It neither holds the caller's streams open nor
 * hears what the terminal sends, and dies with its parent.
 */
_Noreturn void helper_become(const struct helper_program *program, pid_t parent, const int *fds,
                             size_t fd_count);

/* Ends such a program, and waits for it; nothing is done for 0 and -1. */
void helper_end(pid_t pid);

/* Sends a line to the helper, if it runs, with a descriptor or -1. */
int helper_send(struct network *network, const char *line, int fd, struct err *err) must_check;

/* Reads the lines that have arrived. Returns false when the helper is gone. */
bool helper_read_events(struct network *network);

/* Keeps a refusal for the summary. */
void helper_note_refused(struct network *network, const char *host, const char *port, const char *sentence);

/* Reports that a grant is in use, or, with a problem, that it never will be. */
void helper_confirm(struct network *network, unsigned number, const char *problem);
