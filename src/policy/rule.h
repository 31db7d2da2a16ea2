/*
 * What a policy says: rules, each with its verb, its object and the place it was written at.
 *
 * The lists below are the one source for the verbs, layers and limits; parser, composition, plan and command line all
 * read them.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "policy/host.h"

/* Which kind of object a verb takes, and so which member of struct rule holds it. */
enum object_kind {
    OBJECT_PATH,
    OBJECT_HOST,
    OBJECT_ENV,
    OBJECT_LIMIT,
    OBJECT_NET,
    OBJECT_PORT,
    OBJECT_NAME, /* of a profile, a command or a file */
    OBJECT_TEXT,
};

/*    verb        word         object        what the words after it are called */
#define VERBS(X)                                                                                             \
    X(USE, "use", OBJECT_NAME, "NAME")                                                                       \
    X(WORKSPACE, "workspace", OBJECT_PATH, "DIR")                                                            \
    X(READ, "read", OBJECT_PATH, "PATH")                                                                     \
    X(WRITE, "write", OBJECT_PATH, "PATH")                                                                   \
    X(HIDE, "hide", OBJECT_PATH, "PATH")                                                                     \
    X(SEAL, "seal", OBJECT_PATH, "PATH")                                                                     \
    X(FREEZE, "freeze", OBJECT_PATH, "PATH")                                                                 \
    X(FLAG, "flag", OBJECT_PATH, "PATH")                                                                     \
    X(COPY, "copy", OBJECT_PATH, "PATH")                                                                     \
    X(SEED, "seed", OBJECT_PATH, "DIR")                                                                      \
    X(SIFT, "sift", OBJECT_PATH, "FILE")                                                                     \
    X(SYNC, "sync", OBJECT_PATH, "FILE")                                                                     \
    X(SOCKET, "socket", OBJECT_PATH, "PATH")                                                                 \
    X(CONNECT, "connect", OBJECT_HOST, "HOST[:PORT]")                                                        \
    X(REFUSE, "refuse", OBJECT_HOST, "HOST[:PORT]")                                                          \
    X(NET, "net", OBJECT_NET, "off|allow|open")                                                              \
    X(PUBLISH, "publish", OBJECT_PORT, "[HOSTPORT:]PORT")                                                    \
    X(HOST_PORT, "host-port", OBJECT_PORT, "PORT")                                                           \
    X(ENV, "env", OBJECT_ENV, "NAME[=VALUE]")                                                                \
    X(UNSET, "unset", OBJECT_ENV, "NAME")                                                                    \
    X(LIMIT, "limit", OBJECT_LIMIT, "NAME=VALUE")                                                            \
    X(ARTIFACTS, "artifacts", OBJECT_NAME, "NAME")                                                           \
    X(ARGUMENT, "argument", OBJECT_TEXT, "WORD")                                                             \
    X(LOGIN, "login", OBJECT_TEXT, "WORD")                                                                   \
    X(BROWSE, "browse", OBJECT_TEXT, "HOST")                                                                 \
    X(MATCH, "match", OBJECT_NAME, "CMD")                                                                    \
    X(DETECT, "detect", OBJECT_NAME, "NAME")                                                                 \
    X(ABOUT, "about", OBJECT_TEXT, "TEXT")

enum verb {
    VERB_NONE,
#define X(id, word, object, words_after) VERB_##id,
    VERBS(X)
#undef X
        VERB_COUNT
};

/* Those that only a profile says, of itself: no flag stands for them. */
bool verb_is_of_profiles(enum verb verb);
const char *verb_word(enum verb verb);
const char *verb_placeholder(enum verb verb);
enum object_kind verb_object(enum verb verb);
enum verb verb_from_word(const char *word); /* VERB_NONE for "lock" too: it stands before a verb */
const char *verb_closest(const char *word); /* of all words that may begin a line; NULL where none is near */

/* Weakest first. */
#define LAYERS(X)                                                                                            \
    X(BASE, "base")                                                                                          \
    X(PROFILE, "profile")                                                                                    \
    X(AGENT, "agent")                                                                                        \
    X(ADMIN, "administrator")                                                                                \
    X(REPOSITORY, "repository")                                                                              \
    X(USER, "user")                                                                                          \
    X(COMMAND_LINE, "command line")

