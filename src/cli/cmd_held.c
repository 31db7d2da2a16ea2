/* `bawn held`: lists the files that sessions hold aside, and puts them back. */
#include <dirent.h>

#include "base/fd.h"
#include "base/json.h"
#include "base/path.h"
#include "cli/choose.h"
#include "cli/commands.h"
#include "cli/say.h"
#include "hold/aside.h"
#include "kernel/beneath.h"
#include "session/load.h"

/* Lists the files that a session holds aside. */
static void list(const struct world *world, struct loaded *loaded, const char *session, struct json *json,
                 struct buf *out)
{
    auto_fd int sessions_fd = sessions_open(loaded);
    auto_fd int fd = session_open(sessions_fd, session);
    auto_vec held_list all = {0};
    struct style style = style_for_out(world, loaded->request.home);
    if (fd >= 0)
        aside_find(&loaded->arena, fd, &all);
    vec_each (const struct held, held, &all) {
        if (json) {
            json_open(json, NULL, '{');
            json_str(json, "session", session);
            json_str(json, "path", held->path);
            json_str(json, "held_at",
                     arena_printf(&loaded->arena, "%s/bawn/sessions/%s/%s%s",
                                  loaded->request.starts[START_STATE], session, held->folder, held->path));
            json_close(json, '}');
            continue;
        }
        style_add(&style, out, COLOUR_BOLD, session);
        buf_add_str(out, "  ");
        style_add_path(&style, out, COLOUR_PLAIN, held->path);
        buf_add_str(out, held->number == 1 ? "\n" : arena_printf(&loaded->arena, "  (%s)\n", held->folder));
    }
}

static void list_sessions(struct loaded *loaded, fs_names *ret_names)
{
    auto_dir DIR *directory =
        opendir(arena_printf(&loaded->arena, "%s/bawn/sessions", loaded->request.starts[START_STATE]));
    for (const struct dirent *entry; directory && (entry = readdir(directory));) {
        if (*entry->d_name != '.')
            vec_push(ret_names, arena_str(&loaded->arena, entry->d_name));
    }
    fs_sort_names(ret_names);
}

static int show(const struct world *world, const struct args *args, struct loaded *loaded)
{
    auto_vec fs_names sessions = {0};
    auto_buf struct buf out = {0};
    struct json json = {.out = &out};
    bool as_json = args->flags & FLAG(JSON);
    if (args->words.count)
        vec_push(&sessions, args->words.at[0]);
    else
        list_sessions(loaded, &sessions);
    if (as_json)
        json_open(&json, NULL, '[');
    for (size_t i = 0; i < sessions.count; i++)
        list(world, loaded, sessions.at[i], as_json ? &json : NULL, &out);
    if (as_json)
        json_close(&json, ']');
    else if (!out.size)
        buf_add_str(&out, "No file is set aside.\n");
    put(world->out, &out);
    return EXIT_FINE;
}

static void say_returned(const struct world *world, const struct loaded *loaded, const char *path)
{
    struct style style = style_for_out(world, loaded->request.home);
    auto_buf struct buf out = {0};
    buf_add_str(&out, "Put back ");
    style_add_path(&style, &out, COLOUR_PLAIN, path);
    buf_add_str(&out, ".\n");
    put(world->out, &out);
}

static int keep(const struct world *world, const struct args *args, struct loaded *loaded, int session_fd)
{
    auto_vec held_list all = {0};
    int status = EXIT_FINE;
    for (size_t i = 1; i < args->words.count; i++)
        vec_push(&all,
                 (struct held){path_clean(&loaded->arena, loaded->request.directory, args->words.at[i])});
    if (!all.count)
        aside_find(&loaded->arena, session_fd, &all);
    aside_keep_newest(&all);
    for (size_t i = 0; i < all.count; i++) {
        struct err err = {0};
        if (aside_return(&loaded->arena, session_fd, all.at[i].path, &err) < 0)
            status = say_err(world, &err);
        else
            say_returned(world, loaded, all.at[i].path);
    }
    return status;
}

int cmd_held(const struct world *world, const struct args *args)
{
    auto_loaded struct loaded loaded = {0};
    int status = load_request(&world->caller, &loaded);
    if (status)
        return status;
    auto_fd int sessions_fd = sessions_open(&loaded);
    auto_fd int fd = args->words.count ? session_open(sessions_fd, args->words.at[0]) : -1;
    if (args->words.count && fd < 0)
        return say_bad_input(world, arena_printf(&loaded.arena, "there is no session %s", args->words.at[0]),
                             "`bawn held` lists the sessions with files set aside");
    if (args->flags & FLAG(KEEP) && fd < 0)
        return say_bad_input(world, "`bawn held --keep` needs a session", "`bawn held` lists them");
    return (args->flags & FLAG(KEEP)) ? keep(world, args, &loaded, fd) : show(world, args, &loaded);
}
