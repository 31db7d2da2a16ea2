/* Any bytes as a line of a journal: what is understood can be written again, and is then understood as the same. */
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "fuzz.h"
#include "journal/journal.h"

static void write_again(const struct journal_record *record, struct buf *out)
{
    struct json json = {.out = out, .on_one_line = true};
    json_open(&json, NULL, '{');
    json_int(&json, "n", (int64_t)record->number);
    json_str(&json, "at", record->at);
    json_str(&json, "event", record->event);
    for (size_t i = 0; i < record->fields.count; i++)
        json_str(&json, record->fields.at[i].name, record->fields.at[i].text);
    json_close(&json, '}');
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct arena arena = {0};
    struct journal_record record, again;
    if (size < 65536 && journal_record_parse(&arena, (const char *)bytes, size, &record)) {
        auto_buf struct buf line = {0};
        write_again(&record, &line);
        if (record.number <= INT64_MAX) {
            if (!journal_record_parse(&arena, line.bytes, line.size, &again) ||
                again.number != record.number || strcmp(again.event, record.event) != 0 ||
                again.fields.count != record.fields.count)
                abort();
            for (size_t i = 0; i < record.fields.count; i++) {
                if (strcmp(record.fields.at[i].text, again.fields.at[i].text) != 0)
                    abort();
            }
            journal_record_free(&again);
        }
        journal_record_free(&record);
    }
    arena_free(&arena);
    return 0;
}
