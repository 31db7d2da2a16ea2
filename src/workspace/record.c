#include "workspace/record.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/path.h"
#include "journal/session.h"
#include "kernel/beneath.h"
#include "kernel/directories.h"
#include "workspace/checkpoint.h"

static const char *const mode_names[] = {RECORD_MODES(NAME_OF)};
static const char *const state_names[] = {RECORD_STATES(NAME_OF)};

const char *record_mode_name(enum record_mode mode)
{
    return mode_names[mode];
}

const char *record_state_name(enum record_state state)
{
    return state_names[state];
}

/* The fields of `about`, each ended by a NUL because a path may contain any other byte. */
enum field {
    FIELD_MODE,
    FIELD_STATE,
    FIELD_BEGAN,
    FIELD_ENDED,
    FIELD_CHANGES,
    FIELD_OF,
    FIELD_WORKSPACE,
    FIELD_PREFIX,
    FIELD_BOOT, /* builds before 2026-12 do not save this and what follows */
    FIELD_CLOCK_BEGAN,
    FIELD_CLOCK_ENDED,
    FIELDS
};

static void add_field(struct buf *out, const char *text)
{
    buf_add(out, text, strlen(text) + 1);
}

static void add_moment(struct buf *out, struct timespec moment)
{
    buf_printf(out, "%lld.%09ld", (long long)moment.tv_sec, moment.tv_nsec);
    buf_add_char(out, '\0');
}

void record_begin(struct record *record)
{
    clock_gettime(CLOCK_REALTIME, &record->began);
    clock_ends_begin(&record->clock);
}

void record_end(struct record *record)
{
    clock_gettime(CLOCK_REALTIME, &record->ended);
    clock_ends_end(&record->clock);
}

int record_save(int folder_fd, const struct record *record, struct err *err)
{
    auto_buf struct buf out = {0};
    add_field(&out, mode_names[record->mode]);
    add_field(&out, state_names[record->state]);
    add_moment(&out, record->began);
    add_moment(&out, record->ended);
    buf_printf(&out, "%llu", (unsigned long long)record->changes);
    buf_add_char(&out, '\0');
    add_field(&out, record->of ? record->of : "");
    add_field(&out, record->workspace);
    add_field(&out, record->prefix ? record->prefix : "");
    add_field(&out, record->clock.boot);
    add_moment(&out, record->clock.began);
    add_moment(&out, record->clock.ended);
    const struct new_file file = {
        .temporary = "about.new", .bytes = out.bytes, .size = out.size, .mode = 0600};
    return replace_file(folder_fd, "about", &file) < 0
               ? err_sys(err, errno, "cannot record the state of the session")
               : 0;
}

