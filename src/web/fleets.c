#include "web/fleets.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/map.h"
#include "base/path.h"
#include "base/style.h"
#include "kernel/beneath.h"
#include "kernel/directories.h"
#include "report/time_text.h"

/* One page looks at so much: a larger fleet says how much of it was looked at. */
enum { MOST_FLEETS = 100, MOST_LOOKED_AT = 5000, NAME_SMALL = 256 };

int fleets_open(const struct visit *visit, const char *name, struct fleet *ret_fleet)
{
    auto_arena struct arena arena = {0};
    struct err ignored;
    if (!*name || *name == '.' || strchr(name, '/'))
        return -1;
    const char *state = visit->web->place->state, *folder = fleets_folder(&arena, state);
    return fleet_open(path_join(&arena, folder, name), state, ret_fleet, &ignored);
}

bool fleet_is_there(const struct visit *visit, const char *name)
{
    auto_fleet struct fleet fleet = FLEET_NONE;
    return fleets_open(visit, name, &fleet) == 0;
}

const char *fleet_session(struct visit *visit, const struct fleet *fleet, const struct overview_task *task)
{
    struct err ignored;
    auto_fd int fd = task->result.session ? -1 : fleet_open_task(fleet, task->id, &ignored);
    const char *session = task->result.session ? arena_str(&visit->arena, task->result.session)
                          : fd >= 0            ? fleet_read(&visit->arena, fd, "session", NAME_SMALL)
                                               : "";
    return *session ? session : NULL;
}

void fleet_take_task(struct fleet_row *row, const struct overview_task *task)
{
    const struct result *result = &task->result;
    row->seen++;
    row->counts[task->state]++;
    row->total.milliseconds += result->milliseconds;
    row->total.cpu_milliseconds += result->cpu_milliseconds;
    row->total.changes += result->changes;
    row->total.risky += result->risky;
    row->total.hosts_refused += result->hosts_refused;
    row->total.tripwires += result->tripwires;
    if (result->peak_memory > row->total.peak_memory)
        row->total.peak_memory = result->peak_memory;
}

static const char *words_of(struct arena *arena, const char *const *words)
{
    enum { SHOWN_LONGEST = 200 };
    auto_buf struct buf out = {0};
    for (; *words && out.size < SHOWN_LONGEST; words++)
        buf_printf(&out, "%s%s", out.size ? " " : "", *words);
    return arena_copy(arena, buf_text(&out), out.size);
}

/* A session is of the fleet whose task made it; one that was listed by an earlier fleet stays there. */
static void take_session(const char *session, const struct map *listed, struct fleet_row *row, struct map *of)
{
    const struct listed *found = session ? map_get(listed, session, strlen(session)) : NULL;
    if (!found)
        return;
    *map_at(of, found->name, strlen(found->name)) = (void *)row->name;
    row->to_review += session_waits(found);
}

void fleet_describe(struct visit *visit, const struct fleet *fleet, struct fleet_row *row)
{
    const struct style style = {.home = visit->web->place->home};
    row->shown = arena_str(&visit->arena, style_path(&style, &visit->arena, fleet->path));
    row->command = words_of(&visit->arena, fleet->command);
    row->tasks = fleet->ids.count;
}

static void look(struct visit *visit, const struct map *listed, size_t *left, struct fleet_row *row,
                 struct map *of)
{
    auto_fleet struct fleet fleet = FLEET_NONE;
    if (fleets_open(visit, row->name, &fleet) < 0)
        return;
    fleet_describe(visit, &fleet, row);
    size_t count = row->tasks < *left ? row->tasks : *left;
    auto_overview struct overview overview = {0};
    if (count)
        overview_look(&fleet, fleet.ids.at, count, &overview);
    vec_each (const struct overview_task, task, &overview.tasks) {
        fleet_take_task(row, task);
        take_session(fleet_session(visit, &fleet, task), listed, row, of);
    }
    *left -= count;
}

static int compare_rows(const void *a, const void *b)
{
    const struct fleet_row *left = a, *right = b;
    return left->began == right->began ? strcmp(left->name, right->name)
                                       : (left->began < right->began) - (left->began > right->began);
}

