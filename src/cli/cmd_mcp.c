/*
 * `bawn mcp`, for agents inside: a server of the Model Context Protocol on standard input and output, with tools to read the policy, to
 * ask which rule decides, and to ask the person outside for more. It serves on while questions are open.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/text.h"
#include "base/timespec.h"
#include "broker/broker.h"
#include "cli/commands.h"
#include "cli/say.h"
#include "kernel/ports.h"
#include "launch/launch.h"
#include "mcp/mcp.h"
#include "report/policy_text.h"
#include "report/time_text.h"
#include "supervise/asking.h"

const char mcp_usage[] = "bawn mcp [--wait TIME]\n"
                         "\n"
                         "For agents inside: serve the Model Context Protocol on standard input and\n"
                         "output. The tools are policy, why, ask and status. bawn hands this server to\n"
                         "agents whose profile names it; the rule `mcp off` turns that off.\n"
                         "\n"
                         "  --wait TIME   how long `ask` waits for a person if the call does not say; 50s\n";

enum {
    MOST_OPEN_CALLS = 32,
    PATIENCE = 50, /* seconds: less than the minute after which clients give up */
    LONGEST_WAIT = 24 * 60 * 60,
    BRIEFING_LARGEST = 256 * 1024,
    CONTENT_LARGEST = 64 * 1024,
};

enum tool { TOOL_POLICY, TOOL_WHY, TOOL_ASK, TOOL_STATUS };

/* A question whose asker waits. */
struct open_call {
    struct mcp_call call; /* its id is owned */
    int fd;
    int64_t until; /* seconds of CLOCK_MONOTONIC */
};

struct serving {
    const struct world *world;
    struct mcp_server server;
    uint64_t patience;
    /* cppcheck-suppress unusedStructMember; vec_push uses it */
    VEC(struct open_call) open;
};

/* --- schemas --- */

static void add_property(struct json *json, const char *name, const char *type, const char *description)
{
    json_open(json, name, '{');
    json_str(json, "type", type);
    json_str(json, "description", description);
    json_close(json, '}');
}

static void add_why_schema(struct json *json)
{
    json_open(json, "properties", '{');
    add_property(json, "object", "string",
                 "a path (/etc/hosts, ~/.ssh), a host (example.com, example.com:8080) or a variable ($NAME)");
    json_close(json, '}');
    json_open(json, "required", '[');
    json_str(json, NULL, "object");
    json_close(json, ']');
}

static void add_ask_schema(struct json *json)
{
    json_open(json, "properties", '{');
    json_open(json, "kind", '{');
    json_str(json, "type", "string");
    json_open(json, "enum", '[');
    for (enum question_kind kind = 0; kind < QUESTION_KIND_COUNT; kind++) {
        if (question_kind_is_asked(kind))
            json_str(json, NULL, question_kind_word(kind));
    }
    json_close(json, ']');
    json_str(
        json, "description",
        "what is missing: to connect to a host, to publish a port of yours, to read or write a file or directory "
        "of the machine outside, the value of a variable (env)");
    json_close(json, '}');
    add_property(json, "object", "string", "which one, exactly: example.com:8080, 3000, /srv/data, GH_TOKEN");
    add_property(json, "because", "string", "why the task needs it, in one sentence for the person");
    json_open(json, "wait_seconds", '{');
    json_str(json, "type", "integer");
    json_int(json, "minimum", 0);
    json_int(json, "maximum", LONGEST_WAIT);
    json_str(json, "description", "how long to wait for the answer");
    json_close(json, '}');
    json_close(json, '}');
    json_open(json, "required", '[');
    json_str(json, NULL, "kind");
    json_str(json, NULL, "object");
    json_str(json, NULL, "because");
    json_close(json, ']');
}

static const struct mcp_tool tools[] = {
    [TOOL_POLICY] = {"policy", "What this sandbox allows",
                     "Says what you may write, read and reach in this sandbox, and what does not work here.",
                     true, NULL},
    [TOOL_WHY] =
        {"why", "Which rule decides",
         "Says whether a path, a host or a variable can be used here, which rule decides that, and what "
         "would change it. Use it when something is missing or refused.",
         true, add_why_schema},
    [TOOL_ASK] =
        {"ask", "Ask the person for more",
         "Asks the person outside to grant something that the policy does not, and waits for the answer. "
         "If it is refused, go on without it, or stop and say what is missing: do not work around it. "
         "If nobody answers, the question stays open, and the same call waits again.",
         false, add_ask_schema},
    [TOOL_STATUS] = {"status", "The questions of this run",
                     "Lists what was asked in this run, and which questions are open, granted or refused.",
                     true, NULL},
};

