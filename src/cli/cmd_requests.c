/* Questions of programs inside: `bawn requests` lists those that are open, `bawn answer` answers one. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#include "base/fd.h"
#include "base/json.h"
#include "base/path.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/questions.h"
#include "cli/say.h"
#include "report/event.h"
#include "report/first_seen.h"
#include "supervise/control.h"
#include "trust/trust.h"

const char requests_usage[] =
    "bawn requests [--follow | --json] [[SESSION/]ID]\n"
    "\n"
    "List the open questions of all running sessions, and how to answer each. With an\n"
    "ID on a terminal: show that one, and take the answer.\n"
    "\n"
    "  --follow   show questions as they come, and answer each with one key; with an\n"
    "             ID that one first, then the others that are open\n"
    "  --json     print the open questions as JSON\n"
    "\n"
    "Keys: o once   s this session   a always   n no   v never   l later   q quit\n"
    "\n"
    "  bawn requests --follow\n"
    "  bawn answer app-1/2 session\n";

const char answer_usage[] =
    "bawn answer [SESSION/]ID once|session|always|no|never\n"
    "\n"
    "Answer a question of a program inside. `once` lets one connection through,\n"
    "`session` gives it until the run ends, `always` adds a rule to your policy, too;\n"
    "`no` refuses it for this run, `never` adds a rule that refuses it.\n"
    "\n"
    "  bawn answer 2 session\n"
    "  bawn answer app-1/2 never\n";

/* Lines of a session's list. It is bawn's own, but holds words from inside: they are printable. */
static void read_list(struct arena *arena, const char *session, char *text, asked_list *ret_list)
{
    for (char *rest = text, *line; (line = strsep(&rest, "\n"));) {
        struct asked asked = {.session = session};
        size_t count = 0;
        for (char *field; count < FIELD_COUNT && (field = strsep(&line, "\t")); count++)
            asked.fields[count] = arena_str(arena, field);
        if (count == FIELD_COUNT)
            vec_push(ret_list, asked);
    }
}

int asked_find(const struct world *world, struct loaded *loaded, asked_list *ret_list)
{
    auto_vec fs_names running = {0};
    int status = load_request(&world->caller, loaded);
    if (status)
        return status;
    running_find(loaded, &running);
    for (size_t i = 0; i < running.count; i++) {
        auto_buf struct buf text = {0};
        struct err ignored = {0};
        if (control_list(running_folder(loaded, running.at[i]), &text, &ignored) == 0)
            read_list(&loaded->arena, running.at[i], text.bytes, ret_list);
    }
    return EXIT_FINE;
}

/* "claude in ~/src/my-app", and the line that starts it again where the run cannot get what it asks for. */
static void add_run(const struct world *world, struct loaded *loaded, int sessions_fd,
                    const struct asked *asked, struct buf *out)
{
    auto_fd int fd = session_open(sessions_fd, asked->session);
    struct style style = style_for_out(world, loaded->request.home);
    struct glance glance = {0};
    if (fd < 0 || !glance_at(fd, &loaded->arena, loaded->request.home, &glance) || !glance.command)
        return;
    buf_add_str(out, "  the run: ");
    text_add_printable(out, glance.command, strlen(glance.command));
    buf_add_str(out, " in ");
    style_add_path(&style, out, COLOUR_PLAIN, glance.workspace ? glance.workspace : "/");
    if (glance.agent && *glance.agent) {
        buf_add_str(out, ", as ");
        text_add_printable(out, glance.agent, strlen(glance.agent));
    }
    const char *resume = *asked->fields[FIELD_NOT_NOW] ? glance_resume(&loaded->arena, &glance) : NULL;
    if (resume)
        buf_printf(out, "\n  start it again: %s", resume);
    buf_add_char(out, '\n');
}

static void add_one(const struct world *world, struct loaded *loaded, int sessions_fd,
                    const struct asked *asked, const char *seen, struct buf *out)
{
    const char *const *fields = asked->fields;
    buf_printf(out, "%s/%s  %s %s  asked %s s ago by %s (%s)%s%s\n", asked->session, fields[FIELD_ID],
               fields[FIELD_KIND], fields[FIELD_OBJECT], fields[FIELD_SECONDS], fields[FIELD_PROGRAM],
               fields[FIELD_PID], *fields[FIELD_PARENTS] ? " < " : "", fields[FIELD_PARENTS]);
    if (*fields[FIELD_SAYS])
        buf_printf(out, "  it is: %s\n", fields[FIELD_SAYS]);
    buf_printf(out, "  %s\n", seen);
    if (*fields[FIELD_NOT_NOW])
        buf_printf(out, "  this run cannot get it: %s\n", fields[FIELD_NOT_NOW]);
    add_run(world, loaded, sessions_fd, asked, out);
    if (*fields[FIELD_WARNING])
        buf_printf(out, "  careful: %s\n", fields[FIELD_WARNING]);
    if (*fields[FIELD_BECAUSE])
        buf_printf(out, "  the program's own words: \"%s\"\n", fields[FIELD_BECAUSE]);
}

