#include <string.h>

#include "report/time_text.h"
#include "web/visit.h"

static const struct {
    const char *path, *name;
} parts[] = {{"/", "Sessions"}, {"/requests", "Requests"}, {"/policy", "Policy"}, {"/prove", "Proof"}};

/* Questions wait while somebody looks at another page or window: the title says it, too. The script counts again. */
static void add_waiting(struct html *page, size_t count)
{
    if (count)
        html_add(page, " <span class=badge id=waiting>%zu<span class=off> waiting</span></span>", count);
    else
        html_add(page, " <span class=badge id=waiting hidden></span>");
}

static void add_parts(struct html *page, const char *here, size_t waiting)
{
    for (size_t i = 0; i < array_len(parts); i++) {
        html_add(page, "<a href=\"%s\"", parts[i].path);
        if (strcmp(parts[i].path, here) == 0)
            html_add(page, " aria-current=page");
        html_add(page, ">%s", parts[i].name);
        if (strcmp(parts[i].path, "/requests") == 0)
            add_waiting(page, waiting);
        html_add(page, "</a>");
    }
}

void page_begin(struct visit *visit, const char *title, const char *here)
{
    struct html *page = &visit->page;
    size_t waiting = visit->is_admitted ? questions_count(visit) : 0;
    visit->status = MHD_HTTP_OK;
    html_add(page, "<!doctype html>\n<html lang=en><head><meta charset=utf-8>"
                   "<meta name=viewport content=\"width=device-width, initial-scale=1\">"
                   "<meta name=color-scheme content=\"light dark\"><title>");
    if (waiting)
        html_add(page, "(%zu) ", waiting);
    html_add(page,
             "%s · bawn</title><link rel=icon href=\"/icon.svg\"><link rel=stylesheet href=\"/style.css\">"
             "<script src=\"/script.js\" defer></script></head>\n<body>"
             "<a class=skip href=\"#main\">Skip to the content</a>"
             "<header class=top><a class=brand href=\"/\"><span aria-hidden=true>▣</span> bawn</a>"
             "<nav aria-label=Parts>",
             title);
    add_parts(page, here, waiting);
    html_add(page, "</nav></header>\n<main id=main tabindex=-1>\n");
}

void page_end(struct visit *visit)
{
    html_add(&visit->page, "</main>\n</body></html>\n");
}

void page_add_form_token(struct visit *visit)
{
    html_add(&visit->page, "<input type=hidden name=form value=\"%s\">", visit->web->form);
}

void page_add_outcome(struct visit *visit)
{
    struct html *page = &visit->page;
    bool is_good = visit->done_status == 0;
    html_add(page, "<div class=\"box %s\" role=status><h2>%s</h2><pre>", is_good ? "good" : "warn",
             is_good                   ? "Done"
             : visit->done_status == 1 ? "Not everything was done"
                                       : "Not done");
    const char *text = buf_text(&visit->done_text);
    for (const char *line = text, *end; *line; line = *end ? end + 1 : end) {
        end = strchrnul(line, '\n');
        html_add_bytes(page, line, (size_t)(end - line));
        html_add(page, "\n");
    }
    html_add(page, "%s</pre></div>\n", visit->is_cut ? "(the rest is too long to show)" : "");
}

const char *length_text(struct arena *arena, uint64_t milliseconds)
{
    enum { SECOND = 1000 };
    return milliseconds < SECOND ? arena_printf(arena, "%llu ms", (unsigned long long)milliseconds)
                                 : duration_text(arena, (int64_t)(milliseconds / SECOND));
}

static bool is_heading(const char *line, size_t size)
{
    return size && *line != ' ';
}

void page_add_listing(struct visit *visit)
{
    struct html *page = &visit->page;
    bool is_open = false;
    for (const char *line = buf_text(&visit->done_text), *end; *line; line = *end ? end + 1 : end) {
        end = strchrnul(line, '\n');
        size_t size = (size_t)(end - line);
        if (is_heading(line, size) || !size) {
            if (is_open)
                html_add(page, "</pre>");
            is_open = false;
        }
        if (is_heading(line, size)) {
            html_add(page, "<h2>");
            html_add_bytes(page, line, size);
            html_add(page, "</h2>\n");
        } else if (size) {
            if (!is_open)
                html_add(page, "<pre class=listing tabindex=0>");
            is_open = true;
            html_add_bytes(page, line, size);
            html_add(page, "\n");
        }
    }
    if (is_open)
        html_add(page, "</pre>");
}

void visit_say(struct visit *visit, unsigned status, const char *title, const char *text)
{
    html_free(&visit->page);
    page_begin(visit, title, "");
    html_add(&visit->page, "<h1>%s</h1><p>%s</p>\n", title, text);
    page_end(visit);
    visit->status = status;
}
