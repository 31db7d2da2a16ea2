/*
 * The command line, taken apart. Everything from the first word that is not bawn's on belongs to the command; `--` says
 * so explicitly, also for a program that bears a verb's name.
 */
#pragma once

#include "base/vec.h"
#include "cli/world.h"
#include "plan/walls.h"
#include "policy/policy.h"

/* A bit each. More than an enumeration holds. */
typedef uint64_t flag_set;
#define FLAG_HELP         (UINT64_C(1) << 0)
#define FLAG_JSON         (UINT64_C(1) << 1)
#define FLAG_PLAN         (UINT64_C(1) << 2)
#define FLAG_BRIEF        (UINT64_C(1) << 3)
#define FLAG_ALL          (UINT64_C(1) << 4)
#define FLAG_REVOKE       (UINT64_C(1) << 5)
#define FLAG_YES          (UINT64_C(1) << 6)
#define FLAG_POLICY       (UINT64_C(1) << 7) /* the rules of the language as flags: --read, --net … */
#define FLAG_VERSION      (UINT64_C(1) << 8)
#define FLAG_READ_ONLY    (UINT64_C(1) << 9)
#define FLAG_NESTED       (UINT64_C(1) << 10)
#define FLAG_FULL_ACCESS  (UINT64_C(1) << 11)
#define FLAG_I_KNOW       (UINT64_C(1) << 12)
#define FLAG_DEGRADE      (UINT64_C(1) << 13) /* takes the names of walls */
#define FLAG_FRESH_HOME   (UINT64_C(1) << 14)
#define FLAG_ALWAYS       (UINT64_C(1) << 15)
#define FLAG_SESSION      (UINT64_C(1) << 16)
#define FLAG_KEEP         (UINT64_C(1) << 17)
#define FLAG_KEEP_FLAGGED (UINT64_C(1) << 18)
#define FLAG_REVIEW       (UINT64_C(1) << 19)
#define FLAG_DISCARD      (UINT64_C(1) << 20)
#define FLAG_LIST         (UINT64_C(1) << 21)
#define FLAG_THEIRS       (UINT64_C(1) << 22) /* what the user has changed since is overwritten */
#define FLAG_STAT         (UINT64_C(1) << 23)
#define FLAG_NAME_ONLY    (UINT64_C(1) << 24)
#define FLAG_ALLOW_RISKY  (UINT64_C(1) << 25)
#define FLAG_PRUNE        (UINT64_C(1) << 26)
#define FLAG_VERIFY       (UINT64_C(1) << 27)
#define FLAG_DENIED       (UINT64_C(1) << 28)
#define FLAG_NOTIFY       (UINT64_C(1) << 40) /* takes a command, after '=' */
#define FLAG_PATCH        (UINT64_C(1) << 29)
#define FLAG_MERGE        (UINT64_C(1) << 30)
#define FLAG_MARKERS      (UINT64_C(1) << 31)
#define FLAG_OURS         (UINT64_C(1) << 32)
#define FLAG_AGENT        (UINT64_C(1) << 60) /* takes the name of one */
#define FLAG_REVIEW_ALL   (UINT64_C(1) << 33) /* --review=all */
#define FLAG_BRANCH       (UINT64_C(1) << 34)
#define FLAG_QUIET        (UINT64_C(1) << 41)
#define FLAG_ON_EXIT      (UINT64_C(1) << 42) /* takes a command */
#define FLAG_FOLLOW       (UINT64_C(1) << 43)
#define FLAG_LOG_NET      (UINT64_C(1) << 44)
#define FLAG_LOG_FILES    (UINT64_C(1) << 45)
#define FLAG_LOG_EXEC     (UINT64_C(1) << 46)
#define FLAG_SINCE        (UINT64_C(1) << 47) /* takes a length of time */
#define FLAG_GREP         (UINT64_C(1) << 48) /* takes a text */
#define FLAG_REPORT       (UINT64_C(1) << 49) /* takes a file */
#define FLAG_RECORD_EXEC  (UINT64_C(1) << 50)
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
    VEC(struct argument) rules;
    VEC(const char *) words;
    char **typed;               /* all of it, with the program's name; ended by NULL */
    const char *const *command; /* ended by NULL; empty where there is none */
};

/* Returns 0, or the exit status after having said what is wrong. */
int args_parse(const struct world *world, const struct verb_entry *verbs, int count, char **arguments,
               struct arena *arena, struct args *ret_args);
void args_free(struct args *args);
