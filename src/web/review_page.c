/* A review: the changed files with the gate's marks, a choice for each, and the difference of each on request. */
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/path.h"
#include "base/style.h"
#include "report/time_text.h"
#include "web/changes.h"
#include "web/review_items.h"

static void add_crumbs(struct visit *visit, const char *session, const char *title)
{
    html_add(&visit->page,
             "<p class=crumbs><a href=\"/\">Sessions</a> › <a href=\"/session/%s\">%s</a></p><h1>%s</h1>\n",
             url_part(&visit->arena, session), session, title);
}

/* --- one item --------------------------------------------------------------------------------------------------------- */

static const char *word_of_letter(const char *letter)
{
    switch (*letter) {
    case 'A':
        return "new";
    case 'D':
        return "deleted";
    case 'R':
        return "renamed";
    case 'T':
        return "other type";
    default:
        return "changed";
    }
}

/* The rest of the form may decide about an item `a`; what is risky or a conflict, `r`, needs an answer of its own. */
static void add_choice(struct html *page, const struct review_list *list, const struct review_item *item)
{
    bool is_own = item->reasons.count || item->conflict;
    html_add(
        page,
        "<label class=choice><span class=off>Decision about %s</span><select name=\"%s%zu\"><option value=\"\">%s</option>",
        item->path, is_own ? "r" : "a", item->id,
        is_own && !list->is_live ? "leave waiting"
        : is_own                 ? "keep"
                                 : "as the others");
    if (item->conflict) {
        if (item->can_merge)
            html_add(page, "<option value=merge>merge both</option>");
        html_add(page,
                 "<option value=overwrite>overwrite yours</option><option value=discard>keep yours</option>");
    } else if (list->is_live) {
        html_add(page, "<option value=apply>keep</option><option value=discard>take back</option>");
    } else {
        html_add(page, "<option value=apply>apply</option><option value=leave>leave waiting</option>"
                       "<option value=discard>discard</option>");
    }
    html_add(page, "</select></label>");
}

static void add_sides(struct html *page, const struct review_item *item)
{
    const struct form_field sides[] = {
        {"Yours", item->yours}, {"Before both", item->base}, {"The session's", item->session}};
    if (!item->yours || !item->base || !item->session)
        return;
    html_add(page, "<div class=three>");
    for (size_t i = 0; i < array_len(sides); i++) {
        html_add(page, "<section><h3>%s</h3><pre tabindex=0>", sides[i].name);
        for (const char *line = sides[i].value, *end; *line; line = *end ? end + 1 : end) {
            end = strchrnul(line, '\n');
            html_add_bytes(page, line, (size_t)(end - line));
            html_add(page, "\n");
        }
        html_add(page, "</pre></section>");
    }
    html_add(page, "</div>");
}

static const char *difference_address(struct visit *visit, const char *session,
                                      const struct review_list *list, size_t id, bool is_side_by_side)
{
    return arena_printf(&visit->arena, "/session/%s/file?id=%zu%s%s", url_part(&visit->arena, session), id,
                        is_side_by_side ? "&view=side" : "", list->is_live ? "&live=1" : "");
}

static void add_details(struct visit *visit, const char *address, const struct review_member *member,
                        bool is_one_of_many)
{
    struct html *page = &visit->page;
    html_add(page, "<details data-src=\"%s\"><summary>Difference", address);
    if (is_one_of_many)
        html_add(page, " of <a class=mono href=\"%s\">%s</a>", address, member->path);
    else
        html_add(page, "<span class=off> of %s</span>", member->path);
    html_add(page, "</summary><div class=scroll></div></details>");
}

static void add_item(struct visit *visit, const char *session, const struct review_list *list,
                     const struct review_item *item, bool is_side_by_side)
{
    struct html *page = &visit->page;
    const struct review_member own = {item->id, item->path};
    const char *address = difference_address(visit, session, list, item->id, is_side_by_side);
    html_add(page, "<li class=item id=\"i%zu\"><div class=line>", item->id);
    add_choice(page, list, item);
    html_add(page, "<span class=\"letter %s\">%s</span> ", item->letter,
             item->is_repository ? "repository" : word_of_letter(item->letter));
    html_add(page, "<a class=\"mono path\" href=\"%s\">%s</a>", address, item->path);
    if (item->renamed_from)
        html_add(page, " <span class=dim>from %s</span>", item->renamed_from);
    if (item->changes > 1 && !item->renamed_from)
        html_add(page, " <span class=dim>%zu files</span>", item->changes);
    for (size_t i = 0; i < item->reasons.count; i++)
        html_add(page, " <span class=mark>▲ %s</span>", item->reasons.at[i]);
    html_add(page, "</div>");
    if (item->conflict) {
        html_add(page, "<p class=bad>▲ Conflict: %s</p>", item->conflict);
        add_sides(page, item);
    }
    if (!item->is_repository && !item->members.count)
        add_details(visit, address, &own, false);
    vec_each (const struct review_member, member, &item->members)
        add_details(visit, difference_address(visit, session, list, member->id, is_side_by_side), member,
                    true);
    html_add(page, "</li>\n");
}

