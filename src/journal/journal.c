#include "journal/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/text.h"

enum {
    TEXT_LONGEST = 4096,
    TEXT_LOOKED_AT = 16384,
    RECORD_LONGEST = 256 * 1024,
};

static const char nothing_before[SHA256_HEX_SIZE] =
    "0000000000000000000000000000000000000000000000000000000000000000";

/* What comes last in every record: the hash of the chain so far and of all that stands before it in this line. */
#define CHAIN_KEY ",\"chain\":\""
enum { CHAIN_SIZE = sizeof(CHAIN_KEY) - 1 + 64 + 2 }; /* with the quote and the brace */

static void hash_record(const char *before, const char *record, size_t size, char ret_chain[SHA256_HEX_SIZE])
{
    auto_buf struct buf hashed = {0};
    buf_add(&hashed, before, SHA256_HEX_SIZE - 1);
    buf_add(&hashed, record, size);
    sha256_hex(hashed.bytes, hashed.size, ret_chain);
}

/* Is this line, without its end, the record that has to come next? Moves the journal on if it is. */
static bool is_next(struct journal *journal, const char *line, size_t size)
{
    char head[32], chain[SHA256_HEX_SIZE];
    int head_size = snprintf(head, sizeof(head), "{\"n\":%" PRIu64 ",", journal->next);
    if (size < (size_t)head_size + CHAIN_SIZE || memcmp(line, head, (size_t)head_size) != 0)
        return false;
    const char *end = line + size - CHAIN_SIZE;
    if (memcmp(end, CHAIN_KEY, sizeof(CHAIN_KEY) - 1) != 0 || memcmp(line + size - 2, "\"}", 2) != 0)
        return false;
    hash_record(journal->chain, line, (size_t)(end - line), chain);
    if (memcmp(end + sizeof(CHAIN_KEY) - 1, chain, 64) != 0)
        return false;
    memcpy(journal->chain, chain, sizeof(chain));
    journal->next++;
    return true;
}

enum followed { ALL_FOLLOW, LAST_IS_TORN, ONE_DOES_NOT };

/* Reads the journal record by record, up to the first that does not follow, and says where that begins. */
static int follow(struct journal *journal, enum followed *ret_followed, off_t *ret_end, struct err *err)
{
    auto_buf struct buf unread = {0};
    off_t end = 0, size = 0;
    not_zeroed char part[65536];
    bool holds = true;
    for (ssize_t got; holds && (got = pread(journal->fd, part, sizeof(part), size)) != 0;) {
        if (got < 0)
            return err_sys(err, errno, "cannot read the journal");
        size += got;
        buf_add(&unread, part, (size_t)got);
        size_t done = 0;
        for (char *line; holds && (line = memchr(unread.bytes + done, '\n', unread.size - done));) {
            size_t length = (size_t)(line - unread.bytes) - done;
            holds = is_next(journal, unread.bytes + done, length);
            done += holds ? length + 1 : 0;
            end += holds ? (off_t)length + 1 : 0;
        }
        memmove(unread.bytes, unread.bytes + done, unread.size - done);
        unread.size -= done;
        holds &= unread.size < RECORD_LONGEST;
    }
    *ret_followed = !holds ? ONE_DOES_NOT : unread.size ? LAST_IS_TORN : ALL_FOLLOW;
    *ret_end = end;
    return 0;
}

static int open_at_start(int folder_fd, const char *name, int flags, struct journal *ret_journal,
                         struct err *err)
{
    *ret_journal = JOURNAL_NONE;
    ret_journal->next = 1;
    memcpy(ret_journal->chain, nothing_before, sizeof(nothing_before));
    ret_journal->fd = openat(folder_fd, name, flags | O_NOFOLLOW | O_CLOEXEC, 0600);
    return ret_journal->fd < 0 ? err_sys(err, errno, "cannot open the journal") : 0;
}

int journal_open(int folder_fd, const char *name, struct journal *ret_journal, struct err *err)
{
    struct journal journal;
    if (open_at_start(folder_fd, name, O_RDWR | O_CREAT, &journal, err) < 0)
        return -1;
    enum followed followed = ONE_DOES_NOT;
    off_t end = 0;
    if (follow(&journal, &followed, &end, err) < 0) {
        close(journal.fd);
        return -1;
    }
    /* A crash may have left a part of the last record. Whatever else does not follow stays for `verify` to find. */
    if (followed == LAST_IS_TORN && ftruncate(journal.fd, end) == 0)
        journal.lost++;
    off_t size = lseek(journal.fd, 0, SEEK_END);
    journal.size = size < 0 ? 0 : (uint64_t)size;
    *ret_journal = journal;
    return 0;
}

