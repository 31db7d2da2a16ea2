/*
 * Landlock's rules from the operations of a plan. Landlock only adds rights: it hides a path below a visible one if every other entry of each
 * directory on the way has a rule of its own. That works where nothing can be made; the plan is refused otherwise (plan/bare.c). Only the first domain
 * has these: the second lies in it, so a rule for the whole tree is enough there.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "base/text.h"
#include "kernel/beneath.h"
#include "kernel/directories.h"
#include "kernel/landlock.h"
#include "launch/bare.h"

struct rules {
    struct root
        root; /* what mask_find() works on: the trees, opened by path, and what patterns hide in them */
    struct bare *bare;
    struct landlock outer; /* the first domain's; bare->inner is the second's */
    // cppcheck-suppress unusedStructMember ; vec_push uses it
    VEC(const char *) hidden;
    // cppcheck-suppress unusedStructMember ; vec_push uses it
    VEC(const char *) parents; /* that the second domain has a rule for */
};

/* Adds a rule to both domains. */
static int allow(const struct rules *rules, int fd, enum landlock_grant grant, struct err *err)
{
    return landlock_allow(&rules->outer, fd, grant, err) < 0
               ? -1
               : landlock_allow(&rules->bare->inner, fd, grant, err);
}

/* Opens a path of the plan, which has no link in it. */
static int open_place(const char *path, struct err *err)
{
    int fd = open_absolute(path, O_PATH);
    return fd < 0 ? err_sys(err, errno, "cannot open %s to allow it", path) : fd;
}

static bool is_hidden(const struct rules *rules, const char *path)
{
    for (size_t i = 0; i < rules->hidden.count; i++) {
        if (path_is_beneath(path, rules->hidden.at[i]))
            return true;
    }
    return false;
}

static bool holds_hidden(const struct rules *rules, const char *path)
{
    for (size_t i = 0; i < rules->hidden.count; i++) {
        if (path_is_beneath(rules->hidden.at[i], path))
            return true;
    }
    return false;
}

static int allow_around(struct rules *rules, int directory_fd, const char *path, struct err *err);

