#include <string.h>

#include "base/text.h"
#include "mcp/mcp.h"

/* The newest first. The first is stateless; the others begin with `initialize`. */
static const char *const revisions[] = {"2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"};

/* The tools of a program do not change while it runs. */
#define CACHED_MILLISECONDS 3600000

enum error_code {
    ERROR_NOT_JSON = -32700,
    ERROR_NO_METHOD = -32601,
    ERROR_PARAMETERS = -32602,
    ERROR_REVISION = -32022,
};

/* What answers one request. */
struct answer {
    const struct mcp_server *server;
    struct arena *arena;
    const struct mcp_message *message;
    struct mcp_call call;
    struct buf *out;
    struct json json;
};

static void begin(struct json *json, const char *id)
{
    json->on_one_line = true;
    json_open(json, NULL, '{');
    json_str(json, "jsonrpc", "2.0");
    if (id)
        json_raw(json, "id", id);
}

static void end(struct json *json)
{
    json_close(json, '}');
    buf_add_char(json->out, '\n');
}

static void begin_error(struct json *json, const char *id, int code, const char *message)
{
    begin(json, id);
    json_open(json, "error", '{');
    json_int(json, "code", code);
    json_str(json, "message", message);
}

static void add_error(struct buf *out, const char *id, int code, const char *message)
{
    struct json json = {.out = out};
    begin_error(&json, id, code, message);
    json_close(&json, '}');
    end(&json);
}

static void add_identity(struct json *json, const struct mcp_server *server, const char *key)
{
    json_open(json, key, '{');
    json_str(json, "name", "bawn");
    json_str(json, "title", "bawn, the sandbox around you");
    json_str(json, "version", server->version);
    json_close(json, '}');
}

static void begin_result(struct json *json, const struct mcp_server *server, const struct mcp_call *call)
{
    begin(json, call->id);
    json_open(json, "result", '{');
    if (!call->is_modern)
        return;
    json_str(json, "resultType", "complete");
    json_open(json, "_meta", '{');
    add_identity(json, server, "io.modelcontextprotocol/serverInfo");
    json_close(json, '}');
}

static void end_result(struct json *json)
{
    json_close(json, '}');
    end(json);
}

/* Lines of text, each of printable characters. */
static const char *as_text(struct arena *arena, const char *text)
{
    auto_buf struct buf out = {0};
    while (*text) {
        size_t size = strcspn(text, "\n");
        text_add_printable(&out, text, size);
        if (text[size])
            buf_add_char(&out, '\n');
        text += size + (text[size] != '\0');
    }
    return arena_copy(arena, buf_text(&out), out.size);
}

void mcp_reply(const struct mcp_server *server, const struct mcp_call *call, const char *text, bool is_error,
               struct buf *out)
{
    auto_arena struct arena arena = {0};
    struct json json = {.out = out};
    begin_result(&json, server, call);
    json_open(&json, "content", '[');
    json_open(&json, NULL, '{');
    json_str(&json, "type", "text");
    json_str(&json, "text", as_text(&arena, text));
    json_close(&json, '}');
    json_close(&json, ']');
    json_bool(&json, "isError", is_error);
    end_result(&json);
}

void mcp_refuse_line(struct buf *out)
{
    add_error(out, NULL, ERROR_NOT_JSON, "the line is too long");
}

static void refuse(const struct answer *answer, int code, const char *problem)
{
    add_error(answer->out, answer->message->id, code, problem);
}

static void add_revisions(struct json *json, const char *key)
{
    json_open(json, key, '[');
    for (size_t i = 0; i < array_len(revisions); i++)
        json_str(json, NULL, revisions[i]);
    json_close(json, ']');
}

static void add_abilities(struct json *json, const struct mcp_server *server)
{
    json_open(json, "capabilities", '{');
    json_open(json, "tools", '{');
    json_close(json, '}');
    json_close(json, '}');
    add_identity(json, server, "serverInfo");
    json_str(json, "instructions", server->instructions);
}

static void add_caching(struct json *json)
{
    json_int(json, "ttlMs", CACHED_MILLISECONDS);
    json_str(json, "cacheScope", "private");
}

/* `initialize`: the client's revision if it is known, or the latest of those that begin so. */
static void initialize(struct answer *answer)
{
    struct json_value asked = mcp_member(answer->message->params, "protocolVersion");
    const char *revision = asked.size ? json_text(answer->arena, asked) : NULL;
    if (!revision) {
        refuse(answer, ERROR_PARAMETERS, "protocolVersion must be a string");
        return;
    }
    bool is_known = text_is_among(revision, revisions + 1, array_len(revisions) - 1);
    begin_result(&answer->json, answer->server, &answer->call);
    json_str(&answer->json, "protocolVersion", is_known ? revision : revisions[1]);
    add_abilities(&answer->json, answer->server);
    end_result(&answer->json);
}

static void ping(struct answer *answer)
{
    begin_result(&answer->json, answer->server, &answer->call);
    end_result(&answer->json);
}

