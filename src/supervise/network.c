#include "supervise/network.h"

#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "kernel/ports.h"
#include "kernel/process.h"
#include "policy/decide.h"
#include "supervise/helper.h"

enum { MOST_STARTS = 32 };

static void start_helper(struct network *network);

static bool is_mode(const struct network *network, const char *mode)
{
    return network->mode && strcmp(network->mode, mode) == 0;
}

static int take_host_port(struct network *network, uint16_t inside, uint16_t outside, struct err *err)
{
    struct port_request request = {.kind = PORT_SOLE_LISTENER, .at = endpoint_v4(INADDR_LOOPBACK, outside)};
    auto_fd int fd = port_make(&request);
    if (fd < 0) {
        err_sys(err, errno, "cannot publish port %u of the sandbox at 127.0.0.1:%u", inside, outside);
        return err_hint(err,
                        errno == EACCES ? "choose a port from 1024 on: publish 8080:%u"
                                        : "choose another port on this machine: publish OTHER:%u",
                        inside);
    }
    vec_push(&network->host_fds, fd);
    vec_push(&network->sockets, (struct standing_socket){fd_take(&fd), inside});
    return 0;
}

int network_prepare(const struct plan *plan, const char *const *environment, struct journal *journal,
                    struct network *ret_network, struct err *err)
{
    *ret_network = (struct network){.plan = plan,
                                    .environment = environment,
                                    .journal = journal,
                                    .port_fd = -1,
                                    .link_fd = -1,
                                    .vault_fd = -1,
                                    .localhost = LOCALHOST_NONE};
    dialled_begin(&ret_network->dialled, &ret_network->arena, plan);
    vec_each (const struct operation, operation, &plan->operations) {
        if (operation->kind == OP_NET)
            ret_network->mode = operation->value;
        if (operation->kind == OP_PUBLISH && !is_mode(ret_network, "open") &&
            take_host_port(ret_network, operation->port, operation->host_port, err) < 0)
            return -1; /* what was taken is given back by network_free */
    }
    return 0;
}

static int socket_ready(void *self, short events not_used, struct err *err not_used)
{
    start_helper(self);
    return 0;
}

/* The channel also ends with the sandbox. */
static int arrival_ready(void *self, short events, struct err *err not_used)
{
    struct network *network = self;
    if (!(events & POLLHUP))
        start_helper(network);
    else
        loop_remove(network->loop, network->port_fd);
    return 0;
}

static void watch_sockets(struct network *network, bool watch)
{
    if (network->has_arrivals && watch)
        loop_add(network->loop, network->port_fd, POLLIN, arrival_ready, network);
    else if (network->has_arrivals)
        loop_remove(network->loop, network->port_fd);
    for (size_t i = 0; i < network->sockets.count; i++) {
        if (watch)
            loop_add(network->loop, network->sockets.at[i].fd, POLLIN, socket_ready, network);
        else
            loop_remove(network->loop, network->sockets.at[i].fd);
    }
}

/* Without a namespace connections and questions come on the channel, which the helper reads. Without a helper they are hung up on. */
static int refuse_arrival(void *self, short events not_used, struct err *err not_used)
{
    struct network *network = self;
    struct port_request arrival;
    int fd = -1, result;
    while ((result = port_receive(network->port_fd, &arrival, &fd)) > 0)
        fd_close(fd);
    if (result == 0)
        loop_remove(network->loop, network->port_fd);
    return 0;
}

/* Closes the sockets, so that connections fail at once instead of waiting for a helper. */
static void give_up(struct network *network, const char *why)
{
    watch_sockets(network, false);
    for (size_t i = 0; i < network->sockets.count; i++)
        close(network->sockets.at[i].fd);
    network->sockets.count = 0;
    if (network->has_arrivals) {
        loop_remove(network->loop, network->port_fd);
        loop_add(network->loop, network->port_fd, POLLIN, refuse_arrival, network);
    }
    journal_event(network->journal, "network-trouble", "why", why);
    helper_note_refused(network, "", "", why);
    while (network->unconfirmed.count)
        helper_confirm(network, network->unconfirmed.at[0], why);
}

