/*
 * A frozen file of git's that was replaced while a command runs: what of it stays.
 *
 * Theory of operation
 *
 * The new file may be the user's (`git config`, an editor) or the command's, and nothing tells them apart: git writes .git/config.lock, which the
 * command can open or replace before git renames it. So its content decides, setting by setting:
 *
 *   1. A setting by which git runs nothing new stays, whoever wrote it.
 *   2. A setting by which git would run something new is taken out, and an earlier one that gave way to it comes back. The file as it was written is
 *      held aside, and the user is asked at once whether the setting shall be added. Only what was read here, and shown, is ever added, and only what
 *      came back for it gives way.
 *   3. A file that cannot be understood, a link, and a file that is no configuration (a hook) are held aside as a whole. The file that bawn
 *      left there last stands again.
 *   4. What stands at the path afterwards was written by bawn in the session's folder, which nothing inside can see, and takes its place in one
 *      step. Whoever inside opened the file, or gave it another name, in the moment of the fall has nothing of it.
 *   5. A still newer file of the user's, which comes while bawn decides, is not overwritten: it is judged in its turn.
 *
 * `before` of a frozen path is what bawn left there last: the start, and then what stayed of each change. So a later change does not take an earlier
 * one back.
 */
#include <string.h>

#include "base/path.h"
#include "git/config.h"
#include "hold/aside.h"
#include "hold/replaced.h"

enum { MOST_NAMED = 5, LONGEST_SHOWN = 1000, TRIES = 16 };

static bool read_settings(struct arena *arena, const struct file_content *content,
                          git_setting_list *ret_settings)
{
    return S_ISREG(content->mode) && bytes_known(content->bytes) &&
           git_setting_list_read(arena, content->bytes.at, content->bytes.size, ret_settings) == 0;
}

/* Adds the names of those that the other list lacks. */
static void name_others(struct arena *arena, const git_setting_list *settings, const git_setting_list *others,
                        size_t *named, struct buf *out)
{
    const char *last = "";
    vec_each (const struct git_setting, setting, settings) {
        if (git_setting_list_has(others, setting))
            continue;
        const char *name = git_setting_name(arena, setting);
        if (strcmp(name, last) != 0 && ++*named <= MOST_NAMED)
            buf_printf(out, "%s%s", out->size ? ", " : "", name);
        last = name;
    }
}

/* How a configuration differs from the one that bawn left there. */
struct difference {
    bool is_clear;        /* both were understood */
    bool is_rest_known;   /* without what runs, it sets what bawn left there, and nothing else */
    size_t runs;          /* new settings by which git would run something */
    const char *names;    /* of these, or of all that differ where there are none */
    const char *shown;    /* these with their values, for a person */
    struct bytes rest;    /* the file without them */
    struct bytes alone;   /* they alone */
    struct bytes instead; /* earlier ones of the same names, which gave way to them and are in `rest` */
};

static struct bytes keep(struct arena *arena, const struct buf *text)
{
    return bytes_of(arena_copy(arena, buf_text(text), text->size), text->size);
}

static bool runs(const git_setting_list *old, const git_setting_list *settings,
                 const struct git_setting *setting)
{
    return git_setting_runs(setting) || git_setting_leads_here(settings, old, setting);
}

/* Would git run something by this setting, and did not by the old ones? */
static bool runs_anew(const git_setting_list *old, const git_setting_list *settings,
                      const struct git_setting *setting)
{
    return runs(old, settings, setting) && !(git_setting_list_has(old, setting) && runs(old, old, setting));
}

/* Is this what is left of the settings once those that run are out? */
static bool is_rest(struct arena *arena, struct bytes text, const git_setting_list *old, size_t wanted)
{
    git_setting_list found = {0};
    bool is_right = git_setting_list_read(arena, text.at, text.size, &found) == 0 && found.count == wanted;
    vec_each (const struct git_setting, setting, &found)
        is_right &= !runs_anew(old, &found, setting);
    vec_free(&found);
    return is_right;
}

static bool is_same(struct git_setting *one, const struct git_setting *other)
{
    git_setting_list single = {.at = one, .count = 1};
    return git_setting_list_has(&single, other);
}

/* Is it an earlier setting that gave way to one that is taken out? */
static bool gave_way(const struct git_setting *earlier, const git_setting_list *new,
                     const git_setting_list *running)
{
    vec_each (const struct git_setting, setting, running) {
        if (strcmp(setting->section, earlier->section) == 0 && strcmp(setting->name, earlier->name) == 0 &&
            strcmp(setting->subsection, earlier->subsection) == 0)
            return !git_setting_list_has(new, earlier);
    }
    return false;
}

