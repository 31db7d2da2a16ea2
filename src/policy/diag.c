#include "policy/diag.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int diag_add(struct diags *diags, enum severity severity, struct spot spot, const char *hint,
             const char *format, ...)
{
    diags->errors += severity == SEVERITY_ERROR;
    if (diags->list.count >= MOST_DIAGS) {
        diags->left_out++;
        return -1;
    }
    char message[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof(message), format, args);
    va_end(args);
    struct diag diag = {
        .severity = severity,
        .source = spot.source,
        .line = spot.line,
        .column = spot.column,
        .width = spot.width,
        .verb = spot.verb,
        .written = spot.written,
        .message = arena_str(diags->arena, message),
        .hint = hint ? arena_str(diags->arena, hint) : NULL,
    };
    vec_push(&diags->list, diag);
    return -1;
}

void diags_free(struct diags *diags)
{
    vec_free(&diags->list);
}

struct spot spot_of_rule(const struct rule *rule)
{
    return (struct spot){rule->source, rule->line,   rule->column, (uint32_t)strlen(rule->written),
                         rule->verb,   rule->written};
}
