/* The front: takes connections from the network helper, and ends with bawn or the back. It has no secret. */
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "kernel/ports.h"
#include "vault/client.h"

static bool is_name(const struct handed_connection *handed)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyz0123456789-._";
    size_t size = strnlen(handed->host, sizeof(handed->host));
    return size > 0 && size < sizeof(handed->host) && strspn(handed->host, allowed) == size;
}

/* The sender has parsed bytes of the sandbox and may be taken over: its words are checked. */
static void egress_ready(struct watcher *watcher, uint32_t events not_used)
{
    struct front *front = container_of(watcher, struct front, egress);
    static char message[sizeof(struct handed_connection) + HANDED_LARGEST_FIRST];
    struct handed_connection handed;
    int fds[HANDED_DESCRIPTORS];
    size_t count = 0;
    ssize_t got = passing_receive_all(watcher->fd, message, sizeof(message), fds, HANDED_DESCRIPTORS, &count);
    if (got < 0)
        return;
    if (got == 0) {
        front->poller.is_over = true;
        return;
    }
    bool is_whole = (size_t)got >= sizeof(handed) && count == HANDED_DESCRIPTORS;
    if (is_whole)
        memcpy(&handed, message, sizeof(handed));
    if (is_whole && is_name(&handed)) {
        client_begin(front, &handed, bytes_of(message + sizeof(handed), (size_t)got - sizeof(handed)), fds);
        return;
    }
    while (count > 0)
        close(fds[--count]);
}

/* bawn and the back say nothing: one of them has ended. */
static void link_ended(struct watcher *watcher, uint32_t events not_used)
{
    container_of(watcher, struct front, link)->poller.is_over = true;
}

static void back_ended(struct watcher *watcher, uint32_t events not_used)
{
    container_of(watcher, struct front, back)->poller.is_over = true;
}

/* bawn gets the authority's certificate, or the reason why there is none. */
static int open_authority(struct front *front, struct err *err)
{
    auto_buf struct buf line = {0};
    buf_add_str(&line, "certificate ");
    if (authority_make(front->settings, &front->authority, err) < 0 ||
        authority_add_certificate(&front->authority, &line, err) < 0 || confine(false, err) < 0)
        return -1;
    front_tell(front, buf_text(&line));
    return 0;
}

int front_run(struct vault_settings *settings, int link_fd, int egress_fd, int back_fd)
{
    static struct front front;
    struct err err = {0};
    front.settings = settings;
    if (poller_open(&front.poller) < 0 ||
        poller_add(&front.poller, &front.link, link_fd, EPOLLIN, link_ended) < 0 ||
        poller_add(&front.poller, &front.egress, egress_fd, EPOLLIN, egress_ready) < 0 ||
        poller_add(&front.poller, &front.back, back_fd, EPOLLIN, back_ended) < 0)
        return 1;
    if (open_authority(&front, &err) < 0) {
        auto_buf struct buf line = {0};
        buf_printf(&line, "trouble %s", err.message);
        front_tell(&front, buf_text(&line));
        return 1;
    }
    while (!front.poller.is_over)
        poller_run_once(&front.poller, clients_keep_time(&front));
    return 0;
}
