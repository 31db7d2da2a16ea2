#include "report/patch.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/path.h"
#include "base/text.h"
#include "plan/plan.h"
#include "policy/decide.h"
#include "report/messages.h"

enum { SHOWN_MOST = 8 * 1024 * 1024 };

/* --- reasons ------------------------------------------------------------------------------------------------------ */

static int read_content(void *context, const struct entry *entry, size_t most, struct buf *ret_bytes)
{
    const struct patch *patch = context;
    struct err ignored;
    if (S_ISLNK(entry->mode)) {
        buf_add_str(ret_bytes, entry->target);
        return 1;
    }
    if (entry->content != CONTENT_STORED)
        return 0;
    return store_read(patch->store, &entry->blob, most, ret_bytes, &ignored);
}

/* "CI file"; of a rule that does not say who obeys the file, where the rule is. */
static const char *guard_reason(struct arena *arena, const struct rule *rule, bool is_frozen)
{
    if (rule->cause)
        return arena_printf(arena, "git runs it: %s leads here", rule->cause);
    if (rule->by)
        return arena_printf(arena, "%s file", rule->by);
    if (rule->source->layer == LAYER_BASE)
        return is_frozen ? "frozen file" : "flagged file";
    return arena_printf(arena, "%s (%s)", rule_text(arena, rule), rule_origin(arena, rule));
}

gate_reasons patch_reasons(const struct patch *patch, const struct change *change)
{
    gate_reasons reasons = {0};
    const struct entry *either = change->after ? change->after : change->before;
    if (!either || !change_is_shown(change))
        return reasons;
    struct patch copy = *patch; /* the context of a reader is not const */
    struct gate_change judged = {change->path, change->before, change->after, read_content, &copy};
    gate_judge(&judged, &reasons);
    const struct policy *policy = patch->policy;
    if (S_ISDIR(either->mode) || policy->workspaces.count == 0)
        return reasons;
    const char *path = path_join(patch->arena, policy->workspaces.at[0].path, change->path);
    struct path_verdict verdict = decide_path(policy, path, NULL);
    const struct placed *guard = verdict.access == ACCESS_FROZEN ? verdict.decides : verdict.flagged_by;
    const char *nested = guard ? NULL : decide_nested_cause(policy, path);
    if (guard)
        vec_push(&reasons, guard_reason(patch->arena, guard->rule, verdict.access == ACCESS_FROZEN));
    else if (nested)
        vec_push(&reasons, arena_printf(patch->arena, "git runs it: %s leads here", nested));
    return reasons;
}

/* --- unified diff --------------------------------------------------------------------------------------------------- */

char patch_letter(const struct change *change)
{
    if (change->renamed)
        return 'R';
    return change->what & CHANGE_ADDED     ? 'A'
           : change->what & CHANGE_DELETED ? 'D'
           : change->what & CHANGE_KIND    ? 'T'
                                           : 'M';
}

const char *patch_quoted_name(const struct patch *patch, const char *prefix, const char *path)
{
    bool is_plain = true;
    for (const char *at = path; *at; at++)
        is_plain &= (unsigned char)*at > ' ' && (unsigned char)*at < 127 && *at != '"' && *at != '\\';
    if (is_plain)
        return arena_printf(patch->arena, "%s%s", prefix, path);
    auto_buf struct buf out = {0};
    buf_printf(&out, "\"%s", prefix);
    for (const char *at = path; *at; at++) {
        if (*at == '"' || *at == '\\')
            buf_printf(&out, "\\%c", *at);
        else if ((unsigned char)*at < ' ' || (unsigned char)*at >= 127)
            buf_printf(&out, "\\%03o", (unsigned char)*at);
        else
            buf_add_char(&out, *at);
    }
    buf_add_char(&out, '"');
    return arena_copy(patch->arena, out.bytes, out.size);
}

static void add_line(const struct patch *patch, struct buf *out, char kind, const struct line *line)
{
    bool has_newline = line->size && line->text[line->size - 1] == '\n';
    size_t size = line->size - has_newline;
    const char *code = !patch->style.colours ? NULL
                       : kind == '+'         ? "\033[32m"
                       : kind == '-'         ? "\033[31m"
                                             : NULL;
    if (code)
        buf_add_str(out, code);
    buf_add_char(out, kind);
    /* A file's content must not send control codes to the terminal. A tab is harmless. */
    for (size_t at = 0; at < size;) {
        const char *tab = patch->is_raw ? NULL : memchr(line->text + at, '\t', size - at);
        size_t part = tab ? (size_t)(tab - line->text) - at : size - at;
        if (patch->is_raw)
            buf_add(out, line->text + at, part);
        else
            text_add_printable(out, line->text + at, part);
        if (tab)
            buf_add_char(out, '\t');
        at += part + (tab != NULL);
    }
    if (code)
        buf_add_str(out, "\033[0m");
    buf_add_char(out, '\n');
    if (!has_newline)
        buf_add_str(out, "\\ No newline at end of file\n");
}

