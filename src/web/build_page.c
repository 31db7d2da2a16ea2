/*
 * The builder: lines for the user's own policy or for a repository's .bawn, from choices. The lines are
 * checked; the page shows how the file changes, and what each line gives away. Then they are saved, if the
 * file is still the one that was shown.
 */
#include <string.h>

#include "base/json.h"
#include "base/text.h"
#include "web/changes.h"
#include "web/workspaces.h"

/* --- the choices -------------------------------------------------------------------------------------------------------- */

struct profile_shown {
    const char *name, *about;
};
typedef VEC(struct profile_shown) profiles_shown;

static void take_profiles(struct visit *visit, profiles_shown *ret_profiles)
{
    struct json_value list, item, key, value;
    if (visit->done_status != 0 || !json_read(buf_text(&visit->done_text), visit->done_text.size, &list))
        return;
    for (size_t at = 0; json_next_item(list, &at, &item);) {
        struct profile_shown profile = {"", ""};
        for (size_t in = 0; json_next_member(item, &in, &key, &value);) {
            const char *text = json_text(&visit->arena, value);
            if (text && json_is(key, "name"))
                profile.name = text;
            else if (text && json_is(key, "about"))
                profile.about = text;
        }
        vec_push(ret_profiles, profile);
    }
}

/* The profiles of one kind: "net/", "toolchain/" … */
static void add_profiles(struct html *page, const profiles_shown *profiles, const char *kind,
                         const char *legend)
{
    html_add(page, "<details><summary>%s</summary><fieldset><legend class=off>%s</legend>", legend, legend);
    vec_each (const struct profile_shown, profile, profiles) {
        if (text_starts_with(profile->name, kind))
            html_add(
                page,
                "<label><input type=checkbox name=use value=\"%s\"> <span class=mono>%s</span> <span class=dim>%s</span></label><br>",
                profile->name, profile->name, profile->about);
    }
    html_add(page, "</fieldset></details>\n");
}

/* Agents choose their own profile by their name: there is no line for one. */
static void add_agents(struct html *page, const profiles_shown *profiles)
{
    static const char kind[] = "agent/", usual[] = "agent/claude";
    html_add(page, "<p><label>Agent <select name=agent>");
    vec_each (const struct profile_shown, profile, profiles) {
        if (!text_starts_with(profile->name, kind))
            continue;
        if (strcmp(profile->name, usual) == 0)
            html_add(page, "<option value=\"%s\" selected>%s</option>", profile->name + strlen(kind),
                     profile->name + strlen(kind));
        else
            html_add(page, "<option value=\"%s\">%s</option>", profile->name + strlen(kind),
                     profile->name + strlen(kind));
    }
    html_add(page, "</select></label></p>\n");
}

static void add_texts(struct html *page)
{
    static const struct {
        const char *name, *label, *example;
    } texts[] = {{"read", "Files and folders that it may read, one per line", "~/datasets"},
                 {"write", "Files and folders that it may write, one per line", "~/notes/"},
                 {"hide", "Files and folders that it must not see, one per line", "secrets/"},
                 {"connect", "Hosts that it may reach, one per line", "api.example.com:443"},
                 {"refuse", "Hosts that it must not reach, one per line", "ads.example.com"},
                 {"env", "Variables that it may see, one per line", "EDITOR"},
                 {"limit", "Limits, one per line", "memory=8G"}};
    for (size_t i = 0; i < array_len(texts); i++)
        html_add(page,
                 "<p><label>%s<br><textarea name=\"%s\" rows=2 placeholder=\"%s\"></textarea></label></p>\n",
                 texts[i].label, texts[i].name, texts[i].example);
}

/* How a run treats the workspace is said by a flag, and not by a line. */
static const struct {
    const char *name, *flag, *label, *gives;
} modes[] = {
    {"live", "", "live: it writes your files",
     "it writes the files of the workspace at once; `bawn undo` takes that back"},
    {"review", "--review ", "review: you decide about its changes", "nothing is written before you apply it"},
    {"discard", "--discard ", "discard: its changes are thrown away", "nothing is written"},
    {"read-only", "--read-only ", "read-only: it cannot write", "nothing is written"},
};

