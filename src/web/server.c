/*
 * The server: requests come in, replies go out, and nothing blocks. libmicrohttpd has no thread of its own
 * here; its descriptors, the actor's channel and the notices of journals are one poll().
 *
 * Bounds: 64 connections, 16 KiB for the head of a request, 1 MiB for a form. A connection has 10 seconds to
 * send its request, and 60 to take the reply. It serves one request, so that no slow second one hides behind
 * a quick first one. If 48 are open, a new one is let in and the one that has not sent its request for
 * longest is hung up on: whoever opens many and says nothing keeps nobody out.
 */
#include "web/visit.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/text.h"
#include "base/timespec.h"
#include "kernel/beneath.h"
#include "kernel/ports.h"

enum {
    MOST_CONNECTIONS = 64,
    CROWD = 48, /* from so many on, the longest silent one makes room */
    HEAD_LARGEST = 16 * 1024,
    FORM_LARGEST = 1024 * 1024,
    READING_LONGEST = 10, /* seconds */
    WRITING_LONGEST = 60,
    TICK = 1000, /* milliseconds */
};

/* --- replies -------------------------------------------------------------------------------------------------------- */

static const struct {
    const char *name, *value;
} headers[] = {
    {"Content-Security-Policy",
     "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
     "form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; "
     "trusted-types bawn"},
    {"X-Frame-Options", "DENY"},
    {"X-Content-Type-Options", "nosniff"},
    {"Referrer-Policy", "no-referrer"},
    {"Cross-Origin-Opener-Policy", "same-origin"},
    {"Cross-Origin-Resource-Policy", "same-origin"},
    {"Cache-Control", "no-store"},
    {"Connection", "close"},
};

static enum MHD_Result reply(struct visit *visit)
{
    struct MHD_Response *response =
        visit->stream ? stream_response(visit->stream)
                      : MHD_create_response_from_buffer(visit->page.out.size, visit->page.out.bytes,
                                                        MHD_RESPMEM_MUST_FREE);
    visit->page = (struct html){0}; /* the response owns it */
    bool is_good = response;
    for (size_t i = 0; is_good && i < array_len(headers); i++)
        is_good = MHD_add_response_header(response, headers[i].name, headers[i].value) == MHD_YES;
    is_good =
        is_good && MHD_add_response_header(response, "Content-Type",
                                           visit->type ? visit->type : "text/html; charset=utf-8") == MHD_YES;
    if (is_good && visit->location)
        is_good = MHD_add_response_header(response, "Location", visit->location) == MHD_YES;
    if (is_good && visit->cookie)
        is_good = MHD_add_response_header(response, "Set-Cookie", visit->cookie) == MHD_YES;
    if (is_good && visit->saved_as)
        is_good = MHD_add_response_header(
                      response, "Content-Disposition",
                      arena_printf(&visit->arena, "attachment; filename=\"%s\"", visit->saved_as)) == MHD_YES;
    visit->door->stage = visit->stream ? DOOR_WAITS : DOOR_WRITES;
    visit->door->since = now_seconds();
    enum MHD_Result queued =
        is_good ? MHD_queue_response(visit->connection, visit->status, response) : MHD_NO;
    if (response)
        MHD_destroy_response(response);
    return queued;
}

/* --- requests ------------------------------------------------------------------------------------------------------- */

/* Decodes %XX in place. A text with a NUL in it would be read as another one: it becomes empty. */
static size_t decode(void *self not_used, struct MHD_Connection *connection not_used, char *text)
{
    size_t size = MHD_http_unescape(text);
    if (strlen(text) < size)
        *text = '\0';
    return strlen(text);
}

static struct visit *visit_begin(struct web *web, struct MHD_Connection *connection, const char *path,
                                 const char *method)
{
    struct visit *visit = must_realloc(NULL, 1, sizeof(*visit));
    *visit = (struct visit){.web = web, .connection = connection, .is_post = strcmp(method, "POST") == 0};
    visit->path = arena_str(&visit->arena, path);
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    visit->door = info->socket_context;
    bool is_known = visit->is_post || strcmp(method, "GET") == 0;
    const char *refusal = is_known ? admit(visit) : "The method is neither GET nor POST.";
    visit->is_admitted = !refusal;
    if (refusal)
        visit_say(visit, MHD_HTTP_FORBIDDEN, "Refused", refusal);
    return visit;
}

