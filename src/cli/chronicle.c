#include "cli/chronicle.h"

#include <fcntl.h>
#include <inttypes.h>
#include <sys/utsname.h>

#include "base/fd.h"
#include "base/sha256.h"
#include "base/text.h"
#include "journal/retire.h"
#include "journal/system_log.h"
#include "policy/decide.h"
#include "workspace/record.h"

void chronicle_start(struct attendance *attendance, const char *workspace)
{
    const struct plan *plan = &attendance->loaded->plan;
    struct journal *journal = &attendance->session.journal;
    journal->secrets = &attendance->secrets;
    journal_event(journal, "start", "workspace", workspace, "command", attendance->args->command[0],
                  "process", arena_printf(attendance->loaded->policy.arena, "%d", attendance->launched->pid));
    for (size_t i = 0; i < plan->given_up.count; i++)
        journal_event(journal, "given up", "wall", wall_name(plan->given_up.at[i].wall), "by",
                      plan->given_up.at[i].by);
}

/* Of every file that was read, its name and its text; and the flags. Profiles that are compiled in are this program's. */
static void hash_policy(const struct policy *policy, const struct args *args, char ret_hash[SHA256_HEX_SIZE])
{
    auto_buf struct buf text = {0};
    buf_add_str(&text, BAWN_VERSION "\n");
    for (size_t i = 0; i < policy->sources.count; i++) {
        const struct source *source = policy->sources.at[i];
        bool is_file = *source->name == '/' || !source->is_profile;
        buf_printf(&text, "%s %zu\n", source->name, is_file ? source->size : 0);
        if (is_file)
            buf_add(&text, source->text, source->size);
    }
    for (size_t i = 0; i < args->rules.count; i++)
        buf_printf(&text, "%d %s\n", (int)args->rules.at[i].verb, args->rules.at[i].text);
    sha256_hex(text.bytes, text.size, ret_hash);
}

static void hash_plan(const struct plan *plan, char ret_hash[SHA256_HEX_SIZE])
{
    auto_buf struct buf text = {0};
    plan_add_text(plan, &text);
    sha256_hex(text.bytes, text.size, ret_hash);
}

const char *chronicle_command(struct arena *arena, const char *const *command)
{
    enum { LONGEST = 16384 };
    auto_buf struct buf line = {0};
    for (size_t i = 0; command[i] && line.size < LONGEST; i++) {
        buf_add_str(&line, i ? " " : "");
        buf_add_str(&line, shell_word(arena, command[i]));
    }
    return arena_copy(arena, line.bytes, line.size);
}

static const char *mode_of(const struct args *args)
{
    return args->flags & FLAG_FULL_ACCESS ? "full-access"
           : args->flags & FLAG_NESTED    ? "nested"
           : args->flags & FLAG_READ_ONLY ? "read-only"
           : args->flags & FLAG_REVIEW    ? "review"
           : args->flags & FLAG_DISCARD   ? "discard"
                                          : "live";
}

static const char *walls_of(struct arena *arena, const struct plan *plan)
{
    auto_buf struct buf names = {0};
    for (enum wall wall = 0; wall < WALL_COUNT; wall++) {
        if (!walls_have(plan->absent, wall))
            buf_printf(&names, "%s%s", names.size ? " " : "", wall_name(wall));
    }
    return arena_copy(arena, names.bytes, names.size);
}

static const char *net_of(const struct plan *plan)
{
    for (size_t i = 0; i < plan->operations.count; i++) {
        if (plan->operations.at[i].kind == OP_NET)
            return plan->operations.at[i].value;
    }
    return "";
}

void chronicle_plan(struct attendance *attendance)
{
    const struct loaded *loaded = attendance->loaded;
    struct arena *arena = loaded->policy.arena;
    struct journal *journal = &attendance->session.journal;
    char policy[SHA256_HEX_SIZE], plan[SHA256_HEX_SIZE];
    struct utsname machine = {0};
    if (attendance->has_plan_recorded)
        return;
    attendance->has_plan_recorded = true;
    if (journal->fd < 0)
        return;
    secrets_find(arena, attendance->world->environment, &attendance->secrets);
    hash_policy(&loaded->policy, attendance->args, policy);
    hash_plan(&loaded->plan, plan);
    uname(&machine);
    journal_event(journal, "plan", "arguments", chronicle_command(arena, attendance->args->command),
                  "directory", loaded->request.directory, "agent",
                  loaded->policy.agent ? loaded->policy.agent : "", "mode", mode_of(attendance->args), "net",
                  net_of(&loaded->plan), "walls", walls_of(arena, &loaded->plan), "policy", policy, "plan",
                  plan, "bawn", BAWN_VERSION, "kernel",
                  arena_printf(arena, "%s %s", machine.release, machine.machine));
    system_log_head(attendance->session.name, "begins", journal);
}

void chronicle_limits(struct attendance *attendance, const struct outcome *outcome)
{
    struct arena *arena = attendance->loaded->policy.arena;
    struct journal *journal = &attendance->session.journal;
    struct cgroup_hits hits = cgroup_read_hits(&attendance->launched->cgroup);
    if (outcome->ran_out_of_time)
        journal_event(journal, "limit", "name", "time");
    if (hits.killed)
        journal_event(journal, "limit", "name", "memory", "killed",
                      arena_printf(arena, "%" PRIu64, hits.killed));
    if (hits.forks_refused)
        journal_event(journal, "limit", "name", "pids", "refused",
                      arena_printf(arena, "%" PRIu64, hits.forks_refused));
}

void chronicle_let_go(struct attendance *attendance)
{
    enum { UNDOABLE_KEPT = 50 };
    const struct policy *policy = &attendance->loaded->policy;
    const struct session *session = &attendance->session;
    const struct rule *limit = decide_limit(policy, LIMIT_JOURNALS, NULL).decides;
    struct retired retired = {0};
    if (!session->tidies_up || attendance->has_let_go)
        return;
    attendance->has_let_go = true;
    auto_fd int sessions_fd = openat(session->folder_fd, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (sessions_fd < 0)
        return;
    record_trim(sessions_fd, UNDOABLE_KEPT);
    sessions_retire(policy->arena, sessions_fd, limit ? limit->limit.most : UINT64_MAX, &retired);
    if (retired.sessions)
        journal_event(&attendance->session.journal, "let go", "sessions",
                      arena_printf(policy->arena, "%" PRIu64, retired.sessions), "bytes",
                      arena_printf(policy->arena, "%" PRIu64, retired.bytes));
}

void chronicle_end(struct attendance *attendance, const struct outcome *outcome, uint64_t milliseconds,
                   uint64_t changes)
{
    struct arena *arena = attendance->loaded->policy.arena;
    struct journal *journal = &attendance->session.journal;
    chronicle_plan(attendance); /* one that was refused before it began has none yet */
    journal_event(journal, "end", "status", arena_printf(arena, "%d", outcome->status), "milliseconds",
                  arena_printf(arena, "%" PRIu64, milliseconds), "changes",
                  arena_printf(arena, "%" PRIu64, changes));
    system_log_head(attendance->session.name, "ends", journal);
    journal->secrets = NULL;
    secrets_free(&attendance->secrets);
}
