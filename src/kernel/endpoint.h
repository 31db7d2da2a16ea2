/* An IPv4 or IPv6 address with a port, in one form: IPv4 is ::ffff:a.b.c.d. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

struct endpoint {
    uint8_t address[16];
    uint16_t port;
};

/* Converts it for the kernel. Returns the size. */
socklen_t endpoint_to_socket(const struct endpoint *endpoint, struct sockaddr_storage *ret_address);

/* False for other families. */
bool endpoint_from_socket(const struct sockaddr_storage *address, struct endpoint *ret_endpoint);

bool endpoint_is_v4(const struct endpoint *endpoint);
bool endpoint_equal(const struct endpoint *a, const struct endpoint *b);

/* An IPv4 address in host byte order. */
struct endpoint endpoint_v4(uint32_t address, uint16_t port);
uint32_t endpoint_v4_address(const struct endpoint *endpoint);

/* The address that accepts connections to a network: all addresses of its family. A prefix of 128 bits is a single address. */
struct endpoint endpoint_of_network(const uint8_t address[16], unsigned prefix, uint16_t port);

/* "10.0.0.5", "2001:db8::1", without the port. */
enum { ENDPOINT_TEXT_SIZE = 46 };
void endpoint_text(const struct endpoint *endpoint, char ret_text[ENDPOINT_TEXT_SIZE]);
