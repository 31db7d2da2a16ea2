/*
 * Rules: each has a verb, an object and the place where it was written.
 *
 * The lists below are the one source for verbs, layers and limits.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/names.h"
#include "base/vec.h"
#include "policy/host.h"

/* The kind of object that a verb takes; it selects the member of struct rule. */
enum object_kind {
    OBJECT_PATH,
    OBJECT_HOST,
    OBJECT_ENV,
    OBJECT_LIMIT,
    OBJECT_NET,
    OBJECT_PORT,
    OBJECT_NAME, /* of a profile, a command or a file */
    OBJECT_TEXT,
    OBJECT_SECRET, /* all words of the line together */
    OBJECT_FORGE,  /* likewise */
    OBJECT_SSH_KEY,
};

/*    verb        word         object        what the words after it are called */
#define VERBS(X)                                                                                             \
    X(VERB_USE, "use", OBJECT_NAME, "NAME")                                                                  \
    X(VERB_WORKSPACE, "workspace", OBJECT_PATH, "DIR")                                                       \
    X(VERB_READ, "read", OBJECT_PATH, "PATH")                                                                \
    X(VERB_WRITE, "write", OBJECT_PATH, "PATH")                                                              \
    X(VERB_HIDE, "hide", OBJECT_PATH, "PATH")                                                                \
    X(VERB_SEAL, "seal", OBJECT_PATH, "PATH")                                                                \
    X(VERB_FREEZE, "freeze", OBJECT_PATH, "PATH")                                                            \
    X(VERB_FLAG, "flag", OBJECT_PATH, "PATH")                                                                \
    X(VERB_COPY, "copy", OBJECT_PATH, "PATH")                                                                \
    X(VERB_SEED, "seed", OBJECT_PATH, "DIR")                                                                 \
    X(VERB_SIFT, "sift", OBJECT_PATH, "FILE")                                                                \
    X(VERB_SYNC, "sync", OBJECT_PATH, "FILE")                                                                \
    X(VERB_SOCKET, "socket", OBJECT_PATH, "PATH")                                                            \
    X(VERB_CONNECT, "connect", OBJECT_HOST, "HOST[:PORT]")                                                   \
    X(VERB_REFUSE, "refuse", OBJECT_HOST, "HOST[:PORT]")                                                     \
    X(VERB_NET, "net", OBJECT_NET, "off|allow|open")                                                         \
    X(VERB_PUBLISH, "publish", OBJECT_PORT, "[HOSTPORT:]PORT")                                               \
    X(VERB_HOST_PORT, "host-port", OBJECT_PORT, "PORT")                                                      \
    X(VERB_ENV, "env", OBJECT_ENV, "NAME[=VALUE]")                                                           \
    X(VERB_UNSET, "unset", OBJECT_ENV, "NAME")                                                               \
    X(VERB_SECRET, "secret", OBJECT_SECRET, "NAME [from SOURCE] to HOST… [in PLACE…]")                       \
    X(VERB_SECRETS, "secrets", OBJECT_NAME, "outside|inside")                                                \
    X(VERB_LEAK, "leak", OBJECT_NAME, "warn|block|off [plain]")                                              \
    X(VERB_FORGE, "forge", OBJECT_FORGE, "HOST/OWNER/REPO RIGHT… [token from SOURCE]")                       \
    X(VERB_SSH_KEY, "ssh-key", OBJECT_SSH_KEY, "KEY to HOST… [times N] [ask]")                               \
    X(VERB_LIMIT, "limit", OBJECT_LIMIT, "NAME=VALUE")                                                       \
    X(VERB_ARTIFACTS, "artifacts", OBJECT_NAME, "NAME")                                                      \
    X(VERB_REQUIRE, "require", OBJECT_NAME, "namespaces")                                                    \
    X(VERB_GUARD, "guard", OBJECT_TEXT, "ask|refuse CMD")                                                    \
    X(VERB_MCP, "mcp", OBJECT_NAME, "on|off")                                                                \
    X(VERB_ASK, "ask", OBJECT_NAME, "on|off")                                                                \
    X(VERB_ASK_BY, "ask-by", OBJECT_NAME, "WAY")                                                             \
    X(VERB_ASK_COMMAND, "ask-command", OBJECT_TEXT, "COMMAND")                                               \
    X(VERB_ARGUMENT, "argument", OBJECT_TEXT, "WORD")                                                        \
    X(VERB_LOGIN, "login", OBJECT_TEXT, "WORD")                                                              \
    X(VERB_BROWSE, "browse", OBJECT_TEXT, "HOST")                                                            \
    X(VERB_MATCH, "match", OBJECT_NAME, "CMD")                                                               \
    X(VERB_DETECT, "detect", OBJECT_NAME, "NAME")                                                            \
    X(VERB_ABOUT, "about", OBJECT_TEXT, "TEXT")

