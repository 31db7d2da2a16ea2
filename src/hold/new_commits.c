#include "hold/new_commits.h"

#include <string.h>

#include "base/map.h"
#include "base/text.h"

enum { MOST_COMMITS = 20000, MOST_BAD = 100 };

/*
 * Lines of its input: HASH, a new position; ~HASH, one that only logs name; ^HASH, an old one; !HASH, an object known to be bad; +NAME, the
 * index of a new pack. Lines of its output: "broken HASH", "unread HASH", "damaged FILE", "older PACK" (a damaged pack that holds older
 * objects, too); then the answers of `cat-file --batch`; then "log" and what git logs. Of a partial clone, as its frozen
 * configuration says, what can be fetched may be missing.
 */
static const char script[] =
    "test $# -eq 0 || export GIT_DIR=\"$1\"\n"
    "t=${TMPDIR:-/tmp}\n"
    "sed -n -e \"/^\\^/w $t/old\" -e \"/^[0-9a-f]/w $t/new\" -e \"s/^!//w $t/bad\" -e \"s/^+//w $t/packs\" -e \"s/^~//w $t/logged\" &&\n"
    "    cat \"$t/new\" \"$t/logged\" >\"$t/tips\" || exit\n"
    "walk() {\n"
    "    cat \"$1\" \"$t/old\" | git rev-list --objects --verify-objects \"$2\" $promised --stdin >\"$t/walked\" 2>\"$t/errors\" || return\n"
    "    test -s \"$t/errors\" && grep -q '^error: ' \"$t/errors\" && return 1\n"
    "    test ! -s \"$t/bad\" || { cut -d' ' -f1 \"$t/walked\" | grep -qxFf \"$t/bad\" && return 1; return 0; }\n"
    "}\n"
    "one_by_one() {\n"
    "    git rev-list --max-count=1 --ignore-missing --stdin <\"$t/old\" >/dev/null 2>&1 || test ! -s \"$t/old\" || exit\n"
    "    : >\"$t/sound\"; left=100\n"
    "    git config --get-regexp '^(extensions\\.partialclone|remote\\..*\\.promisor)$' >/dev/null &&\n"
    "        promised=--exclude-promisor-objects\n"
    "    git cat-file --batch-check <\"$t/tips\" >\"$t/kinds\" 2>/dev/null\n"
    "    while read -r tip; do\n"
    "        left=$((left - 1)); echo \"$tip\" >\"$t/one\"\n"
    "        if test $left -lt 0; then echo \"unread $tip\"\n"
    "        elif grep -q \"^$tip [a-z]* [0-9]*$\" \"$t/kinds\" && walk \"$t/one\" --ignore-missing; then cat \"$t/one\" >>\"$t/sound\"\n"
    "        else echo \"broken $tip\"; fi\n"
    "    done <\"$t/tips\"\n"
    "}\n" NEW_COMMITS_READ_LOOSE "diagnose() {\n"
    "    objects=$(git rev-parse --git-path objects)\n"
    "    read_loose\n"
    "    cut -c2- \"$t/old\" >\"$t/olds\"\n"
    "    while read -r pack; do\n"
    "        git verify-pack \"$objects/pack/$pack\" >/dev/null 2>&1 && continue\n"
    "        git show-index <\"$objects/pack/$pack\" 2>/dev/null | grep -qFf \"$t/olds\" && echo \"older $pack\" ||\n"
    "            echo \"damaged pack/$pack\"\n"
    "    done <\"$t/packs\"\n"
    "}\n"
    "sound=$t/tips promised=\n"
    "walk \"$t/tips\" --objects || {\n"
    "    sound=$t/sound; one_by_one; diagnose\n"
    "    test -s \"$t/sound\" || { echo log; exit 0; }\n"
    "    walk \"$t/sound\" --ignore-missing || exit\n"
    "}\n"
    "git cat-file --batch-check='%(objectname) %(objecttype) %(rest)' <\"$t/walked\" >\"$t/kinds\" &&\n"
    "    sed -e '/^[0-9a-f]* blob /d' -e 's/ .*//' \"$t/kinds\" >\"$t/checked\" &&\n"
    "    git cat-file --batch <\"$t/checked\" && echo log || exit\n"
    "grep -xFf \"$t/new\" \"$sound\" >\"$t/listed\" || exit 0\n"
    "cat \"$t/listed\" \"$t/old\" | git log --format=%H --raw --no-abbrev -z -c --no-renames --no-ext-diff --no-show-signature --max-count=20001 \\\n"
    "        --ignore-missing --stdin\n";

