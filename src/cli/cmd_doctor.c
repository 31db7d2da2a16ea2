/* `bawn doctor`: reports what this machine supports, wall by wall, and what would help. */
#include <stdio.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/say.h"
#include "report/messages.h"

enum { EXIT_CANNOT_RUN = 1 };

int doctor_report(const struct world *world, const struct host_caps *caps, bool as_json)
{
    struct style style = style_for_out(world, NULL);
    auto_buf struct buf out = {0};
    bool works = doctor_add(&out, &style, caps, as_json);
    put(world->out, &out);
    return works ? EXIT_FINE : EXIT_CANNOT_RUN;
}

int cmd_doctor(const struct world *world, const struct args *args)
{
    const char *home = caller_variable(&world->caller, "HOME"),
               *inside = caller_variable(&world->caller, "BAWN");
    const char *places[] = {world->caller.directory, "/usr", "/etc",
                            home && *home ? home : world->caller.account_home, NULL};
    const char *programs[MOST_PROGRAMS];
    doctor_programs(programs);
    struct probe_request request = {places, programs, caller_variable(&world->caller, "PATH")};
    struct host_caps caps;
    probe_host(&request, &caps);
    if (inside && strcmp(inside, "1") == 0)
        snprintf(caps.container, sizeof(caps.container), "bawn");
    return doctor_report(world, &caps, args->flags & FLAG(JSON));
}
