#include <errno.h>
#include <linux/filter.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "base/text.h"
#include "kernel/ports.h"

int port_open_servers(void)
{
    return socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
}

/* Does a server at this address get connections to localhost? */
static bool takes_localhost(const struct inet_diag_msg *server)
{
    const uint32_t *at = server->id.idiag_src, mapped = htonl(0xffff);
    bool is_v6 = server->idiag_family == AF_INET6;
    if (is_v6 && (at[0] || at[1] || (at[2] && at[2] != mapped)))
        return false;
    uint32_t own = is_v6 ? at[3] : at[0];
    return own == 0 || own == htonl(is_v6 && !at[2] ? 1 : INADDR_LOOPBACK);
}

enum part { PART_GOES_ON, PART_IS_LAST, PART_IS_NONE };

static enum part see_servers(const char *bytes, size_t size, port_seen *seen, void *self)
{
    for (size_t at = 0; at <= size && size - at >= sizeof(struct nlmsghdr);) {
        const struct nlmsghdr *message = (const void *)(bytes + at);
        if (message->nlmsg_len < sizeof(*message) || message->nlmsg_len > size - at ||
            message->nlmsg_type == NLMSG_ERROR)
            return PART_IS_NONE;
        if (message->nlmsg_type == NLMSG_DONE)
            return PART_IS_LAST;
        const struct inet_diag_msg *server = NLMSG_DATA(message);
        if (message->nlmsg_len >= NLMSG_LENGTH(sizeof(*server)) && takes_localhost(server))
            seen(self, ntohs(server->id.idiag_sport));
        at += NLMSG_ALIGN(message->nlmsg_len);
    }
    return PART_GOES_ON;
}

static bool list_family(int servers_fd, uint8_t family, uint16_t only, port_seen *seen, void *self)
{
    enum { PARTS = 64 };
    not_zeroed _Alignas(struct nlmsghdr) char bytes[8192];
    struct {
        struct nlmsghdr header;
        struct inet_diag_req_v2 request;
    } question = {.header = {.nlmsg_len = sizeof(question),
                             .nlmsg_type = SOCK_DIAG_BY_FAMILY,
                             .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP},
                  .request = {.sdiag_family = family,
                              .sdiag_protocol = IPPROTO_TCP,
                              .idiag_states = 1U << TCP_LISTEN,
                              .id.idiag_sport = htons(only)}};
    if (send(servers_fd, &question, sizeof(question), 0) != sizeof(question))
        return false;
    enum part part = PART_GOES_ON;
    for (int parts = 0; parts < PARTS && part == PART_GOES_ON; parts++) {
        ssize_t got = recv(servers_fd, bytes, sizeof(bytes), MSG_TRUNC);
        if (got <= 0 || (size_t)got > sizeof(bytes))
            return false;
        part = see_servers(bytes, (size_t)got, seen, self);
    }
    return part == PART_IS_LAST;
}

bool port_list_servers(int servers_fd, uint16_t only, port_seen *seen, void *self)
{
    return list_family(servers_fd, AF_INET, only, seen, self) &&
           list_family(servers_fd, AF_INET6, only, seen, self);
}

enum { LONGEST_IP_HEADER = 60, TCP_FLAGS = 13, TCP_SEQUENCE = 4 };

/*
 * Bound to 127.0.0.1, the socket costs other connections nothing. The kernel answers a connection that nobody waits for by a reset whose
 * sequence number is 0; resets of connections that were there have another one.
 */
int port_open_refusals(void)
{
    const struct sockaddr_in here = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    enum { FLAGS = TH_FIN | TH_SYN | TH_RST | TH_ACK, REFUSED = TH_RST | TH_ACK };
    struct sock_filter code[] = {
        BPF_STMT(BPF_LDX | BPF_B | BPF_MSH, 0), /* the size of the IP header */
        BPF_STMT(BPF_LD | BPF_B | BPF_IND, TCP_FLAGS),
        BPF_STMT(BPF_ALU | BPF_AND | BPF_K, FLAGS),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, REFUSED, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_IND, TCP_SEQUENCE),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, LONGEST_IP_HEADER + sizeof(struct tcphdr)),
        BPF_STMT(BPF_RET | BPF_K, 0),
    };
    struct sock_fprog filter = {array_len(code), code};
    auto_fd int fd = socket(AF_INET, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_TCP);
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof(filter)) < 0 ||
        bind(fd, (const struct sockaddr *)&here, sizeof(here)) < 0)
        return -1;
    return fd_take(&fd);
}

bool port_take_refusal(int refusals_fd, uint16_t *ret_port)
{
    uint8_t packet[LONGEST_IP_HEADER + sizeof(struct tcphdr)];
    ssize_t got = recv(refusals_fd, packet, sizeof(packet), 0);
    size_t header = got > 0 ? (size_t)(packet[0] & 0xf) * 4 : 0;
    if (got < (ssize_t)(header + sizeof(struct tcphdr)))
        return false;
    *ret_port = (uint16_t)(packet[header] << 8 | packet[header + 1]); /* whence the reset came */
    return true;
}