struct asking {
    const struct new_commits_question *question;
    struct new_commits *found;
    struct buf input;
    size_t digits; /* of a hash in this repository */
    size_t bad;    /* objects that do not have the hash that names them */
    bool has_log;
};

/* --- the question ------------------------------------------------------------------------------------------------- */

static void note(struct map *positions, const struct git_refs *refs)
{
    vec_each (const struct git_ref, ref, &refs->list)
        *map_at(positions, ref->at.digits, strlen(ref->at.digits)) = positions;
}

static void add_new(struct asking *asking, struct map *known, const struct git_refs *refs, const char *mark)
{
    vec_each (const struct git_ref, ref, &refs->list) {
        void **place = map_at(known, ref->at.digits, strlen(ref->at.digits));
        if (*place)
            continue;
        *place = asking;
        asking->digits = strlen(ref->at.digits);
        buf_printf(&asking->input, "%s%s\n", mark, ref->at.digits);
    }
}

bool new_commits_has_new(const struct git_refs *before, const struct git_refs *after)
{
    struct map known = {0};
    bool has_new = false;
    note(&known, before);
    vec_each (const struct git_ref, ref, &after->list)
        has_new |= !map_get(&known, ref->at.digits, strlen(ref->at.digits));
    map_free(&known);
    return has_new;
}

static void add_positions(struct asking *asking)
{
    const struct new_commits_question *question = asking->question;
    struct map known = {0};
    note(&known, question->before);
    add_new(asking, &known, question->after, "");
    if (question->logged)
        add_new(asking, &known, question->logged, "~");
    vec_each (const struct git_ref, ref, &question->before->list)
        buf_printf(&asking->input, "^%s\n", ref->at.digits);
    for (size_t i = 0; i < question->pack_count; i++)
        buf_printf(&asking->input, "+%s\n", question->packs[i]);
    map_free(&known);
}

static void leave_unchecked(struct new_commits *found, const char *why)
{
    if (!found->unchecked)
        found->unchecked = why;
}

/* --- the answer --------------------------------------------------------------------------------------------------- */

/* Takes a line that begins with this word. Returns the rest of the line, or NULL. */
static const char *take_line(struct arena *arena, struct bytes *text, const char *word)
{
    size_t size = strlen(word);
    const char *end =
        text->size > size && memcmp(text->at, word, size) == 0 ? memchr(text->at, '\n', text->size) : NULL;
    if (!end)
        return NULL;
    const char *rest = arena_copy(arena, text->at + size, (size_t)(end - text->at) - size);
    *text = bytes_of(end + 1, text->size - (size_t)(end + 1 - text->at));
    return rest;
}

void new_commits_add_damaged(struct arena *arena, const char *file, struct new_commits *found)
{
    vec_push(&found->damaged, file);
    if (text_ends_with(file, ".idx"))
        vec_push(&found->damaged,
                 arena_printf(arena, "%.*s.pack", (int)(strlen(file) - strlen(".idx")), file));
}

static void read_findings(struct asking *asking, struct bytes *text)
{
    struct arena *arena = asking->question->arena;
    for (const char *rest;;) {
        if ((rest = take_line(arena, text, "broken ")))
            vec_push(&asking->found->broken, rest);
        else if ((rest = take_line(arena, text, "damaged ")))
            new_commits_add_damaged(arena, rest, asking->found);
        else if (take_line(arena, text, "unread "))
            leave_unchecked(asking->found, "there are too many refs beside one that git cannot read");
        else if ((rest = take_line(arena, text, "older ")))
            leave_unchecked(asking->found,
                            arena_printf(arena, "%s is damaged, and holds older objects, too", rest));
        else
            return;
    }
}

/* Adds the objects that do not have the hash that names them to the question. */
static void read_objects(struct asking *asking, struct bytes *text)
{
    struct arena *arena = asking->question->arena;
    struct git_answer answer;
    while (!(asking->has_log = take_line(arena, text, "log") != NULL) &&
           git_answer_take(arena, text, &answer)) {
        size_t digits = strlen(answer.name);
        if (bytes_known(answer.content) && digits == asking->digits &&
            git_object_is(answer.kind, answer.content, answer.name, digits))
            continue;
        if (asking->bad++ < MOST_BAD)
            buf_printf(&asking->input, "!%s\n", answer.name);
    }
}

static bool is_hash(struct bytes word, size_t digits)
{
    for (size_t i = 0; i < word.size; i++) {
        if (!strchr("0123456789abcdef", word.at[i]) || !word.at[i])
            return false;
    }
    return word.size == digits;
}

/*
 * ":100644 100644 HASH HASH M": of a merge there is a colon, a mode and a hash for each parent, and then those of the commit. Returns the commit's, as
 * "100644 HASH"; NULL where it is no such line.
 */