void patch_add_hunk(const struct patch *patch, const struct hunks *hunks, size_t number, struct buf *out)
{
    struct hunk hunk = hunks_with_context(hunks, number);
    size_t olds = 0, news = 0;
    for (size_t i = hunk.from; i < hunk.to; i++) {
        olds += hunks->edits.at[i].kind != '+';
        news += hunks->edits.at[i].kind != '-';
    }
    const struct line_edit *start = &hunks->edits.at[hunk.from];
    buf_printf(out, "@@ -%zu,%zu +%zu,%zu @@\n", start->old + (olds > 0), olds, start->new + (news > 0),
               news);
    for (size_t i = hunk.from; i < hunk.to; i++) {
        const struct line_edit *edit = &hunks->edits.at[i];
        add_line(patch, out, edit->kind,
                 edit->kind == '+' ? &hunks->new.at[edit->new] : &hunks->old.at[edit->old]);
    }
}

const char *patch_read_side(const struct patch *patch, const struct entry *entry, size_t most,
                            struct buf *ret_bytes)
{
    struct patch copy = *patch;
    int result = read_content(&copy, entry, most, ret_bytes);
    return result == 1                        ? NULL
           : entry->content != CONTENT_STORED ? "has content that was not kept"
           : result < 0                       ? "cannot be read from the snapshots"
                                              : "is too large to show";
}

const char *patch_read(const struct patch *patch, const struct change *change, struct buf *old,
                       struct buf *new)
{
    const struct entry *sides[] = {change->before, change->after};
    struct buf *contents[] = {old, new};
    for (size_t i = 0; i < array_len(sides); i++) {
        const struct entry *entry = sides[i];
        if (!entry || S_ISDIR(entry->mode))
            continue;
        const char *problem = patch_read_side(patch, entry, SHOWN_MOST, contents[i]);
        if (problem)
            return problem;
        if (!lines_are_text(buf_text(contents[i]), contents[i]->size))
            return "is binary";
    }
    return NULL;
}

static bool has_content(const struct entry *entry)
{
    return entry && (S_ISREG(entry->mode) || S_ISLNK(entry->mode));
}

static void add_content(const struct patch *patch, const struct change *change, struct buf *out)
{
    unsigned of_content = CHANGE_ADDED | CHANGE_DELETED | CHANGE_KIND | CHANGE_CONTENT | CHANGE_TARGET;
    if (!(change->what & of_content) || change->renamed ||
        !(has_content(change->before) || has_content(change->after)))
        return;
    auto_buf struct buf old = {0}, new = {0};
    const char *from =
        has_content(change->before) ? patch_quoted_name(patch, "a/", change->path) : "/dev/null";
    const char *to = has_content(change->after) ? patch_quoted_name(patch, "b/", change->path) : "/dev/null";
    const char *unshown = patch_read(patch, change, &old, &new);
    if (unshown) {
        buf_printf(out, "Files %s and %s differ: one %s\n", from, to, unshown);
        return;
    }
    auto_hunks struct hunks hunks = {0};
    hunks_find(&old, &new, &hunks);
    if (old.size || new.size)
        buf_printf(out, "--- %s\n+++ %s\n", from, to);
    for (size_t i = 0; i < hunks.list.count; i++)
        patch_add_hunk(patch, &hunks, i, out);
}

static void add_modes(const struct patch *patch, const struct change *change, struct buf *out)
{
    const struct entry *before = change->before, *after = change->after;
    if (change->renamed) {
        const struct change *from = change->what & CHANGE_ADDED ? change->renamed : change;
        const struct change *to = change->what & CHANGE_ADDED ? change : change->renamed;
        buf_printf(out, "rename from %s\n", patch_quoted_name(patch, "", from->path));
        buf_printf(out, "rename to %s\n", patch_quoted_name(patch, "", to->path));
    } else if (!before) {
        buf_printf(out, "new file mode %06o\n", after->mode);
    } else if (!after) {
        buf_printf(out, "deleted file mode %06o\n", before->mode);
    } else if (before->mode != after->mode) {
        buf_printf(out, "old mode %06o\nnew mode %06o\n", before->mode, after->mode);
    }
    if (change->what & CHANGE_ATTRIBUTES)
        buf_add_str(out, "extended attributes differ\n");
    if (change->what & CHANGE_LINKS && after && *after->linked_to)
        buf_printf(out, "now the same file as %s\n", patch_quoted_name(patch, "", after->linked_to));
}

