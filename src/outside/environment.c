/*
 * What the user's programs need: who and where the user is, how to show and read text, the desktop, agents
 * for keys, proxies, and settings of programs that hand out secrets. No variable that makes a usual program
 * load or run code (GIT_*, LD_*, PYTHON*, NODE_*, PERL5*, RUBY*, BASH_ENV, ENV, SHELLOPTS): it may have been
 * set by a project's own file.
 */
#include "outside/environment.h"

#include <string.h>

#include "base/fd.h"
#include "base/path.h"
#include "base/text.h"

static const char *const names[] = {
    "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TZ", "TERM", "COLORTERM", "TERM_PROGRAM",
    "NO_COLOR", "COLUMNS", "LINES", "LESS", "LESSCHARSET", "TMUX", "TMUX_PANE",
    /* the desktop and its browser */
    "DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "DBUS_SESSION_BUS_ADDRESS", "DESKTOP_SESSION",
    "KDE_FULL_SESSION", "KDE_SESSION_VERSION", "GNOME_DESKTOP_SESSION_ID", "BROWSER", "VSCODE_IPC_HOOK_CLI",
    "WSL_DISTRO_NAME", "WSL_INTEROP",
    /* keys, secrets and the network */
    "SSH_AUTH_SOCK", "SSH_AGENT_PID", "SSH_CONNECTION", "SSH_TTY", "SSH_ASKPASS", "SSH_ASKPASS_REQUIRE",
    "GPG_AGENT_INFO", "GPG_TTY", "GNUPGHOME", "SSL_CERT_FILE", "SSL_CERT_DIR", "CREDENTIALS_DIRECTORY",
    "http_proxy", "https_proxy", "ftp_proxy", "all_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY",
    "ALL_PROXY", "NO_PROXY",
    /* programs that hand out secrets */
    "GH_HOST", "GH_CONFIG_DIR", "GH_TOKEN", "GH_ENTERPRISE_TOKEN", "GITHUB_TOKEN", "GITLAB_HOST",
    "GITLAB_TOKEN", "GLAB_CONFIG_DIR", "AWS_PROFILE", "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_CONFIG_FILE",
    "AWS_SHARED_CREDENTIALS_FILE", "AZURE_CONFIG_DIR", "CLOUDSDK_CONFIG", "CLOUDSDK_ACTIVE_CONFIG_NAME",
    "GOOGLE_APPLICATION_CREDENTIALS", "VAULT_ADDR", "VAULT_NAMESPACE", "VAULT_TOKEN", "VAULT_CACERT",
    "BW_SESSION", "OP_ACCOUNT", "OP_SERVICE_ACCOUNT_TOKEN", "PASSWORD_STORE_DIR", "MUNGE_SOCKET"};

static const char *const beginnings[] = {"LC_",     "XDG_",    "KRB5",     "SLURM_",
                                         "SBATCH_", "SQUEUE_", "SCANCEL_", "OP_SESSION_"};

static bool is_listed(const char *name)
{
    if (text_is_among(name, names, array_len(names)))
        return true;
    for (size_t i = 0; i < array_len(beginnings); i++) {
        if (text_starts_with(name, beginnings[i]))
            return true;
    }
    return false;
}

/* less runs what follows a + in its settings, and obeys files that they name. */
static bool makes_less_run(const char *name, const char *value)
{
    return strcmp(name, "LESS") == 0 && strpbrk(value, "+/=|$");
}

/*
 * The path in a part of a value; NULL: there is none. Programs such as aws take ~ for the home. What begins
 * otherwise is relative to /, where programs are started; "path=/run/user/1000/bus" has a path behind the
 * sign.
 */
static const char *path_in(const struct outside *outside, struct arena *arena, const char *part)
{
    const char *home = text_variable(outside->environment, "HOME"), *sign = strchr(part, '='),
               *slash = strchr(part, '/');
    home = home ? home : outside->home;
    if (sign && slash > sign)
        part = sign + 1;
    if (*part == '~' && (part[1] == '/' || !part[1]) && home)
        return arena_printf(arena, "%s%s", home, part + 1);
    return !slash ? NULL : *part == '/' ? part : arena_printf(arena, "/%s", part);
}

/* Does the value, or a part of a list, name a place where a run can write? */
static bool leads_inside(const struct outside *outside, const struct trees *trees, struct arena *arena,
                         const char *value)
{
    const char *part;
    while ((part = path_next_folder(arena, &value))) {
        struct judged judged = {.fd = -1};
        struct err ignored;
        const char *path = path_in(outside, arena, part);
        int found = path ? judge_open(trees, arena, path, JUDGE_FILE, &judged, &ignored) : 0;
        fd_close(judged.fd);
        if (found < 0)
            return true;
    }
    return false;
}

const char *const *environment_for(const struct outside *outside, const struct trees *trees,
                                   struct arena *arena, const struct judged_path *path,
                                   const char *const *facts)
{
    size_t count = 0, kept = 0;
    while (outside->environment[count])
        count++;
    size_t fact_count = 0;
    while (facts && facts[fact_count])
        fact_count++;
    const char **list = arena_alloc(arena, (count + fact_count + 3) * sizeof(*list));
    for (size_t i = 0; i < count; i++) {
        const char *entry = outside->environment[i];
        size_t size = strcspn(entry, "=");
        const char *name = arena_copy(arena, entry, size);
        if (entry[size] && is_listed(name) && !text_variable(facts ? facts : &(const char *){NULL}, name) &&
            !makes_less_run(name, entry + size + 1) && !leads_inside(outside, trees, arena, entry + size + 1))
            list[kept++] = entry;
    }
    if (outside->home && !text_variable(outside->environment, "HOME"))
        list[kept++] = arena_printf(arena, "HOME=%s", outside->home);
    list[kept++] = arena_printf(arena, "PATH=%s", path->text);
    for (size_t i = 0; i < fact_count; i++)
        list[kept++] = facts[i];
    list[kept] = NULL;
    return list;
}
