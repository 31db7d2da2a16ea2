#include "egress/egress.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/text.h"
#include "egress/connection.h"
#include "kernel/ports.h"

enum { LARGEST_SETTINGS = 16 << 20 };

bool settings_parse_fd(const char *text, int *ret_fd)
{
    uint16_t number;
    if (!port_parse(text, &number)) /* bawn passes no descriptor above 65535 */
        return false;
    *ret_fd = number;
    return true;
}

/* A socket from the launch (launch/ports.c). Its address tells its purpose. */
static int take_socket(struct egress *egress, int fd, struct err *err)
{
    struct sockaddr_storage address = {0};
    socklen_t size = sizeof(address), type_size = sizeof(int);
    struct endpoint at, names = endpoint_v4(PORT_NAMES_ADDRESS, PORT_NAMES);
    int type = 0;
    if (getsockname(fd, (struct sockaddr *)&address, &size) < 0 || !endpoint_from_socket(&address, &at) ||
        getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &type_size) < 0)
        return err_sys(err, errno, "descriptor %d is not an internet socket", fd);
    bool is_names = endpoint_equal(&at, &names);
    int result = is_names && type == SOCK_DGRAM ? resolver_add_datagrams(&egress->resolver, fd)
                 : is_names                     ? resolver_add_streams(&egress->resolver, fd)
                                                : listeners_add(&egress->listeners, fd, 0);
    return result < 0 ? err_sys(err, errno, "cannot wait for a socket") : 0;
}

static int take_published(struct egress *egress, const char *port_text, int fd, struct err *err)
{
    uint16_t port;
    if (fd < 0 || !port_parse(port_text, &port))
        return err_set(err, "a published port needs a number and a socket");
    return listeners_add(&egress->listeners, fd, port) < 0 ? err_sys(err, errno, "cannot wait for a socket")
                                                           : 0;
}

/* A name that an earlier helper entered, at the same address. */
static int take_name(struct egress *egress, const char *address_text, const char *text, struct err *err)
{
    struct host_object at, host;
    const char *problem = NULL, *hint = NULL;
    if (!text || host_parse(&egress->arena, address_text, &at, &problem, &hint) < 0 ||
        at.kind != HOST_ADDRESS)
        return err_set(err, "a name needs its address");
    struct endpoint address = endpoint_of_network(at.address, at.prefix, 0);
    if (host_parse(&egress->arena, text, &host, &problem, &hint) < 0 ||
        !name_enter(&egress->names, &host, endpoint_v4_address(&address)))
        return err_set(err, "a bad name");
    return 0;
}

/* A line of bawn failed while the command runs: goes into the journal, and into the confirmation that bawn waits for. */
printf_like(2, 3) static void note_trouble(struct egress *egress, const char *format, ...)
{
    char sentence[TELL_LONGEST / 2];
    va_list args;
    va_start(args, format);
    vsnprintf(sentence, sizeof(sentence), format, args);
    va_end(args);
    egress->trouble = arena_str(&egress->arena, sentence);
    tell_trouble(&egress->tell, "%s", sentence);
}

/* A socket for an address that was allowed while the command runs. */
struct late_listener {
    struct egress *egress;
    struct endpoint at;
};

static void listener_made(void *self, int fd, int errnum)
{
    const struct late_listener *late = self;
    char text[ENDPOINT_TEXT_SIZE];
    endpoint_text(&late->at, text);
    if (errnum == 0 && fd < 0)
        return; /* connections arrive on the channel */
    if (fd < 0 && errnum == EADDRINUSE)
        note_trouble(late->egress, "%s cannot be reached: port %u is taken inside", text, late->at.port);
    else if (fd < 0 || listeners_add(&late->egress->listeners, fd, 0) < 0)
        note_trouble(late->egress, "%s cannot be reached: %s", text, strerrordesc_np(errnum));
}

