/*
 * The command line, taken apart. Everything from the first word that is not bawn's on belongs to the command; `--` says
 * so explicitly, also for a program that bears a verb's name.
 */
#pragma once

#include "base/vec.h"
#include "cli/world.h"
#include "session/load.h"

/*
 * Every flag that is not a rule of the language, in one list. PLAIN(ID, NAME, SHORT) has no value; VALUED(ID, NAME, FIELD, WANTED,
 * MAY_LACK) puts its value into that field of struct args, and MAY_LACK lets it stand without one; SET(ID) is set by another flag.
 */
#define FLAGS(PLAIN, VALUED, SET)                                                                            \
    PLAIN(HELP, "--help", "-h")                                                                              \
    PLAIN(JSON, "--json", NULL)                                                                              \
    PLAIN(QUIET, "--quiet", NULL)                                                                            \
    PLAIN(FOLLOW, "--follow", NULL)                                                                          \
    PLAIN(RECORD_EXEC, "--log-exec", NULL)                                                                   \
    PLAIN(LOG_NET, "--net", NULL) /* elsewhere a rule */                                                     \
    PLAIN(LOG_FILES, "--files", NULL)                                                                        \
    PLAIN(LOG_EXEC, "--exec", NULL)                                                                          \
    PLAIN(PLAN, "--plan", NULL)                                                                              \
    PLAIN(BRIEF, "--brief", NULL)                                                                            \
    PLAIN(ALL, "--all", NULL)                                                                                \
    PLAIN(REVOKE, "--revoke", NULL)                                                                          \
    PLAIN(YES, "--yes", "-y")                                                                                \
    PLAIN(VERSION, "--version", "-V")                                                                        \
    PLAIN(READ_ONLY, "--read-only", NULL)                                                                    \
    PLAIN(NESTED, "--nested", NULL)                                                                          \
    PLAIN(I_KNOW, "--i-know", NULL)                                                                          \
    PLAIN(FULL_ACCESS, "--full-access", NULL)                                                                \
    PLAIN(DEGRADE, "--degrade", NULL) /* takes the names of walls */                                         \
    PLAIN(FRESH_HOME, "--fresh-home", NULL)                                                                  \
    PLAIN(KEEP, "--keep", NULL)                                                                              \
    PLAIN(KEEP_FLAGGED, "--keep-flagged", NULL)                                                              \
    PLAIN(ALWAYS, "--always", NULL)                                                                          \
    PLAIN(SESSION, "--session", NULL)                                                                        \
    PLAIN(VERIFY, "--verify", NULL)                                                                          \
    PLAIN(DENIED, "--denied", NULL)                                                                          \
    PLAIN(PRUNE, "--prune", NULL)                                                                            \
    PLAIN(REPAIR, "--repair", NULL)                                                                          \
    PLAIN(LIST, "--list", NULL)                                                                              \
    PLAIN(THEIRS, "--theirs", "--force") /* what the user has changed since is overwritten */                \
    PLAIN(OURS, "--ours", NULL)                                                                              \
    PLAIN(MERGE, "--merge", NULL)                                                                            \
    PLAIN(MARKERS, "--markers", NULL)                                                                        \
    PLAIN(PATCH, "--patch", "-p")                                                                            \
    PLAIN(REVIEW, "--review", NULL)                                                                          \
    PLAIN(DISCARD, "--discard", NULL)                                                                        \
    PLAIN(STAT, "--stat", NULL)                                                                              \
    PLAIN(NAME_ONLY, "--name-only", NULL)                                                                    \
    PLAIN(ALLOW_RISKY, "--allow-risky", NULL)                                                                \
    VALUED(AGENT, "--agent", agent, "the name of an agent", false)                                           \
    VALUED(BRANCH, "--branch", branch, "the name of a branch", false)                                        \
    VALUED(NOTIFY, "--notify", notify, "a command", true)                                                    \
    VALUED(CHECKPOINT, "--checkpoint", checkpoint, "a length of time", false)                                \
    VALUED(TO, "--to", to, "a time", false)                                                                  \
    VALUED(SINCE, "--since", since, "a length of time", false)                                               \
    VALUED(REPORT, "--report", report, "a file", false)                                                      \
    VALUED(GREP, "--grep", grep, "a text", false)                                                            \
    VALUED(ON_EXIT, "--on-exit", on_exit, "a command", false)                                                \
    SET(REVIEW_ALL) /* --review=all */                                                                       \
    SET(POLICY)     /* the rules of the language as flags: --read, --net … */

enum flag_number {
#define PLAIN(id, name, other)                    FLAG_NUMBER_##id,
#define VALUED(id, name, field, wanted, may_lack) FLAG_NUMBER_##id,
#define SET(id)                                   FLAG_NUMBER_##id,
    FLAGS(PLAIN, VALUED, SET)
#undef PLAIN
#undef VALUED
#undef SET
};

/* A bit each: FLAG(JSON) | FLAG(ALL). */
typedef uint64_t flag_set;
#define FLAG(id) (UINT64_C(1) << FLAG_NUMBER_##id)

/* What is told of a run, and how it is run. */
#define FLAGS_ENDING (FLAG(NOTIFY) | FLAG(QUIET) | FLAG(ON_EXIT) | FLAG(JSON) | FLAG(RECORD_EXEC))
#define FLAGS_MODES                                                                                          \
    (FLAG(FRESH_HOME) | FLAG(READ_ONLY) | FLAG(NESTED) | FLAG(FULL_ACCESS) | FLAG(I_KNOW) | FLAG(DEGRADE) |  \
     FLAG(REVIEW) | FLAG(DISCARD) | FLAG(REVIEW_ALL) | FLAG(AGENT))

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
    const struct verb_entry *verbs; /* all of them, ended by one without a name */
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
