/*
 * Tokens of the user's files, which requests are searched for: those that programs store their logins in.
 *
 * A process of its own reads the files, since bawn has no secret in its heap. It writes lines through a pipe: `known token SIZE HASH NAME` for each
 * token, and `unread NAME` for a file that it could not read.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "base/text.h"
#include "base/timespec.h"
#include "base/token_file.h"
#include "policy/decide.h"
#include "supervise/vault.h"

enum {
    LARGEST_FILE = 1 << 20,
    MOST_OF_FILE = 64, /* words of one file, so that none keeps the others out of the vault's table */
    MOST_LINES = 64 * 1024,
    PATIENCE = 2000, /* milliseconds: a home may be on a server that does not answer */
};

static const struct token_file {
    enum path_start start;
    const char *path;
    enum token_format format;
} files[] = {
    {START_HOME, ".netrc", TOKENS_IN_NETRC},
    {START_HOME, ".npmrc", TOKENS_IN_LINES},
    {START_HOME, ".yarnrc.yml", TOKENS_IN_LINES},
    {START_HOME, ".pypirc", TOKENS_IN_LINES},
    {START_HOME, ".cargo/credentials", TOKENS_IN_LINES},
    {START_HOME, ".cargo/credentials.toml", TOKENS_IN_LINES},
    {START_HOME, ".aws/credentials", TOKENS_IN_LINES},
    {START_HOME, ".git-credentials", TOKENS_IN_URLS},
    {START_CONFIG, "git/credentials", TOKENS_IN_URLS},
    {START_CONFIG, "gh/hosts.yml", TOKENS_IN_LINES},
    {START_CONFIG, "glab-cli/config.yml", TOKENS_IN_LINES},
    {START_HOME, ".docker/config.json", TOKENS_IN_JSON},
    {START_CLAUDE, ".credentials.json", TOKENS_IN_JSON},
    {START_HOME, ".codex/auth.json", TOKENS_IN_JSON},
    {START_HOME, ".gemini/oauth_creds.json", TOKENS_IN_JSON},
    {START_HOME, ".qwen/oauth_creds.json", TOKENS_IN_JSON},
    {START_HOME, ".pi/agent/auth.json", TOKENS_IN_JSON},
    {START_HOME, ".cline/data/secrets.json", TOKENS_IN_JSON},
    {START_DATA, "opencode/auth.json", TOKENS_IN_JSON},
    {START_CONFIG, "github-copilot/apps.json", TOKENS_IN_JSON},
};

static const char *path_of(struct arena *arena, const struct vault *vault, const struct token_file *file)
{
    const struct policy_request *request = &vault->plan->policy->request;
    const char *folder = file->start == START_HOME ? request->home : request->starts[file->start];
    bool is_line = folder && !strchr(folder, '\n'); /* its name stands in lines */
    return is_line ? path_join(arena, folder, file->path) : NULL;
}

/* "~/.npmrc" */
static const char *name_of(struct arena *arena, const struct vault *vault, const char *path)
{
    const char *name = path_moved(arena, path, vault->plan->policy->request.home, "~");
    return name ? name : path;
}

/* --- in the process that reads ---------------------------------------------------------------------------------------- */

struct search {
    const struct vault *vault;
    const char *name; /* of the file */
    struct buf lines;
    size_t count; /* of words of the file */
};

static void take_token(void *self, struct bytes value)
{
    struct search *search = self;
    struct bytes word = word_longest(value);
    /* What stands for a JWT inside has its claims, which are no secret. */
    if (!word_is_random(word) || token_core(value).size != value.size ||
        leaks_is_given(search->vault, value) || search->count == MOST_OF_FILE)
        return;
    search->count++;
    leaks_add_word(search->vault, LEAK_TOKEN, search->name, word, &search->lines);
}

/* Does a rule keep all tokens of the file outside, although the file is shown? */
static bool is_kept(const struct vault *vault, const char *real)
{
    vec_each (const struct operation, operation, &vault->plan->operations) {
        if (operation->kind == OP_SECRET && operation->is_login && !operation->because->secret->key &&
            strcmp(operation->source, real) == 0)
            return true;
    }
    return false;
}

/* Are the tokens of the file inside by the policy? Then the command may send them. */
static bool is_shown(const struct vault *vault, const char *real)
{
    const struct policy *policy = vault->plan->policy;
    enum access access = decide_path(policy, real, NULL).access;
    return policy->request.full_access ||
           (access != ACCESS_NONE && access != ACCESS_SIFT && !is_kept(vault, real));
}