static const char instructions[] =
    "You are inside a bawn sandbox. What is missing or refused here is so on purpose. `policy` says what you may "
    "do, `why` says which rule decides, `ask` asks the person for a host, a port, a file or a variable, `status` says how your "
    "questions stand.";

/* --- the tools --- */

/* Reads the members of a call's arguments by name, and nothing else. Returns NULL, or what is wrong. */
static const char *take_arguments(struct json_value arguments, const char *const *names, size_t count,
                                  struct json_value *ret_values)
{
    struct json_value key, value;
    for (size_t i = 0; i < count; i++)
        ret_values[i] = (struct json_value){0};
    for (size_t at = 0; arguments.size && json_next_member(arguments, &at, &key, &value);) {
        size_t found = 0;
        while (found < count && !json_is(key, names[found]))
            found++;
        if (found == count || ret_values[found].size)
            return "an argument is given twice, or this tool does not have it";
        ret_values[found] = value;
    }
    return NULL;
}

/* A file that bawn has made for the command. Behind walls without namespaces it lies with the command's temporary files. */
static const char *path_of_own_file(const struct caller *caller, struct arena *arena, const char *inside,
                                    const char *in_scratch)
{
    const char *scratch = caller_variable(caller, "TMPDIR");
    return access(inside, R_OK) == 0 || !scratch ? inside : arena_printf(arena, "%s/%s", scratch, in_scratch);
}

static void reply_policy(struct serving *serving, const struct mcp_call *call, struct buf *out)
{
    auto_buf struct buf text = {0};
    auto_arena struct arena arena = {0};
    const char *path = path_of_own_file(&serving->world->caller, &arena, BRIEFING_INSIDE, SCRATCH_BRIEFING);
    auto_fd int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    bool is_read = fd >= 0 && buf_read(&text, fd, BRIEFING_LARGEST) == 0;
    mcp_reply(&serving->server, call,
              is_read ? buf_text(&text) : "this is not a bawn sandbox: there is no policy to read", !is_read,
              out);
}

/* As `bawn why` inside. An agent may start its servers without the variable that names the rules. */
static int add_why(const struct world *world, const char *object, struct buf *text, struct err *err)
{
    auto_vec VEC(const char *) environment = {0};
    auto_arena struct arena arena = {0};
    auto_loaded struct loaded loaded = {0};
    struct caller caller = world->caller;
    struct run_request request = {0};
    struct given_rules given;
    for (const char *const *entry = caller.environment; *entry; entry++)
        vec_push(&environment, *entry);
    const char *rules = path_of_own_file(&caller, &arena, POLICY_INSIDE, SCRATCH_POLICY);
    if (!caller_variable(&caller, "BAWN_POLICY") && access(rules, R_OK) == 0)
        vec_push(&environment, arena_printf(&arena, "BAWN_POLICY=%s", rules));
    vec_push(&environment, NULL);
    caller.environment = environment.at;
    struct world inside = *world;
    inside.caller = caller;
    given_rules_add(&inside, &request, &given);
    int result =
        load_plan(&caller, &request, &loaded)
            ? err_set(err, "the policy cannot be read here")
            : why_add(&loaded.plan, &(struct style){.home = loaded.request.home}, object, NULL, text, err);
    given_rules_free(&given);
    return result;
}

static void reply_why(struct serving *serving, const struct mcp_call *call, struct json_value arguments,
                      struct buf *out)
{
    static const char *const names[] = {"object"};
    auto_arena struct arena arena = {0};
    auto_buf struct buf text = {0};
    struct json_value value;
    struct err err = {0};
    const char *problem = take_arguments(arguments, names, array_len(names), &value);
    const char *object = value.size ? json_text(&arena, value) : NULL;
    if (!problem && (!object || !*object))
        problem = "object must be a path, a host or a $NAME";
    if (!problem && add_why(serving->world, object, &text, &err) < 0)
        problem = err.message;
    mcp_reply(&serving->server, call, problem ? problem : buf_text(&text), problem != NULL, out);
}

static void reply_status(struct serving *serving, const struct mcp_call *call, struct buf *out)
{
    auto_buf struct buf text = {0};
    struct err err = {0};
    bool is_there = asking_status(&text, &err) == 0;
    mcp_reply(&serving->server, call, is_there ? buf_text(&text) : err.message, !is_there, out);
}

/* A question's line has tabs between its fields. */
static bool has_separator(const char *text)
{
    return strpbrk(text, "\t\n\r") != NULL;
}

