/* What holds in a workspace for a program: `bawn show --all` and `bawn why` on a page. */
#include <string.h>

#include "web/workspaces.h"

static void add_forms(struct visit *visit, const act_words *list, const char *workspace, const char *agent,
                      const char *asked)
{
    struct html *page = &visit->page;
    html_add(
        page,
        "<h1>Policy</h1><p class=lead>What a program may do in a workspace, and the rule that says so. <a href=\"/policy/build\">Policy builder</a></p>"
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

/* --- what the run may do, in sentences -------------------------------------------------------------------------------------- */

/* `bawn show` has a word for each, in a column of its own. */
static const char *sentence_of(const char *word, size_t size)
{
    static const struct {
        const char *word, *sentence;
    } sentences[] = {{"write", "It may write"},
                     {"frozen", "It cannot change, even there"},
                     {"flagged", "You decide at the end about"},
                     {"read", "It may read and run"},
                     {"copied", "It gets a copy of"},
                     {"hidden", "It does not see"},
                     {"network", "It may reach"},
                     {"variables", "It gets"},
                     {"limits", "It is limited to"}};
    for (size_t i = 0; i < array_len(sentences); i++) {
        if (strlen(sentences[i].word) == size && strncmp(word, sentences[i].word, size) == 0)
            return sentences[i].sentence;
    }
    return NULL;
}

/* One line of it: a word and its value, the rest of a value, or a remark. */
static void add_screen_line(struct visit *visit, const char *line, size_t size, bool *is_in_list)
{
    struct html *page = &visit->page;
    size_t word = 0;
    while (word < size && line[word] >= 'a' && line[word] <= 'z')
        word++;
    size_t value = word;
    while (value < size && line[value] == ' ')
        value++;
    const char *text = arena_copy(&visit->arena, line + value, size - value);
    const char *sentence = sentence_of(line, word);
    if (sentence) {
        if (*is_in_list)
            html_add(page, "</dd>");
        else
            html_add(page, "<dl class=facts>");
        html_add(page, "<dt>%s</dt><dd>%s", sentence, text);
        *is_in_list = true;
    } else if (*is_in_list && !word && size) {
        html_add(page, " %s", text);
    } else {
        if (*is_in_list)
            html_add(page, "</dd></dl>");
        *is_in_list = false;
        if (size && *line != '`')
            html_add(page, "<p>%s</p>\n", arena_copy(&visit->arena, line, size));
    }
}

static void add_screen(struct visit *visit)
{
    bool is_in_list = false;
    for (const char *line = buf_text(&visit->done_text), *end; *line; line = *end ? end + 1 : end) {
        end = strchrnul(line, '\n');
        add_screen_line(visit, line, (size_t)(end - line), &is_in_list);
    }
    if (is_in_list)
        html_add(&visit->page, "</dd></dl>\n");
}

/* --- the rules -------------------------------------------------------------------------------------------------------------- */

/* A heading and what is below it are closed until somebody opens or filters them: there are hundreds of rules. */
static void add_section(struct html *page, const char *heading, size_t size, const struct html *rows,
                        size_t count)
{
    if (!count)
        return;
    html_add(page, "<details><summary>");
    html_add_bytes(page, heading, size);
    html_add(page, " <span class=dim>%zu line%s</span></summary><table>", count, count == 1 ? "" : "s");
    html_join(page, rows);
    html_add(page, "</table></details>\n");
}

/* What `bawn show --all` printed: a line that is not indented is a heading, the others are where a rule is and what it is about. */
static void add_rules(struct visit *visit)
{
    struct html *page = &visit->page;
    auto_html struct html rows = {0};
    const char *heading = "";
    size_t heading_size = 0, count = 0;
    html_add(
        page,
        "<h2>Every rule, and where it is</h2><label class=filter>Filter <input type=search id=filter aria-controls=rows></label>"
        "<div id=rows class=rules>\n");
    for (const char *line = buf_text(&visit->done_text), *end; *line; line = *end ? end + 1 : end) {
        end = strchrnul(line, '\n');
        size_t size = (size_t)(end - line);
        if (size && *line == ' ') {
            html_add(&rows, "<tr><td class=mono>");
            html_add_bytes(&rows, line + 2, size > 2 ? size - 2 : 0);
            html_add(&rows, "</td></tr>\n");
            count++;
        } else if (size) {
            add_section(page, heading, heading_size, &rows, count);
            rows.out.size = count = 0;
            heading = line;
            heading_size = size;
        }
    }
    add_section(page, heading, heading_size, &rows, count);
    html_add(page, "</div>\n");
}

void policy_page(struct visit *visit)
{
    auto_vec act_words list = {0};
    workspaces_find(visit, &list);
    const char *workspace = workspace_named(visit, &list), *agent = program_named(visit);
    if (!visit_act(visit, visit->stage == 0 ? ACT_SCREEN : ACT_SHOW, NULL,
                   (const char *[]){workspace, agent, NULL}))
        return;
    if (visit->stage == 0) {
        page_begin(visit, "Policy", "/policy");
        add_forms(visit, &list, workspace, agent, "");
        if (visit->done_status != 0) {
            page_add_outcome(visit);
            page_end(visit);
            return;
        }
        add_screen(visit);
        visit_act_again(visit);
        if (!visit_act(visit, ACT_SHOW, NULL, (const char *[]){workspace, agent, NULL}))
            return;
    }
    if (visit->done_status == 0)
        add_rules(visit);
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