enum verb { VERB_NONE, VERBS(ID_OF) VERB_COUNT };

/* Verbs that only a profile may use, about itself. They have no flag. */
bool verb_is_of_profiles(enum verb verb);
/* Verbs that only the user's own file and the administrator's may use, about bawn itself. They have no flag. */
bool verb_is_setting(enum verb verb);
const char *verb_word(enum verb verb);
const char *verb_placeholder(enum verb verb);
enum object_kind verb_object(enum verb verb);
enum verb verb_from_word(const char *word); /* VERB_NONE also for "lock", which precedes a verb */
const char *verb_closest(const char *word); /* of all words that may begin a line; NULL: none is similar */

/* Weakest first. */
#define LAYERS(X)                                                                                            \
    X(LAYER_BASE, "base")                                                                                    \
    X(LAYER_PROFILE, "profile")                                                                              \
    X(LAYER_AGENT, "agent")                                                                                  \
    X(LAYER_ADMIN, "administrator")                                                                          \
    X(LAYER_REPOSITORY, "repository")                                                                        \
    X(LAYER_USER, "user")                                                                                    \
    X(LAYER_COMMAND_LINE, "command line")

enum layer { LAYERS(ID_OF) LAYER_COUNT };

const char *layer_name(enum layer value);

struct builtin_profile;

/* A text with rules. */
struct source {
    const char *name; /* for messages: a path, "base.bawn", "command line" */
    const char *text;
    size_t size;
    const struct builtin_profile *builtin; /* the compiled-in profile, or NULL */
    enum layer layer;
    enum layer asked_by; /* the layer whose file led here, by `use` or directly */
    bool is_profile;
    bool without_network; /* a toolchain found only on PATH: visible, but no host is allowed for it */
    bool may_lose;        /* walls that cannot hold its rules do without them */
    bool only_tightens;   /* from an untrusted repository, directly or by `use` */
    size_t workspace;     /* index of the repository's workspace */
    const char *start;    /* relative paths start here; NULL: at the current directory */
    bool all_workspaces;  /* relative paths start at each workspace */
};

/* Where a path starts. */
#define PATH_STARTS(X)                                                                                       \
    X(START_HOME, "HOME")                                                                                    \
    X(START_CONFIG, "XDG_CONFIG_HOME")                                                                       \
    X(START_DATA, "XDG_DATA_HOME")                                                                           \
    X(START_STATE, "XDG_STATE_HOME")                                                                         \
    X(START_CACHE, "XDG_CACHE_HOME")                                                                         \
    X(START_RUNTIME, "XDG_RUNTIME_DIR")                                                                      \
    X(START_CLAUDE, "CLAUDE_CONFIG_DIR")                                                                     \
    X(START_CLAUDE_STATE,                                                                                    \
      "CLAUDE_STATE_DIR") /* where .claude.json lies: the home if no CLAUDE_CONFIG_DIR */                    \
    X(START_GIT, "GIT")                                                                                      \
    X(START_GITLINK, "GITLINK")

enum path_start { START_ROOT, START_RELATIVE, PATH_STARTS(ID_OF) START_COUNT };

/* The variable of the start, without $: "HOME". */
const char *path_start_variable(enum path_start start);

struct path_object {
    enum path_start start;
    const char *pattern; /* the rest of the path, without a leading '/'; with backslashes and $SLUG */
    bool has_wildcard;
    bool is_directory; /* written with a trailing '/' */
    bool is_link;      /* the link at the path is meant, and not what it leads to */
};

struct env_object {
    const char *name;  /* may be a pattern */
    const char *value; /* NULL: pass the caller's; else quoted like a path pattern */
    bool is_default;   /* use the value only if the caller has none: NAME?=VALUE */
};

#define LIMITS(X)                                                                                            \
    X(LIMIT_MEMORY, "memory", "8G")                                                                          \
    X(LIMIT_PIDS, "pids", "4096")                                                                            \
    X(LIMIT_FILES, "files", "4096")                                                                          \
    X(LIMIT_TIME, "time", "8h")                                                                              \
    X(LIMIT_DISK, "disk", "10G")                                                                             \
    X(LIMIT_RATE, "rate", "10")                                                                              \
    X(LIMIT_SNAPSHOT, "snapshot", "2G")                                                                      \
    X(LIMIT_JOURNALS, "journals", "256M")

enum limit { LIMITS(ID_OF) LIMIT_COUNT };

const char *limit_name(enum limit value);
bool limit_is_size(enum limit limit); /* in bytes */

struct limit_object {
    enum limit limit;
    uint64_t most;  /* bytes, a count, or seconds; UINT64_MAX for "none" */
    unsigned share; /* percent of the machine's memory; index_rules computes `most`. 0: none */
};

#define NET_MODES(X)                                                                                         \
    X(NET_OFF, "off")                                                                                        \
    X(NET_ALLOW, "allow")                                                                                    \
    X(NET_OPEN, "open")

