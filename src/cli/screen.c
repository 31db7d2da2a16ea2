#include "cli/screen.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/attr.h"

enum { KEPT = 64 * 1024 }; /* more than a person reads for one answer */

/* What a stream writes with. */
struct screen_writer {
    struct screen *screen;
    int fd;
};

static void remember(struct screen *screen, const char *bytes, size_t size)
{
    if (screen->is_asking)
        return;
    struct buf *shown = &screen->shown;
    buf_add(shown, bytes, size);
    if (shown->size < 2 * (size_t)KEPT)
        return;
    size_t gone = shown->size - KEPT;
    const char *line = memchr(shown->bytes + gone, '\n', KEPT);
    gone = line ? (size_t)(line + 1 - shown->bytes) : gone;
    memmove(shown->bytes, shown->bytes + gone, shown->size - gone);
    shown->size -= gone;
    shown->bytes[shown->size] = '\0';
}

static ssize_t write_end(void *cookie, const char *bytes, size_t size)
{
    const struct screen_writer *writer = cookie;
    size_t written = 0;
    while (written < size) {
        ssize_t got = write(writer->fd, bytes + written, size - written);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break;
        written += (size_t)got;
    }
    remember(writer->screen, bytes, written);
    return (ssize_t)written;
}

static int free_writer(void *cookie)
{
    free(cookie);
    return 0;
}

FILE *screen_stream(struct screen *screen, FILE *plain)
{
    static const cookie_io_functions_t functions = {.write = write_end, .close = free_writer};
    struct screen_writer *writer = malloc(sizeof(*writer));
    FILE *stream = writer ? fopencookie(writer, "w", functions) : NULL;
    if (!stream) {
        free(writer);
        return plain;
    }
    *writer = (struct screen_writer){screen, fileno(plain)};
    screen->streams[fileno(plain) == STDERR_FILENO] = stream;
    setvbuf(stream, NULL, fileno(plain) == STDERR_FILENO ? _IONBF : _IOLBF, 0);
    return stream;
}

void screen_forget(struct screen *screen)
{
    buf_free(&screen->shown);
    screen->shown = (struct buf){0};
}

void screen_end(struct screen *screen)
{
    for (size_t i = 0; i < array_len(screen->streams); i++) {
        if (screen->streams[i])
            (void)fclose(screen->streams[i]);
    }
    screen_forget(screen);
}
