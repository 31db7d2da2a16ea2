/* The form of the small files in a git directory, as strict as git writes them. */
#include "git/judge_form.h"

#include <ctype.h>
#include <string.h>

#include "base/attr.h"
#include "base/map.h"
#include "git/index.h"
#include "git/judge.h"
#include "git/refs.h"

/* Takes a line off the text, without its newline. Returns false at the end, and where the last line has no newline. */
static bool next_line(struct bytes *text, struct bytes *ret_line)
{
    const char *end = text->size ? memchr(text->at, '\n', text->size) : NULL;
    if (!end)
        return false;
    *ret_line = bytes_of(text->at, (size_t)(end - text->at));
    *text = bytes_after(*text, ret_line->size + 1);
    return true;
}

/* --- refs -------------------------------------------------------------------------------------------------------------------- */

static bool component_is_sound(struct bytes name)
{
    static const char lock[] = ".lock";
    size_t of_lock = strlen(lock);
    return name.size && name.at[0] != '.' &&
           (name.size < of_lock || memcmp(name.at + name.size - of_lock, lock, of_lock) != 0);
}

/* git's check_refname_format(), for a ref below refs/. */
static bool ref_is_sound(struct bytes ref)
{
    if (!bytes_start_with(ref, "refs/") || ref.size >= GIT_REF_LARGEST || ref.at[ref.size - 1] == '.')
        return false;
    for (size_t i = 0; i < ref.size; i++) {
        unsigned char byte = (unsigned char)ref.at[i];
        char next = i + 1 < ref.size ? ref.at[i + 1] : '\0';
        if (byte <= ' ' || byte == 127 || strchr("~^:?*[\\", byte) || (byte == '.' && next == '.') ||
            (byte == '@' && next == '{'))
            return false;
    }
    for (struct bytes rest = ref;;) {
        const char *slash = memchr(rest.at, '/', rest.size);
        struct bytes name = bytes_of(rest.at, slash ? (size_t)(slash - rest.at) : rest.size);
        if (!component_is_sound(name))
            return false;
        if (!slash)
            return true;
        rest = bytes_after(rest, name.size + 1);
    }
}

bool git_ref_is_sound(const char *ref)
{
    return ref_is_sound(bytes_of(ref, strlen(ref)));
}

bool git_symbolic_parse(struct bytes text, struct bytes *ret_ref)
{
    if (!bytes_start_with(text, "ref:"))
        return false;
    text = bytes_after(text, strlen("ref:"));
    while (text.size && (*text.at == ' ' || *text.at == '\t'))
        text = bytes_after(text, 1);
    while (text.size && isspace((unsigned char)text.at[text.size - 1]))
        text.size--;
    *ret_ref = text;
    return true;
}

bool git_form_position(struct bytes text)
{
    struct git_position position;
    return git_position_take_small(&text, &position) &&
           (text.size == 0 || (text.size == 1 && *text.at == '\n'));
}

bool git_form_ref(struct bytes text)
{
    struct bytes ref;
    return git_symbolic_parse(text, &ref) ? ref_is_sound(ref) : git_form_position(text);
}

/* Where the refs are kept in tables, HEAD says nothing, in these words. */
bool git_form_head(struct bytes text)
{
    static const char none[] = "ref: refs/heads/.invalid\n";
    return bytes_equal(text, bytes_of(none, strlen(none))) || git_form_ref(text);
}

bool git_form_no_refs(struct bytes text)
{
    static const char none[] = "this repository uses the reftable format\n";
    return bytes_equal(text, bytes_of(none, strlen(none)));
}

bool git_form_positions(struct bytes text)
{
    struct git_position position;
    struct bytes line;
    while (next_line(&text, &line)) {
        if (!git_position_take_small(&line, &position) || line.size)
            return false;
    }
    return text.size == 0 || git_form_position(text);
}

/* Also for refs that are not kept below refs/: several hashes (of a merge), one, or the name of a ref. */
bool git_form_pseudo_ref(struct bytes text)
{
    return text.size && (git_form_ref(text) || git_form_positions(text));
}

bool git_packed_is_sound(const struct git_packed_line *line)
{
    return line->is_plain &&
           (line->kind == GIT_PACKED_PEELED || (line->kind == GIT_PACKED_REF && ref_is_sound(line->name)));
}

