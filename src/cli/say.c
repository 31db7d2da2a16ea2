#include "cli/say.h"

#include <string.h>

#include "base/text.h"
#include "report/messages.h"

static bool colours_wanted(const struct world *world, bool is_terminal)
{
    const char *no_color = text_variable(world->environment, "NO_COLOR"),
               *terminal = text_variable(world->environment, "TERM");
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

void say_problem(const struct world *world, const char *message, const char *hint)
{
    struct style style = style_for_err(world);
    auto_buf struct buf out = {0};
    report_add_problem(&out, &style, message, hint);
    put(world->err, &out);
}

void say_err(const struct world *world, const struct err *err)
{
    say_problem(world, err->message, err->hint);
}

void say_diags(const struct world *world, const struct style *style, const struct diags *diags)
{
    auto_buf struct buf out = {0};
    report_add_diags(&out, style, diags);
    put(world->err, &out);
}
