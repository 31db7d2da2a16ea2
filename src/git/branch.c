#include "git/refs.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/text.h"
#include "git/judge.h"
#include "kernel/beneath.h"

enum { REF_LARGEST = 4096 };

bool git_branch_is_sound(const char *name)
{
    static const char *const never[] = {"..", "@{", "//", "/.", ".lock/"};
    size_t size = strlen(name);
    if (size == 0 || size > GIT_NAME_MOST - strlen("refs/heads/") || strchr("-./", name[0]) ||
        strchr("./", name[size - 1]) || strcmp(name, "HEAD") == 0 || strcmp(name, "@") == 0)
        return false;
    for (size_t i = 0; i < array_len(never); i++) {
        if (strstr(name, never[i]))
            return false;
    }
    for (size_t i = 0; i < size; i++) {
        if ((unsigned char)name[i] <= ' ' || name[i] == 127 || strchr("~^:?*[\\", name[i]))
            return false;
    }
    return size < 5 || strcmp(name + size - 5, ".lock") != 0;
}

bool git_position_parse(const char *text, struct git_position *ret_position)
{
    struct bytes rest = bytes_of(text, strlen(text));
    return git_position_take_small(&rest, ret_position) &&
           (rest.size == 0 || (rest.size == 1 && *rest.at == '\n'));
}

bool git_position_is_null(const struct git_position *position)
{
    return strspn(position->digits, "0") == strlen(position->digits);
}

static bool read_small(int git_dir_fd, const char *path, size_t most, struct buf *ret_text)
{
    auto_fd int fd = open_beneath(git_dir_fd, path, O_RDONLY | O_NONBLOCK, 0);
    return fd >= 0 && buf_read(ret_text, fd, most) == 0 && !memchr(buf_text(ret_text), '\0', ret_text->size);
}

bool git_branch_position(int git_dir_fd, const char *name, struct git_position *ret_position)
{
    char ref[GIT_NAME_MOST + 1];
    auto_buf struct buf text = {0};
    snprintf(ref, sizeof(ref), "refs/heads/%s", name);
    if (read_small(git_dir_fd, ref, REF_LARGEST, &text))
        return git_position_parse(buf_text(&text), ret_position);
    auto_buf struct buf packed = {0};
    return read_small(git_dir_fd, "packed-refs", GIT_PACKED_REFS_MOST, &packed) &&
           git_packed_position(bytes_of(buf_text(&packed), packed.size), ref, ret_position);
}

bool git_head_branch(int git_dir_fd, const char *head, char ret_name[GIT_NAME_MOST + 1])
{
    static const char start[] = "refs/heads/";
    auto_buf struct buf text = {0};
    struct bytes ref;
    if (!read_small(git_dir_fd, head, REF_LARGEST, &text) ||
        !git_symbolic_parse(bytes_of(buf_text(&text), text.size), &ref) || ref.size <= strlen(start) ||
        memcmp(ref.at, start, strlen(start)) != 0 || ref.size - strlen(start) > GIT_NAME_MOST)
        return false;
    size_t size = ref.size - strlen(start);
    memcpy(ret_name, ref.at + strlen(start), size);
    ret_name[size] = '\0';
    return git_branch_is_sound(ret_name);
}

bool git_head_position(int git_dir_fd, const char *head, struct git_position *ret_position)
{
    char name[GIT_NAME_MOST + 1];
    auto_buf struct buf text = {0};
    if (git_head_branch(git_dir_fd, head, name))
        return git_branch_position(git_dir_fd, name, ret_position);
    return read_small(git_dir_fd, head, REF_LARGEST, &text) &&
           git_position_parse(buf_text(&text), ret_position);
}
