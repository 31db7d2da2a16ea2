#include "cli/screen.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { KEPT = 64 * 1024 }; /* more than a person reads for one answer */

/* One end of a stream. It lasts as long as the process. */
struct end {
    struct screen *screen;
    int fd;
};

static void remember(struct screen *screen, const char *bytes, size_t size)
{
    struct buf *shown = &screen->shown;
    if (screen->is_asking)
        return;
    buf_add(shown, bytes, size);
    if (shown->size < 2 * (size_t)KEPT)
        return;
    size_t gone = shown->size - KEPT;
    const char *line = memchr(shown->bytes + gone, '\n', KEPT);
    gone = line ? (size_t)(line + 1 - shown->bytes) : gone;
    memmove(shown->bytes, shown->bytes + gone, shown->size - gone);
    shown->size -= gone;
}

static ssize_t write_end(void *cookie, const char *bytes, size_t size)
{
    const struct end *end = cookie;
    size_t written = 0;
    while (written < size) {
        ssize_t got = write(end->fd, bytes + written, size - written);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break;
        written += (size_t)got;
    }
    remember(end->screen, bytes, written);
    return (ssize_t)written;
}

FILE *screen_stream(struct screen *screen, FILE *plain)
{
    static const cookie_io_functions_t functions = {.write = write_end};
    struct end *end = malloc(sizeof(*end));
    FILE *stream = end ? fopencookie(end, "w", functions) : NULL;
    if (!stream) {
        free(end);
        return plain;
    }
    *end = (struct end){screen, fileno(plain)};
    setvbuf(stream, NULL, fileno(plain) == STDERR_FILENO ? _IONBF : _IOLBF, 0);
    return stream;
}

void screen_forget(struct screen *screen)
{
    buf_free(&screen->shown);
    screen->shown = (struct buf){0};
}