/* --- the page --------------------------------------------------------------------------------------------------------- */

static size_t directory_size(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? (size_t)(slash - path) : 0;
}

/* A heading for each directory, and its files below it. */
static void add_tree(struct visit *visit, const char *session, const struct review_list *list,
                     bool is_side_by_side)
{
    struct html *page = &visit->page;
    const char *directory = NULL;
    size_t size = 0;
    vec_each (const struct review_item, item, &list->items) {
        size_t own = directory_size(item->path);
        if (!directory || own != size || strncmp(directory, item->path, own) != 0) {
            if (directory)
                html_add(page, "</ul>\n");
            directory = item->path;
            size = own;
            html_add(page, "<h2 class=\"mono directory\">%s/</h2><ul class=items>\n",
                     own ? arena_copy(&visit->arena, item->path, own) : ".");
        }
        add_item(visit, session, list, item, is_side_by_side);
    }
    if (directory)
        html_add(page, "</ul>\n");
}

static void add_rest(struct html *page, const struct review_list *list)
{
    html_add(page, "<div class=rest><label>All others <select name=rest>");
    if (list->is_live)
        html_add(page, "<option value=leave>keep</option><option value=discard>take back</option>");
    else
        html_add(page, "<option value=leave>leave waiting</option><option value=apply>apply</option>"
                       "<option value=discard>discard</option>");
    html_add(
        page,
        "</select></label> <button class=main>Continue</button> <span class=dim>You confirm on the next page.</span></div>");
}

/* Whose changes these are: the agent, the command, and when. */
static void add_run(struct visit *visit, const char *session)
{
    enum { COMMAND_SHOWN = 500 };
    struct html *page = &visit->page;
    const struct style style = {.home = visit->web->place->home};
    struct listed listed;
    if (!session_look(visit, session, &listed))
        return;
    const char *agent = listed.glance.agent ? path_name(listed.glance.agent) : "";
    const char *command = listed.glance.arguments ? listed.glance.arguments : listed.glance.command;
    command = command ? command : "";
    size_t size = strlen(command), shown = html_piece(command, size, COMMAND_SHOWN);
    html_add(page, "<p class=run>%s%s<code>%s%s</code> in <span class=mono>%s</span>, began %s.</p>\n", agent,
             *agent ? ": " : "", arena_copy(&visit->arena, command, shown), shown < size ? " …" : "",
             style_path(&style, &visit->arena, listed_workspace(&listed)),
             age_text(&visit->arena, listed_began(&listed)));
}

static void show_list(struct visit *visit, const char *session, const struct review_list *list)
{
    struct html *page = &visit->page;
    const char *url = url_part(&visit->arena, session);
    bool is_side_by_side = strcmp(visit_query(visit, "view"), "side") == 0;
    size_t risky = 0, conflicts = 0;
    vec_each (const struct review_item, item, &list->items) {
        risky += item->reasons.count > 0;
        conflicts += item->conflict != NULL;
    }
    add_crumbs(visit, session, "Review");
    add_run(visit, session);
    html_add(page, "<p class=lead>%zu to decide; %zu could run on your machine; %zu conflict%s.</p>\n",
             list->items.count, risky, conflicts, conflicts == 1 ? "" : "s");
    html_add(page, "<nav class=views aria-label=\"How differences are shown\">");
    html_add(page, "<a href=\"/session/%s/review\" class=\"%s\">Unified</a> ", url,
             is_side_by_side ? "other" : "here");
    html_add(page, "<a href=\"/session/%s/review?view=side\" class=\"%s\">Side by side</a></nav>\n", url,
             is_side_by_side ? "here" : "other");
    vec_each (const struct form_field, held, &list->held)
        html_add(page, "<p class=bad>▲ Cannot be applied: <code>%s</code>: %s</p>\n", held->name,
                 held->value);
    if (!list->items.count) {
        html_add(page, "<p class=empty>Nothing is left to decide.</p>");
        return;
    }
    html_add(
        page,
        "<div class=filter><label>Filter by path <input type=search id=filter aria-controls=items></label>"
        "<button type=button id=open-all hidden>Open all differences</button>"
        "<a href=\"/session/%s/patch\" download>Save as a patch</a></div>",
        url);
    html_add(page, "<form method=post action=\"/session/%s/review\" id=items>", url);
    page_add_form_token(visit);
    html_add(page, "<input type=hidden name=state value=\"%s\">", list->state);
    add_rest(page, list);
    add_tree(visit, session, list, is_side_by_side);
    html_add(page, "</form>\n");
}