static void discover(struct answer *answer)
{
    if (!answer->call.is_modern) {
        refuse(answer, ERROR_PARAMETERS, "the request must name its revision in _meta");
        return;
    }
    begin_result(&answer->json, answer->server, &answer->call);
    add_revisions(&answer->json, "supportedVersions");
    add_abilities(&answer->json, answer->server);
    add_caching(&answer->json);
    end_result(&answer->json);
}

static void add_tool(struct json *json, const struct mcp_tool *tool)
{
    json_open(json, NULL, '{');
    json_str(json, "name", tool->name);
    json_str(json, "title", tool->title);
    json_str(json, "description", tool->description);
    json_open(json, "inputSchema", '{');
    json_str(json, "type", "object");
    if (tool->add_schema)
        tool->add_schema(json);
    json_bool(json, "additionalProperties", false);
    json_close(json, '}');
    json_open(json, "annotations", '{');
    json_bool(json, "readOnlyHint", tool->is_read_only);
    json_bool(json, "destructiveHint", false);
    json_bool(json, "idempotentHint", true);
    json_bool(json, "openWorldHint", false);
    json_close(json, '}');
    json_close(json, '}');
}

static void list_tools(struct answer *answer)
{
    if (mcp_member(answer->message->params, "cursor").size) {
        refuse(answer, ERROR_PARAMETERS, "there is no further page of tools");
        return;
    }
    begin_result(&answer->json, answer->server, &answer->call);
    json_open(&answer->json, "tools", '[');
    for (size_t i = 0; i < answer->server->tool_count; i++)
        add_tool(&answer->json, &answer->server->tools[i]);
    json_close(&answer->json, ']');
    if (answer->call.is_modern)
        add_caching(&answer->json);
    end_result(&answer->json);
}

static void call_tool(struct answer *answer)
{
    const struct mcp_server *server = answer->server;
    struct json_value name = mcp_member(answer->message->params, "name");
    struct json_value arguments = mcp_member(answer->message->params, "arguments");
    if (arguments.size && !mcp_is_object(arguments)) {
        refuse(answer, ERROR_PARAMETERS, "arguments must be an object");
        return;
    }
    for (size_t i = 0; i < server->tool_count; i++) {
        if (!json_is(name, server->tools[i].name))
            continue;
        server->call(server->self, &answer->call, i, arguments, answer->out);
        return;
    }
    refuse(answer, ERROR_PARAMETERS, "there is no such tool");
}

/* Does the request name its revision, and one that is served? Replies where it does not as it must. */
static bool check_revision(struct answer *answer)
{
    struct json_value meta = mcp_member(answer->message->params, "_meta");
    struct json_value asked = mcp_member(meta, "io.modelcontextprotocol/protocolVersion");
    answer->call.is_modern = asked.size > 0;
    if (!asked.size)
        return true;
    const char *revision = json_text(answer->arena, asked);
    if (!revision || !mcp_is_object(mcp_member(meta, "io.modelcontextprotocol/clientCapabilities"))) {
        refuse(answer, ERROR_PARAMETERS, "_meta must have a protocolVersion and clientCapabilities");
        return false;
    }
    if (strcmp(revision, revisions[0]) == 0)
        return true;
    struct json json = {.out = answer->out};
    begin_error(&json, answer->message->id, ERROR_REVISION, "Unsupported protocol version");
    json_open(&json, "data", '{');
    add_revisions(&json, "supported");
    json_str(&json, "requested", as_text(answer->arena, revision));
    json_close(&json, '}');
    json_close(&json, '}');
    end(&json);
    return false;
}

static void answer_request(struct answer *answer)
{
    static const struct {
        const char *method;
        void (*answer)(struct answer *answer);
    } methods[] = {{"initialize", initialize},
                   {"ping", ping},
                   {"server/discover", discover},
                   {"tools/list", list_tools},
                   {"tools/call", call_tool}};
    if (!check_revision(answer))
        return;
    for (size_t i = 0; i < array_len(methods); i++) {
        if (strcmp(answer->message->method, methods[i].method) != 0)
            continue;
        methods[i].answer(answer);
        return;
    }
    refuse(answer, ERROR_NO_METHOD, "this server has no such method");
}

static void heed(const struct mcp_server *server, struct arena *arena, const struct mcp_message *message)
{
    if (strcmp(message->method, "notifications/cancelled") != 0)
        return;
    const char *id = mcp_identifier(arena, mcp_member(message->params, "requestId"));
    if (id)
        server->cancel(server->self, id);
}

void mcp_take(const struct mcp_server *server, const char *line, size_t size, struct buf *out)
{
    auto_arena struct arena arena = {0};
    struct mcp_message message = mcp_read(&arena, line, size);
    struct answer answer = {.server = server,
                            .arena = &arena,
                            .message = &message,
                            .call = {.id = message.id},
                            .out = out,
                            .json = {.out = out}};
    if (message.kind == MCP_INVALID)
        add_error(out, message.id, message.error, message.problem);
    else if (message.kind == MCP_NOTIFICATION)
        heed(server, &arena, &message);
    else if (message.kind == MCP_REQUEST)
        answer_request(&answer);
}
