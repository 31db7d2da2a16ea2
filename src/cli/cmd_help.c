/* `bawn help`: prints the overview, or the usage of a verb. */
#include <string.h>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/say.h"

static void print_overview(const struct world *world, const struct verb_entry *verbs)
{
    fputs("bawn runs an AI coding agent, or anything else, with the rest of your machine\n"
          "out of its reach.\n"
          "\n"
          "  bawn CMD...       run CMD in the sandbox\n"
          "  bawn -- CMD...    the same, for a CMD that bears a verb's name\n"
          "  bawn VERB ...     or --help, --version\n",
          world->out);
    for (const struct verb_entry *verb = verbs; verb->name; verb++)
        fprintf(world->out, "    %-10s %s\n", verb->name, verb->summary);
    fputs("\n"
          "Rules as flags, each as often as needed, in the words of a policy file:\n"
          "  --workspace DIR  --read PATH  --write PATH  --hide PATH  --freeze PATH\n"
          "  --flag PATH  --copy PATH  --seed DIR  --sift FILE  --sync FILE  --seal PATH\n"
          "  --socket PATH  --net off|allow|open  --connect HOST[:PORT]  --unset NAME\n"
          "  --refuse HOST[:PORT]  --publish [HOSTPORT:]PORT  --host-port PORT  --use NAME\n"
          "  --env NAME[=VALUE]  --limit NAME=VALUE  --artifacts NAME  --policy FILE\n"
          "Modes: --review, --discard, --read-only, --nested, --fresh-home,\n"
          "  --full-access --i-know, --degrade=WALL, --agent NAME (see `bawn run --help`)\n"
          "\n"
          "  bawn show -- claude                   what claude could do here\n"
          "  bawn why ~/.ssh                       which rule hides it\n"
          "\n"
          "`bawn VERB --help` says more; `man 5 bawn-policy` describes the language.\n",
          world->out);
}

static int print_verb(const struct world *world, const struct verb_entry *verb)
{
    fprintf(world->out, "usage: %s", verb->usage);
    return EXIT_FINE;
}

int cmd_help(const struct world *world, const struct args *args)
{
    if (args->flags & FLAG(HELP) && args->verb_is_named)
        return print_verb(world, args->verb);
    if (args->words.count == 0) {
        print_overview(world, args->verbs);
        return EXIT_FINE;
    }
    const char *names[64];
    size_t count = 0;
    for (const struct verb_entry *verb = args->verbs; verb->name; verb++) {
        if (strcmp(verb->name, args->words.at[0]) == 0)
            return print_verb(world, verb);
        names[count++] = verb->name;
    }
    names[count] = NULL;
    auto_arena struct arena arena = {0};
    const char *closest = text_closest(args->words.at[0], names);
    say_problem(world, arena_printf(&arena, "there is no verb '%s'", args->words.at[0]),
                closest ? arena_printf(&arena, "did you mean '%s'?", closest) : "`bawn --help` lists them");
    return EXIT_BAD_INPUT;
}
