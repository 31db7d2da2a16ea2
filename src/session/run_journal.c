#include <fcntl.h>
#include <inttypes.h>
#include <sys/utsname.h>

#include "base/fd.h"
#include "base/hash.h"
#include "journal/journal.h"
#include "journal/session.h"
#include "policy/decide.h"
#include "session/run_parts.h"
#include "workspace/record.h"

void run_journal_start(struct run *run, const char *workspace)
{
    const struct plan *plan = &run->loaded.plan;
    struct journal *journal = &run->session.journal;
    journal->secrets = &run->secrets;
    journal_event(journal, "start", "workspace", workspace, "command", run->request.command[0], "process",
                  arena_printf(run->loaded.policy.arena, "%d", run->launched.pid));
    for (size_t i = 0; i < plan->given_up.count; i++)
        journal_event(journal, "given up", "wall", wall_name(plan->given_up.at[i].wall), "by",
                      plan->given_up.at[i].by);
}

/* Hashes the name and text of every policy file, and the flags. The version stands for the compiled-in profiles. */
static void hash_policy(const struct policy *policy, const struct run_request *request,
                        char ret_hash[SHA256_HEX_SIZE])
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
    for (size_t i = 0; i < request->rule_count; i++)
        buf_printf(&text, "%d %s\n", (int)request->rules[i].verb, request->rules[i].text);
    sha256_hex(text.bytes, text.size, ret_hash);
}

static void hash_plan(const struct plan *plan, char ret_hash[SHA256_HEX_SIZE])
{
    auto_buf struct buf text = {0};
    plan_add_text(plan, &text);
    sha256_hex(text.bytes, text.size, ret_hash);
}

static const char *mode_of(const struct run_request *request)
{
    return request->full_access ? "full-access"
           : request->nested    ? "nested"
           : request->read_only ? "read-only"
           : request->review    ? "review"
           : request->discard   ? "discard"
                                : "live";
}

static const char *walls_of(struct arena *arena, const struct plan *plan)
{
    auto_buf struct buf names = {0};
    for (enum wall wall = 0; wall < WALL_COUNT; wall++) {
        if (!walls_have(plan->operations.absent, wall))
            buf_printf(&names, "%s%s", names.size ? " " : "", wall_name(wall));
    }
    return arena_copy(arena, names.bytes, names.size);
}

void run_journal_plan(struct run *run)
{
    const struct loaded *loaded = &run->loaded;
    struct arena *arena = loaded->policy.arena;
    struct journal *journal = &run->session.journal;
    char policy[SHA256_HEX_SIZE], plan[SHA256_HEX_SIZE];
    struct utsname machine = {0};
    if (run->has_plan_recorded)
        return;
    run->has_plan_recorded = true;
    if (journal->fd < 0)
        return;
    secrets_find(arena, run->caller.environment, &run->secrets);
    hash_policy(&loaded->policy, &run->request, policy);
    hash_plan(&loaded->plan, plan);
    uname(&machine);
    const char *typed =
        run->request.typed ? command_text(arena, (const char *const *)run->request.typed + 1) : "";
    journal_event(journal, "plan", "arguments", command_text(arena, run->request.command), "typed", typed,
                  "directory", policy_start(&loaded->policy), "agent",
                  loaded->policy.agent ? loaded->policy.agent : "", "mode", mode_of(&run->request), "net",
                  operations_net(&loaded->plan.operations), "walls", walls_of(arena, &loaded->plan), "policy",
                  policy, "plan", plan, "bawn", BAWN_VERSION, "kernel",
                  arena_printf(arena, "%s %s", machine.release, machine.machine));
    system_log_head(run->session.name, "begins", journal);
}

void run_retire_sessions(struct run *run)
{
    const struct policy *policy = &run->loaded.policy;
    const struct session *session = &run->session;
    const struct rule *limit = decide_limit(policy, LIMIT_JOURNALS, NULL).decides;
    struct retired retired = {0};
    if (!session->tidies_up || run->has_retired_sessions)
        return;
    run->has_retired_sessions = true;
    auto_fd int sessions_fd = openat(session->folder_fd, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (sessions_fd < 0)
        return;
    sessions_retire(policy->arena, sessions_fd, limit ? limit->limit.most : UINT64_MAX, &retired);
    vec_each (const int, fd, &retired.open)
        launch_leave(&run->launched, *fd);
    retired_close(&retired);
    if (retired.sessions)
        journal_event(&run->session.journal, "let go", "sessions",
                      arena_printf(policy->arena, "%" PRIu64, retired.sessions), "bytes",
                      arena_printf(policy->arena, "%" PRIu64, retired.bytes));
}

void run_journal_end(struct run *run, const struct outcome *outcome, uint64_t milliseconds, uint64_t changes)
{
    struct arena *arena = run->loaded.policy.arena;
    struct journal *journal = &run->session.journal;
    run_journal_plan(run); /* a refused run has not recorded it yet */
    journal_event(journal, "end", "status", arena_printf(arena, "%d", outcome->status), "milliseconds",
                  arena_printf(arena, "%" PRIu64, milliseconds), "changes",
                  arena_printf(arena, "%" PRIu64, changes));
    system_log_head(run->session.name, "ends", journal);
    journal->secrets = NULL;
    secrets_free(&run->secrets);
}
