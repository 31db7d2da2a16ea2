#include "journal/wants.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

DEFINE_TEXTS(want_kind_name, enum want_kind, WANT_KINDS, NAME_OF)
DEFINE_TEXTS(want_ending_name, enum want_ending, WANT_ENDINGS, NAME_OF)

struct want *wants_note(struct wants *wants, enum want_kind kind, const char *object, uint16_t port,
                        const char *program)
{
    auto_arena struct arena arena = {0};
    const char *key = arena_printf(&arena, "%d %d %s", (int)kind, (int)port, object);
    struct want *want = map_get(&wants->known, key, strlen(key));
    if (!want && wants->all.count == WANTS_MOST) {
        wants->left_out++;
        return NULL;
    }
    if (!want) {
        want = arena_new(&wants->arena, struct want);
        *want = (struct want){.kind = kind,
                              .port = port,
                              .object = arena_str(&wants->arena, object),
                              .program = arena_str(&wants->arena, program)};
        const char *kept = arena_str(&wants->arena, key);
        *map_at(&wants->known, kept, strlen(kept)) = want;
        vec_push(&wants->all, want);
    }
    want->times++;
    return want;
}

void want_note_ending(struct want *want, enum want_ending ending)
{
    if (ending > want->ending)
        want->ending = ending;
}

void wants_record(const struct wants *wants, struct journal *journal)
{
    char times[24], port[8];
    for (size_t i = 0; i < wants->all.count; i++) {
        const struct want *want = wants->all.at[i];
        snprintf(times, sizeof(times), "%" PRIu64, want->times);
        snprintf(port, sizeof(port), "%u", (unsigned)want->port);
        journal_event(journal, "wanted", "kind", want_kind_name(want->kind), "object", want->object, "port",
                      port, "times", times, "program", want->program, "ending",
                      want_ending_name(want->is_recovered ? WANT_WENT_ON : want->ending));
    }
    snprintf(times, sizeof(times), "%" PRIu64, wants->left_out);
    if (wants->left_out)
        journal_event(journal, "not-learnt", "objects", times);
}

static const char *field(const struct journal_record *record, const char *name)
{
    const char *text = journal_record_text(record, name);
    return text ? text : "";
}

static uint64_t number_in(const struct journal_record *record, const char *name, uint64_t most)
{
    const char *text = field(record, name);
    uint64_t number = 0;
    return text_take_number(&text, &number) && !*text && number <= most ? number : 0;
}

static void take_wanted(struct wants *wants, const struct journal_record *record)
{
    const char *kind_name = field(record, "kind"), *ending_name = field(record, "ending");
    enum want_kind kind = 0;
    enum want_ending ending = 0;
    while (kind < WANT_COUNT && strcmp(want_kind_name(kind), kind_name) != 0)
        kind++;
    while (ending < WANT_ENDING_COUNT && strcmp(want_ending_name(ending), ending_name) != 0)
        ending++;
    if (kind == WANT_COUNT || !*field(record, "object"))
        return;
    struct want *want = wants_note(wants, kind, field(record, "object"),
                                   (uint16_t)number_in(record, "port", UINT16_MAX), field(record, "program"));
    uint64_t times = number_in(record, "times", UINT32_MAX);
    if (!want)
        return;
    want->times += times ? times - 1 : 0;
    want_note_ending(want, ending < WANT_ENDING_COUNT ? ending : WANT_NOT_KNOWN);
}

void wants_take(struct wants *wants, const struct journal_record *record)
{
    if (strcmp(record->event, "wanted") == 0)
        take_wanted(wants, record);
    else if (strcmp(record->event, "refused") == 0 && *field(record, "host"))
        wants_note(wants, WANT_HOST, field(record, "host"), (uint16_t)number_in(record, "port", UINT16_MAX),
                   field(record, "program"));
    else if (strcmp(record->event, "limit") == 0 && *field(record, "name"))
        wants_note(wants, WANT_LIMIT, field(record, "name"), 0, "");
    else if (strcmp(record->event, "tripwire") == 0 && *field(record, "path"))
        wants_note(wants, WANT_DECOY, field(record, "path"), 0, field(record, "process"));
    else if (strcmp(record->event, "not-learnt") == 0)
        wants->left_out += number_in(record, "objects", UINT32_MAX);
}

void wants_free(struct wants *wants)
{
    vec_free(&wants->all);
    map_free(&wants->known);
    arena_free(&wants->arena);
}
