#include "vault/values.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "kernel/ports.h"
#include "vault/credential.h"
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

/* Seconds since 1970: a suspended machine's other clocks stand still. */
static int64_t now_on_the_wall(void)
{
    struct timespec now = {0};
    clock_gettime(CLOCK_REALTIME, &now);
    return now.tv_sec;
}

bool value_is_good(const struct value *value)
{
    return value->is_known && (!value->expires || now_on_the_wall() < value->expires);
}

bool value_need(struct value *value)
{
    bool is_good = value_is_good(value);
    bool is_due = !is_good || (value->expires && now_on_the_wall() >= value->renew);
    if (is_due && !value->is_asked) {
        value->is_asked = true;
        values_tell(value->all, "need", value->secret->name);
    }
    return is_good;
}

/* Copies bytes into a room, which grows if need be: what it had is given up. */
static bool fill_room(struct values *values, struct value_room *room, struct bytes bytes)
{
    enum { STEP = 256 };
    size_t size = (bytes.size / STEP + 1) * STEP;
    if (room->size < bytes.size) {
        if ((size_t)(values->page_end - values->page_free) < size)
            return false;
        room->at = values->page_free;
        room->size = size;
        values->page_free += size;
    }
    memcpy(room->at, bytes.at, bytes.size);
    return true;
}

/* A login's token is worth nothing without its core; other secrets are secret as a whole. */
bool value_set(struct value *value, struct bytes bytes)
{
    struct values *values = value->all;
    if (bytes_equal(value->bytes, bytes)) {
        value->is_known = true;
        return true;
    }
    value->is_used = false;
    struct value_room *room = &value->rooms[value->room ^ 1];
    if (!fill_room(values, room, bytes))
        return false;
    struct bytes kept = bytes_of(room->at, bytes.size);
    if (!patterns_set(values->patterns, values->arena, &room->pattern,
                      value->secret->kind ? token_core(kept) : kept, value->placeholder))
        return false;
    value->room ^= 1;
    value->turn++;
    value->bytes = kept;
    value->is_known = true;
    return true;
}

/* Forms of a value before the last one are given up. */
bool value_watch_form(struct value *value, struct bytes form, struct bytes instead)
{
    struct values *values = value->all;
    if (patterns_have(values->patterns, form))
        return true;
    for (size_t i = 0; i < VALUE_MOST_FORMS; i++) {
        struct value_room *room = &value->forms[i];
        if (room->pattern >= 0 && room->turn + 1 >= value->turn)
            continue;
        room->turn = value->turn;
        return fill_room(values, room, form) && patterns_set(values->patterns, values->arena, &room->pattern,
                                                             bytes_of(room->at, form.size), instead);
    }
    return false;
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

/* The word that tells bawn why a value cannot be used; NULL: it is taken over. */
static const char *keep_value(struct value *value, struct bytes bytes)
{
    enum { RENEW_SECONDS = 300 };
    static const char *const words[] = {[CREDENTIAL_WITHOUT_TOKEN] = "tokenless",
                                        [CREDENTIAL_UNDATED] = "undated",
                                        [CREDENTIAL_EXPIRED] = "expired"};
    struct credential credential = {.value = bytes};
    int64_t now = now_on_the_wall();
    if (bytes.size == 0)
        return "missing";
    if (value->secret->is_issued) {
        enum credential_result result = credential_read(bytes, now, &credential);
        if (result != CREDENTIAL_READ)
            return words[result];
    }
    if (!secret_is_usable(credential.value) || !value_set(value, credential.value))
        return "unusable";
    int64_t quarter = (credential.expires - now) / 4; /* a value of a few minutes is used for most of them */
    value->expires = credential.expires;
    value->renew = credential.expires - (quarter < RENEW_SECONDS ? quarter : RENEW_SECONDS);
    return NULL;
}

static void value_came(struct value *value)
{
    struct values *values = value->all;
    struct bytes bytes = bytes_of(value->coming.bytes, value->coming.size);
    while (bytes.size && (bytes.at[bytes.size - 1] == '\n' || bytes.at[bytes.size - 1] == '\r'))
        bytes.size--;
    const char *problem = keep_value(value, bytes);
    value->is_asked = false;
    value->is_known = value_is_good(value) && (!problem || value->expires);
    if (problem)
        values_tell(values, problem, value->secret->name);
    if (problem && value->is_known) {
        values_tell(values, "kept", value->secret->name);
        value->renew = now_on_the_wall() + (value->expires - now_on_the_wall()) / 4 + 1;
    }
    if (value->coming.bytes)
        explicit_bzero(value->coming.bytes, value->coming.capacity);
    buf_free(&value->coming);
    poller_close(&value->source);
    values->came(values, value->is_known);
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
    size_t most = value->secret->is_issued ? CREDENTIAL_LARGEST : SECRET_LONGEST;
    if (got <= 0 || value->coming.size > most)
        value_came(value);
}

/* A login of the host's has changed: its tokens are asked for again. */
static void forget(struct values *values, const char *name)
{
    for (size_t i = 0; i < values->count; i++) {
        struct value *value = &values->at[i];
        if (value->secret->kind && strcmp(value->secret->name, name) == 0)
            value->is_known = false;
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
    char *page = mmap(NULL, VAULT_LOCKED, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED || mlock(page, VAULT_LOCKED) < 0)
        return err_sys(err, errno, "cannot lock memory for secrets");
    madvise(page, VAULT_LOCKED, MADV_DONTDUMP);
    values->page_free = page;
    values->page_end = page + VAULT_LOCKED;
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
        for (size_t j = 0; j < VALUE_MOST_FORMS; j++)
            values->at[i].forms[j].pattern = -1;
    }
    if (poller_add(values->poller, &values->link, link_fd, EPOLLIN, link_ready) < 0)
        return err_sys(err, errno, "cannot wait for bawn");
    return open_pages(values, err);
}
