/*
 * Undo and prune, ended at each system call that could change something: killed, or told that the disk is full, once or from then on. Whatever the call,
 * every file is then either old or new, and the next command finishes the work or has taken it back; nothing that waits
 * has lost a content. And undo, met by an editor that saves files at such a call: what it saved stays.
 */
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/fd.h"
#include "place.h"
#include "unit.h"
#include "git/repo.h"
#include "workspace/prune.h"
#include "workspace/transition.h"

/* Calls that write, of those that this program makes; of openat only with O_CREAT. */
static const int write_like[] = {
    SYS_write,     SYS_pwrite64, SYS_ftruncate, SYS_renameat2, SYS_unlinkat,  SYS_mkdirat,     SYS_symlinkat,
    SYS_linkat,    SYS_mknodat,  SYS_fchmod,    SYS_fchmodat,  SYS_fchown,    SYS_utimensat,   SYS_fsetxattr,
    SYS_fremovexattr, SYS_fdatasync, SYS_fsync,
#ifdef SYS_renameat
    SYS_renameat,
#endif
#ifdef SYS_rename
    SYS_rename,
#endif
};

/* From here on each of these calls waits for the word of whoever holds the descriptor. */
static int watch_writes(void)
{
    enum { CALLS = sizeof(write_like) / sizeof(*write_like) };
    struct sock_filter program[CALLS + 8];
    size_t count = 0;
    program[count++] =
        (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    for (size_t i = 0; i < CALLS; i++)
        program[count++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)write_like[i],
                                                        (unsigned char)(CALLS - i + 3), 0);
    program[count++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 0, 2);
    program[count++] =
        (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2]));
    program[count++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, O_CREAT, 1, 0);
    program[count++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    program[count++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF);
    struct sock_fprog filter = {(unsigned short)count, program};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        return -1;
    return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &filter);
}

static void send_fd(int socket_fd, int fd)
{
    char byte = 'f', room[CMSG_SPACE(sizeof(int))] = {0};
    struct iovec part = {&byte, 1};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof(room)};
    struct cmsghdr *head = CMSG_FIRSTHDR(&message);
    *head = (struct cmsghdr){.cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(sizeof(int))};
    memcpy(CMSG_DATA(head), &fd, sizeof(fd));
    if (sendmsg(socket_fd, &message, 0) < 0)
        _exit(9);
}

static int receive_fd(int socket_fd)
{
    char byte, room[CMSG_SPACE(sizeof(int))];
    struct iovec part = {&byte, 1};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof(room)};
    int fd = -1;
    if (recvmsg(socket_fd, &message, MSG_CMSG_CLOEXEC) == 1 && CMSG_FIRSTHDR(&message))
        memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(fd));
    return fd;
}

enum fault { FAULT_KILL, FAULT_FULL, FAULT_STAYS_FULL, FAULT_SAVE };

static void save_all(void);

/* On a full disk something can be removed, and what is no file of the disk can be written. */
static bool needs_room(const struct seccomp_notif *notice)
{
    char link[64], target[4096];
    int call = notice->data.nr;
    if (call == SYS_unlinkat || call == SYS_fchmod || call == SYS_fchmodat || call == SYS_fsync || call == SYS_fdatasync)
        return false;
    if (call != SYS_write && call != SYS_pwrite64)
        return true;
    snprintf(link, sizeof(link), "/proc/%u/fd/%llu", notice->pid, (unsigned long long)notice->data.args[0]);
    ssize_t size = readlink(link, target, sizeof(target) - 1);
    return size > 0 && strncmp(target, place.base, strlen(place.base)) == 0;
}

