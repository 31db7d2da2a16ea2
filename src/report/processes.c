#include "report/event.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_PROCESSES = 20000, LOOKED_BACK = 4096 };

/* Finds the latest process of this number: numbers are used again. Returns its index plus one. */
static size_t find(const struct processes *processes, const char *pid)
{
    size_t looked = 0;
    for (size_t i = processes->all.count; *pid && i && looked++ < LOOKED_BACK; i--) {
        if (strcmp(processes->all.at[i - 1].pid, pid) == 0)
            return i;
    }
    return 0;
}

/* A program that a process executes is shown below the one it was before. */
static void take_exec(struct processes *processes, const struct journal_record *record)
{
    const char *pid = event_field(record, "pid");
    size_t parent = find(processes, pid);
    if (!parent || *processes->all.at[parent - 1].ending)
        parent = find(processes, event_field(record, "parent"));
    if (processes->all.count == MOST_PROCESSES)
        return;
    vec_push(&processes->all, (struct process){.pid = pid,
                                               .arguments = event_field(record, "arguments"),
                                               .ending = "",
                                               .is_top = parent == 0});
    size_t place = processes->all.count;
    if (!parent)
        return;
    struct process *above = &processes->all.at[parent - 1];
    *(above->last_child ? &processes->all.at[above->last_child - 1].next_sibling : &above->first_child) =
        place;
    above->last_child = place;
}

void processes_take(struct processes *processes, const struct journal_record *record)
{
    if (strcmp(record->event, "exec") == 0) {
        take_exec(processes, record);
    } else if (strcmp(record->event, "exit") == 0) {
        size_t place = find(processes, event_field(record, "pid"));
        if (place) {
            processes->all.at[place - 1].ending = event_field(record, "how");
            processes->all.at[place - 1].failed = strcmp(event_field(record, "how"), "status 0") != 0;
        }
    }
}

void processes_free(struct processes *processes)
{
    vec_free(&processes->all);
}
