#include "cli/say.h"

#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/answer.h"
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
 * that follows, with invisible letters, in a picture that is not shown before it is complete, or with two lines in which
 * everything scrolls away. None of this moves the cursor: the region that scrolls is reset between saving and restoring its
 * place.
 */
void put_terminal_right(FILE *stream)
{
    static const char unfinished[] = "\030\033\\", letters[] = "\033[0m\033(B\017",
                      modes[] = "\033[4l\033[?2026l", margins[] = "\033[?69l\033[?7h\0337\033[r\0338";
    fprintf(stream, "%s%s%s%s", unfinished, letters, modes, margins);
}

static void put_right(const struct world *world)
{
    put_terminal_right(world->err);
    world->screen->is_spoilt = false;
}

void put_err(const struct world *world, const struct buf *buf)
{
    if (!buf->size)
        return;
    if (world->screen && world->screen->is_spoilt)
        put_right(world);
    put(world->err, buf);
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

static char speaker_ask(const struct speaker *speaker, const char *question)
{
    const struct world *world = world_of(speaker);
    struct answering answering;
    if (!answer_begin(world, world->err, &answering))
        return KEY_END;
    char key = answer_take(&answering,
                           &(struct answer_question){.text = "",
                                                     .line = question,
                                                     .wake_fd = -1,
                                                     .elsewhere = "files without an answer are set aside"});
    fprintf(world->err, "%c\n", key >= ' ' ? key : ' ');
    answer_end(&answering);
    return key;
}

/* Shows nothing while another job has the terminal. The line is cut, because a wrapped line cannot be erased. */
static void speaker_show_progress(const struct speaker *speaker, const char *line)
{
    enum { USUAL_COLUMNS = 80, MOST_COLUMNS = 200 };
    const struct world *world = world_of(speaker);
    struct winsize size;
    int fd = STDERR_FILENO;
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
    if (!world->screen || !world->err_is_terminal)
        return;
    world->screen->had_command = true;
    world->screen->is_spoilt = knows_escapes(world);
    /* Whoever asks there next may be another process. */
    if (world->screen->is_spoilt && tcgetpgrp(STDERR_FILENO) == getpgrp())
        put_right(world);
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
