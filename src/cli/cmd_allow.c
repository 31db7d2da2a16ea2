/* Grants more to a running session: hosts (`bawn allow`) and ports (`bawn publish`). */
#include <dirent.h>
#include <string.h>

#include "base/fd.h"
#include "base/path.h"
#include "cli/choose.h"
#include "cli/commands.h"
#include "cli/say.h"
#include "report/event.h"
#include "session/load.h"
#include "supervise/control.h"
#include "trust/trust.h"
#include "workspace/record.h"

const char allow_usage[] = "bawn allow [--once | --session | --always] [@SESSION] HOST[:PORT]...\n"
                           "\n"
                           "Let the running session reach a host, at once. If several are running, bawn\n"
                           "takes the only one in this workspace; otherwise name one with @SESSION.\n"
                           "\n"
                           "  --once      for one connection\n"
                           "  --session   for this session only (the default)\n"
                           "  --always    for later sessions, too: adds the rule to your policy file\n"
                           "\n"
                           "  bawn allow api.example.com\n"
                           "  bawn allow --always db.corp:5432\n";

void running_find(struct loaded *loaded, fs_names *ret_names)
{
    const char *state = loaded->request.starts[START_STATE];
    auto_dir DIR *folder = opendir(arena_printf(&loaded->arena, "%s/bawn/running", state));
    auto_fd int sessions_fd = sessions_open(loaded);
    for (const struct dirent *entry; folder && (entry = readdir(folder));) {
        if (*entry->d_name != '.' && record_is_busy(sessions_fd, entry->d_name))
            vec_push(ret_names, arena_str(&loaded->arena, entry->d_name));
    }
}

/* The only one of them that runs in a workspace around the current directory; NULL: none or several. */
static const char *only_one_here(struct loaded *loaded, const fs_names *names)
{
    auto_fd int sessions_fd = sessions_open(loaded);
    const char *found = NULL;
    for (size_t i = 0; i < names->count; i++) {
        auto_fd int fd = session_open(sessions_fd, names->at[i]);
        struct glance glance = {0};
        if (fd < 0 || !glance_at(fd, &loaded->arena, loaded->request.home, &glance) || !glance.workspace ||
            !path_is_beneath(loaded->request.directory, glance.workspace))
            continue;
        if (found)
            return NULL;
        found = names->at[i];
    }
    return found;
}

/* The session: `@NAME` among the words, or the only one that runs, here or at all. NULL after saying what is wrong. */
static const char *choose_session(const struct world *world, const struct args *args, struct loaded *loaded)
{
    for (size_t i = 0; i < args->words.count; i++) {
        if (args->words.at[i][0] == '@')
            return args->words.at[i] + 1;
    }
    auto_vec fs_names names = {0};
    running_find(loaded, &names);
    const char *chosen = names.count == 1 ? names.at[0] : only_one_here(loaded, &names);
    if (chosen)
        return chosen;
    if (names.count == 0)
        say_problem(
            world, "no session is running",
            "`bawn --connect HOST CMD` allows a host for one run, `bawn allow --always HOST` for all later ones");
    auto_buf struct buf list = {0};
    for (size_t i = 0; names.count > 1 && i < names.count; i++)
        buf_printf(&list, " @%s", names.at[i]);
    if (names.count > 1)
        say_problem(world, "several sessions are running",
                    arena_printf(&loaded->arena, "name one:%s", buf_text(&list)));
    return chosen;
}

const char *running_folder(struct loaded *loaded, const char *session)
{
    return arena_printf(&loaded->arena, "%s/bawn/sessions/%s", loaded->request.starts[START_STATE], session);
}

int running_tell(const struct world *world, struct loaded *loaded, const char *session, const char *line)
{
    struct err err = {0};
    const char *folder = running_folder(loaded, session);
    bool is_there = !strchr(session, '/') && *session && *session != '.' && access(folder, F_OK) == 0;
    if (is_there && control_ask(folder, line, &err) == 0)
        return EXIT_FINE;
    if (!*err.message) {
        err_set(&err, "there is no session %s", session);
        err_hint(&err, "`bawn sessions` lists the sessions");
    }
    return say_err(world, &err);
}

/* The host as a rule spells it: "example.com:443". NULL after saying what is wrong. */
static const char *host_of_word(const struct world *world, struct loaded *loaded, const char *word)
{
    struct host_object host;
    const char *problem = NULL, *hint = NULL;
    if (host_parse(&loaded->arena, word, &host, &problem, &hint) == 0)
        problem = host_problem_with_grant(&loaded->arena, &host, &hint);
    if (problem) {
        say_problem(world, arena_printf(&loaded->arena, "%s: %s", word, problem), hint);
        return NULL;
    }
    uint16_t port = host.port ? host.port : PORT_HTTPS;
    return arena_printf(&loaded->arena, "%s%s",
                        host_with_port(&loaded->arena, host_text(&loaded->arena, &host), port),
                        host.may_be_unnamed ? HOST_UNNAMED : "");
}

