#include "fleet/task.h"

#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/map.h"
#include "base/text.h"
#include "policy/diag.h"
#include "policy/parse.h"

#define NAME_CHARACTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_"

bool task_id_is_valid(const char *id)
{
    size_t size = strlen(id);
    return size && size <= TASK_ID_LONGEST && *id != '.' && *id != '-' &&
           strspn(id, NAME_CHARACTERS "-.") == size;
}

/* --- one line --------------------------------------------------------------------------------------------------------- */

static const struct task_variable *find_variable(const struct task *task, const char *name, size_t size)
{
    vec_each (const struct task_variable, variable, &task->variables) {
        if (strlen(variable->name) == size && memcmp(variable->name, name, size) == 0)
            return variable;
    }
    return NULL;
}

/* A string as its text, a number as its digits; NULL for anything else. */
static const char *text_of(struct arena *arena, struct json_value value)
{
    bool is_number = *value.at == '-' || (*value.at >= '0' && *value.at <= '9');
    return is_number ? arena_copy(arena, value.at, value.size) : json_text(arena, value);
}

/* The policy's own parser reads the rule here, so that a mistake in the last line is found before the first task begins. */
static int add_rule(struct task *task, struct arena *arena, enum verb verb, const char *text, struct err *err)
{
    const struct source source = {.name = "task", .layer = LAYER_COMMAND_LINE};
    struct diags diags = {.arena = arena};
    auto_vec rule_list rules = {0};
    parse_argument(arena, &source, verb, text, &rules, &diags);
    if (diags.errors && diags.list.at[0].hint)
        err_set(err, "%s; %s", diags.list.at[0].message, diags.list.at[0].hint);
    else if (diags.errors)
        err_set(err, "%s", diags.list.at[0].message);
    bool is_fine = diags.errors == 0;
    diags_free(&diags);
    if (is_fine)
        vec_push(&task->rules, (struct argument){verb, text});
    return is_fine ? 0 : -1;
}

/* These are of one run alone; the others say how much is kept of all runs. */
static bool is_limit_of_task(const char *name)
{
    static const char *const names[] = {"memory", "pids", "files", "time", "disk", "rate"};
    return text_is_among(name, names, array_len(names));
}

/* Does the variable make any program load code, or is it one of bawn's own? */
static bool is_variable_refused(const char *name)
{
    return text_starts_with(name, "LD_") || text_starts_with(name, "GLIBC_") ||
           text_starts_with(name, "BAWN_") || strcmp(name, "GCONV_PATH") == 0;
}

/* "limits": {"memory": "2G"} is the rule `limit memory=2G`; "env": {"A": "b"} is `env A=b`. */
static int add_pairs(struct task *task, struct arena *arena, enum verb verb, struct json_value object,
                     struct err *err)
{
    struct json_value key, value;
    if (*object.at != '{')
        return err_set(err, "\"%s\" must be an object whose values are strings",
                       verb == VERB_ENV ? "env" : "limits");
    for (size_t at = 0; json_next_member(object, &at, &key, &value);) {
        const char *name = json_text(arena, key), *text = text_of(arena, value);
        if (!name || !*name || strspn(name, NAME_CHARACTERS) != strlen(name))
            return err_set(err, "\"%s\" has a name that is not made of letters, digits and '_'",
                           verb == VERB_ENV ? "env" : "limits");
        if (!text)
            return err_set(err, "the value of %s is neither a string nor a number", name);
        if (verb == VERB_LIMIT && !is_limit_of_task(name))
            return err_set(err, "%s is not a limit of a task: memory, pids, files, time, disk and rate are",
                           name);
        if (verb == VERB_ENV && is_variable_refused(name))
            return err_set(err, "a task cannot set the variable %s", name);
        if (add_rule(task, arena, verb, arena_printf(arena, "%s=%s", name, text), err) < 0)
            return -1;
    }
    return 0;
}

