#include "session/upkeep.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/fd.h"
#include "base/style.h"
#include "content/store.h"
#include "policy/parse.h"
#include "report/time_text.h"
#include "session/caller.h"

#define FILE_NAME "snapshot-keep"

enum { FILE_LARGEST = 4096 };

static const struct pruning_limits usual = {UINT64_C(30) * 24 * 60 * 60, UINT64_C(10) << 30};

static int complain(const struct caller *caller, const struct loaded *loaded, size_t line)
{
    const struct style style = {0};
    struct arena *arena = loaded->policy.arena;
    const char *path = arena_printf(arena, "%s/bawn/" FILE_NAME, loaded->request.starts[START_CONFIG]);
    caller_say(caller,
               arena_printf(arena, "%s, line %zu, is not a limit for snapshots",
                            style_path(&style, arena, path), line),
               "write `age 30d` (s, m, h, d, w), `size 10G` (K, M, G, T), or `none` instead of the amount");
    return EXIT_BAD_INPUT;
}

static bool take_line(char *line, struct pruning_limits *limits)
{
    line[strcspn(line, "#")] = '\0';
    char *rest = line;
    const char *words[3] = {NULL};
    size_t count = 0;
    for (char *word; (word = strsep(&rest, " \t")) && count < array_len(words);) {
        if (*word)
            words[count++] = word;
    }
    if (count == 0)
        return true;
    if (count != 2)
        return false;
    bool is_age = strcmp(words[0], "age") == 0, is_none = strcmp(words[1], "none") == 0;
    uint64_t *limit = is_age ? &limits->seconds : &limits->bytes;
    if (!is_age && strcmp(words[0], "size") != 0)
        return false;
    *limit = UINT64_MAX;
    return is_none || (is_age ? duration_parse(words[1], limit) : size_parse(words[1], limit));
}

int pruning_limits(const struct caller *caller, const struct loaded *loaded,
                   struct pruning_limits *ret_limits)
{
    *ret_limits = usual;
    char *rest = load_settings(loaded, FILE_NAME, FILE_LARGEST);
    size_t number = 1;
    for (char *line; rest && (line = strsep(&rest, "\n")); number++) {
        if (!take_line(line, ret_limits))
            return complain(caller, loaded, number);
    }
    return 0;
}

int pruning_run(const struct caller *caller, const struct loaded *loaded, const struct pruning_limits *limits,
                int sessions_fd, bool is_thorough, struct pruned *ret_pruned, struct err *err)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    uint64_t present = (uint64_t)now.tv_sec;
    struct progress_line line;
    struct prune_request request = {
        .store = load_store(loaded, loaded->policy.arena),
        .sessions_fd = sessions_fd,
        .oldest_seconds = limits->seconds < present ? (int64_t)(present - limits->seconds) : INT64_MIN,
        .most_bytes = limits->bytes,
        .is_thorough = is_thorough,
        .progress = progress_begin(&line, caller->speaker, "removing old snapshots"),
    };
    int result = prune(&request, loaded->policy.arena, ret_pruned, err);
    progress_end(&line);
    return result;
}

const char *pruned_names(struct arena *arena, const name_list *sessions)
{
    enum { MOST_NAMED = 4 };
    auto_buf struct buf out = {0};
    size_t count = sessions->count;
    for (size_t i = 0; i < count && i < MOST_NAMED; i++)
        buf_printf(&out, "%s%s", i ? ", " : "", sessions->at[i]);
    if (count > MOST_NAMED)
        buf_printf(&out, " and %zu more", count - MOST_NAMED);
    return arena_str(arena, buf_text(&out));
}

static void tell(const struct caller *caller, struct arena *arena, struct session *session,
                 const struct pruned *pruned)
{
    const char *names = pruned_names(arena, &pruned->sessions), *size = size_text(arena, pruned->bytes);
    if (pruned->sessions.count == 0 && pruned->bytes == 0)
        return;
    journal_event(&session->journal, "pruned", "sessions", names, "freed", size);
    if (caller->speaker->is_read && pruned->sessions.count)
        caller_say(caller,
                   arena_printf(arena, "old snapshots were removed (%s freed), so %s can no longer be undone",
                                size, names),
                   "~/.config/bawn/snapshot-keep sets the limits");
}

void pruning_by_count(const struct caller *caller, const struct loaded *loaded, struct session *session)
{
    enum { UNDOABLE_MOST = 50 };
    const struct policy *policy = &loaded->policy;
    if (!session->tidies_up)
        return;
    auto_fd int sessions_fd = openat(session->folder_fd, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    auto_vec name_list forgotten = {0};
    vec_each (const struct workspace, workspace, &policy->workspaces) {
        if (sessions_fd >= 0)
            record_trim(sessions_fd, policy->arena, workspace->path, UNDOABLE_MOST, &forgotten);
    }
    if (forgotten.count == 0)
        return;
    const char *names = pruned_names(policy->arena, &forgotten);
    journal_event(&session->journal, "forgotten", "sessions", names);
    if (caller->speaker->is_read)
        caller_say(
            caller, arena_printf(policy->arena, "%s can no longer be undone", names),
            arena_printf(policy->arena, "the latest %d sessions of a workspace are kept", UNDOABLE_MOST));
}

void pruning_at_end(const struct caller *caller, const struct loaded *loaded, const char *store,
                    struct session *session)
{
    struct arena *arena = loaded->policy.arena;
    struct pruning_limits limits;
    if (pruning_limits(caller, loaded, &limits) || (!session->tidies_up && store_size(store) <= limits.bytes))
        return;
    auto_fd int sessions_fd = openat(session->folder_fd, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (sessions_fd < 0)
        return;
    struct pruned pruned;
    struct err err = {0};
    int result = pruning_run(caller, loaded, &limits, sessions_fd, false, &pruned, &err);
    if (result == 0)
        tell(caller, arena, session, &pruned);
    else if (err.errnum != EBUSY) /* else another bawn prunes at the moment */
        caller_say_err(caller, &err);
    pruned_free(&pruned);
}
