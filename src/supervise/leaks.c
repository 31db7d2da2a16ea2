/* Secrets of the host in what a run sends: what the vault's front and bawn-egress are to search for, and what they find. */
#include <errno.h>
#include <string.h>
#include <sys/random.h>

#include "base/text.h"
#include "journal/leaked.h"
#include "supervise/vault.h"

enum { MOST_LEAKS = 256 }; /* of a kind: a helper that was taken over must not fill the disk */

/* What is done about them; NULL: nothing is searched. */
static const char *answer_to_leaks(const struct vault *vault)
{
    const struct operation *leak = operations_find(&vault->plan->operations, OP_LEAK);
    return leak && strcmp(leak->value, "off") != 0 ? leak->value : NULL;
}

int leaks_begin(struct vault *vault, struct err *err)
{
    if (getrandom(vault->leak_salt, sizeof(vault->leak_salt), 0) != (ssize_t)sizeof(vault->leak_salt))
        return err_sys(err, errno, "cannot get random bytes");
    if (answer_to_leaks(vault))
        vault->leak_files = leak_files_read(vault);
    return 0;
}

static void add_hex(struct buf *lines, const unsigned char *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++)
        buf_printf(lines, "%02x", bytes[i]);
}

void leaks_add_word(const struct vault *vault, enum leak_kind kind, const char *name, struct bytes word,
                    struct buf *lines)
{
    unsigned char digest[KEY_WORD_DIGEST];
    word_digest(vault->leak_salt, word, digest);
    buf_printf(lines, "known %s %zu ", leak_kind_name(kind), word.size);
    add_hex(lines, digest, sizeof(digest));
    buf_printf(lines, " %s\n", name);
}

static bool has_decoy(const struct vault *vault)
{
    vec_each (const struct operation, operation, &vault->plan->operations) {
        if (operation->kind == OP_DECOY && strcmp(operation->name, CANARY_DECOY) == 0)
            return vault->canary;
    }
    return false;
}

/* --- values of variables ---------------------------------------------------------------------------------------------- */

/* Desktops and logins name their sockets and hosts in these. */
static bool is_of_desktop(const char *name)
{
    static const char *const beginnings[] = {"DBUS_", "DESKTOP_", "SESSION_", "SSH_", "XDG_"};
    for (size_t i = 0; i < array_len(beginnings); i++) {
        if (text_starts_with(name, beginnings[i]))
            return true;
    }
    return false;
}

bool leaks_is_given(const struct vault *vault, struct bytes value)
{
    vec_each (const struct operation, operation, &vault->plan->operations) {
        const char *given = operation->kind == OP_ENV_SET ? operation->value
                            : operation->kind == OP_ENV_PASS
                                ? text_variable(vault->environment, operation->name)
                                : NULL;
        if (given && value.size && memmem(given, strlen(given), value.at, value.size))
            return true;
    }
    return false;
}

/* Values of variables that look random, and that the policy does not give to the command. */
static void add_variables(struct vault *vault, struct buf *lines)
{
    struct secrets secrets;
    secrets_find(&vault->arena, vault->environment, &secrets);
    for (size_t i = 0; i < secrets.known.count; i++) {
        const struct secret *secret = &secrets.known.at[i];
        struct bytes value = bytes_of(secret->value, secret->size), word = word_longest(value);
        if (word_is_random(word) && !is_of_desktop(secret->name) && !leaks_is_given(vault, value))
            leaks_add_word(vault, LEAK_VALUE, arena_printf(&vault->arena, "$%s", secret->name), word, lines);
    }
    secrets_free(&secrets);
}

void leaks_add_settings(struct vault *vault, struct buf *lines)
{
    const char *answer = answer_to_leaks(vault);
    if (!answer)
        return;
    buf_printf(lines, "leak %s ", answer);
    add_hex(lines, vault->leak_salt, sizeof(vault->leak_salt));
    buf_add_char(lines, '\n');
    if (has_decoy(vault)) {
        leaks_add_word(vault, LEAK_CANARY, CANARY_PLACE,
                       bytes_of(vault->canary->id, strlen(vault->canary->id)), lines);
        leaks_add_word(vault, LEAK_CANARY, CANARY_PLACE,
                       bytes_of(vault->canary->secret, strlen(vault->canary->secret)), lines);
    }
    add_variables(vault, lines);
    buf_add_str(lines, vault->leak_files);
}

const char *leaks_plain_lines(struct vault *vault)
{
    auto_buf struct buf lines = {0};
    const struct operation *leak = operations_find(&vault->plan->operations, OP_LEAK);
    if (leak && leak->name)
        leaks_add_settings(vault, &lines);
    return arena_str(&vault->arena, buf_text(&lines));
}

/* ---------------------------------------------------------------------------------------------------------------------- */

/* Either helper may be taken over, and a person reads what it says. */
static const char *printable(struct arena *arena, const char *text)
{
    auto_buf struct buf out = {0};
    text_add_printable(&out, text, strlen(text));
    return arena_str(arena, buf_text(&out));
}

void leaks_note(void *self, char *rest)
{
    struct vault *vault = self;
    const char *host = strsep(&rest, " "), *port = rest ? strsep(&rest, " ") : NULL,
               *kind_word = rest ? strsep(&rest, " ") : NULL, *done = rest ? strsep(&rest, " ") : NULL;
    enum leak_kind kind = rest ? leak_kind_named(kind_word) : LEAK_NONE;
    if (!kind)
        return;
    if (vault->leak_counts[kind]++ >= MOST_LEAKS) {
        journal_leave_out(vault->journal);
        return;
    }
    struct leaked leaked = {.what = leak_what(&vault->arena, kind, printable(&vault->arena, rest)),
                            .host = printable(&vault->arena, host),
                            .is_stopped = strcmp(done, "stopped") == 0};
    journal_event(vault->journal, "leak", "what", leaked.what, "host", leaked.host, "port", port, "done",
                  leaked.is_stopped ? "stopped" : "passed on");
    vec_push(&vault->leaked, leaked);
    if (vault->tell_leaked)
        vault->tell_leaked(vault->context, &vault->leaked.at[vault->leaked.count - 1]);
}