static int link_ready(void *self, short events not_used, struct err *err not_used)
{
    struct network *network = self;
    if (helper_read_events(network))
        return 0;
    loop_remove(network->loop, network->link_fd);
    close(network->link_fd);
    network->link_fd = -1;
    int status = 0;
    kill(network->helper, SIGKILL); /* one that only hung up is not waited for */
    waitpid(network->helper, &status, 0);
    network->helper = 0;
    char text[32];
    snprintf(text, sizeof(text), "%d", WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status));
    journal_event(network->journal, "helper-died", "status", text);
    if (network->starts >= MOST_STARTS)
        give_up(network, "the network helper keeps crashing");
    else if (network->has_late_addresses || network->unconfirmed.count)
        start_helper(network);
    else
        watch_sockets(network, true);
    return 0;
}

/* The helper tells of a proof before it passes it on: whatever a program does with it, the line is there by now. */
const char *network_dialled(struct network *network, const char *mark)
{
    enum {
        MOST_ROUNDS = 64
    }; /* more than the socket has room for; a helper that sends without end holds nobody up */
    struct err unheard;
    for (int i = 0; i < MOST_ROUNDS && network->link_fd >= 0; i++) {
        struct pollfd ready = {.fd = network->link_fd, .events = POLLIN};
        if (poll(&ready, 1, 0) <= 0 || link_ready(network, POLLIN, &unheard) < 0)
            break;
    }
    return dialled_find(&network->dialled, mark);
}

/* The helper answers once everything sent before is in use. */
static int ask_for_word(struct network *network, unsigned number, struct err *err)
{
    char line[32];
    snprintf(line, sizeof(line), "confirm %u", number);
    return helper_send(network, line, -1, err);
}

static void start_helper(struct network *network)
{
    if (network->link_fd >= 0)
        return;
    if (!network->helper_path) {
        give_up(network, "bawn-egress is not installed beside bawn, so no host can be reached");
        return;
    }
    struct err err = {0};
    network->starts++;
    watch_sockets(network, false);
    if (!network->has_arrivals)
        loop_remove(network->loop, network->port_fd); /* from here on process 1 answers the helper */
    if (helper_start(network, &err) < 0) {
        give_up(network, err.message);
        return;
    }
    journal_event(network->journal, "helper-started");
    loop_add(network->loop, network->link_fd, POLLIN, link_ready, network);
    for (size_t i = 0; i < network->unconfirmed.count; i++) {
        if (ask_for_word(network, network->unconfirmed.at[i], &err) < 0)
            return; /* whoever waits for it does so for a while only */
    }
}

/* Receives the sockets that process 1 made before the command began. */
static int ports_ready(void *self, short events not_used, struct err *err not_used)
{
    struct network *network = self;
    struct port_request port;
    int fd = -1, result;
    while ((result = port_receive(network->port_fd, &port, &fd)) > 0) {
        if (fd < 0)
            continue;
        if (port.kind == PORT_SERVERS || port.kind == PORT_REFUSALS) {
            localhost_take(&network->localhost, port.kind == PORT_REFUSALS, fd);
            continue;
        }
        vec_push(&network->sockets, (struct standing_socket){fd, 0});
        loop_add(network->loop, fd, POLLIN, socket_ready, network);
    }
    if (result == 0)
        loop_remove(network->loop, network->port_fd);
    return 0;
}

static bool is_published(const struct network *network, uint16_t port)
{
    vec_each (const struct standing_socket, socket, &network->sockets) {
        if (socket->published == port)
            return true;
    }
    return false;
}

/* Nobody listens at a port of localhost inside, and on this machine somebody does: as a host that could not be reached. */
static void note_other_localhost(struct network *network, uint16_t port)
{
    const char *why = arena_printf(
        &network->arena, "localhost inside is the sandbox's own; --host-port %u leads to this machine's port",
        port);
    vec_push(&network->unreachable, (struct refused_host){"localhost", port, why});
    journal_event(network->journal, "unreachable", "host", "localhost", "port",
                  arena_printf(&network->arena, "%u", port), "why", why);
}

static void notice(void *self, enum localhost_kind kind, uint16_t port)
{
    struct network *network = self;
    if (kind == LOCALHOST_SERVES && is_published(network, port))
        return;
    if (kind == LOCALHOST_REFUSED)
        note_other_localhost(network, port);
    else
        journal_event(network->journal, "serves", "port", arena_printf(&network->arena, "%u", port));
    if (network->noticed)
        network->noticed(network->noticed_self, kind, port);
}

