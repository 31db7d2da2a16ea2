/* Profiles of firejail: one directive on each line. */
#include <string.h>

#include "base/text.h"
#include "policy/parse.h"
#include "translate/import.h"

enum { ARGUMENT_LONGEST = 4096 };

/* The next line, without white space around it; NULL at the end. */
static const char *next_line(struct arena *arena, const char **at)
{
    if (!**at)
        return NULL;
    size_t size = strcspn(*at, "\n");
    const char *start = *at;
    *at += size + ((*at)[size] == '\n');
    while (size && strchr(" \t\r", start[size - 1]))
        size--;
    while (size && strchr(" \t", *start)) {
        start++;
        size--;
    }
    return arena_copy(arena, start, size);
}

/* What stands behind a directive, or NULL if the line has another one. */
static const char *behind(const char *line, const char *directive)
{
    size_t size = strlen(directive);
    return text_starts_with(line, directive) && line[size] == ' '
               ? line + size + 1 + strspn(line + size + 1, " \t")
               : NULL;
}

static void set_variable(struct import *import, const char *setting)
{
    size_t size = strcspn(setting, "=");
    if (setting[size])
        import_set(import, arena_copy(import->arena, setting, size), setting + size + 1);
    else
        import_left(import, LOST_GRANT, "it has no value");
}

static void net(struct import *import, const char *value)
{
    if (strcmp(value, "none") == 0)
        import_no_network(import);
    else
        import_left(import, LOST_OTHER, "bawn has a network of its own");
}

static void limit_files(struct import *import, const char *count)
{
    import_rule(import, VERB_LIMIT,
                arena_printf(import->arena, "files=%s", word_quote(import->arena, count, false)));
}

static void limit_pids(struct import *import, const char *count)
{
    import_rule(import, VERB_LIMIT,
                arena_printf(import->arena, "pids=%s", word_quote(import->arena, count, false)));
}

static void include(struct import *import, const char *name)
{
    (void)name;
    import_left(import, LOST_REFUSAL, "import that file, too");
}

static void noblacklist(struct import *import, const char *path)
{
    (void)path;
    import_left(import, LOST_GRANT, "name it with read or write if it is needed");
}

static const struct {
    const char *directive;
    import_text_function *read;
} directives[] = {
    {"whitelist", import_write},
    {"whitelist-ro", import_read},
    {"blacklist", import_hide_pattern},
    {"read-only", import_keep},
    {"env", set_variable},
    {"net", net},
    {"rlimit-nofile", limit_files},
    {"rlimit-nproc", limit_pids},
    {"include", include},
    {"noblacklist", noblacklist},
    {"blacklist-nolog", import_hide_pattern},
};

/* What every sandbox of bawn has. */
static const char always[] =
    "caps.drop all\nnonewprivs\nnoroot\nseccomp\nprivate-dev\nprivate-tmp\nipc-namespace\nnogroups";

static bool is_always(const char *line)
{
    const char *found = strstr(always, line);
    size_t size = strlen(line);
    return found && (found == always || found[-1] == '\n') && (!found[size] || found[size] == '\n');
}

static void import_line(struct import *import, const char *line)
{
    import_item(import, "%s", line);
    if (strlen(line) > ARGUMENT_LONGEST) {
        import_left(import, LOST_REFUSAL, "the line is too long");
        return;
    }
    for (size_t i = 0; i < array_len(directives); i++) {
        const char *argument = behind(line, directives[i].directive);
        if (argument) {
            directives[i].read(import, argument);
            return;
        }
    }
    if (is_always(line))
        import_needless(import, "every bawn sandbox has it");
    else
        import_left(import, LOST_REFUSAL, "bawn has no such setting");
}

int import_firejail(struct import *import, struct err *err not_used)
{
    const char *at = import->text, *line;
    while ((line = next_line(import->arena, &at))) {
        if (*line && *line != '#')
            import_line(import, line);
    }
    return 0;
}