enum layer {
#define X(id, name) LAYER_##id,
    LAYERS(X)
#undef X
        LAYER_COUNT
};

const char *layer_name(enum layer layer);

struct builtin_profile;

/* A text that rules come from. */
struct source {
    const char *name; /* as messages show it: a path, "base.bawn", "command line" */
    const char *text;
    size_t size;
    const struct builtin_profile *builtin; /* that it is, or NULL */
    enum layer layer;
    enum layer asked_by; /* the layer whose file led here, by `use` or directly */
    bool is_profile;
    bool
        without_network; /* a toolchain that is only on PATH: its tools are shown, no host is opened for them */
    bool only_tightens;  /* a repository's policy that the user has not trusted, and what it uses */
    size_t workspace;    /* which workspace's repository it is */
    const char *start;   /* where relative paths start; NULL: at the current directory */
    bool all_workspaces; /* relative paths start at each of them */
};

/* Where a path starts. */
#define PATH_STARTS(X)                                                                                       \
    X(HOME, "HOME")                                                                                          \
    X(CONFIG, "XDG_CONFIG_HOME")                                                                             \
    X(DATA, "XDG_DATA_HOME")                                                                                 \
    X(STATE, "XDG_STATE_HOME")                                                                               \
    X(CACHE, "XDG_CACHE_HOME")                                                                               \
    X(RUNTIME, "XDG_RUNTIME_DIR")                                                                            \
    X(GIT, "GIT")                                                                                            \
    X(GITLINK, "GITLINK")

enum path_start {
    START_ROOT,
    START_RELATIVE,
#define X(id, variable) START_##id,
    PATH_STARTS(X)
#undef X
        START_COUNT
};

/* The variable that names the start, without its $: "HOME". */
const char *path_start_variable(enum path_start start);

struct path_object {
    enum path_start start;
    const char
        *pattern; /* what follows the start, without a leading '/'; backslashes and $SLUG still in it */
    bool has_wildcard;
    bool is_directory; /* written with a trailing '/' */
};

struct env_object {
    const char *name;  /* may be a pattern */
    const char *value; /* NULL: pass the caller's; a pattern in the sense of `path_object` otherwise */
    bool is_default;   /* the value holds where the caller has none: NAME?=VALUE */
};

#define LIMITS(X)                                                                                            \
    X(MEMORY, "memory", "8G")                                                                                \
    X(PIDS, "pids", "4096")                                                                                  \
    X(FILES, "files", "4096")                                                                                \
    X(TIME, "time", "8h")                                                                                    \
    X(SNAPSHOT, "snapshot", "2G")                                                                            \
    X(JOURNALS, "journals", "256M")

enum limit {
#define X(id, name, example) LIMIT_##id,
    LIMITS(X)
#undef X
        LIMIT_COUNT
};

const char *limit_name(enum limit limit);
bool limit_is_size(enum limit limit); /* in bytes */

struct limit_object {
    enum limit limit;
    uint64_t most; /* bytes, a count, or seconds; UINT64_MAX for "none" */
    unsigned
        share; /* percent of the machine's memory; `most` is it in bytes, once the rule is indexed. 0: none */
};

#define NET_MODES(X)                                                                                         \
    X(OFF, "off")                                                                                            \
    X(ALLOW, "allow")                                                                                        \
    X(OPEN, "open")

enum net_mode {
#define X(id, name) NET_##id,
    NET_MODES(X)
#undef X
        NET_COUNT
};

const char *net_mode_name(enum net_mode mode);

struct port_object {
    uint16_t host, inside; /* equal for `host-port` */
};

struct placed;

struct rule {
    enum verb verb;
    bool locked;
    const struct source *source;
    uint32_t line, column;
    const char *written;         /* the object as it was written, for messages */
    const char *unless;          /* "workspace", the name of a profile, or NULL */
    const struct placed *places; /* where a path rule was placed, once it is */
    union {
        struct path_object path;
        struct host_object host;
        struct env_object env;
        struct limit_object limit;
        struct port_object port;
        enum net_mode net;
        const char *text; /* OBJECT_NAME and OBJECT_TEXT */
    };
};

typedef VEC(struct rule) rule_list;