/* Narrower than the screen: where a command has given it another size, bawn finds that out before it takes an answer (answer.h). */
static size_t columns_of(const struct world *world)
{
    enum { USUAL = 80, LEAST = 30, MOST = 100 };
    struct winsize size;
    if (!world->out_is_terminal)
        return SIZE_MAX; /* a program reads lines */
    size_t columns = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col ? size.ws_col : USUAL;
    return (columns < LEAST ? LEAST : columns > MOST ? MOST : columns) - 1;
}

void asked_add_text(const struct world *world, struct loaded *loaded, const struct asked *all, size_t count,
                    struct buf *out)
{
    auto_vec VEC(struct first_seen) seen = {0};
    struct seen_sources sources;
    auto_fd int sessions_fd = sessions_open(loaded);
    auto_buf struct buf lines = {0};
    for (size_t i = 0; i < count; i++)
        vec_push(&seen, (struct first_seen){.object = all[i].fields[FIELD_OBJECT],
                                            .session = all[i].session,
                                            .question = all[i].fields[FIELD_ID]});
    first_seen_find(sessions_fd, &loaded->arena, seen.at, count, &sources);
    for (size_t i = 0; i < count; i++)
        add_one(world, loaded, sessions_fd, &all[i], first_seen_text(&loaded->arena, &seen.at[i], &sources),
                &lines);
    text_add_wrapped(out, buf_text(&lines), columns_of(world), "    | ");
}

static void add_json(struct json *json, struct arena *arena, const struct asked *asked)
{
    static const char *const names[FIELD_COUNT] = {
        [FIELD_ID] = "id",           [FIELD_KIND] = "kind",       [FIELD_OBJECT] = "object",
        [FIELD_SECONDS] = "seconds", [FIELD_PID] = "pid",         [FIELD_PROGRAM] = "program",
        [FIELD_WARNING] = "warning", [FIELD_BECAUSE] = "because", [FIELD_SAYS] = "says",
        [FIELD_PARENTS] = "parents", [FIELD_NOT_NOW] = "not_now",
    };
    json_open(json, NULL, '{');
    json_str(json, "session", asked->session);
    for (size_t i = 0; i < FIELD_COUNT; i++)
        json_str(json, names[i], asked->fields[i]);
    json_str(json, "always", asked_rule(arena, asked, "always"));
    json_str(json, "never", asked_rule(arena, asked, "never"));
    json_close(json, '}');
}

static void print_json(const struct world *world, struct arena *arena, const asked_list *list)
{
    auto_buf struct buf out = {0};
    struct json json = {.out = &out};
    json_open(&json, NULL, '[');
    vec_each (const struct asked, asked, list)
        add_json(&json, arena, asked);
    json_close(&json, ']');
    buf_add_char(&out, '\n');
    put(world->out, &out);
}

int cmd_requests(const struct world *world, const struct args *args)
{
    if (args->words.count > 1)
        return say_bad_input(world, "`bawn requests` takes one question", NULL);
    if (args->flags & FLAG(JSON) && (args->flags & FLAG(FOLLOW) || args->words.count))
        return say_bad_input(world, "--json lists all open questions", "leave the rest out");
    if (args->flags & FLAG(FOLLOW) || args->words.count)
        return questions_follow(world, args->words.count ? args->words.at[0] : NULL,
                                args->flags & FLAG(FOLLOW));
    auto_loaded struct loaded loaded = {0};
    asked_list list = {0};
    int status = asked_find(world, &loaded, &list);
    if (status)
        return status;
    if (args->flags & FLAG(JSON)) {
        print_json(world, &loaded.arena, &list);
        vec_free(&list);
        return EXIT_FINE;
    }
    auto_buf struct buf out = {0};
    asked_add_text(world, &loaded, list.at, list.count, &out);
    put(world->out, &out);
    if (list.count)
        fprintf(world->out, "Answer with `bawn answer %s/%s session`, or once, always, no, never.\n",
                list.at[0].session, list.at[0].fields[FIELD_ID]);
    else
        fputs("No question is open.\n", world->out);
    vec_free(&list);
    return EXIT_FINE;
}