/* Without what is taken out, and with what comes back for it: is it what bawn left there, setting by setting? */
static bool is_as_before(const git_setting_list *old, const git_setting_list *new,
                         const git_setting_list *running)
{
    size_t at = 0;
    bool is_same_so_far = true;
    vec_each (const struct git_setting, setting, new) {
        if (runs_anew(old, new, setting))
            continue;
        while (at < old->count && gave_way(&old->at[at], new, running))
            at++;
        is_same_so_far &= at < old->count && is_same(&old->at[at], setting);
        at++;
    }
    while (at < old->count && gave_way(&old->at[at], new, running))
        at++;
    return is_same_so_far && at == old->count;
}

static void take_apart(struct arena *arena, const git_setting_list *old, struct bytes old_text,
                       const git_setting_list *new, struct bytes text, struct difference *difference)
{
    git_setting_list running = {0}, back = {0};
    auto_buf struct buf names = {0}, shown = {0}, rest = {0}, alone = {0}, instead = {0};
    size_t named = 0;
    vec_each (const struct git_setting, setting, new) {
        if (!runs_anew(old, new, setting))
            continue;
        vec_push(&running, *setting);
        buf_printf(&shown, "%s%s = %s", shown.size ? ", " : "", git_setting_name(arena, setting),
                   setting->value);
    }
    vec_each (const struct git_setting, setting, old) {
        if (gave_way(setting, new, &running))
            vec_push(&back, *setting);
    }
    name_others(arena, running.count ? &running : new, old, &named, &names);
    if (!named)
        name_others(arena, old, new, &named, &names);
    if (named > MOST_NAMED)
        buf_printf(&names, " and %zu more", named - MOST_NAMED);
    git_setting_list_copy(&back, old_text.at, &instead);
    git_setting_list_cut(&running, text.at, text.size, &rest);
    if (rest.size && instead.size && buf_text(&rest)[rest.size - 1] != '\n')
        buf_add_char(&rest, '\n');
    buf_add(&rest, buf_text(&instead), instead.size);
    git_setting_list_copy(&running, text.at, &alone);
    *difference = (struct difference){.runs = running.count,
                                      .names = arena_str(arena, buf_text(&names)),
                                      .shown = arena_str(arena, buf_text(&shown)),
                                      .rest = keep(arena, &rest),
                                      .alone = keep(arena, &alone),
                                      .instead = keep(arena, &instead)};
    difference->is_rest_known = is_as_before(old, new, &running);
    difference->is_clear = is_rest(arena, difference->rest, old, new->count - running.count + back.count);
    vec_free(&running);
    vec_free(&back);
}

static struct difference compare(struct arena *arena, const struct file_content *before,
                                 const struct file_content *after)
{
    struct difference difference = {.names = "", .shown = ""};
    git_setting_list old = {0}, new = {0};
    bool has_old = !before || read_settings(arena, before, &old);
    if (has_old && read_settings(arena, after, &new))
        take_apart(arena, &old, before ? before->bytes : (struct bytes){0}, &new, after->bytes, &difference);
    vec_free(&old);
    vec_free(&new);
    return difference;
}

static void tell(const struct hold *hold, const char *sentence)
{
    if (hold->person.tell)
        hold->person.tell(hold->person.context, sentence);
}

/* From now on this is what bawn left there. */
static void remember(struct hold *hold, struct frozen *frozen, const struct file_content *now)
{
    struct file_content kept = *now, *left = &kept;
    kept.path = arena_str(hold->arena, now->path);
    if (bytes_known(now->bytes))
        kept.bytes = bytes_of(arena_copy(hold->arena, now->bytes.at, now->bytes.size), now->bytes.size);
    vec_each (struct file_content, content, &frozen->before) {
        if (strcmp(content->path, left->path) == 0) {
            *content = *left;
            return;
        }
    }
    vec_push(&frozen->before, *left);
}

/* Puts it in the place of the file. Returns as aside_replace(). */
static int put(struct hold *hold, const struct file_content *file, const struct file_content *content,
               bool holds, struct err *err)
{
    int session_fd = hold->session->folder_fd, result = -1;
    if (content && S_ISREG(content->mode) && bytes_known(content->bytes)) {
        struct stub_lock lock =
            stub_lock_begin(&hold->stubs, arena_printf(hold->arena, "%s.lock", file->path));
        result = aside_replace(hold->arena, session_fd, file, content, &lock, holds, err);
        stub_lock_end(&lock);
    }
    if (result >= 0 || !holds)
        return result;
    *err = (struct err){0};
    result = aside_move(hold->arena, session_fd, file->path, err);
    return result < 0 || (content && content_restore(content, err) < 0) ? -1 : result ? result : 1;
}

