/* A fleet at a glance: the states of its tasks as text, as JSON and as a page of HTML. Texts from inside the sandboxes are escaped. */
#pragma once

#include "base/style.h"
#include "fleet/folder.h"

struct overview_task {
    const char *id;
    enum task_state state;
    struct result result; /* if it has one */
};

struct overview {
    struct arena arena;
    const struct fleet *fleet;
    VEC(struct overview_task) tasks;
    size_t counts[TASK_STATE_COUNT];
};

/* Looks at all tasks of a fleet, or at these. */
void overview_look(const struct fleet *fleet, const char *const *ids, size_t count,
                   struct overview *ret_overview);
void overview_free(struct overview *overview);
#define auto_overview __attribute__((cleanup(overview_free)))

/* "[#####.....] 4 of 8 done, 1 failed, 3 waiting" */
void overview_add_line(const struct overview *overview, struct buf *out);

/* The line, a table, the tasks that failed with their last lines, and totals. `is_long`: the table has every task. */
void overview_add_text(struct overview *overview, const struct style *style, bool is_long, struct buf *out);
void overview_add_json(const struct overview *overview, struct buf *out);
void overview_add_page(const struct overview *overview, struct buf *out);
