#include "report/facts.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "journal/session.h"

enum { JOURNAL_LARGEST = 16 * 1024 * 1024 };

const struct finding findings[] = {
    {"given up", "wall", "wall was given up", "walls were given up", "log", " --denied"},
    {"tripwire", "path", "decoy was opened", "decoys were opened", "log", " --denied --files"},
    {"leak", "what", "secret was in a request", "secrets were in requests", "log", " --denied --net"},
    {"secret-misused", "name", "placeholder of a secret was sent to a host that it is not for",
     "placeholders of secrets were sent to hosts that they are not for", "log", " --denied --net"},
    {"refused", "host", "host was refused", "hosts were refused", "log", " --denied --net"},
    {"held", "path", "file was set aside", "files were set aside", "held", ""},
    {"restored", "path", "deleted file was put back", "deleted files were put back", "log",
     " --denied --files"},
    {"pin-lost", "path", "frozen path was not frozen for a time", "frozen paths were not frozen for a time",
     "log", ""},
    {"limit", "name", "limit was reached", "limits were reached", "log", " --denied"},
    {"not-checked", "path", "check could not be finished", "checks could not be finished", "log", " --files"},
};
const size_t finding_count = array_len(findings);

const struct journal_record *facts_find(const struct session_facts *facts, const char *event)
{
    for (size_t i = 0; i < facts->records.count; i++) {
        if (strcmp(facts->records.at[i].event, event) == 0)
            return &facts->records.at[i];
    }
    return NULL;
}

uint64_t facts_lost(const struct session_facts *facts)
{
    uint64_t lost = 0;
    for (size_t i = 0; i < facts->records.count; i++)
        lost += strtoull(event_field(&facts->records.at[i], "lost"), NULL, 10);
    return lost;
}

static bool has_text(const text_list *texts, const char *text)
{
    for (size_t i = 0; i < texts->count; i++) {
        if (strcmp(texts->at[i], text) == 0)
            return true;
    }
    return false;
}

void facts_names(const struct session_facts *facts, const struct finding *finding, text_list *ret_names)
{
    for (size_t i = 0; i < facts->records.count && ret_names->count < FACTS_MOST_NAMES; i++) {
        const struct journal_record *record = &facts->records.at[i];
        if (strcmp(record->event, finding->event) != 0)
            continue;
        const char *name = event_field(record, finding->field);
        if (!has_text(ret_names, name))
            vec_push(ret_names, name);
    }
}

static struct session_host *find_host(session_hosts *hosts, const char *name, const char *port)
{
    for (size_t i = 0; i < hosts->count; i++) {
        if (strcmp(hosts->at[i].name, name) == 0 && strcmp(hosts->at[i].port, port) == 0)
            return &hosts->at[i];
    }
    vec_push(hosts, (struct session_host){.name = name, .port = port});
    return &hosts->at[hosts->count - 1];
}

void facts_hosts(const struct session_facts *facts, session_hosts *ret_hosts)
{
    enum { MOST_HOSTS = 500 };
    for (size_t i = 0; i < facts->records.count && ret_hosts->count < MOST_HOSTS; i++) {
        const struct journal_record *record = &facts->records.at[i];
        bool is_closed = strcmp(record->event, "closed") == 0,
             is_refused = strcmp(record->event, "refused") == 0;
        if (!is_closed && !is_refused && strcmp(record->event, "connected") != 0)
            continue;
        const char *port = event_field(record, "port");
        struct session_host *host =
            find_host(ret_hosts, event_field(record, "host"), strcmp(port, "0") == 0 ? "" : port);
        host->connections += is_closed;
        host->sent += is_closed ? strtoull(event_field(record, "sent"), NULL, 10) : 0;
        host->received += is_closed ? strtoull(event_field(record, "received"), NULL, 10) : 0;
        host->refused += is_refused;
        if (is_refused)
            host->why = event_field(record, "why");
    }
}

static void read_records(int session_fd, struct session_facts *facts)
{
    auto_fd int fd = openat(session_fd, SESSION_JOURNAL, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    auto_buf struct buf text = {0};
    facts->is_cut = fd < 0 || buf_read(&text, fd, JOURNAL_LARGEST) < 0 || text.size >= JOURNAL_LARGEST;
    if (!text.size)
        return;
    const char *line = buf_text(&text);
    for (const char *end; (end = strchr(line, '\n')); line = end + 1) {
        struct journal_record record;
        if (journal_record_parse(facts->arena, line, (size_t)(end - line), &record))
            vec_push(&facts->records, record);
    }
    facts->size = (uint64_t)(line - buf_text(&text));
}

static void verify(int session_fd, struct session_facts *facts)
{
    struct journal_end end;
    struct err err = {0};
    facts->is_whole = journal_verify(session_fd, SESSION_JOURNAL, &end, &err) == 0;
    facts->integrity =
        facts->is_whole
            ? arena_printf(facts->arena, "%" PRIu64 " records, hash chain intact.", end.records)
            : arena_printf(facts->arena, "The hash chain of this journal is broken: %s.", err.message);
}

void facts_read(struct arena *arena, int session_fd, struct session_facts *ret_facts)
{
    *ret_facts = (struct session_facts){.arena = arena};
    verify(session_fd, ret_facts);
    read_records(session_fd, ret_facts);
}

void facts_free(struct session_facts *facts)
{
    for (size_t i = 0; i < facts->records.count; i++)
        journal_record_free(&facts->records.at[i]);
    vec_free(&facts->records);
}