/* Lets calls pass until the n-th, which gets the fault. Returns whether there was an n-th. */
static bool supervise(pid_t child, int listener, unsigned long number, enum fault fault)
{
    bool happened = false;
    /* Before Linux 6.11 the listener does not tell of the end of a process that nobody has waited for. */
    auto_fd int ended = (int)syscall(SYS_pidfd_open, child, 0);
    for (unsigned long seen = 0;;) {
        struct pollfd ready[] = {{.fd = listener, .events = POLLIN}, {.fd = ended, .events = POLLIN}};
        if (poll(ready, 2, -1) < 0 || !(ready[0].revents & POLLIN))
            return happened;
        struct seccomp_notif notice = {0};
        if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &notice) < 0)
            continue;
        struct seccomp_notif_resp answer = {.id = notice.id, .flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE};
        if (++seen > number && fault == FAULT_STAYS_FULL && needs_room(&notice))
            answer = (struct seccomp_notif_resp){.id = notice.id, .error = -ENOSPC};
        if (seen == number) {
            happened = true;
            if (fault == FAULT_KILL) {
                kill(-child, SIGKILL);
                return true;
            }
            if (fault == FAULT_FULL || (fault == FAULT_STAYS_FULL && needs_room(&notice)))
                answer = (struct seccomp_notif_resp){.id = notice.id, .error = -ENOSPC};
            else if (fault == FAULT_SAVE)
                save_all();
        }
        if (ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &answer) < 0)
            continue; /* whoever waited is gone */
    }
}

static struct {
    struct tree before, after;
    struct described was, became; /* contents before and after the work that is undone */
    struct described was_exactly;
    int folder_fd;
} work;

/* The same tree, and the same work on it, every time. */
static bool prepare(uint64_t seed)
{
    arbitrary_state = seed * 0x9e3779b97f4a7c15U + 1;
    place_make();
    for (int i = 0; i < 25; i++)
        do_something(place.tree);
    describe_contents(place.tree, &work.was);
    describe(place.tree, true, &work.was_exactly);
    bool good = snapshot(&work.before) == 0;
    for (int i = 0; i < 12; i++)
        do_something(place.tree);
    describe_contents(place.tree, &work.became);
    char folder[96];
    snprintf(folder, sizeof(folder), "%s/session", place.base);
    mkdir(folder, 0700);
    work.folder_fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return good && snapshot(&work.after) == 0;
}

static void put_away(void)
{
    tree_free(&work.before);
    tree_free(&work.after);
    described_free(&work.was);
    described_free(&work.became);
    described_free(&work.was_exactly);
    close(work.folder_fd);
    place_remove();
}

/* --- an editor, in that very moment --------------------------------------------------------------------------------- */

static VEC(char *) saved;
static size_t saved_in_all;
static size_t left_half_done; /* and finished later */

