#include "cli/args.h"

#include <stddef.h>
#include <string.h>

#include "base/text.h"
#include "cli/say.h"
#include "report/time_text.h"

static const struct {
    const char *name, *other; /* a second spelling, or NULL */
    flag_set flag;
} plain_flags[] = {
#define PLAIN(id, name, other) {name, other, FLAG(id)},
#define VALUED(id, name, field, wanted, may_lack)
#define SET(id)
    FLAGS(PLAIN, VALUED, SET)
#undef PLAIN
#undef VALUED
};

static const struct {
    const char *name;
    flag_set flag;
    size_t field; /* in struct args */
    const char *wanted;
    bool may_lack; /* without '=' the value is "" */
} valued_flags[] = {
#define PLAIN(id, name, other)
#define VALUED(id, name, field, wanted, may_lack)                                                            \
    {name, FLAG(id), offsetof(struct args, field), wanted, may_lack},
    FLAGS(PLAIN, VALUED, SET)
#undef PLAIN
#undef VALUED
#undef SET
};

/* Flags of other tools, and their equivalents here. */
static const struct {
    const char *theirs, *ours;
} known_elsewhere[] = {
    {"--add-dirs-ro", "--read PATH"},
    {"--add-dirs", "--write PATH"},
    {"--add-dir", "--write PATH"},
    {"--enable", "--use NAME (`bawn profiles` lists them)"},
    {"--ro", "--read PATH"},
    {"--rox", "--read PATH"},
    {"--rw", "--write PATH"},
    {"--rwx", "--write PATH"},
    {"--ro-bind", "--read PATH"},
    {"--bind", "--write PATH"},
    {"--dev-bind", "--write PATH"},
    {"--allow", "--write PATH, or --connect HOST for a host"},
    {"--allow-read", "--read PATH"},
    {"--allow-write", "--write PATH"},
    {"--allow-net", "--connect HOST"},
    {"--allow-domain", "--connect HOST"},
    {"--allow-host", "--connect HOST"},
    {"--connect-tcp", "--connect HOST:PORT"},
    {"--whitelist", "--read PATH or --write PATH"},
    {"--blacklist", "--hide PATH"},
    {"--deny", "--hide PATH, or --refuse HOST for a host"},
    {"--deny-read", "--hide PATH"},
    {"--tmpfs", "--hide PATH"},
    {"--volume", "--write PATH or --read PATH"},
    {"-v", "--write PATH or --read PATH"},
    {"--mount", "--write PATH or --read PATH"},
    {"-p", "--publish [HOSTPORT:]PORT"},
    {"--port", "--publish [HOSTPORT:]PORT"},
    {"--expose", "--publish [HOSTPORT:]PORT"},
    {"--setenv", "--env NAME=VALUE"},
    {"-e", "--env NAME or --env NAME=VALUE"},
    {"--unsetenv", "--unset NAME"},
    {"--env-pass", "--env NAME"},
    {"--unshare-net", "--net off"},
    {"--unrestricted-network", "--net open"},
    {"--share-net", "--net open"},
    {"--block-net", "--net off"},
    {"--no-net", "--net off"},
    {"--no-network", "--net off"},
    {"--network", "--net off, --net allow or --net open"},
    {"--memory", "--limit memory=SIZE"},
    {"--timeout", "--limit time=20m"},
    {"--pids-limit", "--limit pids=COUNT"},
    {"--sandbox", "--read-only, --full-access, or nothing for workspace-write"},
    {"--dangerously-bypass-approvals-and-sandbox", "--full-access --i-know"},
    {"--cd", "--workspace DIR"},
    {"-C", "--workspace DIR"},
    {"--workdir", "--workspace DIR"},
    {"--profile", "--use NAME"},
    {"--config", "--policy FILE"},
    {"--dry-run", "--discard, or the verb `bawn show`"},
    {"--dangerously-skip-permissions", "a flag of the agent, which goes after the command"},
    {"--yolo", "a flag of the agent, which goes after the command"},
};

