/* `bawn doctor`: reports what this machine supports, wall by wall, and what would help; or what bawn stores here. */
#include <stdio.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/say.h"
#include "report/messages.h"
#include "report/storage.h"
#include "session/load.h"

enum { EXIT_CANNOT_RUN = 1 };

int doctor_report(const struct world *world, const struct host_caps *caps, bool as_json)
{
    struct style style = style_for_out(world, NULL);
    auto_buf struct buf out = {0};
    bool works = doctor_add(&out, &style, caps, as_json);
    put(world->out, &out);
    return works ? EXIT_FINE : EXIT_CANNOT_RUN;
}

static int report_storage(const struct world *world, bool as_json)
{
    auto_loaded struct loaded loaded = {0};
    int status = load_request(&world->caller, &loaded);
    if (status)
        return status;
    struct style style = style_for_out(world, loaded.request.home);
    auto_vec stored_list all = {0};
    auto_buf struct buf out = {0};
    storage_find(&loaded.request, &loaded.arena, &all);
    storage_add(&out, &style, &all, as_json);
    put(world->out, &out);
    return EXIT_FINE;
}

int cmd_doctor(const struct world *world, const struct args *args)
{
    if (args->flags & FLAG(STORAGE))
        return report_storage(world, args->flags & FLAG(JSON));
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
