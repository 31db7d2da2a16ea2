/*
 * Any bytes as what a server of ssh says first: whether a proof is found, and which, does not depend on the pieces in which they come. One is
 * found at most, and what waits for more bytes is bounded.
 */
#include <stdlib.h>
#include <string.h>

#include "base/ssh_proof.h"
#include "egress/kex.h"
#include "fuzz.h"

/* Returns whether a proof was found. */
static bool hear(const uint8_t *bytes, size_t size, size_t piece, char ret_mark[SHA256_HEX_SIZE])
{
    struct kex kex = {.step = KEX_IDENTIFICATION};
    bool is_found = false;
    for (size_t at = 0; at < size; at += piece) {
        struct bytes part = bytes_of((const char *)bytes + at, piece < size - at ? piece : size - at);
        if (kex_take(&kex, part, ret_mark)) {
            if (is_found || kex.step != KEX_OVER || !ssh_proof_is_mark(ret_mark))
                abort();
            is_found = true;
        }
        if (kex.unread.size >= 4 + KEX_LARGEST_PACKET || (kex.step == KEX_OVER && kex.unread.bytes))
            abort();
    }
    kex_end(&kex);
    return is_found;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static const size_t pieces[] = {1, 3, 1000};
    char whole[SHA256_HEX_SIZE] = "", mark[SHA256_HEX_SIZE] = "";
    bool is_found = hear(bytes, size, size ? size : 1, whole);
    for (size_t i = 0; i < sizeof(pieces) / sizeof(*pieces); i++) {
        if (hear(bytes, size, pieces[i], mark) != is_found || strcmp(whole, mark) != 0)
            abort();
    }
    return 0;
}
