/*
 * The task file of a fleet: JSON lines, one task each. Nothing here has an effect.
 *
 * The file is the user's, but its texts often come from elsewhere (issues, datasets), so it is parsed strictly and within bounds.
 * No shell sees a text: a value replaces {name} inside one word of the command.
 */
#pragma once

#include "base/arena.h"
#include "base/bytes.h"
#include "base/err.h"
#include "base/vec.h"
#include "policy/policy.h"

enum {
    TASK_FILE_LARGEST = 256 * 1024 * 1024,
    TASK_LARGEST = 1024 * 1024, /* one line */
    MOST_TASKS = 100000,
    TASK_ID_LONGEST = 64,
    TASK_WORD_LONGEST = 128 * 1024 - 1, /* the kernel takes no longer argument */
};

struct task_variable {
    const char *name, *value;
};

struct task {
    const char *id;                      /* letters, digits, '-', '_' and '.', which it does not begin with */
    const char *workspace;               /* NULL: where the fleet was started */
    const char *ref;                     /* a branch or a commit; NULL: the project as it is, in a review */
    VEC(const char *) after;             /* ids of tasks that must be done before it begins */
    VEC(struct argument) rules;          /* `limit memory=2G`, `env NAME=VALUE`, `net off` */
    VEC(struct task_variable) variables; /* the id among them */
    struct bytes line;                   /* as it stands in the file */
    size_t number;                       /* of the line */
};

typedef VEC(struct task) task_list;

/* Takes one line apart. The texts lie in the arena. */
int task_parse(struct bytes line, struct arena *arena, struct task *ret_task, struct err *err) must_check;

/*
 * Takes a whole file apart. Empty lines are passed over; an id that comes twice is an error, and so is an `after` that names no earlier
 * line: so no two tasks wait for each other.
 */
int tasks_parse(struct bytes text, struct arena *arena, task_list *ret_tasks, struct err *err) must_check;

/*
 * The words of the command with each {name} replaced; {{name}} becomes {name}. Other braces stay as they are. A name that the
 * task does not have is an error. Returns a list that ends with NULL, or NULL.
 */
const char *const *task_command(const struct task *task, const char *const *command, struct arena *arena,
                                struct err *err) must_check;

/* Can it be the name of a task and of its folder? */
bool task_id_is_valid(const char *id);

void task_free(struct task *task);
void tasks_free(task_list *tasks);
#define auto_tasks __attribute__((cleanup(tasks_free)))
