/* `bawn prove` on a page: run it, watch it, keep its report. */
#include <fcntl.h>
#include <string.h>
#include <time.h>

#include "base/fd.h"
#include "base/style.h"
#include "report/time_text.h"
#include "web/proofs.h"
#include "web/workspaces.h"

/* --- all of them ------------------------------------------------------------------------------------------------------ */

/* When it began, which is its name. */
static const char *age_of(struct visit *visit, const char *name)
{
    struct tm parts = {0};
    if (!strptime(name, "%Y%m%d-%H%M%S", &parts))
        return "";
    return age_text(&visit->arena, (struct timespec){.tv_sec = timegm(&parts)});
}

static void add_state(struct html *page, const struct kept_proof *proof)
{
    bool is_done = proof->has_ended && *proof->summary;
    const char *sign = proof->is_running ? "●" : !is_done ? "✗" : proof->status ? "▲" : "✓";
    const char *word = proof->is_running ? "running"
                       : !is_done        ? "not finished"
                       : proof->status   ? "not every wall held"
                                         : "every wall held";
    html_add(page, "<span class=\"state %s\"><span aria-hidden=true>%s</span> %s</span>",
             proof->is_running           ? "running"
             : !is_done || proof->status ? "killed"
                                         : "done",
             sign, word);
}

static void add_kept(struct visit *visit)
{
    struct html *page = &visit->page;
    const struct style style = {.home = visit->web->place->home};
    auto_vec proof_list proofs = {0};
    proofs_find(visit->web->place, &visit->arena, &proofs);
    html_add(page, "<h2 id=kept>Kept proofs</h2>");
    if (!proofs.count) {
        html_add(page, "<p class=empty>None yet.</p>");
        return;
    }
    html_add(
        page,
        "<div class=scroll tabindex=0 role=region aria-labelledby=kept><table><thead><tr><th scope=col>Result<th scope=col>Began<th scope=col>Program and workspace"
        "<th scope=col>Sum<th scope=col>Report</tr></thead><tbody>\n");
    vec_each (const struct kept_proof, proof, &proofs) {
        const char *url = url_part(&visit->arena, proof->name);
        html_add(page, "<tr><td>");
        add_state(page, proof);
        html_add(
            page,
            "</td><th scope=row><a href=\"/proof/%s\">%s</a></th><td class=mono>%s<br><span class=dim>%s</span></td><td>%s</td><td>",
            url, age_of(visit, proof->name), proof->program,
            style_path(&style, &visit->arena, proof->workspace), proof->summary);
        if (proof->has_report)
            html_add(page, "<a href=\"/proof/%s/report\">Save<span class=off> the report of %s</span></a>",
                     url, proof->name);
        html_add(page, "</td></tr>\n");
    }
    html_add(page, "</tbody></table></div><p class=dim>The latest %zu are kept.</p>\n", (size_t)MOST_PROOFS);
}

void prove_page(struct visit *visit)
{
    struct html *page = &visit->page;
    auto_vec act_words list = {0};
    workspaces_find(visit, &list);
    page_begin(visit, "Proof", "/prove");
    html_add(
        page,
        "<h1>Proof</h1><p class=lead>About 280 attacks on the sandbox that a program would get here, each tried without a "
        "sandbox first. This takes some seconds.</p><form class=filter method=post action=\"/prove\">");
    page_add_form_token(visit);
    workspaces_add_choice(visit, &list, workspace_named(visit, &list), program_named(visit));
    html_add(page, "<button class=main>Run the attacks</button></form>\n");
    add_kept(visit);
    page_end(visit);
}

void prove_run(struct visit *visit)
{
    auto_vec act_words list = {0};
    workspaces_find(visit, &list);
    if (!visit_act(visit, ACT_PROVE, NULL,
                   (const char *[]){workspace_named(visit, &list), program_named(visit), NULL}))
        return;
    if (visit->done_status == 0) {
        visit_go(visit, arena_printf(&visit->arena, "/proof/%s",
                                     url_part(&visit->arena, buf_text(&visit->done_text))));
        return;
    }
    page_begin(visit, "Proof", "/prove");
    html_add(&visit->page, "<p class=crumbs><a href=\"/prove\">Proof</a></p><h1>Proof</h1>\n");
    page_add_outcome(visit);
    page_end(visit);
}

