#include "supervise/helper.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/text.h"
#include "kernel/ports.h"
#include "kernel/unix_sockets.h"
#include "policy/host.h"

enum {
    MOST_EVENTS = 65536, /* a helper that was taken over must not fill the disk */
    MOST_REFUSED = 256,
    MOST_USED = 256,
    MOST_LOOKED_AT = 256, /* refused names for which bawn looks up the process that asked */
    MOST_AT_ONCE = 8,     /* lines read before other descriptors of the loop get their turn */
};

static const char *next_word(char **rest)
{
    const char *word = *rest ? strsep(rest, " ") : NULL;
    return word ? word : "";
}

static struct refused_host kept_host(struct network *network, const char *host, const char *port,
                                     const char *sentence)
{
    uint16_t number = 0;
    if (!port_parse(port, &number))
        number = 0;
    return (struct refused_host){arena_str(&network->arena, host), number,
                                 arena_str(&network->arena, sentence)};
}

void helper_note_refused(struct network *network, const char *host, const char *port, const char *sentence)
{
    network->refused_in_all++;
    if (network->refused.count < MOST_REFUSED)
        vec_push(&network->refused, kept_host(network, host, port, sentence));
}

int helper_send(struct network *network, const char *line, int fd, struct err *err)
{
    if (network->link_fd >= 0 && passing_send(network->link_fd, line, strlen(line), fd) < 0)
        return err_sys(err, errno, "cannot reach the network helper");
    return 0;
}

void helper_confirm(struct network *network, unsigned number, const char *problem)
{
    for (size_t i = 0; i < network->unconfirmed.count; i++) {
        if (network->unconfirmed.at[i] != number)
            continue;
        network->unconfirmed.at[i] = network->unconfirmed.at[--network->unconfirmed.count];
        if (network->taken)
            network->taken(network->taken_self, number, problem);
        return;
    }
}

/* The port that a program means by a name, as text. A question for a name has no port in it, and `bawn allow HOST` opens 443 alone, which
   would not help these programs. "" for all others. The sandbox chose the program's name: it decides nothing but this advice. */
static const char *usual_port(const char *program)
{
    static const struct {
        const char *program, *port;
    } usual[] = {{"ssh", "22"}, {"sftp", "22"}, {"psql", "5432"}, {"mysql", "3306"}, {"redis-cli", "6379"}};
    for (size_t i = 0; i < sizeof(usual) / sizeof(*usual); i++) {
        if (strcmp(program, usual[i].program) == 0)
            return usual[i].port;
    }
    return "";
}

/* By the port that it asks from, or by its thread. */
static bool find_asker(struct network *network, const char *protocol, const char *text,
                       struct holder *ret_holder)
{
    uint16_t port;
    if (network->inside <= 0 || network->looked_at++ >= MOST_LOOKED_AT)
        return false;
    if (strcmp(protocol, "thread") == 0)
        return holder_find_thread(network->inside, strtoull(text, NULL, 10), ret_holder);
    return port_parse(text, &port) &&
           holder_find(network->inside, strcmp(protocol, "tcp") == 0, port, ret_holder);
}

/* A name that is not on the list was asked for. The helper answers it only after the asking process has been looked up. */
static void take_question(struct network *network, const char *host, const char *protocol, const char *port)
{
    static const char why[] = "is not on the list of hosts";
    struct holder holder = {0};
    if (find_asker(network, protocol, port, &holder)) {
        char pid[16];
        snprintf(pid, sizeof(pid), "%d", (int)holder.pid);
        journal_event(network->journal, "refused", "host", host, "port", "0", "why", why, "program",
                      holder.program, "pid", pid);
    } else {
        journal_event(network->journal, "refused", "host", host, "port", "0", "why", why);
    }
    helper_note_refused(network, host, usual_port(holder.program), why);
    char answer[LONGEST_LINE];
    struct err ignored; /* the program asks again, and is answered then */
    snprintf(answer, sizeof(answer), "answer %s", host);
    if (helper_send(network, answer, -1, &ignored) < 0)
        return;
}

/* A connection waits. The program is still there: it waits, too. */
static void take_held(struct network *network, const char *host, const char *port, const char *client)
{
    uint16_t number;
    struct holder holder = {0};
    if (network->inside > 0 && network->looked_at++ < MOST_LOOKED_AT && port_parse(client, &number) &&
        !holder_find(network->inside, true, number, &holder))
        holder = (struct holder){0};
    if (network->held)
        network->held(network->held_self, host, port, (int)holder.pid, holder.program);
}

/* The entry of a host in the summary, made where there is none yet. NULL where there are too many. */
static struct used_host *find_used(struct network *network, const char *host, const char *port)
{
    uint16_t number = 0;
    if (!port_parse(port, &number))
        number = 0;
    vec_each (struct used_host, used, &network->used) {
        if (used->port == number && strcmp(used->host, host) == 0)
            return used;
    }
    if (network->used.count == MOST_USED)
        return NULL;
    vec_push(&network->used, (struct used_host){arena_str(&network->arena, host), number, 0, 0, 0});
    return &network->used.at[network->used.count - 1];
}

