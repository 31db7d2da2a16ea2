#include "policy/classes.h"

#include <string.h>

DEFINE_TEXTS(address_class_text, enum address_class, ADDRESS_CLASSES, NAME_OF)

/* 198.18.0.0/15 is absent: some VPN clients answer with such addresses. */
static const struct {
    uint32_t network;
    unsigned prefix;
    enum address_class class;
} v4_classes[] = {
    {0x00000000, 8, ADDRESS_UNUSABLE},    /* 0.0.0.0 is this machine to most kernels */
    {0x7f000000, 8, ADDRESS_LOOPBACK},    /* 127.0.0.0 */
    {0xa9fe0000, 16, ADDRESS_LINK_LOCAL}, /* 169.254.0.0 */
    {0x646464c8, 32, ADDRESS_LINK_LOCAL}, /* 100.100.100.200, a cloud's metadata service */
    {0xa83f8110, 32, ADDRESS_LINK_LOCAL}, /* 168.63.129.16, another one's */
    {0xc00000c0, 32, ADDRESS_LINK_LOCAL}, /* 192.0.0.192, a third one's */
    {0x0a000000, 8, ADDRESS_PRIVATE},     /* 10.0.0.0 */
    {0xac100000, 12, ADDRESS_PRIVATE},    /* 172.16.0.0 */
    {0xc0a80000, 16, ADDRESS_PRIVATE},    /* 192.168.0.0 */
    {0x64400000, 10, ADDRESS_PRIVATE},    /* 100.64.0.0, carrier-grade NAT and overlay networks */
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

/* Metadata services of clouds at addresses that would otherwise be private. */
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

static const uint8_t zeros[16], nat64[12] = {0, 0x64, 0xff, 0x9b};
static const uint8_t nat64_local[6] = {0, 0x64, 0xff, 0x9b, 0, 1};

static bool begins_with(const uint8_t address[16], const uint8_t *prefix, size_t size)
{
    return memcmp(address, prefix, size) == 0;
}

/* The IPv4 address that a well-known form embeds. False: there is none. */
static bool known_inner(const uint8_t a[16], uint32_t *ret_inner)
{
    bool is_last = begins_with(a, nat64, sizeof(nat64)) || begins_with(a, nat64_local, sizeof(nat64_local)) ||
                   (begins_with(a, zeros, 12) && v4_in(a + 12) > 1);
    bool is_6to4 = a[0] == 0x20 && a[1] == 0x02;
    bool is_teredo = a[0] == 0x20 && a[1] == 0x01 && a[2] == 0 && a[3] == 0;
    if (is_last)
        *ret_inner = v4_in(a + 12);
    else if (is_6to4)
        *ret_inner = v4_in(a + 2);
    else if (is_teredo)
        *ret_inner = ~v4_in(a + 12); /* the client's address is inverted */
    return is_last || is_6to4 || is_teredo;
}

enum address_class address_classify(const struct endpoint *endpoint)
{
    const uint8_t *a = endpoint->address;
    uint32_t inner;
    if (endpoint_is_v4(endpoint))
        return classify_v4(endpoint_v4_address(endpoint));
    if (known_inner(a, &inner)) {
        enum address_class class = classify_v4(inner);
        /* A translator with a local prefix leads into private networks. */
        bool is_local = begins_with(a, nat64_local, sizeof(nat64_local));
        return is_local && class == ADDRESS_PUBLIC ? ADDRESS_PRIVATE : class;
    }
    if (begins_with(a, zeros, 15) && a[15] == 1)
        return ADDRESS_LOOPBACK;
    if (begins_with(a, zeros, 8))
        return ADDRESS_UNUSABLE; /* ::, and translated forms of IPv4 */
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

/* RFC 6052, 2.2: the IPv4 address follows the prefix; byte 8 is skipped. */
static uint32_t v4_after(const uint8_t address[16], size_t prefix_size)
{
    uint8_t bytes[4];
    for (size_t i = 0, at = prefix_size; i < sizeof(bytes); at++) {
        if (at != 8)
            bytes[i++] = address[at];
    }
    return v4_in(bytes);
}

static bool is_known(const struct translators *translators, const uint8_t *prefix, size_t size)
{
    for (size_t i = 0; i < translators->count; i++) {
        if (translators->all[i].size == size && memcmp(translators->all[i].prefix, prefix, size) == 0)
            return true;
    }
    return false;
}

void translators_learn(struct translators *translators, const struct endpoint *found)
{
    static const uint32_t well_known = 0xc00000aa; /* 192.0.0.170, and .171 */
    static const size_t sizes[] = {4, 5, 6, 7, 8, 12};
    const uint8_t *a = found->address;
    for (size_t i = 0; i < array_len(sizes) && !endpoint_is_v4(found); i++) {
        if ((v4_after(a, sizes[i]) & ~UINT32_C(1)) != well_known || is_known(translators, a, sizes[i]) ||
            translators->count == TRANSLATORS_MOST)
            continue;
        struct translator *new = &translators->all[translators->count++];
        new->size = sizes[i];
        memcpy(new->prefix, a, new->size);
    }
}

size_t address_inner(const struct endpoint *endpoint, const struct translators *translators,
                     struct endpoint ret_inner[ADDRESS_MOST_INNER])
{
    const uint8_t *a = endpoint->address;
    size_t count = 0;
    uint32_t inner;
    if (endpoint_is_v4(endpoint))
        return 0;
    if (known_inner(a, &inner))
        ret_inner[count++] = endpoint_v4(inner, endpoint->port);
    for (size_t i = 0; i < translators->count; i++) {
        const struct translator *at = &translators->all[i];
        if (begins_with(a, at->prefix, at->size))
            ret_inner[count++] = endpoint_v4(v4_after(a, at->size), endpoint->port);
    }
    return count;
}

bool address_is_meant(const struct host_object *rule, enum address_class class)
{
    if (class == ADDRESS_PUBLIC || class == ADDRESS_PRIVATE)
        return true;
    if (rule->prefix == 128)
        return true;
    /* 127.0.0.0/8 opens loopback; 0.0.0.0/0 does not. */
    struct endpoint first = {0}, last = {0};
    memcpy(first.address, rule->address, sizeof(first.address));
    for (unsigned bit = 0; bit < 128; bit++) {
        uint8_t one = (uint8_t)(0x80 >> bit % 8);
        last.address[bit / 8] |= bit < rule->prefix ? rule->address[bit / 8] & one : one;
    }
    return class != ADDRESS_OWN && address_classify(&first) == class && address_classify(&last) == class;
}
