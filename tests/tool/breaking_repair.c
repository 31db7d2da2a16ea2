/*
 * In a bawn of its own (bawn-breaking-repair), repair goes wrong as $BREAK_REPAIR says: it crashes, hangs, fills the memory or
 * fails. Time runs out after a second there.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "home/home.h"

int __real_home_repair(const struct session *session, struct err *err);
int __wrap_home_repair(const struct session *session, struct err *err);
unsigned __real_alarm(unsigned seconds);
unsigned __wrap_alarm(unsigned seconds);

static void fill_memory(void)
{
    enum { PIECE = 64 * 1024 * 1024 };
    for (char *piece;; ) {
        piece = must_realloc(NULL, PIECE, 1);
        __asm__ volatile("" : : "r"(piece) : "memory"); /* it is wanted, as far as the compiler knows */
    }
}

int __wrap_home_repair(const struct session *session, struct err *err)
{
    const char *how = getenv("BREAK_REPAIR");
    if (how && strcmp(how, "crash") == 0)
        abort();
    while (how && strcmp(how, "hang") == 0)
        pause();
    if (how && strcmp(how, "fill") == 0)
        fill_memory();
    if (how && strcmp(how, "fail") == 0)
        return err_set(err, "it shall not be");
    return __real_home_repair(session, err);
}

unsigned __wrap_alarm(unsigned seconds)
{
    return __real_alarm(seconds ? 1 : 0);
}