int record_wait_for_disk(struct store *store, int folder_fd, struct err *err)
{
    static const char *const names[] = {"before", "after", "about"};
    if (store_wait_for_disk(store, err) < 0)
        return -1;
    for (size_t i = 0; i < array_len(names); i++) {
        auto_fd int fd = openat(folder_fd, names[i], O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
        if (fd < 0 || fdatasync(fd) < 0)
            return err_sys(err, errno, "cannot record the state of the session");
    }
    return fsync(folder_fd) < 0 ? err_sys(err, errno, "cannot record the state of the session") : 0;
}

static bool find_word(const char *word, const char *const *names, size_t count, unsigned *ret_index)
{
    for (unsigned i = 0; i < count; i++) {
        if (strcmp(names[i], word) == 0) {
            *ret_index = i;
            return true;
        }
    }
    return false;
}

static struct timespec read_moment(const char *text)
{
    char *end;
    struct timespec moment = {.tv_sec = strtoll(text, &end, 10)};
    if (*end == '.')
        moment.tv_nsec = strtol(end + 1, NULL, 10);
    return moment;
}

/* What builds before 2026-11 saved. */
static const char *state_of_today(const char *word)
{
    return strcmp(word, "settling") == 0 ? record_state_name(STATE_REPLACING) : word;
}

/* Owns the descriptor; -1: there is none, for the reason in errno. */
static int load_opened(int opened_fd, struct arena *arena, struct record *ret_record, struct err *err)
{
    enum { LARGEST = PATH_LONGEST + 1024 };
    auto_fd int fd = opened_fd;
    if (fd < 0)
        return errno == ENOENT ? 0 : err_sys(err, errno, "cannot read the state of a session");
    not_zeroed char bytes[LARGEST + 1];
    ssize_t size = read(fd, bytes, LARGEST);
    if (size < 0)
        return err_sys(err, errno, "cannot read the state of a session");
    bytes[size] = '\0';
    const char *fields[FIELDS], *at = bytes;
    for (size_t i = 0; i < FIELDS; i++) {
        fields[i] = at < bytes + size ? at : "";
        at += strlen(fields[i]) + 1;
    }
    unsigned mode, state;
    if (!find_word(fields[FIELD_MODE], mode_names, array_len(mode_names), &mode) ||
        !find_word(state_of_today(fields[FIELD_STATE]), state_names, array_len(state_names), &state) ||
        *fields[FIELD_WORKSPACE] != '/')
        return err_set(err, "the state of a session is damaged");
    *ret_record = (struct record){
        .name = "",
        .mode = (enum record_mode)mode,
        .state = (enum record_state)state,
        .began = read_moment(fields[FIELD_BEGAN]),
        .ended = read_moment(fields[FIELD_ENDED]),
        .changes = strtoull(fields[FIELD_CHANGES], NULL, 10),
        .of = arena_str(arena, fields[FIELD_OF]),
        .workspace = arena_str(arena, fields[FIELD_WORKSPACE]),
        .prefix = arena_str(arena, fields[FIELD_PREFIX]),
        .clock = {.began = read_moment(fields[FIELD_CLOCK_BEGAN]),
                  .ended = read_moment(fields[FIELD_CLOCK_ENDED])},
    };
    snprintf(ret_record->clock.boot, sizeof(ret_record->clock.boot), "%s", fields[FIELD_BOOT]);
    return 1;
}

int record_load(int folder_fd, struct arena *arena, struct record *ret_record, struct err *err)
{
    return load_opened(openat(folder_fd, "about", O_RDONLY | O_NOFOLLOW | O_CLOEXEC), arena, ret_record, err);
}

/* As record_load(), without opening the folder first: a list has many. */
static int load_named(int sessions_fd, const char *name, struct arena *arena, struct record *ret_record,
                      struct err *err)
{
    char path[NAME_MAX + sizeof("/about")];
    snprintf(path, sizeof(path), "%s/about", name);
    return load_opened(open_beneath(sessions_fd, path, O_RDONLY, 0), arena, ret_record, err);
}
static void sort(record_list *records)
{
    VEC(struct session_age) ages = {0};
    record_list sorted = {0};
    for (size_t i = 0; i < records->count; i++)
        vec_push(&ages, (struct session_age){records->at[i].name, records->at[i].began, i});
    sessions_sort(ages.at, ages.count);
    for (size_t i = 0; i < ages.count; i++)
        vec_push(&sorted, records->at[ages.at[i].index]);
    vec_free(&ages);
    vec_free(records);
    *records = sorted;
}

int record_list_all(int sessions_fd, struct arena *arena, const char *workspace, record_list *ret_records,
                    struct err *err)
{
    *ret_records = (record_list){0};
    DIR *directory = directories_list(sessions_fd);
    if (!directory)
        return err_sys(err, errno, "cannot look through the sessions");
    for (const struct dirent *entry; (entry = readdir(directory));) {
        struct record record = {0};
        struct err ignored;
        if (*entry->d_name == '.')
            continue;
        if (load_named(sessions_fd, entry->d_name, arena, &record, &ignored) <= 0 || !record.workspace ||
            (workspace && strcmp(record.workspace, workspace) != 0))
            continue;
        record.name = arena_str(arena, entry->d_name);
        vec_push(ret_records, record);
    }
    closedir(directory);
    sort(ret_records);
    return 0;
}

bool record_is_over(const struct record *record)
{
    return record->state == STATE_DONE || record->state == STATE_UNDONE || record->state == STATE_DISCARDED;
}

void record_trim(int sessions_fd, struct arena *arena, const char *workspace, size_t most,
                 name_list *forgotten)
{
    struct err ignored;
    record_list records;
    if (record_list_all(sessions_fd, arena, workspace, &records, &ignored) < 0)
        return; /* the next session tries again */
    size_t over = 0;
    for (size_t i = 0; i < records.count; i++)
        over += record_is_over(&records.at[i]);
    for (size_t i = 0; i < records.count && over > most; i++) {
        auto_fd int fd = open_directory_at(sessions_fd, records.at[i].name);
        if (fd < 0 || !record_is_over(&records.at[i]) || deciding_is_under_way(fd))
            continue;
        record_forget(fd);
        if (records.at[i].state == STATE_DONE && records.at[i].changes)
            vec_push(forgotten, records.at[i].name);
        over--;
    }
    vec_free(&records);
}

bool record_is_busy(int sessions_fd, const char *name)
{
    auto_fd int fd = open_directory_at(sessions_fd, name);
    return fd >= 0 && record_has_lock(fd);
}

bool record_has_lock(int folder_fd)
{
    return flock(folder_fd, LOCK_SH | LOCK_NB) < 0;
}

uint64_t record_count_changes(const struct tree *before, const struct tree *after)
{
    change_list changes;
    compare_trees(before, after, &changes);
    uint64_t count = changes_count(&changes);
    vec_free(&changes);
    return count;
}

const char *record_trees_state(struct arena *arena, int folder_fd)
{
    static const char *const names[] = {"before", "after"};
    const char *state = "";
    for (size_t i = 0; i < array_len(names); i++) {
        struct stat status = {0};
        if (fstatat(folder_fd, names[i], &status, AT_SYMLINK_NOFOLLOW) < 0)
            continue; /* zeros are a state, too */
        state =
            arena_printf(arena, "%s%llx.%llx.%llx.%lx", i ? arena_printf(arena, "%s-", state) : "",
                         (unsigned long long)status.st_ino, (unsigned long long)status.st_size,
                         (unsigned long long)status.st_ctim.tv_sec, (unsigned long)status.st_ctim.tv_nsec);
    }
    return state;
}

int record_save_changes(int folder_fd, const struct tree *before, const struct tree *after, struct err *err)
{
    return compare_save(folder_fd, before, after, "before", "after", err);
}

void record_note(int folder_fd, const char *note)
{
    int fd = openat(folder_fd, note, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    fd_close(fd);
}

bool record_has_note(int folder_fd, const char *note)
{
    return faccessat(folder_fd, note, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

void record_forget(int folder_fd)
{
    /* `about` first: without it there is no session, and prune removes the rest. */
    static const char *const files[] = {"about",
                                        "start",
                                        "start-times",
                                        "before",
                                        "after",
                                        "about.new",
                                        "copy-start",
                                        RECORD_UNFINISHED,
                                        RECORD_REWRITTEN,
                                        RECORD_REPORTED,
                                        RECORD_WAITS,
                                        RECORD_WHOLE,
                                        RECORD_DECIDING,
                                        RECORD_OBJECTS,
                                        RECORD_PACKED,
                                        RECORD_DROPPED_BEFORE,
                                        RECORD_DROPPED_AFTER,
                                        RECORD_KEPT_WORKTREE,
                                        RECORD_KEPT_ADMIN};
    for (size_t i = 0; i < array_len(files); i++)
        unlinkat(folder_fd, files[i], 0);
    checkpoint_forget_all(folder_fd);
}
