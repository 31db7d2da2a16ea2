#include "git/config.h"

#include <string.h>

#include "base/buf.h"
#include "base/text.h"

enum { LARGEST = 1024 * 1024, MOST_SETTINGS = 10000 };

struct collected {
    struct arena *arena;
    git_setting_list *settings;
};

static void collect(void *context, const struct git_setting *setting)
{
    const struct collected *collected = context;
    struct arena *arena = collected->arena;
    if (collected->settings->count > MOST_SETTINGS)
        return;
    struct git_setting kept = {.section = arena_str(arena, setting->section),
                               .subsection = arena_str(arena, setting->subsection),
                               .name = arena_str(arena, setting->name),
                               .value = arena_str(arena, setting->value ? setting->value : ""),
                               .at = setting->at,
                               .end = setting->end};
    vec_push(collected->settings, kept);
}

int git_setting_list_read(struct arena *arena, const char *text, size_t size, git_setting_list *ret_settings)
{
    git_setting_list settings = {0};
    struct collected collected = {arena, &settings};
    if (size > LARGEST || git_config_read(arena, text, size, collect, &collected) < 0 ||
        settings.count > MOST_SETTINGS) {
        vec_free(&settings);
        return -1;
    }
    *ret_settings = settings;
    return 0;
}

bool git_setting_list_has(const git_setting_list *settings, const struct git_setting *wanted)
{
    vec_each (const struct git_setting, setting, settings) {
        if (strcmp(setting->section, wanted->section) == 0 &&
            strcmp(setting->subsection, wanted->subsection) == 0 &&
            strcmp(setting->name, wanted->name) == 0 && strcmp(setting->value, wanted->value) == 0)
            return true;
    }
    return false;
}

void git_setting_list_cut(const git_setting_list *settings, const char *text, size_t size, struct buf *out)
{
    size_t done = 0;
    vec_each (const struct git_setting, setting, settings) {
        size_t at = setting->at, end = setting->end;
        while (at > done && (text[at - 1] == ' ' || text[at - 1] == '\t'))
            at--;
        bool is_alone = at == 0 || text[at - 1] == '\n';
        buf_add(out, text + done, (is_alone ? at : setting->at) - done);
        done = end + (is_alone && end < size);
    }
    buf_add(out, text + done, size - done);
}

void git_setting_list_copy(const git_setting_list *settings, const char *text, struct buf *out)
{
    vec_each (const struct git_setting, setting, settings) {
        buf_printf(out, "[%s", setting->section);
        for (const char *byte = setting->subsection; *byte; byte++) {
            buf_add_str(out, byte == setting->subsection ? " \"" : "");
            buf_add_str(out, *byte == '"' || *byte == '\\' ? "\\" : "");
            buf_add_char(out, *byte);
        }
        buf_add_str(out, *setting->subsection ? "\"]\n\t" : "]\n\t");
        buf_add(out, text + setting->at, setting->end - setting->at);
        buf_add_char(out, '\n');
    }
}

const char *git_setting_name(struct arena *arena, const struct git_setting *setting)
{
    return *setting->subsection
               ? arena_printf(arena, "%s.%s.%s", setting->section, setting->subsection, setting->name)
               : arena_printf(arena, "%s.%s", setting->section, setting->name);
}

/*
 * Any key where it says "*"; the first line that fits counts. From git's own documentation of its configuration. The values that are PLAIN
 * matter for what git does, and name no file of the tree: addresses, modes, names.
 */
