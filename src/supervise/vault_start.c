/*
 * The start of bawn-vault. Every run with a secret waits for the front, which makes the certificate that the command's programs trust. The
 * back is of no use before a connection comes, and most of what it does then is not needed in a short run: it starts with the first one.
 */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/text.h"
#include "kernel/handed.h"
#include "kernel/ports.h"
#include "kernel/process.h"
#include "policy/host.h"
#include "supervise/helper.h"
#include "supervise/vault.h"

enum { LARGEST_CERTIFICATE = 64 * 1024, START_MILLISECONDS = 20000 };

/* Keeps a secret with a placeholder in the shape of its value; without one, in that which its name suggests. */
static int keep_secret(struct vault *vault, struct kept_secret kept, struct bytes value, struct err *err)
{
    while (value.size && (value.at[value.size - 1] == '\n' || value.at[value.size - 1] == '\r'))
        value.size--;
    if (placeholder_make(&vault->arena, kept.secret->name, value, &kept.placeholder, err) < 0)
        return -1;
    vec_push(&vault->secrets, kept);
    return 0;
}

/* The value's shape. A command is not run before its secret is needed, and a variable is read where it is. */
static int make_placeholder(struct vault *vault, const struct secret_object *secret, const char *hosts,
                            bool is_of_forge, struct err *err)
{
    not_zeroed char value[8192];
    const struct kept_secret kept = {.secret = secret, .hosts = hosts, .is_of_forge = is_of_forge};
    size_t size = 0;
    if (secret->source == SECRET_ENVIRONMENT) {
        const char *own = secret_variable(secret, vault->environment);
        return keep_secret(vault, kept, bytes_of(own, own ? strnlen(own, sizeof(value)) : 0), err);
    }
    if (secret->source == SECRET_COMMAND || secret->source == SECRET_KEYRING)
        return secret_check(secret, vault->plan, vault->environment, err) < 0
                   ? -1
                   : keep_secret(vault, kept, bytes_of(NULL, 0), err);
    auto_fd int fd = secret_read(secret, vault->plan, vault->environment, err);
    if (fd < 0)
        return -1;
    for (ssize_t got = 1; got > 0 && size < sizeof(value); size += (size_t)(got > 0 ? got : 0))
        got = read(fd, value + size, sizeof(value) - size);
    int result = keep_secret(vault, kept, bytes_of(value, size), err);
    explicit_bzero(value, sizeof(value));
    return result;
}

static int write_settings(struct vault *vault, struct err *err)
{
    auto_buf struct buf lines = {0};
    vec_each (const struct kept_secret, kept, &vault->secrets) {
        if (kept->kind)
            buf_printf(&lines, "token %s %s ", token_kind_name(kept->kind), kept->entry);
        else
            buf_add_str(&lines, "secret ");
        buf_printf(&lines, "%s %s %s\n", kept->secret->name, kept->placeholder, kept->hosts);
        for (size_t i = 0; i < kept->secret->carrier_count; i++) {
            const struct secret_carrier *carrier = &kept->secret->carriers[i];
            buf_printf(&lines, "carrier %s%s%s\n", carrier_name(carrier->kind), carrier->name ? " " : "",
                       carrier->name ? carrier->name : "");
        }
        for (size_t i = 0; kept->kind == TOKEN_REFRESH && i < kept->secret->endpoint_count; i++) {
            const struct secret_endpoint *endpoint = &kept->secret->endpoints[i];
            buf_printf(&lines, "refresh %s:%u%s\n", endpoint->host.name, endpoint->host.port, endpoint->path);
        }
        if (kept->secret->source == SECRET_COMMAND)
            buf_add_str(&lines, "issued yes\n");
    }
    tokens_add_forges(vault->plan, &lines);
    tokens_add_requests(vault->plan, &lines);
    judged_add_rules(vault->plan, &lines);
    leaks_add_settings(vault, &lines);
    auto_fd int fd = memfd_create("bawn-vault", MFD_CLOEXEC);
    if (fd < 0 || write(fd, buf_text(&lines), lines.size) != (ssize_t)lines.size ||
        lseek(fd, 0, SEEK_SET) < 0)
        return err_sys(err, errno, "cannot write the vault's settings");
    return fd_take(&fd);
}

/* One of its two processes. The last descriptor is the other's end of the way between them. */
static pid_t start_part(const struct vault *vault, const char *name, const int *fds, size_t count,
                        struct err *err)
{
    static const char *const kept[] = {"SSL_CERT_FILE", "SSL_CERT_DIR"}; /* the user's own trust store */
    pid_t parent = getpid(), child = fork();
    if (child == 0)
        helper_become(&(struct helper_program){vault->path, name, vault->environment, kept, array_len(kept)},
                      parent, fds, count);
    if (child < 0)
        err_sys(err, errno, "cannot make a process for bawn-vault");
    return child;
}

