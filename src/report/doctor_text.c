/* The findings of `bawn doctor` as text and as JSON. */
#include <string.h>

#include "base/json.h"
#include "report/doctor.h"

static const struct {
    const char *name, *shown;
    enum colour colour;
} states[] = {
#define X(id, name, shown, colour) {name, shown, colour},
    STATES(X)
#undef X
};

static void add_text(struct buf *out, const struct style *style, const struct host_caps *caps,
                     const struct judged_wall *walls, size_t count, enum state worst)
{
    static const char *const ends[] = {
        [STATE_OK] = "A run works here.",
        [STATE_WEAKER] = "A run works here; weaker walls are listed above.",
        [STATE_CANNOT_HOLD] = "bawn would refuse to run here: it runs nothing without its walls.",
    };
    buf_printf(out, "Linux %s on %s, as %s", caps->release, caps->architecture,
               caps->is_namespace_root ? "root of a user namespace"
               : caps->uid             ? "an ordinary user"
                                       : "root");
    if (*caps->container) {
        buf_add_str(out, ", inside ");
        style_add(style, out, COLOUR_PLAIN, caps->container);
    }
    buf_add_str(out, "\n\n");
    for (size_t i = 0; i < count; i++) {
        style_add_column(style, out, COLOUR_BOLD, walls[i].name, 19);
        style_add_column(style, out, states[walls[i].state].colour, states[walls[i].state].shown, 13);
        style_add(style, out, COLOUR_PLAIN, walls[i].says);
        buf_add_char(out, '\n');
        for (const char *const *line = walls[i].fixes; *line; line++) {
            buf_add_str(out, "    ");
            style_add(style, out, COLOUR_PLAIN, *line);
            buf_add_char(out, '\n');
        }
        if (walls[i].degrade != WALL_COUNT)
            buf_printf(out, "    bawn --degrade=%s CMD  # or go on without this wall\n",
                       wall_name(walls[i].degrade));
    }
    buf_add_char(out, '\n');
    style_add(style, out, states[worst].colour, ends[worst]);
    buf_add_char(out, '\n');
}

static void add_facts(struct json *json, const struct host_caps *caps)
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

static void add_json(struct buf *out, const struct host_caps *caps, const struct judged_wall *walls,
                     size_t count, enum state worst)
{
    struct json json = {.out = out};
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
    add_facts(&json, caps);
    json_close(&json, '}');
}

bool doctor_add(struct buf *out, const struct style *style, const struct host_caps *caps, bool as_json)
{
    auto_arena struct arena arena = {0};
    struct judged_wall walls[MOST_WALLS];
    enum state worst;
    size_t count = doctor_judge(caps, &arena, walls, &worst);
    if (as_json)
        add_json(out, caps, walls, count, worst);
    else
        add_text(out, style, caps, walls, count, worst);
    return worst != STATE_CANNOT_HOLD;
}
