#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "base/fd.h"
#include "forge/forge.h"

enum { LARGEST_SETTINGS = 1 << 20, MOST_REFS = 64 };

static int take_rule(struct forge_settings *settings, char *rest, struct err *err)
{
    const char **refs = arena_alloc(&settings->arena, MOST_REFS * sizeof(*refs));
    struct push_rule rule = {.refs = refs};
    const char *letters = strsep(&rest, " ");
    rule.may_force = strchr(letters, 'f');
    rule.may_delete = strchr(letters, 'd');
    rule.may_send_options = strchr(letters, 'o');
    for (const char *ref; rest && (ref = strsep(&rest, " "));) {
        if (rule.ref_count == MOST_REFS)
            return err_set(err, "a rule has too many refs");
        refs[rule.ref_count++] = arena_str(&settings->arena, ref);
    }
    vec_push(&settings->rules, rule);
    return 0;
}

int forge_settings_read(int fd, struct forge_settings *settings, struct err *err)
{
    auto_fd int owned = fd;
    auto_buf struct buf text = {0};
    if (buf_read(&text, owned, LARGEST_SETTINGS) < 0 || !text.size)
        return err_sys(err, errno, "cannot read the settings");
    char *rest = text.bytes;
    for (char *line; rest && (line = strsep(&rest, "\n"));) {
        const char *verb = strsep(&line, " ");
        if (strcmp(verb, "push") == 0)
            settings->is_push = true;
        else if (strcmp(verb, "rule") == 0 && line && take_rule(settings, line, err) < 0)
            return -1;
    }
    return 0;
}