static int add_variable(struct task *task, const char *name, const char *value, struct err *err)
{
    if (!value)
        return err_set(err, "the value of \"%s\" is neither a string nor a number", name);
    vec_push(&task->variables, (struct task_variable){name, value});
    return 0;
}

/* "after": "ID", or a list of them. */
static int add_after(struct task *task, struct arena *arena, struct json_value value, struct err *err)
{
    struct json_value item = value;
    bool is_list = *value.at == '[';
    for (size_t at = 0; is_list ? json_next_item(value, &at, &item) : at == 0; at += !is_list) {
        const char *id = json_text(arena, item);
        if (!id)
            return err_set(err, "\"after\" must be the id of a task, or a list of ids");
        vec_push(&task->after, id);
    }
    return 0;
}

static int add_member(struct task *task, struct arena *arena, const char *name, struct json_value value,
                      struct err *err)
{
    if (strcmp(name, "limits") == 0)
        return add_pairs(task, arena, VERB_LIMIT, value, err);
    if (strcmp(name, "env") == 0)
        return add_pairs(task, arena, VERB_ENV, value, err);
    if (strcmp(name, "after") == 0)
        return add_after(task, arena, value, err);
    const char *text = text_of(arena, value);
    if (text && strcmp(name, "net") == 0)
        return add_rule(task, arena, VERB_NET, text, err);
    if (text && strcmp(name, "id") == 0)
        task->id = text;
    if (text && strcmp(name, "workspace") == 0)
        task->workspace = text;
    if (text && strcmp(name, "ref") == 0)
        task->ref = text;
    return add_variable(task, name, text, err);
}

static bool take_member(struct json_value key, struct json_value value, struct arena *arena,
                        struct map *names, struct task *task, struct err *err)
{
    const char *name = json_text(arena, key);
    if (!name || !*name || strspn(name, NAME_CHARACTERS) != strlen(name)) {
        err_set(err, "a name is not made of letters, digits and '_'");
        return false;
    }
    if (map_get(names, name, strlen(name))) {
        err_set(err, "\"%s\" is there twice", name);
        return false;
    }
    *map_at(names, name, strlen(name)) = task;
    return add_member(task, arena, name, value, err) == 0;
}

static bool take_members(struct json_value object, struct arena *arena, struct task *task, struct err *err)
{
    struct json_value key, value;
    struct map names = {0};
    bool is_fine = true;
    for (size_t at = 0; is_fine && json_next_member(object, &at, &key, &value);)
        is_fine = take_member(key, value, arena, &names, task, err);
    map_free(&names);
    return is_fine;
}

static bool has_id(const struct task *task, struct err *err)
{
    if (!task->id)
        err_set(err, "it has no \"id\"");
    else if (task_id_is_valid(task->id))
        return true;
    else
        err_set(err, "its \"id\" is not made of at most %d letters, digits, '-', '_' and '.'",
                TASK_ID_LONGEST);
    return false;
}

static bool is_object(struct bytes line, struct json_value *ret_object, struct err *err)
{
    if (line.size > TASK_LARGEST)
        err_set(err, "it is longer than %d bytes", TASK_LARGEST);
    else if (json_read(line.at, line.size, ret_object) && *ret_object->at == '{')
        return true;
    else
        err_set(err, "it is not a JSON object");
    return false;
}

int task_parse(struct bytes line, struct arena *arena, struct task *ret_task, struct err *err)
{
    struct json_value object;
    struct task task = {.line = line};
    if (!is_object(line, &object, err) || !take_members(object, arena, &task, err) || !has_id(&task, err)) {
        task_free(&task);
        return -1;
    }
    *ret_task = task;
    return 0;
}

/* --- the file --------------------------------------------------------------------------------------------------------- */

/* Files of the fleet's own lie beside the folders of the tasks. */
static bool is_reserved(const char *id)
{
    return strcmp(id, "fleet.json") == 0 || strcmp(id, "workers.log") == 0 || strcmp(id, "rate") == 0 ||
           text_starts_with(id, "rate.") || text_starts_with(id, "slurm.");
}