/* "--read=X" split into "--read" and "X". */
struct spelled_flag {
    char *name;
    const char *value; /* NULL: the value is the next argument */
};

static struct spelled_flag split_flag(struct arena *arena, const char *argument)
{
    size_t size = strcspn(argument, "=");
    bool has_value = text_starts_with(argument, "--") && argument[size] == '=';
    return (struct spelled_flag){arena_copy(arena, argument, has_value ? size : strlen(argument)),
                                 has_value ? argument + size + 1 : NULL};
}

static flag_set plain_flag(const char *name)
{
    for (size_t i = 0; i < array_len(plain_flags); i++) {
        if (strcmp(name, plain_flags[i].name) == 0 || text_equal(plain_flags[i].other, name))
            return plain_flags[i].flag;
    }
    return 0;
}

/* The index in valued_flags; the table's length if no allowed flag has this name. */
static size_t valued_flag(const char *name, flag_set allowed)
{
    size_t i = 0;
    while (i < array_len(valued_flags) &&
           !(strcmp(name, valued_flags[i].name) == 0 && valued_flags[i].flag & allowed))
        i++;
    return i;
}

/* The verb of the policy language that a flag stands for, or VERB_COUNT. --policy FILE is VERB_NONE. */
static enum verb policy_flag(const char *name)
{
    if (strcmp(name, "--policy") == 0)
        return VERB_NONE;
    enum verb verb = text_starts_with(name, "--") ? verb_from_word(name + 2) : VERB_NONE;
    return verb == VERB_NONE || verb_is_of_profiles(verb) || verb_is_setting(verb) ? VERB_COUNT : verb;
}

/* The most similar flag, without its dashes. */
static const char *closest_flag(const char *name, flag_set allowed)
{
    const char *words[VERB_COUNT + 2 * array_len(plain_flags) + array_len(valued_flags) + 2];
    size_t count = 0;
    for (size_t i = 0; i < array_len(plain_flags); i++) {
        if (!(plain_flags[i].flag & allowed))
            continue;
        words[count++] = plain_flags[i].name + 2;
        if (plain_flags[i].other && text_starts_with(plain_flags[i].other, "--"))
            words[count++] = plain_flags[i].other + 2;
    }
    for (enum verb verb = VERB_NONE + 1; allowed & FLAG(POLICY) && verb < VERB_COUNT; verb++) {
        if (!verb_is_of_profiles(verb) && !verb_is_setting(verb))
            words[count++] = verb_word(verb);
    }
    if (allowed & FLAG(POLICY))
        words[count++] = "policy";
    for (size_t i = 0; i < array_len(valued_flags); i++) {
        if (valued_flags[i].flag & allowed)
            words[count++] = valued_flags[i].name + 2;
    }
    words[count] = NULL;
    return text_closest(name + strspn(name, "-"), words);
}

static int refuse_flag(const struct world *world, struct arena *arena, const struct verb_entry *verb,
                       const char *name, flag_set allowed)
{
    const char *message = verb ? arena_printf(arena, "`bawn %s` has no flag %s", verb->name, name)
                               : arena_printf(arena, "there is no flag %s", name);
    for (size_t i = 0; i < array_len(known_elsewhere); i++) {
        if (strcmp(name, known_elsewhere[i].theirs) == 0)
            return say_bad_input(world, message,
                                 arena_printf(arena, "in bawn it is %s", known_elsewhere[i].ours));
    }
    enum verb setting = text_starts_with(name, "--") ? verb_from_word(name + 2) : VERB_NONE;
    if (setting && verb_is_setting(setting))
        return say_bad_input(world, message,
                             arena_printf(arena, "write `%s %s` into ~/.config/bawn/policy.bawn",
                                          verb_word(setting), verb_placeholder(setting)));
    const char *closest = closest_flag(name, allowed);
    const char *pages = !verb || strcmp(verb->name, "run") == 0
                            ? "`bawn run --help` lists them, and `bawn help rules` the rules"
                            : arena_printf(arena, "`bawn %s --help` lists them", verb->name);
    return say_bad_input(world, message,
                         closest ? arena_printf(arena, "did you mean --%s?", closest) : pages);
}

