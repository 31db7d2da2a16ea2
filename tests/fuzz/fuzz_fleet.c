/* Any bytes as a task file and as a result: what is taken is within its bounds, and what is written again is taken again. */
#include <stdlib.h>
#include <string.h>

#include "fleet/result.h"
#include "fleet/task.h"
#include "fuzz.h"

static void try_tasks(struct arena *arena, struct bytes text)
{
    static const char *const command[] = {"run", "{prompt}", "{{id}}{id}", NULL};
    task_list tasks = {0};
    struct err err = {0};
    if (tasks_parse(text, arena, &tasks, &err) < 0) {
        if (!*err.message)
            abort();
        return;
    }
    vec_each (const struct task, task, &tasks) {
        if (!task_id_is_valid(task->id) || strchr(task->id, '/') || *task->id == '.')
            abort();
        const char *const *words = task_command(task, command, arena, &err);
        if (words && (words[3] || strncmp(words[2], "{id}", 4) != 0 || strcmp(words[2] + 4, task->id) != 0))
            abort();
    }
    tasks_free(&tasks);
}

static void try_result(struct arena *arena, struct bytes text)
{
    struct result result, again;
    struct buf out = {0};
    if (!result_parse(text, "a", arena, &result))
        return;
    result_add_json(&result, &out);
    if (!result_parse(bytes_of(buf_text(&out), out.size), "a", arena, &again) ||
        again.status != result.status || again.hosts.count != result.hosts.count)
        abort();
    result_free(&result);
    result_free(&again);
    buf_free(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct arena arena = {0};
    const char *copy = arena_copy(&arena, (const char *)bytes, size);
    try_tasks(&arena, bytes_of(copy, size));
    try_result(&arena, bytes_of(copy, size));
    arena_free(&arena);
    return 0;
}
