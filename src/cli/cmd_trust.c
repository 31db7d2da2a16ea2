/* `bawn trust`: pins the .bawn of a repository, so that its grants count. */
#include "cli/answer.h"
#include "cli/commands.h"
#include "cli/say.h"
#include "policy/decide.h"
#include "report/messages.h"
#include "session/load.h"
#include "trust/trust.h"

/* Lists the grants that the repository's .bawn and its profiles add once trusted. */
static size_t add_widenings(const struct loaded *loaded, const struct style *style, struct buf *out)
{
    size_t count = 0;
    vec_each (const struct rule, rule, &loaded->policy.rules) {
        if (!rule_is_held_back(&loaded->policy, rule))
            continue;
        buf_add_str(out, "  ");
        style_add_column(style, out, COLOUR_YELLOW, rule_text(loaded->policy.arena, rule), 44);
        buf_add_str(out, "  ");
        style_add(style, out, COLOUR_DIM, rule_place(style, loaded->policy.arena, rule));
        buf_add_char(out, '\n');
        count++;
    }
    return count;
}

static int pin(const struct world *world, const struct args *args, struct loaded *loaded,
               const struct workspace *workspace)
{
    struct style style = style_for_out(world, loaded->request.home);
    auto_buf struct buf out = {0};
    style_add_path(&style, &out, COLOUR_BOLD, workspace->own_policy->name);
    if (workspace->is_trusted) {
        buf_add_str(&out, " is trusted already.\n");
        put(world->out, &out);
        return EXIT_FINE;
    }
    buf_add_str(&out, " would grant:\n");
    if (add_widenings(loaded, &style, &out) == 0)
        buf_add_str(&out, "  nothing: it only takes access away\n");
    put(world->out, &out);
    if (!(args->flags & FLAG(YES)) && !world->in_is_terminal)
        return say_bad_input(world, "there is no terminal to ask on, so nothing was trusted",
                             "pass --yes: `bawn trust --yes`");
    if (!(args->flags & FLAG(YES)) && !ask(world, "Trust it?")) {
        fputs("Not trusted: it can only take access away.\n", world->out);
        return EXIT_FINE;
    }
    struct err err = {0};
    const struct source *own = workspace->own_policy;
    if (trust_pin(&loaded->fs, loaded->request.starts[START_DATA], workspace->path, own->text, own->size,
                  &err) < 0)
        return say_refused(world, &err);
    fputs("Trusted until its content changes. `bawn trust --revoke` ends that.\n", world->out);
    return EXIT_FINE;
}

static int revoke(const struct world *world, struct loaded *loaded, const char *workspace)
{
    struct err err = {0};
    int revoked = trust_revoke(&loaded->fs, loaded->request.starts[START_DATA], workspace, &err);
    if (revoked < 0)
        return say_refused(world, &err);
    fputs(revoked ? "No longer trusted: it can only take access away.\n" : "It was not trusted.\n",
          world->out);
    return EXIT_FINE;
}

int cmd_trust(const struct world *world, const struct args *args)
{
    if (args->words.count > 1)
        return say_bad_input(world, "`bawn trust` takes one directory at a time", NULL);
    const struct argument named = {VERB_WORKSPACE, args->words.count ? args->words.at[0] : NULL};
    struct run_request request = args_place(args);
    request.rules = &named;
    request.rule_count = args->words.count;
    auto_loaded struct loaded loaded = {0};
    int status = load_plan(&world->caller, &request, &loaded);
    if (status)
        return status;
    const struct workspace *workspace = &loaded.policy.workspaces.at[0];
    if (args->flags & FLAG(REVOKE))
        return revoke(world, &loaded, workspace->path);
    if (!workspace->own_policy)
        return say_bad_input(world, arena_printf(&loaded.arena, "there is no .bawn in %s", workspace->path),
                             "`bawn trust DIR` names another directory");
    return pin(world, args, &loaded, workspace);
}