static const struct {
    const char *section, *key;
    enum git_value value;
} running[] = {
    {"core", "fsmonitor", GIT_VALUE_COMMAND},
    {"core", "hookspath", GIT_VALUE_HOOKS},
    {"core", "sshcommand", GIT_VALUE_COMMAND},
    {"core", "pager", GIT_VALUE_COMMAND},
    {"core", "editor", GIT_VALUE_COMMAND},
    {"core", "askpass", GIT_VALUE_COMMAND},
    {"core", "gitproxy", GIT_VALUE_COMMAND},
    {"core", "worktree", GIT_VALUE_PLAIN},
    {"core", "attributesfile", GIT_VALUE_PATH},
    {"core", "alternaterefscommand", GIT_VALUE_COMMAND},
    {"sequence", "editor", GIT_VALUE_COMMAND},
    {"rebase", "instructionformat",
     GIT_VALUE_PLAIN}, /* "%n" begins a line of the list, "exec …" for example */
    {"pager", "*", GIT_VALUE_COMMAND},
    {"alias", "*", GIT_VALUE_COMMAND},
    {"filter", "*", GIT_VALUE_COMMAND},
    {"diff", "command", GIT_VALUE_COMMAND},
    {"diff", "textconv", GIT_VALUE_COMMAND},
    {"diff", "external", GIT_VALUE_COMMAND},
    {"merge", "driver", GIT_VALUE_COMMAND},
    {"mergetool", "*", GIT_VALUE_COMMAND},
    {"difftool", "*", GIT_VALUE_COMMAND},
    {"credential", "helper", GIT_VALUE_COMMAND},
    {"gpg", "program", GIT_VALUE_COMMAND},
    {"gpg", "defaultkeycommand", GIT_VALUE_COMMAND},
    {"include", "path", GIT_VALUE_INCLUDE},
    {"include", "*", GIT_VALUE_PLAIN},
    {"includeif", "path", GIT_VALUE_INCLUDE},
    {"includeif", "*", GIT_VALUE_PLAIN},
    {"uploadpack", "packobjectshook", GIT_VALUE_COMMAND},
    {"remote", "uploadpack", GIT_VALUE_COMMAND},
    {"remote", "receivepack", GIT_VALUE_COMMAND},
    {"remote", "vcs", GIT_VALUE_COMMAND},
    {"remote", "proxy", GIT_VALUE_PLAIN},
    {"remotes", "*", GIT_VALUE_PLAIN}, /* names that may be paths */
    {"url", "*", GIT_VALUE_PLAIN},
    {"protocol", "*", GIT_VALUE_PLAIN},
    {"submodule", "update", GIT_VALUE_COMMAND},
    {"interactive", "difffilter", GIT_VALUE_COMMAND},
    {"trailer", "*", GIT_VALUE_COMMAND},
    {"man", "*", GIT_VALUE_COMMAND},
    {"browser", "*", GIT_VALUE_COMMAND},
    {"web", "browser", GIT_VALUE_COMMAND},
    {"instaweb", "*", GIT_VALUE_COMMAND},
    {"imap", "tunnel", GIT_VALUE_COMMAND},
    {"sendemail", "*", GIT_VALUE_COMMAND},
    {"init", "templatedir", GIT_VALUE_PATH},
    {"extensions", "*", GIT_VALUE_PLAIN},
    {"http", "*", GIT_VALUE_PLAIN},
    {"hook", "*", GIT_VALUE_COMMAND},
    {"guitool", "*", GIT_VALUE_COMMAND},
    {"blame", "ignorerevsfile", GIT_VALUE_PLAIN},
    {"tar", "*", GIT_VALUE_COMMAND},
    {"receive", "*", GIT_VALUE_PLAIN},
    {"maintenance", "*", GIT_VALUE_PLAIN},
    {"safe", "*", GIT_VALUE_PLAIN},
    {"lfs", "path", GIT_VALUE_COMMAND}, /* of customtransfer.NAME; the next two of extension.NAME */
    {"lfs", "clean", GIT_VALUE_COMMAND},
    {"lfs", "smudge", GIT_VALUE_COMMAND},
    {"lfs", "standalonetransferagent", GIT_VALUE_PLAIN},
    {"lfs", "url", GIT_VALUE_PLAIN},
    {"lfs", "pushurl", GIT_VALUE_PLAIN},
};

/* Whatever is still to come, and what programs beside git read there, is mostly called what it is. */
static bool is_called_a_program(const char *name)
{
    static const char *const endings[] = {"command", "cmd", "program", "prog", "hook", "helper"};
    size_t size = strlen(name);
    for (size_t i = 0; i < array_len(endings); i++) {
        size_t ending = strlen(endings[i]);
        if (size >= ending && strcmp(name + size - ending, endings[i]) == 0)
            return true;
    }
    return false;
}

/* What the table says of a setting; NULL where it does not name it. */
static const enum git_value *value_in_table(const struct git_setting *setting)
{
    for (size_t i = 0; i < array_len(running); i++) {
        if (strcmp(setting->section, running[i].section) == 0 &&
            (running[i].key[0] == '*' || strcmp(setting->name, running[i].key) == 0))
            return &running[i].value;
    }
    return NULL;
}

bool git_setting_runs(const struct git_setting *setting)
{
    return value_in_table(setting) || is_called_a_program(setting->name);
}

static const char ext[] = "ext::";

/* The address of a remote, or the beginning that stands for one: "ext::COMMAND" is run. */
static const char *address_of(const struct git_setting *setting)
{
    if (strcmp(setting->section, "url") == 0)
        return setting->subsection;
    bool is_address = strcmp(setting->name, "url") == 0 || strcmp(setting->name, "pushurl") == 0;
    return strcmp(setting->section, "remote") == 0 && is_address ? setting->value : "";
}

const char *git_setting_command(const struct git_setting *setting)
{
    const char *address = address_of(setting);
    if (text_starts_with(address, ext))
        return address + strlen(ext);
    return setting->value + (*setting->value == '!');
}

enum git_value git_setting_value(const struct git_setting *setting)
{
    const enum git_value *value = value_in_table(setting);
    if (text_starts_with(address_of(setting), ext))
        return GIT_VALUE_COMMAND;
    return value ? *value : is_called_a_program(setting->name) ? GIT_VALUE_COMMAND : GIT_VALUE_PLAIN;
}

/* From git's own documentation of its hooks. */
const char *const git_hook_names[] = {"applypatch-msg",
                                      "pre-applypatch",
                                      "post-applypatch",
                                      "pre-commit",
                                      "pre-merge-commit",
                                      "prepare-commit-msg",
                                      "commit-msg",
                                      "post-commit",
                                      "pre-rebase",
                                      "post-checkout",
                                      "post-merge",
                                      "pre-push",
                                      "pre-receive",
                                      "update",
                                      "proc-receive",
                                      "post-receive",
                                      "post-update",
                                      "reference-transaction",
                                      "push-to-checkout",
                                      "pre-auto-gc",
                                      "post-rewrite",
                                      "sendemail-validate",
                                      "fsmonitor-watchman",
                                      "p4-changelist",
                                      "p4-prepare-changelist",
                                      "p4-post-changelist",
                                      "p4-pre-submit",
                                      "post-index-change",
                                      NULL};

bool git_todo_runs(const char *text)
{
    for (const char *line = text; *line;) {
        line += strspn(line, " \t");
        if (text_starts_with(line, "exec") || text_starts_with(line, "x ") || text_starts_with(line, "x\t"))
            return true;
        line += strcspn(line, "\n");
        line += *line == '\n';
    }
    return false;
}
