/*
 * How a server of ssh proves which host it is: by its host key, and by the signature of the key exchange that this key has made. Both are in the
 * server's reply, unencrypted (RFC 4253, 8), and ssh says both to its agent (session-bind@openssh.com). A mark is a hash of the two: by it
 * bawn-egress and bawn-vault speak of the same connection. No two connections have the same mark, unless one repeats the other's bytes.
 */
#pragma once

#include "base/bytes.h"
#include "base/hash.h"

void ssh_proof_mark(struct bytes host_key, struct bytes signature, char ret_mark[SHA256_HEX_SIZE]);

/* A mark, and nothing else: 64 digits in lower case. */
bool ssh_proof_is_mark(const char *text);
