/*
 * Login files of agents, whose tokens stay outside: JSON in which a token is a string with a name of base/token.h or called "key", at whatever
 * depth. Its *place* is the names on the way to it ("claudeAiOauth.accessToken"). An *entry* is the object that has the tokens of one login.
 *
 * Of some files only a few members at the top are meant, whose names are `entries`, with spaces between them; NULL: all. Such a member may also be
 * a token itself. A key that begins with ! or has a $ in it is none: it names a command or a variable.
 *
 * Inside, the file has a stand-in for each token. The placeholders belong to the private home, not to a session: several sessions
 * may use one home, and a file that a former one left must be known for what it is. So they are kept in the home's state folder.
 *
 *   login.c         reads and writes the JSON; pure
 *   login_state.c   the placeholders of a home
 */
#pragma once

#include "base/arena.h"
#include "base/attr.h"
#include "base/err.h"
#include "base/token.h"
#include "base/vec.h"

struct login_token {
    enum token_kind kind;
    const char *place;  /* NULL: it has none that can be written as words */
    struct bytes value; /* in the text */
};

typedef VEC(struct login_token) login_tokens;

/* All tokens, in the order of the text. Returns false if it is not JSON. */
bool login_find(struct arena *arena, struct bytes text, const char *entries, login_tokens *ret_tokens)
    must_check;

/* A token, and what stands for it inside. */
struct kept_token {
    const char *file; /* login_file_key() of its path */
    const char *place, *placeholder;
};

typedef VEC(struct kept_token) kept_tokens;

/* A word for the path of a login file, which may have spaces. */
const char *login_file_key(struct arena *arena, const char *path);

/* The placeholder of a token; NULL: it has none. */
const char *login_placeholder(const kept_tokens *kept, const char *file, const char *place);

/* Adds the text with a stand-in for each token. Returns false if it is not JSON. */
bool login_mask(struct bytes text, const char *file, const char *entries, const kept_tokens *kept,
                struct buf *out) must_check;

/* Does the text inside have a stand-in for each token of the host's text? */
bool login_has_stand_ins(struct bytes inside, struct bytes hosts, const char *file, const char *entries,
                         const kept_tokens *kept);

/* Is there a stand-in anywhere in the text? */
bool login_is_masked(struct bytes text, const kept_tokens *kept);

/* Is it a login file with tokens? */
bool login_has_tokens(struct bytes text, const char *entries);

/* --- one entry --- */

struct login_entry {
    struct bytes tokens
        [TOKEN_KIND_COUNT]; /* in the text; none: the entry has none of this kind, or one that cannot be sent */
    int64_t expires;        /* the access token, in milliseconds since 1970; 0: unknown */
    struct json_value scopes; /* a text or a list; nothing: unknown */
};

/* `place` is that of the object: "" is the whole text. Returns false if there is no such object. */
bool login_entry_read(struct bytes text, const char *place, struct login_entry *ret_entry) must_check;

/*
 * Adds the text with new tokens in the entry, and with the times that belong to them. Members that the entry does not have are not
 * added; all other bytes stay as they are.
 */
bool login_entry_write(struct bytes text, const char *place, const struct login_entry *wanted, int64_t now,
                       struct buf *out) must_check;

/* --- login_state.c --- */

/* The placeholders that a home has had so far. None, if its state folder cannot be read. */
void login_state_read(struct arena *arena, int state_fd, kept_tokens *kept);
int login_state_write(int state_fd, const kept_tokens *kept, struct err *err) must_check;
