/* `bawn help`: prints the overview, the usage of a verb, or the rules that are flags. */
#include <string.h>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/say.h"

/* Each page fits a screen of 24 lines and 80 columns. */
static const char examples[] =
    "bawn runs an AI coding agent, or any command, in a sandbox. It can write this\n"
    "project, read tools and system files, and reach listed hosts.\n"
    "\n"
    "  bawn claude                run claude\n"
    "  bawn --review claude       changes wait for you; --branch NAME: on a branch\n"
    "  bawn --read DIR claude     let it read DIR; `bawn help rules` lists all rules\n"
    "\n"
    "Verbs (`bawn -- CMD` if CMD is also one); `bawn VERB --help` explains one:\n";

static const char rules[] =
    "Rules as flags (man 5 bawn-policy), for run, show, why, check and prove:\n"
    "  --workspace DIR            project directory, writable but for git's own files\n"
    "  --read PATH                let CMD read and run it; --write PATH also write\n"
    "  --hide PATH                hide it; --seal PATH also if a profile grants it\n"
    "  --freeze PATH              make it read-only in a writable directory\n"
    "  --flag PATH                ask you about changes of it at the end\n"
    "  --copy PATH                copy it into the private home\n"
    "  --seed DIR                 show a cache; changes stay in the sandbox\n"
    "  --sift FILE                copy without secrets; --sync FILE copies both ways\n"
    "  --socket PATH              let CMD connect to a Unix socket\n"
    "  --net off|allow|open       no network, only listed hosts, or the machine's own\n"
    "  --connect HOST[:PORT]      let CMD reach a host; --refuse HOST[:PORT] does not\n"
    "  --guard 'ask git push *'   ask before such a command (or refuse it); no wall\n"
    "  --publish [HOSTPORT:]PORT  open a port of the sandbox at 127.0.0.1 here\n"
    "  --host-port PORT           let CMD reach a port of this machine's localhost\n"
    "  --env NAME[=VALUE]         pass or set a variable; --unset NAME drops one\n"
    "  --secret 'NAME to HOST'    keep its value outside; --secrets inside does not\n"
    "  --forge 'HOST/REPO fetch'  let git reach a repository, with your keys outside\n"
    "  --ssh-key 'KEY to HOST'    log in by ssh with a key of your agent outside\n"
    "  --limit NAME=VALUE         memory, pids, files, time, disk, rate or others\n"
    "  --artifacts NAME           do not report new programs in directories NAME\n"
    "  --use NAME                 add a profile; --policy FILE adds a file of rules\n"
    "Modes: --review --discard --read-only --nested --fresh-home --agent NAME\n"
    "       --walls SET --degrade=WALL --require namespaces --full-access --i-know\n";

/* Two columns, each read downwards. */
static void print_overview(const struct world *world, const struct verb_entry *verbs)
{
    const struct verb_entry *listed[64];
    size_t count = 0;
    for (const struct verb_entry *verb = verbs; verb->name; verb++) {
        if (verb->summary)
            listed[count++] = verb;
    }
    size_t rows = (count + 1) / 2;
    fputs(examples, world->out);
    for (size_t row = 0; row < rows; row++) {
        const struct verb_entry *left = listed[row], *right = row + rows < count ? listed[row + rows] : NULL;
        if (right)
            fprintf(world->out, "  %-10s %-27s  %-10s %s\n", left->name, left->summary, right->name,
                    right->summary);
        else
            fprintf(world->out, "  %-10s %s\n", left->name, left->summary);
    }
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
    if (strcmp(args->words.at[0], "rules") == 0) {
        fputs(rules, world->out);
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
