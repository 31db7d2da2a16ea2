/* The back: has the secrets, takes requests from the front, and ends with bawn or the front. */
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "kernel/ports.h"
#include "vault/server.h"
#include "vault/trust_store.h"

/* The front names a host that the settings have, and gives two sockets. It may be taken over: TLS decides whose socket it is. */
static void front_ready(struct watcher *watcher, uint32_t events not_used)
{
    struct back *back = container_of(watcher, struct back, front);
    struct handed_connection handed;
    int fds[2];
    size_t count = 0;
    ssize_t got = passing_receive_all(watcher->fd, &handed, sizeof(handed), fds, 2, &count);
    if (got < 0 && errno == EAGAIN)
        return;
    if (got == 0 || (got < 0 && errno != EPROTO)) {
        back->poller.is_over = true;
        return;
    }
    if (got == sizeof(handed) && count == 2 && memchr(handed.host, '\0', sizeof(handed.host)) &&
        back->server_count < VAULT_MOST_CONNECTIONS) {
        server_begin(back, &handed, fds);
        return;
    }
    while (got > 0 && count > 0)
        close(fds[--count]);
}

static int open_context(struct back *back, struct err *err)
{
    static const unsigned char spoken[] = "\x08http/1.1";
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    if (!context || !SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION) ||
        trust_store_open(context) < 0 || SSL_CTX_set_alpn_protos(context, spoken, sizeof(spoken) - 1) != 0)
        return err_set(err, "cannot read the trust store of this machine");
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER, NULL);
    SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS);
    back->context = context;
    return 0;
}

static void value_came(struct values *values, bool is_usable)
{
    servers_go_on(container_of(values, struct back, values), is_usable);
}

static void keeper_came(struct values *values, const char *name, int fd)
{
    refresh_keeper_came(container_of(values, struct back, values), name, fd);
}

/* bawn or the front has ended. A refresh that has been sent is finished: its token is used up. */
static void finish(struct back *back)
{
    int64_t until = now_milliseconds() + VAULT_PATIENCE;
    poller_close(&back->front);
    poller_close(&back->values.link);
    while (servers_refresh(back) && now_milliseconds() < until) {
        poller_run_once(&back->poller, servers_keep_time(back));
    }
}

int back_run(struct vault_settings *settings, int link_fd, int front_fd)
{
    static struct back back;
    struct err err = {0};
    back.settings = settings;
    back.values = (struct values){.poller = &back.poller,
                                  .came = value_came,
                                  .keeper_came = keeper_came,
                                  .arena = &back.arena,
                                  .patterns = &back.patterns};
    if (poller_open(&back.poller) < 0 ||
        poller_add(&back.poller, &back.front, front_fd, EPOLLIN, front_ready) < 0)
        return 1;
    if (values_open(&back.values, settings, link_fd, &err) < 0 || open_context(&back, &err) < 0 ||
        confine(true, &err) < 0) {
        if (back.values.link.is_open)
            values_tell(&back.values, "trouble", err.message);
        return 1;
    }
    values_tell(&back.values, "ready", "now");
    while (!back.poller.is_over)
        poller_run_once(&back.poller, servers_keep_time(&back));
    finish(&back);
    return 0;
}