/* Allows one entry of a directory in which something is hidden. A link needs no rule: its target has one, or none. */
static int allow_entry(struct rules *rules, int parent_fd, const char *path, const char *name,
                       struct err *err)
{
    const char *full = path_join(&rules->root.arena, path, name);
    if (is_hidden(rules, full))
        return 0;
    auto_fd int fd = openat(parent_fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    struct stat status;
    if (fd < 0 || fstat(fd, &status) < 0)
        return errno_is_of_machine(errno) ? err_sys(err, errno, "cannot open %s to allow it", full) : 0;
    if (S_ISLNK(status.st_mode))
        return 0;
    return holds_hidden(rules, full) ? allow_around(rules, fd, full, err)
                                     : landlock_allow(&rules->outer, fd, LANDLOCK_SEE, err);
}

/* Allows a directory without the hidden paths in it. Their names can be listed. */
static int allow_around(struct rules *rules, int directory_fd, const char *path, struct err *err)
{
    if (landlock_allow(&rules->outer, directory_fd, LANDLOCK_LIST, err) < 0)
        return -1;
    auto_dir DIR *directory = directories_take(open_directory_at(directory_fd, "."));
    if (!directory)
        return errno_is_of_machine(errno) ? err_sys(err, errno, "cannot list %s", path) : 0;
    int result = 0, trouble = 0;
    for (const struct dirent *entry; result == 0 && (entry = directories_next(directory, &trouble));)
        result = allow_entry(rules, directory_fd, path, entry->d_name, err);
    return result == 0 && trouble ? err_sys(err, trouble, "cannot list %s", path) : result;
}

static int allow_open_tree(struct rules *rules, const char *path, int fd, enum landlock_grant grant,
                           struct err *err)
{
    if (!holds_hidden(rules, path))
        return allow(rules, fd, grant, err);
    if (grant == LANDLOCK_SEE)
        return landlock_allow(&rules->bare->inner, fd, grant, err) < 0 ? -1
                                                                       : allow_around(rules, fd, path, err);
    err_set(err, "walls without namespaces cannot hide a part of %s, which may be written", path);
    return err_hint(err, "grant less, or hide nothing in it");
}

static int allow_tree(struct rules *rules, const char *path, enum landlock_grant grant, struct err *err)
{
    if (is_hidden(rules, path))
        return 0;
    auto_fd int fd = open_place(path, err);
    return fd < 0 ? -1 : allow_open_tree(rules, path, fd, grant, err);
}

/*
 * Allows a tree that may only be read. A plan has dozens of files of one directory, mostly of /etc: the second domain has a rule for that directory, since the
 * first has one for each file. /dev is no such directory: there the second domain forbids what the first allows.
 */
static int allow_read(struct rules *rules, const char *path, int fd, struct err *err)
{
    const char *parent = path_parent(&rules->root.arena, path);
    if (is_hidden(rules, path))
        return 0;
    if (holds_hidden(rules, path) || strcmp(parent, "/") == 0 || path_is_beneath(parent, "/dev"))
        return allow_open_tree(rules, path, fd, LANDLOCK_SEE, err);
    if (landlock_allow(&rules->outer, fd, LANDLOCK_SEE, err) < 0)
        return -1;
    if (text_is_among(parent, rules->parents.at, rules->parents.count))
        return 0;
    vec_push(&rules->parents, parent);
    auto_fd int parent_fd = open_place(parent, err);
    return parent_fd < 0 ? -1 : landlock_allow(&rules->bare->inner, parent_fd, LANDLOCK_SEE, err);
}

/* The device that makes pseudo terminals; often it is a link to one in /dev/pts. Only the judge may open their other ends. */
static int allow_terminals(struct rules *rules, struct err *err)
{
    auto_fd int terminals = open_absolute("/dev/pts", O_PATH | O_DIRECTORY);
    rules->bare->master_fd = terminals < 0 ? -1 : open("/dev/ptmx", O_PATH | O_CLOEXEC);
    if (rules->bare->master_fd < 0)
        return 0;
    return allow(rules, rules->bare->master_fd, LANDLOCK_DEVICE, err) < 0
               ? -1
               : landlock_allow(&rules->outer, terminals, LANDLOCK_DEVICE, err);
}

/* Devices without an owner's data, and the caller's own terminal. Other terminals of the user stay closed. */
static int allow_devices(struct rules *rules, struct err *err)
{
    static const char *const devices[] = {"/dev/null",   "/dev/zero",    "/dev/full",
                                          "/dev/random", "/dev/urandom", "/dev/tty"};
    char terminal[64] = "";
    if (rules->root.launch->terminal_fd >= 0 &&
        ttyname_r(rules->root.launch->terminal_fd, terminal, sizeof(terminal)) != 0)
        *terminal = '\0';
    for (size_t i = 0; i <= array_len(devices); i++) {
        const char *path = i < array_len(devices) ? devices[i] : terminal;
        auto_fd int fd = *path ? open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC) : -1;
        if (fd >= 0 && allow(rules, fd, LANDLOCK_DEVICE, err) < 0)
            return -1;
    }
    return allow_terminals(rules, err);
}

/*
 * A sandbox with namespaces has files of its own in these places. Here programs see the host's resolvers, whichever they are asked by. The host's table of
 * names stays closed where names are looked up by rules: an address from it would have no name.
 */
static int allow_lookup(struct rules *rules, struct err *err)
{
    static const char *const files[] = {"/etc/resolv.conf", "/etc/hosts"};
    size_t count = ports_by_name(rules->root.launch->operations) ? 1 : array_len(files);
    for (size_t i = 0; i < count; i++) {
        auto_fd int fd = open(files[i], O_PATH | O_CLOEXEC);
        if (fd >= 0 && allow(rules, fd, LANDLOCK_SEE, err) < 0)
            return -1;
    }
    return 0;
}

static int allow_private(struct rules *rules, const char *path, struct err *err)
{
    if (strcmp(path, "/dev") == 0)
        return allow_devices(rules, err);
    /* Other processes' memory, variables and descriptors stay closed: Landlock asks whether they may be traced. */
    return strcmp(path, "/proc") == 0 ? allow_tree(rules, path, LANDLOCK_SEE, err) : 0;
}

