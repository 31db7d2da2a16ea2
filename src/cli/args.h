/*
 * The command line, taken apart. Everything from the first word that is not bawn's on belongs to the command; `--` says
 * so explicitly, also for a program that bears a verb's name.
 */
#pragma once

#include "base/vec.h"
#include "cli/world.h"
#include "plan/walls.h"
#include "policy/policy.h"

enum flag {
    FLAG_HELP = 1 << 0,
    FLAG_JSON = 1 << 1,
    FLAG_PLAN = 1 << 2,
    FLAG_BRIEF = 1 << 3,
    FLAG_ALL = 1 << 4,
    FLAG_REVOKE = 1 << 5,
    FLAG_YES = 1 << 6,
    FLAG_POLICY = 1 << 7, /* the rules of the language as flags: --read, --net … */
    FLAG_VERSION = 1 << 8,
    FLAG_READ_ONLY = 1 << 9,
    FLAG_NESTED = 1 << 10,
    FLAG_FULL_ACCESS = 1 << 11,
    FLAG_I_KNOW = 1 << 12,
    FLAG_DEGRADE = 1 << 13, /* takes the names of walls */
    FLAG_FRESH_HOME = 1 << 14,
    FLAG_ALWAYS = 1 << 15,
    FLAG_SESSION = 1 << 16,
    FLAG_KEEP = 1 << 17,
    FLAG_KEEP_FLAGGED = 1 << 18,
    FLAG_REVIEW = 1 << 19,
    FLAG_DISCARD = 1 << 20,
    FLAG_LIST = 1 << 21,
    FLAG_THEIRS = 1 << 22, /* what the user has changed since is overwritten */
    FLAG_STAT = 1 << 23,
    FLAG_NAME_ONLY = 1 << 24,
    FLAG_ALLOW_RISKY = 1 << 25,
    FLAG_PRUNE = 1 << 26,
    FLAG_VERIFY = 1 << 27,
    FLAG_DENIED = 1 << 28,
    FLAG_MODES = FLAG_FRESH_HOME | FLAG_READ_ONLY | FLAG_NESTED | FLAG_FULL_ACCESS | FLAG_I_KNOW |
                 FLAG_DEGRADE | FLAG_REVIEW | FLAG_DISCARD,
};

struct args;

struct verb_entry {
    const char *name;
    int (*run)(const struct world *world, const struct args *args);
    unsigned flags;      /* those it takes, beside --help */
    const char *words;   /* what its own words are called; NULL: it takes none */
    bool takes_command;  /* words (or what follows --) are a command to run */
    const char *summary; /* for `bawn --help` */
    const char *usage;   /* for `bawn VERB --help` */
};

struct args {
    const struct verb_entry *verb;
    bool verb_is_named; /* false: a command was given, or nothing at all */
    unsigned flags;
    wall_set degraded; /* by --degrade */
    VEC(struct argument) rules;
    VEC(const char *) words;
    char **typed;               /* all of it, with the program's name; ended by NULL */
    const char *const *command; /* ended by NULL; empty where there is none */
};

/* Returns 0, or the exit status after having said what is wrong. */
int args_parse(const struct world *world, const struct verb_entry *verbs, int count, char **arguments,
               struct arena *arena, struct args *ret_args);
void args_free(struct args *args);
