#include "cli/conflicts.h"

#include <string.h>

#include "base/text.h"
#include "cli/say.h"

enum { LINES_SHOWN = 40 };

void conflict_add(struct buf *out, const struct style *style, const char *clashes)
{
    static const char *const marks[] = {"<<<<<<<", "|||||||", "=======", ">>>>>>>"};
    size_t lines = 0;
    for (const char *at = clashes, *end; *at; at = *end ? end + 1 : end) {
        end = strchrnul(at, '\n');
        if (++lines > LINES_SHOWN)
            continue;
        bool is_mark = false;
        for (size_t i = 0; i < array_len(marks); i++)
            is_mark |= text_starts_with(at, marks[i]);
        buf_add_str(out, "      ");
        buf_add_str(out, is_mark && style->colours ? "\033[2m" : "");
        text_add_printable(out, at, (size_t)(end - at));
        buf_add_str(out, is_mark && style->colours ? "\033[0m" : "");
        buf_add_char(out, '\n');
    }
    if (lines > LINES_SHOWN)
        buf_printf(out, "      and %zu lines more\n", lines - LINES_SHOWN);
}

struct settling {
    const struct choice *choice;
    struct carry *carry;
    struct store *store;
    rewrite_list rewrites;
};

static void join(struct settling *settling, struct decision *decision, const struct conflict *conflict)
{
    const struct carry *carry = settling->carry;
    struct arena *arena = settling->choice->loaded.policy.arena;
    struct merge merge = {&conflict->base, &conflict->ours, &conflict->theirs, "yours", carry->of->name};
    auto_buf struct buf joined = {0}, clashing = {0};
    size_t clashes = merge_texts(&merge, &joined);
    bool merges = carry->conflicts == CONFLICTS_MERGE || carry->conflicts == CONFLICTS_MARK;
    if (merges && (clashes == 0 || carry->conflicts == CONFLICTS_MARK)) {
        decision->course = COURSE_GO;
        vec_push(&settling->rewrites, (struct rewrite){.of = decision, .text = joined});
        joined = (struct buf){0};
        return;
    }
    merge_clashes(&merge, &clashing);
    decision->details = arena_copy(arena, clashing.bytes, clashing.size);
    const char *help =
        carry->mode == RECORD_APPLY ? "--markers writes both into the file" : "--force overwrites it";
    decision->why = clashes ? arena_printf(arena, "it was changed since, in the same lines (%s)", help)
                            : "it was changed since, in other lines (--merge joins both)";
}

static int settle_one(struct settling *settling, struct decision *decision, struct err *err)
{
    struct carry *carry = settling->carry;
    if (carry->conflicts == CONFLICTS_OURS) {
        decision->course = COURSE_DROPPED;
        vec_push(&carry->afters,
                 (struct revision){decision->judged.change.path, decision->judged.change.before});
        return 0;
    }
    auto_conflict struct conflict conflict;
    int read = conflict_read(&carry->transition, settling->store, decision, &conflict, err);
    if (read > 0)
        join(settling, decision, &conflict);
    return read < 0 ? -1 : 0;
}

/* The joined texts are what the decisions bring from now on, and what the session is about. */
static int keep_joined(struct settling *settling, struct err *err)
{
    struct carry *carry = settling->carry;
    if (rewrite_all(settling->choice->store, settling->choice->loaded.policy.arena, &settling->rewrites,
                    err) < 0)
        return -1;
    for (size_t i = 0; i < settling->rewrites.count; i++) {
        struct decision *decision = (struct decision *)settling->rewrites.at[i].of;
        decision->judged.change.after = settling->rewrites.at[i].entry;
        vec_push(&carry->afters,
                 (struct revision){decision->judged.change.path, settling->rewrites.at[i].entry});
    }
    return 0;
}

int conflicts_settle(const struct world *world, const struct choice *choice, struct carry *carry,
                     decision_list *decisions)
{
    struct err err = {0};
    auto_store struct store store = STORE_NONE;
    struct settling settling = {.choice = choice, .carry = carry, .store = &store};
    int result = store_open(choice->store, &store, &err);
    for (size_t i = 0; i < decisions->count && result == 0; i++) {
        struct decision *decision = &decisions->at[i];
        if (decision->course == COURSE_CONFLICT && change_is_shown(&decision->judged.change) &&
            choose_has_path(choice, decision->judged.change.path))
            result = settle_one(&settling, decision, &err);
    }
    if (result == 0)
        result = keep_joined(&settling, &err);
    rewrites_free(&settling.rewrites);
    if (result < 0)
        say_err(world, &err);
    return result < 0 ? EXIT_REFUSED : 0;
}