/* A connection has ended: "ADDRESS SENT RECEIVED MILLISECONDS". */
static void take_account(struct network *network, const char *host, const char *port, char *rest)
{
    const char *address = next_word(&rest), *sent = next_word(&rest), *received = next_word(&rest),
               *milliseconds = rest ? rest : "";
    struct used_host *used = find_used(network, host, port);
    if (used) {
        used->times++;
        used->sent += strtoull(sent, NULL, 10);
        used->received += strtoull(received, NULL, 10);
    }
    journal_event(network->journal, "closed", "host", host, "port", port, "address", address, "sent", sent,
                  "received", received, "milliseconds", milliseconds);
}

/* Is the address one of those that stand for names, and the name spelled as in rules? Both are passed to the next helper as facts. */
static bool is_name_at(const char *name, const char *address)
{
    struct arena scratch = {0};
    struct host_object host;
    struct in_addr v4;
    const char *problem, *hint;
    bool is_one = host_parse(&scratch, name, &host, &problem, &hint) == 0 && host.kind == HOST_NAME &&
                  strcmp(host.name, name) == 0 && inet_pton(AF_INET, address, &v4) == 1 &&
                  ntohl(v4.s_addr) >> 17 == PORT_NAMES_ADDRESS >> 17;
    arena_free(&scratch);
    return is_one;
}

static void take_name(struct network *network, const char *address, const char *name)
{
    if (!is_name_at(name, address))
        return;
    const char *place = arena_printf(&network->arena, "name %s ", address);
    for (size_t i = 0; i < network->added.count; i++) {
        if (text_starts_with(network->added.at[i], place))
            return; /* a helper that was started again repeats it; or another name has that address */
    }
    if (network->added.count < MOST_ADDED)
        vec_push(&network->added, arena_printf(&network->arena, "%s%s", place, name));
    journal_event(network->journal, "name", "host", name, "stands-at", address);
}

static void take_event(struct network *network, char *line)
{
    char *rest = line;
    const char *what = next_word(&rest);
    if (strcmp(what, "taken") == 0) {
        const char *number = next_word(&rest);
        helper_confirm(network, (unsigned)strtoul(number, NULL, 10), rest ? rest : "");
        return;
    }
    if (strcmp(what, "proved") == 0) { /* nothing is recorded */
        const char *host = next_word(&rest);
        dialled_take(&network->dialled, host, rest ? rest : "");
        return;
    }
    bool is_alarm =
        strcmp(what, "leak") == 0 || strcmp(what, "misused") == 0; /* they have limits of their own */
    if (!is_alarm && network->events++ >= MOST_EVENTS) {
        journal_leave_out(network->journal);
        return;
    }
    if (strcmp(what, "trouble") == 0) {
        journal_event(network->journal, "network-trouble", "why", rest ? rest : "");
        return;
    }
    if (strcmp(what, "name") == 0) {
        const char *address = next_word(&rest);
        take_name(network, address, rest ? rest : "");
        return;
    }
    if (strcmp(what, "leak") == 0) {
        if (network->leaked && rest)
            network->leaked(network->misused_self, rest);
        return;
    }
    const char *host = next_word(&rest), *port = next_word(&rest), *detail = rest ? rest : "";
    if (strcmp(what, "closed") == 0) {
        take_account(network, host, port, rest);
        return;
    }
    if (strcmp(what, "misused") == 0) {
        if (network->misused)
            network->misused(network->misused_self, detail, host, port);
    } else if (strcmp(what, "held") == 0) {
        take_held(network, host, port, detail);
    } else if (strcmp(what, "asked") == 0) {
        take_question(network, host, port, detail);
    } else if (strcmp(what, "refused") == 0) {
        helper_note_refused(network, host, port, detail);
        journal_event(network->journal, "refused", "host", host, "port", port, "why", detail);
    } else if (strcmp(what, "failed") == 0) {
        if (network->unreachable.count < MOST_REFUSED)
            vec_push(&network->unreachable, kept_host(network, host, port, detail));
        journal_event(network->journal, "unreachable", "host", host, "port", port, "why", detail);
    } else if (strcmp(what, "connected") == 0 || strcmp(what, "published") == 0) {
        if (*what == 'c')
            find_used(network, host, port);
        journal_event(network->journal, what, "host", host, "port", port, "address", detail);
    }
}

bool helper_read_events(struct network *network)
{
    char line[LONGEST_LINE + 1];
    int fd = -1;
    for (int i = 0; i < MOST_AT_ONCE; i++) {
        ssize_t got = passing_receive(network->link_fd, line, LONGEST_LINE, &fd);
        if (got <= 0)
            return got < 0 && (errno == EAGAIN || errno == EPROTO);
        fd_close(fd); /* the helper sends none */
        line[got] = '\0';
        take_event(network, line);
    }
    return true;
}