void review_page(struct visit *visit, const char *session)
{
    struct review_list list;
    if (!visit_act(visit, ACT_REVIEW, NULL, (const char *[]){session, NULL}))
        return;
    bool is_list =
        visit->done_status == 0 && !visit->is_cut &&
        review_list_parse(&visit->arena, buf_text(&visit->done_text), visit->done_text.size, &list);
    page_begin(visit, arena_printf(&visit->arena, "Review %s", session), "/");
    if (is_list) {
        show_list(visit, session, &list);
        review_list_free(&list);
    } else {
        add_crumbs(visit, session, "Review");
        page_add_outcome(visit);
    }
    page_end(visit);
}

/* --- one file --------------------------------------------------------------------------------------------------------- */

static const char *image_type(const struct buf *bytes)
{
    static const struct {
        const char *start;
        size_t size;
        const char *type;
    } kinds[] = {
        {"\x89PNG\r\n\x1a\n", 8, "image/png"}, {"\xff\xd8\xff", 3, "image/jpeg"}, {"GIF8", 4, "image/gif"}};
    for (size_t i = 0; i < array_len(kinds); i++) {
        if (bytes->size > kinds[i].size && memcmp(bytes->bytes, kinds[i].start, kinds[i].size) == 0)
            return kinds[i].type;
    }
    bool is_webp =
        bytes->size > 12 && memcmp(bytes->bytes, "RIFF", 4) == 0 && memcmp(bytes->bytes + 8, "WEBP", 4) == 0;
    return is_webp ? "image/webp" : NULL;
}

/* Returns the type of a picture in the content of an entry, or NULL. */
static const char *read_image(struct changes *changes, const struct entry *entry, struct buf *ret_bytes)
{
    enum { IMAGE_LARGEST = 8 * 1024 * 1024 };
    struct err ignored;
    if (!entry || entry->content != CONTENT_STORED ||
        store_read(&changes->store, &entry->blob, IMAGE_LARGEST, ret_bytes, &ignored) != 1)
        return NULL;
    return image_type(ret_bytes);
}

void review_image(struct visit *visit, const char *session)
{
    auto_changes struct changes changes = CHANGES_NONE;
    const struct change *change =
        changes_open(visit, session, &changes) ? changes_named(visit, &changes) : NULL;
    bool is_before = strcmp(visit_query(visit, "side"), "before") == 0;
    visit->type =
        change ? read_image(&changes, is_before ? change->before : change->after, &visit->page.out) : NULL;
    visit->status = MHD_HTTP_OK;
    if (visit->type)
        return;
    visit_say(visit, MHD_HTTP_NOT_FOUND, "Not found", "There is no such picture.");
}

/* `bawn diff` makes the patch, for `git apply --binary`. One that is cut would be half of the changes. */
void review_patch(struct visit *visit, const char *session)
{
    if (!visit_act(visit, ACT_DIFF, NULL, (const char *[]){session, NULL}))
        return;
    if (visit->done_status == 0 && !visit->is_cut) {
        visit->status = MHD_HTTP_OK;
        visit->type = "application/octet-stream";
        visit->saved_as = arena_printf(&visit->arena, "%s.patch", url_part(&visit->arena, session));
        buf_add(&visit->page.out, buf_text(&visit->done_text), visit->done_text.size);
        return;
    }
    if (visit->is_cut) {
        visit->done_status = 2;
        visit->done_text.size = 0;
        buf_printf(&visit->done_text, "The patch is larger than %d MiB. `bawn diff %s >FILE` writes it.\n",
                   ACT_OUTPUT_LARGEST / (1024 * 1024), session);
    }
    page_begin(visit, "Patch", "/");
    add_crumbs(visit, session, "Patch");
    page_add_outcome(visit);
    page_end(visit);
}

