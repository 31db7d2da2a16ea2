#include "cli/answer.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "base/attr.h"
#include "base/text.h"
#include "base/timespec.h"
#include "cli/answer_parts.h"
#include "cli/say.h"

enum {
    KEY_STOP = 26,         /* Ctrl-Z */
    ANSWERS_WITHIN = 2000, /* milliseconds: a terminal at the other end of a slow line */
    ANSWERS_SOON = 300,    /* where it need not answer */
    ALONE = 15, /* what a terminal sends by itself comes in one piece; keys that repeat are further apart */
    SEQUENCE = 60,    /* within these a sequence that has begun goes on */
    LOST = 1000,      /* after these it is not ended any more */
    QUIET = 1000,     /* without a key, before one counts */
    LOOK = 1000,      /* between two looks whether the question is open, at most */
    PAUSE = 300,      /* and at least */
    AWAY = 60 * 1000, /* a person who has not answered by then is away: what runs inside goes on */
    TRIES = 4,
    BURST_LARGEST = 65536,
    WITH_CONTROL = 5, /* as terminals number the keys that are held down */
};

/* What one try has come to, beside a key. These bytes are no keys here. */
enum {
    KEY_AGAIN = 6,
    KEY_BROKEN, /* something runs */
    KEY_AWAY,
    KEY_OVER, /* the question is not open any more */
};

bool answer_begin(const struct world *world, FILE *out, struct answering *ret_answering)
{
    *ret_answering = (struct answering){
        .world = world, .out = out, .fd = -1, .had_command = world->screen && world->screen->had_command};
    if (!world->in_is_terminal || !(out == world->err ? world->err_is_terminal : world->out_is_terminal))
        return false;
    ret_answering->fd = fileno(world->in);
    return true;
}

/* The terminal's own modes, and everything inside goes on. */
static void leave(struct answering *answering)
{
    if (answering->is_raw)
        tcsetattr(answering->fd, TCSADRAIN, &answering->before);
    answering->is_raw = false;
    still_end(answering);
}

void answer_end(struct answering *answering)
{
    leave(answering);
    vec_free(&answering->still);
}

/* Another line discipline, or flow control that a command has left stopped, would decide what arrives and what is seen. */
static int become_raw(struct answering *answering, struct err *err)
{
    int discipline = 0;
    (void)tcflow(answering->fd, TCOON);
    if (tcgetattr(answering->fd, &answering->before) < 0 || ioctl(answering->fd, TIOCGETD, &discipline) < 0 ||
        discipline != N_TTY)
        return err_set(err, "this terminal is in a mode that bawn does not know");
    struct termios raw = answering->before;
    raw.c_iflag = 0;
    raw.c_oflag = OPOST | ONLCR;
    raw.c_lflag = 0;
    raw.c_cflag = (raw.c_cflag & ~(tcflag_t)(CSIZE | PARENB)) | CS8 | CREAD;
    raw.c_cc[VMIN] = 1;
    raw.c_cc[VTIME] = 0;
    answering->size = (struct winsize){0};
    (void)ioctl(answering->fd, TIOCGWINSZ, &answering->size);
    if (tcsetattr(answering->fd, TCSANOW, &raw) < 0 || tcflush(answering->fd, TCIFLUSH) < 0 ||
        tcgetattr(answering->fd, &answering->raw) < 0)
        return err_sys(err, errno, "cannot set the mode of this terminal");
    answering->is_raw = true;
    answering->keyboard = (struct keyboard){0};
    return 0;
}

/* Has nobody set other modes or another size since? They decide which bytes arrive, and what a person sees. */
static bool is_as_it_was(const struct answering *answering)
{
    const struct termios *raw = &answering->raw;
    struct termios now;
    struct winsize size = {0};
    int discipline = N_TTY;
    if (tcgetattr(answering->fd, &now) < 0 || ioctl(answering->fd, TIOCGETD, &discipline) < 0)
        return false;
    (void)ioctl(answering->fd, TIOCGWINSZ, &size);
    return now.c_iflag == raw->c_iflag && now.c_oflag == raw->c_oflag && now.c_cflag == raw->c_cflag &&
           now.c_lflag == raw->c_lflag && memcmp(now.c_cc, raw->c_cc, sizeof(now.c_cc)) == 0 &&
           discipline == N_TTY && size.ws_row == answering->size.ws_row &&
           size.ws_col == answering->size.ws_col;
}

static bool is_kept(const struct answering *answering)
{
    return is_as_it_was(answering) && still_is_unbroken(answering);
}

/* --- a key ---------------------------------------------------------------------------------------------------------- */