static const char *read_content(const struct asking *asking, struct bytes line)
{
    enum { MODE_DIGITS = 6 };
    size_t parents = 0, rest;
    while (parents < line.size && line.at[parents] == ':')
        parents++;
    const char *modes = line.at + parents, *hashes = modes + (parents + 1) * (MODE_DIGITS + 1);
    rest = parents + (parents + 1) * (MODE_DIGITS + 1 + asking->digits + 1);
    if (!parents || line.size <= rest)
        return NULL;
    const char *mode = modes + parents * (MODE_DIGITS + 1), *hash = hashes + parents * (asking->digits + 1);
    if (mode[MODE_DIGITS] != ' ' || hash[asking->digits] != ' ' ||
        !is_hash(bytes_of(hash, asking->digits), asking->digits))
        return NULL;
    return arena_printf(asking->question->arena, "%.*s %.*s", MODE_DIGITS, mode, (int)asking->digits, hash);
}

/* "COMMIT NUL newline CONTENT NUL FILE NUL CONTENT NUL FILE NUL COMMIT NUL …"; of a merge, a NUL and no newline. The last NUL may be missing. */
static void read_log(struct asking *asking, struct bytes text)
{
    struct new_commits *found = asking->found;
    struct new_commit *commit = NULL;
    for (const char *content = NULL; text.size;) {
        const char *end = memchr(text.at, '\0', text.size);
        struct bytes word = bytes_of(text.at, end ? (size_t)(end - text.at) : text.size);
        text = bytes_of(text.at + word.size + (end != NULL), text.size - word.size - (end != NULL));
        if (content) {
            vec_push(&commit->files, arena_copy(asking->question->arena, word.at, word.size));
            vec_push(&commit->contents, content);
            content = NULL;
            continue;
        }
        if (word.size && *word.at == '\n')
            word = bytes_of(word.at + 1, word.size - 1);
        if (is_hash(word, asking->digits)) {
            const char *name = arena_copy(asking->question->arena, word.at, word.size);
            vec_push(&found->commits, (struct new_commit){.name = name});
            commit = &found->commits.at[found->commits.count - 1];
        } else if (word.size && (!commit || !(content = read_content(asking, word)))) {
            leave_unchecked(found, "the answer of git cannot be read");
            return;
        }
    }
    if (found->commits.count > MOST_COMMITS)
        leave_unchecked(found, "there are more than 20,000 new commits");
}

/* Returns whether all is known: false where objects turned out to be bad, and the question must be asked again. */
static bool ask_once(struct asking *asking)
{
    const struct new_commits_question *question = asking->question;
    const char *const command[] = {"sh", "-c", script, "sh", question->git_dir, NULL};
    auto_buf struct buf output = {0};
    int result = question->ask(question->context, question->work_tree, command, &asking->input, &output);
    struct bytes text = bytes_of(buf_text(&output), output.size);
    read_findings(asking, &text);
    read_objects(asking, &text);
    if (asking->bad)
        return false;
    if (result == 0 && asking->has_log)
        read_log(asking, text);
    else
        leave_unchecked(asking->found, "git failed, or needed too long");
    return true;
}

void new_commits_find(const struct new_commits_question *question, struct new_commits *ret_found)
{
    *ret_found = (struct new_commits){0};
    struct asking asking = {.question = question, .found = ret_found};
    const char *unread = question->after->unread ? question->after->unread : question->before->unread;
    if (unread)
        leave_unchecked(ret_found, arena_printf(question->arena, "%s cannot be read as a ref", unread));
    if (question->logged && question->logged->unread)
        leave_unchecked(ret_found, arena_printf(question->arena, "%s is too long", question->logged->unread));
    bool has_new = new_commits_has_new(question->before, question->after) ||
                   (question->logged && new_commits_has_new(question->before, question->logged));
    if (has_new)
        add_positions(&asking);
    if (has_new && !question->ask)
        leave_unchecked(ret_found, "git cannot be asked");
    else if (has_new && !ask_once(&asking)) {
        asking.bad = 0;
        ret_found->broken.count = ret_found->damaged.count = 0;
        if (!ask_once(&asking))
            leave_unchecked(ret_found, "there are too many damaged objects");
    }
    buf_free(&asking.input);
}

void new_commits_free(struct new_commits *found)
{
    vec_each (struct new_commit, commit, &found->commits) {
        vec_free(&commit->files);
        vec_free(&commit->contents);
    }
    vec_free(&found->commits);
    vec_free(&found->broken);
    vec_free(&found->damaged);
}

bool new_commits_is_broken(const struct new_commits *found, const char *digits)
{
    return text_is_among(digits, found->broken.at, found->broken.count);
}
