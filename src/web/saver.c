#include "web/saver.h"

#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/path.h"
#include "base/style.h"
#include "base/text.h"
#include "policy/parse.h"
#include "report/messages.h"
#include "session/load.h"
#include "trust/trust.h"
#include "web/workspaces.h"

struct saver {
    const struct act_order *order;
    struct loaded loaded;
    bool is_repository, was_trusted;
    const char *workspace; /* of the repository */
    struct policy_file file;
    size_t added;
};

static void saver_free(struct saver *saver)
{
    policy_file_free(&saver->file);
    loaded_free(&saver->loaded);
}
#define auto_saver __attribute__((cleanup(saver_free)))

/* --- what each line gives away -------------------------------------------------------------------------------------- */

static const struct {
    const char *verb;
    bool is_given; /* to every sandbox that the file is for */
    const char *gives;
} meanings[] = {
    {"read", true, "can read and run it, and send what it reads to any host that it may reach"},
    {"write", true, "can change and delete it; programs on your machine may run or obey what it writes"},
    {"connect", true, "can send data there"},
    {"env", true, "can read its value, with every program inside"},
    {"hide", false, "nothing: it takes access away"},
    {"refuse", false, "nothing: it takes access away"},
    {"limit", false, "nothing, unless the limit is higher than the one before"},
    {"require", false, "nothing: a run whose walls would stand on Landlock alone is refused"},
};

/* Modes: a word each, with what it means. */
static const struct {
    const char *line;
    bool is_given;
    const char *gives;
} modes[] = {
    {"net off", false, "nothing: there is no network"},
    {"net allow", false, "nothing: only hosts that a rule names are reached"},
    {"net open", true, "can reach every host, and every service of this machine and its network"},
    {"secrets outside", false, "nothing: values of secrets are never inside"},
    {"secrets inside", true, "can read the values of your secrets"},
};

static const char *given_to(const struct saver *saver, bool is_given, const char *gives)
{
    const char *whose = saver->is_repository ? "every sandbox of this repository" : "each of your sandboxes";
    return is_given ? arena_printf(saver->loaded.policy.arena, "%s %s", whose, gives) : gives;
}

/* "docker's socket. Gives away: the whole machine": a profile says it itself. */
static const char *profile_gives(struct saver *saver, const char *name)
{
    struct profile_finder finder = load_finder(&saver->loaded);
    const char *about = profile_about(&finder, name), *more = "gets what the profile grants";
    if (strstr(about, "Gives away"))
        return about;
    if (text_starts_with(name, "net/"))
        more = "can send data to its hosts";
    else if (text_starts_with(name, "toolchain/"))
        more = "can read the toolchain in your home and send data to its registry";
    return arena_printf(&saver->loaded.arena, "%s: %s. All its lines: bawn profiles %s", about,
                        given_to(saver, true, more), name);
}

static const char *gives_of(struct saver *saver, const struct policy_line *line)
{
    const char *text = arena_printf(&saver->loaded.arena, "%s %s", line->verb, line->object);
    if (strcmp(line->verb, "use") == 0)
        return profile_gives(saver, line->object);
    for (size_t i = 0; i < array_len(modes); i++) {
        if (strcmp(modes[i].line, text) == 0)
            return given_to(saver, modes[i].is_given, modes[i].gives);
    }
    for (size_t i = 0; i < array_len(meanings); i++) {
        if (strcmp(meanings[i].verb, line->verb) == 0)
            return given_to(saver, meanings[i].is_given, meanings[i].gives);
    }
    return "what bawn why says of it";
}

/* --- the file ------------------------------------------------------------------------------------------------------- */

static int refuse(const struct caller *caller, const struct err *err)
{
    caller_say_err(caller, err);
    return EXIT_BAD_INPUT;
}

/* Only where a session ran, or the page was started: whoever speaks for the server chooses among these. */
static bool is_known_workspace(const struct web_place *place, struct arena *arena, const char *directory)
{
    auto_vec act_words list = {0};
    workspaces_known(place, arena, &list);
    return text_is_among(directory, list.at, list.count);
}

/* Composes the policy that applies there. It says where the repository begins, and whether its file is trusted. */
static int load(struct saver *saver, const struct caller *caller, const struct web_place *place)
{
    const struct act_order *order = saver->order;
    const struct machine none = {0};
    struct caller there = *caller;
    struct err err = {0};
    there.directory = order->directory;
    there.machine = &none;
    int status = load_policy(&there, &(struct run_request){.agent = order->agent}, &saver->loaded);
    if (status)
        return status;
    if (!is_known_workspace(place, &saver->loaded.arena, order->directory) ||
        saver->loaded.policy.workspaces.count == 0) {
        err_set(&err, "%s is not the workspace of a session", order->directory);
        return refuse(caller, &err);
    }
    const struct workspace *workspace = &saver->loaded.policy.workspaces.at[0];
    saver->is_repository = strcmp(order->destination, "repository") == 0;
    saver->workspace = workspace->path;
    return 0;
}

/* A word of a file that means what it means as an argument: white space and quotes are plain there. */
static const char *as_word(struct arena *arena, const char *object)
{
    auto_buf struct buf word = {0};
    for (const char *at = object; *at; at++) {
        bool is_pair = *at == '\\' && at[1] && strchr("*?~$\\", at[1]);
        if (is_pair)
            buf_add_char(&word, *at++);
        else if (strchr(" \t'\"\\", *at) || (*at == '#' && at == object))
            buf_add_char(&word, '\\');
        buf_add_char(&word, *at);
    }
    return arena_copy(arena, buf_text(&word), word.size);
}

