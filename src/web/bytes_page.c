/*
 * The bytes of a changed file that its difference cuts or leaves out: the rest of a long line, and a file
 * that is no text. A click shows the next piece. So whoever decides about a file has been able to see all of
 * it.
 */
#include <string.h>
#include <sys/stat.h>

#include "base/text.h"
#include "web/changes.h"

enum { SEEN_LARGEST = 64 * 1024 * 1024, PIECE_LARGEST = 64 * 1024 };

static const struct {
    const char *name;
    bool is_after;
} sides[] = {{"before", false}, {"after", true}};

static bool has_bytes(const struct entry *entry)
{
    return entry && (S_ISREG(entry->mode) || S_ISLNK(entry->mode));
}

bool change_can_be_seen(const struct change *change)
{
    const struct entry *after = change->after;
    return !after || !S_ISREG(after->mode) ||
           (after->content == CONTENT_STORED && after->size <= SEEN_LARGEST);
}

void bytes_add_links(struct visit *visit, const char *session, const struct changes *changes,
                     const struct change *change)
{
    struct html *page = &visit->page;
    for (size_t i = 0; i < array_len(sides); i++) {
        const struct entry *entry = sides[i].is_after ? change->after : change->before;
        if (!has_bytes(entry))
            continue;
        html_add(page, "<div><p>%s: %llu byte%s.</p>", sides[i].is_after ? "After" : "Before",
                 (unsigned long long)entry->size, entry->size == 1 ? "" : "s");
        if (entry->content == CONTENT_STORED && entry->size && entry->size <= SEEN_LARGEST)
            html_add(
                page,
                "<p class=more><a class=button data-more "
                "href=\"/session/%s/bytes?id=%zu&amp;side=%s&amp;from=0\">Show as text<span class=off> %s, "
                "%s</span></a></p>",
                url_part(&visit->arena, session), (size_t)(change - changes->list.at), sides[i].name,
                change->path, sides[i].name);
        html_add(page, "</div>\n");
    }
}

/* What a request is about: one side of a change, or a line of it. */
struct wanted {
    const char *address; /* up to its `from` */
    bool is_line;
    size_t start, end, from; /* in `bytes`; the last: from the start on */
    struct buf bytes;
};

/* A number of the query; SIZE_MAX where it is none. */
static size_t number_of(const struct visit *visit, const char *name)
{
    const char *text = visit_query(visit, name);
    uint64_t number;
    return text_take_number(&text, &number) && !*text ? (size_t)number : SIZE_MAX;
}

/* Narrows what is wanted to one line. */
static bool take_line(struct wanted *wanted, size_t number)
{
    auto_vec line_list lines = {0};
    lines_split(buf_text(&wanted->bytes), wanted->bytes.size, &lines);
    if (number >= lines.count)
        return false;
    const struct line *line = &lines.at[number];
    wanted->start = (size_t)(line->text - wanted->bytes.bytes);
    wanted->end = wanted->start + line->size - (line->size && line->text[line->size - 1] == '\n');
    return true;
}

static bool take_wanted(struct visit *visit, const char *session, struct changes *changes,
                        struct wanted *wanted)
{
    const struct change *change = changes_named(visit, changes);
    const char *side = visit_query(visit, "side"), *line = visit_query(visit, "line");
    const struct entry *entry = NULL;
    for (size_t i = 0; change && i < array_len(sides); i++) {
        if (strcmp(side, sides[i].name) == 0)
            entry = sides[i].is_after ? change->after : change->before;
    }
    if (!has_bytes(entry) || patch_read_side(&changes->patch, entry, SEEN_LARGEST, &wanted->bytes))
        return false;
    wanted->is_line = *line;
    wanted->end = wanted->bytes.size;
    if (wanted->is_line && !take_line(wanted, number_of(visit, "line")))
        return false;
    wanted->from = number_of(visit, "from");
    wanted->address =
        arena_printf(&visit->arena, "/session/%s/bytes?id=%zu&side=%s%s%s", url_part(&visit->arena, session),
                     (size_t)(change - changes->list.at), side, wanted->is_line ? "&line=" : "", line);
    return wanted->from < wanted->end - wanted->start;
}

static void add_piece(struct html *page, const struct wanted *wanted)
{
    const char *at = wanted->bytes.bytes + wanted->start + wanted->from;
    size_t left = wanted->end - wanted->start - wanted->from, piece = html_piece(at, left, PIECE_LARGEST);
    for (const char *end = at + piece, *stop; at < end; at = stop + 1) {
        stop = memchr(at, '\n', (size_t)(end - at));
        stop = stop ? stop : end;
        html_add_bytes(page, at, (size_t)(stop - at));
        if (stop < end)
            html_add(page, "\n");
    }
    if (piece < left)
        html_add(
            page,
            "<span class=more>… <a class=button data-more href=\"%s&amp;from=%zu\">%zu bytes more</a></span>",
            wanted->address, wanted->from + piece, left - piece);
}

static void show(struct visit *visit, const char *session, const struct wanted *wanted)
{
    struct html *page = &visit->page;
    visit->status = MHD_HTTP_OK;
    if (*visit_query(visit, "part")) {
        if (wanted->is_line || wanted->from) {
            add_piece(page, wanted);
            return;
        }
        html_add(page, "<pre class=bytes tabindex=0>");
        add_piece(page, wanted);
        html_add(page, "</pre>");
        return;
    }
    const char *url = url_part(&visit->arena, session);
    page_begin(visit, "Bytes", "/");
    html_add(page,
             "<p class=crumbs><a href=\"/\">Sessions</a> › <a href=\"/session/%s\">%s</a> › <a "
             "href=\"/session/%s/review\">Review</a></p><h1>%s</h1><pre class=bytes tabindex=0>",
             url, session, url, wanted->is_line ? "The rest of a line" : "Bytes of a file");
    add_piece(page, wanted);
    html_add(page, "</pre>\n");
    page_end(visit);
}

void review_bytes(struct visit *visit, const char *session)
{
    auto_changes struct changes changes = CHANGES_NONE;
    struct wanted wanted = {0};
    if (changes_open(visit, session, &changes) && take_wanted(visit, session, &changes, &wanted))
        show(visit, session, &wanted);
    else
        visit_say(visit, MHD_HTTP_NOT_FOUND, "Not found", "There is nothing more to show.");
    buf_free(&wanted.bytes);
}
