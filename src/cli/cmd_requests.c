/* Questions of programs inside: `bawn requests` lists those that are open, `bawn answer` answers one. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "cli/choose.h"
#include "cli/commands.h"
#include "cli/say.h"
#include "supervise/control.h"

const char requests_usage[] = "bawn requests\n"
                              "\n"
                              "List the open questions of all running sessions, and how to answer each.\n"
                              "\n"
                              "  bawn requests\n"
                              "  bawn answer app-1/2 session\n";

const char answer_usage[] =
    "bawn answer [SESSION/]ID session|always|no|never\n"
    "\n"
    "Answer a question of a program inside. `session` gives it until the run ends,\n"
    "`always` adds a rule to your policy, too; `no` refuses it for this run, `never`\n"
    "adds a rule that refuses it.\n"
    "\n"
    "  bawn answer 2 session\n"
    "  bawn answer app-1/2 never\n";

enum field {
    FIELD_ID,
    FIELD_KIND,
    FIELD_OBJECT,
    FIELD_SECONDS,
    FIELD_PID,
    FIELD_PROGRAM,
    FIELD_WARNING,
    FIELD_BECAUSE,
    FIELD_COUNT
};

struct asked {
    const char *session;
    const char *fields[FIELD_COUNT];
};
typedef VEC(struct asked) asked_list;

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

/* The open questions of all sessions that answer; one that has just ended has none. Returns the exit status. */
static int find_asked(const struct world *world, struct loaded *loaded, asked_list *ret_list)
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

static void print_asked(const struct world *world, const struct asked *asked)
{
    const char *const *fields = asked->fields;
    fprintf(world->out, "%s/%s  %s %s  asked %s s ago by %s (%s)\n", asked->session, fields[FIELD_ID],
            fields[FIELD_KIND], fields[FIELD_OBJECT], fields[FIELD_SECONDS], fields[FIELD_PROGRAM],
            fields[FIELD_PID]);
    if (*fields[FIELD_WARNING])
        fprintf(world->out, "  careful: %s\n", fields[FIELD_WARNING]);
    if (*fields[FIELD_BECAUSE])
        fprintf(world->out, "  the program's own words: \"%s\"\n", fields[FIELD_BECAUSE]);
}

int cmd_requests(const struct world *world, const struct args *args not_used)
{
    auto_loaded struct loaded loaded = {0};
    asked_list list = {0};
    int status = find_asked(world, &loaded, &list);
    if (status)
        return status;
    vec_each (const struct asked, asked, &list)
        print_asked(world, asked);
    if (list.count)
        fprintf(world->out, "Answer with `bawn answer %s/%s session`, or always, no, never.\n",
                list.at[0].session, list.at[0].fields[FIELD_ID]);
    else
        fputs("No question is open.\n", world->out);
    vec_free(&list);
    return EXIT_FINE;
}

/* The question that a word names: SESSION/ID, or ID if one session has it. NULL after saying what is wrong. */
static const struct asked *find_named(const struct world *world, struct loaded *loaded,
                                      const asked_list *list, const char *word)
{
    const struct asked *found = NULL;
    const char *slash = strrchr(word, '/');
    size_t count = 0;
    vec_each (const struct asked, asked, list) {
        bool is_session = !slash || (strlen(asked->session) == (size_t)(slash - word) &&
                                     strncmp(asked->session, word, (size_t)(slash - word)) == 0);
        if (!is_session || strcmp(asked->fields[FIELD_ID], slash ? slash + 1 : word) != 0)
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

/* Tells the session first: a rule for later is written only once the answer counts. */
static int answer(const struct world *world, struct loaded *loaded, const struct asked *asked,
                  const char *word)
{
    bool is_yes = strcmp(word, "session") == 0 || strcmp(word, "always") == 0;
    bool is_rule = strcmp(word, "always") == 0 || strcmp(word, "never") == 0;
    const char *kind = asked->fields[FIELD_KIND], *object = asked->fields[FIELD_OBJECT];
    bool is_host = strcmp(kind, "connect") == 0;
    if (is_rule && !is_host)
        return say_bad_input(world, "a port is published for one session only", "answer `session` or `no`");
    int status = running_tell(
        world, loaded, asked->session,
        arena_printf(&loaded->arena, "answer %s %s", asked->fields[FIELD_ID], is_yes ? "session" : "no"));
    if (status == EXIT_FINE && is_rule)
        status = policy_line_add(world, loaded, is_yes ? "connect" : "refuse", object);
    if (status == EXIT_FINE)
        fprintf(world->out, "%s %s %s for %s.\n", is_yes ? "Granted" : "Refused", kind, object,
                asked->session);
    return status;
}

int cmd_answer(const struct world *world, const struct args *args)
{
    static const char *const words[] = {"session", "always", "no", "never"};
    if (args->words.count != 2 || !text_is_among(args->words.at[1], words, array_len(words)))
        return say_bad_input(world, "`bawn answer` needs a question and an answer",
                             "bawn answer 2 session (or always, no, never)");
    auto_loaded struct loaded loaded = {0};
    asked_list list = {0};
    int status = find_asked(world, &loaded, &list);
    if (status)
        return status;
    const struct asked *asked = find_named(world, &loaded, &list, args->words.at[0]);
    status = asked ? answer(world, &loaded, asked, args->words.at[1]) : EXIT_BAD_INPUT;
    vec_free(&list);
    return status;
}
