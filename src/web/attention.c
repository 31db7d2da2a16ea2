/* What of a session a person should look at first. */
#include "web/session_rows.h"

#include "base/style.h"
#include "web/confirm.h"
#include "web/review_items.h"

enum { NAMES_SHOWN = 5 };

static bool add_finding(struct visit *visit, struct html *page, const struct session_facts *facts,
                        const struct finding *finding)
{
    const struct style style = {.home = visit->web->place->home};
    auto_vec text_list names = {0};
    facts_names(facts, finding, &names);
    if (!names.count)
        return false;
    html_add(page, "<li>%s%zu %s", names.count == FACTS_MOST_NAMES ? "at least " : "", names.count,
             names.count == 1 ? finding->one : finding->many);
    for (size_t i = 0; i < names.count && i < NAMES_SHOWN && *names.at[i]; i++)
        html_add(page, "%s<code>%s</code>", i ? ", " : ": ", style_path(&style, &visit->arena, names.at[i]));
    if (names.count > NAMES_SHOWN)
        html_add(page, " and %zu more", names.count - NAMES_SHOWN);
    html_add(page, ".</li>\n");
    return true;
}

/* What cannot be known from this journal must not look like nothing. */
static bool add_not_checked(struct html *page, const struct session_facts *facts)
{
    uint64_t lost = facts_lost(facts);
    if (!facts->is_whole)
        html_add(page, "<li class=bad>The journal is damaged: events that it lost are not checked. %s</li>\n",
                 facts->integrity);
    if (facts->is_cut)
        html_add(page, "<li class=bad>The journal is too large: its end is not checked.</li>\n");
    if (lost)
        html_add(page, "<li class=bad>%llu events were not recorded, and are not checked.</li>\n",
                 (unsigned long long)lost);
    return !facts->is_whole || facts->is_cut || lost;
}

/* What waits, as `bawn review --json` lists it: the actor was asked for it. */
static bool add_waiting(struct visit *visit, struct html *page, const struct listed *listed)
{
    struct review_list list;
    size_t risky = 0, conflicts = 0;
    if (!session_waits(listed) || visit->done_status != 0 || visit->is_cut ||
        !review_list_parse(&visit->arena, buf_text(&visit->done_text), visit->done_text.size, &list))
        return false;
    vec_each (const struct review_item, item, &list.items) {
        risky += item->reasons.count > 0;
        conflicts += item->conflict != NULL;
    }
    size_t count = list.items.count;
    if (count)
        html_add(page, "<li><a href=\"%s\">%zu change%s</a> wait%s for your review",
                 session_address(visit, listed->name, "/review"), count, count == 1 ? "" : "s",
                 count == 1 ? "s" : "");
    if (risky)
        html_add(page, ", <span class=mark>▲ %zu could run on your machine</span>", risky);
    if (conflicts)
        html_add(page, ", <span class=bad>▲ %zu conflict%s</span>", conflicts, conflicts == 1 ? "" : "s");
    if (count)
        html_add(page, ".</li>\n");
    if (list.held.count)
        html_add(page, "<li>%zu file%s cannot be applied.</li>\n", list.held.count,
                 list.held.count == 1 ? "" : "s");
    bool is_any = count || list.held.count;
    review_list_free(&list);
    return is_any;
}

static bool add_open_questions(struct html *page, const struct listed *listed)
{
    size_t count = listed->is_running && listed->glance.asked > listed->glance.answered
                       ? listed->glance.asked - listed->glance.answered
                       : 0;
    if (count)
        html_add(page, "<li><a href=\"/requests\">%zu question%s</a> wait%s for an answer.</li>\n", count,
                 count == 1 ? "" : "s", count == 1 ? "s" : "");
    return count;
}

void attention_add(struct visit *visit, const struct session_facts *facts, const struct listed *listed)
{
    struct html *page = &visit->page;
    auto_html struct html list = {0};
    bool is_running = listed->is_running, is_any = add_open_questions(&list, listed);
    is_any |= add_waiting(visit, &list, listed);
    is_any |= add_not_checked(&list, facts);
    for (size_t i = 0; i < finding_count; i++)
        is_any |= add_finding(visit, &list, facts, &findings[i]);
    html_add(page, "<section class=\"box %s\" aria-labelledby=attention><h2 id=attention>%s</h2>",
             is_any ? "warn" : "good", is_any ? "▲ Needs attention" : "✓ Nothing needs attention");
    if (is_any) {
        html_add(page, "<ul>");
        html_join(page, &list);
        html_add(page, "</ul>");
    } else {
        html_add(
            page,
            "<p>%sno decoy was opened, no host was refused, no secret was in a request, no file was set aside, and nothing waits for you.</p>",
            is_running ? "Until now " : "In this session ");
    }
    html_add(page, "</section>\n");
}
