#include "session/caller.h"

#include <inttypes.h>
#include <stdio.h>
#include <sys/sysinfo.h>

#include "base/text.h"
#include "kernel/landlock.h"
#include "kernel/probe.h"
#include "kernel/process.h"
#include "kernel/seccomp.h"

struct outside caller_outside(const struct caller *caller, const struct plan *plan)
{
    return (struct outside){.environment = caller->environment, .home = caller->account_home, .plan = plan};
}

const char *caller_variable(const struct caller *caller, const char *name)
{
    return text_variable(caller->environment, name);
}

void caller_say(const struct caller *caller, const char *message, const char *hint)
{
    caller->speaker->say(caller->speaker, message, hint);
}

void caller_note(const struct caller *caller, const char *message, const char *hint)
{
    caller->speaker->note(caller->speaker, message, hint);
}

void caller_say_err(const struct caller *caller, const struct err *err)
{
    caller_say(caller, err->message, *err->hint ? err->hint : NULL);
}

bool machine_lacks_namespaces(void *context not_used)
{
    return !probe_namespaces();
}

bool machine_lacks_vault(void)
{
    auto_arena struct arena arena = {0};
    return !libexec_find(&arena, "bawn-vault");
}

void machine_look(wall_set asked, struct machine *ret_machine)
{
    struct sysinfo information = {0};
    *ret_machine = (struct machine){.is_root = process_is_real_root(), .cgroup = cgroup_find()};
    if (sysinfo(&information) == 0)
        ret_machine->memory = (uint64_t)information.totalram * information.mem_unit;
    if (walls_have(asked, WALL_LANDLOCK) && landlock_abi() == 0)
        ret_machine->lacking |= 1u << WALL_LANDLOCK;
    if (walls_have(asked, WALL_SECCOMP) && !seccomp_is_there())
        ret_machine->lacking |= 1u << WALL_SECCOMP;
}

/* --- progress ------------------------------------------------------------------------------------------------------ */

enum { PATIENCE_MILLISECONDS = 1000, PAUSE_MILLISECONDS = 100, LONGEST = 200 };

int64_t milliseconds_since(struct timespec moment)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (now.tv_sec - moment.tv_sec) * 1000 + (now.tv_nsec - moment.tv_nsec) / 1000000;
}

static void tell(struct progress *progress, uint64_t done, uint64_t all)
{
    struct progress_line *line = (struct progress_line *)progress;
    if (milliseconds_since(line->began) < PATIENCE_MILLISECONDS ||
        milliseconds_since(line->written) < PAUSE_MILLISECONDS)
        return;
    char text[LONGEST];
    if (all)
        snprintf(text, sizeof(text), "bawn: %s: %" PRIu64 " of %" PRIu64 " (%" PRIu64 " %%)", line->what,
                 done, all, done * 100 / all);
    else
        snprintf(text, sizeof(text), "bawn: %s: %" PRIu64, line->what, done);
    line->speaker->show_progress(line->speaker, text);
    clock_gettime(CLOCK_MONOTONIC, &line->written);
}

struct progress *progress_begin(struct progress_line *line, const struct speaker *speaker, const char *what)
{
    *line = (struct progress_line){
        .progress = {tell}, .speaker = speaker->is_read ? speaker : NULL, .what = what};
    clock_gettime(CLOCK_MONOTONIC, &line->began);
    return line->speaker ? &line->progress : NULL;
}

void progress_end(const struct progress_line *line)
{
    /* A child may have written the line, which is not known here. */
    if (line->speaker && milliseconds_since(line->began) >= PATIENCE_MILLISECONDS)
        line->speaker->show_progress(line->speaker, "");
}