bool asked_has_name(const struct asked *asked, const char *word)
{
    const char *slash = strrchr(word, '/');
    bool is_session = !slash || (strlen(asked->session) == (size_t)(slash - word) &&
                                 strncmp(asked->session, word, (size_t)(slash - word)) == 0);
    return is_session && strcmp(asked->fields[FIELD_ID], slash ? slash + 1 : word) == 0;
}

/* The question that a word names: SESSION/ID, or ID if one session has it. NULL after saying what is wrong. */
static const struct asked *find_named(const struct world *world, struct loaded *loaded,
                                      const asked_list *list, const char *word)
{
    const struct asked *found = NULL;
    size_t count = 0;
    vec_each (const struct asked, asked, list) {
        if (!asked_has_name(asked, word))
            continue;
        found = asked;
        count++;
    }
    if (count == 0)
        say_problem(world, arena_printf(&loaded->arena, "there is no open question %s", word),
                    "`bawn requests` lists the open ones");
    if (count > 1)
        say_problem(world, arena_printf(&loaded->arena, "several sessions have a question %s", word),
                    "name the session: `bawn requests` shows SESSION/ID");
    return count == 1 ? found : NULL;
}

/* The rules that `always` and `never` add for what was asked for; NULL: none. */
static const struct answer_rules {
    const char *kind, *always, *never;
} rules[] = {
    {"connect", "connect", "refuse"}, {"publish", NULL, NULL},  {"read", "read", "hide"},
    {"write", "write", NULL},         {"env", "env", "unset"},  {"run", NULL, NULL},
    {"ssh-key", NULL, NULL},          {"settings", NULL, NULL},
};

static const char *rule_for(const char *kind, bool is_yes)
{
    for (size_t i = 0; i < array_len(rules); i++) {
        if (strcmp(rules[i].kind, kind) == 0)
            return is_yes ? rules[i].always : rules[i].never;
    }
    return NULL;
}

/* The word for the session: a file that this run cannot get is given from the next one on. */
static const char *word_for_session(const struct asked *asked, const char *word)
{
    if (strcmp(word, "once") == 0 || strcmp(word, "session") == 0)
        return word;
    if (strcmp(word, "always") == 0)
        return *asked->fields[FIELD_NOT_NOW] ? "later" : "session";
    return "no";
}

/* The line that starts the session's command again, or NULL. */
static const char *resume_of(struct loaded *loaded, const char *session)
{
    auto_fd int sessions_fd = sessions_open(loaded);
    auto_fd int fd = session_open(sessions_fd, session);
    struct glance glance = {0};
    return fd >= 0 && glance_at(fd, &loaded->arena, loaded->request.home, &glance)
               ? glance_resume(&loaded->arena, &glance)
               : NULL;
}

static void say_answered(const struct world *world, struct loaded *loaded, const struct asked *asked,
                         const char *word)
{
    const char *kind = asked->fields[FIELD_KIND], *object = asked->fields[FIELD_OBJECT];
    bool is_no = strcmp(word, "no") == 0;
    const char *resume = strcmp(word, "later") == 0 ? resume_of(loaded, asked->session) : NULL;
    if (strcmp(word, "later") == 0)
        fprintf(world->out,
                "%s goes on without it. To use it, end that run and start the command again%s%s\n",
                asked->session, resume ? ":\n  " : ".", resume ? resume : "");
    else
        fprintf(world->out, "%s %s %s%s for %s.\n", is_no ? "Refused" : "Granted", kind, object,
                strcmp(word, "once") == 0 ? " once" : "", asked->session);
}

const char *asked_rule(struct arena *arena, const struct asked *asked, const char *word)
{
    bool is_yes = strcmp(word, "always") == 0, is_rule = is_yes || strcmp(word, "never") == 0;
    const char *verb = is_rule ? rule_for(asked->fields[FIELD_KIND], is_yes) : NULL;
    const char *object = asked->fields[FIELD_OBJECT];
    return verb ? arena_printf(arena, "%s %s", verb, *object == '/' ? shell_word(arena, object) : object)
                : NULL;
}

