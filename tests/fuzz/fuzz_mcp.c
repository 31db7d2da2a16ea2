/*
 * Any bytes as lines of an MCP client. Each line gets one reply at most, and a reply is one line that is JSON and valid UTF-8. What a
 * call repeats of its arguments is as hostile as they are.
 */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "fuzz.h"
#include "mcp/mcp.h"

static void check(bool holds)
{
    if (!holds)
        abort();
}

static void add_schema(struct json *json)
{
    json_open(json, "properties", '{');
    json_close(json, '}');
}

static const struct mcp_tool tools[] = {{"echo", "Echo", "Repeats its arguments.", true, add_schema},
                                        {"later", "Later", "Never replies.", false, NULL}};

struct serving {
    struct mcp_server server;
    size_t calls, cancelled;
};

static void take_call(void *self, const struct mcp_call *call, size_t tool, struct json_value arguments,
                      struct buf *out)
{
    struct serving *serving = self;
    struct arena arena = {0};
    serving->calls++;
    check(call->id && tool < array_len(tools) && (!arguments.size || *arguments.at == '{'));
    if (tool == 0)
        mcp_reply(&serving->server, call,
                  arena_copy(&arena, arguments.size ? arguments.at : "", arguments.size), false, out);
    arena_free(&arena);
}

static void cancel_call(void *self, const char *id)
{
    struct serving *serving = self;
    serving->cancelled++;
    check(*id != '\0');
}

static void check_reply(const char *line, size_t size)
{
    struct json_value value;
    uint32_t ignored;
    check(json_read(line, size, &value) && *value.at == '{');
    for (size_t at = 0, length; at < size; at += length) {
        length = utf8_decode(line + at, size - at, &ignored);
        check(length > 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    enum { LONGEST = 65536 };
    if (size == 0 || size > LONGEST)
        return 0;
    struct serving serving = {.server = {.tools = tools,
                                         .tool_count = array_len(tools),
                                         .version = "1",
                                         .instructions = "none",
                                         .call = take_call,
                                         .cancel = cancel_call}};
    serving.server.self = &serving;
    const char *text = (const char *)bytes;
    for (size_t start = 0; start < size;) {
        const char *end = memchr(text + start, '\n', size - start);
        size_t length = end ? (size_t)(end - text) - start : size - start;
        auto_buf struct buf out = {0};
        /* A copy of its own, so that a read behind the line is seen. */
        struct arena arena = {0};
        mcp_take(&serving.server, arena_copy(&arena, text + start, length), length, &out);
        arena_free(&arena);
        check(!out.size || memchr(out.bytes, '\n', out.size) == out.bytes + out.size - 1);
        if (out.size)
            check_reply(out.bytes, out.size - 1);
        start += length + 1;
    }
    return 0;
}
