/*
 * What the user's ssh reads by itself, for a connection of git's: ~/.ssh/config, the files that it includes, keys and known hosts. A setting such as
 * ProxyCommand makes ssh run a program, so none of these files may lie, or lead, where a command inside can write.
 */
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "base/text.h"
#include "kernel/account.h"
#include "kernel/directories.h"
#include "supervise/known_hosts.h"

enum { LARGEST_FILE = 4 << 20, MOST_FILES = 256, MOST_INCLUDES = 16 }; /* the last is ssh's own */

struct settings {
    struct arena *arena;
    const char *home;      /* whose settings are being read */
    fs_names files, texts; /* texts: words that may name files or programs */
};

static bool is_setting(const char *line, const char *const *names, size_t count)
{
    size_t size = strcspn(line, " \t=");
    for (size_t i = 0; i < count; i++) {
        if (strlen(names[i]) == size && strncasecmp(line, names[i], size) == 0)
            return true;
    }
    return false;
}

/* %d is the home. What another token becomes is not known: like a variable of the shell it ends what can be told of a word. */
static const char *expand_tokens(const struct settings *settings, const char *words)
{
    auto_buf struct buf text = {0};
    for (; *words; words++) {
        if (words[0] != '%' || !words[1])
            buf_add_char(&text, *words);
        else if (*++words == '%')
            buf_add_char(&text, '%');
        else
            buf_add_str(&text, *words == 'd' ? settings->home : "${token}");
    }
    return arena_str(settings->arena, buf_text(&text));
}

/* The words of a setting that names files or programs. A file is judged as a word behind the command ":", and not as a program. */
static void add_words(struct settings *settings, const char *line, const char *words)
{
    static const char *const files[] = {"identityfile",         "certificatefile", "userknownhostsfile",
                                        "globalknownhostsfile", "identityagent",   "pkcs11provider",
                                        "securitykeyprovider",  "revokedhostkeys", "xauthlocation",
                                        "controlpath"};
    static const char *const programs[] = {"knownhostscommand", "proxycommand", "localcommand", "match"};
    words = expand_tokens(settings, words + strspn(words, " \t="));
    if (is_setting(line, programs, array_len(programs)))
        vec_push(&settings->texts, words);
    else if (is_setting(line, files, array_len(files)))
        vec_push(&settings->texts, arena_printf(settings->arena, ": %s", words));
}

static int add_file(struct settings *settings, const char *path, unsigned depth, struct err *err);

/* The files of a directory whose names fit the pattern. The directory is judged as well: a file may be made there a moment later. */
static int add_pattern(struct settings *settings, const char *path, unsigned depth, struct err *err)
{
    const char *folder = path_parent(settings->arena, path);
    int trouble = 0;
    if (strpbrk(folder, "*?["))
        return err_set(err, "ssh is not used: its configuration includes %s, a pattern for directories",
                       path);
    vec_push(&settings->files, folder);
    auto_dir DIR *files = opendir(folder);
    if (!files)
        return errno == ENOENT || errno == ENOTDIR ? 0 : err_sys(err, errno, "cannot read %s", folder);
    for (const struct dirent *entry; (entry = directories_next(files, &trouble));) {
        if (fnmatch(path_name(path), entry->d_name, FNM_PERIOD) == 0 &&
            add_file(settings, path_join(settings->arena, folder, entry->d_name), depth, err) < 0)
            return -1;
    }
    return trouble ? err_sys(err, trouble, "cannot read %s", folder) : 0;
}

/* The words of Include: paths and patterns, beneath ~/.ssh if they are relative. */
static int add_included(struct settings *settings, char *words, unsigned depth, struct err *err)
{
    const char *folder = path_join(settings->arena, settings->home, ".ssh"), *word;
    while ((word = strsep(&words, " \t=\r"))) {
        const char *path = text_starts_with(word, "~/") ? path_join(settings->arena, settings->home, word + 2)
                                                        : path_clean(settings->arena, folder, word);
        if (*word && (strpbrk(path, "*?[") ? add_pattern(settings, path, depth, err)
                                           : add_file(settings, path, depth, err)) < 0)
            return -1;
    }
    return 0;
}

static int add_lines(struct settings *settings, struct bytes text, unsigned depth, struct err *err)
{
    static const char include[] = "include";
    struct bytes line;
    while (bytes_take_line(&text, &line)) {
        char *words = arena_copy(settings->arena, line.at, line.size);
        words += strspn(words, " \t");
        for (char *at = words; *at; at++)
            *at = (char)(strchr("\"'", *at) ? ' ' : *at);
        char *rest = words + strcspn(words, " \t=");
        if ((size_t)(rest - words) == strlen(include) && strncasecmp(words, include, strlen(include)) == 0) {
            if (add_included(settings, rest, depth + 1, err) < 0)
                return -1;
        } else {
            add_words(settings, words, rest);
        }
    }
    return 0;
}

/* A file of settings, with those that it includes. */
static int add_file(struct settings *settings, const char *path, unsigned depth, struct err *err)
{
    auto_buf struct buf text = {0};
    if (depth > MOST_INCLUDES || settings->files.count >= MOST_FILES)
        return err_set(err, "ssh is not used: its configuration includes too many files");
    vec_push(&settings->files, path);
    auto_fd int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0 || buf_read(&text, fd, LARGEST_FILE) < 0) /* ssh cannot read it either, or it is a directory */
        return 0;
    return add_lines(settings, bytes_of(text.bytes, text.size), depth, err);
}

/* Everything below the home that ssh reads. */
static int add_home(struct settings *settings, const char *home, struct err *err)
{
    static const char *const names[] = {
        "known_hosts",         "known_hosts2",     "id_rsa",        "id_dsa",  "id_ecdsa",
        "id_ed25519",          "id_ecdsa_sk",      "id_ed25519_sk", "id_xmss", "id_rsa-cert.pub",
        "id_ed25519-cert.pub", "id_ecdsa-cert.pub"};
    settings->home = home;
    if (!home || *home != '/')
        return 0;
    for (size_t i = 0; i < array_len(names); i++)
        vec_push(&settings->files, arena_printf(settings->arena, "%s/.ssh/%s", home, names[i]));
    return add_file(settings, path_join(settings->arena, home, ".ssh/config"), 0, err);
}

int ssh_files_check(const struct outside *outside, struct err *err)
{
    auto_arena struct arena arena = {0};
    char room[ACCOUNT_LARGEST];
    struct passwd account;
    const char *home = text_variable(outside->environment, "HOME");
    struct settings settings = {.arena = &arena};
    int result = add_home(&settings, home ? home : outside->home, err);
    if (result == 0 && account_find(getuid(), &account, room)) /* ssh itself takes this one */
        result = add_home(&settings, account.pw_dir, err);
    vec_push(&settings.files, NULL);
    vec_push(&settings.texts, NULL);
    if (result == 0)
        result = outside_check(outside, settings.files.at, settings.texts.at, err);
    vec_free(&settings.files);
    vec_free(&settings.texts);
    return result;
}
