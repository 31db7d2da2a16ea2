/* Open questions of programs inside, and their answers: `bawn requests` and `bawn answer` on a page. */
#include <string.h>

#include "base/fd.h"
#include "base/json.h"
#include "kernel/directories.h"
#include "web/confirm.h"

/* What is asked, by the names of the JSON of `bawn requests --json`. */
struct question_shown {
    const char *session, *id, *kind, *object, *seconds, *program, *pid, *warning, *because, *says, *parents,
        *not_now, *always, *never;
};

static void take_member(struct arena *arena, struct question_shown *shown, struct json_value key,
                        struct json_value value)
{
    const struct {
        const char *name;
        const char **text;
    } texts[] = {{"session", &shown->session}, {"id", &shown->id},           {"kind", &shown->kind},
                 {"object", &shown->object},   {"seconds", &shown->seconds}, {"program", &shown->program},
                 {"pid", &shown->pid},         {"warning", &shown->warning}, {"because", &shown->because},
                 {"says", &shown->says},       {"parents", &shown->parents}, {"not_now", &shown->not_now},
                 {"always", &shown->always},   {"never", &shown->never}};
    for (size_t i = 0; i < array_len(texts); i++) {
        const char *text = json_is(key, texts[i].name) ? json_text(arena, value) : NULL;
        if (text)
            *texts[i].text = text;
    }
}

static void add_button(struct html *page, char key, const char *word, const char *label, const char *detail)
{
    html_add(page, "<button name=answer value=%s data-key=%c><kbd>%c</kbd> %s</button>", word, key, key,
             label);
    if (*detail)
        html_add(page, " <code class=dim>%s</code>", detail);
    html_add(page, " ");
}

static void add_line(struct html *page, const char *label, const char *text)
{
    if (*text)
        html_add(page, "<p><strong>%s</strong> %s</p>", label, text);
}

static void add_question(struct visit *visit, const struct question_shown *shown)
{
    struct html *page = &visit->page;
    html_add(page, "<section class=question tabindex=0><h2>%s <span class=mono>%s</span></h2>", shown->kind,
             shown->object);
    html_add(
        page,
        "<p class=dim><a href=\"/session/%s\">%s</a>, question %s, asked %s seconds ago by %s (%s)%s%s</p>",
        url_part(&visit->arena, shown->session), shown->session, shown->id, shown->seconds, shown->program,
        shown->pid, *shown->parents ? ", started by " : "", shown->parents);
    add_line(page, "It is:", shown->says);
    add_line(page, "This run cannot get it:", shown->not_now);
    add_line(page, "▲ Careful:", shown->warning);
    if (*shown->because)
        html_add(page, "<p>The program&#39;s own words, which may be untrue:</p><blockquote>%s</blockquote>",
                 shown->because);
    html_add(page, "<form method=post action=\"/requests\">");
    page_add_form_token(visit);
    html_add(page,
             "<input type=hidden name=question value=\"%s/%s\"><input type=hidden name=line value=\"%s\">",
             shown->session, shown->id, shown->always);
    if (!*shown->not_now) {
        add_button(page, 'o', "once", "Once", "");
        add_button(page, 's', "session", "This session", "");
    }
    if (*shown->always)
        add_button(page, 'a', "always", "Always", shown->always);
    add_button(page, 'n', "no", "No", "");
    if (*shown->never)
        add_button(page, 'v', "never", "Never", shown->never);
    html_add(page, "</form></section>\n");
}

size_t questions_count(const struct visit *visit)
{
    auto_fd int sessions_fd = visit_sessions(visit);
    auto_dir DIR *folder = sessions_fd < 0 ? NULL : directories_list(sessions_fd);
    size_t count = 0;
    for (const struct dirent *entry; folder && (entry = readdir(folder));) {
        auto_arena struct arena arena = {0};
        struct glance glance;
        auto_fd int fd = session_open(sessions_fd, entry->d_name);
        if (fd >= 0 && record_has_lock(fd) && glance_at(fd, &arena, NULL, &glance))
            count += glance.asked > glance.answered ? glance.asked - glance.answered : 0;
    }
    return count;
}

/* For the script of other pages. */
void requests_count(struct visit *visit)
{
    visit->status = MHD_HTTP_OK;
    visit->type = "text/plain; charset=utf-8";
    html_add(&visit->page, "%zu", questions_count(visit));
}

void requests_page(struct visit *visit)
{
    struct json_value list, item, key, value;
    size_t count = 0;
    if (!visit_act(visit, ACT_REQUESTS, NULL, (const char *[]){NULL}))
        return;
    page_begin(visit, "Requests", "/requests");
    html_add(&visit->page, "<h1>Requests</h1><p class=lead>Questions of programs inside. A click or Tab "
                           "chooses one; a second later its keys answer it.</p>"
                           "<div id=questions data-refresh=\"/requests\">\n");
    bool is_list =
        visit->done_status == 0 && json_read(buf_text(&visit->done_text), visit->done_text.size, &list);
    for (size_t at = 0; is_list && json_next_item(list, &at, &item); count++) {
        struct question_shown shown = {"", "", "", "", "", "", "", "", "", "", "", "", "", ""};
        for (size_t in = 0; json_next_member(item, &in, &key, &value);)
            take_member(&visit->arena, &shown, key, value);
        add_question(visit, &shown);
    }
    if (!is_list)
        page_add_outcome(visit);
    else if (!count)
        html_add(&visit->page, "<p class=empty>No question is open.</p>");
    html_add(&visit->page, "</div>\n");
    page_end(visit);
}

/* It changes the policy of every run: a key or a click is not enough. Returns whether the answer is given. */
static bool is_meant(struct visit *visit)
{
    const struct confirmation confirmation = {.title = "Always?",
                                              .address = "/requests",
                                              .act = "Allow always",
                                              .back = "/requests",
                                              .here = "/requests"};
    auto_html struct html what = {0};
    if (strcmp(visit_field(visit, "answer"), "always") != 0 || visit_is_confirmed(visit))
        return true;
    html_add(
        &what,
        "<p>This answers the question <span class=mono>%s</span> and adds a line to your own policy, for every sandbox from the next start on:</p><p><code>%s</code></p>",
        visit_field(visit, "question"), visit_field(visit, "line"));
    visit_confirm(visit, &confirmation, &what);
    return false;
}

void requests_answer(struct visit *visit)
{
    if (!is_meant(visit))
        return;
    if (!visit_act(visit, ACT_ANSWER, NULL,
                   (const char *[]){visit_field(visit, "question"), visit_field(visit, "answer"), NULL}))
        return;
    page_begin(visit, "Answer", "/requests");
    html_add(&visit->page, "<p class=crumbs><a href=\"/requests\">Requests</a></p><h1>Answer</h1>\n");
    page_add_outcome(visit);
    html_add(&visit->page, "<p><a class=button href=\"/requests\">Other questions</a></p>");
    page_end(visit);
}
