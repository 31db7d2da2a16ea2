/* `bawn why`: reports which rule decides each named path, host and variable. */
#include "cli/commands.h"
#include "cli/say.h"
#include "report/policy_text.h"

static int answer_all(const struct world *world, const struct args *args, const struct loaded *loaded)
{
    struct style style = style_for_out(world, loaded->request.home);
    auto_buf struct buf out = {0};
    struct json json = {.out = &out};
    bool as_json = args->flags & FLAG(JSON);
    if (as_json)
        json_open(&json, NULL, '[');
    for (size_t i = 0; i < args->words.count; i++) {
        struct err err = {0};
        if (why_add(&loaded->plan, &style, args->words.at[i], as_json ? &json : NULL, &out, &err) < 0)
            return say_err(world, &err);
    }
    if (as_json)
        json_close(&json, ']');
    put(world->out, &out);
    return EXIT_FINE;
}

int cmd_why(const struct world *world, const struct args *args)
{
    if (args->words.count == 0)
        return say_bad_input(world, "`bawn why` needs a path, a host or a $NAME",
                             "for example: `bawn why ~/.ssh`");
    const struct run_request request = args_request(args);
    auto_loaded struct loaded loaded = {0};
    int status = load_plan(&world->caller, &request, &loaded);
    return status ? status : answer_all(world, args, &loaded);
}
