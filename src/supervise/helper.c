#include "supervise/helper.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/text.h"
#include "kernel/own_program.h"
#include "supervise/vault.h"

enum { ASK_SECONDS = 120 }; /* that a connection waits for a person's answer */

/* A rule that a person wrote, and not a shipped profile: a name in it may lead into the company's own network. */
static bool is_by_person(const struct rule *rule)
{
    enum layer layer = rule->source->layer;
    return layer == LAYER_ADMIN || layer == LAYER_USER || layer == LAYER_COMMAND_LINE;
}

/* The hosts of a secret, with spaces between them. */
static void add_vaulted(const char *hosts, struct buf *lines)
{
    while (*hosts) {
        size_t size = strcspn(hosts, " ");
        buf_printf(lines, "secret %.*s\n", (int)size, hosts);
        hosts += size + (hosts[size] == ' ');
    }
}

static void add_operations(const struct network *network, struct buf *lines)
{
    vec_each (const struct operation, operation, &network->plan->operations) {
        if (operation->kind == OP_CONNECT || operation->kind == OP_REFUSE) {
            struct arena *arena = network->plan->policy->arena;
            buf_printf(lines, "%s %s%s%s\n", operation_name(operation->kind),
                       host_with_port(arena, operation->value, operation->port),
                       operation->because->host.may_be_unnamed ? HOST_UNNAMED : "",
                       is_by_person(operation->because) ? " own" : "");
        } else if (operation->kind == OP_HOST_PORT) {
            buf_printf(lines, "host-port %u\n", operation->port);
        } else if (operation->kind == OP_SECRET) {
            add_vaulted(operation->value, lines);
        }
    }
}

static void add_rate(const struct network *network, struct buf *lines)
{
    vec_each (const struct operation, operation, &network->plan->operations) {
        if (operation->kind != OP_LIMIT || operation->held_by != HELD_BY_HELPER)
            continue;
        buf_printf(lines, "rate %llu", (unsigned long long)operation->amount);
        if (network->rate_fd)
            buf_printf(lines, " %d", network->rate_fd);
        buf_add_char(lines, '\n');
    }
}

/* The caller's proxy, as most programs look for it. A line holds it, or it is not one. */
static void add_proxy(const struct network *network, struct buf *lines)
{
    static const struct {
        const char *word, *variables[5];
    } settings[] = {
        {"proxy", {"https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY", NULL}},
        {"no-proxy", {"no_proxy", "NO_PROXY", NULL}},
    };
    for (size_t i = 0; i < array_len(settings); i++) {
        const char *value = NULL;
        for (size_t j = 0; !value && settings[i].variables[j]; j++)
            value = text_variable(network->environment, settings[i].variables[j]);
        if (!value || !*value || strpbrk(value, "\n"))
            continue;
        buf_printf(lines, "%s ", settings[i].word);
        for (; *value; value++) { /* a space would begin another word, and means nothing in either */
            if (*value != ' ')
                buf_add_char(lines, *value);
        }
        buf_add_char(lines, '\n');
    }
}

static int write_settings(const struct network *network, struct err *err)
{
    auto_buf struct buf lines = {0};
    add_operations(network, &lines);
    judged_add_hosts(network->plan, &lines);
    for (size_t i = 0; i < network->dialled.hosts.count; i++)
        buf_printf(&lines, "ssh %s\n", network->dialled.hosts.at[i]);
    add_proxy(network, &lines);
    if (network->vault_fd >= 0)
        buf_printf(&lines, "vault %d\n%s", network->vault_fd, network->placeholders);
    if (network->leaks)
        buf_add_str(&lines, network->leaks);
    add_rate(network, &lines);
    if (network->held)
        buf_printf(&lines, "ask %d\n", ASK_SECONDS);
    for (size_t i = 0; i < network->added.count; i++)
        buf_printf(&lines, "%s\n", network->added.at[i]);
    for (size_t i = 0; i < network->sockets.count; i++) {
        struct standing_socket at = network->sockets.at[i];
        if (at.published)
            buf_printf(&lines, "publish %u %d\n", at.published, at.fd);
        else
            buf_printf(&lines, "socket %d\n", at.fd);
    }
    auto_fd int fd = memfd_create("bawn-egress", MFD_CLOEXEC);
    if (fd < 0 || write(fd, buf_text(&lines), lines.size) != (ssize_t)lines.size)
        return err_sys(err, errno, "cannot write the helper's settings");
    return fd_take(&fd);
}

static void keep_open(int fd)
{
    fcntl(fd, F_SETFD, 0);
}

void helper_become(const struct helper_program *program, pid_t parent, const int *fds, size_t fd_count)
{
    enum { MOST_KEPT = 2, MOST_FDS = 6 };
    const char *variables_kept[MOST_KEPT + 1] = {NULL}, *arguments[MOST_FDS + 2] = {program->name};
    char variables[MOST_KEPT][4096], numbers[MOST_FDS][16];
    size_t count = 0;
    for (size_t i = 0; i < program->kept_count && i < MOST_KEPT; i++) {
        const char *value = text_variable(program->environment, program->kept[i]);
        if (value && snprintf(variables[count], sizeof(variables[count]), "%s=%s", program->kept[i], value) <
                         (int)sizeof(variables[count])) {
            variables_kept[count] = variables[count];
            count++;
        }
    }
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    setpgid(0, 0);
    int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0 || getppid() != parent || null_fd < 0)
        _exit(1);
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        dup2(null_fd, fd);
    for (size_t i = 0; i < fd_count && i < MOST_FDS; i++) {
        keep_open(fds[i]);
        snprintf(numbers[i], sizeof(numbers[i]), "%d", fds[i]);
        arguments[i + 1] = numbers[i];
    }
    own_program_become(program->path, arguments, variables_kept);
    _exit(1);
}

void helper_end(pid_t pid)
{
    if (pid <= 0)
        return;
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

static _Noreturn void become_egress(const struct network *network, pid_t parent, int settings_fd, int link_fd)
{
    static const char *const kept[] = {"LOCALDOMAIN", "RES_OPTIONS"}; /* of libc's lookups */
    const int fds[] = {settings_fd, link_fd, network->port_fd};
    for (size_t i = 0; i < network->sockets.count; i++)
        keep_open(network->sockets.at[i].fd);
    if (network->vault_fd >= 0)
        keep_open(network->vault_fd);
    if (network->rate_fd)
        keep_open(network->rate_fd);
    const struct helper_program program = {.path = network->helper_path,
                                           .name = "bawn-egress",
                                           .environment = network->environment,
                                           .kept = kept,
                                           .kept_count = array_len(kept)};
    helper_become(&program, parent, fds, array_len(fds));
}

int helper_start(struct network *network, struct err *err)
{
    auto_fd int settings_fd = write_settings(network, err);
    if (settings_fd < 0)
        return -1;
    int link[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, link) < 0)
        return err_sys(err, errno, "cannot make a socket");
    pid_t parent = getpid(), child = fork();
    if (child == 0)
        become_egress(network, parent, settings_fd, link[1]);
    int errnum = errno;
    close(link[1]);
    if (child < 0) {
        close(link[0]);
        return err_sys(err, errnum, "cannot make a process for the network's helper");
    }
    network->helper = child;
    network->link_fd = link[0];
    return 0;
}
