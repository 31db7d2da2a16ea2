#include "egress/classes.h"

#include <ifaddrs.h>
#include <string.h>

static const char *const texts[] = {
#define X(id, text) [ADDRESS_##id] = text,
    ADDRESS_CLASSES(X)
#undef X
};

const char *address_class_text(enum address_class class)
{
    return texts[class];
}

/* 198.18.0.0/15 is not among them: it is what some VPN clients answer with. */
static const struct {
    uint32_t network;
    unsigned prefix;
    enum address_class class;
} v4_classes[] = {
    {0x00000000, 8, ADDRESS_UNUSABLE},    /* 0.0.0.0 is this machine to most kernels */
    {0x7f000000, 8, ADDRESS_LOOPBACK},    /* 127.0.0.0 */
    {0xa9fe0000, 16, ADDRESS_LINK_LOCAL}, /* 169.254.0.0 */
    {0x646464c8, 32, ADDRESS_LINK_LOCAL}, /* 100.100.100.200, the metadata of one cloud */
    {0xa83f8110, 32, ADDRESS_LINK_LOCAL}, /* 168.63.129.16, that of another */
    {0xc00000c0, 32, ADDRESS_LINK_LOCAL}, /* 192.0.0.192, and of a third */
    {0x0a000000, 8, ADDRESS_PRIVATE},     /* 10.0.0.0 */
    {0xac100000, 12, ADDRESS_PRIVATE},    /* 172.16.0.0 */
    {0xc0a80000, 16, ADDRESS_PRIVATE},    /* 192.168.0.0 */
    {0x64400000, 10, ADDRESS_PRIVATE},    /* 100.64.0.0, carriers' and overlay networks' */
    {0xe0000000, 3, ADDRESS_MULTICAST},   /* 224.0.0.0 to the end */
};

static enum address_class classify_v4(uint32_t address)
{
    for (size_t i = 0; i < array_len(v4_classes); i++) {
        if ((address ^ v4_classes[i].network) >> (32 - v4_classes[i].prefix) == 0)
            return v4_classes[i].class;
    }
    return ADDRESS_PUBLIC;
}

static uint32_t v4_in(const uint8_t *bytes)
{
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

/* Clouds' metadata in what are private networks else. */
static bool is_metadata_v6(const uint8_t address[16])
{
    static const uint8_t known[][16] = {
        {0xfd, 0x00, 0x0e, 0xc2, [14] = 0x02, 0x54},             /* fd00:ec2::254 */
        {0xfd, 0x20, 0x00, 0xce, [14] = 0x02, 0x54},             /* fd20:ce::254 */
        {0xfd, 0x00, 0x00, 0xc1, [12] = 0xa9, 0xfe, 0xa9, 0xfe}, /* fd00:c1::a9fe:a9fe */
        {0xfd, 0x00, 0x00, 0x42, [15] = 0x42},                   /* fd00:42::42 */
    };
    for (size_t i = 0; i < array_len(known); i++) {
        if (memcmp(address, known[i], sizeof(known[i])) == 0)
            return true;
    }
    return false;
}

enum address_class address_classify(const struct endpoint *endpoint)
{
    static const uint8_t loopback[16] = {[15] = 1}, zeros[16], nat64[12] = {0, 0x64, 0xff, 0x9b};
    static const uint8_t nat64_local[6] = {0, 0x64, 0xff, 0x9b, 0, 1};
    const uint8_t *a = endpoint->address;
    if (endpoint_is_v4(endpoint))
        return classify_v4(endpoint_v4_address(endpoint));
    if (memcmp(a, loopback, 16) == 0)
        return ADDRESS_LOOPBACK;
    if (memcmp(a, nat64, 12) == 0 || (memcmp(a, zeros, 12) == 0 && v4_in(a + 12)))
        return classify_v4(v4_in(a + 12));
    if (memcmp(a, zeros, 8) == 0)
        return ADDRESS_UNUSABLE; /* ::, and translated forms of IPv4 */
    if (memcmp(a, nat64_local, 6) ==
        0) { /* a translator of one's own, behind which the private networks are */
        enum address_class class = classify_v4(v4_in(a + 12));
        return class == ADDRESS_PUBLIC ? ADDRESS_PRIVATE : class;
    }
    if (a[0] == 0x20 && a[1] == 0x02) /* 6to4 */
        return classify_v4(v4_in(a + 2));
    if (a[0] == 0x20 && a[1] == 0x01 && a[2] == 0 && a[3] == 0) /* Teredo: the client's address is inverted */
        return classify_v4(~v4_in(a + 12));
    if (is_metadata_v6(a))
        return ADDRESS_LINK_LOCAL;
    if (a[0] == 0xfe && (a[1] & 0xc0) == 0x80)
        return ADDRESS_LINK_LOCAL;
    if (a[0] == 0xff)
        return ADDRESS_MULTICAST;
    if ((a[0] & 0xfe) == 0xfc || (a[0] == 0xfe && (a[1] & 0xc0) == 0xc0))
        return ADDRESS_PRIVATE;
    return ADDRESS_PUBLIC;
}

void own_addresses_read(struct own_addresses *own)
{
    struct ifaddrs *all = NULL;
    own->all.count = 0;
    own->are_known = getifaddrs(&all) == 0;
    for (const struct ifaddrs *at = all; at; at = at->ifa_next) {
        struct endpoint endpoint = {0};
        if (at->ifa_addr && endpoint_from_socket((const void *)at->ifa_addr, &endpoint))
            vec_push(&own->all, endpoint);
    }
    freeifaddrs(all);
}

bool own_addresses_have(const struct own_addresses *own, const struct endpoint *endpoint)
{
    for (size_t i = 0; i < own->all.count; i++) {
        if (memcmp(own->all.at[i].address, endpoint->address, sizeof(endpoint->address)) == 0)
            return true;
    }
    return !own->are_known;
}

bool address_is_meant(const struct host_object *rule, enum address_class class)
{
    if (class == ADDRESS_PUBLIC || class == ADDRESS_PRIVATE)
        return true;
    if (rule->prefix == 128)
        return true;
    /* 127.0.0.0/8 means loopback; 0.0.0.0/0 does not. */
    struct endpoint first = {0}, last = {0};
    memcpy(first.address, rule->address, sizeof(first.address));
    for (unsigned bit = 0; bit < 128; bit++) {
        uint8_t one = (uint8_t)(0x80 >> bit % 8);
        last.address[bit / 8] |= bit < rule->prefix ? rule->address[bit / 8] & one : one;
    }
    return class != ADDRESS_OWN && address_classify(&first) == class && address_classify(&last) == class;
}