/* The text of a workspace's .bawn; NULL: there is none, or it is no file of its own. */
static char *repository_policy(struct loaded *loaded, const char *workspace, size_t *ret_size)
{
    enum { POLICY_LARGEST = 1024 * 1024 };
    char *text = NULL;
    struct err ignored;
    const struct fs_place *place = NULL;
    const char *path = path_join(&loaded->arena, workspace, ".bawn");
    fs_free(&loaded->fs); /* what it remembers is of the moment of its first look */
    bool is_file = fs_resolve(&loaded->fs, path, &place, &ignored) == 0 && place->kind == FILE_REGULAR &&
                   !place->links && fs_read(&loaded->fs, path, POLICY_LARGEST, &text, ret_size, &ignored) > 0;
    return is_file ? text : NULL;
}

bool asked_repository_is_trusted(struct loaded *loaded, const char *workspace)
{
    size_t size = 0;
    const char *text = repository_policy(loaded, workspace, &size);
    return text && trust_holds(&loaded->fs, loaded->request.starts[START_DATA], workspace, text, size);
}

/*
 * The person has seen the one line that is new: the file stays trusted. What was trusted, what gets the line
 * and what is trusted then are one content, read once: a sandbox around the repository may write the file
 * meanwhile.
 */
static int add_to_repository(const struct world *world, struct loaded *loaded, const char *workspace,
                             const char *rule)
{
    struct err err = {0};
    auto_policy_file struct policy_file file = POLICY_FILE_NONE;
    const char *path = path_join(&loaded->arena, workspace, ".bawn"),
               *data = loaded->request.starts[START_DATA];
    if (policy_file_read(&loaded->arena, path, REPOSITORY_POLICY_MODE, &file, &err) < 0)
        return say_err(world, &err);
    fs_free(&loaded->fs); /* what it remembers is of the moment of its first look */
    if (!trust_holds(&loaded->fs, data, workspace, buf_text(&file.before), file.before.size))
        return say_bad_input(world, "the repository's .bawn is not trusted, or has changed",
                             "add the rule by hand, and run `bawn trust`");
    if (policy_file_add(&file, rule) && policy_file_write(&loaded->arena, &file, &err) < 0)
        return say_err(world, &err);
    if (trust_pin(&loaded->fs, data, workspace, buf_text(&file.after), file.after.size, &err) < 0)
        return say_bad_input(world, "the rule was added, but the file is not trusted now",
                             "run `bawn trust`");
    fprintf(world->out, "Added `%s` to %s.\n", rule, path);
    return EXIT_FINE;
}

const char *asked_way(const struct world *world, const char *usual)
{
    const char *way = caller_variable(&world->caller, ANSWER_WAY_VARIABLE);
    return way && answer_way_is_known(way) ? way : usual;
}

/* Tells the session first: a rule for later is written only once the answer counts. */
int asked_answer(const struct world *world, struct loaded *loaded, const struct asked *asked,
                 const char *word, const char *way, const char *repository)
{
    const char *rule = asked_rule(&loaded->arena, asked, word), *told = word_for_session(asked, word);
    size_t verb = rule ? strcspn(rule, " ") : 0;
    if (!rule && (strcmp(word, "always") == 0 || strcmp(word, "never") == 0))
        return say_bad_input(world, "no rule can say that permanently", "answer `once`, `session` or `no`");
    int status =
        running_tell(world, loaded, asked->session,
                     arena_printf(&loaded->arena, "answer %s %s %s", asked->fields[FIELD_ID], told, way));
    if (status == EXIT_FINE && rule)
        status = repository ? add_to_repository(world, loaded, repository, rule)
                            : policy_line_add(world, loaded, arena_copy(&loaded->arena, rule, verb),
                                              rule + verb + 1);
    if (status == EXIT_FINE)
        say_answered(world, loaded, asked, told);
    return status;
}

int cmd_answer(const struct world *world, const struct args *args)
{
    static const char *const words[] = {"once", "session", "always", "no", "never"};
    if (args->words.count != 2)
        return say_bad_input(world, "`bawn answer` needs a question and an answer",
                             "for example: `bawn answer 2 session`");
    auto_loaded struct loaded loaded = {0};
    if (!text_is_among(args->words.at[1], words, array_len(words)))
        return say_bad_input(world, arena_printf(&loaded.arena, "'%s' is not an answer", args->words.at[1]),
                             "use once, session, always, no or never");
    asked_list list = {0};
    int status = asked_find(world, &loaded, &list);
    if (status)
        return status;
    const struct asked *asked = find_named(world, &loaded, &list, args->words.at[0]);
    status = asked ? asked_answer(world, &loaded, asked, args->words.at[1], asked_way(world, "answer"), NULL)
                   : EXIT_BAD_INPUT;
    vec_free(&list);
    return status;
}