static void save(const char *path)
{
    char whole[6000], aside[96];
    struct stat status;
    snprintf(whole, sizeof(whole), "%s/%s", place.tree, path);
    snprintf(aside, sizeof(aside), "%s/saved", place.base);
    if (lstat(whole, &status) < 0 || !S_ISREG(status.st_mode))
        return;
    int fd = open(aside, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (fd < 0 || write(fd, "the user's", 10) != 10 || close(fd) < 0)
        abort();
    if (rename(aside, whole) == 0)
        vec_push(&saved, strdup(whole));
}

/* Whatever is there of what is about to be undone gets a new content, as an editor would give it one. */
static void save_all(void)
{
    for (size_t i = 0; i < work.after.entries.count; i++) {
        const struct entry *was = tree_find(&work.before, work.after.entries.at[i].path);
        /* Who writes git's files takes git's locks. */
        if (!git_has_lock(work.after.entries.at[i].path) && (!was || entries_differ(was, &work.after.entries.at[i])))
            save(work.after.entries.at[i].path);
    }
}

static bool is_as_saved(const char *path)
{
    char text[16] = "";
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    ssize_t size = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
    if (fd >= 0)
        close(fd);
    return size == 10 && strcmp(text, "the user's") == 0;
}

static int undo(struct err *err)
{
    struct arena arena = {0};
    struct transition transition = {
        .directory = place.store, .workspace = place.tree, .from = &work.after, .to = &work.before};
    struct record record = {.name = "fault-1", .mode = RECORD_UNDO, .workspace = place.tree, .of = ""};
    decision_list decisions = {0};
    struct replaced replaced = {0};
    int result = transition_decide(&transition, &arena, &decisions, err);
    if (result == 0)
        result = transition_run(&transition, &arena, &decisions, work.folder_fd, &record, &replaced, err);
    vec_free(&decisions);
    vec_free(&replaced.left_alone);
    arena_free(&arena);
    return result;
}

/* What the next bawn command does. Returns the state that the session is in afterwards; -1: it never began. */
static int finish(size_t *ret_kept)
{
    struct arena arena = {0};
    struct record record;
    struct err err = {0};
    struct replaced replaced = {0};
    int state = -1;
    *ret_kept = 0;
    if (record_load(work.folder_fd, &arena, &record, &err) == 1) {
        record.name = "fault-1";
        state = (int)record.state;
        if (record.state == STATE_REPLACING) {
            CHECK_INT(transition_finish(place.store, work.folder_fd, &arena, &record, &replaced, &err), 0);
            state = (int)record.state;
            *ret_kept = replaced.left_alone.count;
            for (size_t i = 0; i < replaced.left_alone.count; i++)
                printf("# kept %s: %s\n", replaced.left_alone.at[i].path, replaced.left_alone.at[i].why);
            vec_free(&replaced.left_alone);
        }
    }
    arena_free(&arena);
    return state;
}

/* Each file is as before or as after; what is not whole yet has a name of its own. */
static bool every_file_is_old_or_new(void)
{
    struct described now;
    describe_contents(place.tree, &now);
    bool good = true;
    for (size_t i = 0; i < now.lines.count; i++) {
        char *line = now.lines.at[i];
        static const char aside[] = "2e6261776e2d", lock[] = "2e6c6f636b "; /* .bawn-, and .lock at the end */
        bool is_known = described_has(&work.was, line) || described_has(&work.became, line);
        if (!is_known && !strstr(line, aside) && !strstr(line, lock)) {
            printf("# torn: %s\n", line);
            good = false;
        }
    }
    /* Nothing that is both in the old and in the new state is ever missing. */
    for (size_t i = 0; i < work.was.lines.count; i++) {
        char *line = work.was.lines.at[i];
        if (described_has(&work.became, line) && !described_has(&now, line)) {
            printf("# lost: %s\n", line);
            good = false;
        }
    }
    described_free(&now);
    return good;
}

/* Runs it in a child, with the fault at its n-th call. Returns whether there was one. */
static bool run_with_fault(int (*run)(struct err *err), unsigned long number, enum fault fault,
                           int *ret_status)
{
    int sockets[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) < 0)
        return false;
    pid_t child = fork();
    if (child == 0) {
        struct err err = {0};
        setpgid(0, 0);
        int listener = watch_writes();
        if (listener < 0)
            _exit(9);
        send_fd(sockets[1], listener);
        close(listener);
        _exit(run(&err) < 0 ? 1 : 0);
    }
    setpgid(child, child);
    close(sockets[1]);
    auto_fd int listener = receive_fd(sockets[0]);
    close(sockets[0]);
    bool happened = CHECK(listener >= 0) && supervise(child, listener, number, fault);
    waitpid(child, ret_status, 0);
    return happened;
}

/* Returns false when there was no n-th call any more, or a check failed. */
static bool one_fault(uint64_t seed, unsigned long number, enum fault fault)
{
    if (!CHECK(prepare(seed)))
        return false;
    int status = 0;
    bool happened = run_with_fault(undo, number, fault, &status);
    bool good = CHECK(every_file_is_old_or_new());
    size_t kept;
    int state = finish(&kept);
    good = good && CHECK_INT(kept, 0);
    struct described now;
    describe_contents(place.tree, &now);
    bool is_done = state == STATE_DONE, was_told = WIFEXITED(status) && WEXITSTATUS(status) == 1;
    good = good && CHECK_STR(first_difference(is_done ? &work.was : &work.became, &now), NULL);
    /* It says that it is done exactly when it is. */
    if (fault == FAULT_FULL && happened)
        good = good && CHECK(WIFEXITED(status) && (was_told || is_done));
    described_free(&now);
    if (!good)
        printf("# seed %" PRIu64 ", call %lu, %s, state %d\n", seed, number, fault == FAULT_KILL ? "killed" : "full",
               state);
    put_away();
    return good && happened;
}

