#include "kernel/endpoint.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>

static const uint8_t mapped_v4[12] = {[10] = 0xff, [11] = 0xff};

bool endpoint_is_v4(const struct endpoint *endpoint)
{
    return memcmp(endpoint->address, mapped_v4, sizeof(mapped_v4)) == 0;
}

bool endpoint_equal(const struct endpoint *a, const struct endpoint *b)
{
    return a->port == b->port && memcmp(a->address, b->address, sizeof(a->address)) == 0;
}

struct endpoint endpoint_v4(uint32_t address, uint16_t port)
{
    struct endpoint endpoint = {.port = port};
    uint32_t wire = htonl(address);
    memcpy(endpoint.address, mapped_v4, sizeof(mapped_v4));
    memcpy(endpoint.address + sizeof(mapped_v4), &wire, sizeof(wire));
    return endpoint;
}

uint32_t endpoint_v4_address(const struct endpoint *endpoint)
{
    uint32_t wire;
    memcpy(&wire, endpoint->address + sizeof(mapped_v4), sizeof(wire));
    return ntohl(wire);
}

socklen_t endpoint_to_socket(const struct endpoint *endpoint, struct sockaddr_storage *ret_address)
{
    memset(ret_address, 0, sizeof(*ret_address));
    if (endpoint_is_v4(endpoint)) {
        struct sockaddr_in *v4 = (struct sockaddr_in *)ret_address;
        v4->sin_family = AF_INET;
        v4->sin_port = htons(endpoint->port);
        v4->sin_addr.s_addr = htonl(endpoint_v4_address(endpoint));
        return sizeof(*v4);
    }
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)ret_address;
    v6->sin6_family = AF_INET6;
    v6->sin6_port = htons(endpoint->port);
    memcpy(&v6->sin6_addr, endpoint->address, sizeof(endpoint->address));
    return sizeof(*v6);
}

bool endpoint_from_socket(const struct sockaddr_storage *address, struct endpoint *ret_endpoint)
{
    if (address->ss_family == AF_INET) {
        const struct sockaddr_in *v4 = (const struct sockaddr_in *)address;
        *ret_endpoint = endpoint_v4(ntohl(v4->sin_addr.s_addr), ntohs(v4->sin_port));
        return true;
    }
    if (address->ss_family != AF_INET6)
        return false;
    const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)address;
    ret_endpoint->port = ntohs(v6->sin6_port);
    memcpy(ret_endpoint->address, &v6->sin6_addr, sizeof(ret_endpoint->address));
    return true;
}

struct endpoint endpoint_of_network(const uint8_t address[16], unsigned prefix, uint16_t port)
{
    struct endpoint at = {.port = port};
    memcpy(at.address, address, sizeof(at.address));
    if (prefix == 128)
        return at;
    return endpoint_is_v4(&at) ? endpoint_v4(0, port) : (struct endpoint){.port = port};
}

void endpoint_text(const struct endpoint *endpoint, char ret_text[ENDPOINT_TEXT_SIZE])
{
    bool v4 = endpoint_is_v4(endpoint);
    if (!inet_ntop(v4 ? AF_INET : AF_INET6, endpoint->address + (v4 ? sizeof(mapped_v4) : 0), ret_text,
                   ENDPOINT_TEXT_SIZE))
        ret_text[0] = '\0';
}