void fleets_find(struct visit *visit, const listed_list *sessions, fleet_rows *ret_rows, struct map *ret_of)
{
    struct map listed = {0};
    size_t left = MOST_LOOKED_AT;
    auto_fd int fd = open_directory_at(AT_FDCWD, fleets_folder(&visit->arena, visit->web->place->state));
    auto_dir DIR *folder = fd < 0 ? NULL : directories_list(fd);
    for (const struct dirent *entry; folder && (entry = readdir(folder));) {
        struct stat status;
        const char *name = arena_str(&visit->arena, entry->d_name);
        if (*name == '.' ||
            fstatat(fd, path_join(&visit->arena, name, "fleet.json"), &status, AT_SYMLINK_NOFOLLOW) < 0)
            continue;
        vec_push(ret_rows, (struct fleet_row){.name = name, .began = status.st_mtime});
    }
    if (!ret_rows->count)
        return;
    qsort(ret_rows->at, ret_rows->count, sizeof(ret_rows->at[0]), compare_rows);
    ret_rows->count = ret_rows->count < MOST_FLEETS ? ret_rows->count : MOST_FLEETS;
    vec_each (struct listed, one, sessions)
        *map_at(&listed, one->name, strlen(one->name)) = one;
    vec_each (struct fleet_row, row, ret_rows)
        look(visit, &listed, &left, row, ret_of);
    map_free(&listed);
}

/* --- a fleet in words --------------------------------------------------------------------------------------------------- */

void fleet_add_progress(struct html *page, const struct fleet_row *row)
{
    size_t over = row->counts[TASK_DONE] + row->counts[TASK_FAILED] + row->counts[TASK_CANCELLED];
    html_add(
        page,
        "<progress max=%zu value=%zu aria-label=\"Tasks that are over\"></progress><br>%zu of %zu tasks done",
        row->tasks ? row->tasks : 1, over, row->counts[TASK_DONE], row->tasks);
    for (enum task_state state = 0; state < TASK_STATE_COUNT; state++) {
        bool is_bad = state == TASK_FAILED || state == TASK_INTERRUPTED;
        if (state == TASK_DONE || !row->counts[state])
            continue;
        html_add(page, ", <span class=\"%s\">%s%zu %s</span>", is_bad ? "bad" : "dim", is_bad ? "✗ " : "",
                 row->counts[state], task_state_name(state));
    }
    if (row->seen < row->tasks)
        html_add(page, " <span class=dim>(of the first %zu)</span>", row->seen);
}

void fleet_add_cost(struct visit *visit, const struct fleet_row *row)
{
    struct arena *arena = &visit->arena;
    html_add(&visit->page, "%s of runs, %s of processor time, at most %s of memory",
             length_text(arena, row->total.milliseconds), length_text(arena, row->total.cpu_milliseconds),
             size_text(arena, row->total.peak_memory));
}

void fleet_add_alarms(struct html *page, const struct result *result)
{
    if (result->risky)
        html_add(page, "<br><span class=mark>▲ %llu could run on your machine</span>",
                 (unsigned long long)result->risky);
    if (result->tripwires)
        html_add(page, "<br><strong class=bad>▲ %llu decoys opened</strong>",
                 (unsigned long long)result->tripwires);
    if (result->hosts_refused)
        html_add(page, "<br><span class=dim>%llu connections refused</span>",
                 (unsigned long long)result->hosts_refused);
}

void fleet_add_results(struct html *page, const struct fleet_row *row)
{
    const struct result *total = &row->total;
    html_add(page, "%llu file%s changed", (unsigned long long)total->changes, total->changes == 1 ? "" : "s");
    if (row->to_review)
        html_add(page, ", <strong>%zu task%s to review</strong>", row->to_review,
                 row->to_review == 1 ? "" : "s");
    fleet_add_alarms(page, total);
}

void fleet_add_row(struct visit *visit, const struct fleet_row *row)
{
    struct html *page = &visit->page;
    struct arena *arena = &visit->arena;
    html_add(page, "<tr><td>");
    fleet_add_progress(page, row);
    html_add(page,
             "</td><th scope=row><a href=\"/fleet/%s\">%s</a><br><span class=dim>fleet, began %s</span></th>",
             url_part(arena, row->name), row->shown ? path_name(row->shown) : row->name,
             age_text(arena, (struct timespec){.tv_sec = row->began}));
    if (!row->shown) {
        html_add(
            page,
            "<td colspan=3 class=bad>▲ Its record is damaged, or of another version of bawn.</td></tr>\n");
        return;
    }
    html_add(page, "<td class=mono>%s<br><span class=dim>%s</span></td><td>", row->command, row->shown);
    fleet_add_results(page, row);
    html_add(page, "</td><td>");
    fleet_add_cost(visit, row);
    html_add(page, "</td></tr>\n");
}
