#include "git/config.h"

#include <string.h>

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
                               .value = arena_str(arena, setting->value ? setting->value : "")};
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

const char *git_setting_name(struct arena *arena, const struct git_setting *setting)
{
    return *setting->subsection
               ? arena_printf(arena, "%s.%s.%s", setting->section, setting->subsection, setting->name)
               : arena_printf(arena, "%s.%s", setting->section, setting->name);
}

/* Any key where it says "*". From git's own documentation of its configuration. */
static const struct {
    const char *section, *key;
} running[] = {
    {"core", "fsmonitor"},
    {"core", "hookspath"},
    {"core", "sshcommand"},
    {"core", "pager"},
    {"core", "editor"},
    {"core", "askpass"},
    {"core", "gitproxy"},
    {"core", "worktree"},
    {"core", "attributesfile"},
    {"core", "alternaterefscommand"},
    {"sequence", "editor"},
    {"pager", "*"},
    {"alias", "*"},
    {"filter", "*"},
    {"diff", "command"},
    {"diff", "textconv"},
    {"diff", "external"},
    {"merge", "driver"},
    {"mergetool", "*"},
    {"difftool", "*"},
    {"credential", "helper"},
    {"gpg", "program"},
    {"gpg", "defaultkeycommand"},
    {"include", "*"},
    {"includeif", "*"},
    {"uploadpack", "packobjectshook"},
    {"remote", "uploadpack"},
    {"remote", "receivepack"},
    {"remote", "vcs"},
    {"remote", "proxy"},
    {"url", "*"},
    {"protocol", "*"},
    {"submodule", "update"},
    {"interactive", "difffilter"},
    {"trailer", "*"},
    {"man", "*"},
    {"browser", "*"},
    {"web", "browser"},
    {"instaweb", "*"},
    {"imap", "tunnel"},
    {"sendemail", "*"},
    {"init", "templatedir"},
    {"extensions", "*"},
    {"http", "*"},
    {"hook", "*"},
    {"guitool", "*"},
    {"blame", "ignorerevsfile"},
    {"tar", "*"},
    {"receive", "*"},
    {"maintenance", "*"},
    {"safe", "*"},
    {"lfs", "path"}, /* of customtransfer.NAME; the next two of extension.NAME */
    {"lfs", "clean"},
    {"lfs", "smudge"},
    {"lfs", "standalonetransferagent"},
    {"lfs", "url"},
    {"lfs", "pushurl"},
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

bool git_setting_runs(const struct git_setting *setting)
{
    for (size_t i = 0; i < array_len(running); i++) {
        if (strcmp(setting->section, running[i].section) == 0 &&
            (running[i].key[0] == '*' || strcmp(setting->name, running[i].key) == 0))
            return true;
    }
    return is_called_a_program(setting->name);
}

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