void journal_close(struct journal *journal)
{
    fd_close(journal->fd);
    journal->fd = -1;
}

static void add_time(struct json *json)
{
    struct timespec now;
    char text[MOMENT_SIZE];
    clock_gettime(CLOCK_REALTIME, &now);
    text_of_moment(&now, text);
    json_str(json, "at", text);
}

/* The workspace is a path, by which sessions are found again. */
static void add_text(const struct journal *journal, struct json *json, const char *name, const char *text)
{
    auto_buf struct buf kept = {0};
    size_t size = strnlen(text, TEXT_LOOKED_AT);
    if (strcmp(name, "workspace") == 0)
        buf_add(&kept, text, size);
    else
        redact_add(&kept, journal->secrets, text, size);
    if (kept.size > TEXT_LONGEST)
        kept.bytes[TEXT_LONGEST] = '\0';
    json_str(json, name, buf_text(&kept));
}

/* Writes the whole record or, as far as the file system lets it, nothing. */
static bool append(int fd, const struct buf *record)
{
    ssize_t written = write(fd, record->bytes, record->size);
    if (written == (ssize_t)record->size)
        return true;
    off_t end = lseek(fd, 0, SEEK_CUR);
    if (written > 0 && ftruncate(fd, end - written) == 0)
        lseek(fd, end - written, SEEK_SET);
    return false;
}

/*
 * Kinds of records that must not be kept out by others, and the size from which a journal takes no more of them, but for their share. A
 * command can cause any number of records, so each kind leaves room for those that matter more: ordinary ones
 * for refusals, refusals for held files and limits, and all of these for tripwires and the end of the run.
 */
enum {
    SHARE = 64, /* kibibytes for each kind, however large the journal is */
    ORDINARY = 6 * 1024,
    REFUSALS = 8 * 1024,
    HELD = REFUSALS + 256,
    TRIPWIRES = HELD + 384,
    LAST_WORDS = TRIPWIRES + 128
};

static const struct kind {
    const char *event,
        *what; /* `what` is NULL, or the text of that field: the records are a kind of their own */
    uint64_t kibibytes;
} kinds[] = {
    {"end", NULL, UINT32_MAX},
    {"failed", NULL, LAST_WORDS},
    {"killed", NULL, LAST_WORDS},
    {"tripwire", NULL, TRIPWIRES},
    {"secret-misused", NULL, TRIPWIRES},
    {"leak", NULL, TRIPWIRES},
    {"held", NULL, HELD},
    {"kept", NULL, HELD},
    {"restored", NULL, HELD},
    {"seen", NULL, HELD},
    {"not-checked", NULL, HELD},
    {"not-held", NULL, HELD},
    {"replaced", NULL, HELD},
    {"reopened", NULL, HELD},
    {"pinned-again", NULL, HELD},
    {"pin-lost", NULL, HELD},
    {"limit", NULL, HELD},
    {"refused", NULL, REFUSALS},
    {"forge", "pushed", ORDINARY},
    {"forge", NULL, ORDINARY},
    {"ssh-key", NULL, ORDINARY},
    {"ssh-key-refused", NULL, ORDINARY},
    {"guarded", NULL, ORDINARY},
    {"asked", NULL, ORDINARY},
    {"answered", NULL, ORDINARY},
    {"allowed", NULL, ORDINARY},
    {"published", NULL, ORDINARY},
    {"published-port", NULL, ORDINARY},
    {"serves", NULL, ORDINARY},
    {"connected", NULL, ORDINARY},
    {"unreachable", NULL, ORDINARY},
    {"secret", NULL, ORDINARY},
    {"secret-trouble", NULL, ORDINARY},
    {"vault-died", NULL, ORDINARY},
    {"helper-died", NULL, ORDINARY},
    {"network-trouble", NULL, ORDINARY},
    {"opened-socket", NULL, ORDINARY},
    {"sync", NULL, ORDINARY},
    {"sync-conflict", NULL, ORDINARY},
    {"sync-failed", NULL, ORDINARY},
    {"left", NULL, ORDINARY},
};
_Static_assert(array_len(kinds) <= JOURNAL_KINDS, "each kind has a share");