/* What came together. */
struct burst {
    bool is_cut; /* more comes */
    size_t keys, sequences;
    char first, last; /* of the keys */
    char arrow;       /* the key that the only sequence means, or '\0' */
};

static char meaning_of(const struct keyboard *keyboard)
{
    const uint32_t *numbers = keyboard->parameters;
    if (keyboard->is_plain_csi &&
        keyboard->key == 'u') /* Ctrl-C, where a program has asked for keys as sequences */
        return numbers[0] == 'c' && numbers[1] == WITH_CONTROL ? KEY_CANCEL : '\0';
    if (keyboard->is_plain_csi && keyboard->key == '~')
        return numbers[0] == 6 ? ' ' : '\0';
    return keyboard->key == 'A' ? 'k' : keyboard->key == 'B' ? 'j' : '\0';
}

/* Reads all that comes together. Returns false at the end of input. */
static bool read_burst(struct answering *answering, struct burst *ret_burst)
{
    struct keyboard *keyboard = &answering->keyboard;
    struct pollfd ready = {.fd = answering->fd, .events = POLLIN};
    *ret_burst = (struct burst){0};
    size_t most = BURST_LARGEST; /* a terminal that is made to speak without end must not keep bawn here */
    do {
        unsigned char bytes[4096];
        ssize_t got = read(answering->fd, bytes, sizeof(bytes));
        if (got <= 0)
            return got < 0 && (errno == EINTR || errno == EAGAIN);
        most -= most < (size_t)got ? most : (size_t)got;
        for (ssize_t i = 0; i < got; i++) {
            enum keyboard_event event = keyboard_take(keyboard, bytes[i]);
            if (event == KEYBOARD_KEY) {
                ret_burst->last = (char)keyboard->key;
                ret_burst->first = ret_burst->keys++ ? ret_burst->first : ret_burst->last;
            } else if (event == KEYBOARD_SEQUENCE) {
                ret_burst->arrow = ret_burst->sequences++ ? '\0' : meaning_of(keyboard);
            }
        }
    } while (most && poll(&ready, 1, keyboard->state == KEYBOARD_GROUND ? ALONE : SEQUENCE) > 0);
    ret_burst->is_cut = !most;
    return true;
}

/* The key, if it came alone, perhaps with Enter behind it; '\0': none did. */
static char key_of(struct answering *answering, const struct burst *burst)
{
    bool is_entered = burst->keys == 2 && (burst->last == '\r' || burst->last == '\n');
    bool is_whole = answering->keyboard.state == KEYBOARD_GROUND;
    if (burst->keys + burst->sequences == 0 && answering->keyboard.state == KEYBOARD_ESCAPE) {
        answering->keyboard = (struct keyboard){0};
        return KEY_CANCEL;
    }
    bool is_rest = answering->was_cut;
    answering->was_cut = burst->is_cut;
    char key = burst->first == '\r' ? '\n' : burst->first;
    bool is_key = key >= ' ' || key == '\n' || key == KEY_CANCEL || key == KEY_END || key == KEY_STOP;
    if (burst->is_cut || is_rest || !is_whole)
        return '\0';
    if (!burst->sequences && (burst->keys == 1 || is_entered))
        return is_key ? key : '\0';
    return !burst->keys ? burst->arrow : '\0';
}

static int milliseconds_left(struct timespec began, int milliseconds)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    int64_t left = milliseconds - timespec_between(began, now) / 1000000;
    return left > 0 ? (int)left : 0;
}

static bool is_over(const struct answer_question *question)
{
    return question->is_open && !question->is_open(question->context);
}

/* Reads what has come. Returns its key; '\0': none. */
static char hear(struct answering *answering)
{
    struct burst burst;
    return read_burst(answering, &burst) ? key_of(answering, &burst) : KEY_END;
}

/* May something inside write to this terminal, or have written there a moment ago? */
static bool must_be_sure(const struct answering *answering)
{
    return answering->had_command || answering->still.count;
}

/* No key counts before so much time has passed without one. Returns '\0', or a key that ends all. */
static char await_quiet(struct answering *answering, const struct answer_question *question)
{
    int quiet = must_be_sure(answering) || answering->session ? QUIET : 0;
    struct pollfd ready = {.fd = answering->fd, .events = POLLIN};
    struct timespec looked;
    clock_gettime(CLOCK_MONOTONIC, &looked);
    while (quiet && poll(&ready, 1, quiet) > 0) {
        char key = hear(answering);
        if (key == KEY_CANCEL || key == KEY_END || key == KEY_STOP)
            return key;
        if (milliseconds_left(looked, LOOK))
            continue;
        clock_gettime(CLOCK_MONOTONIC, &looked);
        if (is_over(question))
            return KEY_OVER;
        if (!is_kept(answering))
            return KEY_BROKEN;
    }
    answering->keyboard = (struct keyboard){0};
    return '\0';
}

