/* `bawn shell-init`: prints shell functions, so that an agent's name runs the agent in bawn. */
#include <string.h>

#include "base/path.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/say.h"
#include "session/load.h"

static const struct {
    const char *name, *function; /* %s is the command's name */
} shells[] = {
    {"bash", "%s() { command bawn -- %s \"$@\"; }\n"},
    {"zsh", "%s() { command bawn -- %s \"$@\"; }\n"},
    {"fish", "function %s --wraps %s\n    command bawn -- %s $argv\nend\n"},
};

/* Does the name need no quotes in any shell? The user's own profiles may match any name. */
static bool is_plain(const char *name)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
    return *name && *name != '-' && name[strspn(name, plain)] == '\0';
}

static bool is_on_path(struct loaded *loaded, const char *name)
{
    const char *folders = text_variable(loaded->request.environment, "PATH");
    for (const char *folder; (folder = path_next_folder(&loaded->arena, &folders));) {
        const struct fs_place *place = NULL;
        struct err ignored;
        if (*folder == '/' &&
            fs_resolve(&loaded->fs, path_join(&loaded->arena, path_clean(&loaded->arena, "/", folder), name),
                       &place, &ignored) == 0 &&
            place->kind == FILE_REGULAR)
            return true;
    }
    return false;
}

static void add_function(struct buf *out, size_t shell, const char *command)
{
    for (const char *at = shells[shell].function; *at; at++) {
        if (at[0] == '%' && at[1] == 's') {
            buf_add_str(out, command);
            at++;
        } else {
            buf_add_char(out, *at);
        }
    }
}

/* Adds a function for each agent that is on the caller's PATH. */
static void add_agents(struct loaded *loaded, size_t shell, struct buf *out)
{
    struct profile_finder finder = load_finder(loaded);
    auto_vec fs_names commands = {0};
    profile_commands(&finder, &commands);
    for (size_t i = 0; i < commands.count; i++) {
        if (is_plain(commands.at[i]) && is_on_path(loaded, commands.at[i]))
            add_function(out, shell, commands.at[i]);
    }
}

int cmd_shell_init(const struct world *world, const struct args *args)
{
    size_t shell = 0;
    while (args->words.count == 1 && shell < array_len(shells) &&
           strcmp(args->words.at[0], shells[shell].name) != 0)
        shell++;
    if (args->words.count != 1 || shell == array_len(shells))
        return say_bad_input(world, "`bawn shell-init` needs a shell: bash, zsh or fish",
                             "`bawn shell-init --help` shows the line for each");
    if (text_equal(caller_variable(&world->caller, "BAWN"), "1"))
        return EXIT_FINE; /* inside, the name means the agent itself */
    auto_loaded struct loaded loaded = {0};
    int status = load_request(&world->caller, &loaded);
    auto_buf struct buf out = {0};
    if (status == 0)
        add_agents(&loaded, shell, &out);
    if (status == 0 && !out.size)
        say_problem(world, "no agent on your PATH",
                    "install one, or put this line below the one that sets PATH");
    put(world->out, &out);
    return status;
}
