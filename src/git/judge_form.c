/* The form of the small files in a git directory, as strict as git writes them. */
#include "git/judge_form.h"

#include <ctype.h>
#include <string.h>

#include "base/attr.h"
#include "git/index.h"
#include "git/judge.h"
#include "git/refs.h"

static bool starts_with(struct bytes text, const char *start)
{
    size_t size = strlen(start);
    return text.size >= size && memcmp(text.at, start, size) == 0;
}

static struct bytes without(struct bytes text, size_t size)
{
    return bytes_of(text.at + size, text.size - size);
}

/* Takes a line off the text, without its newline. Returns false at the end, and where the last line has no newline. */
static bool next_line(struct bytes *text, struct bytes *ret_line)
{
    const char *end = text->size ? memchr(text->at, '\n', text->size) : NULL;
    if (!end)
        return false;
    *ret_line = bytes_of(text->at, (size_t)(end - text->at));
    *text = without(*text, ret_line->size + 1);
    return true;
}

/* The size of the hash at the front of a text, in digits: 40 or 64. 0: there is none. */
static size_t digits_of(struct bytes text)
{
    size_t size = 0;
    while (size < text.size && size <= GIT_DIGITS_MOST &&
           (isdigit((unsigned char)text.at[size]) || (text.at[size] >= 'a' && text.at[size] <= 'f')))
        size++;
    return size == SHA1_DIGITS || size == GIT_DIGITS_MOST ? size : 0;
}

static bool take_position(struct bytes *text, struct git_position *ret_position)
{
    size_t size = digits_of(*text);
    if (!size)
        return false;
    memcpy(ret_position->digits, text->at, size);
    ret_position->digits[size] = '\0';
    *text = without(*text, size);
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
    if (!starts_with(ref, "refs/") || ref.size >= GIT_REF_LARGEST || ref.at[ref.size - 1] == '.')
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
        rest = without(rest, name.size + 1);
    }
}

bool git_ref_is_sound(const char *ref)
{
    return ref_is_sound(bytes_of(ref, strlen(ref)));
}

bool git_symbolic_parse(struct bytes text, struct bytes *ret_ref)
{
    if (!starts_with(text, "ref:"))
        return false;
    text = without(text, strlen("ref:"));
    while (text.size && (*text.at == ' ' || *text.at == '\t'))
        text = without(text, 1);
    while (text.size && isspace((unsigned char)text.at[text.size - 1]))
        text.size--;
    *ret_ref = text;
    return true;
}

bool git_form_position(struct bytes text)
{
    struct git_position position;
    return take_position(&text, &position) && (text.size == 0 || (text.size == 1 && *text.at == '\n'));
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

bool git_shallow_line_parse(struct bytes line, struct git_position *ret_position)
{
    return take_position(&line, ret_position) && line.size == 0;
}

bool git_form_positions(struct bytes text)
{
    struct git_position position;
    struct bytes line;
    while (next_line(&text, &line)) {
        if (!git_shallow_line_parse(line, &position))
            return false;
    }
    return text.size == 0 || git_form_position(text);
}

/* Also for refs that are not kept below refs/: several hashes (of a merge), one, or the name of a ref. */
bool git_form_pseudo_ref(struct bytes text)
{
    return text.size && (git_form_ref(text) || git_form_positions(text));
}

bool git_packed_line_parse(struct bytes line, struct git_position *ret_position)
{
    bool is_peeled = line.size && *line.at == '^';
    if (is_peeled)
        line = without(line, 1);
    if (!take_position(&line, ret_position))
        return false;
    return is_peeled ? line.size == 0 : line.size > 1 && *line.at == ' ' && ref_is_sound(without(line, 1));
}

static int order_of(struct bytes one, struct bytes two)
{
    size_t shorter = one.size < two.size ? one.size : two.size;
    int order = shorter ? memcmp(one.at, two.at, shorter) : 0;
    return order ? order : (one.size > two.size) - (one.size < two.size);
}

/* Where the first line says that they are sorted, git searches them by halves, and would miss what is not in its place. */
bool git_form_packed_refs(struct bytes text)
{
    static const char sorted[] = " sorted";
    struct git_position position;
    struct bytes line, last = {0}, rest = text;
    bool is_sorted = false;
    if (text.size && *text.at == '#' && next_line(&rest, &line)) {
        if (!starts_with(line, "# pack-refs with:"))
            return false;
        is_sorted = memmem(line.at, line.size, sorted, strlen(sorted)) != NULL;
    }
    while (next_line(&rest, &line)) {
        if (!git_packed_line_parse(line, &position))
            return false;
        if (*line.at == '^') {
            if (!bytes_known(last))
                return false;
            continue;
        }
        struct bytes ref = without(line, strlen(position.digits) + 1);
        if (is_sorted && bytes_known(last) && order_of(last, ref) >= 0)
            return false;
        last = ref;
    }
    return rest.size == 0;
}

/* "OLD NEW NAME <MAIL> TIME ZONE", and perhaps a tab and what was done. */
bool git_form_reflog(struct bytes text)
{
    struct git_position old, new;
    struct bytes line;
    while (next_line(&text, &line)) {
        if (!take_position(&line, &old) || !starts_with(line, " "))
            return false;
        line = without(line, 1);
        if (!take_position(&line, &new) || !starts_with(line, " ") || memchr(line.at, '\0', line.size) ||
            strlen(old.digits) != strlen(new.digits))
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
        if (!take_position(&line, &position) || !starts_with(line, "\t") || memchr(line.at, '\0', line.size))
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
           (starts_with(text, only) && (text.size == strlen(only) || text.at[strlen(only)] == '\n'));
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
        if (!end || !take_position(&rest, &position))
            return false;
        if (starts_with(rest, "."))
            rest = without(rest, 1);
        while (rest.size && isdigit((unsigned char)*rest.at))
            rest = without(rest, 1);
        if (!starts_with(rest, "\t") || !git_path_is_allowed(rest.at + 1, 0100644))
            return false;
        text = without(text, (size_t)(end - text.at) + 1);
    }
    return true;
}
