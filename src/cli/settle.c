#include "cli/settle.h"

#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/ttydefaults.h>
#include <termios.h>

#include "base/path.h"
#include "base/text.h"
#include "cli/say.h"

enum { MOST_NAMED = 10, LINES_SHOWN = 12, COLUMNS_SHOWN = 120 };

/* The beginning of what is new, control characters made visible. */
static void show_content(const struct world *world, const struct file_content *content)
{
    auto_buf struct buf out = {0};
    const char *at = bytes_known(content->bytes) ? content->bytes.at : "", *end = at + content->bytes.size;
    for (int lines = 0; at < end && lines < LINES_SHOWN; lines++) {
        const char *line_end = memchr(at, '\n', (size_t)(end - at));
        size_t size = (size_t)((line_end ? line_end : end) - at);
        buf_add_str(&out, "  | ");
        text_add_printable(&out, at, size < COLUMNS_SHOWN ? size : COLUMNS_SHOWN);
        buf_add_char(&out, '\n');
        at += size + (line_end != NULL);
    }
    if (at < end)
        buf_add_str(&out, "  | ...\n");
    put(world->err, &out);
}

static const char *sentence(struct arena *arena, const struct new_content *change)
{
    return change->runs ? arena_printf(arena, "%s is new, and git on the host would run %s",
                                       change->now->path, change->runs)
                        : arena_printf(arena, "%s is %s, and a program on the host may run or obey it",
                                       change->now->path, change->before ? "changed" : "new");
}

/* Those with which a line is ended and mended. Others would let what the terminal is made to answer look like an answer of its user. */
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
 * The terminal as a person expects it: the command may have left it in another mode, and what was typed so far, or what the
 * terminal itself was made to answer, was not meant for this question. Returns the modes that are to be set after the answer.
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

static void be_interrupted(int number)
{
    (void)number;
}

/*
 * Returns false at the end of what is typed, and on Ctrl-C. That is held back until it is waited for: also one that comes in the
 * moment after the question is an answer to it.
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
    /* The rest of a long line is no answer to the next question. */
    for (int byte = '\0'; is_heard && strlen(answer) + 1 == (size_t)most && byte != '\n' && byte != EOF;)
        byte = answer[most - 2] == '\n' ? '\n' : fgetc(world->in);
    sigaction(SIGINT, &usual, NULL);
    sigprocmask(SIG_SETMASK, &before, NULL);
    return is_heard;
}

/* The key that was meant; none where it is not all that was typed. */
static char answer_key(const char *answer)
{
    static const char *const words[] = {"y", "Y", "yes", "a", "all", "n", "no", "o"};
    size_t size = strcspn(answer, "\n");
    for (size_t i = 0; i < array_len(words); i++) {
        if (strlen(words[i]) == size && memcmp(words[i], answer, size) == 0)
            return words[i][0];
    }
    return '\0';
}

/* Returns whether to keep it. 'a' and 'o' answer for all that follow. */
static bool shall_keep(const struct world *world, struct arena *arena, const struct new_content *change,
                       char *answer_for_all)
{
    if (*answer_for_all)
        return *answer_for_all == 'a';
    say_problem(world, sentence(arena, change), NULL);
    show_content(world, change->now);
    struct termios modes = ready_terminal(world);
    fputs("Keep it? [y]es, [a]ll, [N]o: hold it aside, n[o]ne of them: ", world->err);
    fflush(world->err);
    char answer[16] = "";
    if (!hear_answer(world, answer, sizeof(answer)))
        *answer_for_all = 'o';
    if (modes.c_lflag & ICANON)
        tcsetattr(fileno(world->in), TCSADRAIN, &modes);
    char key = answer_key(answer);
    if (key == 'a' || key == 'o')
        *answer_for_all = key;
    return key == 'y' || key == 'Y' || key == 'a';
}

void say_sightings(const struct world *world, const struct flags *flags)
{
    struct arena *arena = flags->hold->arena;
    size_t named = 0;
    for (size_t i = 0; i < flags->sightings.count; i++) {
        const struct sighting *seen = &flags->sightings.at[i];
        journal_event(&flags->hold->session->journal, "seen", "what", seen->what, "path", seen->path);
        if (seen->hint || (world->err_is_terminal && named++ < MOST_NAMED))
            say_problem(world, arena_printf(arena, "the command left %s: %s", seen->what, seen->path),
                        seen->hint);
    }
}

struct settled_flags settle(const struct world *world, struct flags *flags, bool keep_all, bool may_ask)
{
    struct hold *hold = flags->hold;
    char for_all = keep_all ? 'a' : may_ask && world->in_is_terminal && world->err_is_terminal ? '\0' : 'o';
    size_t held = 0, kept = 0;
    for (size_t i = 0; i < flags->changes.count; i++) {
        const struct new_content *change = &flags->changes.at[i];
        struct err err = {0};
        if (shall_keep(world, hold->arena, change, &for_all)) {
            journal_event(&hold->session->journal, "kept", "path", change->now->path);
            kept++;
        } else if (flags_hold(flags, change, &err) < 0) {
            say_err(world, &err);
        } else if (held++ < MOST_NAMED) {
            say_problem(world,
                        arena_printf(hold->arena, "%s: it is held aside", sentence(hold->arena, change)),
                        NULL);
        }
    }
    if (held)
        say_problem(
            world, arena_printf(hold->arena, "%zu file%s held aside", held, held == 1 ? " is" : "s are"),
            arena_printf(hold->arena, "`bawn held %s` lists them, `bawn held --keep %s` puts them back",
                         hold->session->name, hold->session->name));
    if (kept && world->err_is_terminal)
        say_problem(world,
                    arena_printf(hold->arena, "%zu flagged file%s kept", kept, kept == 1 ? " is" : "s are"),
                    NULL);
    return (struct settled_flags){held, kept};
}
