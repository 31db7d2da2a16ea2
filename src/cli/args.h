/*
 * The command line, taken apart. Everything from the first word that is not bawn's on belongs to the command; `--` says
 * so explicitly, also for a program that bears a verb's name.
 */
#pragma once

#include "base/vec.h"
#include "cli/world.h"
#include "session/load.h"

/* A bit each. More than an enumeration holds. */
typedef uint64_t flag_set;
#define FLAG_HELP         0x1ULL
#define FLAG_JSON         0x2ULL
#define FLAG_PLAN         0x4ULL
#define FLAG_BRIEF        0x8ULL
#define FLAG_ALL          0x10ULL
#define FLAG_REVOKE       0x20ULL
#define FLAG_YES          0x40ULL
#define FLAG_POLICY       0x80ULL /* the rules of the language as flags: --read, --net … */
#define FLAG_VERSION      0x100ULL
#define FLAG_READ_ONLY    0x200ULL
#define FLAG_NESTED       0x400ULL
#define FLAG_FULL_ACCESS  0x800ULL
#define FLAG_I_KNOW       0x1000ULL
#define FLAG_DEGRADE      0x2000ULL /* takes the names of walls */
#define FLAG_FRESH_HOME   0x4000ULL
#define FLAG_ALWAYS       0x8000ULL
#define FLAG_SESSION      0x10000ULL
#define FLAG_KEEP         0x20000ULL
#define FLAG_KEEP_FLAGGED 0x40000ULL
#define FLAG_REVIEW       0x80000ULL
#define FLAG_DISCARD      0x100000ULL
#define FLAG_LIST         0x200000ULL
#define FLAG_THEIRS       0x400000ULL /* what the user has changed since is overwritten */
#define FLAG_STAT         0x800000ULL
#define FLAG_NAME_ONLY    0x1000000ULL
#define FLAG_ALLOW_RISKY  0x2000000ULL
#define FLAG_PRUNE        0x4000000ULL
#define FLAG_VERIFY       0x8000000ULL
#define FLAG_DENIED       0x10000000ULL
#define FLAG_NOTIFY       0x10000000000ULL /* takes a command, after '=' */
#define FLAG_PATCH        0x20000000ULL
#define FLAG_MERGE        0x40000000ULL
#define FLAG_MARKERS      0x80000000ULL
#define FLAG_OURS         0x100000000ULL
#define FLAG_AGENT        0x1000000000000000ULL /* takes the name of one */
#define FLAG_REVIEW_ALL   0x200000000ULL        /* --review=all */
#define FLAG_BRANCH       0x400000000ULL
#define FLAG_QUIET        0x20000000000ULL
#define FLAG_ON_EXIT      0x40000000000ULL /* takes a command */
#define FLAG_FOLLOW       0x80000000000ULL
#define FLAG_LOG_NET      0x100000000000ULL
#define FLAG_LOG_FILES    0x200000000000ULL
#define FLAG_LOG_EXEC     0x400000000000ULL
#define FLAG_SINCE        0x800000000000ULL  /* takes a length of time */
#define FLAG_GREP         0x1000000000000ULL /* takes a text */
#define FLAG_REPORT       0x2000000000000ULL /* takes a file */
#define FLAG_RECORD_EXEC  0x4000000000000ULL
#define FLAG_REPAIR       0x8000000000000ULL
#define FLAG_CHECKPOINT   0x100000000000000ULL /* takes a length of time */
#define FLAG_TO           0x200000000000000ULL /* takes a moment */
#define FLAG_ENDING                                                                                          \
    (FLAG_NOTIFY | FLAG_QUIET | FLAG_ON_EXIT | FLAG_JSON | FLAG_RECORD_EXEC) /* what is told of a run */
#define FLAG_MODES                                                                                           \
    (FLAG_FRESH_HOME | FLAG_READ_ONLY | FLAG_NESTED | FLAG_FULL_ACCESS | FLAG_I_KNOW | FLAG_DEGRADE |        \
     FLAG_REVIEW | FLAG_DISCARD | FLAG_REVIEW_ALL | FLAG_AGENT)

struct args;

struct verb_entry {
    const char *name;
    int (*run)(const struct world *world, const struct args *args);
    flag_set flags;      /* those it takes, beside --help */
    const char *words;   /* what its own words are called; NULL: it takes none */
    bool repairs;        /* it deals with sessions: those whose bawn was killed are put right first */
    bool takes_command;  /* words (or what follows --) are a command to run */
    const char *summary; /* for `bawn --help` */
    const char *usage;   /* for `bawn VERB --help` */
};

struct args {
    const struct verb_entry *verb;
    bool verb_is_named; /* false: a command was given, or nothing at all */
    flag_set flags;
    wall_set degraded;   /* by --degrade */
    const char *branch;  /* by --branch */
    const char *notify;  /* a command of the user's; "": the desktop's own means */
    const char *agent;   /* by --agent; NULL: the command says it */
    const char *on_exit; /* likewise; NULL: none */
    const char *since, *grep, *report;
    const char *checkpoint;      /* by --checkpoint … */
    uint64_t checkpoint_seconds; /* … and as a number; 0: none is wanted */
    const char *to;              /* by --to; NULL: the beginning */
    VEC(struct argument) rules;
    VEC(const char *) words;
    char **typed;               /* all of it, with the program's name; ended by NULL */
    const char *const *command; /* ended by NULL; empty where there is none */
};

/* Returns 0, or the exit status after having said what is wrong. */
int args_parse(const struct world *world, const struct verb_entry *verbs, int count, char **arguments,
               struct arena *arena, struct args *ret_args);

/* What is asked for, as the engine wants it. */
struct run_request args_request(const struct args *args);

/* Only the place: the policy that holds here, whatever else was typed. */
struct run_request args_place(const struct args *args);

void args_free(struct args *args);