static void add_modes(struct html *page)
{
    html_add(page, "<p><label>Changes <select name=mode>");
    for (size_t i = 0; i < array_len(modes); i++)
        html_add(page, "<option value=\"%s\">%s</option>", modes[i].name, modes[i].label);
    html_add(
        page,
        "</select></label></p>\n<p><label>Network <select name=net><option value=\"\">as it is</option><option value=off>off: none</option>"
        "<option value=allow>allow: only listed hosts</option><option value=open>open: every host</option></select></label></p>\n"
        "<p><label>Secrets <select name=secrets><option value=\"\">as it is</option><option value=outside>outside: never inside</option>"
        "<option value=inside>inside: as variables</option></select></label></p>\n"
        "<p><label><input type=checkbox name=require value=namespaces> refuse a run without namespaces</label></p>\n");
}

void build_page(struct visit *visit)
{
    struct html *page = &visit->page;
    auto_vec act_words list = {0};
    auto_vec profiles_shown profiles = {0};
    if (!visit_act(visit, ACT_PROFILES, NULL, (const char *[]){NULL}))
        return;
    workspaces_find(visit, &list);
    take_profiles(visit, &profiles);
    page_begin(visit, "Policy builder", "/policy");
    html_add(page, "<p class=crumbs><a href=\"/policy\">Policy</a></p><h1>Policy builder</h1>"
                   "<p class=lead>You see each line and what it gives away before anything is saved.</p>"
                   "<form class=build method=post action=\"/policy/build\">");
    page_add_form_token(visit);
    html_add(
        page,
        "<fieldset><legend>For</legend><p><label>Save to <select name=where><option value=user>your own policy: every workspace</option>"
        "<option value=repository>.bawn of the repository: everybody who trusts it</option></select></label></p><p>");
    workspaces_add_list(visit, &list, workspace_named(visit, &list));
    html_add(page, "</p>");
    add_agents(page, &profiles);
    html_add(page, "</fieldset><fieldset><legend>Modes</legend>");
    add_modes(page);
    html_add(page, "</fieldset><fieldset><legend>Profiles</legend>");
    add_profiles(page, &profiles, "toolchain/", "Toolchains");
    add_profiles(page, &profiles, "net/", "Services on the network");
    add_profiles(page, &profiles, "cache/", "Caches of package managers");
    add_profiles(page, &profiles, "guard/", "Guards");
    html_add(page, "</fieldset><fieldset><legend>Folders, hosts, variables</legend>");
    add_texts(page);
    html_add(page, "</fieldset><button class=main>Show the lines</button></form>\n");
    page_end(visit);
}

/* --- the lines ---------------------------------------------------------------------------------------------------------- */

static bool is_verb(const char *name)
{
    static const char *const verbs[] = {"use", "read", "write",   "hide",  "connect", "refuse",
                                        "env", "net",  "secrets", "limit", "require"};
    return text_is_among(name, verbs, array_len(verbs));
}

/* One line for each line of a field, in the order of the form. */
static void compose(const struct visit *visit, struct buf *out)
{
    vec_each (const struct form_field, field, &visit->form) {
        if (!is_verb(field->name))
            continue;
        for (const char *at = field->value; *at; at += strspn(at, "\r\n")) {
            size_t size = strcspn(at, "\r\n"), start = strspn(at, " \t");
            while (size > start && (at[size - 1] == ' ' || at[size - 1] == '\t'))
                size--;
            if (start < size)
                buf_printf(out, "%s%s %.*s", out->size ? "\n" : "", field->name, (int)(size - start),
                           at + start);
            at += strcspn(at, "\r\n");
        }
    }
}

/* What is confirmed must be what was shown. */
static bool is_shown_as_it_is(const struct buf *lines)
{
    auto_buf struct buf shown = {0};
    for (const char *line = buf_text(lines), *end; *line; line = *end ? end + 1 : end) {
        end = strchrnul(line, '\n');
        text_add_printable(&shown, line, (size_t)(end - line));
        if (*end)
            buf_add_char(&shown, '\n');
    }
    return strcmp(buf_text(&shown), buf_text(lines)) == 0;
}

