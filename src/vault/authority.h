/*
 * The certificate authority of one session. Its key is made in memory and never leaves this process. Its certificate is limited to the
 * hosts of the policy's secrets and of its rules on requests (critical nameConstraints), and only the sandbox trusts it.
 */
#pragma once

#include <openssl/ssl.h>

#include "base/arena.h"
#include "base/buf.h"
#include "vault/vault.h"

struct leaf {
    const char *host;
    SSL_CTX *context;
    int64_t made; /* milliseconds, by now_milliseconds() */
};

struct authority {
    EVP_PKEY *key, *leaf_key;
    X509 *certificate;
    VEC(struct leaf) leaves;
};

int authority_make(const struct vault_settings *settings, struct authority *ret_authority, struct err *err)
    must_check;

/* The certificate, as the sandbox's programs read it (PEM). */
int authority_add_certificate(const struct authority *authority, struct buf *out, struct err *err) must_check;

/* The server's side of TLS for a host, with a certificate that is made when it is first needed. NULL: it cannot be made. */
SSL_CTX *authority_context(struct authority *authority, struct arena *arena, const char *host);
