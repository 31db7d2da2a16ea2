#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "journal/journal.h"
#include "journal/session.h"
#include "unit.h"

static struct {
    char path[64];
    struct arena arena;
} state;

static void make_state(void)
{
    snprintf(state.path, sizeof(state.path), "/tmp/bawn-journal-XXXXXX");
    CHECK(mkdtemp(state.path) != NULL);
}

static void remove_state(void)
{
    const char *command = arena_printf(&state.arena, "rm -r '%s'", state.path);
    CHECK_INT(system(command), 0); // NOLINT(cert-env33-c): a path of this test's own
    arena_free(&state.arena);
}

static int open_state(void)
{
    return open(state.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/* Writes a journal of five records and returns its text. */
static char *five_records(int folder_fd)
{
    struct journal journal;
    struct err err = {0};
    CHECK_INT(journal_open(folder_fd, "j", &journal, &err), 0);
    journal_event(&journal, "start", "workspace", "/w");
    for (int i = 0; i < 3; i++)
        journal_event(&journal, "refused", "host", i ? "a.example" : "\x1b[31m\xff");
    journal_event(&journal, "end");
    journal_close(&journal);
    char *text = arena_alloc(&state.arena, 65536);
    auto_fd int fd = openat(folder_fd, "j", O_RDONLY | O_CLOEXEC);
    CHECK(read(fd, text, 65535) > 0);
    return text;
}

static void put(int folder_fd, const char *text, size_t size)
{
    auto_fd int fd = openat(folder_fd, "j", O_WRONLY | O_TRUNC | O_CLOEXEC);
    CHECK_INT(write(fd, text, size), size);
}

/* What verification says: "5" or the error. */
static const char *verified(int folder_fd)
{
    struct err err = {0};
    struct journal_end end = {0};
    if (journal_verify(folder_fd, "j", &end, &err) < 0)
        return arena_str(&state.arena, err.message);
    return arena_printf(&state.arena, "%d", (int)end.records);
}

static const char *line(const char *text, int number)
{
    while (number--)
        text = strchr(text, '\n') + 1;
    return text;
}

TEST(a_journal_that_nobody_touched_holds_together)
{
    make_state();
    auto_fd int folder = open_state();
    const char *text = five_records(folder);
    CHECK_STR(verified(folder), "5");
    CHECK(strstr(text, "\\u001b[31m\\udcff"));
    CHECK(!strchr(text, '\x1b'));
    remove_state();
}

TEST(every_byte_that_is_changed_is_found_with_its_record)
{
    make_state();
    auto_fd int folder = open_state();
    char *text = five_records(folder);
    size_t size = strlen(text);
    int number = 1;
    for (size_t i = 0; i < size; i++) {
        char before = text[i];
        text[i] = (char)(before ^ 1);
        put(folder, text, size);
        const char *said = verified(folder);
        if (!strstr(said, arena_printf(&state.arena, "record %d", number)))
            CHECK_STR(said, arena_printf(&state.arena, "record %d, byte %zu", number, i));
        text[i] = before;
        number += before == '\n';
    }
    remove_state();
}

TEST(records_that_are_dropped_moved_or_repeated_are_found)
{
    make_state();
    auto_fd int folder = open_state();
    const char *text = five_records(folder);
    const char *second = line(text, 1), *third = line(text, 2), *fourth = line(text, 3);
    const char *dropped = arena_printf(&state.arena, "%.*s%s", (int)(second - text), text, third);
    put(folder, dropped, strlen(dropped));
    CHECK_STR(verified(folder), "record 2 of the journal was changed, moved or dropped");
    const char *swapped = arena_printf(&state.arena, "%.*s%.*s%.*s%s", (int)(second - text), text,
                                       (int)(fourth - third), third, (int)(third - second), second, fourth);
    put(folder, swapped, strlen(swapped));
    CHECK_STR(verified(folder), "record 2 of the journal was changed, moved or dropped");
    const char *repeated = arena_printf(&state.arena, "%.*s%s", (int)(third - text), text, second);
    put(folder, repeated, strlen(repeated));
    CHECK_STR(verified(folder), "record 3 of the journal was changed, moved or dropped");
    put(folder, third, strlen(third));
    CHECK_STR(verified(folder), "record 1 of the journal was changed, moved or dropped");
    remove_state();
}

TEST(a_torn_record_is_told_and_the_next_one_says_what_was_lost)
{
    make_state();
    auto_fd int folder = open_state();
    const char *text = five_records(folder);
    put(folder, text, strlen(text) - 10);
    CHECK_STR(verified(folder), "the journal breaks off in the middle of record 5");
    struct journal journal;
    struct err err = {0};
    REQUIRE(journal_open(folder, "j", &journal, &err) == 0);
    journal_event(&journal, "repaired");
    CHECK_INT(journal.lost, 0);
    journal_close(&journal);
    CHECK_STR(verified(folder), "5");
    remove_state();
}

TEST(a_disk_that_is_full_costs_records_and_nothing_else)
{
    struct journal journal = {.fd = open("/dev/full", O_WRONLY | O_CLOEXEC), .next = 1};
    journal_event(&journal, "start");
    journal_event(&journal, "end");
    CHECK_INT(journal.lost, 2);
    CHECK_INT(journal.next, 1);
    journal_close(&journal);
}

static int count(void *context, struct session *session, struct err *err)
{
    (void)err;
    journal_event(&session->journal, "repaired");
    (*(int *)context)++;
    return 0;
}

/* Repairs all that were killed. Returns how many there were. */
static size_t repair_all(int *repaired)
{
    struct err err = {0};
    session_names names = {0};
    CHECK_INT(session_list_killed(&state.arena, state.path, &names, &err), 0);
    for (size_t i = 0; i < names.count; i++)
        CHECK_INT(session_repair_one(&state.arena, state.path, names.at[i], count, repaired, &err), 0);
    size_t killed = names.count;
    vec_free(&names);
    return killed;
}

TEST(sessions_are_numbered_and_only_dead_ones_are_repaired)
{
    make_state();
    struct err err = {0};
    struct session one, two, three;
    REQUIRE(session_begin(&state.arena, state.path, "/home/u/my app", &one, &err) == 0);
    REQUIRE(session_begin(&state.arena, state.path, "/home/u/my app", &two, &err) == 0);
    REQUIRE(session_begin(&state.arena, state.path, "/", &three, &err) == 0);
    CHECK_STR(one.name, "my-app-1");
    CHECK_STR(two.name, "my-app-2");
    CHECK_STR(three.name, "root-1");
    session_end(&three);
    int repaired = 0;
    CHECK_INT(repair_all(&repaired), 0);
    CHECK_INT(repaired, 0);
    /* As if killed: nothing is tidied up, only its locks fall. */
    close(one.folder_fd);
    close(one.alive_fd);
    CHECK(!session_is_set_aside(&state.arena, state.path, "my-app-1"));
    CHECK(session_set_aside(&state.arena, state.path, "my-app-1"));
    CHECK(!session_set_aside(&state.arena, state.path, "my-app-1"));
    CHECK(session_is_set_aside(&state.arena, state.path, "my-app-1"));
    CHECK_INT(repair_all(&repaired), 0);
    CHECK_INT(session_take_up(&state.arena, state.path), 1);
    CHECK_INT(session_take_up(&state.arena, state.path), 0);
    CHECK_INT(repair_all(&repaired), 1);
    CHECK_INT(repaired, 1);
    CHECK_INT(repair_all(&repaired), 0);
    CHECK_INT(repaired, 1);
    session_end(&two);
    remove_state();
}

TEST(records_are_read_back_as_they_were_written)
{
    make_state();
    auto_fd int folder = open_state();
    const char *text = five_records(folder);
    struct journal_record record;
    REQUIRE(journal_record_parse(&state.arena, text, strcspn(text, "\n"), &record));
    CHECK_INT(record.number, 1);
    CHECK_STR(record.event, "start");
    CHECK_STR(journal_record_text(&record, "workspace"), "/w");
    CHECK(!journal_record_text(&record, "chain"));
    journal_record_free(&record);
    const char *second = line(text, 1);
    REQUIRE(journal_record_parse(&state.arena, second, strcspn(second, "\n"), &record));
    CHECK_STR(journal_record_text(&record, "host"), "\x1b[31m\xff");
    journal_record_free(&record);
    CHECK(!journal_record_parse(&state.arena, second, strcspn(second, "\n") - 1, &record));
    CHECK(!journal_record_parse(&state.arena, "{}", 2, &record));
    remove_state();
}

/* Makes sessions w-1 and on, of which one of 16 looks after the others; in the first something is set aside. */
static void make_sessions(int count)
{
    struct err err = {0};
    struct session session = SESSION_NONE;
    int tidies_up = 0;
    for (int i = 0; i < count; i++) {
        REQUIRE(session_begin(&state.arena, state.path, "/w", &session, &err) == 0);
        if (i == 0)
            CHECK_INT(mkdirat(session.folder_fd, "held", 0700), 0);
        journal_event(&session.journal, "start", "workspace", "/w");
        tidies_up += session.tidies_up;
        struct timespec time[2] = {{.tv_sec = i + 1}, {.tv_sec = i + 1}};
        CHECK_INT(futimens(session.journal.fd, time), 0);
        session_end(&session);
    }
    CHECK_STR(session.name, arena_printf(&state.arena, "w-%d", count));
    CHECK_INT(tidies_up, (count - 1) / 16); /* the first has no others */
}

static bool is_there(int number)
{
    return access(arena_printf(&state.arena, "%s/bawn/sessions/w-%d", state.path, number), F_OK) == 0;
}

static struct retired retire(uint64_t most_bytes)
{
    struct retired retired;
    auto_fd int fd =
        open(arena_printf(&state.arena, "%s/bawn/sessions", state.path), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    sessions_retire(&state.arena, fd, most_bytes, &retired);
    /* Whoever is to free them gets the folder of each, and its journal if there is one. */
    CHECK(retired.open.count >= retired.sessions && retired.open.count <= retired.sessions * 2);
    retired_close(&retired);
    return retired;
}

TEST(too_many_sessions_are_too_many_but_not_those_in_which_something_waits)
{
    make_state();
    make_sessions(310);
    CHECK_INT(retire(UINT64_MAX).sessions, 10);
    CHECK(is_there(1) && !is_there(2) && !is_there(11) && is_there(12) && is_there(310));
    CHECK_INT(retire(UINT64_MAX).sessions, 0);
    remove_state();
}

TEST(journals_that_hold_too_much_go_oldest_first_and_the_latest_stay)
{
    make_state();
    make_sessions(30);
    struct stat status;
    REQUIRE(stat(arena_printf(&state.arena, "%s/bawn/sessions/w-30/journal.jsonl", state.path), &status) ==
            0);
    uint64_t one = (uint64_t)status.st_size;
    struct retired retired = retire(25 * one);
    CHECK_INT(retired.sessions, 5);
    CHECK_INT(retired.bytes, 5 * one);
    CHECK(is_there(1) && !is_there(2) && !is_there(6) && is_there(7));
    CHECK_INT(retire(1).sessions, 14);
    CHECK(is_there(1) && !is_there(20) && is_there(21) && is_there(30));
    remove_state();
}

TEST(a_session_that_runs_stays_and_an_empty_folder_that_a_killed_one_left_goes)
{
    make_state();
    make_sessions(14);
    struct err err = {0};
    auto_fd int sessions =
        open(arena_printf(&state.arena, "%s/bawn/sessions", state.path), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int running = session_lock(sessions, "w-2", &err);
    REQUIRE(running >= 0);
    CHECK_INT(unlinkat(sessions, "w-3/" SESSION_JOURNAL, 0), 0);
    struct timespec long_ago[2] = {{.tv_sec = 3}, {.tv_sec = 3}};
    CHECK_INT(utimensat(sessions, "w-3", long_ago, 0), 0);
    CHECK_INT(retire(1).sessions, 2);
    CHECK(is_there(1) && is_there(2) && !is_there(3) && !is_there(4) && is_there(5));
    close(running);
    remove_state();
}

/* What is written of a text. */
static const char *redacted(const struct secrets *secrets, const char *text)
{
    auto_buf struct buf out = {0};
    redact_add(&out, secrets, text, strlen(text));
    return arena_str(&state.arena, buf_text(&out));
}

TEST(secrets_are_left_out)
{
    static const char *const environment[] = {"HOME=/home/me",
                                              "PWD=/home/me/token",
                                              "API_TOKEN=hunter2hunter2",
                                              "LONGER_TOKEN=hunter2hunter2-and-more",
                                              "DB_PASSWORD=short",
                                              "my_secret=correct horse",
                                              "my_address_key=https://horse",
                                              "EDITOR=vim-the-editor",
                                              NULL};
    struct secrets secrets;
    secrets_find(&state.arena, environment, &secrets);
    static const struct {
        const char *text, *want;
    } cases[] = {
        {"plain words, /home/me/token and vim-the-editor", "plain words, /home/me/token and vim-the-editor"},
        {"curl -H 'X: hunter2hunter2'", "curl -H 'X: [$API_TOKEN]'"},
        {"a correct horse b", "a [$my_secret] b"},
        {"git clone https://me:pw@example.com/x", "git clone https://[redacted]@example.com/x"},
        {"https://example.com/a@b", "https://example.com/a@b"},
        {"postgres://u:p%40@db:5432/x?y", "postgres://[redacted]@db:5432/x?y"},
        {"--key sk-"
         "abcdefghijklmnopqrst end",
         "--key sk-[redacted] end"},
        {"ghp_0123456789abcdefghijABCDEFGHIJ012345", "ghp_[redacted]"},
        {"task-force-of-many-many-words", "task-force-of-many-many-words"},
        {"AKIAIOSFODNN7EXAMPLE", "AKIA[redacted]"},
        {"x=eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.abc", "x=eyJ[redacted]"},
        {"mysql --password=tiny -u me", "mysql --password=[redacted] -u me"},
        {"{\"token\": \"abc\"}", "{\"token\": \"[redacted]\"}"},
        {"Authorization: Bearer abc.def", "Authorization: Bearer [redacted]"},
        {"-----BEGIN OPENSSH PRIVATE KEY----- b3Blb", "[redacted]"},
        {"-----BEGIN CERTIFICATE----- MIIB", "-----BEGIN CERTIFICATE----- MIIB"},
        {"https://hunter2hunter2:pw@example.com", "https://[redacted]@example.com"},
        {"https://glpat-AAAAAAAAAAAAAAAAAAAA:pw@example.com", "https://[redacted]@example.com"},
        {"--password=hunter2hunter2rest", "--password=[redacted]"},
        {"--password=hunter2hunter2", "--password=[$API_TOKEN]"},
        {"hunter2hunter2-and-more", "[$LONGER_TOKEN]"},
        {"https://horse:pw@example.com", "[$my_address_key]@example.com"},
        {"token=sk-"
         "abcdefghijklmnopqrst!rest",
         "token=[redacted]"},
        {"", ""},
        {"sk-", "sk-"},
        {"://", "://"},
        {"password=", "password="},
    };
    for (size_t i = 0; i < array_len(cases); i++)
        CHECK_STR(redacted(&secrets, cases[i].text), cases[i].want);
    CHECK_STR(redacted(NULL, "hunter2hunter2"), "hunter2hunter2");
    const char *long_password = arena_printf(&state.arena, "https://me:%0600d@example.com", 0);
    CHECK_STR(redacted(NULL, long_password), "https://[redacted]@example.com");
    secrets_free(&secrets);
    arena_free(&state.arena);
}

static const char *long_text(void)
{
    char *text = arena_alloc(&state.arena, 4001);
    memset(text, 'a', 4000);
    return text;
}

TEST(a_journal_has_a_largest_size_and_still_gets_its_end)
{
    make_state();
    auto_fd int folder = open_state();
    struct journal journal;
    struct err err = {0};
    const char *text = long_text();
    REQUIRE(journal_open(folder, "j", &journal, &err) == 0);
    for (int i = 0; i < 3000; i++)
        journal_event(&journal, "refused", "why", text);
    uint64_t written = journal.next - 1, lost = journal.lost;
    CHECK(written > 2000 && written < 2100);
    CHECK_INT(written + lost, 3000);
    journal_event(&journal, "end", "status", "0");
    CHECK_INT(journal.next - 1, written + 1);
    journal_close(&journal);
    struct stat status;
    CHECK_INT(fstatat(folder, "j", &status, 0), 0);
    CHECK(status.st_size < (off_t)9 << 20);
    CHECK_STR(verified(folder), arena_printf(&state.arena, "%llu", (unsigned long long)written + 1));
    remove_state();
}

/* Adds so many records of an event, each of 4,000 bytes and more, and returns how many of them were written. */
static uint64_t written_of(struct journal *journal, const char *event, const char *text, int count)
{
    uint64_t before = journal->next;
    for (int i = 0; i < count; i++)
        journal_event(journal, event, "why", text);
    return journal->next - before;
}

TEST(a_journal_that_a_flood_has_filled_still_takes_what_matters)
{
    static const char *const floods[] = {"exec", "name", "refused", "held"};
    make_state();
    auto_fd int folder = open_state();
    struct journal journal;
    struct err err = {0};
    const char *text = long_text();
    REQUIRE(journal_open(folder, "j", &journal, &err) == 0);
    CHECK(written_of(&journal, "exec", text, 3000) < 2900); /* the control: there is a limit */
    CHECK_INT(written_of(&journal, "name", text, 1), 0);
    CHECK_INT(written_of(&journal, "refused", text, 100), 100);
    CHECK_INT(written_of(&journal, "tripwire", text, 1), 1);
    for (size_t i = 0; i < array_len(floods); i++)
        written_of(&journal, floods[i], text, 3000);
    CHECK_INT(written_of(&journal, "refused", text, 1), 0);
    CHECK_INT(written_of(&journal, "held", text, 1), 0);
    CHECK_INT(written_of(&journal, "tripwire", text, 10), 10);
    CHECK_INT(written_of(&journal, "failed", text, 1), 1);
    CHECK_INT(written_of(&journal, "tripwire", text, 3000) < 3000, 1);
    CHECK_INT(written_of(&journal, "end", text, 1), 1);
    CHECK(journal.size < (uint64_t)9 << 20);
    CHECK_STR(verified(folder), arena_printf(&state.arena, "%llu", (unsigned long long)journal.next - 1));
    journal_close(&journal);
    remove_state();
}

TEST(no_number_of_records_keeps_out_one_of_another_kind)
{
    static const char *const kinds[] = {
        "guarded",  "ssh-key", "ssh-key-refused", "forge",    "asked",
        "answered", "allowed", "connected",       "secret",   "secret-trouble",
        "refused",  "held",    "replaced",        "tripwire", "leak"};
    make_state();
    auto_fd int folder = open_state();
    struct journal journal;
    struct err err = {0};
    const char *text = long_text();
    REQUIRE(journal_open(folder, "j", &journal, &err) == 0);
    CHECK(written_of(&journal, "exec", text, 3000) < 2900); /* the control: there is a limit */
    CHECK_INT(written_of(&journal, "exec", text, 1), 0);
    for (size_t i = 0; i < array_len(kinds); i++) {
        CHECK_INT(written_of(&journal, kinds[i], text, 3), 3);
        CHECK(written_of(&journal, kinds[i], text, 3000) < 3000);
    }
    uint64_t before = journal.next;
    journal_event(&journal, "forge", "what", "not served");
    CHECK_INT(journal.next, before); /* the control: those are too many */
    journal_event(&journal, "forge", "repository", "forge.test/acme/app", "what", "pushed");
    CHECK_INT(journal.next, before + 1);
    CHECK_INT(written_of(&journal, "end", text, 1), 1);
    struct stat status;
    CHECK_INT(fstatat(folder, "j", &status, 0), 0);
    CHECK(status.st_size < (off_t)13 << 20);
    journal_close(&journal);
    remove_state();
}

TEST(what_is_left_out_is_counted_by_the_next_record)
{
    make_state();
    auto_fd int folder = open_state();
    struct journal journal, none = JOURNAL_NONE;
    struct err err = {0};
    REQUIRE(journal_open(folder, "j", &journal, &err) == 0);
    journal_event(&journal, "forge", "what", "refused");
    journal_leave_out(&journal);
    journal_leave_out(&journal);
    CHECK_INT(journal.lost, 2);
    journal_event(&journal, "end", "status", "0");
    CHECK_INT(journal.lost, 0);
    journal_leave_out(&none);
    CHECK_INT(none.lost, 0);
    journal_close(&journal);
    remove_state();
}

UNIT_MAIN()