static int order_of(struct bytes one, struct bytes two)
{
    size_t shorter = one.size < two.size ? one.size : two.size;
    int order = shorter ? memcmp(one.at, two.at, shorter) : 0;
    return order ? order : (one.size > two.size) - (one.size < two.size);
}

/*
 * If the first line says that the refs are sorted, git uses a binary search, and would miss one that is out of order. Otherwise git sorts
 * them. Of a name that is there twice, nobody can tell which line git takes: `names` has those of a text that is not sorted.
 */
static bool are_packed_refs(struct bytes text, struct map *names)
{
    struct git_packed_line line;
    struct bytes last = {0};
    bool is_sorted = false;
    if (text.size && text.at[text.size - 1] != '\n')
        return false;
    for (struct bytes rest = text; git_packed_next(&rest, &line);) {
        if (line.kind == GIT_PACKED_COMMENT && line.text.at == text.at) {
            static const char sorted[] = " sorted";
            if (!bytes_start_with(line.text, "# pack-refs with:"))
                return false;
            is_sorted = memmem(line.text.at, line.text.size, sorted, strlen(sorted)) != NULL;
            continue;
        }
        if (!git_packed_is_sound(&line) || (line.kind == GIT_PACKED_PEELED && !bytes_known(last)))
            return false;
        if (line.kind == GIT_PACKED_PEELED)
            continue;
        if (is_sorted && bytes_known(last) && order_of(last, line.name) >= 0)
            return false;
        void **place = is_sorted ? NULL : map_at(names, line.name.at, line.name.size);
        if (place && *place)
            return false;
        if (place)
            *place = names;
        last = line.name;
    }
    return true;
}

bool git_form_packed_refs(struct bytes text)
{
    struct map names = {0};
    bool is_form = are_packed_refs(text, &names);
    map_free(&names);
    return is_form;
}

/* "OLD NEW NAME <MAIL> TIME ZONE", and perhaps a tab and what was done. */
bool git_logged_parse(struct bytes line, struct git_position *ret_old, struct git_position *ret_new)
{
    if (!git_position_take_small(&line, ret_old) || !bytes_start_with(line, " "))
        return false;
    line = bytes_after(line, 1);
    return git_position_take_small(&line, ret_new) && bytes_start_with(line, " ") &&
           !memchr(line.at, '\0', line.size) && strlen(ret_old->digits) == strlen(ret_new->digits);
}

bool git_form_reflog(struct bytes text)
{
    struct git_position old, new;
    struct bytes line;
    while (next_line(&text, &line)) {
        if (!git_logged_parse(line, &old, &new))
            return false;
    }
    return text.size == 0;
}

/* "HASH<tab>for whom<tab>from where". */
bool git_form_fetched(struct bytes text)
{
    struct git_position position;
    struct bytes line;
    while (next_line(&text, &line)) {
        if (!git_position_take_small(&line, &position) || !bytes_start_with(line, "\t") ||
            memchr(line.at, '\0', line.size))
            return false;
    }
    return text.size == 0;
}

/* --- texts ------------------------------------------------------------------------------------------------------------------- */

bool git_form_text(struct bytes text)
{
    return text.size == 0 || !memchr(text.at, '\0', text.size);
}

bool git_form_merge_mode(struct bytes text)
{
    static const char only[] = "no-ff";
    return text.size == 0 ||
           (bytes_start_with(text, only) && (text.size == strlen(only) || text.at[strlen(only)] == '\n'));
}

/*
 * Conflicts whose resolution git records: "HASH[.NUMBER]<tab>PATH<nul>" each. git opens those paths, and writes a recorded resolution
 * into them, without asking whether an index could hold them.
 */
bool git_form_conflicts(struct bytes text)
{
    struct git_position position;
    while (text.size) {
        const char *end = memchr(text.at, '\0', text.size);
        struct bytes rest = text;
        if (!end || !git_position_take_small(&rest, &position))
            return false;
        if (bytes_start_with(rest, "."))
            rest = bytes_after(rest, 1);
        while (rest.size && isdigit((unsigned char)*rest.at))
            rest = bytes_after(rest, 1);
        if (!bytes_start_with(rest, "\t") || !git_path_is_allowed(rest.at + 1, 0100644))
            return false;
        text = bytes_after(text, (size_t)(end - text.at) + 1);
    }
    return true;
}