/* NOLINTNEXTLINE(readability-function-size): libmicrohttpd calls it with these eight */
static enum MHD_Result handle(void *self, struct MHD_Connection *connection, const char *path,
                              const char *method, const char *version not_used, const char *upload,
                              size_t *upload_size, void **state)
{
    struct visit *visit = *state;
    if (!visit) {
        *state = visit = visit_begin(self, connection, path, method);
        return visit->status ? reply(visit) : MHD_YES;
    }
    if (*upload_size) {
        visit->is_too_large |= visit->body.size + *upload_size > FORM_LARGEST || !visit->is_post;
        if (!visit->is_too_large)
            buf_add(&visit->body, upload, *upload_size);
        *upload_size = 0;
        return MHD_YES;
    }
    visit_route(visit);
    if (!visit->is_waiting)
        return reply(visit);
    visit->door->stage = DOOR_WAITS;
    MHD_suspend_connection(connection);
    return MHD_YES;
}

static void forget_waiting(struct web *web, const struct visit *visit)
{
    for (size_t i = 0; i < web->waiting.count; i++) {
        if (web->waiting.at[i] == visit) {
            web->waiting.at[i] = web->waiting.at[--web->waiting.count];
            return;
        }
    }
}

static void completed(void *self, struct MHD_Connection *connection not_used, void **state,
                      enum MHD_RequestTerminationCode how not_used)
{
    struct visit *visit = *state;
    if (!visit)
        return;
    forget_waiting(self, visit);
    if (visit->stream)
        stream_close(visit->stream);
    html_free(&visit->page);
    buf_free(&visit->body);
    buf_free(&visit->done_text);
    vec_free(&visit->form);
    arena_free(&visit->arena);
    free(visit);
    *state = NULL;
}

/* --- connections ---------------------------------------------------------------------------------------------------- */

/* They are in the order in which they came; the last one is new. */
static void make_room(const struct web *web)
{
    if (web->at_door.count <= CROWD)
        return;
    for (size_t i = 0; i + 1 < web->at_door.count; i++) {
        struct caller_at_door *door = web->at_door.at[i];
        if (door->stage == DOOR_READS && !door->is_hung_up) {
            door->is_hung_up = true;
            shutdown(door->fd, SHUT_RDWR);
            return;
        }
    }
}

static void connected(void *self, struct MHD_Connection *connection, void **context,
                      enum MHD_ConnectionNotificationCode what)
{
    struct web *web = self;
    if (what == MHD_CONNECTION_NOTIFY_STARTED) {
        const union MHD_ConnectionInfo *info =
            MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
        struct caller_at_door *door = must_realloc(NULL, 1, sizeof(*door));
        *door = (struct caller_at_door){.fd = info->connect_fd, .since = now_seconds()};
        vec_push(&web->at_door, door);
        *context = door;
        make_room(web);
        return;
    }
    for (size_t i = 0; i < web->at_door.count; i++) {
        if (web->at_door.at[i] == *context) {
            memmove(&web->at_door.at[i], &web->at_door.at[i + 1],
                    (--web->at_door.count - i) * sizeof(web->at_door.at[0]));
            break;
        }
    }
    free(*context);
    *context = NULL;
}

/* Hangs up on those that are too slow. Returns whether any has a deadline. */
static bool keep_deadlines(const struct web *web)
{
    int64_t now = now_seconds();
    bool has_any = false;
    for (size_t i = 0; i < web->at_door.count; i++) {
        const struct caller_at_door *door = web->at_door.at[i];
        has_any |= door->stage != DOOR_WAITS;
        int64_t longest = door->stage == DOOR_READS ? READING_LONGEST : WRITING_LONGEST;
        if (door->stage != DOOR_WAITS && now - door->since > longest)
            shutdown(door->fd, SHUT_RDWR); /* libmicrohttpd sees the end and closes it */
    }
    return has_any;
}

/* --- the actor ------------------------------------------------------------------------------------------------------ */

bool visit_act(struct visit *visit, enum act act, const struct buf *input, const char *const *arguments)
{
    struct web *web = visit->web;
    if (visit->is_done)
        return true;
    auto_buf struct buf message = {0};
    struct act_head head = {.number = ++web->last_number, .act = act};
    for (; arguments[head.count]; head.count++) {
    }
    buf_add(&message, (const char *)&head, sizeof(head));
    for (uint32_t i = 0; i < head.count; i++)
        buf_add(&message, arguments[i], strlen(arguments[i]) + 1);
    auto_fd int input_fd = input ? memfd_create("bawn-web", MFD_CLOEXEC) : -1;
    if ((input && (input_fd < 0 || write_whole(input_fd, input->bytes, input->size) < 0)) ||
        message.size > ACT_LONGEST ||
        passing_send(web->channel_fd, message.bytes, message.size, input_fd) < 0) {
        visit->is_done = true;
        visit->done_status = -1;
        buf_add_str(&visit->done_text, "bawn: the request could not be passed on.\n");
        return true;
    }
    visit->number = head.number;
    visit->is_waiting = true;
    vec_push(&web->waiting, visit);
    return false;
}