/* Waits for a key as long as the question is open and the person is not away. */
static char await_key(struct answering *answering, const struct answer_question *question,
                      bool waits_for_ever)
{
    struct timespec began, looked, heard;
    clock_gettime(CLOCK_MONOTONIC, &began);
    looked = heard = began;
    for (;;) {
        int pause = milliseconds_left(looked, PAUSE), until_look = milliseconds_left(looked, LOOK);
        bool is_watched = question->wake_fd >= 0 && !pause;
        struct pollfd ready[] = {{.fd = answering->fd, .events = POLLIN},
                                 {.fd = is_watched ? question->wake_fd : -1, .events = POLLIN}};
        poll(ready, 2, pause ? pause : until_look);
        char key = ready[0].revents ? hear(answering) : '\0';
        if (key)
            return key;
        if (ready[0].revents)
            clock_gettime(CLOCK_MONOTONIC, &heard);
        else if (!milliseconds_left(heard, LOST)) /* the rest of a sequence does not come any more */
            answering->keyboard = (struct keyboard){0};
        if (!waits_for_ever && !milliseconds_left(began, AWAY))
            return KEY_AWAY;
        if (!ready[1].revents && milliseconds_left(looked, LOOK))
            continue;
        clock_gettime(CLOCK_MONOTONIC, &looked);
        if (is_over(question))
            return KEY_OVER;
    }
}

/* --- the steps ------------------------------------------------------------------------------------------------------ */

static void show(const struct answering *answering, const char *text)
{
    fputs(text, answering->out);
    fflush(answering->out);
}

/*
 * What hides or doubles a question: an open string, colours that are those of the background, old text below
 * (also where it is protected from being erased), pictures above the text. What keeps an answer from bawn:
 * clicks that type, a locked keyboard, keys that are sent as sequences.
 */
static void clear_place(const struct answering *answering)
{
    static const char *const simple[] = {"linux", "vt100", "vt102", "vt220"};
    static const char reset[] = "\033[!p\033[=0u\033[>4m", unlock[] = "\033[2l", below[] = "\n\033[J";
    static const char colours[] = "\033]104\033\\\033]110\033\\\033]111\033\\";
    static const char palette[] = "\033]R\033[39;49m\033[8]", pictures[] = "\033_Ga=d,d=A\033\\";
    static const char clicks[] = "\033[?9l\033[?1000l\033[?1001l\033[?1002l\033[?1003l";
    const char *kind = caller_variable(&answering->world->caller, "TERM");
    put_terminal_right(answering->out);
    if (strcmp(kind, "linux") == 0)
        fputs(palette, answering->out);
    if (!text_is_among(kind, simple, array_len(simple)))
        fprintf(answering->out, "%s%s", reset, colours);
    if (text_starts_with(kind, "xterm")) /* tmux and screen would take it for a title */
        fputs(pictures, answering->out);
    put_terminal_right(answering->out); /* lines do not end at the margin after a reset */
    fprintf(answering->out, "%s%s%s", unlock, clicks, below);
}

/* SHOWN and DRAINED. */
static int show_question(const struct answering *answering, const struct answer_question *question,
                         struct err *err)
{
    bool is_needed = must_be_sure(answering), is_possible = drain_is_possible(answering);
    const struct screen *screen = answering->world->screen;
    if (is_needed && is_possible)
        clear_place(answering);
    if (answering->still.count && !*question->text && screen)
        show(answering,
             buf_text(&screen->shown)); /* what the question is about: it could be painted over before */
    show(answering, question->text);
    if (is_possible && drain(answering, is_needed ? ANSWERS_WITHIN : ANSWERS_SOON))
        return 0;
    tcflush(answering->fd, TCIFLUSH);
    return is_needed ? err_set(err, "the terminal does not say where its cursor is, and may still "
                                    "answer what the command has asked it")
                     : 0;
}

/* The whole job, as the terminal would stop it: bawn may wait for this process. */
static void stop_job(void)
{
    kill(0, SIGTSTP);
}

