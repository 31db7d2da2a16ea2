#include "cli/progress.h"

#include <inttypes.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { PATIENCE_MILLISECONDS = 1000, PAUSE_MILLISECONDS = 100, USUAL_COLUMNS = 80, MOST_COLUMNS = 200 };

static int64_t milliseconds_since(struct timespec moment)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (now.tv_sec - moment.tv_sec) * 1000 + (now.tv_nsec - moment.tv_nsec) / 1000000;
}

/* What fits into one line: where it wrapped, it could not be taken back. */
static int columns_of(const struct world *world)
{
    struct winsize size;
    int columns =
        ioctl(fileno(world->err), TIOCGWINSZ, &size) == 0 && size.ws_col ? size.ws_col : USUAL_COLUMNS;
    return (columns < MOST_COLUMNS ? columns : MOST_COLUMNS) - 1;
}

static void write_line(const struct world *world, const char *text)
{
    int columns = columns_of(world);
    fprintf(world->err, "\r%-*.*s\r", columns, columns, text);
    fflush(world->err);
}

static void tell(struct progress *progress, uint64_t done, uint64_t all)
{
    struct progress_line *line = (struct progress_line *)progress;
    if (milliseconds_since(line->began) < PATIENCE_MILLISECONDS ||
        milliseconds_since(line->written) < PAUSE_MILLISECONDS)
        return;
    char text[MOST_COLUMNS];
    if (all)
        snprintf(text, sizeof(text), "bawn: %s: %" PRIu64 " of %" PRIu64 " (%" PRIu64 " %%)", line->what,
                 done, all, done * 100 / all);
    else
        snprintf(text, sizeof(text), "bawn: %s: %" PRIu64, line->what, done);
    write_line(line->world, text);
    clock_gettime(CLOCK_MONOTONIC, &line->written);
}

struct progress *progress_begin(struct progress_line *line, const struct world *world, const char *what)
{
    *line = (struct progress_line){.progress = {tell}, .world = world, .what = what};
    if (!world->err_is_terminal || tcgetpgrp(fileno(world->err)) != getpgrp())
        line->world = NULL;
    clock_gettime(CLOCK_MONOTONIC, &line->began);
    return line->world ? &line->progress : NULL;
}

void progress_end(const struct progress_line *line)
{
    /* A child may have written it, of which nothing is known here. */
    if (line->world && milliseconds_since(line->began) >= PATIENCE_MILLISECONDS)
        write_line(line->world, "");
}