static void listen_for_newest_rule(struct egress *egress)
{
    const struct rule *rule = &egress->table.policy.rules.at[egress->table.policy.rules.count - 1];
    if (rule->verb != VERB_CONNECT || rule->host.kind != HOST_ADDRESS)
        return;
    struct late_listener *late = arena_new(&egress->arena, struct late_listener);
    *late = (struct late_listener){
        egress, endpoint_of_network(rule->host.address, rule->host.prefix, rule->host.port)};
    ask_port(&egress->asks, PORT_LISTENER, late->at, listener_made, late);
}

/* After new rules: known names may be reached at more ports now. */
static void put_to_use(struct egress *egress)
{
    table_index(&egress->table);
    names_listen(&egress->names);
    accept_answered(egress);
}

/* Connections to hosts that no rule names wait so many seconds for a person's answer. */
static int take_patience(struct egress *egress, const char *seconds, struct err *err)
{
    uint16_t number;
    if (!port_parse(seconds, &number))
        return err_set(err, "no number of seconds");
    egress->ask_patience = number * INT64_C(1000);
    table_begin_asking(&egress->table);
    return 0;
}

/* A host that the vault serves. */
static int take_vaulted(struct egress *egress, const char *text, const char *why, struct err *err)
{
    struct host_object host;
    const char *problem = NULL, *hint = NULL;
    if (host_parse_target(&egress->arena, text, &host, &problem, &hint) < 0)
        return err_set(err, "%s: %s", text, problem);
    vec_push(&egress->vault.hosts, (struct vaulted){host, why});
    return 0;
}

/* A host of an `ssh-key` rule. */
static int take_proving(struct egress *egress, const char *text, struct err *err)
{
    struct host_object host;
    const char *problem = NULL, *hint = NULL;
    if (host_parse_target(&egress->arena, text, &host, &problem, &hint) < 0)
        return err_set(err, "%s: %s", text, problem);
    vec_push(&egress->proving, (struct proving_host){host, arena_str(&egress->arena, text)});
    return 0;
}

/* How many connections a second may go to a host, counted in a shared file or in this process. */
static int take_rate(struct egress *egress, const char *number, const char *fd_text, struct err *err)
{
    uint64_t per_second;
    int fd = -1;
    if (!text_take_number(&number, &per_second) || *number || !per_second ||
        (fd_text && !settings_parse_fd(fd_text, &fd)))
        return err_set(err, "no rate of connections");
    return rate_open(&egress->rate, per_second, fd, err);
}

void settings_confirm(struct asks *asks)
{
    struct egress *egress = container_of(asks, struct egress, asks);
    size_t kept = 0;
    for (size_t i = 0; i < egress->unconfirmed.count; i++) {
        struct confirmation at = egress->unconfirmed.at[i];
        if (asks_are_answered(&egress->asks, at.last_ask)) {
            tell_always(&egress->tell, arena_printf(&egress->arena, "taken %s %s", at.word,
                                                    egress->trouble ? egress->trouble : ""));
            egress->trouble = NULL;
        } else {
            egress->unconfirmed.at[kept++] = at;
        }
    }
    egress->unconfirmed.count = kept;
}

