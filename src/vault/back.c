/* The back: has the secrets, takes requests from the front, and ends with bawn or the front. */
#include <errno.h>
#include <fcntl.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/fd.h"
#include "kernel/ports.h"
#include "vault/server.h"

enum { TICK = 250, LARGEST_TRUST_STORE = 16 * 1024 * 1024 };

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

/*
 * The machine's list of trusted certificates, as OpenSSL finds it, is read before the walls. Parsing it takes longer than all else, and bawn
 * does not wait for that: load_trust_store does it later.
 */
static void read_trust_store(struct buf *list)
{
    const char *path = getenv(X509_get_default_cert_file_env());
    auto_fd int fd = open(path ? path : X509_get_default_cert_file(), O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0 || buf_read(list, fd, LARGEST_TRUST_STORE) < 0)
        list->size = 0; /* the folder of certificates may be enough; if not, no server is trusted */
}

static void load_trust_store(const struct back *back, struct buf *list)
{
    X509_STORE *store = SSL_CTX_get_cert_store(back->context);
    BIO *text = list->size ? BIO_new_mem_buf(list->bytes, (int)list->size) : NULL;
    STACK_OF(X509_INFO) *found = text ? PEM_X509_INFO_read_bio(text, NULL, NULL, NULL) : NULL;
    for (int i = 0; i < sk_X509_INFO_num(found); i++) {
        const X509_INFO *info = sk_X509_INFO_value(found, i);
        if (info->x509)
            X509_STORE_add_cert(store, info->x509);
        if (info->crl)
            X509_STORE_add_crl(store, info->crl);
    }
    sk_X509_INFO_pop_free(found, X509_INFO_free);
    BIO_free(text);
    buf_free(list);
    ERR_clear_error();
}

static int open_context(struct back *back, struct err *err)
{
    static const unsigned char spoken[] = "\x08http/1.1";
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    if (!context || !SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION) ||
        SSL_CTX_set_default_verify_dir(context) != 1 ||
        SSL_CTX_set_alpn_protos(context, spoken, sizeof(spoken) - 1) != 0)
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
        poller_run_once(&back->poller, TICK);
        servers_keep_deadlines(back);
    }
}

int back_run(struct vault_settings *settings, int link_fd, int front_fd)
{
    static struct back back;
    struct err err = {0};
    auto_buf struct buf trusted = {0};
    back.settings = settings;
    back.values = (struct values){.poller = &back.poller,
                                  .came = value_came,
                                  .keeper_came = keeper_came,
                                  .arena = &back.arena,
                                  .patterns = &back.patterns};
    if (poller_open(&back.poller) < 0 ||
        poller_add(&back.poller, &back.front, front_fd, EPOLLIN, front_ready) < 0)
        return 1;
    read_trust_store(&trusted);
    if (values_open(&back.values, settings, link_fd, &err) < 0 || open_context(&back, &err) < 0 ||
        confine(true, &err) < 0) {
        if (back.values.link.is_open)
            values_tell(&back.values, "trouble", err.message);
        return 1;
    }
    values_tell(&back.values, "ready", "now");
    load_trust_store(&back, &trusted);
    while (!back.poller.is_over) {
        poller_run_once(&back.poller, back.servers ? TICK : -1);
        servers_keep_deadlines(&back);
    }
    finish(&back);
    return 0;
}
