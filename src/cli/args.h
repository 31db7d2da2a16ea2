/*
 * The parsed command line. The command begins at the first word that is not bawn's. `--` ends bawn's part
 * explicitly, for a program that has the name of a verb.
 */
#pragma once

#include "base/vec.h"
#include "cli/world.h"
#include "session/load.h"

/*
 * All flags except the rules of the policy language. PLAIN(ID, NAME, SHORT) has no value. VALUED(ID, NAME, FIELD,
 * WANTED, MAY_LACK) stores its value in that field of struct args; MAY_LACK makes the value optional. SET(ID) is
 * set by another flag.
 */
#define FLAGS(PLAIN, VALUED, SET)                                                                            \
    PLAIN(HELP, "--help", "-h")                                                                              \
    PLAIN(JSON, "--json", NULL)                                                                              \
    PLAIN(QUIET, "--quiet", NULL)                                                                            \
    PLAIN(FOLLOW, "--follow", NULL)                                                                          \
    PLAIN(RECORD_EXEC, "--log-exec", NULL)                                                                   \
    PLAIN(LOG_NET, "--net", NULL) /* a rule for other verbs */                                               \
    PLAIN(LOG_FILES, "--files", NULL)                                                                        \
    PLAIN(LOG_EXEC, "--exec", NULL)                                                                          \
    PLAIN(LOG_ASKED, "--asked", NULL)                                                                        \
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
    PLAIN(DEGRADE, "--degrade", NULL) /* with the names of walls */                                          \
    PLAIN(FRESH_HOME, "--fresh-home", NULL)                                                                  \
    PLAIN(KEEP, "--keep", NULL)                                                                              \
    PLAIN(KEEP_FLAGGED, "--keep-flagged", NULL)                                                              \
    PLAIN(ALWAYS, "--always", NULL)                                                                          \
    PLAIN(SESSION, "--session", NULL)                                                                        \
    PLAIN(ONCE, "--once", NULL)                                                                              \
    PLAIN(VERIFY, "--verify", NULL)                                                                          \
    PLAIN(DENIED, "--denied", NULL)                                                                          \
    PLAIN(PRUNE, "--prune", NULL)                                                                            \
    PLAIN(REPAIR, "--repair", NULL)                                                                          \
    PLAIN(LIST, "--list", NULL)                                                                              \
    PLAIN(THEIRS, "--theirs", "--force") /* overwrites files that the user has changed since */              \
    PLAIN(OURS, "--ours", NULL)                                                                              \
    PLAIN(MERGE, "--merge", NULL)                                                                            \
    PLAIN(MARKERS, "--markers", NULL)                                                                        \
    PLAIN(PATCH, "--patch", "-p")                                                                            \
    PLAIN(REVIEW, "--review", NULL)                                                                          \
    PLAIN(DISCARD, "--discard", NULL)                                                                        \
    PLAIN(STAT, "--stat", NULL)                                                                              \
    PLAIN(NAME_ONLY, "--name-only", NULL)                                                                    \
    PLAIN(ALLOW_RISKY, "--allow-risky", NULL)                                                                \
    PLAIN(ASK, "--ask", NULL)                                                                                \
    PLAIN(STRICT, "--strict", NULL)                                                                          \
    PLAIN(GUIDE, "--guide", NULL)                                                                            \
    PLAIN(STORAGE, "--storage", NULL)                                                                        \
    VALUED(AGENT, "--agent", agent, "the name of an agent", false)                                           \
    VALUED(WALLS, "--walls", walls, "namespaces or landlock", false)                                         \
    VALUED(BRANCH, "--branch", branch, "the name of a branch", false)                                        \
    VALUED(NOTIFY, "--notify", notify, "a command", true)                                                    \
    VALUED(CHECKPOINT, "--checkpoint", checkpoint, "a length of time", false)                                \
    VALUED(TO, "--to", to, "a time or a format", false)                                                      \
    VALUED(FROM, "--from", from, "a format, a session or a file", false)                                     \
    VALUED(FOR, "--for", length, "a length of time", false)                                                  \
    VALUED(WRITE_TO, "--write", write_to, "user, repo or a file", false) /* a rule for other verbs */        \
    VALUED(SINCE, "--since", since, "a length of time", false)                                               \
    VALUED(REPORT, "--report", report, "a file", false)                                                      \
    VALUED(GREP, "--grep", grep, "a text", false)                                                            \
    VALUED(BECAUSE, "--because", because, "a text", false)                                                   \
    VALUED(WAIT, "--wait", wait, "a length of time", false)                                                  \
    VALUED(ON_EXIT, "--on-exit", on_exit, "a command", false)                                                \
    VALUED(SESSION_FILE, "--session-file", session_file, "a file", false)                                    \
    VALUED(ENGINE, "--engine", engine, "the name of an engine", false)                                       \
    VALUED(JOBS, "--jobs", jobs, "a number", false)                                                          \
    VALUED(OUT, "--out", out, "a folder", false)                                                             \
    SET(REVIEW_ALL) /* --review=all */                                                                       \
    SET(POLICY)     /* all rule flags: --read, --net … */