static const struct verb_entry *find_verb(const struct verb_entry *verbs, const char *name)
{
    for (; verbs->name; verbs++) {
        if (strcmp(verbs->name, name) == 0)
            return verbs;
    }
    return NULL;
}

struct parser {
    const struct world *world;
    struct arena *arena;
    struct args *args;
    char **at;                      /* the next argument */
    const struct verb_entry *named; /* the verb, after its name was read */
};

/* Parses "landlock,seccomp": walls that the run may do without. */
static int parse_walls(struct parser *parser, const char *names)
{
    while (true) {
        size_t size = strcspn(names, ",");
        const char *name = arena_copy(parser->arena, names, size);
        enum wall wall = wall_from_name(name);
        if (wall == WALL_COUNT) {
            const char *closest = wall_closest(name);
            return say_bad_input(parser->world, arena_printf(parser->arena, "there is no wall '%s'", name),
                                 closest ? arena_printf(parser->arena, "did you mean %s? The walls are %s",
                                                        closest, wall_list())
                                         : arena_printf(parser->arena, "the walls are %s", wall_list()));
        }
        parser->args->degraded |= 1u << wall;
        if (!names[size])
            return 0;
        names += size + 1;
    }
}

/* The value of a flag: after its '=', or the next argument. Without one, says so and returns NULL. */
static const char *value_of(struct parser *parser, const struct spelled_flag *flag, const char *wanted)
{
    if (!flag->value && !*parser->at) {
        say_problem(parser->world, arena_printf(parser->arena, "%s needs %s after it", flag->name, wanted),
                    NULL);
        return NULL;
    }
    return flag->value ? flag->value : *parser->at++;
}

static int parse_valued(struct parser *parser, const struct spelled_flag *flag, size_t index)
{
    const char *value = flag->value || !valued_flags[index].may_lack
                            ? value_of(parser, flag, valued_flags[index].wanted)
                            : "";
    /* `--to 20m ago`, as it is spoken: no path is meant, or it would be ./ago. */
    if (value && valued_flags[index].flag == FLAG(TO) && *parser->at && strcmp(*parser->at, "ago") == 0) {
        value = arena_printf(parser->arena, "%s ago", value);
        parser->at++;
    }
    parser->args->flags |= valued_flags[index].flag;
    memcpy((char *)parser->args + valued_flags[index].field, &value, sizeof(value));
    return value ? 0 : EXIT_BAD_INPUT;
}

/* Parses an argument that begins with '-'. */
static int parse_flag(struct parser *parser)
{
    struct spelled_flag flag = split_flag(parser->arena, *parser->at++);
    flag_set allowed = (parser->named ? parser->named->flags : parser->args->verb->flags) | FLAG(HELP);
    flag_set plain = plain_flag(flag.name);
    enum verb rule = policy_flag(flag.name);
    if (plain & allowed & FLAG(DEGRADE)) {
        const char *names = value_of(parser, &flag, "the name of a wall");
        parser->args->flags |= plain;
        return names ? parse_walls(parser, names) : EXIT_BAD_INPUT;
    }
    size_t valued = valued_flag(flag.name, allowed);
    if (valued < array_len(valued_flags))
        return parse_valued(parser, &flag, valued);
    if (plain & allowed) {
        bool is_all = plain == FLAG(REVIEW) && flag.value && strcmp(flag.value, "all") == 0;
        parser->args->flags |= is_all ? FLAG(REVIEW_ALL) : 0;
        if (flag.value && !is_all)
            return say_bad_input(parser->world,
                                 arena_printf(parser->arena, "%s takes no value%s", flag.name,
                                              plain == FLAG(REVIEW) ? " except `all`" : ""),
                                 NULL);
        parser->args->flags |= plain;
        return 0;
    }
    if (rule == VERB_COUNT || !(allowed & FLAG(POLICY)))
        return refuse_flag(parser->world, parser->arena, parser->named, flag.name, allowed);
    struct argument argument = {rule,
                                value_of(parser, &flag, rule == VERB_NONE ? "FILE" : verb_placeholder(rule))};
    if (!argument.text)
        return EXIT_BAD_INPUT;
    vec_push(&parser->args->rules, argument);
    return 0;
}

