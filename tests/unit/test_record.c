/* What the folder of a session says of it, also where an older build wrote it. */
#include <fcntl.h>
#include <unistd.h>

#include "base/fd.h"
#include "machine.h"
#include "unit.h"
#include "workspace/record.h"

/* Saves a record, puts another word in the place of its state, and loads it. Returns what record_load() returns. */
static int load_with_state(const char *word, struct record *ret_record)
{
    static struct arena arena;
    struct err err = {0};
    const struct record saved = {
        .mode = RECORD_LIVE, .state = STATE_REPLACING, .of = "", .workspace = "/w", .prefix = ""};
    machine_make();
    auto_fd int folder = open(machine.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    CHECK_INT(record_save(folder, &saved, &err), 0);
    auto_buf struct buf old = {0}, changed = {0};
    auto_fd int fd = openat(folder, "about", O_RDWR | O_CLOEXEC);
    CHECK_INT(buf_read(&old, fd, 4096), 0);
    const char *state = memmem(buf_text(&old), old.size, "replacing", sizeof("replacing"));
    CHECK(state != NULL);
    size_t before = state ? (size_t)(state - old.bytes) : 0, after = before + strlen("replacing");
    buf_add(&changed, old.bytes, before);
    buf_add_str(&changed, word);
    buf_add(&changed, old.bytes + after, old.size - after);
    CHECK_INT(ftruncate(fd, 0), 0);
    CHECK_INT(pwrite(fd, changed.bytes, changed.size, 0), (ssize_t)changed.size);
    int loaded = record_load(folder, &arena, ret_record, &err);
    machine_remove();
    arena_free(&arena);
    return loaded;
}

TEST(the_state_settling_of_an_older_build_is_replacing)
{
    struct record record = {.state = STATE_WAITING};
    CHECK_INT(load_with_state("settling", &record), 1);
    CHECK_INT(record.state, STATE_REPLACING);
    CHECK_STR(record_state_name(record.state), "replacing");
}

TEST(a_state_that_no_build_wrote_is_refused)
{
    struct record record;
    CHECK_INT(load_with_state("replacing", &record), 1);
    CHECK_INT(load_with_state("settled!", &record), -1);
}

UNIT_MAIN()