/* The next bawn command, which may fail. */
static int try_to_finish(struct err *err)
{
    struct arena arena = {0};
    struct record record;
    struct replaced replaced = {0};
    int result = record_load(work.folder_fd, &arena, &record, err);
    record.name = "fault-1";
    if (result == 1 && record.state == STATE_REPLACING)
        result = transition_finish(place.store, work.folder_fd, &arena, &record, &replaced, err);
    vec_free(&replaced.left_alone);
    arena_free(&arena);
    return result < 0 ? -1 : 0;
}

/* Nothing can be written from the n-th call on, nor by the next command, nor by the one after it; then there is room. */
static bool one_that_stays_full(uint64_t seed, unsigned long number, enum fault fault)
{
    if (!CHECK(prepare(seed)))
        return false;
    int status = 0;
    size_t kept;
    bool happened = run_with_fault(undo, number, fault, &status), good = CHECK(every_file_is_old_or_new());
    for (int i = 0; i < 2; i++) {
        run_with_fault(try_to_finish, 1, fault, &status);
        good = CHECK(WIFEXITED(status)) && CHECK(every_file_is_old_or_new()) && good;
    }
    int state = finish(&kept);
    struct described now;
    describe_contents(place.tree, &now);
    good = good && CHECK_INT(kept, 0) &&
           CHECK_STR(first_difference(state == STATE_DONE ? &work.was : &work.became, &now), NULL);
    described_free(&now);
    left_half_done += state == STATE_DONE && happened;
    if (!good)
        printf("# seed %" PRIu64 ", full from call %lu on, state %d\n", seed, number, state);
    put_away();
    return good && happened;
}

/* Returns false when there was no n-th call any more, or a check failed. */
static bool one_save(uint64_t seed, unsigned long number, enum fault fault)
{
    if (!CHECK(prepare(seed)))
        return false;
    int status = 0;
    bool happened = run_with_fault(undo, number, fault, &status), good = CHECK(WIFEXITED(status));
    for (size_t i = 0; i < saved.count; i++) {
        good = CHECK(is_as_saved(saved.at[i])) && good;
        if (!good)
            printf("# %s is lost, which was saved at call %lu; seed %" PRIu64 "\n", saved.at[i], number, seed);
        free(saved.at[i]);
    }
    saved_in_all += saved.count;
    vec_free(&saved);
    put_away();
    return good && happened;
}

/* --- prune ------------------------------------------------------------------------------------------------------- */

static struct {
    int sessions_fd, old_fd, waiting_fd;
} pruned_place;