static void say_not_held(struct hold *hold, const char *path, const struct err *err)
{
    const char *sentence = arena_str(hold->arena, err->message);
    hold_note(hold, "not-held", path, sentence);
    tell(hold, sentence);
}

/* The change stays. A copy of it takes its place, if somebody inside may have opened it. */
static int keep_change(struct hold *hold, struct frozen *frozen, const struct file_content *after,
                       const char *names)
{
    const struct file_content *before = content_find(&frozen->before, after->path);
    struct file_content left = *after;
    bool copies = hold_has_pins(hold) && !hold->is_over;
    struct err ignored;
    int result = copies ? put(hold, after, after, false, &ignored) : 1;
    if (result == 0)
        return 0;
    hold->has_put |= copies && result > 0; /* otherwise the file itself stays, and is watched */
    if (before && !hold_has_pins(hold))
        left.mode = before->mode; /* bawn has lowered that of the file */
    remember(hold, frozen, &left);
    const char *sentence = arena_printf(
        hold->arena,
        "%s was changed from outside while it was frozen inside: the change is kept, because git "
        "runs nothing new in it",
        after->path);
    hold_note(hold, "replaced", after->path, sentence);
    tell(hold, *names ? arena_printf(hold->arena, "%s (%s)", sentence, names) : sentence);
    return 1;
}

/* Asks whether the settings shall be added. What a person would not read to its end is not asked for. */
static bool ask(struct hold *hold, const struct frozen *frozen, const struct file_content *file,
                const struct difference *difference, const char *notice)
{
    struct arena *arena = hold->arena;
    if (!hold->person.ask || strlen(difference->shown) > LONGEST_SHOWN)
        return false;
    struct bytes alone = difference->alone, instead = difference->instead;
    vec_push(&hold->additions,
             (struct addition){.operation = frozen->operation,
                               .path = arena_str(arena, file->path),
                               .shown = arena_str(arena, difference->shown),
                               .text = bytes_of(arena_copy(arena, alone.at, alone.size), alone.size),
                               .instead = bytes_of(arena_copy(arena, instead.at, instead.size), instead.size),
                               .notice = notice});
    return hold->person.ask(hold->person.context, hold->additions.count - 1);
}

/* Part of the change is taken out, or all of it. */
static int take_out(struct hold *hold, struct frozen *frozen, const struct file_content *after,
                    const struct difference *difference, struct err *err)
{
    struct arena *arena = hold->arena;
    const char *path = after->path;
    const struct file_content *before = content_find(&frozen->before, path), *left = before;
    struct file_content rest = *after;
    rest.bytes = difference->rest;
    rest.length = rest.bytes.size;
    rest.mode = before ? before->mode : after->mode;
    if (difference->is_clear && !(before && difference->is_rest_known))
        left = &rest;
    bool has_other_name = before && before->links > 1 && before->inode == after->inode;
    int result = put(hold, after, left, true, err);
    if (result <= 0)
        return result;
    hold->has_put = true;
    if (left && left != before)
        remember(hold, frozen, left);
    if (result == ASIDE_RENAMED)
        return 1;
    const char *notice =
        arena_printf(arena,
                     "%s was changed %s, from outside or from inside%s%s: bawn %s, and `bawn held %s` shows "
                     "the changed file",
                     path,
                     has_other_name ? "by another of its names (a hard link)"
                                    : "while its protection was off for a moment",
                     difference->runs ? ", and sets " : "", difference->runs ? difference->names : "",
                     difference->is_clear ? "took that out and kept the rest" : "restored the earlier file",
                     hold->session->name);
    hold_note(hold, "held", path, notice);
    if (!difference->is_clear || !ask(hold, frozen, after, difference, notice))
        tell(hold, notice);
    return 1;
}

static bool is_configuration(const char *path)
{
    const char *name = path_name(path);
    return strcmp(name, "config") == 0 || strcmp(name, "config.worktree") == 0;
}

/* Reads it anew: the user has written a newer one. Returns false where there is none. */
static bool read_again(struct arena *arena, struct file_content *content)
{
    file_contents now = {0};
    content_add(arena, content->path, &now);
    bool is_there = now.count == 1 && !now.trouble;
    if (is_there)
        *content = now.at[0];
    vec_free(&now);
    return is_there;
}

