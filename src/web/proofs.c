#include "web/proofs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/json.h"
#include "base/text.h"
#include "kernel/beneath.h"
#include "kernel/directories.h"

enum { LINES_LARGEST = 4 * 1024 * 1024, ABOUT_LARGEST = 16 * 1024 };

static const char *proofs_path(struct arena *arena, const struct web_place *place)
{
    return arena_printf(arena, "%s/bawn/proofs", place->state);
}

typedef VEC(const char *) name_list;

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Names of folders, the oldest first: a name is a time. */
static void list_names(struct arena *arena, int folder_fd, name_list *ret_names)
{
    auto_dir DIR *folder = folder_fd < 0 ? NULL : directories_list(folder_fd);
    int trouble = 0;
    for (const struct dirent *entry; folder && (entry = directories_next(folder, &trouble));) {
        if (*entry->d_name != '.')
            vec_push(ret_names, arena_str(arena, entry->d_name));
    }
    if (ret_names->count)
        qsort(ret_names->at, ret_names->count, sizeof(*ret_names->at), by_name);
}

/* --- the actor's side ----------------------------------------------------------------------------------------------- */

static int remove_oldest(struct arena *arena, int folder_fd, struct err *err)
{
    auto_vec name_list names = {0};
    list_names(arena, folder_fd, &names);
    for (size_t i = 0; i + MOST_PROOFS <= names.count; i++) {
        if (remove_tree(folder_fd, names.at[i], err) < 0)
            return -1;
    }
    return 0;
}

/* "20261117-104512-3f9a1c": the time, and a number, since two may begin in the same second. */
static const char *make_name(struct arena *arena, struct err *err)
{
    enum { DIGITS = 6 };
    char moment[32], number[SECRET_SIZE];
    struct tm parts;
    time_t now = time(NULL);
    gmtime_r(&now, &parts);
    if (secret_make(number, err) < 0)
        return NULL;
    strftime(moment, sizeof(moment), "%Y%m%d-%H%M%S", &parts);
    return arena_printf(arena, "%s-%.*s", moment, DIGITS, number);
}

int proof_begin(struct arena *arena, const struct web_place *place, const char *program,
                const char *directory, const char **ret_name, struct err *err)
{
    auto_fd int proofs_fd = directories_open_made(proofs_path(arena, place), err);
    const char *name = make_name(arena, err);
    if (proofs_fd < 0 || !name || remove_oldest(arena, proofs_fd, err) < 0)
        return -1;
    const char *about = arena_printf(arena, "%s\n%s\n", program, directory);
    const struct new_file file = {.temporary = ".new", .bytes = about, .size = strlen(about), .mode = 0600};
    auto_fd int folder_fd = mkdirat(proofs_fd, name, 0700) < 0 ? -1 : open_directory_at(proofs_fd, name);
    auto_fd int lines_fd =
        folder_fd < 0 || replace_file(folder_fd, "about", &file) < 0
            ? -1
            : openat(folder_fd, PROOF_LINES, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_NOFOLLOW | O_CLOEXEC,
                     0600);
    if (lines_fd < 0 || flock(lines_fd, LOCK_EX) < 0)
        return err_sys(err, errno, "cannot make the folder of a proof");
    *ret_name = name;
    return fd_take(&lines_fd);
}

void proof_end(int lines_fd, int status)
{
    char line[32];
    int size = snprintf(line, sizeof(line), PROOF_END "%d\n", status);
    if (write_whole(lines_fd, line, (size_t)size) < 0)
        return; /* without this line it counts as cut off */
}

/* --- the server's side ---------------------------------------------------------------------------------------------- */

