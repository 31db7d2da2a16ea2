/*
 * A server of the Model Context Protocol (MCP) that has tools and nothing else.
 *
 * Theory of operation
 *
 * The client writes one JSON-RPC 2.0 message a line. mcp_take() reads a line and adds what the server replies to a buffer, a line for each
 * reply. A call of a tool is carried out by the owner of the server, who replies at once or later with mcp_reply().
 *
 *   1. A line is any bytes. What is not exactly one message is refused with an error, and changes nothing: no member stands twice, an
 *      identifier is a string or an integer, a batch is no message.
 *   2. Each request gets exactly one reply. A notification gets none, nor does a request that was cancelled.
 *   3. There is no state. Clients of 2026-07-28 and later name their revision in each request (`_meta`), and get the members that this
 *      revision demands. Clients of earlier revisions begin with `initialize`, and are served as these demand.
 *   4. A reply is valid UTF-8 on one line, whatever the text of a tool has in it.
 *
 * This room opens nothing and waits for nothing: cli/cmd_mcp.c has the streams and the tools.
 */
#pragma once

#include "base/json.h"

enum { MCP_LINE_LARGEST = 1024 * 1024 };

struct mcp_tool {
    const char *name, *title, *description;
    bool is_read_only; /* a call changes nothing */
    void (*add_schema)(
        struct json *json); /* the members of its argument's schema: "properties", "required" */
};

/* A call that waits for its reply. */
struct mcp_call {
    const char *id; /* as JSON */
    bool is_modern; /* the client's revision is 2026-07-28 or later */
};

struct mcp_server {
    const struct mcp_tool *tools;
    size_t tool_count;
    const char *version;      /* of the program */
    const char *instructions; /* for the model */
    /* Carries a call out. The arguments are an object, or have no bytes. What it replies is added to `out`, now or later. */
    void (*call)(void *self, const struct mcp_call *call, size_t tool, struct json_value arguments,
                 struct buf *out);
    /* The client does not wait for this call any more. */
    void (*cancel)(void *self, const char *id);
    void *self;
};

/* Takes one line without its end. */
void mcp_take(const struct mcp_server *server, const char *line, size_t size, struct buf *out);

/* The error for a line that is longer than MCP_LINE_LARGEST. */
void mcp_refuse_line(struct buf *out);

/* Replies to a call with a text for the model. `is_error`: the tool could not do what it was asked for. */
void mcp_reply(const struct mcp_server *server, const struct mcp_call *call, const char *text, bool is_error,
               struct buf *out);

/* --- message.c --- */

enum mcp_kind { MCP_INVALID, MCP_REQUEST, MCP_NOTIFICATION, MCP_RESPONSE };

struct mcp_message {
    enum mcp_kind kind;
    const char *id;           /* as JSON; NULL: none that could be read */
    const char *method;       /* NULL in a response */
    struct json_value params; /* an object, or no bytes */
    int error;                /* of MCP_INVALID: a code of JSON-RPC … */
    const char *problem;      /* … and a sentence */
};

struct mcp_message mcp_read(struct arena *arena, const char *line, size_t size);

/* The member of an object, or a value without bytes. */
struct json_value mcp_member(struct json_value object, const char *name);
bool mcp_is_object(struct json_value value);

/* An identifier as JSON, or NULL: it is neither a string nor an integer, or too long. */
const char *mcp_identifier(struct arena *arena, struct json_value value);