/* The line of a question; NULL: *ret_problem says what is wrong with the call. */
static const char *line_of(const struct world *world, struct arena *arena, struct json_value arguments,
                           uint64_t *seconds, const char **ret_problem)
{
    static const char *const names[] = {"kind", "object", "because", "wait_seconds"};
    struct json_value values[array_len(names)];
    const char *texts[3];
    *ret_problem = take_arguments(arguments, names, array_len(names), values);
    for (size_t i = 0; !*ret_problem && i < array_len(texts); i++) {
        texts[i] = values[i].size ? json_text(arena, values[i]) : "";
        if (!texts[i] || (i < 2 && (!*texts[i] || has_separator(texts[i]))))
            *ret_problem = "kind, object and because must each be one line of text";
    }
    if (*ret_problem)
        return NULL;
    const char *at = values[3].size ? arena_copy(arena, values[3].at, values[3].size) : NULL;
    if (at && (!text_take_number(&at, seconds) || *at || *seconds > LONGEST_WAIT)) {
        *ret_problem = "wait_seconds must be a number of seconds, a day at most";
        return NULL;
    }
    char *because = arena_str(arena, texts[2]);
    for (char *letter = because; *letter; letter++)
        *letter = strchr("\t\n\r", *letter) ? ' ' : *letter;
    const char *object = ask_object(world, arena, texts[0], texts[1]);
    const char *line = arena_printf(arena, "%s\t%s\t%s", texts[0], object, because);
    if (strlen(line) > ASKING_LONGEST)
        *ret_problem = "the question is too long";
    return *ret_problem ? NULL : line;
}

static void begin_question(struct serving *serving, const struct mcp_call *call, struct json_value arguments,
                           struct buf *out)
{
    auto_arena struct arena arena = {0};
    struct err err = {0};
    const char *problem = NULL;
    uint64_t seconds = serving->patience;
    const char *line = line_of(serving->world, &arena, arguments, &seconds, &problem);
    if (line && serving->open.count >= MOST_OPEN_CALLS)
        problem = "too many calls wait for an answer already";
    auto_fd int fd = problem ? -1 : asking_send(line, &err);
    if (fd < 0) {
        mcp_reply(&serving->server, call, problem ? problem : err.message, true, out);
        return;
    }
    struct open_call open = {.call = *call, .fd = fd_take(&fd), .until = now_seconds() + (int64_t)seconds};
    open.call.id = strdup(call->id);
    if (!open.call.id)
        abort();
    vec_push(&serving->open, open);
}

static void take_call(void *self, const struct mcp_call *call, size_t tool, struct json_value arguments,
                      struct buf *out)
{
    struct serving *serving = self;
    switch ((enum tool)tool) {
    case TOOL_POLICY:
        reply_policy(serving, call, out);
        break;
    case TOOL_WHY:
        reply_why(serving, call, arguments, out);
        break;
    case TOOL_ASK:
        begin_question(serving, call, arguments, out);
        break;
    case TOOL_STATUS:
        reply_status(serving, call, out);
        break;
    }
}

/* --- questions that are open --- */

static void forget(struct serving *serving, size_t index)
{
    struct open_call *open = &serving->open.at[index];
    close(open->fd);
    free((char *)open->call.id);
    *open = serving->open.at[--serving->open.count];
}

static void cancel_call(void *self, const char *id)
{
    struct serving *serving = self;
    for (size_t i = serving->open.count; i-- > 0;) {
        if (strcmp(serving->open.at[i].call.id, id) == 0)
            forget(serving, i);
    }
}

/* "granted SENTENCE" as "granted: SENTENCE", as `bawn ask` prints it. */
static void add_sentence(struct buf *out, const char *reply, size_t size)
{
    const char *space = memchr(reply, ' ', size);
    size_t first = space ? (size_t)(space - reply) : size;
    buf_add(out, reply, first);
    buf_add_str(out, space ? ":" : "");
    buf_add(out, reply + first, size - first);
}

/* What was given with the answer: a file's content, or a variable's value. */
static void add_content(struct buf *out, int content)
{
    auto_buf struct buf given = {0};
    if (content < 0)
        return;
    bool is_read = buf_read(&given, content, CONTENT_LARGEST) == 0;
    buf_add_str(out, is_read ? "\n\n" : "\nIt cannot be read.");
    buf_add(out, buf_text(&given), given.size);
    if (given.size == CONTENT_LARGEST)
        buf_add_str(out, "\n(The rest is left out: `bawn ask` prints all of it.)");
}

