#include "home/home.h"

#include <string.h>

#include "base/buf.h"
#include "base/path.h"
#include "git/config.h"
#include "home/sift_parts.h"
#include "policy/decide.h"

enum { CONFIG_LARGEST = 256 * 1024, MOST_ALIASES = 200 };

/*
 * .git/config is frozen, so git must not write to it by itself. ssh must not ask if nobody can answer; this is not an
 * environment variable, so that a repository's core.sshCommand still counts.
 */
static const char always[] = "[push]\n\tdefault = current\n"
                             "[branch]\n\tautoSetupMerge = false\n\tautoSetupRebase = never\n"
                             "[core]\n\tsshCommand = ssh -o BatchMode=yes\n";

/* Settings to pass on: section and name. */
struct taken {
    const char *name, *email, *default_branch, *line_ends;
    struct buf aliases, system;
    size_t alias_count;
};

/*
 * More settings pass from the machine's file: containers and corporate machines need safe.directory, the LFS filter, a
 * certificate authority.
 */
static const char *const of_system[] = {"safe.*",
                                        "filter.*",
                                        "diff.*",
                                        "merge.*",
                                        "color.*",
                                        "protocol.*",
                                        "advice.*",
                                        "column.*",
                                        "commit.*",
                                        "feature.*",
                                        "fetch.*",
                                        "gc.*",
                                        "index.*",
                                        "init.*",
                                        "log.*",
                                        "pack.*",
                                        "pull.*",
                                        "rebase.*",
                                        "status.*",
                                        "tag.*",
                                        "user.*",
                                        "submodule.recurse",
                                        "http.sslcainfo",
                                        "http.sslcapath",
                                        "http.sslverify",
                                        "http.postbuffer",
                                        "core.autocrlf",
                                        "core.eol",
                                        "core.filemode",
                                        "core.pager",
                                        "core.editor",
                                        "core.excludesfile",
                                        "core.attributesfile",
                                        "core.quotepath",
                                        NULL};

/* An alias of a git command. An alias that begins with '!' runs a shell and does not pass. */
static void take_alias(struct taken *taken, const struct git_setting *setting)
{
    if (*setting->subsection || setting->value[strspn(setting->value, " \t")] == '!' ||
        taken->alias_count++ >= MOST_ALIASES)
        return;
    git_config_add(&taken->aliases, setting->name, setting->value);
}

static void take(void *context, const struct git_setting *setting)
{
    struct taken *taken = context;
    const struct {
        const char *section, *name, **value;
    } wanted[] = {{"user", "name", &taken->name},
                  {"user", "email", &taken->email},
                  {"init", "defaultbranch", &taken->default_branch},
                  {"core", "autocrlf", &taken->line_ends}};
    for (size_t i = 0; i < array_len(wanted); i++) {
        if (setting->value && !*setting->subsection && strcmp(setting->section, wanted[i].section) == 0 &&
            strcmp(setting->name, wanted[i].name) == 0)
            *wanted[i].value = setting->value;
    }
    if (setting->value && strcmp(setting->section, "alias") == 0)
        take_alias(taken, setting);
}

static void take_of_system(void *context, const struct git_setting *setting)
{
    struct taken *taken = context;
    auto_buf struct buf full = {0};
    const char *subsection = setting->subsection;
    if (setting->value && strcmp(setting->section, "alias") == 0)
        take_alias(taken, setting);
    buf_printf(&full, "%s%s%s.%s", setting->section, *subsection ? "." : "", subsection, setting->name);
    if (!sift_is_listed(of_system, (struct bytes){full.bytes, full.size}) || strchr(subsection, '"') ||
        !sift_is_plain_name((struct bytes){full.bytes, full.size}))
        return;
    buf_printf(&taken->system, *subsection ? "[%s \"%s\"]\n" : "[%s%s]\n", setting->section, subsection);
    git_config_add(&taken->system, setting->name, setting->value ? setting->value : "true");
}

