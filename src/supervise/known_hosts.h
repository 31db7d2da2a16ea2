/* The keys that ssh's known_hosts has for a host. What is not understood is no key: the host stays unknown, and nothing is signed for it. */
#pragma once

#include "base/arena.h"
#include "base/buf.h"
#include "base/bytes.h"
#include "base/hash.h"
#include "base/vec.h"
#include "outside/outside.h"
#include "plan/plan.h"

typedef VEC(struct bytes) host_key_list;

/*
 * Adds the keys of `name` ("git.corp", "[git.corp]:2222") in the text of a file. Keys are taken from plain and hashed lines. A key of a
 * line @revoked is added to `revoked`, whichever host the line names. Lines @cert-authority give no key.
 */
void known_hosts_find(struct arena *arena, struct bytes text, const char *name, host_key_list *keys,
                      host_key_list *revoked);

/* Is it among them? */
bool host_keys_have(const host_key_list *keys, struct bytes key);

/* --- ssh_settings.c --- */

/* Does ssh read nothing of the user's that commands inside can change? Its settings are judged by the files and programs that they name. */
int ssh_files_check(const struct outside *outside, struct err *err) must_check;

/* --- ssh_files.c --- */

/* The hash of the key's public part, from its file or from its fingerprint. */
int ssh_files_hash(const struct plan *plan, const struct ssh_key_object *key, char ret_hash[SHA256_HEX_SIZE],
                   struct err *err) must_check;

/* Adds the keys that the user's ssh knows the host by: those of the user's files and of the machine's, without revoked ones. */
int ssh_files_find(const struct plan *plan, struct arena *arena, const struct host_object *host,
                   host_key_list *keys, struct err *err) must_check;
