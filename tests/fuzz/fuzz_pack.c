/*
 * Any bytes as a pack: read at once or as they come it proves the same, and never that a commit is an ancestor of one that no bytes can have
 * the name of. The same bytes as a compressed stream: what is whole is whole without what follows it, and not before.
 */
#include <stdlib.h>
#include <string.h>

#include "base/inflate.h"
#include "fuzz.h"
#include "git/pack.h"

enum { MOST = 64 * 1024 };

static void check_stream(struct bytes text)
{
    auto_buf struct buf whole = {0}, again = {0}, less = {0};
    size_t used = 0, same = 0;
    if (inflate_stream(text, MOST, &whole, &used) != INFLATE_WHOLE)
        return;
    if (used > text.size || whole.size > MOST ||
        inflate_stream(bytes_of(text.at, used), MOST, &again, &same) != INFLATE_WHOLE || same != used ||
        again.size != whole.size ||
        inflate_stream(bytes_of(text.at, used - 1), MOST, &less, &same) != INFLATE_SHORT)
        abort();
}

/* Returns how many commits were read. */
static size_t read_pack(struct bytes text, size_t piece)
{
    struct push push = {0};
    struct pack pack;
    vec_push(&push.commands, ((struct push_command){.before = {"1111111111111111111111111111111111111111"},
                                                    .after = {"2222222222222222222222222222222222222222"},
                                                    .needs_proof = true}));
    pack_begin(&pack, &push);
    for (size_t size = 0; size < text.size;) {
        size = text.size - size < piece ? text.size : size + piece;
        if (!pack_read(&pack, bytes_of(text.at, size)))
            break;
    }
    if (!push.commands.at[0].needs_proof)
        abort();
    size_t count = pack.commits.count;
    pack_free(&pack);
    push_free(&push);
    return count;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct bytes text = bytes_of((const char *)bytes, size);
    check_stream(text);
    if (size > MOST)
        return FUZZ_NOT_TAKEN;
    if (read_pack(text, size ? size : 1) != read_pack(text, 7))
        abort();
    return 0;
}
