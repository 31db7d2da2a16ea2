#include "cli/keys.h"

#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/attr.h"

enum { KEY_STOP = 26, KEY_ESCAPE = 27, SEQUENCE_MILLISECONDS = 50 };

/* Keys come at once and unseen, also those that would be signals: the terminal must not be left like this. */
static bool take(const struct keys *keys)
{
    struct termios raw = keys->before;
    raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO | ISIG);
    raw.c_cc[VMIN] = 1;
    raw.c_cc[VTIME] = 0;
    return tcsetattr(keys->fd, TCSADRAIN, &raw) == 0;
}

bool keys_begin(const struct world *world, struct keys *ret_keys)
{
    *ret_keys = (struct keys){.fd = -1};
    int fd = world->in_is_terminal && world->out_is_terminal ? fileno(world->in) : -1;
    if (fd < 0 || tcgetattr(fd, &ret_keys->before) < 0)
        return false;
    ret_keys->fd = fd;
    return true;
}

/* The rest of what an arrow sends, which comes at once. */
static char read_sequence(const struct keys *keys)
{
    static const struct {
        const char *sent;
        char key;
    } known[] = {{"[A", 'k'}, {"OA", 'k'}, {"[B", 'j'}, {"OB", 'j'}, {"[6~", ' '}};
    char sent[8] = "";
    struct pollfd ready = {.fd = keys->fd, .events = POLLIN};
    for (size_t size = 0; size + 1 < sizeof(sent) && poll(&ready, 1, SEQUENCE_MILLISECONDS) > 0; size++) {
        if (read(keys->fd, sent + size, 1) != 1)
            break;
        for (size_t i = 0; i < array_len(known); i++) {
            if (strcmp(sent, known[i].sent) == 0)
                return known[i].key;
        }
    }
    return *sent ? '\0' : KEY_CANCEL;
}

char keys_read(struct keys *keys)
{
    for (;;) {
        char key = KEY_END;
        if (!take(keys) || read(keys->fd, &key, 1) != 1)
            key = KEY_END;
        if (key == KEY_ESCAPE)
            key = read_sequence(keys);
        tcsetattr(keys->fd, TCSADRAIN, &keys->before);
        if (key != KEY_STOP)
            return key;
        raise(SIGTSTP);
    }
}

size_t keys_rows(const struct keys *keys)
{
    struct winsize size;
    return ioctl(keys->fd, TIOCGWINSZ, &size) == 0 && size.ws_row > 4 ? size.ws_row : 24;
}