enum flag_number {
#define PLAIN(id, name, other)                    FLAG_NUMBER_##id,
#define VALUED(id, name, field, wanted, may_lack) FLAG_NUMBER_##id,
#define SET(id)                                   FLAG_NUMBER_##id,
    FLAGS(PLAIN, VALUED, SET)
#undef PLAIN
#undef VALUED
#undef SET
};

/* A bit for each flag: FLAG(JSON) | FLAG(ALL). */
__extension__ typedef unsigned __int128 flag_set;
#define FLAG(id) ((flag_set)1 << FLAG_NUMBER_##id)

/* Flags about the report of a run, and the modes of a run. */
#define FLAGS_ENDING (FLAG(ASK) | FLAG(NOTIFY) | FLAG(QUIET) | FLAG(ON_EXIT) | FLAG(JSON) | FLAG(RECORD_EXEC))
#define FLAGS_MODES                                                                                          \
    (FLAG(FRESH_HOME) | FLAG(READ_ONLY) | FLAG(NESTED) | FLAG(FULL_ACCESS) | FLAG(I_KNOW) | FLAG(DEGRADE) |  \
     FLAG(REVIEW) | FLAG(DISCARD) | FLAG(REVIEW_ALL) | FLAG(AGENT) | FLAG(WALLS))

struct args;

/* Carries out a verb; returns the exit status. */
typedef int verb_function(const struct world *world, const struct args *args);

struct verb_entry {
    const char *name;
    verb_function *run;
    flag_set flags;      /* the flags it takes, beside --help */
    const char *words;   /* placeholder of its words; NULL: it takes none */
    bool repairs;        /* it deals with sessions: killed ones are repaired first */
    bool takes_command;  /* the remaining words are a command to run */
    bool passes_on;      /* the remaining words are another program's, flags too */
    const char *summary; /* for `bawn --help`; NULL: it is for programs inside, and not listed */
    const char *usage;   /* for `bawn VERB --help` */
};

struct args {
    const struct verb_entry *verbs; /* all verbs; the last entry has no name */
    const struct verb_entry *verb;
    bool verb_is_named; /* false: a command or nothing was given */
    flag_set flags;
    wall_set degraded;        /* --degrade */
    const char *walls;        /* --walls … */
    enum foundation on;       /* … as its value */
    const char *branch;       /* --branch */
    const char *notify;       /* --notify: a shell command; "": a desktop message */
    const char *agent;        /* --agent; NULL: found from the command */
    const char *on_exit;      /* --on-exit; NULL: none */
    const char *session_file; /* --session-file; NULL: none */
    const char *since, *grep, *report, *from;
    const char *length, *write_to;   /* --for and --write of `bawn learn` */
    const char *because, *wait;      /* of `bawn ask` */
    const char *engine, *jobs, *out; /* of `bawn fleet` */
    const char *checkpoint;          /* --checkpoint … */
    uint64_t checkpoint_seconds;     /* … in seconds; 0: none */
    const char *to;                  /* --to: a time of undo (NULL: the beginning), or a format of export */
    VEC(struct argument) rules;
    VEC(const char *) words;
    char **typed;               /* argv, ended by NULL */
    const char *const *command; /* ended by NULL; empty: no command */
};

/* Returns 0, or the exit status after saying what is wrong. */
int args_parse(const struct world *world, const struct verb_entry *verbs, int count, char **arguments,
               struct arena *arena, struct args *ret_args);

/* The request, as the engine needs it. */
struct run_request args_request(const struct args *args);

/* A request without flags: for the policy that applies here. */
struct run_request args_place(const struct args *args);

void args_free(struct args *args);
