#include "cli/say.h"

#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/ttydefaults.h>
#include <termios.h>
#include <unistd.h>

#include "base/attr.h"
#include "report/messages.h"

static bool knows_escapes(const struct world *world)
{
    const char *terminal = caller_variable(&world->caller, "TERM");
    return terminal && strcmp(terminal, "dumb") != 0;
}

static bool colours_wanted(const struct world *world, bool is_terminal)
{
    const char *no_color = caller_variable(&world->caller, "NO_COLOR");
    return is_terminal && !(no_color && *no_color) && knows_escapes(world);
}

struct style style_for_out(const struct world *world, const char *home)
{
    return (struct style){.colours = colours_wanted(world, world->out_is_terminal), .home = home};
}

struct style style_for_err(const struct world *world)
{
    return (struct style){.colours = colours_wanted(world, world->err_is_terminal)};
}

void put(FILE *stream, const struct buf *buf)
{
    fwrite(buf_text(buf), 1, buf->size, stream);
}

/*
 * A command could leave the terminal so that nobody sees what bawn writes next: in the middle of a title, which takes in all
 * that follows, with invisible letters, or with two lines in which everything scrolls away. None of this moves the cursor: the
 * region that scrolls is reset between saving and restoring its place.
 */
void put_err(const struct world *world, const struct buf *buf)
{
    static const char unfinished[] = "\030\033\\", letters[] = "\033[0m\033(B\017",
                      margins[] = "\033[?69l\033[?7h\0337\033[r\0338";
    if (!buf->size)
        return;
    if (world->screen_is_spoilt && *world->screen_is_spoilt) {
        fprintf(world->err, "%s%s%s", unfinished, letters, margins);
        *world->screen_is_spoilt = false;
    }
    put(world->err, buf);
}

void ask_begin(const struct world *world, const char *question)
{
    fprintf(world->out, "%s [y/N] ", question);
    fflush(world->out);
}

bool ask_end(const struct world *world)
{
    char answer[16];
    return fgets(answer, sizeof(answer), world->in) && (answer[0] == 'y' || answer[0] == 'Y');
}

bool ask(const struct world *world, const char *question)
{
    ask_begin(world, question);
    return ask_end(world);
}

void say_problem(const struct world *world, const char *message, const char *hint)
{
    struct style style = style_for_err(world);
    auto_buf struct buf out = {0};
    report_add_problem(&out, &style, message, hint);
    put_err(world, &out);
}

int say_err(const struct world *world, const struct err *err)
{
    say_problem(world, err->message, err->hint);
    return EXIT_BAD_INPUT;
}

/* --- the engine's speaker -------------------------------------------------------------------------------------------- */

static const struct world *world_of(const struct speaker *speaker)
{
    return speaker->context;
}

static void speaker_say(const struct speaker *speaker, const char *message, const char *hint)
{
    say_problem(world_of(speaker), message, hint);
}

static void speaker_note(const struct speaker *speaker, const char *message, const char *hint)
{
    const struct world *world = world_of(speaker);
    struct style style = style_for_err(world);
    auto_buf struct buf out = {0};
    report_add_note(&out, &style, message, hint);
    put_err(world, &out);
}

static void speaker_show(const struct speaker *speaker, const struct buf *text)
{
    put_err(world_of(speaker), text);
}

/*
 * Resets the editing keys of the line. With other keys, an answer of the terminal itself could look like the
 * user's.
 */
static void set_usual_keys(struct termios *modes)
{
    static const struct {
        unsigned char which;
        cc_t key;
    } usual[] = {{VINTR, CINTR},     {VQUIT, CQUIT},      {VERASE, CERASE}, {VKILL, CKILL},
                 {VEOF, CEOF},       {VEOL, CEOL},        {VEOL2, CEOL},    {VSUSP, CSUSP},
                 {VSTART, CSTART},   {VSTOP, CSTOP},      {VLNEXT, CLNEXT}, {VREPRINT, CREPRINT},
                 {VWERASE, CWERASE}, {VDISCARD, CDISCARD}};
    for (size_t i = 0; i < array_len(usual); i++)
        modes->c_cc[usual[i].which] = usual[i].key;
}

