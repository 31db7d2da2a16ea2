/* Says what this machine can hold, wall by wall, and what helps where it cannot. */
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "cli/commands.h"
#include "cli/doctor.h"
#include "cli/say.h"

enum { EXIT_CANNOT_RUN = 1 };

static const struct {
    const char *name;
    enum colour colour;
} states[] = {
#define X(id, name, colour) {name, colour},
    STATES(X)
#undef X
};

static void print_walls(const struct world *world, const struct host_caps *caps,
                        const struct judged_wall *walls, size_t count, enum state worst)
{
    static const char *const ends[] = {
        [STATE_OK] = "A run works here.",
        [STATE_WEAKER] = "A run works here, with what is weaker said above.",
        [STATE_CANNOT_HOLD] = "A run would be refused here: nothing is run without its walls.",
    };
    struct style style = style_for_out(world);
    auto_buf struct buf out = {0};
    buf_printf(&out, "Linux %s on %s, as %s", caps->release, caps->architecture,
               caps->is_namespace_root ? "root of a user namespace"
               : caps->uid             ? "an ordinary user"
                                       : "root");
    if (*caps->container) {
        buf_add_str(&out, ", inside ");
        style_add(&style, &out, COLOUR_PLAIN, caps->container);
    }
    buf_add_str(&out, "\n\n");
    for (size_t i = 0; i < count; i++) {
        size_t columns = style_add(&style, &out, COLOUR_BOLD, walls[i].name);
        for (; columns < 19; columns++)
            buf_add_char(&out, ' ');
        columns = style_add(&style, &out, states[walls[i].state].colour, states[walls[i].state].name);
        for (; columns < 13; columns++)
            buf_add_char(&out, ' ');
        style_add(&style, &out, COLOUR_PLAIN, walls[i].says);
        buf_add_char(&out, '\n');
        for (const char *const *line = walls[i].fixes; *line; line++) {
            buf_add_str(&out, "    ");
            style_add(&style, &out, COLOUR_PLAIN, *line);
            buf_add_char(&out, '\n');
        }
        if (walls[i].degrade != WALL_COUNT)
            buf_printf(&out, "    bawn --degrade=%s CMD  # goes on without it\n",
                       wall_name(walls[i].degrade));
    }
    buf_add_char(&out, '\n');
    style_add(&style, &out, states[worst].colour, ends[worst]);
    buf_add_char(&out, '\n');
    put(world->out, &out);
}

static void print_facts(struct json *json, const struct host_caps *caps)
{
    json_open(json, "facts", '{');
    json_str(json, "release", caps->release);
    json_str(json, "architecture", caps->architecture);
    json_int(json, "uid", caps->uid);
    json_str(json, "container", caps->container);
    json_int(json, "landlock-abi", caps->landlock_abi);
    json_str(json, "security-modules", caps->security_modules);
    json_int(json, "user.max_user_namespaces", caps->max_user_namespaces);
    json_int(json, "kernel.unprivileged_userns_clone", caps->unprivileged_userns_clone);
    json_int(json, "kernel.apparmor_restrict_unprivileged_userns", caps->apparmor_restricts_userns);
    json_bool(json, "cgroup-writable", caps->cgroup_writable);
    json_bool(json, "cgroup-memory", caps->cgroup_memory);
    json_bool(json, "cgroup-pids", caps->cgroup_pids);
    json_open(json, "tried", '{');
    for (enum trial_name trial = 0; trial < TRIAL_COUNT; trial++) {
        const struct trial *result = &caps->trials[trial];
        const char *name = result->errnum ? strerrorname_np(result->errnum) : NULL;
        json_str(json, trial_name(trial), result->works ? "works" : name ? name : "not tried");
    }
    json_close(json, '}');
    json_close(json, '}');
}

static void print_json(const struct world *world, const struct host_caps *caps,
                       const struct judged_wall *walls, size_t count, enum state worst)
{
    auto_buf struct buf out = {0};
    struct json json = {.out = &out};
    json_open(&json, NULL, '{');
    json_str(&json, "schema", "bawn.doctor");
    json_int(&json, "version", 1);
    json_bool(&json, "works", worst != STATE_CANNOT_HOLD);
    json_open(&json, "walls", '[');
    for (size_t i = 0; i < count; i++) {
        json_open(&json, NULL, '{');
        json_str(&json, "wall", walls[i].name);
        json_str(&json, "state", states[walls[i].state].name);
        json_str(&json, "says", walls[i].says);
        json_open(&json, "fixes", '[');
        for (const char *const *line = walls[i].fixes; *line; line++)
            json_str(&json, NULL, *line);
        json_close(&json, ']');
        if (walls[i].degrade != WALL_COUNT)
            json_str(&json, "degrade", wall_name(walls[i].degrade));
        json_close(&json, '}');
    }
    json_close(&json, ']');
    print_facts(&json, caps);
    json_close(&json, '}');
    put(world->out, &out);
}

int doctor_report(const struct world *world, const struct host_caps *caps, bool as_json)
{
    struct arena arena = {0};
    struct judged_wall walls[MOST_WALLS];
    enum state worst = STATE_OK;
    size_t count = doctor_judge(caps, &arena, walls, &worst);
    (as_json ? print_json : print_walls)(world, caps, walls, count, worst);
    arena_free(&arena);
    return worst == STATE_CANNOT_HOLD ? EXIT_CANNOT_RUN : EXIT_FINE;
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
    return doctor_report(world, &caps, args->flags & FLAG_JSON);
}