/* Parses a word that is not a flag. Returns -1 if the command begins with it. */
static int parse_word(struct parser *parser, const struct verb_entry *verbs)
{
    if (!parser->named) {
        parser->named = find_verb(verbs, *parser->at);
        if (!parser->named)
            return -1;
        parser->args->verb = parser->named;
        parser->args->verb_is_named = true;
        parser->at++;
        flag_set refused = parser->args->flags & ~(parser->named->flags | FLAG(HELP));
        bool rules_refused = parser->args->rules.count && !(parser->named->flags & FLAG(POLICY));
        if (refused || rules_refused)
            return say_bad_input(parser->world,
                                 arena_printf(parser->arena, "`bawn %s` does not take flags before the verb",
                                              parser->named->name),
                                 NULL);
        return 0;
    }
    if (!parser->named->words)
        return -1;
    if (!**parser
               ->at) /* as by a script whose variable is empty: not the workspace, and not the latest session */
        return say_bad_input(
            parser->world,
            arena_printf(parser->arena, "`bawn %s` got an empty argument", parser->named->name),
            "a variable in the command may be empty");
    vec_push(&parser->args->words, *parser->at++);
    return 0;
}

/* --- flags that contradict each other ----------------------------------------------------------------------------- */

/* At most one answer to a conflict can be given. */
static int check_conflicts(const struct world *world, const struct args *args)
{
    flag_set answers = args->flags & (FLAG(THEIRS) | FLAG(OURS) | FLAG(MERGE) | FLAG(MARKERS));
    if ((answers & (answers - 1)) == 0)
        return 0;
    return say_bad_input(world, "--theirs, --ours, --merge and --markers exclude each other",
                         "use only one of them");
}

static int check_modes(const struct world *world, const struct args *args)
{
    bool is_aside = args->flags & (FLAG(REVIEW) | FLAG(DISCARD));
    if (args->flags & FLAG(BRANCH) &&
        args->flags & (FLAG(REVIEW) | FLAG(DISCARD) | FLAG(READ_ONLY) | FLAG(NESTED) | FLAG(FULL_ACCESS)))
        return say_bad_input(
            world,
            "--branch cannot be combined with --review, --discard, --read-only, --nested or --full-access",
            "leave one of them out");
    if (is_aside && (args->flags & FLAG(REVIEW) && args->flags & FLAG(DISCARD)))
        return say_bad_input(world, "--review and --discard exclude each other", "leave one of them out");
    if (is_aside && args->flags & (FLAG(READ_ONLY) | FLAG(FULL_ACCESS)))
        return say_bad_input(world,
                             "--review and --discard cannot be combined with --read-only or --full-access",
                             "leave one of them out");
    if (!(args->flags & FLAG(FULL_ACCESS) && args->flags & (FLAG(READ_ONLY) | FLAG(NESTED))))
        return 0;
    return say_bad_input(world, "--full-access cannot be combined with --read-only or --nested",
                         "leave one of them out");
}

/* Checkpoints need a run that writes the workspace directly. */
static int check_checkpoint(const struct world *world, struct arena *arena, struct args *args)
{
    if (!args->checkpoint)
        return 0;
    if (!duration_parse(args->checkpoint, &args->checkpoint_seconds) || args->checkpoint_seconds == 0)
        return say_bad_input(world, arena_printf(arena, "'%s' is not a length of time", args->checkpoint),
                             "write a number and s, m, h or d, such as --checkpoint 15m");
    if (!(args->flags & (FLAG(REVIEW) | FLAG(DISCARD) | FLAG(BRANCH) | FLAG(READ_ONLY) | FLAG(NESTED))))
        return 0;
    return say_bad_input(world, "--checkpoint works only in a run that writes the workspace directly",
                         "leave out --review, --discard, --branch, --read-only and --nested");
}