static int read_file(struct saver *saver, const struct web_place *place, struct err *err)
{
    struct arena *arena = &saver->loaded.arena;
    const char *path = saver->is_repository ? path_join(arena, saver->workspace, ".bawn")
                                            : own_policy_target(arena, place->policy, err);
    if (!path ||
        policy_file_read(arena, path, saver->is_repository ? REPOSITORY_POLICY_MODE : OWN_POLICY_MODE,
                         &saver->file, err) < 0)
        return -1;
    /* The content that gets the lines: a sandbox around the repository may have written it since the policy was composed. */
    saver->was_trusted =
        saver->is_repository &&
        trust_holds(&saver->loaded.fs, saver->loaded.request.starts[START_DATA], saver->workspace,
                    buf_text(&saver->file.before), saver->file.before.size);
    vec_each (const struct policy_line, line, &saver->order->lines)
        saver->added += policy_file_add(
            &saver->file, arena_printf(arena, "%s %s", line->verb, as_word(arena, line->object)));
    return 0;
}

/* Reads the new content as bawn will read it. What the file's layer must not say is a mistake, with its reason. */
static int check(struct saver *saver)
{
    struct arena *arena = &saver->loaded.arena;
    enum layer layer = saver->is_repository ? LAYER_REPOSITORY : LAYER_USER;
    const struct style style = {.home = saver->loaded.request.home};
    struct diags diags = {.arena = arena};
    auto_vec rule_list rules = {0};
    auto_buf struct buf text = {0};
    struct source *source = arena_new(arena, struct source);
    *source = (struct source){.name = saver->file.path,
                              .text = buf_text(&saver->file.after),
                              .size = saver->file.after.size,
                              .layer = layer,
                              .asked_by = layer,
                              .all_workspaces = true};
    parse_source(arena, source, &rules, &diags);
    report_add_diags(&text, &style, &diags);
    fputs(buf_text(&text), stdout);
    bool is_wrong = diags.errors;
    diags_free(&diags);
    return is_wrong ? EXIT_BAD_INPUT : 0;
}

/* --- the two acts --------------------------------------------------------------------------------------------------- */

/* The command that chooses the agent's profile, and what the profile says of itself. */
static void add_agent(struct saver *saver, struct json *json)
{
    struct profile_finder finder = load_finder(&saver->loaded);
    const char *name = arena_printf(&saver->loaded.arena, "agent/%s", saver->order->agent);
    auto_vec fs_names commands = {0};
    profile_words(&finder, name, VERB_MATCH, &commands);
    json_str(json, "agent", profile_about(&finder, name));
    json_str(json, "command", commands.count ? commands.at[0] : saver->order->agent);
}

static void print_draft(struct saver *saver, const char *state)
{
    auto_buf struct buf out = {0};
    struct json json = {.out = &out};
    const struct style style = {.home = saver->loaded.request.home};
    json_open(&json, NULL, '{');
    json_str(&json, "path", style_path(&style, &saver->loaded.arena, saver->file.path));
    json_str(&json, "state", state);
    json_true(&json, "new", !saver->file.is_there);
    json_true(&json, "repository", saver->is_repository);
    json_true(&json, "trusted", saver->was_trusted);
    json_true(&json, "same", saver->added == 0);
    json_str(&json, "before", buf_text(&saver->file.before));
    json_str(&json, "after", buf_text(&saver->file.after));
    json_open(&json, "lines", '[');
    vec_each (const struct policy_line, line, &saver->order->lines) {
        json_open(&json, NULL, '{');
        json_str(&json, "line",
                 arena_printf(&saver->loaded.arena, "%s %s", line->verb,
                              as_word(&saver->loaded.arena, line->object)));
        json_str(&json, "gives", gives_of(saver, line));
        json_close(&json, '}');
    }
    json_close(&json, ']');
    add_agent(saver, &json);
    json_close(&json, '}');
    fputs(buf_text(&out), stdout);
}

/* A file that was trusted stays so: the person has seen the lines that are new. A new one is not, as after `bawn init`. */
static int save(struct saver *saver, struct err *err)
{
    struct loaded *loaded = &saver->loaded;
    const struct style style = {.home = loaded->request.home};
    if (policy_file_write(&loaded->arena, &saver->file, err) < 0)
        return -1;
    printf("Added %zu line%s to %s.\n", saver->added, saver->added == 1 ? "" : "s",
           style_path(&style, &loaded->arena, saver->file.path));
    if (saver->was_trusted && trust_pin(&loaded->fs, loaded->request.starts[START_DATA], saver->workspace,
                                        buf_text(&saver->file.after), saver->file.after.size, err) < 0)
        return -1;
    if (saver->was_trusted)
        printf("The file was trusted, and still is.\n");
    else if (saver->is_repository)
        printf("Lines that take access away apply at once, the others after `bawn trust`.\n");
    return 0;
}

int saver_run(const struct caller *caller, const struct web_place *place, const struct act_order *order)
{
    auto_saver struct saver saver = {.order = order, .file = POLICY_FILE_NONE};
    char state[SHA256_HEX_SIZE];
    struct err err = {0};
    int status = load(&saver, caller, place);
    if (status)
        return status;
    if (read_file(&saver, place, &err) < 0)
        return refuse(caller, &err);
    status = check(&saver);
    if (status)
        return status;
    policy_file_state(&saver.file, state);
    if (order->act == ACT_DRAFT) {
        print_draft(&saver, state);
        return EXIT_FINE;
    }
    if (strcmp(state, order->state) != 0) {
        err_set(&err, "%s was changed since its new lines were shown, and nothing was written",
                saver.file.path);
        err_hint(&err, "look at them again");
        return refuse(caller, &err);
    }
    return save(&saver, &err) < 0 ? refuse(caller, &err) : EXIT_FINE;
}
