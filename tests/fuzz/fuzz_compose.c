/*
 * Any bytes as a repository's .bawn that the user has not trusted, composed with the shipped policy and planned. What
 * must hold whatever the repository says: the plan grants nothing that it does not grant without that file.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "fuzz.h"
#include "plan/plan.h"
#include "policy/decide.h"
#include "policy/policy.h"

static int root_fd = -1; /* a small machine in a temporary folder, made once */
static char root_path[] = "/tmp/bawn-fuzz-XXXXXX";

static void remove_machine(void)
{
    static const char *const entries[] = {
        "home/u/app/.bawn",
        "home/u/app/.git/HEAD",
        "home/u/app/.git",
        "home/u/app/src",
        "home/u/app",
        "home/u/.ssh/id_rsa",
        "home/u/.ssh",
        "home/u/link",
        "home/u",
        "home",
        "usr",
        "",
    };
    for (size_t i = 0; i < array_len(entries); i++) {
        char path[128];
        snprintf(path, sizeof(path), "%s/%s", root_path, entries[i]);
        if (remove(path) < 0)
            perror(path);
    }
}

static void make_machine(void)
{
    static const char *const directories[] = {"usr",        "home",           "home/u",         "home/u/.ssh",
                                              "home/u/app", "home/u/app/src", "home/u/app/.git"};
    if (!mkdtemp(root_path))
        abort();
    root_fd = open(root_path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    for (size_t i = 0; i < array_len(directories); i++) {
        if (mkdirat(root_fd, directories[i], 0700) < 0)
            abort();
    }
    static const char *const files[] = {"home/u/.ssh/id_rsa", "home/u/app/.git/HEAD"};
    for (size_t i = 0; i < array_len(files); i++) {
        auto_fd int fd = openat(root_fd, files[i], O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
        if (fd < 0)
            abort();
    }
    if (symlinkat("/home/u/.ssh", root_fd, "home/u/link") < 0)
        abort();
    atexit(remove_machine);
}

static void write_repository_policy(const uint8_t *bytes, size_t size)
{
    auto_fd int fd = openat(root_fd, "home/u/app/.bawn", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0 || write(fd, bytes, size) != (ssize_t)size)
        abort();
}

struct machine {
    struct arena arena;
    struct fsview fs;
    struct diags diags;
    struct policy policy;
    struct plan plan;
};

static void compose(struct machine *machine)
{
    static const char *const environment[] = {"HOME=/home/u", "SECRET=x", NULL};
    *machine = (struct machine){0};
    machine->fs = (struct fsview){.root_fd = root_fd, .arena = &machine->arena};
    machine->diags.arena = &machine->arena;
    struct policy_request request = {
        .fs = &machine->fs,
        .home = "/home/u",
        .home_spelled = "/home/u",
        .directory = "/home/u/app",
        .starts = {[START_HOME] = "/home/u",
                   [START_CONFIG] = "/home/u/.config",
                   [START_DATA] = "/home/u/.local/share",
                   [START_STATE] = "/home/u/.local/state",
                   [START_CACHE] = "/home/u/.cache"},
        .command = (const char *const[]){"claude", NULL},
        .environment = environment,
    };
    policy_compose(&request, &machine->arena, &machine->policy, &machine->diags);
    if (machine->diags.errors == 0)
        plan_make(&machine->policy, &(struct plan_request){0}, &machine->plan);
}

static void dismantle(struct machine *machine)
{
    plan_free(&machine->plan);
    policy_free(&machine->policy);
    diags_free(&machine->diags);
    fs_free(&machine->fs);
    arena_free(&machine->arena);
}

/* Every place that an operation of the first names may get no more in the first than in the second. */
static void insist_on_no_more(const struct machine *with, const struct machine *without)
{
    for (size_t i = 0; i < with->plan.operations.count; i++) {
        const struct operation *operation = &with->plan.operations.at[i];
        if (operation->kind == OP_CONNECT || operation->kind == OP_PUBLISH ||
            operation->kind == OP_HOST_PORT || operation->kind == OP_ENV_PASS ||
            operation->kind == OP_ENV_SET) {
            if (operation->because->source->only_tightens)
                abort();
        }
        if (!operation->path || operation->is_pattern || operation->kind == OP_HOME ||
            operation->kind == OP_PRIVATE)
            continue;
        if (decide_path(&with->policy, operation->path, NULL).access >
            decide_path(&without->policy, operation->path, NULL).access)
            abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static struct machine without;
    if (root_fd < 0) {
        make_machine();
        write_repository_policy(bytes, 0);
    }
    if (without.policy.rules.count == 0)
        compose(&without);
    write_repository_policy(bytes, size);
    struct machine with;
    compose(&with);
    if (with.diags.errors == 0)
        insist_on_no_more(&with, &without);
    dismantle(&with);
    return 0;
}
