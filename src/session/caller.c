#include "session/caller.h"

#include <sys/sysinfo.h>

#include "base/text.h"
#include "kernel/landlock.h"
#include "kernel/process.h"
#include "kernel/seccomp.h"

const char *caller_variable(const struct caller *caller, const char *name)
{
    return text_variable(caller->environment, name);
}

void caller_say(const struct caller *caller, const char *message, const char *hint)
{
    caller->speaker->say(caller->speaker, message, hint);
}

void caller_say_err(const struct caller *caller, const struct err *err)
{
    caller_say(caller, err->message, *err->hint ? err->hint : NULL);
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
