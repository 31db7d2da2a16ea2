#include "web/confirm.h"

#include <string.h>

bool visit_is_confirmed(const struct visit *visit)
{
    return strcmp(visit_field(visit, "confirm"), "yes") == 0;
}

const char *session_address(struct visit *visit, const char *session, const char *rest)
{
    return arena_printf(&visit->arena, "/session/%s%s", url_part(&visit->arena, session), rest);
}

void visit_confirm(struct visit *visit, const struct confirmation *confirmation, const struct html *what)
{
    struct html *page = &visit->page;
    page_begin(visit, confirmation->title, confirmation->here);
    html_add(page, "<h1>%s</h1>\n", confirmation->title);
    html_join(page, what);
    html_add(page, "<form method=post action=\"%s\" class=acts>", confirmation->address);
    vec_each (const struct form_field, field, &visit->form)
        html_add(page, "<input type=hidden name=\"%s\" value=\"%s\">", field->name, field->value);
    html_add(page,
             "<a class=button href=\"%s\" autofocus>Cancel</a> "
             "<button class=main name=confirm value=yes>%s</button></form>\n",
             confirmation->back, confirmation->act);
    page_end(visit);
}
