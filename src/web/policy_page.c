/* What holds in a workspace for a program: `bawn show --all` and `bawn why` on a page. */
#include <string.h>

#include "web/workspaces.h"

static void add_forms(struct visit *visit, const act_words *list, const char *workspace, const char *agent,
                      const char *asked)
{
    struct html *page = &visit->page;
    html_add(
        page,
        "<h1>Policy</h1><p class=lead>What a program may do in a workspace, and the rule that says so. <a href=\"/policy/build\">Build lines of your own.</a></p>"
        "<form class=filter method=get action=\"/policy\">");
    workspaces_add_choice(visit, list, workspace, agent);
    html_add(
        page,
        "<button>Show</button></form>\n<form class=filter method=get action=\"/policy/why\" role=search>"
        "<input type=hidden name=workspace value=\"%s\"><input type=hidden name=agent value=\"%s\">"
        "<label>Why <input type=search name=object size=30 value=\"%s\" placeholder=\"~/.ssh, github.com, $AWS_PROFILE\"></label>"
        "<button>Ask</button></form>\n",
        workspace, agent, asked);
}

void policy_page(struct visit *visit)
{
    auto_vec act_words list = {0};
    workspaces_find(visit, &list);
    const char *workspace = workspace_named(visit, &list), *agent = program_named(visit);
    if (!visit_act(visit, ACT_SHOW, NULL, (const char *[]){workspace, agent, NULL}))
        return;
    page_begin(visit, "Policy", "/policy");
    add_forms(visit, &list, workspace, agent, "");
    if (visit->done_status == 0)
        page_add_listing(visit);
    else
        page_add_outcome(visit);
    page_end(visit);
}

void policy_why(struct visit *visit)
{
    auto_vec act_words list = {0};
    workspaces_find(visit, &list);
    const char *workspace = workspace_named(visit, &list), *agent = program_named(visit),
               *object = visit_query(visit, "object");
    if (!*object) {
        visit_go(visit, "/policy");
        return;
    }
    if (!visit_act(visit, ACT_WHY, NULL, (const char *[]){workspace, object, agent, NULL}))
        return;
    page_begin(visit, "Why", "/policy");
    add_forms(visit, &list, workspace, agent, object);
    if (visit->done_status == 0)
        page_add_listing(visit);
    else
        page_add_outcome(visit);
    page_end(visit);
}
