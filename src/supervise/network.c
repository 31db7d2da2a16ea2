#include "supervise/network.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/text.h"
#include "kernel/holder.h"
#include "kernel/libexec.h"
#include "kernel/passing.h"
#include "kernel/ports.h"
#include "policy/decide.h"
#include "supervise/helper.h"

enum {
    MOST_STARTS = 32,
    MOST_ADDED = 8192,
    MOST_EVENTS = 65536, /* whoever takes the helper over shall not fill the disk */
    MOST_REFUSED = 256,
    MOST_USED = 256,
    MOST_LOOKED_AT = 256, /* refused names whose asking process is looked for */
    LONGEST_LINE = 1024,
};

static void start_helper(struct network *network);

static bool is_mode(const struct network *network, const char *mode)
{
    return network->mode && strcmp(network->mode, mode) == 0;
}

static int take_host_port(struct network *network, uint16_t inside, uint16_t outside, struct err *err)
{
    struct port_request request = {.kind = PORT_LISTENER, .at = endpoint_v4(INADDR_LOOPBACK, outside)};
    auto_fd int fd = port_make(&request);
    if (fd < 0) {
        err_sys(err, errno, "cannot publish port %u of the sandbox at 127.0.0.1:%u", inside, outside);
        return err_hint(err,
                        errno == EACCES ? "choose a port from 1024 on: publish 8080:80"
                                        : "choose another port on the host: publish OTHER:%u",
                        inside);
    }
    vec_push(&network->host_fds, fd);
    vec_push(&network->sockets, (struct standing_socket){fd_take(&fd), inside});
    return 0;
}

int network_prepare(const struct plan *plan, const char *const *environment, struct journal *journal,
                    struct network *ret_network, struct err *err)
{
    *ret_network = (struct network){
        .plan = plan, .environment = environment, .journal = journal, .port_fd = -1, .link_fd = -1};
    for (size_t i = 0; i < plan->operations.count; i++) {
        const struct operation *operation = &plan->operations.at[i];
        if (operation->kind == OP_NET)
            ret_network->mode = operation->value;
        if (operation->kind == OP_PUBLISH && !is_mode(ret_network, "open") &&
            take_host_port(ret_network, operation->port, operation->host_port, err) < 0)
            return -1; /* what was taken is given back by network_free */
    }
    return 0;
}

/* Words of a line from the helper, which speaks with strangers: what they hold is shown, never acted upon. */
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

static void note_refused(struct network *network, const char *host, const char *port, const char *sentence)
{
    network->refused_in_all++;
    if (network->refused.count < MOST_REFUSED)
        vec_push(&network->refused, kept_host(network, host, port, sentence));
}

static int send_line(struct network *network, const char *line, int fd, struct err *err)
{
    if (network->link_fd >= 0 && passing_send(network->link_fd, line, strlen(line), fd) < 0)
        return err_sys(err, errno, "cannot reach the network's helper");
    return 0;
}

/* Somebody asked for a name that is not on the list, and gets no answer before it is known who. */
static void take_question(struct network *network, const char *host, const char *protocol, const char *port)
{
    static const char why[] = "is not on the list of hosts";
    uint16_t number;
    struct holder holder;
    note_refused(network, host, "", why);
    if (network->inside > 0 && network->looked_at++ < MOST_LOOKED_AT && port_parse(port, &number) &&
        holder_find(network->inside, strcmp(protocol, "tcp") == 0, number, &holder)) {
        char pid[16];
        snprintf(pid, sizeof(pid), "%d", (int)holder.pid);
        journal_event(network->journal, "refused", "host", host, "port", "0", "why", why, "program",
                      holder.program, "pid", pid);
    } else {
        journal_event(network->journal, "refused", "host", host, "port", "0", "why", why);
    }
    char answer[LONGEST_LINE];
    struct err ignored; /* then the answer comes when the question is asked again */
    snprintf(answer, sizeof(answer), "answer %s", host);
    if (send_line(network, answer, -1, &ignored) < 0)
        return;
}