/* The draft, by the names of the JSON of ACT_DRAFT (saver.c). */
struct draft {
    const char *path, *state, *before, *after, *agent, *command;
    bool is_new, is_repository, is_trusted, is_same;
    struct json_value lines;
};

static bool take_draft(struct visit *visit, struct draft *ret_draft)
{
    struct json_value object, key, value;
    struct draft draft = {.path = "", .state = "", .before = "", .after = "", .agent = "", .command = ""};
    const struct {
        const char *name;
        const char **text;
    } texts[] = {{"path", &draft.path},   {"state", &draft.state}, {"before", &draft.before},
                 {"after", &draft.after}, {"agent", &draft.agent}, {"command", &draft.command}};
    if (!json_read(buf_text(&visit->done_text), visit->done_text.size, &object))
        return false;
    for (size_t at = 0; json_next_member(object, &at, &key, &value);) {
        for (size_t i = 0; i < array_len(texts); i++) {
            const char *text = json_is(key, texts[i].name) ? json_text(&visit->arena, value) : NULL;
            *texts[i].text = text ? text : *texts[i].text;
        }
        draft.is_new |= json_is(key, "new");
        draft.is_repository |= json_is(key, "repository");
        draft.is_trusted |= json_is(key, "trusted");
        draft.is_same |= json_is(key, "same");
        if (json_is(key, "lines"))
            draft.lines = value;
    }
    *ret_draft = draft;
    return *draft.state;
}

static void add_difference(struct visit *visit, const struct draft *draft)
{
    auto_buf struct buf before = {0}, after = {0};
    auto_hunks struct hunks hunks = {0};
    const struct diff_view view = {.more = "/policy/build?"};
    buf_add_str(&before, draft->before);
    buf_add_str(&after, draft->after);
    hunks_find(&before, &after, &hunks);
    html_add(&visit->page, "<h2 id=change>%s <span class=mono>%s</span></h2>",
             draft->is_new ? "A new file," : "The change of", draft->path);
    if (draft->is_same)
        html_add(&visit->page, "<p class=empty>The file has these lines already.</p>");
    html_add(&visit->page, "<div class=scroll tabindex=0 role=region aria-labelledby=change>");
    if (hunks.list.count)
        diff_add(&visit->page, &visit->arena, &hunks, &view);
    html_add(&visit->page, "</div>\n");
}

static void add_gifts(struct visit *visit, const struct draft *draft)
{
    struct html *page = &visit->page;
    struct json_value item, key, value;
    html_add(
        page,
        "<h2 id=gives>The lines one by one</h2><div class=scroll tabindex=0 role=region aria-labelledby=gives><table><thead><tr>"
        "<th scope=col>Line<th scope=col>What it gives away</tr></thead><tbody>\n");
    for (size_t at = 0; json_next_item(draft->lines, &at, &item);) {
        const char *line = "", *gives = "";
        for (size_t in = 0; json_next_member(item, &in, &key, &value);) {
            const char *text = json_text(&visit->arena, value);
            if (text)
                *(json_is(key, "line") ? &line : &gives) = text;
        }
        html_add(page, "<tr><th scope=row class=mono>%s</th><td>%s</td></tr>\n", line, gives);
    }
    html_add(page, "</tbody></table></div>\n");
}

/* The agent and the mode are no lines: they are how the run is started. */
static void add_start(struct visit *visit, const struct draft *draft)
{
    const char *mode = visit_field(visit, "mode");
    size_t chosen = 0;
    for (size_t i = 0; i < array_len(modes); i++)
        chosen = strcmp(modes[i].name, mode) == 0 ? i : chosen;
    html_add(&visit->page,
             "<h2>How to start it</h2><p><code>bawn %s%s</code></p><ul><li>The agent&#39;s profile: %s. "
             "<a href=\"/policy?agent=%s\">All its lines.</a></li><li>Changes: %s.</li></ul>\n",
             modes[chosen].flag, draft->command, draft->agent, url_part(&visit->arena, draft->command),
             modes[chosen].gives);
}

