/* `bawn init`: writes a .bawn for the repository in which every rule is commented out. */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/say.h"
#include "kernel/beneath.h"
#include "session/load.h"

/* Names that often contain secrets. */
static const char *const secret_names[] = {
    ".env",    ".env.local",       ".env.production",      ".env.prod",
    "secrets", "credentials.json", "service-account.json", "terraform.tfstate"};

static void add_toolchains(const struct loaded *loaded, struct buf *out)
{
    bool any = false;
    for (size_t i = 0; i < loaded->policy.profiles_in_use.count; i++) {
        const char *name = loaded->policy.profiles_in_use.at[i];
        if (!text_starts_with(name, "toolchain/"))
            continue;
        buf_printf(out, "%s %s", any ? "," : "# Found here, and used automatically:", name);
        any = true;
    }
    buf_add_str(out, any ? ".\n" : "# None of the known toolchains was found here.\n");
}

/* "# hide     .env  secrets/": the files that exist here, or an example. */
static void add_secrets(const struct loaded *loaded, struct buf *out)
{
    const char *workspace = loaded->policy.workspaces.at[0].path;
    bool any = false;
    buf_add_str(out, "# hide     ");
    for (size_t i = 0; i < array_len(secret_names); i++) {
        const char *path = path_join(loaded->policy.arena, workspace, secret_names[i]);
        enum file_kind kind = fs_kind(loaded->request.fs, path);
        if (kind != FILE_REGULAR && kind != FILE_DIRECTORY)
            continue;
        buf_printf(out, "%s%s%s", any ? "  " : "", secret_names[i], kind == FILE_DIRECTORY ? "/" : "");
        any = true;
    }
    buf_add_str(out, any ? "\n" : "secrets/  .env.production\n");
}

static void add_text(const struct loaded *loaded, struct buf *out)
{
    buf_add_str(
        out,
        "# Rules for agents in this repository, one per line. Remove the # before those that you want.\n"
        "# `man 5 bawn-policy` describes the language, `bawn show -- claude` shows the whole policy, and\n"
        "# `bawn check` reports mistakes.\n"
        "#\n"
        "# For everyone who clones this repository, this file can only take access away, until they run\n"
        "# `bawn trust`. Agents cannot change this file: it is frozen inside.\n"
        "\n"
        "# ---- take access away: applies at once ----\n"
        "\n"
        "# Hidden files of the repository:\n");
    add_secrets(loaded, out);
    buf_add_str(out, "\n"
                     "# Read-only files:\n"
                     "# read     vendor/  docs/adr/\n"
                     "\n"
                     "# Changes of these need your approval at the end of the run:\n"
                     "# flag     deploy/  Makefile\n"
                     "\n"
                     "# Hosts that stay out of reach, though a profile allows them:\n"
                     "# refuse   registry.npmjs.org\n"
                     "\n"
                     "# limit    memory=8G  time=2h\n"
                     "\n"
                     "# ---- grant access: applies after `bawn trust` ----\n"
                     "\n");
    add_toolchains(loaded, out);
    buf_add_str(out, "# use      net/github  toolchain/python\n"
                     "\n"
                     "# Hosts that the work needs; add the port if it is not 443:\n"
                     "# connect  api.example.com  db.example.com:5432\n"
                     "\n"
                     "# A service on this machine, such as a database on localhost:\n"
                     "# host-port 5432\n"
                     "\n"
                     "# Variables to pass on or to set:\n"
                     "# env      DATABASE_URL  NODE_ENV=development\n");
}

static int write_new(const struct world *world, const char *path, const struct buf *text, struct err *err)
{
    const char *name;
    auto_fd int folder = open_parent_beneath(world->caller.root_fd, path + 1, &name);
    auto_fd int fd =
        folder < 0 ? -1 : openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
    if (fd < 0 && errno == EEXIST) {
        err_set(err, "%s exists already", path);
        return err_hint(err, "it was not changed; `bawn check` reports mistakes in it");
    }
    if (fd < 0)
        return err_sys(err, errno, "cannot make %s", path);
    if (write_whole(fd, text->bytes, text->size) < 0) {
        err_sys(err, errno, "cannot write %s", path);
        unlinkat(folder, name, 0);
        return -1;
    }
    return 0;
}

int cmd_init(const struct world *world, const struct args *args)
{
    const struct run_request request = args_request(args);
    auto_loaded struct loaded loaded = {0};
    int status = load_policy(&world->caller, &request, &loaded);
    if (status)
        return status;
    if (loaded.policy.workspaces.count == 0) {
        load_say_diags(&world->speaker, &loaded);
        return EXIT_BAD_INPUT;
    }
    auto_buf struct buf text = {0}, out = {0};
    add_text(&loaded, &text);
    const char *path = path_join(&loaded.arena, loaded.policy.workspaces.at[0].path, ".bawn");
    struct err err = {0};
    if (write_new(world, path, &text, &err) < 0)
        return say_err(world, &err);
    struct style style = style_for_out(world, loaded.request.home);
    style_add_path(&style, &out, COLOUR_BOLD, path);
    buf_add_str(&out,
                " was written. All rules in it are comments: remove the # before those that you want.\n");
    put(world->out, &out);
    return EXIT_FINE;
}
