/* How far something has come that may take long: who works says so again and again, who asked for it makes of it what it likes. */
#pragma once

#include <stdint.h>

struct progress {
    void (*tell)(struct progress *progress, uint64_t done,
                 uint64_t all); /* `all` is 0 where that is not known */
};

/* NULL: nobody wants to know. */
static inline void progress_tell(struct progress *progress, uint64_t done, uint64_t all)
{
    if (progress)
        progress->tell(progress, done, all);
}
