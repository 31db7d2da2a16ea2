/*
 * What a run wanted and did not get: paths, sockets, hosts and limits, each once, with how often and by which program. `bawn
 * learn` collects them, the journal keeps them, and src/learn turns them into proposals. Objects come from inside: any bytes.
 */
#pragma once

#include <stdint.h>

#include "base/arena.h"
#include "base/map.h"
#include "base/names.h"
#include "base/vec.h"
#include "journal/journal.h"

/* How something was wanted; of a path, weakest first. */
#define WANT_KINDS(X)                                                                                        \
    X(WANT_LOOK, "look")         /* asked whether a path exists, or about its type */                        \
    X(WANT_READ, "read")         /* opened, or listed */                                                     \
    X(WANT_EXECUTE, "execute")   /* run as a program */                                                      \
    X(WANT_WRITE, "write")       /* opened for writing, removed */                                           \
    X(WANT_MAKE, "make")         /* made, or given this name */                                              \
    X(WANT_SOCKET, "socket")     /* connected to, as a Unix socket */                                        \
    X(WANT_DECOY, "decoy")       /* opened, and what it found was a decoy */                                 \
    X(WANT_HOST, "host")         /* a host that was refused, with `port` or 0 */                             \
    X(WANT_LIMIT, "limit")       /* a limit that was reached */                                              \
    X(WANT_VARIABLE, "variable") /* named in a program or script that the run opened */

enum want_kind { WANT_KINDS(ID_OF) WANT_COUNT };

const char *want_kind_name(enum want_kind value);

/* What became of the programs that wanted it. */
#define WANT_ENDINGS(X)                                                                                      \
    X(WANT_NOT_KNOWN, "")                                                                                    \
    X(WANT_WENT_ON, "went on") /* all of them ended with status 0 */                                         \
    X(WANT_FAILED, "failed")   /* one of them did not */

enum want_ending { WANT_ENDINGS(ID_OF) WANT_ENDING_COUNT };

const char *want_ending_name(enum want_ending value);

struct want {
    enum want_kind kind;
    enum want_ending ending;
    bool is_recovered; /* a program got it later in the same run, so that no ending counts against it */
    uint16_t port;
    uint64_t times;
    const char *object;
    const char *program; /* the first that wanted it; "": not known */
};

enum { WANTS_MOST = 4096 };

struct wants {
    struct arena arena;
    VEC(struct want *) all;
    struct map known;
    uint64_t left_out; /* objects beyond WANTS_MOST */
};

/* Counts a want. Returns its entry; NULL if there are too many. */
struct want *wants_note(struct wants *wants, enum want_kind kind, const char *object, uint16_t port,
                        const char *program);

/* Notes how a program that wanted it ended. A failure outweighs all else. */
void want_note_ending(struct want *want, enum want_ending ending);

/* Writes all wants to the journal. */
void wants_record(const struct wants *wants, struct journal *journal);

/* Takes the wants of a record: `wanted`, `refused`, `limit`, `tripwire`. Other records say nothing here. */
void wants_take(struct wants *wants, const struct journal_record *record);

void wants_free(struct wants *wants);
#define auto_wants __attribute__((cleanup(wants_free)))
