#include "cli/machine.h"

#include <sys/sysinfo.h>

#include "kernel/cgroup.h"
#include "kernel/landlock.h"
#include "kernel/process.h"
#include "kernel/seccomp.h"

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
