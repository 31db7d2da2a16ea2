/* The limits for which bawn itself ends a command, and what is said of all that were reached. */
#include <inttypes.h>

#include "base/style.h"
#include "policy/decide.h"
#include "session/caller.h"
#include "session/run_parts.h"

/* The trees that the command writes, where their files lie. */
int run_begin_disk(struct run *run, struct err *err)
{
    struct disk *disk = &run->disk;
    const struct operations *planned = run->launch.operations;
    const struct rule *limit = decide_limit(&run->loaded.policy, LIMIT_DISK, NULL).decides;
    disk->loop = &run->loop;
    disk->launched = &run->launched;
    disk->most = limit ? limit->limit.most : UINT64_MAX;
    for (size_t i = 0; disk->most != UINT64_MAX && i < amended_count(planned, &run->amendments); i++) {
        struct operation operation = amended_operation(planned, &run->amendments, i);
        if (operation.overlay)
            disk_add(disk, operation.overlay);
        else if (operation.kind == OP_BIND_WRITE && operation.is_directory && !operation.missing)
            disk_add(disk, operation.source ? operation.source : operation.path);
    }
    if (disk->most != UINT64_MAX && run->home.path)
        disk_add(disk, run->home.path);
    if (disk->most != UINT64_MAX && run->launch.scratch)
        disk_add(disk, run->launch.scratch);
    return disk_begin(disk, err);
}

void run_journal_limits(struct run *run, const struct outcome *outcome)
{
    struct arena *arena = run->loaded.policy.arena;
    struct journal *journal = &run->session.journal;
    struct cgroup_hits hits = cgroup_read_hits(&run->launched.cgroup);
    bool has_learnt_enough = run->request.learn_seconds && run->launch.seconds == run->request.learn_seconds;
    if (outcome->ran_out_of_time && !has_learnt_enough) {
        const struct rule *rule = decide_limit(&run->loaded.policy, LIMIT_TIME, NULL).decides;
        run->ended_by = "time";
        journal_event(journal, "limit", "name", run->ended_by);
        caller_say(&run->caller,
                   arena_printf(arena, "the time limit ended the command%s%s", rule ? ": limit " : "",
                                rule ? rule->written : ""),
                   "--limit time=10m gives it more");
    }
    if (run->disk.is_over) {
        const struct rule *rule = decide_limit(&run->loaded.policy, LIMIT_DISK, NULL).decides;
        const char *used = arena_printf(arena, "%s were added", size_text(arena, run->disk.used));
        run->ended_by = "disk";
        journal_event(journal, "limit", "name", run->ended_by);
        caller_say(&run->caller,
                   arena_printf(arena, "the disk limit ended the command: limit %s, and %s",
                                rule ? rule->written : "", run->disk.trouble ? run->disk.trouble : used),
                   "--limit disk=20G gives it more");
    }
    if (hits.killed)
        journal_event(journal, "limit", "name", "memory", "killed",
                      arena_printf(arena, "%" PRIu64, hits.killed));
    if (hits.forks_refused || outcome->refused)
        journal_event(journal, "limit", "name", "pids", "refused",
                      arena_printf(arena, "%" PRIu64, hits.forks_refused + outcome->refused));
}