/* A hidden file is not read here either. */
static bool is_hidden(const struct policy *policy, const char *path)
{
    const struct placed *decides = decide_path(policy, path, NULL).decides;
    return decides && (decides->rule->verb == VERB_HIDE || decides->rule->verb == VERB_SEAL);
}

static void take_from(const struct policy *policy, const char *path, git_setting_found *found,
                      struct taken *taken)
{
    const struct fs_place *place = NULL;
    struct err ignored;
    char *text = NULL;
    size_t size = 0;
    if (is_hidden(policy, path) || fs_resolve(policy->request.fs, path, &place, &ignored) < 0 ||
        is_hidden(policy, place->real) ||
        fs_read(policy->request.fs, place->real, CONFIG_LARGEST, &text, &size, &ignored) <= 0)
        return;
    if (git_config_read(policy->arena, text, size, found, taken) < 0)
        return; /* git outside reports the mistake */
}

static void add_if_set(struct buf *out, const char *section, const char *name, const char *value)
{
    if (!value)
        return;
    buf_printf(out, "[%s]\n", section);
    git_config_add(out, name, value);
}

/* Addresses of ssh lead to https, where the token is added. */
static void add_https(const struct plan *plan, const struct forge_object *forge, struct buf *out)
{
    struct arena *arena = plan->policy->arena;
    const char *const addresses[] = {
        arena_printf(arena, "%s@%s:%s.git", forge->user, forge->host, forge->path),
        arena_printf(arena, "ssh://%s@%s/%s.git", forge->user, forge->host, forge->path)};
    buf_printf(out, "[url \"https://%s/%s.git\"]\n", host_with_port(arena, forge->host, forge->port),
               forge->path);
    for (size_t i = 0; i < array_len(addresses); i++)
        git_config_add(out, forge->may_fetch ? "insteadOf" : "pushInsteadOf", addresses[i]);
}

/* Who wrote the address of a repository with https reaches it by ssh if the rule has no token for it, and the other way round. */
static void add_forges(const struct plan *plan, struct buf *out)
{
    struct arena *arena = plan->policy->arena;
    vec_each (const struct operation, operation, &plan->operations) {
        if (operation->kind != OP_FORGE)
            continue;
        const struct forge_object *forge = operation->because->forge;
        if (forge->token) {
            add_https(plan, forge, out);
            continue;
        }
        buf_printf(out, "[url \"ssh://%s@%s/%s.git\"]\n", forge->user,
                   host_with_port(arena, forge->host, forge->port), forge->path);
        git_config_add(out, forge->may_fetch ? "insteadOf" : "pushInsteadOf",
                       arena_printf(arena, "https://%s/%s.git", forge->host, forge->path));
    }
}

const char *git_settings(const struct plan *plan)
{
    const struct policy *policy = plan->policy;
    static const char system[] = "/etc/gitconfig";
    struct taken taken = {0};
    if (decide_path(policy, system, NULL).access != ACCESS_NONE)
        take_from(policy, system, take_of_system, &taken);
    take_from(policy, path_join(policy->arena, policy->request.starts[START_CONFIG], "git/config"), take,
              &taken);
    take_from(policy, path_join(policy->arena, policy->request.home, ".gitconfig"), take, &taken);
    auto_buf struct buf out = {0};
    buf_add(&out, taken.system.bytes, taken.system.size);
    buf_add_str(&out, always);
    add_if_set(&out, "user", "name", taken.name);
    add_if_set(&out, "user", "email", taken.email);
    add_if_set(&out, "init", "defaultBranch", taken.default_branch);
    add_if_set(&out, "core", "autocrlf", taken.line_ends);
    if (taken.aliases.size)
        buf_printf(&out, "[alias]\n%s", buf_text(&taken.aliases));
    add_forges(plan, &out);
    buf_free(&taken.aliases);
    buf_free(&taken.system);
    return arena_copy(policy->arena, out.bytes, out.size);
}
