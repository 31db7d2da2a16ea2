/* Any bytes as the index of a pack: it is read to its end, and what it names first can be asked for. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/fd.h"
#include "fuzz.h"
#include "git/objects.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    unsigned char first[GIT_HASH_MOST] = {0};
    auto_fd int fd = memfd_create("index", MFD_CLOEXEC);
    if (fd < 0 || write(fd, bytes, size) != (ssize_t)size)
        abort();
    struct git_pack_names *names = git_pack_names_open(&fd, 20);
    if (!names)
        return 0;
    bool is_cut = false;
    size_t count = 0;
    for (const unsigned char *name; (name = git_pack_names_next(names, &is_cut)); count++) {
        if (count == 0)
            memcpy(first, name, 20);
    }
    if (is_cut || count * 20 > size)
        abort();
    struct git_lookup lookup = {.objects_fd = -1, .hash_size = 20};
    vec_push(&lookup.packs, names);
    if (count && !git_lookup_has(&lookup, first) && names->count == 1)
        abort();
    git_lookup_has(&lookup, (const unsigned char *)"\x7f.................."
                                                   "\xff");
    git_lookup_end(&lookup);
    return 0;
}
