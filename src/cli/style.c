#include "cli/style.h"

#include <inttypes.h>
#include <string.h>

#include "base/path.h"
#include "base/text.h"

static bool colours_wanted(const struct world *world, bool is_terminal)
{
    const char *no_color = world_variable(world, "NO_COLOR"), *terminal = world_variable(world, "TERM");
    return is_terminal && !(no_color && *no_color) && terminal && strcmp(terminal, "dumb") != 0;
}

struct style style_for_out(const struct world *world)
{
    return (struct style){.colours = colours_wanted(world, world->out_is_terminal)};
}

struct style style_for_err(const struct world *world)
{
    return (struct style){.colours = colours_wanted(world, world->err_is_terminal)};
}

size_t style_add(const struct style *style, struct buf *buf, enum colour colour, const char *text)
{
    static const char *const codes[] = {
        [COLOUR_BOLD] = "\033[1m",   [COLOUR_DIM] = "\033[2m",     [COLOUR_RED] = "\033[31m",
        [COLOUR_GREEN] = "\033[32m", [COLOUR_YELLOW] = "\033[33m",
    };
    bool coloured = style->colours && colour != COLOUR_PLAIN;
    if (coloured)
        buf_add_str(buf, codes[colour]);
    size_t columns = text_add_printable(buf, text, strlen(text));
    if (coloured)
        buf_add_str(buf, "\033[0m");
    return columns;
}

const char *style_path(const struct style *style, struct arena *arena, const char *path)
{
    bool in_home = style->home && style->home[1] && *path == '/' && path_is_beneath(path, style->home);
    return in_home ? arena_printf(arena, "~%s", path + strlen(style->home)) : path;
}

size_t style_add_path(const struct style *style, struct buf *buf, enum colour colour, const char *path)
{
    struct arena arena = {0};
    size_t columns = style_add(style, buf, colour, style_path(style, &arena, path));
    arena_free(&arena);
    return columns;
}

const char *size_text(struct arena *arena, uint64_t size)
{
    static const char *const units[] = {"bytes", "KiB", "MiB", "GiB"};
    size_t unit = 0;
    for (; size >= 10240 && unit + 1 < array_len(units); unit++)
        size /= 1024;
    return arena_printf(arena, "%" PRIu64 " %s", size, units[unit]);
}

void put(FILE *stream, const struct buf *buf)
{
    fwrite(buf_text(buf), 1, buf->size, stream);
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

/* A sentence gets its full stop unless it ends in punctuation already. */
static void add_sentence(struct buf *buf, const struct style *style, const char *text)
{
    style_add(style, buf, COLOUR_PLAIN, text);
    size_t size = strlen(text);
    if (size && !strchr(".?!", text[size - 1]))
        buf_add_char(buf, '.');
}

static void add_hint(struct buf *buf, const struct style *style, const char *hint)
{
    auto_buf struct buf capital = {0};
    buf_add_str(&capital, hint);
    if (capital.size && capital.bytes[0] >= 'a' && capital.bytes[0] <= 'z')
        capital.bytes[0] = (char)(capital.bytes[0] - 'a' + 'A');
    add_sentence(buf, style, buf_text(&capital));
}

void say_problem(const struct world *world, const char *message, const char *hint)
{
    struct style style = style_for_err(world);
    auto_buf struct buf buf = {0};
    style_add(&style, &buf, COLOUR_RED, "bawn:");
    buf_add_char(&buf, ' ');
    add_sentence(&buf, &style, message);
    if (hint && *hint) {
        buf_add_char(&buf, ' ');
        add_hint(&buf, &style, hint);
    }
    buf_add_char(&buf, '\n');
    put(world->err, &buf);
}

void say_err(const struct world *world, const struct err *err)
{
    say_problem(world, err->message, err->hint);
}

/* The line of the source, and a caret under the words that are meant. */
static void add_excerpt(struct buf *buf, const struct style *style, const struct diag *diag)
{
    const char *line = diag->source->text, *end = line + diag->source->size;
    for (uint32_t number = 1; number < diag->line && line < end; number++) {
        const char *newline = memchr(line, '\n', (size_t)(end - line));
        line = newline ? newline + 1 : end;
    }
    const char *newline = memchr(line, '\n', (size_t)(end - line));
    size_t size = (size_t)((newline ? newline : end) - line);
    if (size && line[size - 1] == '\r')
        size--;
    size_t before = diag->column - 1 < size ? diag->column - 1 : size;
    size_t marked = diag->width < size - before ? diag->width : size - before;

    enum { MOST_SHOWN = 160 }; /* a line of a megabyte helps nobody */
    auto_buf struct buf ignored = {0};
    buf_add_str(buf, "    ");
    text_add_printable(buf, line, size < MOST_SHOWN ? size : MOST_SHOWN);
    buf_add_char(buf, '\n');
    if (before >= MOST_SHOWN)
        return;
    for (size_t columns = 4 + text_add_printable(&ignored, line, before); columns; columns--)
        buf_add_char(buf, ' ');
    size_t carets = text_add_printable(&ignored, line + before, marked);
    auto_buf struct buf caret = {0};
    do {
        buf_add_char(&caret, caret.size ? '~' : '^');
    } while (caret.size < carets && caret.size < MOST_SHOWN);
    style_add(style, buf, COLOUR_GREEN, buf_text(&caret));
    buf_add_char(buf, '\n');
}

/* "FILE:LINE:COLUMN: ", or "bawn: --read /x: " for the command line. */
static void add_place(struct buf *buf, const struct style *style, const struct diag *diag)
{
    if (diag->line) {
        style_add_path(style, buf, COLOUR_BOLD, diag->source->name);
        buf_printf(buf, ":%u", diag->line);
        if (diag->column)
            buf_printf(buf, ":%u", diag->column);
        buf_add_str(buf, ": ");
        return;
    }
    style_add(style, buf, COLOUR_RED, "bawn:");
    buf_add_char(buf, ' ');
    if (diag->verb && diag->source->layer == LAYER_COMMAND_LINE) {
        buf_printf(buf, "--%s ", verb_word(diag->verb));
        style_add(style, buf, COLOUR_PLAIN, diag->written);
        buf_add_str(buf, ": ");
    } else if (*diag->source->name == '/') {
        style_add_path(style, buf, COLOUR_PLAIN, diag->source->name);
        buf_add_str(buf, ": ");
    }
}

static void add_diag(struct buf *buf, const struct style *style, const struct diag *diag)
{
    add_place(buf, style, diag);
    if (diag->severity == SEVERITY_WARNING)
        style_add(style, buf, COLOUR_YELLOW, "warning: ");
    style_add(style, buf, COLOUR_PLAIN, diag->message);
    buf_add_char(buf, '\n');
    if (diag->line && diag->source->text && diag->column)
        add_excerpt(buf, style, diag);
    if (diag->hint) {
        buf_add_str(buf, "    hint: ");
        style_add(style, buf, COLOUR_PLAIN, diag->hint);
        buf_add_char(buf, '\n');
    }
}

void say_diags(const struct world *world, const struct style *style, const struct diags *diags)
{
    auto_buf struct buf buf = {0};
    for (size_t i = 0; i < diags->list.count; i++)
        add_diag(&buf, style, &diags->list.at[i]);
    if (diags->left_out)
        buf_printf(&buf, "bawn: %zu more like these are not shown.\n", diags->left_out);
    put(world->err, &buf);
}