/* --- one of them ------------------------------------------------------------------------------------------------------ */

static void add_head(struct visit *visit, const struct kept_proof *proof)
{
    struct html *page = &visit->page;
    const struct style style = {.home = visit->web->place->home};
    bool is_done = proof->has_ended && *proof->summary, is_good = is_done && !proof->status;
    html_add(page, "<p class=crumbs><a href=\"/prove\">Proof</a></p><div class=head><h1>%s</h1>",
             proof->program);
    add_state(page, proof);
    html_add(page, "</div><p class=lead>%s, %s</p>\n", style_path(&style, &visit->arena, proof->workspace),
             age_of(visit, proof->name));
    if (proof->is_running) {
        html_add(
            page,
            "<p class=live role=status>Attacking. Each result appears here: <span data-count=rows></span></p>"
            "<noscript><p><a href=\"\">Load the page again</a> for later results.</p></noscript>\n");
        return;
    }
    html_add(page, "<div class=\"box %s\" role=status><h2>%s</h2><p>%s</p></div>\n",
             is_good ? "good" : "warn",
             is_good   ? "✓ Every wall held"
             : is_done ? "▲ Not every wall held"
                       : "▲ The proof did not finish",
             is_done ? proof->summary : "What was not tried is not checked.");
    if (proof->has_report)
        html_add(page, "<p><a class=button href=\"/proof/%s/report\">Save the report</a></p>\n",
                 url_part(&visit->arena, proof->name));
}

static void add_lines(struct visit *visit, const struct kept_proof *proof, const struct buf *lines)
{
    struct html *page = &visit->page;
    const char *line = buf_text(lines), *last = line + lines->size, *end;
    auto_html struct html rows = {0};
    for (; (end = memchr(line, '\n', (size_t)(last - line))); line = end + 1) {
        proof_add_row(&rows, &visit->arena, line, (size_t)(end - line));
        html_add(&rows, "\n");
    }
    html_add(
        page,
        "<label class=filter>Filter <input type=search id=filter aria-controls=rows></label>"
        "<div class=scroll tabindex=0 role=region aria-label=Results><table><thead><tr><th scope=col>Result<th scope=col>Promise"
        "<th scope=col>What was tried<th scope=col>What happened</tr></thead>");
    if (proof->is_running)
        html_add(page, "<tbody id=rows data-events=\"/proof/%s/events?from=%zu\">",
                 url_part(&visit->arena, proof->name), (size_t)(line - buf_text(lines)));
    else
        html_add(page, "<tbody id=rows>");
    html_join(page, &rows);
    html_add(page, "</tbody></table></div>\n");
}

void proof_page(struct visit *visit, const char *name)
{
    struct kept_proof proof;
    auto_buf struct buf lines = {0};
    if (!proof_look(visit->web->place, &visit->arena, name, &lines, &proof)) {
        visit_say(visit, MHD_HTTP_NOT_FOUND, "Not found", "There is no such proof.");
        return;
    }
    page_begin(visit, "Proof", "/prove");
    add_head(visit, &proof);
    add_lines(visit, &proof, &lines);
    page_end(visit);
}

void proof_report(struct visit *visit, const char *name)
{
    enum { REPORT_LARGEST = 8 * 1024 * 1024 };
    auto_fd int folder_fd = proof_open(visit->web->place, name);
    auto_fd int fd =
        folder_fd < 0 ? -1 : openat(folder_fd, PROOF_REPORT, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0 || buf_read(&visit->page.out, fd, REPORT_LARGEST) < 0 ||
        visit->page.out.size >= REPORT_LARGEST) {
        visit_say(visit, MHD_HTTP_NOT_FOUND, "Not found", "There is no report.");
        return;
    }
    visit->status = MHD_HTTP_OK;
    visit->type = "application/octet-stream";
    visit->saved_as = arena_printf(&visit->arena, "bawn-proof-%.15s.html", name);
}
