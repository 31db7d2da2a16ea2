#include "vault/values.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "kernel/ports.h"
#include "vault/swap.h"

void values_tell(struct values *values, const char *verb, const char *words)
{
    char line[1024];
    if (!values->link.is_open)
        return; /* bawn has ended, and a refresh is finished without it */
    int size = snprintf(line, sizeof(line), "%s %s", verb, words);
    if (passing_send(values->link.fd, line, (size_t)size < sizeof(line) ? (size_t)size : sizeof(line) - 1,
                     -1) < 0)
        values->poller->is_over = true; /* bawn is gone */
}

void value_ask(struct value *value)
{
    if (value->state != VALUE_UNKNOWN)
        return;
    value->state = VALUE_ASKED;
    values_tell(value->all, "need", value->secret->name);
}

/* The pages are never given back: secrets are few. */
struct bytes values_keep(struct values *values, struct bytes bytes)
{
    char *kept = values->page_free;
    if ((size_t)(values->page_end - kept) < bytes.size)
        return bytes_of(NULL, 0);
    memcpy(kept, bytes.at, bytes.size);
    values->page_free += bytes.size;
    return bytes_of(kept, bytes.size);
}

bool value_set(struct value *value, struct bytes bytes)
{
    enum { STEP = 256 };
    struct values *values = value->all;
    if (bytes_equal(value->bytes, bytes)) {
        value->state = VALUE_KNOWN;
        return true;
    }
    value->is_used = false;
    unsigned room = value->room ^ 1;
    size_t size = (bytes.size / STEP + 1) * STEP;
    if (value->rooms[room].size < bytes.size) {
        if ((size_t)(values->page_end - values->page_free) < size)
            return false;
        value->rooms[room].at = values->page_free;
        value->rooms[room].size = size;
        values->page_free += size;
    }
    memcpy(value->rooms[room].at, bytes.at, bytes.size);
    struct bytes kept = bytes_of(value->rooms[room].at, bytes.size);
    if (!patterns_set(values->patterns, values->arena, &value->rooms[room].pattern, token_core(kept),
                      value->placeholder))
        return false;
    value->room = room;
    value->bytes = kept;
    value->state = VALUE_KNOWN;
    return true;
}

struct value *values_sibling(const struct value *value, enum token_kind kind)
{
    struct values *values = value->all;
    for (size_t i = 0; i < values->count; i++) {
        struct value *at = &values->at[i];
        if (at->secret->kind == kind && strcmp(at->secret->entry, value->secret->entry) == 0)
            return at;
    }
    return NULL;
}

/* Takes the value over. Returns whether it can be used. */
static bool keep_value(struct value *value, struct bytes bytes)
{
    if (!secret_is_usable(bytes))
        return false;
    if (value->secret->kind)
        return value_set(value, bytes);
    if (bytes_equal(value->bytes, bytes))
        return true; /* it was read again, because a server refused it */
    value->bytes = values_keep(value->all, bytes);
    return value->bytes.size > 0;
}

static void value_came(struct value *value)
{
    struct values *values = value->all;
    struct bytes bytes = bytes_of(value->coming.bytes, value->coming.size);
    while (bytes.size && (bytes.at[bytes.size - 1] == '\n' || bytes.at[bytes.size - 1] == '\r'))
        bytes.size--;
    bool is_kept = keep_value(value, bytes);
    value->state = is_kept ? VALUE_KNOWN : VALUE_UNKNOWN;
    if (!is_kept)
        values_tell(values, bytes.size ? "unusable" : "missing", value->secret->name);
    if (value->coming.bytes)
        explicit_bzero(value->coming.bytes, value->coming.capacity);
    buf_free(&value->coming);
    poller_close(&value->source);
    values->came(values, is_kept);
}

static void source_ready(struct watcher *watcher, uint32_t events not_used)
{
    struct value *value = container_of(watcher, struct value, source);
    not_zeroed char piece[4096];
    ssize_t got = read(watcher->fd, piece, sizeof(piece));
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (got > 0)
        buf_add(&value->coming, piece, (size_t)got);
    explicit_bzero(piece, sizeof(piece));
    if (got <= 0 || value->coming.size > SECRET_LONGEST)
        value_came(value);
}

/* A login of the host's has changed: its tokens are asked for again. */
static void forget(struct values *values, const char *name)
{
    for (size_t i = 0; i < values->count; i++) {
        struct value *value = &values->at[i];
        if (value->secret->kind && value->state == VALUE_KNOWN && strcmp(value->secret->name, name) == 0)
            value->state = VALUE_UNKNOWN;
    }
}

/*
 * bawn's lines: `secret NAME`, with the pipe that its value comes through; `refresh NAME`, with the way to the keeper of a login;
 * `changed NAME`.
 */
static void link_ready(struct watcher *watcher, uint32_t events not_used)
{
    struct values *values = container_of(watcher, struct values, link);
    char line[1024];
    int fd = -1;
    ssize_t got = passing_receive(watcher->fd, line, sizeof(line) - 1, &fd);
    if (got < 0 && errno == EAGAIN)
        return;
    if (got <= 0) {
        values->poller->is_over = true;
        return;
    }
    line[got] = '\0';
    if (strncmp(line, "changed ", 8) == 0)
        forget(values, line + 8);
    if (strncmp(line, "refresh ", 8) == 0 && fd >= 0) {
        values->keeper_came(values, line + 8, fd);
        return;
    }
    for (size_t i = 0; i < values->count; i++) {
        struct value *value = &values->at[i];
        bool is_it = strncmp(line, "secret ", 7) == 0 && strcmp(line + 7, value->secret->name) == 0;
        if (!is_it || value->source.is_open || fd < 0)
            continue;
        if (poller_add(values->poller, &value->source, fd, EPOLLIN, source_ready) < 0)
            value_came(value);
        return;
    }
    fd_close(fd);
}

static int open_pages(struct values *values, struct err *err)
{
    enum { SIZE = 64 * 1024 };
    char *page = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED || mlock(page, SIZE) < 0)
        return err_sys(err, errno, "cannot lock memory for secrets");
    madvise(page, SIZE, MADV_DONTDUMP);
    values->page_free = page;
    values->page_end = page + SIZE;
    return 0;
}

int values_open(struct values *values, struct vault_settings *settings, int link_fd, struct err *err)
{
    values->count = settings->secrets.count;
    values->at = arena_alloc(&settings->arena, (values->count + 1) * sizeof(*values->at));
    for (size_t i = 0; i < values->count; i++) {
        const struct vault_secret *secret = &settings->secrets.at[i];
        values->at[i] =
            (struct value){.secret = secret,
                           .placeholder = bytes_of(secret->placeholder, strlen(secret->placeholder)),
                           .rooms = {{.pattern = -1}, {.pattern = -1}},
                           .all = values};
    }
    if (poller_add(values->poller, &values->link, link_fd, EPOLLIN, link_ready) < 0)
        return err_sys(err, errno, "cannot wait for bawn");
    return open_pages(values, err);
}
