/*
 * The keeper of a login: the process that reads and writes the host's login file for one refresh.
 *
 * Refresh tokens are used once. So a refresh is one piece, from reading the token to storing its successor, and one session at a time does
 * it: the keeper holds a lock from its first word to its last. The programs of the host do not know this lock. The file is therefore replaced
 * only if it still has the token that was sent; if the host has another one by then, the host's stays, and the session goes on with it.
 *
 * It takes words from the vault's back, which parses the answers of servers: tokens are checked again, and nothing but the tokens of
 * this entry and their times changes in the file.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "base/timespec.h"
#include "home/home.h"
#include "home/login.h"
#include "home/version.h"
#include "kernel/beneath.h"
#include "supervise/vault.h"

enum {
    LARGEST_MESSAGE = 64 * 1024,
    LOCK_SECONDS = 100,         /* for other sessions' refreshes */
    WORD_MILLISECONDS = 90000,  /* for the server's answer */
    CHANGE_MILLISECONDS = 5000, /* for a program of the host's to store what it has refreshed */
    STORE_MILLISECONDS = 20000,
    PAUSE = 20000, /* microseconds */
};

struct keeper {
    struct arena arena;
    const char *file, *place; /* of the entry */
    int fd, directory_fd, lock_fd;
    int before_fd; /* of the file that has what the login's file was before its last refresh */
    struct version version;
    struct login_entry entry;
    struct buf used; /* the refresh token that was told */
};

static int64_t wall_milliseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Looks at the file. Returns whether it has the entry. */
static bool look(struct keeper *keeper)
{
    version_free(&keeper->version);
    keeper->entry = (struct login_entry){0};
    version_read(keeper->directory_fd, path_name(keeper->file), &keeper->version);
    return keeper->version.state == VERSION_WHOLE &&
           login_entry_read(bytes_of(keeper->version.bytes, keeper->version.size), keeper->place,
                            &keeper->entry);
}

/* A program may be writing it just now. */
static bool look_patiently(struct keeper *keeper)
{
    for (int64_t until = now_milliseconds() + CHANGE_MILLISECONDS; !look(keeper);) {
        if (now_milliseconds() >= until)
            return false;
        pause_microseconds(PAUSE);
    }
    return true;
}

static bool is_used(const struct keeper *keeper)
{
    return bytes_equal(keeper->entry.tokens[TOKEN_REFRESH], bytes_of(keeper->used.bytes, keeper->used.size));
}

/* "a b" or ["a", "b"], as words. */
static const char *scope_text(struct arena *arena, struct json_value scopes)
{
    struct json_value item;
    struct bytes text = scopes.at ? token_text(scopes) : bytes_of(NULL, 0);
    if (text.size)
        return arena_copy(arena, text.at, text.size);
    const char *words = "";
    for (size_t at = 0; scopes.at && json_next_item(scopes, &at, &item);) {
        text = token_text(item);
        words = arena_printf(arena, "%s%s%.*s", words, *words ? " " : "", (int)text.size, text.at);
    }
    return words;
}

static bool tell_tokens(struct keeper *keeper)
{
    auto_buf struct buf message = {0};
    struct token_set set = {0};
    memcpy(set.at, keeper->entry.tokens, sizeof(set.at));
    const char *scope = scope_text(&keeper->arena, keeper->entry.scopes);
    set.scope = bytes_of(scope, strlen(scope));
    if (keeper->entry.expires > wall_milliseconds())
        set.seconds = (keeper->entry.expires - wall_milliseconds()) / 1000;
    buf_add_str(&message, "have\n");
    token_set_add(&set, &message);
    bool is_sent = send(keeper->fd, message.bytes, message.size, MSG_NOSIGNAL) == (ssize_t)message.size;
    explicit_bzero(message.bytes, message.size);
    return is_sent;
}

/*
 * What a server answers may be wrong, or somebody else's. So the file that is replaced is kept, out of the command's reach, until the tokens that
 * replaced it were good for a refresh of their own. On a full disk it is not kept: to lose the new tokens would be worse.
 */
static void keep_before(const struct keeper *keeper)
{
    if (ftruncate(keeper->before_fd, 0) == 0 && lseek(keeper->before_fd, 0, SEEK_SET) == 0 &&
        write_whole(keeper->before_fd, keeper->version.bytes, keeper->version.size) == 0)
        fsync(keeper->before_fd);
}

/* Replaces the tokens of the file that was looked at. Returns as version_replace does. */
static int replace(struct keeper *keeper, const struct token_set *set)
{
    auto_buf struct buf text = {0};
    struct err ignored;
    struct login_entry wanted = {0};
    int64_t now = wall_milliseconds();
    memcpy(wanted.tokens, set->at, sizeof(wanted.tokens));
    wanted.expires = set->seconds > 0 ? now + set->seconds * 1000 : 0;
    if (!login_entry_write(bytes_of(keeper->version.bytes, keeper->version.size), keeper->place, &wanted, now,
                           &text))
        return -1;
    struct version version = {.state = VERSION_WHOLE, .bytes = text.bytes, .size = text.size};
    clock_gettime(CLOCK_REALTIME, &version.time);
    sha256_hex(version.bytes, version.size, version.hash);
    keep_before(keeper);
    flock(keeper->lock_fd, LOCK_EX); /* a session that starts removes temporary files under this lock */
    int result =
        version_replace(keeper->directory_fd, path_name(keeper->file), &version, &keeper->version, &ignored);
    flock(keeper->lock_fd, LOCK_UN);
    explicit_bzero(text.bytes, text.size);
    return result;
}

