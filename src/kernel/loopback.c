#include "kernel/loopback.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>

#include "base/fd.h"

enum {
    LOOPBACK_INDEX = 1,     /* the first interface of every network namespace */
    LINK_LARGEST_IPV4 = 63, /* IFLA_GSO_IPV4_MAX_SIZE (Linux 6.3), which headers may lack */
    LARGEST_PACKET = 384 << 10,
};

/* Routing requests for the kernel, sent in one message. */
struct batch {
    _Alignas(struct nlmsghdr) char bytes[512];
    size_t size;
    unsigned count, optional; /* a bit for each request that may fail */
    struct nlmsghdr *newest;
};

/* `body` is the fixed part of the request; attributes follow. The buffer is large enough for the requests of this file. */
static void begin(struct batch *batch, unsigned short type, const void *body, size_t size)
{
    struct nlmsghdr header = {
        .nlmsg_len = (unsigned)NLMSG_LENGTH(size),
        .nlmsg_type = type,
        .nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE,
        .nlmsg_seq = ++batch->count,
    };
    batch->newest = (void *)(batch->bytes + batch->size);
    memcpy(batch->newest, &header, sizeof(header));
    memcpy(NLMSG_DATA(batch->newest), body, size);
    batch->size += NLMSG_ALIGN(header.nlmsg_len);
}

static void add(struct batch *batch, unsigned short type, const void *value, size_t size)
{
    struct rtattr attribute = {.rta_len = (unsigned short)RTA_LENGTH(size), .rta_type = type};
    char *at = batch->bytes + batch->size;
    memcpy(at, &attribute, sizeof(attribute));
    memcpy(at + RTA_LENGTH(0), value, size);
    batch->size += RTA_ALIGN(attribute.rta_len);
    batch->newest->nlmsg_len = (unsigned)(batch->bytes + batch->size - (char *)batch->newest);
}

/* The newest request may fail: some kernels do not know it, and the sandbox works without it. */
static void may_fail(struct batch *batch)
{
    batch->optional |= 1U << batch->count;
}

/* Loopback loses and reorders nothing, so that the host's congestion control would only cost time. */
static void add_plain_congestion(struct batch *batch)
{
    static const char plain[] = "reno"; /* every kernel has it */
    struct {
        struct rtattr header;
        char name[sizeof(plain)];
    } algorithm = {.header = {.rta_len = RTA_LENGTH(sizeof(plain)), .rta_type = RTAX_CC_ALGO}};
    memcpy(algorithm.name, plain, sizeof(plain));
    add(batch, RTA_METRICS, &algorithm, RTA_LENGTH(sizeof(plain)));
}

static void add_route(struct batch *batch, unsigned short type, unsigned char family)
{
    static const int index = LOOPBACK_INDEX;
    struct rtmsg route = {
        .rtm_family = family,
        .rtm_table = RT_TABLE_LOCAL,
        .rtm_protocol = RTPROT_STATIC,
        .rtm_scope = family == AF_INET ? RT_SCOPE_HOST : RT_SCOPE_UNIVERSE,
        .rtm_type = RTN_LOCAL,
    };
    begin(batch, type, &route, sizeof(route));
    add(batch, RTA_OIF, &index, sizeof(index));
    add_plain_congestion(batch);
}

/* Reads the kernel's answers, one for each request. */
static int hear_answers(int fd, const struct batch *batch, struct err *err)
{
    not_zeroed _Alignas(struct nlmsghdr) char answer[4096];
    for (unsigned heard = 0; heard < batch->count;) {
        ssize_t got = recv(fd, answer, sizeof(answer), 0);
        if (got <= 0)
            return err_sys(err, got < 0 ? errno : EIO, "cannot read the kernel's answer about routing");
        for (size_t from = 0; from + NLMSG_LENGTH(sizeof(struct nlmsgerr)) <= (size_t)got;) {
            const struct nlmsghdr *at = (const void *)(answer + from);
            const struct nlmsgerr *answered = NLMSG_DATA(at);
            from += NLMSG_ALIGN(at->nlmsg_len);
            bool is_error = at->nlmsg_type == NLMSG_ERROR && answered->error != 0;
            bool is_optional = at->nlmsg_seq <= batch->count && batch->optional & 1U << at->nlmsg_seq;
            if (is_error && !is_optional)
                return err_sys(err, -answered->error, "cannot set up the sandbox's network (step %u)",
                               at->nlmsg_seq);
            heard++;
        }
    }
    return 0;
}

static void add_link_up(struct batch *batch)
{
    struct ifinfomsg link = {.ifi_index = LOOPBACK_INDEX, .ifi_flags = IFF_UP, .ifi_change = IFF_UP};
    begin(batch, RTM_NEWLINK, &link, sizeof(link));
}

static int send_batch(const struct batch *batch, struct err *err)
{
    auto_fd int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
    if (fd < 0 || send(fd, batch->bytes, batch->size, 0) != (ssize_t)batch->size)
        return err_sys(err, errno, "cannot set up the sandbox's network");
    return hear_answers(fd, batch, err);
}

int loopback_bring_up(struct err *err)
{
    struct batch batch = {0};
    add_link_up(&batch);
    return send_batch(&batch, err);
}

static int change(unsigned address, bool take, struct err *err)
{
    struct batch batch = {0};
    add_link_up(&batch);
    if (take) { /* larger packets halve the work of a large transfer */
        static const unsigned largest = LARGEST_PACKET;
        add_link_up(&batch);
        add(&batch, LINK_LARGEST_IPV4, &largest, sizeof(largest));
        may_fail(&batch);
    }
    struct ifaddrmsg own = {.ifa_family = AF_INET,
                            .ifa_prefixlen = 32,
                            .ifa_scope = RT_SCOPE_UNIVERSE,
                            .ifa_index = LOOPBACK_INDEX};
    in_addr_t wire = htonl(address);
    begin(&batch, take ? RTM_NEWADDR : RTM_DELADDR, &own, sizeof(own));
    add(&batch, IFA_LOCAL, &wire, sizeof(wire));
    add_route(&batch, take ? RTM_NEWROUTE : RTM_DELROUTE, AF_INET);
    add_route(&batch, take ? RTM_NEWROUTE : RTM_DELROUTE, AF_INET6);
    may_fail(&batch); /* there may be no IPv6 */
    return send_batch(&batch, err);
}

int loopback_take_all_addresses(unsigned address, struct err *err)
{
    return change(address, true, err);
}

int loopback_let_addresses_go(unsigned address, struct err *err)
{
    return change(address, false, err);
}