/* `fd` came with the line, or is -1. */
static int take_line(struct egress *egress, char *line, int fd, struct err *err)
{
    char *rest = line;
    const char *verb = strsep(&rest, " ");
    if (rest && strcmp(verb, "leak") == 0)
        return leak_take_answer(&egress->leaks, rest, err);
    if (rest && strcmp(verb, "known") == 0)
        return leak_take_known(&egress->leaks, &egress->arena, rest, err);
    const char *object = rest ? strsep(&rest, " ") : NULL, *third = rest ? strsep(&rest, " ") : NULL;
    if (!object)
        return err_set(err, "'%s' is not understood", line);
    int given = -1;
    if (strcmp(verb, "socket") == 0)
        return settings_parse_fd(object, &given) ? take_socket(egress, given, err)
                                                 : err_set(err, "no descriptor");
    if (strcmp(verb, "publish") == 0) {
        if (fd < 0 && third && settings_parse_fd(third, &given))
            fd = given;
        return take_published(egress, object, fd, err);
    }
    if (strcmp(verb, "name") == 0)
        return take_name(egress, object, third, err);
    if (strcmp(verb, "answer") == 0) {
        resolver_refuse(&egress->resolver, object);
        return 0;
    }
    if (strcmp(verb, "confirm") == 0) {
        vec_push(&egress->unconfirmed,
                 (struct confirmation){arena_str(&egress->arena, object), egress->asks.last});
        settings_confirm(&egress->asks);
        return 0;
    }
    if (strcmp(verb, "ask") == 0)
        return take_patience(egress, object, err);
    if (strcmp(verb, "vault") == 0)
        return settings_parse_fd(object, &egress->vault.fd) ? 0 : err_set(err, "no descriptor");
    if (strcmp(verb, "secret") == 0)
        return take_vaulted(egress, object, "its secrets stay outside", err);
    if (strcmp(verb, "inspect") == 0)
        return take_vaulted(egress, object, "rules judge its requests", err);
    if (strcmp(verb, "ssh") == 0)
        return take_proving(egress, object, err);
    if (strcmp(verb, "placeholder") == 0 && third) {
        watch_add(&egress->watch, &egress->arena, object, third);
        leak_add_placeholder(&egress->leaks, egress->watch.list.at[egress->watch.list.count - 1].text);
        return 0;
    }
    if (strcmp(verb, "rate") == 0)
        return take_rate(egress, object, third, err);
    if (strcmp(verb, "proxy") == 0)
        return proxy_parse(&egress->arena, object, &egress->proxy, err);
    if (strcmp(verb, "no-proxy") == 0) {
        egress->proxy.exceptions = arena_str(&egress->arena, object);
        return 0;
    }
    if (table_add(&egress->table, verb, object, third != NULL, err) < 0)
        return -1;
    if (third && strcmp(third, "late") == 0) { /* it came while the command runs */
        listen_for_newest_rule(egress);
        put_to_use(egress); /* which may remove a rule for one connection */
    }
    return 0;
}

int settings_read(struct egress *egress, int settings_fd, struct err *err)
{
    auto_buf struct buf text = {0};
    char part[16384];
    ssize_t got;
    while ((got = pread(settings_fd, part, sizeof(part), (off_t)text.size)) > 0 &&
           text.size < LARGEST_SETTINGS)
        buf_add(&text, part, (size_t)got);
    if (got != 0)
        return err_sys(err, errno, "cannot read the settings");
    for (char *at = text.bytes; at && *at;) {
        char *end = strchr(at, '\n');
        if (!end)
            return err_set(err, "the settings end in the middle of a line");
        *end = '\0';
        if (take_line(egress, at, -1, err) < 0)
            return -1;
        at = end + 1;
    }
    put_to_use(egress);
    return 0;
}

static void link_ready(struct watcher *watcher, uint32_t events)
{
    struct egress *egress = container_of(watcher, struct egress, tell.link);
    if (events & EPOLLOUT)
        tell_more(&egress->tell);
    char line[TELL_LONGEST + 1];
    int fd = -1;
    ssize_t got = passing_receive(watcher->fd, line, TELL_LONGEST, &fd);
    if (got < 0 && errno == EAGAIN)
        return;
    if (got <= 0) {
        egress->poller.is_over = true;
        return;
    }
    line[got] = '\0';
    struct err err;
    if (take_line(egress, line, fd, &err) < 0)
        note_trouble(egress, "%s", err.message);
}

int settings_open_link(struct egress *egress, int link_fd)
{
    return poller_add(&egress->poller, &egress->tell.link, link_fd, EPOLLIN, link_ready);
}