/* One try, from STILL to KEPT. */
static char try_once(struct answering *answering, const struct answer_question *question, struct err *err)
{
    int still = still_begin(answering, err);
    if (still)
        return still < 0 ? KEY_UNSURE : KEY_BROKEN;
    if (become_raw(answering, err) < 0 || show_question(answering, question, err) < 0)
        return KEY_UNSURE;
    err_set(err, "something inside keeps running although it was stopped");
    char key = is_kept(answering) ? await_quiet(answering, question) : KEY_BROKEN;
    if (key)
        return key;
    show(answering, question->line);
    key = await_key(answering, question, !answering->still.count);
    bool is_answer = key >= ' ' || key == '\n';
    return is_answer && !is_kept(answering) ? KEY_BROKEN : key;
}

/* Everything inside goes on, and a key only says that the person is back. */
static char await_person(struct answering *answering, const struct answer_question *question)
{
    struct err ignored = {0};
    show(answering, "\n  Not answered yet. The command goes on meanwhile; press a key to answer.\n");
    char key = become_raw(answering, &ignored) < 0 ? KEY_END : await_key(answering, question, true);
    leave(answering);
    return key >= ' ' || key == '\n' ? KEY_AGAIN : key;
}

static void say_unsure(const struct answering *answering, const struct answer_question *question,
                       const struct err *err)
{
    auto_arena struct arena arena = {0};
    say_problem(answering->world, arena_printf(&arena, "cannot take an answer here: %s", err->message),
                question->elsewhere ? question->elsewhere : "run it in another terminal");
}

static char take(struct answering *answering, const struct answer_question *question)
{
    for (int broken = 0;;) {
        struct err err = {0};
        char key = try_once(answering, question, &err);
        leave(answering);
        if (key == KEY_AWAY)
            key = await_person(answering, question);
        if (key == KEY_BROKEN && ++broken == TRIES)
            key = KEY_UNSURE;
        if (key == KEY_STOP)
            stop_job();
        if (key == KEY_STOP || key == KEY_AGAIN || key == KEY_BROKEN) {
            show(answering, "\n");
            continue;
        }
        if (key == KEY_UNSURE)
            say_unsure(answering, question, &err);
        return key == KEY_OVER ? '\0' : key;
    }
}

char answer_take(struct answering *answering, const struct answer_question *question)
{
    struct screen *screen = answering->world->screen;
    fflush(answering->world->out);
    fflush(answering->world->err);
    if (screen)
        screen->is_asking = true;
    char key = take(answering, question);
    if (screen) {
        screen->is_asking = false;
        screen_forget(screen);
    }
    return key;
}

char answer_idle(struct answering *answering, int wake_fd, int milliseconds)
{
    struct pollfd ready[] = {{.fd = answering->fd, .events = POLLIN}, {.fd = wake_fd, .events = POLLIN}};
    struct err ignored = {0};
    if (become_raw(answering, &ignored) < 0)
        return KEY_END;
    char key = poll(ready, 2, milliseconds) > 0 && ready[0].revents ? hear(answering) : '\0';
    /* What comes often must not keep bawn busy. */
    if (!key && ready[1].revents && poll(ready, 1, PAUSE) > 0)
        key = hear(answering);
    leave(answering);
    if (key == KEY_STOP)
        stop_job();
    return key;
}

char answer_key(struct answering *answering, const char *line)
{
    return answer_take(answering, &(struct answer_question){.text = "", .line = line, .wake_fd = -1});
}

size_t answer_rows(const struct answering *answering)
{
    struct winsize size;
    return ioctl(answering->fd, TIOCGWINSZ, &size) == 0 && size.ws_row > 4 ? size.ws_row : 24;
}

/* --- yes or no ------------------------------------------------------------------------------------------------------ */

bool answer_yes(const struct world *world, const struct answer_question *question)
{
    struct answering answering;
    FILE *out = world->out_is_terminal ? world->out : world->err;
    if (!answer_begin(world, out, &answering))
        return false;
    char key = answer_take(&answering, question);
    bool is_yes = key == 'y' || key == 'Y';
    fputs(is_yes ? "y\n" : "\n", out);
    fflush(out);
    answer_end(&answering);
    if (key == KEY_CANCEL)
        raise(SIGINT); /* as the terminal would have done in its own modes */
    return is_yes;
}

bool ask(const struct world *world, const char *question)
{
    auto_arena struct arena arena = {0};
    const char *line = arena_printf(&arena, "%s [y/N] ", question);
    char answer[16];
    if (world->in_is_terminal)
        return answer_yes(world, &(struct answer_question){.text = "", .line = line, .wake_fd = -1});
    fputs(line, world->out);
    fflush(world->out);
    return fgets(answer, sizeof(answer), world->in) && (answer[0] == 'y' || answer[0] == 'Y');
}