static int check_walls(const struct world *world, struct arena *arena, struct args *args)
{
    if (!args->walls)
        return 0;
    args->on = foundation_from_name(args->walls);
    if (args->on == FOUNDATION_COUNT)
        return say_bad_input(world, arena_printf(arena, "'%s' is not a set of walls", args->walls),
                             "use --walls namespaces or --walls landlock");
    return 0;
}

/* Do the flags fit together? Returns 0, or the exit status after saying what is wrong. */
static int agree(const struct world *world, struct arena *arena, struct args *args)
{
    int status = check_modes(world, args);
    if (status == 0)
        status = check_checkpoint(world, arena, args);
    if (status == 0)
        status = check_walls(world, arena, args);
    return status ? status : check_conflicts(world, args);
}

/* --- the whole command line --------------------------------------------------------------------------------------- */

int args_parse(const struct world *world, const struct verb_entry *verbs, int count, char **arguments,
               struct arena *arena, struct args *ret_args)
{
    *ret_args = (struct args){.verbs = verbs, .verb = verbs, .typed = arguments};
    struct parser parser = {world, arena, ret_args, arguments + (count > 0), NULL};
    while (*parser.at) {
        const char *argument = *parser.at;
        int status = 0;
        if (parser.named && parser.named->passes_on && !(plain_flag(argument) & FLAG(HELP))) {
            vec_push(&ret_args->words, *parser.at++);
            continue;
        }
        if (strcmp(argument, "--") == 0) {
            parser.at++;
            break;
        }
        if (argument[0] == '-' && argument[1])
            status = parse_flag(&parser);
        else
            status = parse_word(&parser, verbs);
        if (status < 0)
            break;
        if (status > 0)
            return status;
    }
    ret_args->command = (const char *const *)parser.at;
    if (*parser.at && !ret_args->verb->takes_command)
        return say_bad_input(
            world, arena_printf(arena, "`bawn %s` does not take '%s'", ret_args->verb->name, *parser.at),
            arena_printf(arena, "`bawn %s --help` explains it", ret_args->verb->name));
    return agree(world, arena, ret_args);
}

/* The hint for a verb without rule flags, which cannot take --workspace; NULL for the others. */
static const char *workspace_remedy(const struct verb_entry *verb)
{
    if (!verb || verb->flags & FLAG(POLICY))
        return NULL;
    return verb->words && text_starts_with(verb->words, "SESSION")
               ? "start in a project directory, or name a session: `bawn sessions --all` lists them"
               : "start in a project directory";
}

struct run_request args_place(const struct args *args)
{
    return (struct run_request){.command = args->command, .workspace_remedy = workspace_remedy(args->verb)};
}

struct run_request args_request(const struct args *args)
{
    return (struct run_request){
        .rules = args->rules.at,
        .rule_count = args->rules.count,
        .command = args->command,
        .agent = args->agent,
        .workspace_remedy = workspace_remedy(args->verb),
        .degraded = args->degraded,
        .on = args->walls ? &args->on : NULL,
        .read_only = args->flags & FLAG(READ_ONLY),
        .full_access = args->flags & FLAG(FULL_ACCESS),
        .fresh_home = args->flags & FLAG(FRESH_HOME),
        .nested = args->flags & FLAG(NESTED),
        .review = args->flags & FLAG(REVIEW),
        .review_all = args->flags & FLAG(REVIEW_ALL),
        .discard = args->flags & FLAG(DISCARD),
        .branch = (args->flags & FLAG(BRANCH)) ? args->branch : NULL,
        .checkpoint_seconds = args->checkpoint_seconds,
        .log_exec = args->flags & FLAG(RECORD_EXEC),
        .keep_flagged = args->flags & FLAG(KEEP_FLAGGED),
        .asks = args->flags & FLAG(ASK),
        .notifies = args->flags & FLAG(NOTIFY),
        .notify = args->notify,
        .on_exit = args->on_exit,
        .typed = args->typed,
    };
}

void args_free(struct args *args)
{
    vec_free(&args->rules);
    vec_free(&args->words);
}
