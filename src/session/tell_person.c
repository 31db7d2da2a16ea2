#include "session/tell_person.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "kernel/process.h"
#include "session/hook.h"

struct telling {
    struct run *run;
    unsigned id;
    const char *name;    /* SESSION/ID */
    const char *text;    /* one printable sentence */
    const char *program; /* bawn's own path */
};

static const char tmux_program[] = "/usr/bin/tmux", notifier[] = "/usr/bin/notify-send",
                  env_program[] = "/usr/bin/env";

/* The text of the user's latest rule of a verb, or NULL. */
static const char *setting(const struct policy *policy, enum verb verb)
{
    const char *found = NULL;
    vec_each (const struct rule, rule, &policy->rules) {
        if (rule->verb == verb)
            found = rule->text;
    }
    return found;
}

static void add_facts(const struct telling *telling, struct hook *hook)
{
    hook->text = telling->text;
    hook->plan = &telling->run->loaded.plan;
    hook->facts[0] = (struct hook_fact){"BAWN_EVENT", "question"};
    hook->facts[1] = (struct hook_fact){"BAWN_SESSION", telling->run->session.name};
    hook->facts[2] = (struct hook_fact){"BAWN_QUESTION", strchr(telling->name, '/') + 1};
}

static bool show_by_command(const struct telling *telling)
{
    struct hook hook = {.command = setting(&telling->run->loaded.policy, VERB_ASK_COMMAND)};
    if (!hook.command || !*hook.command)
        return false;
    add_facts(telling, &hook);
    hook_start(&telling->run->caller, &hook);
    return true;
}

static bool show_in_tmux(const struct telling *telling)
{
    const struct caller *caller = &telling->run->caller;
    const char *server = caller_variable(caller, "TMUX"), *pane = caller_variable(caller, "TMUX_PANE");
    if (!server || !*server || !pane || !*pane || !telling->program || access(tmux_program, X_OK) < 0)
        return false;
    static const char way[] = ANSWER_WAY_VARIABLE "=popup";
    const char *const program[] = {tmux_program,
                                   "display-popup",
                                   "-E",
                                   "-t",
                                   pane,
                                   "-w",
                                   "90%",
                                   "-h",
                                   "14",
                                   "--",
                                   env_program,
                                   way,
                                   telling->program,
                                   "requests",
                                   "--follow",
                                   telling->name,
                                   NULL};
    struct hook hook = {.program = program};
    add_facts(telling, &hook);
    hook_start(caller, &hook);
    return true;
}

static bool show_on_desktop(const struct telling *telling)
{
    const struct caller *caller = &telling->run->caller;
    const char *bus = caller_variable(caller, "DBUS_SESSION_BUS_ADDRESS");
    bool has_screen = caller_variable(caller, "WAYLAND_DISPLAY") || caller_variable(caller, "DISPLAY");
    if (!bus || !*bus || !has_screen || !telling->program || access(notifier, X_OK) < 0)
        return false;
    struct hook hook = {.answer = {.program = telling->program, .question = telling->name}};
    add_facts(telling, &hook);
    hook.facts[3] = (struct hook_fact){ANSWER_WAY_VARIABLE, "notification"};
    hook_start(caller, &hook);
    return true;
}

/* The process that asks on the terminal itself, as a popup does. */
static bool show_prompt(const struct telling *telling)
{
    auto_arena struct arena arena = {0};
    const char *const program[] = {telling->program, "requests", "--follow", telling->name, NULL};
    struct hook hook = {0};
    if (!telling->program)
        return false;
    add_facts(telling, &hook);
    hook.facts[3] = (struct hook_fact){ANSWER_WAY_VARIABLE, "prompt"};
    const char **environment = hook_environment(&telling->run->caller, &arena, &hook);
    bool is_shown = foreground_prompt(&telling->run->foreground, program, environment);
    free(environment);
    return is_shown;
}

/* Does the terminal understand the sequences that set its title, and those that bring the title before back? */
static bool has_title_sequences(const struct caller *caller)
{
    static const char *const without[] = {"", "dumb", "linux", "vt100", "vt102", "vt220"};
    const char *kind = caller_variable(caller, "TERM");
    return kind && !text_is_among(kind, without, array_len(without));
}

/*
 * A line. A command that reads keys draws the screen itself, and a line would spoil it: there the bell rings,
 * and the terminal's title has the text.
 */
static void show_text(struct run *run, const char *text)
{
    auto_arena struct arena arena = {0};
    int fd = run->launch.terminal_fd;
    if (!foreground_is_drawn_on(&run->foreground)) {
        process_write_aside(fd, arena_printf(&arena, "\abawn: %s\n", text));
    } else if (has_title_sequences(&run->caller)) {
        process_write_aside(
            fd, arena_printf(&arena, "\a%s\033]2;bawn: %s\033\\", run->has_title ? "" : "\033[22;2t", text));
        run->has_title = true;
    } else {
        process_write_aside(fd, "\a");
    }
}