void visit_entered(const struct visit *visit)
{
    const struct act_head head = {.act = ACT_ENTERED};
    if (passing_send(visit->web->channel_fd, &head, sizeof(head), -1) < 0)
        return; /* the file leads to a used address until the end */
}

void visit_act_again(struct visit *visit)
{
    visit->is_done = false;
    visit->done_text.size = 0;
    visit->stage++;
}

/* What a verb printed. */
static void read_output(struct visit *visit, int fd)
{
    char part[65536] not_zeroed;
    for (off_t at = 0;;) {
        ssize_t size = fd < 0 ? 0 : pread(fd, part, sizeof(part), at);
        if (size <= 0)
            return;
        visit->is_cut = visit->done_text.size + (size_t)size > ACT_OUTPUT_LARGEST;
        if (visit->is_cut)
            return;
        buf_add(&visit->done_text, part, (size_t)size);
        at += size;
    }
}

/* Returns -1 when the actor is gone. */
static int take_done(struct web *web)
{
    struct act_done done;
    int output = -1;
    ssize_t size = passing_receive(web->channel_fd, &done, sizeof(done), &output);
    auto_fd int fd = output;
    if (size != sizeof(done))
        return size < 0 && errno == EAGAIN ? 0 : -1;
    for (size_t i = 0; i < web->waiting.count; i++) {
        struct visit *visit = web->waiting.at[i];
        if (visit->number != done.number)
            continue;
        forget_waiting(web, visit);
        read_output(visit, fd);
        visit->done_status = done.status;
        visit->is_done = true;
        visit->is_waiting = false;
        MHD_resume_connection(visit->connection);
        break;
    }
    return 0;
}

/* --- the loop ------------------------------------------------------------------------------------------------------- */

static int start(struct web *web, int listen_fd, struct err *err)
{
    web->notice_fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    web->daemon = MHD_start_daemon(MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL, handle, web,
                                   MHD_OPTION_LISTEN_SOCKET, listen_fd, MHD_OPTION_CONNECTION_LIMIT,
                                   (unsigned)MOST_CONNECTIONS, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
                                   (size_t)2 * HEAD_LARGEST, MHD_OPTION_NOTIFY_COMPLETED, completed, web,
                                   MHD_OPTION_NOTIFY_CONNECTION, connected, web, MHD_OPTION_UNESCAPE_CALLBACK,
                                   decode, NULL, MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_END);
    web->table_fd = port_open_table();
    if (web->notice_fd < 0 || !web->daemon || (web->table_fd < 0 && !web->place->unix_path))
        return err_sys(err, errno, "cannot serve the page");
    if (secret_make(web->cookie, err) < 0 || secret_make(web->form, err) < 0)
        return -1;
    memcpy(web->token, web->place->token, sizeof(web->token));
    tzset();
    return web_sandbox_enter(web->place, err);
}

static int wait_time(struct web *web)
{
    MHD_UNSIGNED_LONG_LONG timeout;
    bool has_timeout = MHD_get_timeout(web->daemon, &timeout) == MHD_YES;
    bool has_deadline = keep_deadlines(web);
    if (has_timeout && timeout < TICK)
        return (int)timeout;
    return has_deadline ? TICK : -1;
}

int server_run(const struct web_place *place, int listen_fd, int channel_fd, struct err *err)
{
    static struct web web;
    web = (struct web){.place = place, .channel_fd = channel_fd, .notice_fd = -1, .table_fd = -1};
    if (start(&web, listen_fd, err) < 0)
        return -1;
    const union MHD_DaemonInfo *info = MHD_get_daemon_info(web.daemon, MHD_DAEMON_INFO_EPOLL_FD);
    struct pollfd ready[] = {{.fd = info->epoll_fd, .events = POLLIN},
                             {.fd = channel_fd, .events = POLLIN},
                             {.fd = web.notice_fd, .events = POLLIN}};
    while (poll(ready, array_len(ready), wait_time(&web)) >= 0 || errno == EINTR) {
        if (ready[1].revents && take_done(&web) < 0)
            return 0;
        if (ready[2].revents)
            streams_ready(&web);
        /* Where a connection has ended there is room for another one, which libmicrohttpd takes in its next turn. */
        size_t before;
        do {
            before = web.at_door.count;
            MHD_run(web.daemon);
        } while (web.at_door.count < before);
    }
    return err_sys(err, errno, "cannot wait for requests");
}
