#include "web/workspaces.h"

#include <fcntl.h>
#include <string.h>

#include "base/fd.h"
#include "base/style.h"
#include "base/text.h"

/* In the form, or in the address. */
static const char *field_of(const struct visit *visit, const char *name)
{
    return visit->is_post ? visit_field(visit, name) : visit_query(visit, name);
}

void workspaces_known(const struct web_place *place, struct arena *arena, act_words *ret_list)
{
    enum { MOST_WORKSPACES = 200 };
    auto_fd int sessions_fd =
        open(arena_printf(arena, "%s/bawn/sessions", place->state), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    auto_vec listed_list sessions = {0};
    const struct sessions_wanted wanted = {.arena = arena, .state = place->state};
    sessions_find(&wanted, sessions_fd, &sessions);
    vec_push(ret_list, place->started_in);
    vec_each (const struct listed, listed, &sessions) {
        const char *workspace = listed_workspace(listed);
        if (ret_list->count < MOST_WORKSPACES && !text_is_among(workspace, ret_list->at, ret_list->count))
            vec_push(ret_list, workspace);
    }
}

void workspaces_find(struct visit *visit, act_words *ret_list)
{
    workspaces_known(visit->web->place, &visit->arena, ret_list);
}

const char *workspace_named(const struct visit *visit, const act_words *list)
{
    const char *named = field_of(visit, "workspace");
    for (size_t i = 0; i < list->count; i++) {
        if (strcmp(list->at[i], named) == 0)
            return list->at[i];
    }
    return list->at[0];
}

const char *program_named(const struct visit *visit)
{
    const char *agent = field_of(visit, "agent");
    return *agent ? agent : "claude";
}

void workspaces_add_list(struct visit *visit, const act_words *list, const char *workspace)
{
    struct html *page = &visit->page;
    const struct style style = {.home = visit->web->place->home};
    html_add(page, "<label>Workspace <select name=workspace>");
    for (size_t i = 0; i < list->count; i++) {
        const char *shown = style_path(&style, &visit->arena, list->at[i]);
        if (list->at[i] == workspace)
            html_add(page, "<option value=\"%s\" selected>%s</option>", list->at[i], shown);
        else
            html_add(page, "<option value=\"%s\">%s</option>", list->at[i], shown);
    }
    html_add(page, "</select></label>");
}

void workspaces_add_choice(struct visit *visit, const act_words *list, const char *workspace,
                           const char *agent)
{
    workspaces_add_list(visit, list, workspace);
    html_add(&visit->page, "<label>Program <input type=text name=agent size=12 value=\"%s\"></label>", agent);
}
