/* What the writers of formats share: the plan, the text that grows, and what is lost on the way. */
#pragma once

#include "translate/translate.h"

struct export
{
    const struct plan *plan;
    struct arena *arena;
    struct buf *out;
    struct translation *translation;
};

/* One writer for each format. It adds the text and reports losses. */
typedef void export_function(struct export *export);
export_function export_bwrap, export_claude, export_codex, export_docker, export_nono, export_seatbelt,
    export_srt, export_systemd;

void lose(struct export *export, enum lost_kind kind, const char *format, ...) printf_like(3, 4);

/* Reports one loss that concerns many objects: a sentence with the first few of them. No objects: no loss. */
typedef VEC(const char *) text_list;
void lose_each(struct export *export, enum lost_kind kind, const text_list *objects, const char *sentence);

/* The same for all operations of a kind, by their path or name. */
void lose_operations(struct export *export, enum lost_kind kind, enum operation_kind operations,
                     const char *sentence);

/* Is the operation on this path one of hiding? A path that is hidden and missing is a FREEZE in the plan. */
bool operation_hides(const struct operation *operation);

/*
 * Paths in shown trees that a rule hides and that do not exist here. A plan needs no operation for them, but the text may be used
 * when they exist, or on another machine.
 */
void export_hidden_missing(const struct export *export, text_list *ret_paths);

/* Can the command read what the operation shows at its path? */
bool operation_reads(const struct operation *operation);

/* Does the path lie in a writable tree? */
bool export_is_written(const struct export *export, const char *path);

/* Does the operation set a variable that is true outside bawn, too? BAWN=1 is not. */
bool operation_sets(const struct operation *operation);

enum net_mode export_net(const struct export *export);

/* Reports the connections of a format that knows no host names, and so gives no network, or all of it (`net open`). */
void lose_hosts(struct export *export);
void lose_ports(struct export *export);

/* The limit in force, or UINT64_MAX. */
uint64_t export_limit(const struct export *export, enum limit limit);
void lose_limit(struct export *export, enum limit limit);

/* Reports what no format but bawn's own has. */
void lose_what_is_bawns(struct export *export);

/* --- mounts.c: a sandbox made of mounts, for bwrap, docker and systemd --- */

enum mount_kind {
    MOUNT_EMPTY, /* an empty writable directory of the sandbox's own */
    MOUNT_READ,
    MOUNT_WRITE,
    MOUNT_HIDE, /* a file or a directory that must not be readable */
    MOUNT_LINK, /* `source` is its target */
};

struct mount {
    enum mount_kind kind;
    const char *path, *source;
    bool is_directory, make;
    size_t order;
};

typedef VEC(struct mount) mount_list;

/* In the order in which they must be made. Reports what mounts cannot express. */
void export_mounts(struct export *export, mount_list *ret_mounts);

/* The path that a link leads to, if it is shown there; NULL: it is not, or it leads elsewhere. */
const char *export_link_target(const struct export *export, const struct mount *mount);

/* The directories between a writable tree and what is covered in it; with_missing: or would be, if it existed. */
void export_anchors(const struct export *export, bool with_missing, text_list *ret_paths);

/* --- srt.c: also the inner part of Claude Code's settings --- */

struct json;
void srt_add_filesystem(struct export *export, struct json *json);
void srt_add_network(struct export *export, struct json *json);
