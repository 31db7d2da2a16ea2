/* `bawn check`: reports the mistakes in policy files. */
#include <string.h>

#include "base/json.h"
#include "base/path.h"
#include "cli/commands.h"
#include "cli/say.h"
#include "policy/parse.h"
#include "session/load.h"

/* A single file has the layer that its path suggests. */
static void guess_layer(struct source *source)
{
    source->layer = LAYER_USER;
    if (strcmp(path_name(source->name), ".bawn") == 0)
        source->layer = LAYER_REPOSITORY;
    else if (strstr(source->name, "/profiles/"))
        source->is_profile = true;
    else if (path_is_beneath(source->name, "/etc/bawn"))
        source->layer = LAYER_ADMIN;
    source->asked_by = source->layer;
    source->all_workspaces = true;
}

static void check_uses(struct loaded *loaded, const rule_list *rules)
{
    struct profile_finder finder = load_finder(loaded);
    for (size_t i = 0; i < rules->count; i++) {
        struct source found;
        struct err err = {0};
        if (rules->at[i].verb == VERB_USE && profile_find(&finder, rules->at[i].text, &found, &err) <= 0)
            diag_error(&loaded->diags, spot_of_rule(&rules->at[i]), "`bawn profiles` lists them",
                       "there is no profile '%s'", rules->at[i].text);
    }
}

/* Returns the number of rules in the file. */
static size_t check_file(struct loaded *loaded, const char *name)
{
    struct source *source = arena_new(&loaded->arena, struct source);
    const struct fs_place *place = NULL;
    struct err err = {0};
    char *text = NULL;
    source->name = path_clean(&loaded->arena, loaded->request.directory, name);
    guess_layer(source);
    int found = fs_resolve(&loaded->fs, source->name, &place, &err);
    if (found == 0)
        found = fs_read(&loaded->fs, place->real, POLICY_LARGEST, &text, &source->size, &err);
    if (found <= 0) {
        diag_error(&loaded->diags, (struct spot){.source = source}, NULL, "%s",
                   found < 0 ? err.message : "there is no such file");
        return 0;
    }
    source->text = text;
    auto_vec rule_list rules = {0};
    parse_source(&loaded->arena, source, &rules, &loaded->diags);
    check_uses(loaded, &rules);
    return rules.count;
}

static void print_json(const struct world *world, const struct diags *diags)
{
    auto_buf struct buf out = {0};
    struct json json = {.out = &out};
    json_open(&json, NULL, '[');
    vec_each (const struct diag, diag, &diags->list) {
        json_open(&json, NULL, '{');
        json_str(&json, "severity", diag->severity == SEVERITY_ERROR ? "error" : "warning");
        json_str(&json, "file", diag->source->name);
        if (diag->line) {
            json_int(&json, "line", diag->line);
            json_int(&json, "column", diag->column);
        }
        json_str(&json, "message", diag->message);
        json_str(&json, "hint", diag->hint);
        json_close(&json, '}');
    }
    json_close(&json, ']');
    put(world->out, &out);
}

static void print_result(const struct world *world, const struct loaded *loaded, size_t files, size_t rules)
{
    load_say_diags(&world->speaker, loaded);
    size_t errors = loaded->diags.errors,
           warnings = loaded->diags.list.count + loaded->diags.left_out - errors;
    auto_buf struct buf out = {0};
    buf_printf(&out, "%zu rule%s in %zu file%s: ", rules, rules == 1 ? "" : "s", files,
               files == 1 ? "" : "s");
    if (errors)
        buf_printf(&out, "%zu mistake%s", errors, errors == 1 ? "" : "s");
    else
        buf_add_str(&out, "no mistakes");
    if (warnings)
        buf_printf(&out, ", %zu warning%s", warnings, warnings == 1 ? "" : "s");
    fprintf(world->out, "%s\n", buf_text(&out));
}

/* The files that would apply here. */
static size_t count_files(const struct policy *policy)
{
    size_t files = 0;
    for (size_t i = 0; i < policy->sources.count; i++)
        files += policy->sources.at[i]->text != NULL;
    return files;
}

/* Rules that a person wrote, without those that bawn found itself. */
static size_t count_rules(const struct policy *policy)
{
    size_t rules = 0;
    for (size_t i = 0; i < policy->rules.count; i++)
        rules += policy->rules.at[i].line > 0 || policy->rules.at[i].source->layer == LAYER_COMMAND_LINE;
    return rules;
}

int cmd_check(const struct world *world, const struct args *args)
{
    const struct run_request request = args_request(args);
    auto_loaded struct loaded loaded = {0};
    size_t named = args->words.count;
    int status =
        named ? load_request(&world->caller, &loaded) : load_policy(&world->caller, &request, &loaded);
    if (status)
        return status;
    size_t rules = count_rules(&loaded.policy);
    for (size_t i = 0; i < named; i++)
        rules += check_file(&loaded, args->words.at[i]);
    if (args->flags & FLAG(JSON))
        print_json(world, &loaded.diags);
    else
        print_result(world, &loaded, named ? named : count_files(&loaded.policy), rules);
    return loaded.diags.errors ? EXIT_BAD_INPUT : EXIT_FINE;
}