enum net_mode { NET_MODES(ID_OF) NET_COUNT };

const char *net_mode_name(enum net_mode value);

struct port_object {
    uint16_t host, inside; /* equal for `host-port` */
};

/* Where the value of a secret is read, outside, when it is first needed. */
enum secret_source {
    SECRET_ENVIRONMENT, /* the caller's variable `from`; NULL: the one of the secret's name */
    SECRET_FILE,        /* `from` is a path, `key` a place in it or NULL */
    SECRET_COMMAND,     /* `from` is a command for /bin/sh */
    SECRET_KEYRING,     /* `from` is the attributes for secret-tool, with spaces between them */
    SECRET_CREDENTIAL,  /* `from` is a name in $CREDENTIALS_DIRECTORY */
    SECRET_LOGIN, /* `from` is an agent's login file, whose tokens stay outside; `key` an entry of it, or NULL: all */
};

/* What ends a rule for a secret: a variable that is set inside, or a text in a file of the host's or in the command. */
struct secret_unless {
    const char *text; /* the variable's name, or what is searched for */
    const char *file; /* NULL: none */
    bool in_command;
};

/* The part of a request in which a placeholder becomes the secret. */
#define SECRET_CARRIERS(X)                                                                                   \
    X(CARRIER_HEADERS, "headers") /* the usual headers for credentials */                                    \
    X(CARRIER_HEADER, "header")   /* `name`: of one header */                                                \
    X(CARRIER_QUERY, "query")     /* `name`: of a parameter in the query, whose whole value it is */         \
    X(CARRIER_PATH, "path")                                                                                  \
    X(CARRIER_BODY, "body") /* the content */

enum carrier { SECRET_CARRIERS(ID_OF) CARRIER_COUNT };

const char *carrier_name(enum carrier value);

struct secret_carrier {
    enum carrier kind;
    const char *name; /* NULL: none */
};

/* Where a login is refreshed: the one request that its refresh token goes into. */
struct secret_endpoint {
    struct host_object host; /* a name, with its port */
    const char *path;
};

struct secret_object {
    const char *
        name; /* the variable that holds a placeholder inside; of a login "FILE" or "FILE:ENTRY", as written */
    enum secret_source source;
    const char *from, *key;
    const struct host_object *hosts; /* names and wildcards, each with its port */
    size_t host_count;
    const struct secret_endpoint *endpoints;
    size_t endpoint_count; /* 0: it is not refreshed from inside */
    const struct secret_carrier *carriers;
    size_t carrier_count; /* 0: CARRIER_HEADERS */
    const struct secret_unless *unless;
    size_t unless_count;
};

/* A repository on a server, and what git may do there with credentials that stay outside. */
struct forge_object {
    const char *user; /* for ssh, or of the token */
    const char *host; /* a name */
    uint16_t port;    /* 0: as ssh's configuration says, or that of https */
    const char *path; /* "acme/app", without ".git" */
    bool may_fetch, may_force, may_delete, may_send_options;
    const char *const *refs;           /* patterns of the refs that may be pushed to */
    size_t ref_count;                  /* 0: nothing may be pushed */
    const struct secret_object *token; /* for https; NULL: git reaches it by ssh */
};

/* What the fingerprint of a key begins with. */
#define SSH_KEY_FINGERPRINT "SHA256:"

/* A key in the user's ssh agent, and the hosts at which programs inside may log in with it. */
struct ssh_key_object {
    const char *key; /* the path of its public part, or its fingerprint */
    bool is_fingerprint;
    const struct host_object *hosts; /* names and addresses, each with its port */
    size_t host_count;
    uint32_t times; /* signatures in a run; 0: any number */
    bool asks;      /* a person is asked about each use */
};

struct placed;
struct request_object; /* policy/request.h */

struct rule {
    enum verb verb;
    bool locked;
    const struct source *source;
    uint32_t line, column;
    const char *written;         /* the object as written, for messages */
    const char *unless;          /* "workspace", the name of a profile, or NULL */
    const char *lifted;          /* of a secret: why an `unless` ends the rule here, or NULL */
    const char *by;              /* of a flag: the program that obeys the file, or NULL */
    const char *cause;           /* what of git's leads to the path of a rule that bawn made, or NULL */
    const struct placed *places; /* the places of a path rule */
    const struct request_object *request; /* of a rule on a host: the requests that it is about; NULL: all */
    union {
        struct path_object path;
        struct host_object host;
        struct env_object env;
        struct limit_object limit;
        struct port_object port;
        enum net_mode net;
        const struct secret_object *secret;
        const struct forge_object *forge;
        const struct ssh_key_object *ssh_key;
        const char *text; /* OBJECT_NAME and OBJECT_TEXT; of a guard see policy/guards.h */
    };
};

typedef VEC(struct rule) rule_list;