/* NULL where there are too many. */
static struct used_host *find_used(struct network *network, const char *host, const char *port)
{
    uint16_t number = 0;
    if (!port_parse(port, &number))
        number = 0;
    for (size_t i = 0; i < network->used.count; i++) {
        struct used_host *used = &network->used.at[i];
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

static void take_event(struct network *network, char *line)
{
    char *rest = line;
    const char *what = next_word(&rest);
    if (network->events++ >= MOST_EVENTS)
        return;
    if (strcmp(what, "trouble") == 0) {
        journal_event(network->journal, "network-trouble", "why", rest ? rest : "");
        return;
    }
    if (strcmp(what, "name") == 0) {
        const char *address = next_word(&rest), *name = rest ? rest : "";
        const char *kept = arena_printf(&network->arena, "name %s %s", address, name);
        for (size_t i = 0; i < network->added.count; i++) {
            if (strcmp(network->added.at[i], kept) == 0)
                return; /* told again by a helper that was started again */
        }
        if (network->added.count < MOST_ADDED)
            vec_push(&network->added, kept);
        journal_event(network->journal, "name", "host", name, "stands-at", address);
        return;
    }
    const char *host = next_word(&rest), *port = next_word(&rest), *detail = rest ? rest : "";
    if (strcmp(what, "closed") == 0) {
        take_account(network, host, port, rest);
        return;
    }
    if (strcmp(what, "asked") == 0) {
        take_question(network, host, port, detail);
    } else if (strcmp(what, "refused") == 0) {
        note_refused(network, host, port, detail);
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

/* Reads what the helper has told. Returns false when it is gone. */
static bool hear_helper(struct network *network)
{
    char line[LONGEST_LINE + 1];
    int fd = -1;
    ssize_t got;
    while ((got = passing_receive(network->link_fd, line, LONGEST_LINE, &fd)) > 0) {
        if (fd >= 0)
            close(fd); /* none is expected */
        line[got] = '\0';
        take_event(network, line);
    }
    return got < 0 && (errno == EAGAIN || errno == EPROTO);
}

static int socket_ready(void *self, short events, struct err *err)
{
    (void)events;
    (void)err;
    start_helper(self);
    return 0;
}

static void watch_sockets(struct network *network, bool watch)
{
    for (size_t i = 0; i < network->sockets.count; i++) {
        if (watch)
            loop_add(network->loop, network->sockets.at[i].fd, POLLIN, socket_ready, network);
        else
            loop_remove(network->loop, network->sockets.at[i].fd);
    }
}

/* Nobody will ever answer: whoever asks is told at once, by sockets that are not there. */
static void give_up(struct network *network, const char *why)
{
    watch_sockets(network, false);
    for (size_t i = 0; i < network->sockets.count; i++)
        close(network->sockets.at[i].fd);
    network->sockets.count = 0;
    journal_event(network->journal, "network-trouble", "why", why);
    note_refused(network, "", "", why);
}

static int link_ready(void *self, short events, struct err *err)
{
    (void)events;
    (void)err;
    struct network *network = self;
    if (hear_helper(network))
        return 0;
    loop_remove(network->loop, network->link_fd);
    close(network->link_fd);
    network->link_fd = -1;
    int status = 0;
    waitpid(network->helper, &status, 0);
    network->helper = 0;
    char text[32];
    snprintf(text, sizeof(text), "%d", WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status));
    journal_event(network->journal, "helper-died", "status", text);
    if (network->starts < MOST_STARTS)
        watch_sockets(network, true);
    else
        give_up(network, "the network's helper died again and again");
    return 0;
}

static void start_helper(struct network *network)
{
    if (network->link_fd >= 0)
        return;
    if (!network->helper_path) {
        give_up(network, "bawn-egress is not installed beside bawn, so that nothing can be reached");
        return;
    }
    struct err err = {0};
    network->starts++;
    watch_sockets(network, false);
    loop_remove(network->loop, network->port_fd); /* from here on process 1 answers the helper */
    if (helper_start(network, &err) < 0) {
        give_up(network, err.message);
        return;
    }
    journal_event(network->journal, "helper-started");
    loop_add(network->loop, network->link_fd, POLLIN, link_ready, network);
}

/* Sockets that process 1 made before the command began. After that it only makes what the helper asks for. */
static int ports_ready(void *self, short events, struct err *err)
{
    (void)events;
    (void)err;
    struct network *network = self;
    struct port_request port;
    int fd = -1, result;
    while ((result = port_receive(network->port_fd, &port, &fd)) > 0) {
        if (fd < 0)
            continue;
        vec_push(&network->sockets, (struct standing_socket){fd, 0});
        loop_add(network->loop, fd, POLLIN, socket_ready, network);
    }
    if (result == 0)
        loop_remove(network->loop, network->port_fd);
    return 0;
}

void network_watch(struct network *network, const struct launched *launched, struct loop *loop)
{
    network->loop = loop;
    if (is_mode(network, "open"))
        return; /* there is nothing between the command and the host's network */
    network->port_fd = launched->port_fd;
    network->inside = launched->pid;
    network->helper_path = libexec_find(&network->arena, "bawn-egress");
    loop_add(loop, network->port_fd, POLLIN, ports_ready, network);
    watch_sockets(network, true);
}

/* A line for the helper that is there, and for those that may come after it. */
static int add_line(struct network *network, const char *line, struct err *err)
{
    if (send_line(network, line, -1, err) < 0)
        return -1;
    vec_push(&network->added, line);
    return 0;
}

/* The administrator's lock that keeps the host shut, or NULL. */
static const struct rule *lock_on(const struct network *network, const struct host_object *host)
{
    candidate_list candidates = {0};
    const struct rule *decides = decide_host(network->plan->policy, host, host->port, &candidates).decides;
    bool is_locked = false;
    for (size_t i = 0; i < candidates.count; i++)
        is_locked |= candidates.at[i].rule->locked;
    vec_free(&candidates);
    return is_locked && decides && decides->verb == VERB_REFUSE ? decides : NULL;
}

/* What the policy refuses within a wider grant stays refused, whether something connected there before or not. */
static int add_refusals_within(struct network *network, const struct host_object *host, struct err *err)
{
    const struct policy *policy = network->plan->policy;
    for (size_t i = 0; i < policy->rules.count; i++) {
        const struct rule *rule = &policy->rules.at[i];
        bool is_within = rule->verb == VERB_REFUSE && policy_rule_counts(policy, rule) &&
                         host_covers(host, &rule->host) &&
                         host_specificity(&rule->host) > host_specificity(host) &&
                         (rule->host.port == 0 || rule->host.port == host->port);
        const char *text = is_within ? host_text(&network->arena, &rule->host) : "";
        if (is_within && add_line(network,
                                  arena_printf(&network->arena, "refuse %s own",
                                               host_with_port(&network->arena, text, host->port)),
                                  err) < 0)
            return -1;
    }
    return 0;
}

int network_allow(struct network *network, const char *text, struct err *err)
{
    struct host_object host;
    const char *problem = "", *hint = "";
    if (host_parse(&network->arena, text, &host, &problem, &hint) < 0)
        return err_set(err, "%s: %s", text, problem);
    host.port = host.port ? host.port : PORT_HTTPS;
    if (!is_mode(network, "allow") || network->added.count >= MOST_ADDED) {
        err_set(err, "this session has no list of hosts to which one could be added");
        return err_hint(err, "its network is %s", network->mode);
    }
    const struct rule *lock = lock_on(network, &host);
    if (lock)
        return err_set(err, "the administrator keeps %s shut: `lock refuse %s` (%s)", text, lock->written,
                       rule_origin(&network->arena, lock));
    if (add_refusals_within(network, &host, err) < 0 ||
        add_line(network, arena_printf(&network->arena, "connect %s own", text), err) < 0)
        return -1;
    journal_event(network->journal, "allowed", "host", text);
    if (network->link_fd < 0)
        start_helper(network); /* an address needs a socket inside before anybody comes */
    return 0;
}

int network_publish(struct network *network, uint16_t inside, uint16_t outside, struct err *err)
{
    if (network->port_fd < 0)
        return err_set(err, "this session has the host's network: its ports are the host's already");
    if (take_host_port(network, inside, outside, err) < 0)
        return -1;
    int fd = network->sockets.at[network->sockets.count - 1].fd;
    const char *line = arena_printf(&network->arena, "publish %u", inside);
    if (send_line(network, line, fd, err) < 0)
        return -1;
    if (network->link_fd < 0)
        loop_add(network->loop, fd, POLLIN, socket_ready, network);
    journal_event(network->journal, "published-port", "port", line + strlen("publish "));
    return 0;
}

void network_end(struct network *network)
{
    enum { LAST_WORD_MILLISECONDS = 1000 };
    network->inside = 0; /* the number may soon be another's */
    /* It ends by itself when process 1 has, and tells before that what is still open. */
    struct pollfd ready = {.fd = network->link_fd, .events = POLLIN};
    while (network->link_fd >= 0 && hear_helper(network) && poll(&ready, 1, LAST_WORD_MILLISECONDS) > 0) {
    }
    if (network->helper > 0) {
        kill(network->helper, SIGKILL);
        waitpid(network->helper, NULL, 0);
    }
    network->helper = 0;
}

void network_free(struct network *network)
{
    network_end(network);
    for (size_t i = 0; i < network->sockets.count; i++)
        close(network->sockets.at[i].fd);
    if (network->link_fd >= 0)
        close(network->link_fd);
    vec_free(&network->sockets);
    vec_free(&network->host_fds);
    vec_free(&network->added);
    vec_free(&network->refused);
    vec_free(&network->used);
    vec_free(&network->unreachable);
    arena_free(&network->arena);
}
