/* One line of a client as a message, or the reason why it is none. */
#include <string.h>

#include "base/text.h"
#include "mcp/mcp.h"

enum { LONGEST_IDENTIFIER = 256, NOT_JSON = -32700, NOT_A_MESSAGE = -32600 };

struct json_value mcp_member(struct json_value object, const char *name)
{
    struct json_value key, value;
    for (size_t at = 0; object.size && json_next_member(object, &at, &key, &value);) {
        if (json_is(key, name))
            return value;
    }
    return (struct json_value){0};
}

bool mcp_is_object(struct json_value value)
{
    return value.size && *value.at == '{';
}

static bool is_integer(struct json_value value)
{
    size_t sign = *value.at == '-';
    return value.size > sign && strspn(value.at + sign, "0123456789") >= value.size - sign;
}

/* A string that the reply can repeat as it is. */
static bool is_repeatable(struct json_value value)
{
    return *value.at == '"' && text_is_utf8(value.at, value.size);
}

const char *mcp_identifier(struct arena *arena, struct json_value value)
{
    bool is_one =
        value.size && value.size <= LONGEST_IDENTIFIER && (is_integer(value) || is_repeatable(value));
    return is_one ? arena_copy(arena, value.at, value.size) : NULL;
}

static struct mcp_message invalid(int error, const char *problem)
{
    return (struct mcp_message){.kind = MCP_INVALID, .error = error, .problem = problem};
}

/* What a message has, each once. */
struct members {
    struct json_value version, id, method, params;
    bool has_outcome; /* result or error: it is a response */
};

/* Returns NULL, or what is wrong. */
static const char *take_members(struct json_value object, struct members *ret_members)
{
    struct json_value key, value, ignored = {0};
    *ret_members = (struct members){0};
    for (size_t at = 0; json_next_member(object, &at, &key, &value);) {
        bool is_outcome = json_is(key, "result") || json_is(key, "error");
        struct json_value *place = json_is(key, "jsonrpc")  ? &ret_members->version
                                   : json_is(key, "id")     ? &ret_members->id
                                   : json_is(key, "method") ? &ret_members->method
                                   : json_is(key, "params") ? &ret_members->params
                                                            : &ignored;
        if (place != &ignored && place->size)
            return "a member is given twice";
        *place = value;
        ret_members->has_outcome |= is_outcome;
    }
    return NULL;
}

struct mcp_message mcp_read(struct arena *arena, const char *line, size_t size)
{
    struct json_value value;
    struct members members;
    if (!json_read(line, size, &value))
        return invalid(NOT_JSON, "the line is not JSON");
    if (!mcp_is_object(value))
        return invalid(NOT_A_MESSAGE, "a message is one object on one line");
    const char *problem = take_members(value, &members);
    if (problem)
        return invalid(NOT_A_MESSAGE, problem);
    struct mcp_message message = {.id = mcp_identifier(arena, members.id), .params = members.params};
    message.method = members.method.size ? json_text(arena, members.method) : NULL;
    if (!json_is(members.version, "2.0"))
        problem = "jsonrpc must be \"2.0\"";
    else if (members.id.size && !message.id && (members.method.size || !members.has_outcome))
        problem = "the id must be a string or an integer";
    else if (members.params.size && !mcp_is_object(members.params))
        problem = "params must be an object";
    else if (!message.method && !members.has_outcome)
        problem = "the method must be a string";
    else if (message.method && members.has_outcome)
        problem = "a message is a request or a response";
    if (problem) {
        message.kind = MCP_INVALID;
        message.error = NOT_A_MESSAGE;
        message.problem = problem;
        return message;
    }
    message.kind = members.has_outcome ? MCP_RESPONSE : message.id ? MCP_REQUEST : MCP_NOTIFICATION;
    return message;
}