/* Replies to the calls whose answer is there, or whose time is over. */
static void settle(struct serving *serving, struct buf *out)
{
    for (size_t i = serving->open.count; i-- > 0;) {
        const struct open_call *open = &serving->open.at[i];
        auto_buf struct buf text = {0};
        struct pollfd ready = {.fd = open->fd, .events = POLLIN};
        bool waits = poll(&ready, 1, 0) == 0;
        if (waits && now_seconds() < open->until)
            continue;
        char reply[ASKING_LONGEST];
        auto_fd int content = -1;
        ssize_t got = waits ? 0 : passing_receive(open->fd, reply, sizeof(reply), &content);
        if (waits)
            buf_add_str(&text, "nobody answered yet: the question stays open, so ask again later");
        else if (got <= 0)
            buf_add_str(&text, "bawn closed the connection without an answer");
        else
            add_sentence(&text, reply, (size_t)got);
        buf_add_char(&text, '.');
        add_content(&text, content);
        mcp_reply(&serving->server, &open->call, buf_text(&text), got <= 0 && !waits, out);
        forget(serving, i);
    }
}

/* How long to wait for something to do, in milliseconds; -1: until something comes. */
static int time_to_wait(const struct serving *serving)
{
    int64_t least = -1, now = now_seconds();
    vec_each (const struct open_call, open, &serving->open) {
        int64_t left = open->until > now ? open->until - now : 0;
        least = least < 0 || left < least ? left : least;
    }
    return least < 0 ? -1 : (int)(least * 1000);
}

/* --- lines --- */

/* Takes the whole lines of the input; keeps the rest. A line that is too long is refused once, and skipped. */
static void take_lines(struct serving *serving, struct buf *input, bool *skips, struct buf *out)
{
    size_t start = 0;
    for (const char *end; (end = memchr(input->bytes + start, '\n', input->size - start));
         start = (size_t)(end - input->bytes) + 1) {
        size_t size = (size_t)(end - input->bytes) - start;
        if (!*skips && size)
            mcp_take(&serving->server, input->bytes + start, size, out);
        *skips = false;
    }
    memmove(input->bytes, input->bytes + start, input->size - start);
    input->size -= start;
    if (input->size <= MCP_LINE_LARGEST)
        return;
    if (!*skips)
        mcp_refuse_line(out);
    *skips = true;
    input->size = 0;
}

/* Reads what has come. False at the end of the input. */
static bool read_more(struct buf *input)
{
    not_zeroed char bytes[16384];
    ssize_t got = read(STDIN_FILENO, bytes, sizeof(bytes));
    if (got > 0)
        buf_add(input, bytes, (size_t)got);
    return got > 0 || (got < 0 && errno == EINTR);
}

static bool send_replies(const struct world *world, struct buf *out)
{
    bool is_written = fwrite(buf_text(out), 1, out->size, world->out) == out->size && fflush(world->out) == 0;
    out->size = 0;
    return is_written;
}

static void serve(struct serving *serving)
{
    auto_buf struct buf input = {0}, out = {0};
    bool skips = false, goes_on = true;
    while (goes_on) {
        struct pollfd ready[MOST_OPEN_CALLS + 1] = {{.fd = STDIN_FILENO, .events = POLLIN}};
        for (size_t i = 0; i < serving->open.count; i++)
            ready[i + 1] = (struct pollfd){.fd = serving->open.at[i].fd, .events = POLLIN};
        if (poll(ready, serving->open.count + 1, time_to_wait(serving)) < 0 && errno != EINTR)
            break;
        if (ready[0].revents)
            goes_on = read_more(&input);
        if (input.size)
            take_lines(serving, &input, &skips, &out);
        settle(serving, &out);
        goes_on &= !out.size || send_replies(serving->world, &out);
    }
}

int cmd_mcp(const struct world *world, const struct args *args)
{
    struct serving serving = {.world = world,
                              .patience = PATIENCE,
                              .server = {.tools = tools,
                                         .tool_count = array_len(tools),
                                         .version = BAWN_VERSION,
                                         .instructions = instructions,
                                         .call = take_call,
                                         .cancel = cancel_call}};
    serving.server.self = &serving;
    if (args->wait && (!duration_parse(args->wait, &serving.patience) || serving.patience > LONGEST_WAIT))
        return say_bad_input(world, "--wait needs a length of time, a day at most", "write 90s, 5m or 1h");
    serve(&serving);
    while (serving.open.count)
        forget(&serving, 0);
    vec_free(&serving.open);
    return EXIT_FINE;
}
