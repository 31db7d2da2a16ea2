/*
 * Addresses of repositories, as git reads them. A push to a repository of this machine runs the hooks of that repository, as the user, and a fetch
 * obeys its configuration. What a command can write differs from run to run, and a link can be put on the way later: so every address that does not
 * name another machine counts, wherever it leads.
 */
#include <string.h>

#include "base/text.h"
#include "git/config.h"

/* Does git look for the repository on another machine? "https://host/x", "user@host:x"; not "../x", "file:///x" or "ext::x". */
static bool is_elsewhere(const char *address)
{
    static const char *const schemes[] = {"https://", "ssh://",     "git://", "http://",
                                          "ftps://",  "git+ssh://", "ftp://", "ssh+git://"};
    for (size_t i = 0; i < array_len(schemes); i++) {
        if (text_starts_with(address, schemes[i]))
            return true;
    }
    const char *end = address + strcspn(address, ":/");
    return *end == ':' && end[1] != ':' && !text_starts_with(end, "://");
}

static bool is_setting(const struct git_setting *setting, const char *section, const char *name)
{
    return strcmp(setting->section, section) == 0 && strcmp(setting->name, name) == 0;
}

/* Is the value an address, whatever else is set? */
static bool holds_address(const struct git_setting *setting)
{
    return is_setting(setting, "remote", "url") || is_setting(setting, "remote", "pushurl") ||
           is_setting(setting, "remote", "lfsurl") || is_setting(setting, "remote", "lfspushurl") ||
           is_setting(setting, "submodule", "url") || is_setting(setting, "svn-remote", "url") ||
           is_setting(setting, "svn-remote", "pushurl");
}

/*
 * The remote that git reaches because of the setting; NULL: none. A remote is fetched from (`git fetch --all`) for any setting of its own.
 */
static const char *remote_of(const struct git_setting *setting)
{
    static const char own_repository[] = ".";
    if (strcmp(setting->section, "remote") == 0 && *setting->subsection)
        return setting->subsection;
    bool is_named = is_setting(setting, "branch", "remote") || is_setting(setting, "branch", "pushremote") ||
                    is_setting(setting, "remote", "pushdefault");
    return is_named && strcmp(setting->value, own_repository) != 0 ? setting->value : NULL;
}

bool git_setting_leads_here(const git_setting_list *settings, const git_setting_list *trusted,
                            const struct git_setting *setting)
{
    if (holds_address(setting))
        return !is_elsewhere(setting->value);
    const char *name = remote_of(setting);
    if (!name)
        return false;
    vec_each (const struct git_setting, other, settings) {
        if (is_setting(other, "remote", "url") && strcmp(other->subsection, name) == 0 &&
            (is_elsewhere(other->value) || git_setting_list_has(trusted, other)))
            return false;
    }
    return !is_elsewhere(name); /* where no remote has the name, git takes it for an address */
}