int policy_line_add(const struct world *world, struct loaded *loaded, const char *verb, const char *object)
{
    struct err err = {0};
    struct style style = {.home = loaded->request.home};
    const char *file = path_join(&loaded->arena, loaded->request.starts[START_CONFIG], "bawn/policy.bawn");
    const char *shown = style_path(&style, &loaded->arena, file);
    int added =
        own_policy_add(&loaded->arena, file, arena_printf(&loaded->arena, "%s %s", verb, object), &err);
    if (added < 0)
        return say_err(world, &err);
    bool is_grant = strcmp(verb, "refuse") != 0 && strcmp(verb, "hide") != 0 && strcmp(verb, "unset") != 0;
    if (added)
        fprintf(world->out, "%s %s from now on: added `%s %s` to %s.\n", is_grant ? "Allowed" : "Refused",
                object, verb, object, shown);
    else
        fprintf(world->out, "%s was %s already by `%s %s` in %s.\n", object, is_grant ? "allowed" : "refused",
                verb, object, shown);
    return EXIT_FINE;
}

static int allow_one(const struct world *world, const struct args *args, struct loaded *loaded,
                     const char *session, const char *object)
{
    bool is_once = args->flags & FLAG(ONCE);
    int status = (args->flags & FLAG(ALWAYS)) ? policy_line_add(world, loaded, "connect", object) : EXIT_FINE;
    if (status == EXIT_FINE && session)
        status = running_tell(world, loaded, session,
                              arena_printf(&loaded->arena, "%s %s", is_once ? "once" : "allow", object));
    if (status == EXIT_FINE && session)
        fprintf(world->out, "Allowed %s for %s%s.\n", object, is_once ? "one connection of " : "", session);
    return status;
}

/* `ports` is what port_of_word() made. */
static int publish_one(const struct world *world, struct loaded *loaded, const char *session,
                       const char *ports)
{
    int status = running_tell(world, loaded, session, arena_printf(&loaded->arena, "publish %s", ports));
    int inside = (int)strcspn(ports, " ");
    if (status == EXIT_FINE)
        fprintf(world->out, "Published port %.*s of %s at 127.0.0.1:%s.\n", inside, ports, session,
                ports + inside + 1);
    return status;
}

/* The ports for the session, inside and outside: "3000 8080". NULL after saying what is wrong. */
static const char *port_of_word(const struct world *world, struct loaded *loaded, const char *word)
{
    const char *colon = strchr(word, ':');
    const char *outside_text = arena_copy(&loaded->arena, word, strcspn(word, ":"));
    uint16_t inside, outside;
    if (!port_parse(colon ? colon + 1 : word, &inside) || !port_parse(outside_text, &outside)) {
        say_problem(world, arena_printf(&loaded->arena, "%s is not a port", word),
                    "write 3000, or 8080:3000 for port 8080 on this machine");
        return NULL;
    }
    return arena_printf(&loaded->arena, "%u %u", inside, outside);
}

/* Parses all words but @SESSION before anything is done. Returns false after saying what is wrong. */
static bool read_objects(const struct world *world, const struct args *args, struct loaded *loaded,
                         bool is_host, fs_names *ret_objects)
{
    for (size_t i = 0; i < args->words.count; i++) {
        const char *word = args->words.at[i];
        if (word[0] == '@')
            continue;
        const char *object = is_host ? host_of_word(world, loaded, word) : port_of_word(world, loaded, word);
        if (!object)
            return false;
        vec_push(ret_objects, object);
    }
    if (ret_objects->count == 0)
        say_problem(world, is_host ? "`bawn allow` needs a host" : "`bawn publish` needs a port", NULL);
    return ret_objects->count > 0;
}

static int give(const struct world *world, const struct args *args, bool is_host)
{
    flag_set times = args->flags & (FLAG(ONCE) | FLAG(SESSION) | FLAG(ALWAYS));
    if (times & (times - 1))
        return say_bad_input(world, "a host is allowed once, for a session or always",
                             "write one of the three");
    auto_loaded struct loaded loaded = {0};
    int status = load_request(&world->caller, &loaded);
    auto_vec fs_names running = {0}, objects = {0};
    if (status == 0 && !read_objects(world, args, &loaded, is_host, &objects))
        status = EXIT_BAD_INPUT;
    if (status == 0)
        running_find(&loaded, &running);
    if (status == 0 && !is_host && running.count == 0)
        return say_bad_input(world, "no session is running",
                             "`bawn --publish PORT CMD` starts one with the port");
    /* --always works without a running session. */
    bool only_later = is_host && args->flags & FLAG(ALWAYS) && running.count == 0;
    const char *session = status || only_later ? NULL : choose_session(world, args, &loaded);
    if (status == 0 && !only_later && !session)
        status = EXIT_BAD_INPUT;
    for (size_t i = 0; status == 0 && i < objects.count; i++)
        status = is_host ? allow_one(world, args, &loaded, session, objects.at[i])
                         : publish_one(world, &loaded, session, objects.at[i]);
    return status;
}

int cmd_allow(const struct world *world, const struct args *args)
{
    return give(world, args, true);
}

int cmd_publish(const struct world *world, const struct args *args)
{
    return give(world, args, false);
}
