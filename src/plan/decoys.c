#include "plan/decoys.h"

#include <stdio.h>
#include <string.h>

const char decoy_text[] =
    "# This is a decoy, put here by bawn. It has no secret, and there is none elsewhere.\n"
    "#\n"
    "# The person who started this command keeps keys and logins out of its reach on purpose. "
    "Nothing is\n"
    "# broken: do not look for a way around it. bawn records that this file was read, and "
    "tells the person.\n"
    "#\n"
    "# If the task needs a login or a key, say which and why, and stop; or ask for this file: "
    "`bawn ask read PATH\n"
    "# --because 'WHY'`. The person can grant it.\n"
    "# /run/bawn/BRIEFING.md says what you may do here.\n";

/*
 * Left out, because tools open them by themselves: ~/.npmrc, ~/.netrc (git and pip), ~/.cargo/credentials.toml, ~/.docker,
 * ~/.kube, Google's default login, ~/.gnupg itself (gpg has public keys there), and the profiles of browsers that tests start:
 * Chromium's, and Firefox's except for a profile that is not in its list.
 */
const struct decoy decoys[DECOY_COUNT] = {
    {"ssh",
     ".ssh",
     {{"id_rsa"},
      {"id_ed25519"},
      {"id_ecdsa"},
      {"id_dsa"},
      {"config", true},
      {"known_hosts", true},
      {"authorized_keys", true}}},
    {CANARY_DECOY, ".aws", {{"credentials", .has_canary = true}, {"config"}}},
    {"gnupg", ".gnupg/private-keys-v1.d", {{"README"}}},
    {"password-store", ".password-store", {{"README"}}},
    {"chrome", ".config/google-chrome/Default", {{"Cookies"}, {"Login Data"}, {"Web Data"}}},
    {"firefox", ".mozilla/firefox/k3w9d1zq.default-release", {{"logins.json"}, {"key4.db"}}},
};

void canary_make(const unsigned char random[CANARY_RANDOM], struct canary *ret_canary)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567abcdefghijklmnopqrstuvwxyz0189";
    enum { PREFIX = 4, OF_ID = 16, OF_SECRET = 40, BASE32 = 32 };
    *ret_canary = (struct canary){.id = "AKIA"};
    for (size_t i = 0; i < OF_ID; i++)
        ret_canary->id[PREFIX + i] = letters[random[i] % BASE32];
    for (size_t i = 0; i < OF_SECRET; i++)
        ret_canary->secret[i] = letters[random[OF_ID + i] % strlen(letters)];
}

void canary_write(const struct canary *canary, char ret_text[CANARY_TEXT_SIZE])
{
    snprintf(ret_text, CANARY_TEXT_SIZE, "[default]\naws_access_key_id = %s\naws_secret_access_key = %s\n",
             canary->id, canary->secret);
}

size_t decoy_find(const char *name)
{
    size_t i = 0;
    while (i < DECOY_COUNT && strcmp(decoys[i].name, name) != 0)
        i++;
    return i;
}

const struct decoy_file *decoy_file(const struct decoy *decoy, const char *name)
{
    for (const struct decoy_file *file = decoy->files; file->name; file++) {
        if (strcmp(file->name, name) == 0)
            return file;
    }
    return NULL;
}