void hold_decide_replaced(struct hold *hold, struct frozen *frozen, const struct file_content *after)
{
    struct file_content now = *after;
    struct err err = {0};
    int result = 0;
    auto_arena struct arena arena = {0};
    for (int i = 0; i < TRIES && result == 0; i++) {
        if (i && !read_again(&arena, &now))
            return; /* whoever made it has taken it away: the name is watched */
        const struct file_content *before = content_find(&frozen->before, now.path);
        struct difference difference = {.names = "", .shown = ""};
        if (is_configuration(now.path))
            difference = compare(&arena, before, &now);
        result = difference.is_clear && !difference.runs ? keep_change(hold, frozen, &now, difference.names)
                                                         : take_out(hold, frozen, &now, &difference, &err);
    }
    if (result == 0 && !hold->is_over)
        hold->has_put = true; /* the host replaces it again and again: the next look comes back to it */
    else if (result == 0)
        err_set(&err, "%s was replaced again and again from outside, and could not be checked", now.path);
    if (*err.message)
        say_not_held(hold, now.path, &err);
}

/* The text without those of its settings that the other text has. */
static struct bytes without(struct arena *arena, struct bytes text, struct bytes gone)
{
    git_setting_list all = {0}, named = {0}, cut = {0};
    auto_buf struct buf out = {0};
    if (git_setting_list_read(arena, text.at, text.size, &all) == 0 &&
        git_setting_list_read(arena, gone.at, gone.size, &named) == 0) {
        vec_each (const struct git_setting, setting, &all) {
            if (git_setting_list_has(&named, setting))
                vec_push(&cut, *setting);
        }
    }
    git_setting_list_cut(&cut, text.at, text.size, &out);
    vec_free(&all);
    vec_free(&named);
    vec_free(&cut);
    return keep(arena, &out);
}

/* The text with the settings at its end, if git reads it as that. */
static bool add_to(struct arena *arena, struct bytes text, struct bytes added, struct bytes *ret_both)
{
    git_setting_list one = {0}, two = {0}, both = {0};
    auto_buf struct buf out = {0};
    buf_add(&out, text.at, text.size);
    if (text.size && text.at[text.size - 1] != '\n')
        buf_add_char(&out, '\n');
    buf_add(&out, added.at, added.size);
    *ret_both = keep(arena, &out);
    bool is_right = git_setting_list_read(arena, text.at, text.size, &one) == 0 &&
                    git_setting_list_read(arena, added.at, added.size, &two) == 0 &&
                    git_setting_list_read(arena, ret_both->at, ret_both->size, &both) == 0 &&
                    both.count == one.count + two.count;
    for (size_t i = 0; is_right && i < both.count; i++)
        is_right = is_same(&both.at[i], i < one.count ? &one.at[i] : &two.at[i - one.count]);
    vec_free(&one);
    vec_free(&two);
    vec_free(&both);
    return is_right;
}

static void drop_notice(struct hold *hold, const char *notice)
{
    size_t kept = 0;
    for (size_t i = 0; i < hold->notices.count; i++) {
        if (strcmp(hold->notices.at[i], notice) != 0)
            hold->notices.at[kept++] = hold->notices.at[i];
    }
    hold->notices.count = kept;
}

int hold_add_settings(struct hold *hold, size_t number, struct err *err)
{
    const struct addition addition = hold->additions.at[number];
    struct frozen *frozen = hold_frozen_at(hold, addition.operation);
    auto_arena struct arena arena = {0};
    struct file_content now = {.path = addition.path}, with;
    int result = 0;
    for (int i = 0; i < TRIES && frozen && result == 0; i++) {
        if (!read_again(&arena, &now))
            return err_set(err, "%s no longer exists", addition.path);
        const struct file_content *before = content_find(&frozen->before, addition.path);
        if (!before || !content_equal(before, &now)) { /* it has just been changed: that is judged first */
            hold_decide_replaced(hold, frozen, &now);
            continue;
        }
        with = now;
        if (!S_ISREG(now.mode) || !bytes_known(now.bytes) ||
            !add_to(&arena, without(&arena, now.bytes, addition.instead), addition.text, &with.bytes))
            return err_set(err, "the settings cannot be added to %s as it is now", addition.path);
        with.length = with.bytes.size;
        with.mode = before->mode;
        result = put(hold, &now, &with, false, err);
    }
    if (result <= 0)
        return result < 0 ? -1 : err_set(err, "%s is being replaced again and again", addition.path);
    hold->has_put = true;
    remember(hold, frozen, &with);
    drop_notice(hold, addition.notice);
    hold_note(hold, "replaced", addition.path,
              arena_printf(hold->arena, "%s was changed while it was frozen inside, and you kept it: %s",
                           addition.path, addition.shown));
    return 0;
}