void network_servers(const struct network *network, port_list *ret_ports)
{
    const struct localhost *localhost = &network->localhost;
    for (size_t i = 0; i < localhost->serving_told; i++) {
        if (!is_published(network, localhost->serving[i]) &&
            !localhost_is_own(localhost, localhost->serving[i]))
            vec_push(ret_ports, localhost->serving[i]);
    }
}

void network_watch(struct network *network, const struct launched *launched, struct loop *loop)
{
    network->loop = loop;
    if (is_mode(network, "open"))
        return; /* there is nothing between the command and the host's network */
    network->localhost.plan = network->plan;
    network->localhost.loop = loop;
    network->localhost.noticed = notice;
    network->localhost.self = network;
    network->port_fd = launched->port_fd;
    network->inside = launched->pid;
    network->helper_path = libexec_find(&network->arena, "bawn-egress");
    network->has_arrivals = launched->is_bare;
    if (!network->has_arrivals)
        loop_add(loop, network->port_fd, POLLIN, ports_ready, network);
    watch_sockets(network, true);
}

/* Sends a line to the running helper, and keeps it for helpers that are started later. */
static int add_line(struct network *network, const char *line, struct err *err)
{
    if (helper_send(network, line, -1, err) < 0)
        return -1;
    vec_push(&network->added, line);
    return 0;
}

/* Does the policy refuse this within the wider grant? */
static bool is_carved_out(const struct host_object *refused, const struct host_object *host)
{
    return host_may_lead_to(host, refused) ||
           (host_covers(host, refused) && host_specificity(refused) > host_specificity(host));
}

/* Refusals of the policy within a wider grant stay in force. */
static int add_refusals_within(struct network *network, const struct host_object *host, struct err *err)
{
    const struct policy *policy = network->plan->policy;
    vec_each (const struct rule, rule, &policy->rules) {
        bool is_within = rule->verb == VERB_REFUSE && !rule->request && policy_rule_counts(policy, rule) &&
                         is_carved_out(&rule->host, host) &&
                         (rule->host.port == 0 || rule->host.port == host->port);
        const char *text = is_within ? host_text(&network->arena, &rule->host) : "";
        if (is_within && add_line(network,
                                  arena_printf(&network->arena, "refuse %s late",
                                               host_with_port(&network->arena, text, host->port)),
                                  err) < 0)
            return -1;
    }
    return 0;
}

/* Without a helper there is nothing to wait for: the next one starts with all grants. */
static int wait_for_helper(struct network *network, unsigned *ret_number, struct err *err)
{
    unsigned number = network->link_fd >= 0 ? ++network->last_given : 0;
    if (number && ask_for_word(network, number, err) < 0)
        return -1;
    if (number)
        vec_push(&network->unconfirmed, number);
    *ret_number = number;
    return 0;
}

/* A host that is opened now would be open for all requests: which requests are judged is fixed at the start. */
static bool judges_requests(const struct network *network, const struct host_object *host)
{
    const struct policy *policy = network->plan->policy;
    vec_each (const struct rule, rule, &policy->rules) {
        bool is_port =
            rule->host.port == host->port || (rule->host.port == PORT_HTTPS && host->port == PORT_HTTP);
        if (rule->request && policy_rule_counts(policy, rule) && is_port &&
            (host_covers(&rule->host, host) || host_covers(host, &rule->host)))
            return true;
    }
    return false;
}

/* May the session get this host? */
static int check_host(struct network *network, const char *text, struct host_object *ret_host,
                      struct err *err)
{
    const char *problem = "", *hint = "";
    if (host_parse_target(&network->arena, text, ret_host, &problem, &hint) < 0)
        return err_set(err, "%s: %s", text, problem);
    if (!is_mode(network, "allow") || network->added.count >= MOST_ADDED) {
        err_set(err, "this session has no list of hosts");
        return err_hint(err, "its network is %s", network->mode);
    }
    if (judges_requests(network, ret_host)) {
        err_set(err, "rules of the policy judge requests to %s by their path", text);
        return err_hint(err, "add a rule such as `connect %s/PATH GET`, and start again",
                        host_text(&network->arena, ret_host));
    }
    const struct rule *lock = decide_host_lock(network->plan->policy, ret_host);
    if (lock)
        return err_set(err, "the administrator refuses %s: `lock refuse %s` (%s)", text, lock->written,
                       rule_origin(&network->arena, lock));
    return 0;
}

