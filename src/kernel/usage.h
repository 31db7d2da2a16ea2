/* How much room files take on a disk. What is counted may be hostile: it is deep, closed, or changes meanwhile. */
#pragma once

#include <stdint.h>

/* Why the number is too small. */
enum usage_trouble {
    USAGE_WHOLE, /* it is not */
    USAGE_CLOSED,
    USAGE_DEEP,
};

struct usage {
    uint64_t bytes; /* of a file with several links its share */
    enum usage_trouble trouble;
};

/* Adds what lies in the directory. No link is followed. */
void usage_add(int fd, struct usage *usage);

/* Adds the file or directory at the path, which has no symlink. What is not there takes no room. */
void usage_add_path(const char *path, struct usage *usage);

/* "a directory cannot be read"; NULL: nothing is wrong. */
const char *usage_trouble_text(enum usage_trouble trouble);