static int add_task(struct bytes line, size_t number, struct arena *arena, struct map *ids, task_list *tasks,
                    struct err *err)
{
    struct task task;
    if (tasks->count == MOST_TASKS)
        return err_set(err, "a fleet can have %d tasks at most", MOST_TASKS);
    if (task_parse(line, arena, &task, err) < 0)
        return -1;
    task.number = number;
    vec_push(tasks, task);
    for (size_t i = 0; i < task.after.count; i++) {
        if (!map_get(ids, task.after.at[i], strlen(task.after.at[i])))
            return err_set(err, "its \"after\" names a task that no earlier line has");
    }
    if (is_reserved(task.id))
        return err_set(err, "its \"id\" %s is the name of a file that the fleet itself uses", task.id);
    if (map_get(ids, task.id, strlen(task.id)))
        return err_set(err, "another task has the id %s", task.id);
    *map_at(ids, task.id, strlen(task.id)) = tasks;
    return 0;
}

int tasks_parse(struct bytes text, struct arena *arena, task_list *ret_tasks, struct err *err)
{
    task_list tasks = {0};
    struct map ids = {0};
    struct bytes line;
    struct err why = {0};
    int result = 0;
    for (size_t number = 1; result == 0 && bytes_take_line(&text, &line); number++) {
        if (line.size && add_task(line, number, arena, &ids, &tasks, &why) < 0)
            result = err_set(err, "line %zu of the task file cannot be used: %s", number, why.message);
    }
    if (result == 0 && tasks.count == 0)
        result = err_set(err, "the task file has no task");
    map_free(&ids);
    if (result < 0)
        tasks_free(&tasks);
    else
        *ret_tasks = tasks;
    return result;
}

void task_free(struct task *task)
{
    vec_free(&task->after);
    vec_free(&task->rules);
    vec_free(&task->variables);
}

void tasks_free(task_list *tasks)
{
    vec_each (struct task, task, tasks)
        task_free(task);
    vec_free(tasks);
}

/* --- the command ------------------------------------------------------------------------------------------------------ */

/* The size of "{name}" at this place, with the size of the name; 0 where there is none. */
static size_t brace_span(const char *at, size_t *ret_name)
{
    *ret_name = *at == '{' ? strspn(at + 1, NAME_CHARACTERS) : 0;
    return *ret_name && at[1 + *ret_name] == '}' ? *ret_name + 2 : 0;
}

static int add_word(const struct task *task, const char *word, struct buf *out, struct err *err)
{
    while (*word) {
        size_t name, doubled = *word == '{' ? brace_span(word + 1, &name) : 0;
        if (doubled && word[1 + doubled] == '}') {
            buf_add(out, word + 1, doubled);
            word += doubled + 2;
            continue;
        }
        size_t span = brace_span(word, &name);
        if (!span) {
            buf_add_char(out, *word++);
            continue;
        }
        const struct task_variable *variable = find_variable(task, word + 1, name);
        if (!variable) {
            err_set(err, "task %s has no \"%.*s\", which the command uses", task->id, (int)(name % 100),
                    word + 1);
            return err_hint(err, "write {{name}} for a command that needs {name} itself");
        }
        buf_add_str(out, variable->value);
        word += span;
    }
    return 0;
}

const char *const *task_command(const struct task *task, const char *const *command, struct arena *arena,
                                struct err *err)
{
    size_t count = 0;
    while (command[count])
        count++;
    const char **words = arena_alloc(arena, (count + 1) * sizeof(*words));
    for (size_t i = 0; i < count; i++) {
        auto_buf struct buf word = {0};
        if (add_word(task, command[i], &word, err) < 0)
            return NULL;
        if (word.size > TASK_WORD_LONGEST) {
            err_set(err, "word %zu of the command of task %s is longer than %d bytes", i + 1, task->id,
                    TASK_WORD_LONGEST);
            err_hint(err, "put long texts into a file of the workspace, and name the file");
            return NULL;
        }
        words[i] = arena_str(arena, buf_text(&word));
    }
    return words;
}
