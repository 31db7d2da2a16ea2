#include "base/ssh_proof.h"

#include <stdint.h>

#include "base/buf.h"

/* As ssh writes a string: no two pairs of strings have the same bytes. */
static void add_string(struct buf *out, struct bytes string)
{
    for (int shift = 24; shift >= 0; shift -= 8)
        buf_add_char(out, (char)((uint32_t)string.size >> shift));
    if (string.size)
        buf_add(out, string.at, string.size);
}

void ssh_proof_mark(struct bytes host_key, struct bytes signature, char ret_mark[SHA256_HEX_SIZE])
{
    auto_buf struct buf both = {0};
    add_string(&both, host_key);
    add_string(&both, signature);
    sha256_hex(both.bytes, both.size, ret_mark);
}

bool ssh_proof_is_mark(const char *text)
{
    return strlen(text) == SHA256_HEX_SIZE - 1 && strspn(text, "0123456789abcdef") == SHA256_HEX_SIZE - 1;
}
