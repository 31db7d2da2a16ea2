/* What bawn reads of the user's own files for ssh: public keys, and which keys hosts have. Never a private key. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/base64.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/text.h"
#include "policy/decide.h"
#include "policy/ssh_key.h"
#include "supervise/known_hosts.h"

enum { LARGEST_FILE = 4 << 20 };

/* Would a key or a host in it be the command's choice? */
static bool may_be_changed(enum access access)
{
    return access == ACCESS_SYNC || access == ACCESS_SOCKET || access == ACCESS_FLAGGED ||
           access == ACCESS_WRITE;
}

/* Reads a file that programs inside cannot change. Returns 1, 0 if it is not there, -1 if it must not be used. */
static int read_own(const struct plan *plan, const char *path, struct buf *ret_text, struct err *err)
{
    const struct policy *policy = plan->policy;
    const struct fs_place *place = NULL;
    if (fs_resolve(policy->request.fs, path, &place, err) < 0)
        return -1;
    if (place->kind != FILE_REGULAR)
        return 0;
    if (may_be_changed(decide_path(policy, place->real, NULL).access))
        return err_set(err, "%s is not used for `ssh-key` rules: programs inside may change it", path);
    const struct outside outside = outside_of_plan(plan, policy->request.environment);
    if (outside_check(&outside, (const char *const[]){path, NULL}, (const char *const[]){NULL}, err) < 0)
        return -1;
    auto_fd int fd = open(place->real, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0 || buf_read(ret_text, fd, LARGEST_FILE) < 0)
        return err_sys(err, errno, "cannot read %s", path);
    return 1;
}

/* "ssh-ed25519 AAAA… comment" */
static bool hash_public_key(const char *text, char ret_hash[SHA256_HEX_SIZE])
{
    auto_buf struct buf key = {0};
    const char *start = strchr(text, ' ');
    if (!start || !base64_decode(&key, bytes_of(start + 1, strcspn(start + 1, " \r\n"))) || !key.size)
        return false;
    sha256_hex(key.bytes, key.size, ret_hash);
    return true;
}

static int hash_fingerprint(struct arena *arena, const char *text, char ret_hash[SHA256_HEX_SIZE],
                            struct err *err)
{
    auto_buf struct buf hash = {0};
    const char *padded = arena_printf(arena, "%s=", text + strlen(SSH_KEY_FINGERPRINT));
    if (!base64_decode(&hash, bytes_of(padded, strlen(padded))) || hash.size * 2 + 1 != SHA256_HEX_SIZE)
        return err_set(err, "%s is not the fingerprint of a key", text);
    text_hex((const unsigned char *)hash.bytes, hash.size, ret_hash);
    return 0;
}

int ssh_files_hash(const struct plan *plan, const struct ssh_key_object *key, char ret_hash[SHA256_HEX_SIZE],
                   struct err *err)
{
    struct arena *arena = plan->policy->arena;
    auto_buf struct buf text = {0};
    if (key->is_fingerprint)
        return hash_fingerprint(arena, key->key, ret_hash, err);
    const char *path = text_starts_with(key->key, "~/")
                           ? path_join(arena, plan->policy->request.home, key->key + 2)
                           : key->key;
    int got = read_own(plan, path_clean(arena, "/", path), &text, err);
    if (got < 0)
        return -1;
    if (got > 0 && hash_public_key(buf_text(&text), ret_hash))
        return 0;
    err_set(err, got ? "%s is not a public key of ssh" : "there is no public key at %s", key->key);
    return err_hint(err, "name the .pub file of a key that is in your ssh agent (ssh-add -l)");
}

int ssh_files_find(const struct plan *plan, struct arena *arena, const struct host_object *host,
                   host_key_list *keys, struct err *err)
{
    const char *folder = path_join(arena, plan->policy->request.home, ".ssh"),
               *name = ssh_key_host_known_as(arena, host);
    const char *const files[] = {path_join(arena, folder, "known_hosts"),
                                 path_join(arena, folder, "known_hosts2"), "/etc/ssh/ssh_known_hosts",
                                 "/etc/ssh/ssh_known_hosts2"};
    host_key_list found = {0}, revoked = {0};
    int result = 0;
    for (size_t i = 0; result >= 0 && i < array_len(files); i++) {
        auto_buf struct buf text = {0};
        result = read_own(plan, files[i], &text, err);
        if (result > 0)
            known_hosts_find(arena, bytes_of(text.bytes, text.size), name, &found, &revoked);
    }
    vec_each (const struct bytes, key, &found) {
        if (result >= 0 && !host_keys_have(&revoked, *key)) /* a file that was not read may revoke it */
            vec_push(keys, *key);
    }
    vec_free(&found);
    vec_free(&revoked);
    return result < 0 ? -1 : 0;
}