/* A prompt; or a text, where the command itself does not have the terminal: the title names the question until it is answered. */
static bool show_on_terminal(const struct telling *telling)
{
    struct run *run = telling->run;
    if (run->launch.terminal_fd < 0)
        return false;
    if (run->foreground.prompt)
        run->asks_next = telling->id; /* the prompt goes on to it, if it has not just ended */
    else if (!show_prompt(telling))
        show_text(run, telling->text);
    return true;
}

void tell_sentence(struct run *run, const char *sentence)
{
    enum { MOST = 20 };
    if (run->launch.terminal_fd >= 0 && !run->foreground.prompt && run->told++ < MOST)
        show_text(run, sentence);
}

void tell_settled(struct run *run)
{
    bool is_open = false;
    vec_each (const struct question, question, &run->asking.broker.questions)
        is_open |= question->is_shown && question->answer == ANSWER_NONE;
    if (!run->has_title || is_open)
        return;
    process_write_aside(run->launch.terminal_fd, "\033[23;2t");
    run->has_title = false;
}

static const struct {
    const char *name;
    bool (*show)(const struct telling *telling);
} ways[] = {{"command", show_by_command},
            {"tmux", show_in_tmux},
            {"desktop", show_on_desktop},
            {"terminal", show_on_terminal}};

static bool show_by(const struct telling *telling, const char *name)
{
    for (size_t i = 0; i < array_len(ways); i++) {
        if (strcmp(ways[i].name, name) == 0)
            return ways[i].show(telling);
    }
    return strcmp(name, "none") == 0;
}

static void tell_person(struct run *run, const struct question *question)
{
    auto_arena struct arena arena = {0};
    const char *name = arena_printf(&arena, "%s/%u", run->session.name, question->id);
    struct telling telling = {
        .run = run,
        .id = question->id,
        .name = name,
        .text = arena_printf(&arena, "%s asks: %s %s? Answer with `bawn requests %s`", run->session.name,
                             question_kind_word(question->kind), question->object, name),
        .program = process_own_path(&arena),
    };
    bool has_rule = false, is_shown = false;
    vec_each (const struct rule, rule, &run->loaded.policy.rules) {
        if (rule->verb != VERB_ASK_BY)
            continue;
        has_rule = true;
        is_shown = is_shown || show_by(&telling, rule->text);
    }
    for (size_t i = 0; !has_rule && !is_shown && i < array_len(ways); i++)
        is_shown = ways[i].show(&telling);
}

/* Tells the user of a question where they are; with --notify, as of a decoy. */
static void notify_question(void *context, const struct question *question)
{
    struct run *run = context;
    if (!run->request.notifies) {
        tell_person(run, question);
        return;
    }
    struct arena *arena = run->loaded.policy.arena;
    struct hook hook = {
        .plan = &run->loaded.plan,
        .command = run->request.notify,
        .text = arena_printf(arena, "%s asks: %s %s? `bawn requests` answers", run->session.name,
                             question_kind_word(question->kind), question->object),
        .facts = {{"BAWN_EVENT", "question"},
                  {"BAWN_SESSION", run->session.name},
                  {"BAWN_QUESTION", arena_printf(arena, "%u", question->id)}},
    };
    hook_start(&run->caller, &hook);
}

/* A question came while a prompt was on the terminal, and was not answered there. */
static void ask_after_prompt(void *context)
{
    struct run *run = context;
    const struct question *question = broker_find(&run->asking.broker, run->asks_next);
    run->asks_next = 0;
    if (question)
        tell_person(run, question);
}

static void settle_questions(void *context)
{
    tell_settled(context);
}

/* A line, once for each kind of them: what helps in a terminal, while the command runs. The summary at the end has all. */
static void tell_localhost(void *context, enum localhost_kind kind, uint16_t port)
{
    struct run *run = context;
    const struct speaker *speaker = run->caller.speaker;
    auto_arena struct arena arena = {0};
    if (run->launch.terminal_fd < 0 || !speaker->is_read || speaker->is_quiet || run->told_localhost[kind] ||
        run->foreground.prompt || foreground_is_drawn_on(&run->foreground))
        return;
    run->told_localhost[kind] = true;
    const char *line =
        kind == LOCALHOST_SERVES
            ? arena_printf(
                  &arena,
                  "bawn: localhost:%u is inside the sandbox; `bawn publish %u` in another terminal opens "
                  "it on this machine\n",
                  port, port)
            : arena_printf(
                  &arena,
                  "bawn: localhost:%u was refused: localhost inside is the sandbox's own; start with "
                  "`--host-port %u` to reach this machine's\n",
                  port, port);
    process_write_aside(run->launch.terminal_fd, line);
}

void tell_begin(struct run *run)
{
    run->network.noticed = tell_localhost;
    run->network.noticed_self = run;
    run->asking.shown = notify_question;
    run->asking.settled = settle_questions;
    run->asking.context = run;
    run->foreground.prompted = ask_after_prompt;
    run->foreground.context = run;
}
