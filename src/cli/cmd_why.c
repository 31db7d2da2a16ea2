/* `bawn why`: reports which rule decides each named path, host, request and variable. */
#include <string.h>

#include "cli/commands.h"
#include "cli/say.h"
#include "policy/request.h"
#include "report/policy_text.h"

/* Capital letters before an address: "GET https://…". */
static bool is_before_address(const struct args *args, size_t i)
{
    const char *word = args->words.at[i];
    size_t letters = strspn(word, "ABCDEFGHIJKLMNOPQRSTUVWXYZ");
    return letters && !word[letters] && i + 1 < args->words.count && strstr(args->words.at[i + 1], "://");
}

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
        const char *asked = args->words.at[i];
        bool is_method = is_before_address(args, i);
        if (is_method && !request_is_method(asked))
            return say_bad_input(world, arena_printf(loaded->policy.arena, "unknown method '%s'", asked),
                                 "for example: `bawn why GET https://api.github.com/user`");
        if (is_method)
            asked = arena_printf(loaded->policy.arena, "%s %s", asked, args->words.at[++i]);
        if (why_add(&loaded->plan, &style, asked, as_json ? &json : NULL, &out, &err) < 0)
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
    struct run_request request = args_request(args);
    struct given_rules given;
    given_rules_add(world, &request, &given);
    auto_loaded struct loaded loaded = {0};
    int status = load_plan(&world->caller, &request, &loaded);
    status = status ? status : answer_all(world, args, &loaded);
    given_rules_free(&given);
    return status;
}
