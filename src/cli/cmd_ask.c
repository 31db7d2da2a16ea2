/* `bawn ask`, for programs inside: asks the person outside for more, and waits for the answer. */
#include <stdio.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/say.h"
#include "report/time_text.h"
#include "supervise/asking.h"

const char ask_usage[] = "bawn ask [--because TEXT] [--wait TIME] connect HOST[:PORT] | publish PORT\n"
                         "\n"
                         "For programs inside: ask the person outside for a host or a port, and wait for\n"
                         "the answer. Exit status 0 granted, 3 refused, 4 nobody answered. Without words:\n"
                         "what can be asked for.\n"
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
          "Add --because 'TEXT' to say why. A person answers, or nobody does.\n",
          world->out);
    return EXIT_FINE;
}

int cmd_ask(const struct world *world, const struct args *args)
{
    if (args->words.count == 0)
        return explain(world);
    if (args->words.count != 2)
        return say_bad_input(world, "`bawn ask` needs what and which", "bawn ask connect example.com");
    uint64_t seconds = PATIENCE;
    if (args->wait && !duration_parse(args->wait, &seconds))
        return say_bad_input(world, "--wait needs a length of time", "write 90s, 5m or 1h");
    auto_buf struct buf line = {0};
    buf_printf(&line, "%s\t%s\t%s", args->words.at[0], args->words.at[1], args->because ? args->because : "");
    char sentence[ASKING_LONGEST + 1];
    struct err err = {0};
    if (line.size > ASKING_LONGEST)
        return say_bad_input(world, "the question is too long", NULL);
    int reply = asking_ask(buf_text(&line), (int)seconds, sentence, &err);
    if (reply < 0)
        return say_err(world, &err);
    if (reply == '\0') {
        fputs("nobody answered: nobody has answered yet. The question stays open; ask again later.\n",
              world->out);
        return EXIT_NOBODY_ANSWERED;
    }
    fprintf(world->out, "%.*s: %s.\n", (int)strcspn(sentence, " "), sentence,
            sentence + strcspn(sentence, " ") + (strchr(sentence, ' ') != NULL));
    return reply == 'g' ? EXIT_FINE : EXIT_WAS_REFUSED;
}