/* Returns false if there is such a file, and it cannot be searched for. */
static bool read_file(struct search *search, const char *path, enum token_format format)
{
    auto_buf struct buf text = {0};
    struct stat status;
    char real[PATH_MAX];
    auto_fd int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0)
        return errno == ENOENT || errno == ENOTDIR;
    if (!realpath(path, real) || fstat(fd, &status) < 0 || !S_ISREG(status.st_mode))
        return false;
    if (is_shown(search->vault, real))
        return true;
    return status.st_size <= LARGEST_FILE && buf_read(&text, fd, LARGEST_FILE) == 0 &&
           (!text.size || token_file_read(format, bytes_of(text.bytes, text.size), take_token, search));
}

static void read_files(const struct vault *vault, int to)
{
    struct arena arena = {0};
    struct search search = {.vault = vault};
    for (size_t i = 0; i < array_len(files); i++) {
        const char *path = path_of(&arena, vault, &files[i]);
        search.name = path ? name_of(&arena, vault, path) : NULL;
        search.count = 0;
        if (path && !read_file(&search, path, files[i].format))
            buf_printf(&search.lines, "unread %s\n", search.name);
    }
    const char *text = buf_text(&search.lines);
    for (ssize_t written; search.lines.size && (written = write(to, text, search.lines.size)) > 0;) {
        text += written;
        search.lines.size -= (size_t)written;
    }
}

/* --- in bawn ---------------------------------------------------------------------------------------------------------- */

/* All that comes until the end, or until nobody waits any longer. Returns false then. */
static bool read_lines(int fd, struct buf *lines)
{
    for (int64_t until = now_milliseconds() + PATIENCE, now; (now = now_milliseconds()) < until;) {
        not_zeroed char piece[4096];
        struct pollfd ready = {.fd = fd, .events = POLLIN};
        if (poll(&ready, 1, (int)(until - now)) <= 0)
            continue;
        ssize_t got = read(fd, piece, sizeof(piece));
        if (got <= 0)
            return got == 0;
        buf_add(lines, piece, (size_t)got);
        if (lines->size > MOST_LINES)
            return false;
    }
    return false;
}

/* The lines without those about files that were not read, whose names are kept: there is no journal yet. */
static const char *sort_lines(struct vault *vault, char *rest)
{
    auto_buf struct buf known = {0};
    for (char *line; (line = strsep(&rest, "\n"));) {
        if (text_starts_with(line, "unread "))
            vec_push(&vault->unread, line + strlen("unread "));
        else if (*line)
            buf_printf(&known, "%s\n", line);
    }
    return arena_str(&vault->arena, buf_text(&known));
}

void leak_files_note_unread(const struct vault *vault)
{
    for (size_t i = 0; i < vault->unread.count; i++) {
        auto_buf struct buf sentence = {0};
        buf_add_str(&sentence, "requests are not searched for tokens of ");
        text_add_printable(&sentence, vault->unread.at[i], strlen(vault->unread.at[i]));
        buf_add_str(&sentence, ", which cannot be read");
        journal_event(vault->journal, "network-trouble", "why", buf_text(&sentence));
    }
}

static bool has_file(struct vault *vault)
{
    bool has_one = false;
    for (size_t i = 0; i < array_len(files) && !has_one; i++) {
        const char *path = path_of(&vault->arena, vault, &files[i]);
        has_one = path && (access(path, F_OK) == 0 || errno == EACCES);
    }
    return has_one;
}

const char *leak_files_read(struct vault *vault)
{
    int pair[2];
    auto_buf struct buf lines = {0};
    if (!has_file(vault))
        return "";
    if (pipe2(pair, O_CLOEXEC) < 0)
        return sort_lines(vault, arena_str(&vault->arena, "unread your files"));
    int forked = fork_apart();
    if (forked == 0) {
        close(pair[0]);
        alarm(PATIENCE / 1000 + 1);
        read_files(vault, pair[1]);
        _exit(0);
    }
    close(pair[1]);
    bool is_whole = forked > 0 && read_lines(pair[0], &lines);
    close(pair[0]);
    if (!is_whole) {
        lines.size = 0;
        buf_add_str(&lines, "unread your files");
    }
    return sort_lines(vault, arena_str(&vault->arena, buf_text(&lines)));
}
