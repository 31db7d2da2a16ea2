#include <poll.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "base/attr.h"
#include "base/buf.h"
#include "base/text.h"
#include "base/timespec.h"
#include "cli/answer_parts.h"
#include "kernel/terminals.h"

enum {
    USUAL_ROWS = 24,
    USUAL_COLUMNS = 80,
    LEAST_PLACES = 64, /* a smaller screen has too few to choose from */
    BITS_WANTED = 48,
    FLOOD_SECONDS = 5, /* of answers to others */
};

/* The descriptor behind the stream. */
static int answer_shown_at(const struct answering *answering)
{
    return answering->out == answering->world->err ? STDERR_FILENO : STDOUT_FILENO;
}

bool drain_is_possible(const struct answering *answering)
{
    static const char *const without[] = {"", "dumb", "unknown"};
    const char *kind = caller_variable(&answering->world->caller, "TERM");
    uint64_t number = terminal_number(answering->fd);
    return kind && !text_is_among(kind, without, array_len(without)) && number &&
           terminal_number(answer_shown_at(answering)) == number;
}

/* A number below a limit, each as likely as any other. */
static bool choose_below(unsigned limit, unsigned *ret_number)
{
    uint32_t random;
    do {
        if (getrandom(&random, sizeof(random), 0) != sizeof(random))
            return false;
    } while (random >= UINT32_MAX - UINT32_MAX % limit);
    *ret_number = random % limit;
    return true;
}

static void add_place(struct buf *query, struct buf *answer, unsigned row, unsigned column)
{
    buf_printf(query, "\033[%u;%uH\033[6n", row, column);
    buf_printf(answer, "\033[%u;%uR", row, column);
}

/* The corner of the screen, and as many places as it takes that nobody guesses them. Returns false if there are too few. */
static bool make_places(int fd, struct buf *query, struct buf *answer)
{
    struct winsize size;
    bool is_known = ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_row && size.ws_col;
    unsigned rows = is_known ? size.ws_row : USUAL_ROWS, columns = is_known ? size.ws_col : USUAL_COLUMNS;
    unsigned places = rows * columns, bits = 0, bits_of_place = 0;
    if (places < LEAST_PLACES)
        return false;
    while (places >> (bits_of_place + 1))
        bits_of_place++;
    buf_add_str(query, "\0337");
    if (is_known)
        add_place(query, answer, rows, columns);
    for (; bits < BITS_WANTED; bits += bits_of_place) {
        unsigned place;
        if (!choose_below(places, &place))
            return false;
        add_place(query, answer, place / columns + 1, place % columns + 1);
    }
    buf_add_str(query, "\0338");
    return true;
}

/* Reads until the answer has come, as one piece. */
static bool await(int fd, const struct buf *answer, int patience)
{
    struct pollfd ready = {.fd = fd, .events = POLLIN};
    struct timespec began, now;
    size_t seen = 0;
    clock_gettime(CLOCK_MONOTONIC, &began);
    for (now = began; now.tv_sec - began.tv_sec < FLOOD_SECONDS; clock_gettime(CLOCK_MONOTONIC, &now)) {
        char bytes[4096];
        if (poll(&ready, 1, patience) <= 0)
            return false;
        ssize_t got = read(fd, bytes, sizeof(bytes));
        if (got <= 0)
            return false;
        for (ssize_t i = 0; i < got; i++) {
            seen = bytes[i] == answer->bytes[seen] ? seen + 1 : bytes[i] == answer->bytes[0];
            if (seen == answer->size)
                return true;
        }
    }
    return false;
}

/* A key that is typed meanwhile may stand in the middle of the answer: then bawn asks again, for other places. */
bool drain(const struct answering *answering, int patience)
{
    enum { TRIES = 2 };
    for (int i = 0; i < TRIES; i++) {
        auto_buf struct buf query = {0}, answer = {0};
        if (!make_places(answer_shown_at(answering), &query, &answer))
            return false;
        fwrite(query.bytes, 1, query.size, answering->out);
        if (fflush(answering->out) != 0)
            return false;
        if (await(answering->fd, &answer, patience))
            return true;
    }
    return false;
}
