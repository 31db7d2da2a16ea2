/* `bawn ask`, for programs inside: asks the person outside for more, and waits for the answer. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "cli/commands.h"
#include "cli/say.h"
#include "report/time_text.h"
#include "supervise/asking.h"

const char ask_usage[] = "bawn ask [--because TEXT] [--wait TIME] connect HOST[:PORT]\n"
                         "       bawn ask [...] publish PORT | read PATH | write PATH | env NAME\n"
                         "\n"
                         "For programs inside: ask the person outside for a host, a port, a file, a\n"
                         "directory or a variable, and wait for the answer. Exit status 0 granted,\n"
                         "3 refused, 4 nobody answered. Without arguments: what can be asked for, and what\n"
                         "is open.\n"
                         "\n"
                         "A variable's value, and the content of a file that was given once, are printed.\n"
                         "The sentence that says so is then on standard error.\n"
                         "\n"
                         "  --because TEXT  why, in your own words\n"
                         "  --wait TIME     how long to wait; 5m\n"
                         "\n"
                         "  bawn ask --because 'the docs are there' connect docs.example.com\n";

enum { EXIT_WAS_REFUSED = 3, EXIT_NOBODY_ANSWERED = 4, PATIENCE = 300 };

static int explain(const struct world *world)
{
    fputs("You can ask for:\n"
          "  bawn ask connect HOST[:PORT]   a host that is not on the list\n"
          "  bawn ask publish PORT          a port of yours, for programs outside\n"
          "  bawn ask read PATH             a file or directory of the machine outside\n"
          "  bawn ask write PATH            the same, to change it\n"
          "  bawn ask env NAME              a variable of the environment outside; prints its value\n"
          "Add --because 'TEXT' to say why. A person answers, or nobody does.\n",
          world->out);
    auto_buf struct buf status = {0};
    struct err err = {0};
    bool is_inside = asking_status(&status, &err) == 0;
    fputs(is_inside ? "\nIn this run:\n" : "This is not a bawn sandbox: `bawn ask` works only inside one.\n",
          world->out);
    put(world->out, &status);
    return EXIT_FINE;
}

/* Prints the content that came along, and closes it. Returns false if it cannot be printed. */
static bool print_content(const struct world *world, int content)
{
    auto_fd int fd = content;
    char part[4096];
    ssize_t got;
    while ((got = read(fd, part, sizeof(part))) > 0)
        fwrite(part, 1, (size_t)got, world->out);
    return got == 0 && fflush(world->out) == 0;
}

/* "granted SENTENCE" as a line. A sentence that comes with a content must not be taken for a part of it. */
static int show_reply(const struct world *world, int reply, const char *sentence, int content)
{
    size_t word = strcspn(sentence, " ");
    fprintf(content >= 0 ? world->err : world->out, "%.*s: %s.\n", (int)word, sentence,
            sentence + word + (sentence[word] == ' '));
    if (content >= 0 && !print_content(world, content)) {
        say_problem(world, "what was given cannot be printed", NULL);
        return EXIT_REFUSED;
    }
    return reply == 'g' ? EXIT_FINE : EXIT_WAS_REFUSED;
}

const char *ask_object(const struct world *world, struct arena *arena, const char *kind, const char *object)
{
    bool is_path = strcmp(kind, "read") == 0 || strcmp(kind, "write") == 0;
    return is_path ? path_clean(arena, world->caller.directory, object) : object;
}

/* A path that is not there any more would be a mistake of the command line's. */
static void add_given(struct given_rules *given, char *line)
{
    const char *kind = strsep(&line, "\t");
    bool is_there = line && (*line != '/' || access(line, F_OK) == 0);
    enum verb verb = verb_from_word(kind);
    if (is_there && (verb == VERB_CONNECT || verb == VERB_READ || verb == VERB_WRITE))
        vec_push(&given->all, (struct argument){verb, arena_str(&given->arena, line)});
}

void given_rules_add(const struct world *world, struct run_request *request, struct given_rules *ret_given)
{
    auto_buf struct buf text = {0};
    struct err ignored;
    *ret_given = (struct given_rules){0};
    for (size_t i = 0; i < request->rule_count; i++)
        vec_push(&ret_given->all, request->rules[i]);
    bool may_be_inside = caller_variable(&world->caller, "BAWN_POLICY");
    if (may_be_inside && asking_given(&text, &ignored) == 0 && text.size) {
        for (char *rest = text.bytes, *line; (line = strsep(&rest, "\n"));)
            add_given(ret_given, line);
    }
    request->rules = ret_given->all.at;
    request->rule_count = ret_given->all.count;
}

void given_rules_free(struct given_rules *given)
{
    vec_free(&given->all);
    arena_free(&given->arena);
}

static int ask_outside(const struct world *world, const char *line, int seconds)
{
    char sentence[ASKING_LONGEST + 1];
    struct err err = {0};
    int content = -1, reply = asking_ask_content(line, seconds, sentence, &content, &err);
    if (reply < 0)
        return say_err(world, &err);
    if (reply != '\0')
        return show_reply(world, reply, sentence, content);
    fputs("nobody answered: the question stays open, so ask again later.\n", world->out);
    return EXIT_NOBODY_ANSWERED;
}

int cmd_ask(const struct world *world, const struct args *args)
{
    if (args->words.count == 0)
        return explain(world);
    if (args->words.count != 2)
        return say_bad_input(world, "`bawn ask` needs to know what to ask for",
                             "bawn ask connect example.com");
    uint64_t seconds = PATIENCE;
    if (args->wait && !duration_parse(args->wait, &seconds))
        return say_bad_input(world, "--wait needs a length of time", "write 90s, 5m or 1h");
    struct arena arena = {0};
    const char *kind = args->words.at[0];
    const char *line =
        arena_printf(&arena, "%s\t%s\t%s", kind, ask_object(world, &arena, kind, args->words.at[1]),
                     args->because ? args->because : "");
    int status = strlen(line) > ASKING_LONGEST ? say_bad_input(world, "the question is too long", NULL)
                                               : ask_outside(world, line, (int)seconds);
    arena_free(&arena);
    return status;
}
