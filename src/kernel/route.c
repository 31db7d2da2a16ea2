#include "kernel/loopback.h"

#include <errno.h>
#include <linux/rtnetlink.h>
#include <string.h>

struct question {
    struct nlmsghdr header;
    struct rtmsg route;
    struct rtattr attribute;
    uint8_t address[16];
};

int route_open(void)
{
    return socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
}

static struct question question_for(const struct endpoint *endpoint)
{
    bool is_v4 = endpoint_is_v4(endpoint);
    size_t size = is_v4 ? 4 : 16;
    struct question question = {
        .header = {.nlmsg_len = (unsigned)(offsetof(struct question, address) + size),
                   .nlmsg_type = RTM_GETROUTE,
                   .nlmsg_flags = NLM_F_REQUEST},
        .route = {.rtm_family = is_v4 ? AF_INET : AF_INET6, .rtm_dst_len = (unsigned char)(size * 8)},
        .attribute = {.rta_len = (unsigned short)RTA_LENGTH(size), .rta_type = RTA_DST},
    };
    memcpy(question.address, endpoint->address + sizeof(endpoint->address) - size, size);
    return question;
}

/* The kernel answers before send() returns. */
enum route route_of(int route_fd, const struct endpoint *endpoint)
{
    union {
        struct nlmsghdr header;
        /* cppcheck-suppress unusedStructMember; it is the room that an answer may take */
        char bytes[4096];
    } answer;
    struct question question = question_for(endpoint);
    if (send(route_fd, &question, question.header.nlmsg_len, 0) != (ssize_t)question.header.nlmsg_len)
        return ROUTE_UNKNOWN;
    ssize_t got = recv(route_fd, &answer, sizeof(answer), MSG_DONTWAIT);
    if (got < (ssize_t)NLMSG_LENGTH(sizeof(struct rtmsg)))
        return ROUTE_UNKNOWN;
    if (answer.header.nlmsg_type == RTM_NEWROUTE) {
        const struct rtmsg *route = NLMSG_DATA(&answer.header);
        return route->rtm_type == RTN_LOCAL || route->rtm_type == RTN_ANYCAST ? ROUTE_HERE : ROUTE_AWAY;
    }
    const struct nlmsgerr *failed = NLMSG_DATA(&answer.header);
    bool is_nowhere = answer.header.nlmsg_type == NLMSG_ERROR &&
                      got >= (ssize_t)NLMSG_LENGTH(sizeof(*failed)) &&
                      (failed->error == -ENETUNREACH || failed->error == -EHOSTUNREACH);
    return is_nowhere ? ROUTE_AWAY : ROUTE_UNKNOWN;
}