void patch_add_reasons(const struct patch *patch, const struct change *change, struct buf *out)
{
    auto_vec gate_reasons reasons = patch_reasons(patch, change);
    for (size_t i = 0; i < reasons.count; i++) {
        style_add(&patch->style, out, COLOUR_YELLOW, "! risky: ");
        style_add(&patch->style, out, COLOUR_YELLOW, reasons.at[i]);
        buf_add_char(out, '\n');
    }
}

void patch_add_head(const struct patch *patch, const struct change *change, struct buf *out)
{
    const char *old_path = change->renamed ? change->renamed->path : change->path;
    patch_add_reasons(patch, change, out);
    const char *head =
        arena_printf(patch->arena, "diff --git %s %s", patch_quoted_name(patch, "a/", old_path),
                     patch_quoted_name(patch, "b/", change->path));
    style_add(&patch->style, out, COLOUR_BOLD, head);
    buf_add_char(out, '\n');
    add_modes(patch, change, out);
}

void patch_add_diff(const struct patch *patch, const struct change *change, struct buf *out)
{
    if (patch->is_raw) {
        patch_add_for_git(patch, change, out);
        return;
    }
    if (change->renamed && change->what & CHANGE_DELETED)
        return; /* the added side of the rename is shown */
    patch_add_head(patch, change, out);
    add_content(patch, change, out);
}

/* --- statistics and JSON -------------------------------------------------------------------------------------------- */

void patch_add_stat(const struct patch *patch, const struct change *change, struct buf *out)
{
    buf_printf(out, " %c ", patch_letter(change));
    size_t start = out->size;
    style_add(&patch->style, out, COLOUR_PLAIN, change->path);
    if (change->renamed && change->what & CHANGE_ADDED) {
        buf_add_str(out, " <- ");
        style_add(&patch->style, out, COLOUR_PLAIN, change->renamed->path);
    }
    auto_buf struct buf old = {0}, new = {0};
    if (!change->renamed && !patch_read(patch, change, &old, &new) && old.size + new.size) {
        auto_hunks struct hunks hunks = {0};
        hunks_find(&old, &new, &hunks);
        size_t added = 0, removed = 0;
        for (size_t i = 0; i < hunks.edits.count; i++) {
            added += hunks.edits.at[i].kind == '+';
            removed += hunks.edits.at[i].kind == '-';
        }
        buf_pad(out, start, 40);
        buf_printf(out, " +%zu -%zu", added, removed);
    }
    auto_vec gate_reasons reasons = patch_reasons(patch, change);
    for (size_t i = 0; i < reasons.count; i++) {
        buf_add_str(out, i ? "; " : "  ! ");
        style_add(&patch->style, out, COLOUR_YELLOW, reasons.at[i]);
    }
    buf_add_char(out, '\n');
}

static void add_side_json(struct json *json, const char *key, const struct entry *entry)
{
    static const struct {
        mode_t kind;
        const char *name;
    } kinds[] = {{S_IFREG, "file"}, {S_IFDIR, "directory"}, {S_IFLNK, "link"}, {S_IFIFO, "fifo"}};
    if (!entry)
        return;
    const char *kind = "other";
    for (size_t i = 0; i < array_len(kinds); i++)
        kind = (entry->mode & S_IFMT) == kinds[i].kind ? kinds[i].name : kind;
    char mode[8];
    snprintf(mode, sizeof(mode), "%04o", entry->mode & 07777);
    json_open(json, key, '{');
    json_str(json, "kind", kind);
    json_str(json, "mode", mode);
    if (S_ISREG(entry->mode))
        json_int(json, "size", (int64_t)entry->size);
    if (S_ISLNK(entry->mode))
        json_str(json, "target", entry->target);
    json_close(json, '}');
}

void patch_add_json(const struct patch *patch, const struct change *change, struct json *json)
{
    json_open(json, NULL, '{');
    json_str(json, "path", change->path);
    json_open(json, "changed", '[');
    for (enum change_bit bit = 0; bit < CHANGE_BITS; bit++) {
        if (change->what & 1U << bit)
            json_str(json, NULL, change_name(bit));
    }
    json_close(json, ']');
    if (change->renamed)
        json_str(json, change->what & CHANGE_ADDED ? "renamed_from" : "renamed_to", change->renamed->path);
    add_side_json(json, "before", change->before);
    add_side_json(json, "after", change->after);
    auto_vec gate_reasons reasons = patch_reasons(patch, change);
    json_open(json, "risky", '[');
    for (size_t i = 0; i < reasons.count; i++)
        json_str(json, NULL, reasons.at[i]);
    json_close(json, ']');
    json_close(json, '}');
}

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
