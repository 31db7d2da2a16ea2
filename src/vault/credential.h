/*
 * What the command of a secret prints: the value alone, or a value and the time at which it expires, as credential helpers print them.
 *
 *   JSON          {"token": …, "expires_at": …} and the like; kubectl's ExecCredential (`status.token`), gcloud's config-helper
 *                 (`credential.access_token`), az, HashiCorp Vault (`auth.client_token`)
 *   git's lines   password=…, password_expiry_utc=…
 *
 * A time is a number of seconds or milliseconds since 1970, or RFC 3339 with its zone; `expires_in` is seconds from now.
 *
 * Pure.
 */
#pragma once

#include <stdint.h>

#include "base/attr.h"
#include "base/bytes.h"

enum { CREDENTIAL_LARGEST = 64 * 1024 };

struct credential {
    struct bytes value; /* in the text */
    int64_t expires;    /* second since 1970; 0: it does not say */
};

enum credential_result {
    CREDENTIAL_READ,
    CREDENTIAL_WITHOUT_TOKEN, /* JSON that has none of the names of a token */
    CREDENTIAL_UNDATED,       /* it expires at a time that cannot be read */
    CREDENTIAL_EXPIRED,       /* already */
};

/* `now` is a second since 1970. */
enum credential_result credential_read(struct bytes text, int64_t now, struct credential *ret_credential)
    must_check;
