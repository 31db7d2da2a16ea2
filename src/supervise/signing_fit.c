#include "supervise/signing_fit.h"

#include <string.h>

#include "base/text.h"
#include "supervise/dialled.h"

enum { MOST_NAMED = 8 };

bool signing_fits_read(const signing_rule_list *rules, char *text, signing_fit_list *ret_fits)
{
    ret_fits->count = 0;
    while (text) {
        const char *rule_number = strsep(&text, " "), *host_number = text ? strsep(&text, " ") : "";
        uint64_t rule, host;
        if (!text_take_number(&rule_number, &rule) || !text_take_number(&host_number, &host) ||
            rule >= rules->count || host >= rules->at[rule].key->host_count)
            return false;
        vec_push(ret_fits, ((struct signing_fit){&rules->at[rule], &rules->at[rule].key->hosts[host]}));
    }
    return ret_fits->count > 0;
}

void signing_fits_keep(signing_fit_list *fits, const char *dialled)
{
    struct arena arena = {0};
    size_t kept = 0;
    for (size_t i = 0; i < fits->count; i++) {
        struct signing_fit fit = fits->at[i];
        if (dialled && strcmp(dialled_host_text(&arena, fit.host), dialled) == 0)
            fits->at[kept++] = fit;
    }
    fits->count = kept ? kept : fits->count;
    arena_free(&arena);
}

const struct signing_rule *signing_fits_used_up(const signing_fit_list *fits)
{
    vec_each (const struct signing_fit, fit, fits) {
        if (fit->rule->key->times && fit->rule->used >= fit->rule->key->times)
            return fit->rule;
    }
    return NULL;
}

const struct signing_rule *signing_fits_asking(const signing_fit_list *fits)
{
    vec_each (const struct signing_fit, fit, fits) {
        if (fit->rule->key->asks)
            return fit->rule;
    }
    return NULL;
}

/* A rule's fits follow each other. */
void signing_fits_count(const signing_fit_list *fits)
{
    const struct signing_rule *last = NULL;
    vec_each (const struct signing_fit, fit, fits) {
        struct signing_rule *rule = fit->rule;
        if (rule != last)
            rule->used++;
        last = rule;
    }
}

const char *signing_fits_hosts(struct arena *arena, const signing_fit_list *fits)
{
    auto_buf struct buf text = {0};
    fs_names known = {0};
    vec_each (const struct signing_fit, fit, fits) {
        const char *name = dialled_host_text(arena, fit->host);
        if (fs_has_name(&known, name))
            continue;
        vec_push(&known, name);
        if (known.count <= MOST_NAMED)
            buf_printf(&text, "%s%s", text.size ? " or " : "", name);
    }
    if (known.count > MOST_NAMED)
        buf_printf(&text, " or %zu others", known.count - MOST_NAMED);
    vec_free(&known);
    return arena_str(arena, buf_text(&text));
}