static void add_trust(struct html *page, const struct draft *draft)
{
    if (!draft->is_repository)
        html_add(page, "<p>They apply to each of your sandboxes from the next start on.</p>");
    else if (draft->is_trusted)
        html_add(
            page,
            "<p>The file is trusted. It stays trusted with these lines, because you have seen them.</p>");
    else
        html_add(
            page,
            "<p>Lines that take access away apply at once, the others after <code>bawn trust</code>.</p>");
}

/* The form that saves has the lines one by one: a field of a page has no newline. */
static void add_lines(struct visit *visit, const struct buf *lines)
{
    for (const char *line = buf_text(lines), *end; *line; line = *end ? end + 1 : end) {
        end = strchrnul(line, '\n');
        size_t verb = strcspn(line, " ");
        html_add(&visit->page, "<input type=hidden name=\"%s\" value=\"%s\">",
                 arena_copy(&visit->arena, line, verb),
                 arena_copy(&visit->arena, line + verb + 1, (size_t)(end - line) - verb - 1));
    }
}

static void preview(struct visit *visit, const struct draft *draft, const struct buf *lines)
{
    static const char *const kept[] = {"where", "workspace", "agent", "mode"};
    struct html *page = &visit->page;
    add_difference(visit, draft);
    add_gifts(visit, draft);
    add_start(visit, draft);
    html_add(page, "<form method=post action=\"/policy/build\">");
    add_trust(page, draft);
    page_add_form_token(visit);
    for (size_t i = 0; i < array_len(kept); i++)
        html_add(page, "<input type=hidden name=\"%s\" value=\"%s\">", kept[i], visit_field(visit, kept[i]));
    add_lines(visit, lines);
    html_add(page, "<input type=hidden name=state value=\"%s\"><p>", draft->state);
    if (!draft->is_same)
        html_add(page, "<button class=main name=confirm value=yes>Save</button> ");
    html_add(page, "<a class=button href=\"/policy/build\">Begin again</a></p></form>\n");
}

/* Checks the lines, then makes a draft, or saves what a draft has shown. Returns false while the actor is at work. */
static bool carry_out(struct visit *visit, const char *lines, bool is_confirmed)
{
    auto_vec act_words list = {0};
    workspaces_find(visit, &list);
    const char *workspace = workspace_named(visit, &list), *agent = program_named(visit),
               *where = visit_field(visit, "where");
    where = *where ? where : "user";
    if (visit->stage == 0) {
        if (!visit_act(visit, ACT_CHECK, NULL, (const char *[]){workspace, agent, lines, NULL}))
            return false;
        if (visit->done_status != 0)
            return true;
        visit_act_again(visit);
    }
    return is_confirmed
               ? visit_act(
                     visit, ACT_SAVE, NULL,
                     (const char *[]){workspace, where, agent, visit_field(visit, "state"), lines, NULL})
               : visit_act(visit, ACT_DRAFT, NULL, (const char *[]){workspace, where, agent, lines, NULL});
}

void build_save(struct visit *visit)
{
    auto_buf struct buf lines = {0};
    struct draft draft;
    bool is_confirmed = strcmp(visit_field(visit, "confirm"), "yes") == 0;
    compose(visit, &lines);
    if (!lines.size) {
        visit_go(visit, "/policy/build");
        return;
    }
    if (!is_shown_as_it_is(&lines)) {
        visit_say(visit, MHD_HTTP_BAD_REQUEST, "Not taken",
                  "A line has characters that a page cannot show as they are.");
        return;
    }
    if (!carry_out(visit, buf_text(&lines), is_confirmed))
        return;
    bool is_good = visit->stage == 1 && visit->done_status == 0;
    page_begin(visit, "Policy builder", "/policy");
    html_add(
        &visit->page,
        "<p class=crumbs><a href=\"/policy\">Policy</a> › <a href=\"/policy/build\">Build</a></p><h1>%s</h1>\n",
        is_good && is_confirmed ? "Saved" : "Check the lines");
    if (is_good && !is_confirmed && take_draft(visit, &draft))
        preview(visit, &draft, &lines);
    else
        page_add_outcome(visit);
    page_end(visit);
}