/* Makes both ends of a way for messages. */
static int open_pair(int *ret_own, int *ret_other, struct err *err)
{
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) < 0)
        return err_sys(err, errno, "cannot make a socket");
    *ret_own = pair[0];
    *ret_other = pair[1];
    return 0;
}

static int start_front(struct vault *vault, struct err *err)
{
    auto_fd int settings = write_settings(vault, err), front = -1, egress = -1, to_back = -1;
    if (settings < 0 || open_pair(&vault->front_fd, &front, err) < 0 ||
        open_pair(&vault->egress_fd, &egress, err) < 0 || open_pair(&vault->waiting_fd, &to_back, err) < 0)
        return -1;
    const int fds[] = {settings, front, egress, to_back};
    pid_t child = start_part(vault, VAULT_FRONT, fds, array_len(fds), err);
    if (child < 0)
        return -1;
    vault->front = child;
    return 0;
}

int vault_start_back(struct vault *vault, struct err *err)
{
    auto_fd int settings = write_settings(vault, err), back = -1, to_front = fd_take(&vault->waiting_fd);
    if (settings < 0 || open_pair(&vault->back_fd, &back, err) < 0)
        return -1;
    const int fds[] = {settings, back, to_front};
    pid_t child = start_part(vault, VAULT_BACK, fds, array_len(fds), err);
    if (child < 0)
        return -1;
    vault->back = child;
    return 0;
}

/* The front's first line is the certificate; any other is the reason why it cannot start. */
static int wait_for_certificate(struct vault *vault, struct err *err)
{
    static const char word[] = "certificate ";
    not_zeroed char line[LARGEST_CERTIFICATE];
    struct pollfd ready = {.fd = vault->front_fd, .events = POLLIN};
    int passed = -1;
    if (poll(&ready, 1, START_MILLISECONDS) <= 0)
        return err_set(err, "bawn-vault does not start");
    ssize_t got = passing_receive(vault->front_fd, line, sizeof(line) - 1, &passed);
    fd_close(passed);
    if (got <= 0)
        return err_set(err, "bawn-vault ended when it was started");
    line[got] = '\0';
    if (!text_starts_with(line, word))
        return err_set(err, "bawn-vault cannot start: %s", line);
    vault->certificate = arena_str(&vault->arena, line + strlen(word));
    return 0;
}

/* The back locks memory for the values when it starts. If it will not be able to, the run is refused now. */
static int check_memory_lock(struct err *err)
{
    char *page = mmap(NULL, VAULT_LOCKED, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    bool is_lockable = page != MAP_FAILED && mlock(page, VAULT_LOCKED) == 0;
    if (page != MAP_FAILED)
        munmap(page, VAULT_LOCKED);
    if (is_lockable)
        return 0;
    err_set(err, "cannot lock memory for secrets: bawn-vault needs %d KiB", VAULT_LOCKED / 1024);
    return err_hint(err, "raise the limit: ulimit -l %d", VAULT_LOCKED / 1024);
}

static int add_secret(struct vault *vault, const struct operation *operation, struct err *err)
{
    return operation->is_login
               ? logins_add(vault, operation, err)
               : make_placeholder(vault, operation->because->secret, operation->value, false, err);
}

static int add_token(struct vault *vault, const struct operation *operation, struct err *err)
{
    const struct secret_object *token = tokens_needed(vault->plan, operation);
    if (!token)
        return 0;
    const char *hosts = host_with_port(&vault->arena, token->hosts[0].name, token->hosts[0].port);
    return make_placeholder(vault, token, hosts, true, err);
}

int vault_begin(const struct plan *plan, const char *const *environment, const char *state,
                struct journal *journal, struct vault *ret_vault, struct err *err)
{
    struct vault *vault = ret_vault;
    vault->plan = plan;
    vault->environment = environment;
    vault->journal = journal;
    vault->state = state;
    const struct operation *secret = operations_find(&plan->operations, OP_SECRET),
                           *request = operations_find(&plan->operations, OP_REQUEST);
    if (operations_find(&plan->operations, OP_LEAK) && leaks_begin(vault, err) < 0)
        return -1;
    if (!secret && !request)
        return 0;
    vault->path = libexec_find(&vault->arena, "bawn-vault");
    if (!vault->path && !secret) {
        err_set(err, "the policy judges requests to %s, and bawn-vault is not installed beside bawn",
                request->value);
        return err_hint(err, "build bawn with OpenSSL (libssl-dev), or leave out rules with a path");
    }
    if (!vault->path) {
        err_set(err, "the policy keeps %s outside, and bawn-vault is not installed beside bawn",
                secret->name);
        return err_hint(err, "build bawn with OpenSSL (libssl-dev), or pass --secrets inside");
    }
    vec_each (const struct operation, operation, &plan->operations) {
        if ((operation->kind == OP_SECRET && add_secret(vault, operation, err) < 0) ||
            add_token(vault, operation, err) < 0)
            return -1;
    }
    return check_memory_lock(err) < 0 || start_front(vault, err) < 0 || wait_for_certificate(vault, err) < 0
               ? -1
               : 0;
}