/* The text of the field `what` in a record that is to be added; "" where it has none. */
static const char *what_of(const char *const *texts)
{
    for (const char *const *pair = texts + 1; pair[0] && pair[1]; pair += 2) {
        if (strcmp(pair[0], "what") == 0)
            return pair[1];
    }
    return "";
}

/* Does the journal take such a record now? If so, *ret_share is what its bytes count towards, or NULL: the journal's size. */
static bool has_room(struct journal *journal, const char *const *texts, uint64_t **ret_share)
{
    uint64_t largest = ORDINARY;
    *ret_share = NULL;
    for (size_t i = 0; i < array_len(kinds); i++) {
        if (strcmp(texts[0], kinds[i].event) != 0 ||
            (kinds[i].what && strcmp(what_of(texts), kinds[i].what) != 0))
            continue;
        largest = kinds[i].kibibytes;
        *ret_share = &journal->shares[i];
        break;
    }
    if (journal->size < largest * 1024) {
        *ret_share = NULL;
        return true;
    }
    return *ret_share && **ret_share < (uint64_t)SHARE * 1024;
}

void journal_leave_out(struct journal *journal)
{
    journal->lost += journal->fd >= 0;
}

void journal_add(struct journal *journal, const char *const *texts)
{
    uint64_t *share;
    if (journal->fd < 0)
        return;
    if (!has_room(journal, texts, &share)) {
        journal->lost++;
        return;
    }
    auto_buf struct buf record = {0};
    struct json json = {.out = &record, .on_one_line = true};
    json_open(&json, NULL, '{');
    json_int(&json, "n", (int64_t)journal->next);
    add_time(&json);
    json_str(&json, "event", texts[0]);
    for (const char *const *pair = texts + 1; pair[0] && pair[1]; pair += 2)
        add_text(journal, &json, pair[0], pair[1]);
    if (journal->lost)
        json_int(&json, "lost", (int64_t)journal->lost);
    char chain[SHA256_HEX_SIZE];
    hash_record(journal->chain, record.bytes, record.size, chain);
    buf_printf(&record, CHAIN_KEY "%s\"}\n", chain);
    if (!append(journal->fd, &record)) {
        journal->lost++;
        return;
    }
    memcpy(journal->chain, chain, sizeof(chain));
    journal->next++;
    journal->lost = 0;
    *(share ? share : &journal->size) += record.size;
}

int journal_verify(int folder_fd, const char *name, struct journal_end *ret_end, struct err *err)
{
    struct journal journal;
    if (open_at_start(folder_fd, name, O_RDONLY, &journal, err) < 0)
        return -1;
    enum followed followed = ONE_DOES_NOT;
    off_t end = 0;
    int result = follow(&journal, &followed, &end, err);
    journal_close(&journal);
    if (result < 0)
        return -1;
    ret_end->records = journal.next - 1;
    memcpy(ret_end->chain, journal.chain, sizeof(journal.chain));
    if (followed == LAST_IS_TORN)
        return err_set(err, "the journal breaks off in the middle of record %" PRIu64, journal.next);
    if (followed == ONE_DOES_NOT)
        return err_set(err, "record %" PRIu64 " of the journal was changed, moved or dropped", journal.next);
    return 0;
}

void system_log_head(const char *session, const char *moment, const struct journal *journal)
{
    enum { USER_INFO = 1 << 3 | 6 }; /* facility and severity, as RFC 3164 has them */
    static const struct sockaddr_un log = {.sun_family = AF_UNIX, .sun_path = "/dev/log"};
    char line[256];
    if (journal->fd < 0 || journal->next < 2)
        return;
    auto_fd int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    int size = snprintf(line, sizeof(line), "<%d>bawn[%d]: %s %s, record %" PRIu64 ", chain %s", USER_INFO,
                        getpid(), session, moment, journal->next - 1, journal->chain);
    if (fd < 0 || sendto(fd, line, (size_t)size, MSG_NOSIGNAL | MSG_DONTWAIT, (const struct sockaddr *)&log,
                         sizeof(log)) < 0)
        return;
}