/* Stores the tokens, unless the host has others by now. Returns whether the file has what is valid. */
static bool store(struct keeper *keeper, const struct token_set *set)
{
    for (int64_t until = now_milliseconds() + STORE_MILLISECONDS; now_milliseconds() < until;
         pause_microseconds(PAUSE)) {
        if (!look(keeper))
            continue;
        if (!is_used(keeper) || replace(keeper, set) > 0)
            return look_patiently(keeper);
    }
    return false;
}

/* The server has refused the token. Another program may have used it, and be about to store its successor. */
static void wait_for_change(struct keeper *keeper)
{
    for (int64_t until = now_milliseconds() + CHANGE_MILLISECONDS; now_milliseconds() < until;
         pause_microseconds(PAUSE)) {
        if (look(keeper) && !is_used(keeper))
            return;
    }
}

/* One word of the vault. Returns false at the end. */
static bool take_word(struct keeper *keeper)
{
    not_zeroed char message[LARGEST_MESSAGE];
    struct pollfd ready = {.fd = keeper->fd, .events = POLLIN};
    ssize_t got = poll(&ready, 1, WORD_MILLISECONDS) > 0 ? recv(keeper->fd, message, sizeof(message), 0) : 0;
    struct bytes text = bytes_of(message, got > 0 ? (size_t)got : 0), word;
    struct token_set set;
    bool goes_on = false;
    if (!bytes_take_line(&text, &word))
        return false;
    if (bytes_equal(word, bytes_of("again", 5))) {
        wait_for_change(keeper);
        goes_on = tell_tokens(keeper);
    } else if (bytes_equal(word, bytes_of("new", 3)) && token_set_read(text, &set) && store(keeper, &set)) {
        tell_tokens(keeper);
    }
    explicit_bzero(message, sizeof(message));
    return goes_on;
}

static void keep(struct keeper *keeper, const char *data)
{
    struct err ignored;
    auto_fd int refresh_fd = sync_open_lock(&keeper->arena, data, keeper->file, ".refresh", &ignored);
    keeper->lock_fd = sync_open_lock(&keeper->arena, data, keeper->file, "", &ignored);
    const char *before = arena_printf(&keeper->arena, ".%s.before", path_name(keeper->file));
    keeper->before_fd = sync_open_lock(&keeper->arena, data, keeper->file, before, &ignored);
    keeper->directory_fd =
        open(path_parent(&keeper->arena, keeper->file), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (refresh_fd < 0 || keeper->lock_fd < 0 || keeper->before_fd < 0 || keeper->directory_fd < 0)
        return;
    alarm(LOCK_SECONDS);
    if (flock(refresh_fd, LOCK_EX) < 0)
        return;
    alarm(0);
    if (!look_patiently(keeper) || !keeper->entry.tokens[TOKEN_REFRESH].size)
        return;
    buf_add(&keeper->used, keeper->entry.tokens[TOKEN_REFRESH].at, keeper->entry.tokens[TOKEN_REFRESH].size);
    bool goes_on = tell_tokens(keeper);
    while (goes_on)
        goes_on = take_word(keeper);
}

/* In the new process. bawn's descriptors are closed: links to the vault would seem to be open after bawn's end. */
static _Noreturn void become_keeper(const struct kept_secret *token, const char *data, int fd)
{
    enum { KEPT = 3 };
    struct keeper keeper = {.file = token->secret->from, .directory_fd = -1, .lock_fd = -1, .before_fd = -1};
    const char *dot = strrchr(token->secret->key, '.');
    keeper.place =
        arena_copy(&keeper.arena, token->secret->key, dot ? (size_t)(dot - token->secret->key) : 0);
    int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int stream = STDIN_FILENO; stream <= STDERR_FILENO; stream++)
        dup2(null_fd, stream);
    keeper.fd = dup2(fd, KEPT);
    if (keeper.fd == KEPT && syscall(SYS_close_range, KEPT + 1, UINT32_MAX, 0) == 0)
        keep(&keeper, data);
    _exit(0);
}

int login_keeper_start(const struct kept_secret *token, const char *data, struct err *err)
{
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
        return err_sys(err, errno, "cannot refresh %s", token->secret->name);
    int forked = fork_apart();
    if (forked == 0)
        become_keeper(token, data, pair[1]);
    close(pair[1]);
    if (forked < 0) {
        close(pair[0]);
        return err_sys(err, errno, "cannot refresh %s", token->secret->name);
    }
    return pair[0];
}
