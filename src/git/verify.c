/*
 * Which paths git lets into an index: its own rules (verify_path in git's read-cache.c), with the protection for NTFS and HFS+ always
 * on. Where git's rule about links named .gitmodules depends on a hash of the name, this one refuses more.
 */
#include "git/index.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "base/attr.h"

/* --- HFS+: some characters are ignored in names ------------------------------------------------------------------------------ */

/* One character of UTF-8; 0 at the end, and where it is not well formed. Moves on behind it. */
static unsigned next_character(const unsigned char **at)
{
    const unsigned char *byte = *at;
    if (byte[0] < 0x80) {
        *at += byte[0] != 0;
        return byte[0];
    }
    if ((byte[0] & 0xe0) == 0xc0 && (byte[1] & 0xc0) == 0x80) {
        *at += 2;
        return (byte[0] & 0x1fU) << 6 | (byte[1] & 0x3fU);
    }
    if ((byte[0] & 0xf0) == 0xe0 && (byte[1] & 0xc0) == 0x80 && (byte[2] & 0xc0) == 0x80) {
        *at += 3;
        return (byte[0] & 0xfU) << 12 | (byte[1] & 0x3fU) << 6 | (byte[2] & 0x3fU);
    }
    if ((byte[0] & 0xf8) == 0xf0 && (byte[1] & 0xc0) == 0x80 && (byte[2] & 0xc0) == 0x80 &&
        (byte[3] & 0xc0) == 0x80) {
        *at += 4;
        return 0x10000; /* which of them does not matter */
    }
    return 0;
}

static bool is_ignored(unsigned character)
{
    return (character >= 0x200c && character <= 0x200f) || (character >= 0x202a && character <= 0x202e) ||
           (character >= 0x206a && character <= 0x206f) || character == 0xfeff;
}

static unsigned next_counted(const unsigned char **at)
{
    unsigned character = next_character(at);
    while (is_ignored(character))
        character = next_character(at);
    return character;
}

/* Does the name of a file in `path` (up to the next slash) read as this one, in lower case, on HFS+? */
static bool is_on_hfs(const char *path, const char *wanted)
{
    const unsigned char *at = (const unsigned char *)path;
    for (; *wanted; wanted++) {
        unsigned character = next_counted(&at);
        if (character > 127 || tolower((int)character) != *wanted)
            return false;
    }
    unsigned end = next_counted(&at);
    return end == 0 || end == '/';
}

/* --- NTFS: short names, dots and spaces at the end, streams ------------------------------------------------------------------ */

static bool ends_on_ntfs(const char *rest)
{
    rest += strspn(rest, ". ");
    return !*rest || strchr("/\\:", *rest);
}

static bool is_on_ntfs(const char *path, const char *wanted)
{
    return strncasecmp(path, wanted, strlen(wanted)) == 0 && ends_on_ntfs(path + strlen(wanted));
}

static bool is_git_on_ntfs(const char *path)
{
    return is_on_ntfs(path, ".git") || is_on_ntfs(path, "git~1");
}

/* A link of this name would be followed: git reads settings of submodules from it. Short names of NTFS begin like the last two. */
static bool is_modules(const char *path)
{
    return is_on_hfs(path, ".gitmodules") || is_on_ntfs(path, ".gitmodules") ||
           strncasecmp(path, "gitmod~", strlen("gitmod~")) == 0 ||
           strncasecmp(path, "gi7eba", strlen("gi7eba")) == 0;
}

/* --- paths and modes --------------------------------------------------------------------------------------------------------- */

static bool name_is_allowed(const char *path, size_t size, bool is_link)
{
    bool is_dots = (size == 1 && path[0] == '.') || (size == 2 && path[0] == '.' && path[1] == '.');
    return size > 0 && !is_dots && !is_on_hfs(path, ".git") && !is_git_on_ntfs(path) &&
           !(is_link && is_modules(path));
}

bool git_path_is_allowed(const char *path, unsigned mode)
{
    bool is_link = S_ISLNK(mode);
    for (const char *name = path;;) {
        size_t size = strcspn(name, "/");
        if (!name_is_allowed(name, size, is_link))
            return false;
        /* On NTFS a backslash separates names, too. */
        for (const char *at = memchr(name, '\\', size); at;
             at = memchr(at, '\\', size - (size_t)(at - name))) {
            at++;
            if (is_git_on_ntfs(at) || (is_link && is_modules(at)))
                return false;
        }
        name += size;
        if (!*name)
            return !S_ISDIR(mode);
        name++;
        if (!*name) /* a directory that is left out of a sparse index ends in a slash */
            return S_ISDIR(mode);
    }
}

bool git_mode_is_written(unsigned mode)
{
    static const unsigned written[] = {0100644, 0100755, 0120000, 0160000, 0040000};
    for (size_t i = 0; i < array_len(written); i++) {
        if (mode == written[i])
            return true;
    }
    return false;
}
