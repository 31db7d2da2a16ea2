/* Any bytes as a git configuration: what is read from it can be written out and is read again as the same. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "fuzz.h"
#include "git/config.h"

struct checked {
    struct arena arena;
    const char *value;
};

static void keep_value(void *context, const struct git_setting *setting)
{
    ((struct checked *)context)->value = setting->value;
}

static void check(void *context, const struct git_setting *setting)
{
    struct checked *checked = context;
    if (!setting->section || !*setting->section || !setting->subsection || !setting->name || !*setting->name)
        abort();
    for (const char *byte = setting->value; byte && *byte; byte++) {
        if (iscntrl((unsigned char)*byte) && *byte != '\n' && *byte != '\t')
            return; /* cannot be written */
    }
    if (!setting->value)
        return;
    auto_buf struct buf out = {0};
    buf_add_str(&out, "[x]\n");
    git_config_add(&out, setting->name, setting->value);
    struct checked again = {0};
    if (git_config_read(&checked->arena, out.bytes, out.size, keep_value, &again) < 0 || !again.value ||
        strcmp(again.value, setting->value) != 0)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct checked checked = {0};
    if (git_config_read(&checked.arena, (const char *)bytes, size, check, &checked) < 0)
        checked.value = NULL;
    arena_free(&checked.arena);
    return 0;
}
