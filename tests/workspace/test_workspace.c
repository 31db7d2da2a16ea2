/* The engine against arbitrary trees: what changed, undo and redo. See arbitrary.h. */
#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <time.h>

#include "arbitrary.h"
#include "base/fd.h"
#include "base/map.h"
#include "kernel/process.h"
#include "place.h"
#include "unit.h"
#include "workspace/judge.h"
#include "workspace/snapshot.h"
#include "workspace/upper.h"

/* Brings the tree from one state to another, insisting that it stands as `from` says. Counts what is left alone. */
static bool settle_counting(const struct tree *from, const struct tree *to, size_t *ret_kept)
{
    struct err err = {0};
    struct arena arena = {0};
    auto_store struct store store = STORE_NONE;
    auto_fd int top_fd = open(place.tree, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    judged_list judged = {0};
    struct replacement replacement = {top_fd, &store, &arena, from, to, "test", false, NULL};
    bool good = CHECK_INT(store_open(place.store, &store, &err), 0) &&
                CHECK_INT(judge_changes(&replacement, &judged, &err), 0);
    for (size_t i = 0; good && i < judged.count; i++) {
        good = judged.at[i].judgement == JUDGED_AS_BEFORE;
        if (!good)
            printf("# %s, which differs by %x, stands at %d\n", judged.at[i].change.path, judged.at[i].change.what,
                   judged.at[i].judgement);
        CHECK(good);
    }
    struct replaced replaced = {0};
    if (good && !CHECK_INT(replace_files(&replacement, &replaced, &err), 0)) {
        printf("# %s\n", err.message);
        good = false;
    }
    for (size_t i = 0; i < replaced.left_alone.count; i++)
        printf("# kept %s: %s\n", replaced.left_alone.at[i].path, replaced.left_alone.at[i].why);
    *ret_kept = replaced.left_alone.count;
    vec_free(&replaced.left_alone);
    vec_free(&judged);
    arena_free(&arena);
    return good;
}

static bool settle(const struct tree *from, const struct tree *to)
{
    size_t kept;
    return settle_counting(from, to, &kept) && CHECK_INT(kept, 0);
}

static bool same_as(const struct described *want, const char *links, const char *when)
{
    struct described got;
    describe(place.tree, true, &got);
    const char *difference = first_difference(want, &got);
    char *got_links = describe_hard_links(place.tree);
    bool good = CHECK_STR(difference, NULL) && CHECK_STR(got_links, links);
    if (!good)
        printf("# %s\n", when);
    free(got_links);
    described_free(&got);
    return good;
}

/* Which paths differ, by the two descriptions: the first word of each line that only one has. */
static void differing_paths(const struct described *a, const struct described *b, struct map *ret_paths,
                            struct arena *arena)
{
    const struct described *both[] = {a, b};
    for (int side = 0; side < 2; side++) {
        for (size_t i = 0; i < both[side]->lines.count; i++) {
            if (described_has(both[!side], both[side]->lines.at[i]))
                continue;
            const char *line = both[side]->lines.at[i];
            size_t size = strcspn(line, " ");
            *map_at(ret_paths, arena_copy(arena, line, size), size) = arena;
        }
    }
}

/* Every path that differs is a change, and every change is a path that differs, or another name of a file. */
static bool tells_what_changed(const struct tree *before, const struct tree *after, const struct described *a,
                               const struct described *b)
{
    struct arena arena = {0};
    struct map differing = {0};
    differing_paths(a, b, &differing, &arena);
    change_list changes;
    compare_trees(before, after, &changes);
    size_t found = 0;
    bool good = true;
    for (size_t i = 0; good && i < changes.count; i++) {
        struct buf hex = {0};
        add_hex(&hex, changes.at[i].path, strlen(changes.at[i].path));
        bool is_real = map_get(&differing, hex.bytes, hex.size);
        found += is_real;
        good = CHECK(is_real || changes.at[i].what == CHANGE_LINKS);
        if (!good)
            printf("# %s is no change (%x)\n", changes.at[i].path, changes.at[i].what);
        buf_free(&hex);
    }
    good = good && CHECK_INT(found, differing.count);
    vec_free(&changes);
    map_free(&differing);
    arena_free(&arena);
    return good;
}

static bool one_case(uint64_t seed)
{
    arbitrary_state = seed * 0x9e3779b97f4a7c15U + 1;
    place_make();
    for (uint64_t i = arbitrary(30); i; i--)
        do_something(place.tree);
    auto_tree struct tree before = {0}, after = {0}, again = {0};
    struct described was, became;
    describe(place.tree, true, &was);
    char *was_links = describe_hard_links(place.tree);
    bool good = CHECK_INT(snapshot(&before), 0);
    for (uint64_t i = 1 + arbitrary(20); i; i--)
        do_something(place.tree);
    describe(place.tree, true, &became);
    char *became_links = describe_hard_links(place.tree);
    good = good && CHECK_INT(snapshot(&after), 0) && tells_what_changed(&before, &after, &was, &became) &&
           settle(&after, &before) && same_as(&was, was_links, "after undo") && CHECK_INT(snapshot(&again), 0) &&
           settle(&again, &after) && same_as(&became, became_links, "after redo");
    if (!good)
        printf("# seed %" PRIu64 "\n", seed);
    free(was_links);
    free(became_links);
    described_free(&was);
    described_free(&became);
    place_remove();
    return good;
}

TEST(undo_and_redo_of_arbitrary_work_are_exact)
{
    uint64_t seed = number_from("BAWN_SEED", (uint64_t)time(NULL)), count = cases_from("BAWN_CASES", 600, 2000);
    printf("# seeds %" PRIu64 " to %" PRIu64 " (BAWN_SEED, BAWN_CASES)\n", seed, seed + count - 1);
    umask(022);
    for (uint64_t i = 0; i < count; i++) {
        if (!one_case(seed + i))
            return;
    }
}

/* Every line of the one is a line of the other. */
static const char *first_missing(const struct described *some, const struct described *all)
{
    for (size_t i = 0; i < some->lines.count; i++) {
        if (!described_has(all, some->lines.at[i]))
            return some->lines.at[i];
    }
    return NULL;
}

static bool filled_case(uint64_t seed, size_t *ret_exact)
{
    arbitrary_state = seed * 0x9e3779b97f4a7c15U + 1;
    place_make();
    for (uint64_t i = arbitrary(30); i; i--)
        do_something(place.tree);
    auto_tree struct tree before = {0}, after = {0};
    struct described was, got;
    describe(place.tree, false, &was);
    bool good = CHECK_INT(snapshot(&before), 0);
    for (uint64_t i = 1 + arbitrary(20); i; i--)
        do_something(place.tree);
    char path[112];
    for (size_t i = 0; i < before.entries.count + 100; i++) {
        snprintf(path, sizeof(path), "%s/new-%zu", place.tree, i);
        if (symlink("nowhere", path) < 0)
            abort();
    }
    size_t kept = 0, most = before.entries.count + 50;
    struct stat status;
    good = good && CHECK_INT(snapshot_within(&after, NULL, most), -1) && /* the control */
           CHECK_INT(snapshot_within(&after, &before, most), 0) && CHECK(after.is_partial) &&
           settle_counting(&after, &before, &kept);
    describe(place.tree, false, &got);
    /* A folder of new files in the place of an old one is left alone, and named. */
    good = good && (kept || CHECK_STR(first_missing(&was, &got), NULL)) && CHECK_INT(lstat(path, &status), 0);
    *ret_exact += good && !kept;
    if (!good)
        printf("# seed %" PRIu64 "\n", seed);
    described_free(&was);
    described_free(&got);
    place_remove();
    return good;
}

TEST(who_fills_a_tree_keeps_nobody_from_what_it_held)
{
    uint64_t seed = number_from("BAWN_SEED", (uint64_t)time(NULL)), count = cases_from("BAWN_CASES", 600, 2000) / 4;
    printf("# seeds %" PRIu64 " to %" PRIu64 " (BAWN_SEED, BAWN_CASES)\n", seed, seed + count - 1);
    umask(022);
    size_t exact = 0;
    for (uint64_t i = 0; i < count; i++) {
        if (!filled_case(seed + i, &exact))
            return;
    }
    CHECK(exact > count * 3 / 4);
}

/* The tree lies in memory, where the kernel does not hear of what is written through a mapping. */
TEST(what_was_written_through_a_mapping_is_a_change)
{
    struct timespec pause = {.tv_nsec = 25000000}; /* more than a tick: what is younger is read in any case */
    char path[96];
    place_make();
    snprintf(path, sizeof(path), "%s/file", place.tree);
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    CHECK_INT(write(fd, "before", 6), 6);
    nanosleep(&pause, NULL);
    auto_tree struct tree before = {0}, after = {0};
    CHECK_INT(snapshot(&before), 0);
    volatile char *mapped = mmap(NULL, 6, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    CHECK(mapped != MAP_FAILED && *mapped == 'b'); /* read once, it can be written */
    *mapped = 'B';
    change_list changes;
    CHECK_INT(snapshot(&after), 0);
    compare_trees(&before, &after, &changes);
    CHECK(changes.count == 1 && changes.at[0].what & CHANGE_CONTENT);
    vec_free(&changes);
    CHECK(settle(&after, &before));
    CHECK_INT(*mapped, 'B'); /* it was replaced, and not written */
    char content[7] = "";
    int again = open(path, O_RDONLY | O_CLOEXEC);
    CHECK_INT(read(again, content, 6), 6);
    CHECK_STR(content, "before");
    close(again);
    close(fd);
    place_remove();
}

/* --- under review ------------------------------------------------------------------------------------------------ */

static int write_text(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    ssize_t written = fd < 0 ? -1 : write(fd, text, strlen(text));
    if (fd >= 0)
        close(fd);
    return written < 0 ? -1 : 0;
}

/* A user and a mount namespace of this process's own, in which it may mount an overlay. */
static bool enter_namespaces(void)
{
    char map[64];
    uid_t uid = geteuid();
    gid_t gid = getegid();
    if (unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0)
        return false;
    snprintf(map, sizeof(map), "%u %u 1", uid, uid);
    bool mapped = write_text("/proc/self/setgroups", "deny") == 0 && write_text("/proc/self/uid_map", map) == 0;
    snprintf(map, sizeof(map), "%u %u 1", gid, gid);
    return mapped && write_text("/proc/self/gid_map", map) == 0;
}

static bool mount_overlay(const char *merged)
{
    char options[512];
    snprintf(options, sizeof(options), "lowerdir=%s,upperdir=%s/upper,workdir=%s/work,userxattr", place.tree, place.base,
             place.base);
    return mount("overlay", merged, "overlay", 0, options) == 0;
}

/* What the record says is what the merged view was, and discarding it would leave the workspace as it is. */
static bool review_case(uint64_t seed, bool *ret_mounted)
{
    arbitrary_state = seed * 0x9e3779b97f4a7c15U + 1;
    place_make();
    char merged[96], upper[96], work[96];
    snprintf(merged, sizeof(merged), "%s/merged", place.base);
    snprintf(upper, sizeof(upper), "%s/upper", place.base);
    snprintf(work, sizeof(work), "%s/work", place.base);
    mkdir(merged, 0755);
    mkdir(upper, 0755);
    mkdir(work, 0755);
    for (uint64_t i = arbitrary(30); i; i--)
        do_something(place.tree);
    struct timespec pause = {.tv_nsec = 12000000}, began; /* a tick: what was made above is older than the session */
    nanosleep(&pause, NULL);
    clock_gettime(CLOCK_REALTIME, &began);
    struct described was, became, still;
    describe(place.tree, true, &was);
    *ret_mounted = mount_overlay(merged);
    if (!*ret_mounted) {
        described_free(&was);
        place_remove();
        return true;
    }
    for (uint64_t i = 1 + arbitrary(20); i; i--)
        do_something(merged);
    describe(merged, false, &became);
    umount2(merged, MNT_DETACH);
    describe(place.tree, true, &still);
    bool good = CHECK_STR(first_difference(&was, &still), NULL);
    auto_fd int folder_fd = open(place.base, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct upper_request request = {place.store, place.tree, "", folder_fd, began};
    struct err err = {0};
    auto_tree struct tree before = {0}, after = {0};
    good = good && CHECK_INT(upper_read(&request, &err), 0) &&
           CHECK_INT(tree_load(folder_fd, "before", &before, &err), 1) &&
           CHECK_INT(tree_load(folder_fd, "after", &after, &err), 1) && settle(&before, &after);
    if (good) {
        struct described got;
        describe(place.tree, false, &got);
        good = CHECK_STR(first_difference(&became, &got), NULL);
        described_free(&got);
    }
    CHECK_INT(upper_remove(folder_fd, NULL, &err), 0);
    good = good && CHECK(access(upper, F_OK) < 0 && access(work, F_OK) < 0);
    if (!good)
        printf("# %s\n# seed %" PRIu64 "\n", err.message, seed);
    described_free(&was);
    described_free(&became);
    described_free(&still);
    place_remove();
    return good;
}

TEST(what_an_overlay_kept_aside_is_applied_exactly)
{
    uint64_t seed = number_from("BAWN_SEED", (uint64_t)time(NULL)), count = cases_from("BAWN_CASES", 600, 2000) / 4;
    printf("# seeds %" PRIu64 " to %" PRIu64 " (BAWN_SEED, BAWN_CASES)\n", seed, seed + count - 1);
    if (!enter_namespaces())
        SKIP("needs user namespaces");
    for (uint64_t i = 0; i < count; i++) {
        bool mounted;
        if (!review_case(seed + i, &mounted))
            return;
        if (!mounted)
            SKIP("needs overlayfs with extended attributes on a tmpfs (Linux 6.6)");
    }
}

/* Of two runs that begin at once, the first ever, both find the folder that one of them makes. */
TEST(runs_that_begin_at_once_share_the_folder_of_snapshots)
{
    char name[] = "/tmp/bawn-unit-XXXXXX";
    struct store store = STORE_NONE;
    if (!CHECK(mkdtemp(name)))
        return;
    store.folder_fd = open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool good = CHECK(store.folder_fd >= 0);
    for (int round = 0; good && round < 300; round++) {
        int start[2], status = 0;
        good = CHECK_INT(pipe2(start, O_CLOEXEC), 0);
        for (int i = 0; i < 4; i++) {
            if (fork() != 0)
                continue;
            struct err err;
            char byte;
            close(start[1]);
            _exit(read(start[0], &byte, 1) == 0 && snapshot_open_trees(&store, &err) >= 0 ? 0 : 1);
        }
        close(start[0]);
        close(start[1]); /* now */
        for (int i = 0; i < 4; i++)
            good = CHECK(wait(&status) > 0) && CHECK_INT(status, 0) && good;
        good = CHECK_INT(unlinkat(store.folder_fd, "trees", AT_REMOVEDIR), 0) && good;
    }
    close(store.folder_fd);
    CHECK_INT(rmdir(name), 0);
}

UNIT_MAIN()