static int insist_on_helper(struct network *network, struct err *err)
{
    start_helper(network);
    return network->link_fd < 0 ? err_set(err, "the network helper does not start: `bawn log` shows why") : 0;
}

int network_allow(struct network *network, const char *text, unsigned *ret_number, struct err *err)
{
    struct host_object host;
    if (check_host(network, text, &host, err) < 0 || add_refusals_within(network, &host, err) < 0 ||
        add_line(network, arena_printf(&network->arena, "connect %s late", text), err) < 0)
        return -1;
    journal_event(network->journal, "allowed", "host", text);
    network->has_late_addresses |= host.kind == HOST_ADDRESS;
    /* An address needs a socket inside before anybody comes. */
    if (host.kind == HOST_ADDRESS && insist_on_helper(network, err) < 0)
        return -1;
    return wait_for_helper(network, ret_number, err);
}

int network_allow_once(struct network *network, const char *text, unsigned *ret_number, struct err *err)
{
    struct host_object host;
    /* The line is not kept for a later helper: that one cannot know whether the connection has come. */
    if (check_host(network, text, &host, err) < 0 || add_refusals_within(network, &host, err) < 0 ||
        insist_on_helper(network, err) < 0 ||
        helper_send(network, arena_printf(&network->arena, "once %s late", text), -1, err) < 0)
        return -1;
    journal_event(network->journal, "allowed", "host", text, "for", "one connection");
    return wait_for_helper(network, ret_number, err);
}

int network_refuse(struct network *network, const char *text, struct err *err)
{
    if (network->added.count >= MOST_ADDED)
        return err_set(err, "this session was given too many rules");
    return add_line(network, arena_printf(&network->arena, "refuse %s late", text), err);
}

/* Is the port inside open at this port of the host, by a rule or by an earlier `bawn publish`? */
static bool is_published_at(const struct network *network, uint16_t inside, uint16_t outside)
{
    vec_each (const struct standing_socket, socket, &network->sockets) {
        struct sockaddr_in at = {0};
        socklen_t size = sizeof(at);
        if (socket->published == inside && getsockname(socket->fd, (struct sockaddr *)&at, &size) == 0 &&
            at.sin_family == AF_INET && ntohs(at.sin_port) == outside)
            return true;
    }
    return false;
}

int network_publish(struct network *network, uint16_t inside, uint16_t outside, unsigned *ret_number,
                    struct err *err)
{
    if (network->port_fd < 0)
        return err_set(err, "this session uses this machine's network, so its ports are open here already");
    if (plan_host_port(network->plan, inside))
        return err_set(err, "port %u inside already leads to this machine, so it cannot be published",
                       inside);
    if (is_published_at(network, inside, outside))
        return err_set(err, "port %u of the sandbox is published at 127.0.0.1:%u already", inside, outside);
    if (take_host_port(network, inside, outside, err) < 0)
        return -1;
    int fd = network->sockets.at[network->sockets.count - 1].fd;
    const char *line = arena_printf(&network->arena, "publish %u", inside);
    if (helper_send(network, line, fd, err) < 0)
        return -1;
    if (network->link_fd < 0)
        loop_add(network->loop, fd, POLLIN, socket_ready, network);
    journal_event(network->journal, "published-port", "port", line + strlen("publish "));
    return wait_for_helper(network, ret_number, err);
}

void network_end(struct network *network)
{
    enum { LAST_WORD_MILLISECONDS = 10000 }; /* for a busy machine: a helper that lives answers at once */
    network->inside = 0;                     /* the number may soon be another's */
    localhost_end(&network->localhost);
    /*
     * The helper reports open connections before it ends. With namespaces it ends after process 1. Without namespaces, the judge outlives the
     * command, and with it the channel at which the helper waits: so bawn says that no more will come.
     */
    if (network->link_fd >= 0)
        shutdown(network->link_fd, SHUT_WR);
    struct pollfd ready = {.fd = network->link_fd, .events = POLLIN};
    while (network->link_fd >= 0 && helper_read_events(network) &&
           poll(&ready, 1, LAST_WORD_MILLISECONDS) > 0) {
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
    fd_close(network->link_fd);
    vec_free(&network->sockets);
    vec_free(&network->host_fds);
    vec_free(&network->added);
    vec_free(&network->unconfirmed);
    vec_free(&network->refused);
    vec_free(&network->used);
    vec_free(&network->unreachable);
    dialled_free(&network->dialled);
    arena_free(&network->arena);
}
