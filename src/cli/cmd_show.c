/* `bawn show`: shows the policy that applies here, on one screen, as a listing, a plan, JSON or a briefing. */
#include "cli/commands.h"
#include "cli/say.h"
#include "report/messages.h"
#include "report/policy_text.h"

int cmd_show(const struct world *world, const struct args *args)
{
    const struct run_request request = args_request(args);
    auto_loaded struct loaded loaded = {0};
    int status = load_plan(&world->caller, &request, &loaded);
    if (status)
        return status;
    if (args->flags & FLAG(BRIEF) && args->flags & (FLAG(PLAN) | FLAG(JSON)))
        return say_bad_input(world, "--brief cannot be combined with --plan or --json", "use one of them");
    auto_buf struct buf out = {0};
    struct style style = style_for_out(world, loaded.request.home);
    if (args->flags & FLAG(BRIEF))
        briefing_add(&loaded.plan, args->flags & (FLAG(REVIEW) | FLAG(DISCARD)), &out);
    else if (args->flags & FLAG(JSON))
        plan_add_json(&loaded.plan, args->command, &out);
    else if (args->flags & FLAG(PLAN))
        plan_add_text(&loaded.plan, &out);
    else if (args->flags & FLAG(ALL))
        policy_add_listing(&loaded.plan, &style, &out);
    else
        policy_add_screen(&loaded.plan, &style, &out);
    put(world->out, &out);
    return EXIT_FINE;
}