static int make_session(const char *name, enum record_state state, const struct tree *before,
                        const struct tree *after)
{
    struct err err = {0};
    struct record record = {.mode = state == STATE_WAITING ? RECORD_REVIEW : RECORD_LIVE,
                            .state = state,
                            .began.tv_sec = 1000,
                            .ended.tv_sec = 2000,
                            .workspace = place.tree};
    mkdirat(pruned_place.sessions_fd, name, 0700);
    int fd = openat(pruned_place.sessions_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    CHECK_INT(record_save_changes(fd, before, after, &err), 0);
    CHECK_INT(record_save(fd, &record, &err), 0);
    return fd;
}

/* An old session that is over, and one that waits; what the first one needs, the second one needs in part. */
static bool prepare_prune(uint64_t seed)
{
    bool good = prepare(seed);
    char path[96];
    snprintf(path, sizeof(path), "%s/sessions", place.base);
    mkdir(path, 0700);
    pruned_place.sessions_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    pruned_place.old_fd = make_session("old-1", STATE_DONE, &work.before, &work.after);
    for (int i = 0; i < 12; i++)
        do_something(place.tree);
    auto_tree struct tree latest = {0};
    good = good && snapshot(&latest) == 0;
    pruned_place.waiting_fd = make_session("waits-1", STATE_WAITING, &work.after, &latest);
    return good;
}

static int prune_once(struct err *err)
{
    struct arena arena = {0};
    struct pruned pruned;
    struct prune_request request = {.store = place.store,
                                    .sessions_fd = pruned_place.sessions_fd,
                                    .oldest_seconds = 3000,
                                    .most_bytes = UINT64_MAX,
                                    .is_thorough = true};
    int result = prune(&request, &arena, &pruned, err);
    pruned_free(&pruned);
    arena_free(&arena);
    return result;
}

/* Each content that the waiting session names can be read, and has its hash. */
static bool waiting_is_whole(void)
{
    static const char *const names[] = {"before", "after"};
    auto_store struct store store = STORE_NONE;
    struct err err = {0};
    bool good = CHECK_INT(store_open(place.store, &store, &err), 0);
    for (size_t i = 0; good && i < array_len(names); i++) {
        auto_tree struct tree tree = {0};
        good = CHECK_INT(tree_load(pruned_place.waiting_fd, names[i], &tree, &err), 1);
        for (size_t j = 0; good && j < tree.entries.count; j++) {
            auto_buf struct buf bytes = {0};
            if (tree.entries.at[j].content == CONTENT_STORED)
                good = CHECK(store_read(&store, &tree.entries.at[j].blob, SIZE_MAX, &bytes, &err) == 1);
        }
    }
    return good;
}

static bool one_fault_of_prune(uint64_t seed, unsigned long number, enum fault fault)
{
    if (!CHECK(prepare_prune(seed)))
        return false;
    int status = 0;
    struct err err = {0};
    struct stat about;
    bool happened = run_with_fault(prune_once, number, fault, &status);
    bool good = waiting_is_whole() && CHECK_INT(prune_once(&err), 0) && waiting_is_whole() &&
                CHECK(fstatat(pruned_place.old_fd, "about", &about, 0) < 0) &&
                CHECK(fstatat(pruned_place.old_fd, "before", &about, 0) < 0);
    if (!good)
        printf("# prune: seed %" PRIu64 ", call %lu, %s: %s\n", seed, number,
               fault == FAULT_KILL ? "killed" : "full", err.message);
    close(pruned_place.sessions_fd);
    close(pruned_place.old_fd);
    close(pruned_place.waiting_fd);
    put_away();
    return good && happened;
}

/* --- every call ---------------------------------------------------------------------------------------------------- */

static void every_call(enum fault fault, bool (*one)(uint64_t seed, unsigned long number, enum fault fault))
{
    uint64_t seed = number_from("BAWN_SEED", (uint64_t)time(NULL)), trees = cases_from("BAWN_TREES", 2, 4);
    umask(022);
    printf("# seeds %" PRIu64 " to %" PRIu64 " (BAWN_SEED, BAWN_TREES)\n", seed, seed + trees - 1);
    unsigned long calls = 0;
    for (uint64_t i = 0; i < trees && !unit.now_failed; i++) {
        unsigned long number = 1;
        while (one(seed + i, number, fault))
            number++;
        calls += number - 1;
    }
    printf("# %lu calls\n", calls);
    CHECK(calls > trees * 5);
}

TEST(killed_at_every_call_that_writes)
{
    every_call(FAULT_KILL, one_fault);
}

TEST(a_full_disk_at_every_call_that_writes)
{
    every_call(FAULT_FULL, one_fault);
}

TEST(a_disk_that_stays_full_from_every_call_that_writes_on)
{
    every_call(FAULT_STAYS_FULL, one_that_stays_full);
    CHECK(left_half_done > 0);
}

TEST(what_is_saved_at_a_call_that_writes_stays)
{
    every_call(FAULT_SAVE, one_save);
    CHECK(saved_in_all > 0);
}

TEST(prune_killed_at_every_call_that_writes)
{
    every_call(FAULT_KILL, one_fault_of_prune);
}

TEST(prune_with_a_full_disk_at_every_call_that_writes)
{
    every_call(FAULT_FULL, one_fault_of_prune);
}

UNIT_MAIN()