/*
 * Prepares the terminal for a question: the command may have left it in another mode. Drops input from before the
 * question, typed or sent by the terminal. Returns the modes to set after the answer.
 */
static struct termios ready_terminal(const struct world *world)
{
    struct termios modes = {0}, asking;
    int fd = fileno(world->in);
    if (style_for_err(world).colours)
        fputs("\033[0m", world->err);
    if (tcgetattr(fd, &modes) < 0)
        return modes;
    modes.c_lflag |= ICANON | ECHO | ISIG;
    modes.c_iflag &= ~(tcflag_t)(INLCR | IGNCR | ISTRIP | IUCLC);
    modes.c_iflag |= ICRNL;
    asking = modes;
    set_usual_keys(&asking);
    tcsetattr(fd, TCSAFLUSH, &asking);
    return modes;
}

static void be_interrupted(int number not_used)
{
}

/*
 * Returns false at the end of input and on Ctrl-C. SIGINT is blocked except in ppoll, so that a Ctrl-C right after
 * the question counts as its answer.
 */
static bool hear_answer(const struct world *world, char *answer, int most)
{
    sigset_t interrupt, before;
    struct sigaction usual;
    struct pollfd typed = {.fd = fileno(world->in), .events = POLLIN};
    sigemptyset(&interrupt);
    sigaddset(&interrupt, SIGINT);
    sigprocmask(SIG_BLOCK, &interrupt, &before);
    sigaction(SIGINT, &(struct sigaction){.sa_handler = be_interrupted}, &usual);
    sigset_t while_waiting = before;
    sigdelset(&while_waiting, SIGINT);
    bool is_heard = ppoll(&typed, 1, NULL, &while_waiting) > 0 && fgets(answer, most, world->in) != NULL;
    /* Drops the rest of a long line: it does not answer the next question. */
    for (int byte = '\0'; is_heard && strlen(answer) + 1 == (size_t)most && byte != '\n' && byte != EOF;)
        byte = answer[most - 2] == '\n' ? '\n' : fgetc(world->in);
    sigaction(SIGINT, &usual, NULL);
    sigprocmask(SIG_SETMASK, &before, NULL);
    return is_heard;
}

static bool speaker_ask(const struct speaker *speaker, const char *question, char *ret_answer, int size)
{
    const struct world *world = world_of(speaker);
    struct termios modes = ready_terminal(world);
    auto_buf struct buf out = {0};
    buf_add_str(&out, question);
    put_err(world, &out);
    fflush(world->err);
    bool is_heard = hear_answer(world, ret_answer, size);
    if (modes.c_lflag & ICANON)
        tcsetattr(fileno(world->in), TCSADRAIN, &modes);
    return is_heard;
}

/* Shows nothing while another job has the terminal. The line is cut, because a wrapped line cannot be erased. */
static void speaker_show_progress(const struct speaker *speaker, const char *line)
{
    enum { USUAL_COLUMNS = 80, MOST_COLUMNS = 200 };
    const struct world *world = world_of(speaker);
    struct winsize size;
    int fd = fileno(world->err);
    if (tcgetpgrp(fd) != getpgrp())
        return;
    int columns = ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col ? size.ws_col : USUAL_COLUMNS;
    columns = (columns < MOST_COLUMNS ? columns : MOST_COLUMNS) - 1;
    auto_buf struct buf out = {0};
    buf_printf(&out, "\r%-*.*s\r", columns, columns, line);
    put_err(world, &out);
    fflush(world->err);
}

static void speaker_command_ended(const struct speaker *speaker)
{
    const struct world *world = world_of(speaker);
    if (world->screen_is_spoilt)
        *world->screen_is_spoilt = world->err_is_terminal && knows_escapes(world);
}

void world_set_speaker(struct world *world)
{
    world->speaker = (struct speaker){
        .context = world,
        .is_read = world->err_is_terminal,
        .can_answer = world->in_is_terminal && world->err_is_terminal,
        .has_colours = style_for_err(world).colours,
        .say = speaker_say,
        .note = speaker_note,
        .show = speaker_show,
        .ask = speaker_ask,
        .show_progress = speaker_show_progress,
        .command_ended = speaker_command_ended,
    };
    world->caller.speaker = &world->speaker;
}
