#include "report/sessions.h"

#include <fcntl.h>
#include <string.h>

#include "base/fd.h"
#include "base/map.h"
#include "journal/session.h"
#include "kernel/beneath.h"
#include "kernel/directories.h"
#include "workspace/layers.h"

int session_open(int sessions_fd, const char *name)
{
    bool is_name = *name && *name != '.' && !strchr(name, '/');
    return is_name ? open_directory_at(sessions_fd, name) : -1;
}

struct timespec listed_began(const struct listed *listed)
{
    return listed->has_record ? listed->record.began : listed->glance.began;
}

const char *listed_workspace(const struct listed *listed)
{
    return listed->has_record ? listed->record.workspace : listed->glance.workspace;
}

const char *listed_state(const struct listed *listed)
{
    if (listed->is_running)
        return "running";
    if (listed->is_unrepaired)
        return "unrepaired";
    /* A run that nobody holds the lock of was killed, and no verb has repaired it yet. */
    if (listed->has_record && listed->record.state == STATE_RUNNING)
        return "killed";
    if (listed->has_record)
        return record_state_name(listed->record.state);
    if (listed_is_pruned(listed))
        return "pruned";
    return listed->glance.was_killed ? "killed" : "ended";
}

const char *listed_mode(const struct listed *listed)
{
    if (listed->has_record)
        return record_mode_name(listed->record.mode);
    return listed->glance.mode ? listed->glance.mode : "live";
}

int64_t listed_idle(const struct listed *listed)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return listed->glance.last.tv_sec && now.tv_sec > listed->glance.last.tv_sec
               ? now.tv_sec - listed->glance.last.tv_sec
               : 0;
}

bool listed_left_nothing(const struct listed *listed)
{
    const struct record *record = &listed->record;
    bool was_discarded =
        listed->has_record && record->mode == RECORD_REVIEW && record->state == STATE_DISCARDED;
    return !listed->is_running && !listed->is_unrepaired && !listed->glance.was_killed &&
           !listed->glance.refusal && !was_discarded &&
           (!listed->has_record || (record->changes == 0 && record_is_over(record)));
}

bool listed_is_pruned(const struct listed *listed)
{
    return !listed->has_record && !listed->is_running && !listed->is_unrepaired &&
           !listed->glance.was_killed && listed->glance.changes;
}

uint64_t listed_files(const struct listed *listed)
{
    return listed->has_record ? listed->record.changes : listed->glance.changes;
}

/* --- the list ------------------------------------------------------------------------------------------------------- */

static void sort_latest_first(listed_list *sessions)
{
    VEC(struct session_age) ages = {0};
    listed_list sorted = {0};
    for (size_t i = 0; i < sessions->count; i++)
        vec_push(&ages, (struct session_age){sessions->at[i].name, listed_began(&sessions->at[i]), i});
    sessions_sort(ages.at, ages.count);
    for (size_t i = ages.count; i--;)
        vec_push(&sorted, sessions->at[ages.at[i].index]);
    vec_free(&ages);
    vec_free(sessions);
    *sessions = sorted;
}

/* What is known of the sessions before their folders are opened, by name. */
struct known {
    struct map records;
    struct map set_aside;
};

static void learn(const struct sessions_wanted *wanted, struct known *known)
{
    auto_vec session_names names = {0};
    struct err ignored; /* whoever cannot look there cannot repair either */
    for (size_t i = 0; wanted->loaded && i < wanted->loaded->count; i++) {
        struct record *record = &wanted->loaded->at[i];
        *map_at(&known->records, record->name, strlen(record->name)) = record;
    }
    if (session_list_set_aside(wanted->arena, wanted->state, &names, &ignored) < 0)
        return;
    for (size_t i = 0; i < names.count; i++)
        *map_at(&known->set_aside, names.at[i], strlen(names.at[i])) = known;
}

/* Returns whether the session is listed. */
static bool look_at(const struct sessions_wanted *wanted, int sessions_fd, const struct known *known,
                    struct listed *listed)
{
    size_t size = strlen(listed->name);
    struct err ignored;
    const struct record *record = map_get(&known->records, listed->name, size);
    auto_fd int fd = session_open(sessions_fd, listed->name);
    if (fd < 0)
        return false;
    if (record)
        listed->record = *record;
    listed->has_record = record || record_load(fd, wanted->arena, &listed->record, &ignored) > 0;
    bool has_journal = glance_at(fd, wanted->arena, wanted->home, &listed->glance);
    const char *workspace = listed_workspace(listed);
    if ((!has_journal && !listed->has_record) || !workspace ||
        (wanted->workspace && strcmp(workspace, wanted->workspace) != 0))
        return false;
    listed->disk = wanted->with_disk ? layers_disk_use(fd) : 0;
    listed->is_unrepaired = map_get(&known->set_aside, listed->name, size);
    listed->is_running = record_has_lock(fd);
    return true;
}

void sessions_find(const struct sessions_wanted *wanted, int sessions_fd, listed_list *ret_listed)
{
    auto_dir DIR *folder = sessions_fd < 0 ? NULL : directories_list(sessions_fd);
    struct known known = {0};
    learn(wanted, &known);
    for (const struct dirent *entry; folder && (entry = readdir(folder));) {
        if (*entry->d_name == '.')
            continue;
        struct listed listed = {.name = arena_str(wanted->arena, entry->d_name)};
        if (look_at(wanted, sessions_fd, &known, &listed))
            vec_push(ret_listed, listed);
    }
    map_free(&known.records);
    map_free(&known.set_aside);
    sort_latest_first(ret_listed);
}