static int allow_operation(struct rules *rules, size_t number, struct err *err)
{
    const struct operation *operation = &rules->root.launch->operations->at[number];
    const struct launch *launch = rules->root.launch;
    switch (operation->kind) {
    case OP_PRIVATE:
        return allow_private(rules, operation->path, err);
    case OP_HOME:
        return allow_tree(rules, launch->home, LANDLOCK_WRITE, err);
    case OP_BIND_READ:
        /* The host's settings of git may hold tokens; a file of the run's own has its place. */
        return strcmp(operation->path, "/etc/gitconfig") == 0
                   ? 0
                   : allow_read(rules, operation->path, rules->root.shown[number].tree, err);
    case OP_BIND_WRITE:
        if (operation->overlay)
            return err_set(err, "walls without namespaces cannot cover %s with an overlay", operation->path);
        return allow_tree(rules, operation->source ? operation->source : operation->path,
                          trees_has_device(operation) ? LANDLOCK_DEVICE : LANDLOCK_WRITE, err);
    default:
        return 0;
    }
}

/* Opens the trees that are shown, as mask_find() wants them, and lets it look for what patterns hide. */
static int find_hidden(struct rules *rules, struct err *err)
{
    struct root *root = &rules->root;
    const struct operations *operations = root->launch->operations;
    root->shown = arena_alloc(&root->arena, operations->count * sizeof(*root->shown));
    for (size_t i = 0; i < operations->count; i++)
        root->shown[i] = (struct shown){-1, -1};
    for (size_t i = 0; i < operations->count; i++) {
        const struct operation *operation = &operations->at[i];
        bool is_shown = operation->kind == OP_BIND_READ || operation->kind == OP_BIND_WRITE;
        if (is_shown && (root->shown[i].tree = open_place(operation->path, err)) < 0)
            return -1;
        if ((operation->kind == OP_HIDE && !operation->is_pattern) || trees_has_copy(root->launch, operation))
            vec_push(&rules->hidden, operation->kind == OP_HIDE ? operation->path : operation->source);
    }
    if (mask_find(root, err) < 0)
        return -1;
    for (size_t i = 0; i < root->masked.count; i++)
        vec_push(&rules->hidden, root->masked.at[i]);
    return 0;
}

static void rules_free(struct rules *rules)
{
    for (size_t i = 0; i < rules->root.launch->operations->count; i++)
        fd_close(rules->root.shown[i].tree);
    vec_free(&rules->hidden);
    vec_free(&rules->parents);
    vec_free(&rules->root.masked);
    vec_free(&rules->root.closed);
    arena_free(&rules->root.arena);
}

int bare_raise_files(struct bare *bare, struct err *err)
{
    int abi = landlock_abi();
    if (abi < LANDLOCK_ABI_WITH_MOVES) {
        err_set(err, "walls without namespaces need version %d of Landlock, and this kernel has %s%d",
                LANDLOCK_ABI_WITH_MOVES, abi ? "version " : "none: ", abi);
        return err_hint(err, "use Linux 5.19 or later, or a machine with namespaces (`bawn doctor`)");
    }
    struct rules rules = {.root = {.launch = bare->launch}, .bare = bare};
    int result = find_hidden(&rules, err);
    if (result == 0)
        result = landlock_begin(abi, LANDLOCK_FILES, &rules.outer, err);
    unsigned subjects = LANDLOCK_FILES | (ports_host_network(bare->launch->operations) ? 0U : LANDLOCK_TCP);
    if (result == 0)
        result = landlock_begin(abi, subjects, &bare->inner, err);
    for (size_t i = 0; result == 0 && i < bare->launch->operations->count; i++)
        result = allow_operation(&rules, i, err);
    if (result == 0)
        result = allow_lookup(&rules, err);
    if (result == 0 && bare->launch->scratch)
        result = allow_tree(&rules, bare->launch->scratch, LANDLOCK_WRITE, err);
    if (result == 0)
        result = landlock_enforce(&rules.outer, err);
    rules_free(&rules);
    return result;
}
