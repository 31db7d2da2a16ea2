#include <string.h>

#include "base/text.h"
#include "git/push.h"

enum { LONGEST_HEAD = 128 }; /* "HASH commit SIZE" */

void ancestry_begin(struct ancestry *ancestry, const struct push_command *command)
{
    *ancestry = (struct ancestry){.before = command->before, .digits = strlen(command->before.digits)};
    *map_at(&ancestry->reached, arena_str(&ancestry->arena, command->after.digits), ancestry->digits) =
        ancestry;
}

void ancestry_free(struct ancestry *ancestry)
{
    map_free(&ancestry->reached);
    buf_free(&ancestry->pending);
    arena_free(&ancestry->arena);
}

/* The lines "parent HASH" of a commit, which come right after its tree. */
static void take_parents(struct ancestry *ancestry, struct bytes content)
{
    struct bytes line;
    if (!bytes_take_line(&content, &line) || !bytes_start_with(line, "tree "))
        return;
    while (bytes_take_line(&content, &line) && bytes_start_with(line, "parent ")) {
        struct git_position parent;
        struct bytes rest = bytes_after(line, strlen("parent "));
        if (!git_position_take_small(&rest, &parent) || rest.size ||
            strlen(parent.digits) != ancestry->digits)
            return;
        ancestry->is_proven |= strcmp(parent.digits, ancestry->before.digits) == 0;
        if (ancestry->reached.count >= ANCESTRY_MOST_COMMITS) {
            ancestry->has_failed = true;
            return;
        }
        if (!map_get(&ancestry->reached, parent.digits, ancestry->digits))
            *map_at(&ancestry->reached, arena_str(&ancestry->arena, parent.digits), ancestry->digits) =
                ancestry;
    }
}

/* "HASH commit SIZE": the hash, and the size of what follows it. */
static bool read_head(const struct ancestry *ancestry, struct bytes head, struct git_position *ret_name,
                      size_t *ret_size)
{
    uint64_t size = 0;
    char text[LONGEST_HEAD + 1];
    if (!git_position_take_small(&head, ret_name) || strlen(ret_name->digits) != ancestry->digits ||
        !bytes_start_with(head, " commit "))
        return false;
    head = bytes_after(head, strlen(" commit "));
    memcpy(text, head.at, head.size);
    text[head.size] = '\0';
    const char *end = text;
    if (!text_take_number(&end, &size) || *end || size > ANCESTRY_LARGEST_COMMIT)
        return false;
    *ret_size = (size_t)size;
    return true;
}

/* Takes one commit off the front. Returns how many bytes it has; 0: it is not whole yet. */
static size_t take_commit(struct ancestry *ancestry, struct bytes bytes)
{
    struct git_position name;
    size_t size = 0;
    const char *end = memchr(bytes.at, '\n', bytes.size < LONGEST_HEAD ? bytes.size : LONGEST_HEAD);
    if (!end) {
        ancestry->has_failed |= bytes.size >= LONGEST_HEAD;
        return 0;
    }
    struct bytes head = bytes_of(bytes.at, (size_t)(end - bytes.at));
    if (!read_head(ancestry, head, &name, &size)) {
        ancestry->has_failed = true;
        return 0;
    }
    if (bytes.size < head.size + 1 + size + 1)
        return 0;
    struct bytes content = bytes_of(end + 1, size);
    if (map_get(&ancestry->reached, name.digits, ancestry->digits) &&
        git_object_is("commit", content, name.digits, ancestry->digits))
        take_parents(ancestry, content);
    return head.size + 1 + size + 1;
}

void ancestry_take(struct ancestry *ancestry, struct bytes bytes)
{
    if (ancestry->is_proven || ancestry->has_failed || !bytes.size)
        return;
    buf_add(&ancestry->pending, bytes.at, bytes.size);
    struct bytes rest = bytes_of(ancestry->pending.bytes, ancestry->pending.size);
    for (size_t size = 1; size && rest.size && !ancestry->is_proven && !ancestry->has_failed;) {
        size = take_commit(ancestry, rest);
        rest = bytes_after(rest, size);
    }
    memmove(ancestry->pending.bytes, rest.at, rest.size);
    ancestry->pending.size = rest.size;
}
