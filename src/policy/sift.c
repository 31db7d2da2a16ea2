#include "policy/sift.h"

#include <string.h>

#include "base/path.h"
#include "base/vec.h"

static const struct {
    const char *end, *destination;
    bool once;
} files[] = {{"", "", false},
#define X(id, end, destination, once) {end, destination, once},
             SIFTED_FILES(X)
#undef X
};

enum sifted sifted_file(const char *path)
{
    size_t size = strlen(path);
    for (size_t i = SIFTED_UNKNOWN + 1; i < array_len(files); i++) {
        size_t end = strlen(files[i].end);
        if (size >= end && strcmp(path + size - end, files[i].end) == 0)
            return (enum sifted)i;
    }
    return SIFTED_UNKNOWN;
}

const char *sifted_destination(const char *path, const char *home)
{
    enum sifted file = sifted_file(path);
    bool is_deeper = path_is_beneath(path, home) && strchr(path + strlen(home) + 1, '/');
    return *files[file].destination && !is_deeper ? files[file].destination : NULL;
}

bool sifted_is_made_once(enum sifted file)
{
    return files[file].once;
}
