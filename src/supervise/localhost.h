/*
 * localhost inside is the sandbox's own: a server there is not seen on this machine, and a server of this machine not there. Both look
 * like an error of the program, so the supervisor notices both, and names the flag that helps.
 *
 *   a server inside      with namespaces the kernel is asked (kernel/ports.h), in moments in which the supervisor is awake
 *                        anyway: seldomer the longer the run lasts. Without namespaces, process 1's judge reports it.
 *   a refused connection with namespaces a socket inside hears the kernel's refusals; without, the judge reports it. It is worth a
 *                        word only if a server of this machine has the port.
 *
 * Nothing but numbers of ports comes from inside, and each source ends after a few. Nobody inside is told whether a server of this machine
 * has a port: it could be used to search this machine.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "plan/plan.h"
#include "supervise/loop.h"

enum localhost_kind { LOCALHOST_SERVES, LOCALHOST_REFUSED };

/* Of each kind, and of one kind. */
typedef void localhost_noticed(void *self, enum localhost_kind kind, uint16_t port);

enum { LOCALHOST_PORTS = 4 };

struct localhost {
    const struct plan *plan;
    struct loop *loop;
    int servers_fd, refusals_fd; /* from inside; -1: none, or no more */
    int64_t began, looked;       /* milliseconds */
    unsigned refusals;           /* that were heard of */
    uint16_t serving[LOCALHOST_PORTS], refused[LOCALHOST_PORTS];
    size_t serving_count, serving_told, refused_count;
    localhost_noticed *noticed; /* with all memory back */
    void *self;
};

#define LOCALHOST_NONE ((struct localhost){.servers_fd = -1, .refusals_fd = -1})

/* From now on. Owns the descriptor, one of those that process 1 sends. */
void localhost_take(struct localhost *localhost, bool is_of_refusals, int fd);

/* A report of the judge. */
void localhost_hear(struct localhost *localhost, enum localhost_kind kind, uint16_t port);

/* Is it a port at which the sandbox has a socket of bawn's own? */
bool localhost_is_own(const struct localhost *localhost, uint16_t port);

/* The command has ended: what was not read yet. */
void localhost_end(struct localhost *localhost);