static bool add_images(struct visit *visit, const char *session, struct changes *changes,
                       const struct change *change)
{
    static const char *const sides[] = {"before", "after"};
    const struct entry *const entries[] = {change->before, change->after};
    bool is_any = false;
    for (size_t i = 0; i < array_len(sides); i++) {
        auto_buf struct buf bytes = {0};
        if (!read_image(changes, entries[i], &bytes))
            continue;
        html_add(
            &visit->page,
            "<figure><figcaption>%s, %zu bytes</figcaption><img src=\"/session/%s/image?id=%zu&amp;side=%s\" alt=\"%s %s\"></figure>",
            sides[i], bytes.size, url_part(&visit->arena, session), (size_t)(change - changes->list.at),
            sides[i], change->path, sides[i]);
        is_any = true;
    }
    return is_any;
}

static void add_difference(struct visit *visit, const char *session, struct changes *changes,
                           const struct change *change)
{
    auto_buf struct buf old = {0}, new = {0};
    struct html *page = &visit->page;
    const char *from = visit_query(visit, "from");
    const char *url = url_part(&visit->arena, session);
    size_t id = (size_t)(change - changes->list.at);
    bool is_side = strcmp(visit_query(visit, "view"), "side") == 0, is_live = *visit_query(visit, "live");
    struct diff_view view = {
        .is_side_by_side = is_side,
        .asks = change_has_hunks(change),
        .is_live = is_live,
        .id = id,
        .from = strtoull(from, NULL, 10),
        .more = arena_printf(&visit->arena, "/session/%s/file?id=%zu%s%s", url, id,
                             is_side ? "&view=side" : "", is_live ? "&live=1" : ""),
        .bytes = arena_printf(&visit->arena, "/session/%s/bytes?id=%zu", url, id),
    };
    const char *unshown = patch_read(&changes->patch, change, &old, &new);
    if (unshown) {
        if (!add_images(visit, session, changes, change))
            html_add(page, "<p>The file %s.</p>", unshown);
        bytes_add_links(visit, session, changes, change);
        return;
    }
    auto_hunks struct hunks hunks = {0};
    hunks_find(&old, &new, &hunks);
    if (change->before && change->after && change->before->mode != change->after->mode)
        html_add(page, "<p>Mode: %s.</p>",
                 arena_printf(&visit->arena, "%04o → %04o", change->before->mode & 07777U,
                              change->after->mode & 07777U));
    if (hunks.list.count)
        diff_add(page, &visit->arena, &hunks, &view);
    else
        html_add(page, "<p class=empty>No line differs.</p>");
}

/* A page of its own, and a part of the review's page if the script asks for that. */
void review_file(struct visit *visit, const char *session)
{
    auto_changes struct changes changes = CHANGES_NONE;
    const struct change *change =
        changes_open(visit, session, &changes) ? changes_named(visit, &changes) : NULL;
    if (!change) {
        visit_say(visit, MHD_HTTP_NOT_FOUND, "Not found", "There is no such change.");
        return;
    }
    visit->status = MHD_HTTP_OK;
    if (*visit_query(visit, "part")) {
        add_difference(visit, session, &changes, change);
        return;
    }
    const char *url = url_part(&visit->arena, session);
    page_begin(visit, change->path, "/");
    html_add(
        &visit->page,
        "<p class=crumbs><a href=\"/\">Sessions</a> › <a href=\"/session/%s\">%s</a> › <a href=\"/session/%s/review\">Review</a></p>"
        "<h1 class=mono>%s</h1>\n",
        url, session, url, change->path);
    html_add(&visit->page,
             "<form method=post action=\"/session/%s/review\"><input type=hidden name=rest value=leave>",
             url);
    page_add_form_token(visit);
    html_add(
        &visit->page,
        "<input type=hidden name=state value=\"%s\"><input type=hidden name=\"a%zu\" value=\"\"><div class=scroll tabindex=0 role=region aria-label=Difference>",
        changes.state, (size_t)(change - changes.list.at));
    add_difference(visit, session, &changes, change);
    html_add(&visit->page, "</div>");
    if (change_has_hunks(change))
        html_add(&visit->page, "<p><button class=main>Continue</button></p>");
    html_add(&visit->page, "</form>\n");
    page_end(visit);
}