int proof_open(const struct web_place *place, const char *name)
{
    auto_arena struct arena arena = {0};
    bool is_name = *name && strspn(name, "0123456789abcdef-") == strlen(name);
    auto_fd int proofs_fd = open(proofs_path(&arena, place), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return proofs_fd < 0 || !is_name ? -1 : open_directory_at(proofs_fd, name);
}

/* Calls the text of an object's member, or "". */
static const char *member_text(struct arena *arena, struct json_value object, const char *name)
{
    struct json_value key, value;
    for (size_t at = 0; json_next_member(object, &at, &key, &value);) {
        const char *text = json_is(key, name) ? json_text(arena, value) : NULL;
        if (text)
            return text;
    }
    return "";
}

static void look_at_line(struct arena *arena, const char *line, size_t size, struct kept_proof *proof)
{
    struct json_value object;
    if (text_starts_with(line, PROOF_END)) {
        const char *at = line + strlen(PROOF_END);
        uint64_t status;
        proof->has_ended = text_take_number(&at, &status);
        proof->status = (int)status;
    } else if (json_read(line, size, &object)) {
        const char *summary = member_text(arena, object, "summary");
        proof->summary = *summary ? summary : proof->summary;
    }
}

static void look_at_about(struct arena *arena, int folder_fd, struct kept_proof *proof)
{
    auto_buf struct buf about = {0};
    auto_fd int fd = openat(folder_fd, "about", O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0 || buf_read(&about, fd, ABOUT_LARGEST) < 0)
        return;
    const char *text = buf_text(&about), *end = strchrnul(text, '\n');
    proof->program = arena_copy(arena, text, (size_t)(end - text));
    text = *end ? end + 1 : end;
    proof->workspace = arena_copy(arena, text, strcspn(text, "\n"));
}

bool proof_look(const struct web_place *place, struct arena *arena, const char *name, struct buf *ret_lines,
                struct kept_proof *ret_proof)
{
    struct stat status;
    auto_fd int folder_fd = proof_open(place, name);
    auto_fd int fd =
        folder_fd < 0 ? -1 : openat(folder_fd, PROOF_LINES, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    *ret_proof = (struct kept_proof){.name = name, .program = "", .workspace = "", .summary = ""};
    if (fd < 0)
        return false;
    /* Asked before the lines are read: one that has let the lock go has written its last line. */
    bool is_locked = flock(fd, LOCK_SH | LOCK_NB) < 0;
    look_at_about(arena, folder_fd, ret_proof);
    if (buf_read(ret_lines, fd, LINES_LARGEST) < 0)
        return false;
    const char *line = buf_text(ret_lines), *last = line + ret_lines->size;
    for (const char *end; (end = memchr(line, '\n', (size_t)(last - line))); line = end + 1)
        look_at_line(arena, line, (size_t)(end - line), ret_proof);
    ret_proof->has_report = fstatat(folder_fd, PROOF_REPORT, &status, AT_SYMLINK_NOFOLLOW) == 0;
    ret_proof->is_running = is_locked && !ret_proof->has_ended;
    return true;
}

void proofs_find(const struct web_place *place, struct arena *arena, proof_list *ret_list)
{
    auto_fd int folder_fd = open(proofs_path(arena, place), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    auto_vec name_list names = {0};
    list_names(arena, folder_fd, &names);
    for (size_t i = names.count; i--;) {
        auto_buf struct buf lines = {0};
        struct kept_proof proof;
        if (proof_look(place, arena, names.at[i], &lines, &proof))
            vec_push(ret_list, proof);
    }
}

/* A ruling has a sign as well as a word, so that it is told apart without its colour. */
static const char *sign_of(const char *verdict)
{
    static const struct {
        const char *verdict, *sign;
    } signs[] = {{"held", "✓"}, {"granted", "○"}, {"not-held", "▲"}, {"escaped", "✗"}};
    for (size_t i = 0; i < array_len(signs); i++) {
        if (strcmp(signs[i].verdict, verdict) == 0)
            return signs[i].sign;
    }
    return "–";
}

bool proof_add_row(struct html *page, struct arena *arena, const char *line, size_t size)
{
    struct json_value object;
    if (size && *line == *PROOF_END)
        return false;
    if (!json_read(line, size, &object)) {
        html_add(page, "<tr class=denied><td class=e>▲</td><td></td><td colspan=2>");
        html_add_bytes(page, line, size);
        html_add(page, "</td></tr>");
        return true;
    }
    const char *verdict = member_text(arena, object, "verdict");
    if (!*verdict)
        return true;
    bool is_bad = strcmp(verdict, "escaped") == 0 || strcmp(verdict, "not-held") == 0;
    html_add(
        page,
        "<tr class=\"%s\"><td class=e>%s %s</td><td class=dim>%s</td><td>%s</td><td class=dim>%s</td></tr>",
        is_bad ? "denied" : "plain", sign_of(verdict), verdict, member_text(arena, object, "promise"),
        member_text(arena, object, "tried"), member_text(arena, object, "remark"));
    return true;
}
