/* The tokens of login files, when a run begins. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "base/timespec.h"
#include "home/login.h"
#include "home/version.h"
#include "kernel/directories.h"
#include "supervise/vault.h"

enum {
    MOST_TOKENS =
        12, /* of one file; the vault has room for so many secrets. Further ones stay outside, and nothing stands for them */
    PAUSE = 20000,   /* microseconds */
    MOST_WAITS = 10, /* for a program that writes the file just now */
};

static void read_file(const char *path, struct version *ret_version)
{
    struct arena arena = {0};
    auto_fd int directory_fd = open(path_parent(&arena, path), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    *ret_version = (struct version){0};
    for (int i = 0; directory_fd >= 0 && i < MOST_WAITS; i++) {
        version_read(directory_fd, path_name(path), ret_version);
        if (ret_version->state != VERSION_UNFIT || ret_version->is_no_file)
            break;
        pause_microseconds(PAUSE);
    }
    arena_free(&arena);
}

/* The signature of a JWT is random as a whole: the placeholder has its length alone. */
static int make_placeholder(struct arena *arena, struct bytes value, const char **ret_text, struct err *err)
{
    struct bytes core = token_core(value);
    char *shape = arena_room(arena, core.size);
    bool is_whole = core.size == value.size;
    memset(shape, 'A', core.size);
    return placeholder_make(arena, "", is_whole ? value : bytes_of(shape, core.size), ret_text, err);
}

static void keep(struct vault *vault, const struct operation *operation, const char *place,
                 enum token_kind kind, const char *placeholder)
{
    struct arena *arena = &vault->arena;
    const char *dot = strrchr(place, '.');
    const struct secret_object *login = operation->because->secret;
    struct secret_object *secret = arena_new(arena, struct secret_object);
    *secret = (struct secret_object){.name = arena_printf(arena, "%s:%s", operation->name, place),
                                     .source = SECRET_FILE,
                                     .from = operation->source,
                                     .key = arena_str(arena, place),
                                     .endpoints = login->endpoints,
                                     .endpoint_count = login->endpoint_count};
    vec_push(&vault->secrets,
             (struct kept_secret){.secret = secret,
                                  .placeholder = arena_str(arena, placeholder),
                                  .hosts = operation->value,
                                  .kind = kind,
                                  .entry = arena_printf(arena, "%s:%.*s", operation->name,
                                                        dot ? (int)(dot - place) : 0, place)});
}

static int add_tokens(struct vault *vault, const struct operation *operation, const login_tokens *tokens,
                      kept_tokens *kept, struct err *err)
{
    struct arena *arena = &vault->arena;
    const char *file = login_file_key(arena, operation->source);
    size_t count = 0;
    vec_each (const struct login_token, token, tokens) {
        if (!token->place || !token_is_plain(token->value) || count++ >= MOST_TOKENS)
            continue;
        const char *placeholder = login_placeholder(kept, file, token->place);
        if (!placeholder) {
            if (make_placeholder(arena, token->value, &placeholder, err) < 0)
                return -1;
            vec_push(kept, (struct kept_token){file, arena_str(arena, token->place), placeholder});
        }
        keep(vault, operation, token->place, token->kind, placeholder);
    }
    return 0;
}

static int open_state(const char *path, struct err *err)
{
    if (!path)
        return err_set(err, "the placeholders of a login have no place");
    if (directories_make(path, err) < 0)
        return -1;
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return fd < 0 || flock(fd, LOCK_EX) < 0 ? err_sys(err, errno, "cannot open %s", path) : fd;
}

int logins_add(struct vault *vault, const struct operation *operation, struct err *err)
{
    auto_arena struct arena arena = {0};
    auto_vec login_tokens tokens = {0};
    auto_vec kept_tokens kept = {0};
    auto_version struct version version = {0};
    size_t before = vault->secrets.count;
    auto_fd int state_fd = open_state(vault->state, err);
    if (state_fd < 0)
        return -1;
    login_state_read(&arena, state_fd, &kept);
    size_t known = kept.count;
    read_file(operation->source, &version);
    if (version.state == VERSION_WHOLE &&
        login_find(&arena, bytes_of(version.bytes, version.size), operation->entries, &tokens) &&
        add_tokens(vault, operation, &tokens, &kept, err) < 0)
        return -1;
    if (kept.count > known && login_state_write(state_fd, &kept, err) < 0)
        return -1;
    if (vault->secrets.count > before)
        return 0;
    /* No token yet: TLS ends at its hosts all the same, as the network's helper was told. */
    const char *placeholder = NULL;
    if (placeholder_make(&vault->arena, "", bytes_of(NULL, 0), &placeholder, err) < 0)
        return -1;
    keep(vault, operation, "none", TOKEN_KEY, placeholder);
    return 0;
}
