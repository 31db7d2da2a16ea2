#include "home/memory.h"

#include <fcntl.h>
#include <inttypes.h>
#include <string.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/path.h"
#include "home/files.h"

/* Each record is LOOK, a space, PATH and a NUL. */
enum { LARGEST = 16 * 1024 * 1024, FEWEST_NUMBERS = 6, MOST_NUMBERS = 7 };

static void add(struct memory *memory, struct remembered entry)
{
    vec_push(&memory->entries, entry);
    *map_at(&memory->by_path, entry.path, strlen(entry.path)) = (void *)entry.look;
}

/* The size of the look at the start of the text, or 0. */
static size_t look_size(const char *text)
{
    size_t size = 0;
    for (int numbers = 1; numbers <= MOST_NUMBERS; numbers++) {
        size_t digits = strspn(text + size, "0123456789");
        size += digits + 1;
        if (digits && text[size - 1] == ' ' && numbers >= FEWEST_NUMBERS)
            return size - 1;
        if (!digits || text[size - 1] != '.')
            return 0;
    }
    return 0;
}

/* Could bawn have written the path? It has no "..". */
static bool is_sound(const char *path)
{
    for (const char *name = path; *name == '/';) {
        size_t size = strcspn(++name, "/");
        if (size == 0 || (name[0] == '.' && (size == 1 || (size == 2 && name[1] == '.'))))
            return false;
        name += size;
        if (!*name)
            return true;
    }
    return false;
}

void memory_parse(struct memory *memory, struct arena *arena, const char *text, size_t size)
{
    *memory = (struct memory){.arena = arena};
    const char *copy = arena_copy(arena, text, size);
    for (const char *at = copy; at < copy + size; at += strlen(at) + 1) {
        size_t look = look_size(at);
        const char *path = at + look + 1;
        if (look == 0 || !is_sound(path) || strlen(path) >= PATH_LONGEST || memory_find(memory, path) ||
            at + strlen(at) == copy + size) {
            memory_free(memory);
            return;
        }
        add(memory, (struct remembered){path, arena_copy(arena, at, look)});
    }
    memory->text = copy;
    memory->size = size;
}

void memory_load(struct memory *memory, struct arena *arena, int state_fd)
{
    auto_fd int fd = openat(state_fd, MEMORY_NAME, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    auto_buf struct buf text = {0};
    if (fd >= 0)
        buf_read(&text, fd, LARGEST);
    memory_parse(memory, arena, buf_text(&text), text.size);
}

int memory_save(const struct memory *memory, const struct memory *before, int state_fd, struct err *err)
{
    auto_buf struct buf text = {0};
    for (size_t i = 0; i < memory->entries.count; i++) {
        buf_printf(&text, "%s %s", memory->entries.at[i].look, memory->entries.at[i].path);
        buf_add_char(&text, '\0');
    }
    if (before->text && before->size == text.size && memcmp(before->text, buf_text(&text), text.size) == 0)
        return 0;
    return files_replace(state_fd, MEMORY_NAME, buf_text(&text), text.size, err);
}

void memory_free(struct memory *memory)
{
    vec_free(&memory->entries);
    map_free(&memory->by_path);
    memory->by_path = (struct map){0};
}

const char *memory_find(const struct memory *memory, const char *path)
{
    return map_get(&memory->by_path, path, strlen(path));
}

/* The last number is for sifted files: with other lists, the file is made again. */
static const char *look_of(struct arena *arena, const struct stat *status, unsigned sifted)
{
    const char *look =
        arena_printf(arena, "%" PRIu64 ".%" PRIu64 ".%" PRIu64 ".%" PRIu64 ".%" PRIu64 ".%" PRIu64,
                     (uint64_t)status->st_size, (uint64_t)status->st_ino, (uint64_t)status->st_mtim.tv_sec,
                     (uint64_t)status->st_mtim.tv_nsec, (uint64_t)status->st_ctim.tv_sec,
                     (uint64_t)status->st_ctim.tv_nsec);
    return sifted ? arena_printf(arena, "%s.%u", look, sifted) : look;
}

bool memory_has(const struct memory *memory, const char *path, const struct stat *status, unsigned sifted)
{
    const char *look = memory_find(memory, path);
    return look && strcmp(look, look_of(memory->arena, status, sifted)) == 0;
}

void memory_add(struct memory *memory, const char *path, const struct stat *status, unsigned sifted)
{
    add(memory, (struct remembered){path, look_of(memory->arena, status, sifted)});
}
