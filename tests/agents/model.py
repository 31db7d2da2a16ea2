"""A model that follows a script: it answers each request of an agent with the next tool call of a list, and remembers what
it was told.

It speaks Anthropic's Messages, OpenAI's Chat Completions and Responses, and Gemini's generateContent, streaming or not, on
127.0.0.1. Which step comes next is read from the request itself (how many tools have answered so far), so that requests
beside the conversation (titles, summaries) disturb nothing: those offer no tool to run a command with, and get a word.

    model = Model([Run("ls"), Write("/work/x", "text")])
    model.port, model.told          # what the tools answered, one text a step
"""
import dataclasses
import gzip
import http.server
import json
import subprocess
import threading

FAREWELL = "The work is done."


@dataclasses.dataclass
class Run:
    command: str


@dataclasses.dataclass
class Write:
    path: str
    content: str


@dataclasses.dataclass
class Find:
    """The tools of an MCP server, which agents show a model only when it looks for them."""
    server: str
    tools: tuple


@dataclasses.dataclass
class Use:
    """A tool of an MCP server, by its own name: agents put the server's before it."""
    server: str
    tool: str
    arguments: dict


# The tools of the agents, and what their arguments are called.
SHELLS = ("bash", "shell", "exec_command", "shell_command", "run_shell_command", "run_terminal_command", "execute_command",
          "execute", "launch-process", "terminal", "run_commands", "shell_exec")
WRITERS = ("write", "write_file", "create", "create_file", "write_to_file", "save-file", "writefile", "editor", "apply_patch")
ENDINGS = ("attempt_completion", "task_complete", "submit_and_exit")
COMMANDS = ("command", "cmd", "commands", "script")
PATHS = ("file_path", "filePath", "filepath", "path", "absolute_path", "absolutePath", "filename")
CONTENTS = ("content", "file_text", "contents", "file_content", "text", "new_text")


@dataclasses.dataclass
class Tool:
    name: str
    schema: dict
    freeform: bool = False


@dataclasses.dataclass
class Call:
    name: str
    arguments: dict
    freeform: str | None = None  # in the place of arguments

    def text(self):
        return json.dumps(self.arguments)


@dataclasses.dataclass
class Asked:
    """What of a request counts, whichever protocol it came by."""

    tools: list
    results: list
    streams: bool


def find_tool(tools, names):
    by_name = {tool.name.lower(): tool for tool in tools}
    return next((by_name[name] for name in names if name in by_name), None)


def fill(schema, known):
    """Arguments for a tool: what is known, by whichever name, and something for whatever else is required."""
    properties = schema.get("properties", {})
    arguments = {}
    for names, value in known:
        name = next((name for name in names if name in properties), None)
        if name:
            arguments[name] = as_type(properties[name], value)
    for name in schema.get("required", []):
        if name not in arguments:
            arguments[name] = something(properties.get(name, {}))
    return arguments


def as_type(schema, value):
    if kind_of(schema) != "array":
        return value
    if kind_of(schema.get("items", {})) == "object":
        return [fill(schema["items"], [(COMMANDS, value)])]
    return [value]


def kind_of(schema):
    kind = schema.get("type", "string")
    kind = kind[0] if isinstance(kind, list) else kind
    for choice in schema.get("anyOf", ()):
        kind = choice.get("type", kind) if choice.get("type") != "null" else kind
    return str(kind).lower()


def something(schema):
    if schema.get("enum"):
        return schema["enum"][0]
    return {"boolean": False, "number": 60, "integer": 60, "array": [], "object": {}}.get(kind_of(schema), "scripted")


def patch_of(step):
    lines = "".join(f"+{line}\n" for line in step.content.splitlines())
    return f"*** Begin Patch\n*** Add File: {step.path}\n{lines}*** End Patch\n"


def name_of(tools, server, tool):
    """What an agent calls a tool of a server: claude and codex mcp__bawn__ask, opencode bawn_ask, gemini mcp_bawn_ask. The first, where it is not shown."""
    names = {tool.name for tool in tools}
    ways = [f"mcp__{server}__{tool}", f"{server}_{tool}", f"mcp_{server}_{tool}", f"{server}__{tool}"]
    return next((way for way in ways if way in names), ways[0])


def call_for(step, tools):
    """The tool call that carries out a step, or None where no tool could."""
    if isinstance(step, Find) and not find_tool(tools, ("toolsearch", "tool_search")):
        return Call(name_of(tools, step.server, "policy"), {})  # they are shown without a search
    if isinstance(step, Find):
        names = ",".join(f"mcp__{step.server}__{tool}" for tool in step.tools)
        search = find_tool(tools, ("toolsearch", "tool_search"))
        return Call(search.name, {"query": f"select:{names}" if search.name == "ToolSearch" else f"{step.server} {' '.join(step.tools)}"})
    if isinstance(step, Use):
        return Call(name_of(tools, step.server, step.tool), step.arguments)
    if isinstance(step, Write):
        tool = find_tool(tools, WRITERS)
        if tool and tool.name == "apply_patch":
            patch = patch_of(step)
            return Call(tool.name, fill(tool.schema, [(("patchText", "patch", "input"), patch)]), patch)
        if tool:
            return Call(tool.name, fill(tool.schema, [(PATHS, step.path), (CONTENTS, step.content),
                                                      (("command", "operation"), "create")]))
        quoted = step.content.replace("'", "'\\''")
        step = Run(f"printf %s '{quoted}' > '{step.path}'")
    tool = find_tool(tools, SHELLS)
    if not tool:
        return None
    command = step.command
    properties = tool.schema.get("properties", {})
    name = next((name for name in COMMANDS if name in properties), "")
    if tool.name in ("shell", "local_shell") and kind_of(properties.get(name, {})) == "array":
        return Call(tool.name, {name: ["bash", "-c", command]})
    return Call(tool.name, fill(tool.schema, [(COMMANDS, command), (("timeout", "timeout_ms"), 60000),
                                              (("yield_time_ms",), 20000), (("cwd",), ".")]))


def plain(content):
    """The text of a tool's answer, in whatever it is wrapped."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(plain(part) for part in content)
    if isinstance(content, dict):
        return plain(content["text"]) if isinstance(content.get("text"), str) else json.dumps(content)
    return "" if content is None else json.dumps(content)


class Anthropic:
    @staticmethod
    def read(body, _):
        results = []
        for message in body.get("messages", []):
            parts = message["content"] if isinstance(message["content"], list) else []
            results += [plain(part.get("content")) for part in parts if part.get("type") == "tool_result"]
        tools = [Tool(tool["name"], tool.get("input_schema", {})) for tool in body.get("tools", []) if "name" in tool]
        return Asked(tools, results, bool(body.get("stream")))

    @staticmethod
    def message(call, number):
        block = {"type": "text", "text": call} if isinstance(call, str) else {
            "type": "tool_use", "id": f"toolu_{number:04}", "name": call.name, "input": call.arguments}
        return {"id": f"msg_{number}", "type": "message", "role": "assistant", "model": "scripted", "content": [block],
                "stop_reason": "end_turn" if isinstance(call, str) else "tool_use", "stop_sequence": None,
                "usage": {"input_tokens": 10, "output_tokens": 10}}

    @classmethod
    def whole(cls, call, number):
        return cls.message(call, number)

    @classmethod
    def stream(cls, call, number):
        message = cls.message(call, number)
        block = message["content"][0]
        empty = {**block, "text": ""} if isinstance(call, str) else {**block, "input": {}}
        delta = {"type": "text_delta", "text": call} if isinstance(call, str) else {
            "type": "input_json_delta", "partial_json": call.text()}
        start = {**message, "content": [], "stop_reason": None}
        for event in (
            {"type": "message_start", "message": start},
            {"type": "content_block_start", "index": 0, "content_block": empty},
            {"type": "content_block_delta", "index": 0, "delta": delta},
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": {"stop_reason": message["stop_reason"], "stop_sequence": None},
             "usage": {"output_tokens": 10}},
            {"type": "message_stop"},
        ):
            yield f"event: {event['type']}\ndata: {json.dumps(event)}\n\n"


class Chat:
    @staticmethod
    def read(body, _):
        results = []
        for message in body.get("messages", []):
            if message["role"] == "tool":
                results.append(plain(message.get("content")))
            elif message["role"] == "user" and results and results[-1] == "result missing":
                results[-1] = plain(message.get("content"))  # cline tells it in words of its own
        functions = [tool["function"] for tool in body.get("tools") or [] if "function" in tool]
        tools = [Tool(function["name"], function.get("parameters") or {}) for function in functions]
        return Asked(tools, results, bool(body.get("stream")))

    @staticmethod
    def parts(call, number):
        if isinstance(call, str):
            return {"role": "assistant", "content": call}, "stop"
        function = {"name": call.name, "arguments": call.text()}
        return {"role": "assistant", "content": None, "tool_calls": [
            {"index": 0, "id": f"call_{number:04}", "type": "function", "function": function}]}, "tool_calls"

    @classmethod
    def whole(cls, call, number):
        message, reason = cls.parts(call, number)
        return {"id": f"chat_{number}", "object": "chat.completion", "created": 1, "model": "scripted",
                "choices": [{"index": 0, "message": message, "finish_reason": reason}],
                "usage": {"prompt_tokens": 10, "completion_tokens": 10, "total_tokens": 20}}

    @classmethod
    def stream(cls, call, number):
        message, reason = cls.parts(call, number)
        frame = {"id": f"chat_{number}", "object": "chat.completion.chunk", "created": 1, "model": "scripted"}
        for choices, usage in (
            ([{"index": 0, "delta": message, "finish_reason": None}], None),
            ([{"index": 0, "delta": {}, "finish_reason": reason}], None),
            ([], {"prompt_tokens": 10, "completion_tokens": 10, "total_tokens": 20}),
        ):
            yield f"data: {json.dumps({**frame, 'choices': choices, **({'usage': usage} if usage else {})})}\n\n"
        yield "data: [DONE]\n\n"


class Responses:
    @staticmethod
    def read(body, _):
        items = body.get("input", [])
        results = [plain(item.get("output")) for item in items if isinstance(item, dict)
                   and item.get("type", "").endswith("_output")]
        tools = [Tool(tool.get("name", tool["type"]), tool.get("parameters") or {}, tool.get("type") == "custom")
                 for tool in body.get("tools") or []]
        return Asked(tools, results, bool(body.get("stream")))

    @staticmethod
    def item(call, number, tools):
        if isinstance(call, str):
            return {"type": "message", "id": f"msg_{number}", "role": "assistant", "status": "completed",
                    "content": [{"type": "output_text", "text": call, "annotations": []}]}
        if call.name == "tool_search":
            return {"type": "tool_search_call", "id": f"tsc_{number}", "call_id": f"call_{number:04}", "execution": "client",
                    "arguments": call.arguments, "status": "completed"}
        if call.freeform is not None and any(tool.name == call.name and tool.freeform for tool in tools):
            return {"type": "custom_tool_call", "id": f"ctc_{number}", "call_id": f"call_{number:04}", "name": call.name,
                    "input": call.freeform, "status": "completed"}
        space, _, name = call.name.rpartition("__")  # "mcp__bawn__ask"
        return {"type": "function_call", "id": f"fc_{number}", "call_id": f"call_{number:04}", "name": name,
                **({"namespace": space} if space else {}), "arguments": call.text(), "status": "completed"}

    @staticmethod
    def response(items, number, status="completed"):
        return {"id": f"resp_{number}", "object": "response", "created_at": 1, "status": status, "model": "scripted",
                "output": items, "parallel_tool_calls": False, "tool_choice": "auto", "tools": [], "error": None,
                "usage": {"input_tokens": 10, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": 10,
                          "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 20}}

    @classmethod
    def whole(cls, call, number, tools=()):
        return cls.response([cls.item(call, number, tools)], number)

    @classmethod
    def stream(cls, call, number, tools=()):
        item = cls.item(call, number, tools)
        at = {"output_index": 0, "item_id": item["id"]}
        events = [{"type": "response.created", "response": cls.response([], number, "in_progress")}]
        if isinstance(call, str):
            part = {"type": "output_text", "text": "", "annotations": []}
            events += [
                {"type": "response.output_item.added", "output_index": 0, "item": {**item, "content": []}},
                {"type": "response.content_part.added", **at, "content_index": 0, "part": part},
                {"type": "response.output_text.delta", **at, "content_index": 0, "delta": call},
                {"type": "response.output_text.done", **at, "content_index": 0, "text": call},
                {"type": "response.content_part.done", **at, "content_index": 0, "part": {**part, "text": call}},
            ]
        elif item["type"] == "function_call":
            events += [
                {"type": "response.output_item.added", "output_index": 0, "item": {**item, "arguments": ""}},
                {"type": "response.function_call_arguments.delta", **at, "delta": item["arguments"]},
                {"type": "response.function_call_arguments.done", **at, "arguments": item["arguments"]},
            ]
        else:
            events += [{"type": "response.output_item.added", "output_index": 0, "item": {**item, "input": ""}}]
        events += [{"type": "response.output_item.done", "output_index": 0, "item": item},
                   {"type": "response.completed", "response": cls.response([item], number)}]
        for sequence, event in enumerate(events):
            yield f"event: {event['type']}\ndata: {json.dumps({**event, 'sequence_number': sequence})}\n\n"


class Gemini:
    @staticmethod
    def read(body, path):
        results, tools = [], []
        for content in body.get("contents", []):
            results += [plain(part["functionResponse"].get("response", {}).get("output", part["functionResponse"]))
                        for part in content.get("parts", []) if "functionResponse" in part]
        for group in body.get("tools") or []:
            tools += [Tool(function["name"], function.get("parametersJsonSchema") or function.get("parameters") or {})
                      for function in group.get("functionDeclarations", [])]
        return Asked(tools, results, "streamGenerateContent" in path)

    @staticmethod
    def whole(call, number):
        part = {"text": call} if isinstance(call, str) else {
            "functionCall": {"id": f"call_{number:04}", "name": call.name, "args": call.arguments}}
        return {"candidates": [{"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}],
                "usageMetadata": {"promptTokenCount": 10, "candidatesTokenCount": 10, "totalTokenCount": 20},
                "modelVersion": "scripted", "responseId": str(number)}

    @classmethod
    def stream(cls, call, number):
        yield f"data: {json.dumps(cls.whole(call, number))}\n\n"


class CodeAssist(Gemini):
    """What gemini speaks with a login in the place of a key: the same, wrapped."""

    @staticmethod
    def read(body, path):
        return Gemini.read(body["request"], path)

    @staticmethod
    def whole(call, number):
        return {"response": Gemini.whole(call, number), "traceId": str(number)}


PROTOCOLS = (("/messages", Anthropic), ("/chat/completions", Chat), ("/responses", Responses), ("/v1internal:generateContent", CodeAssist),
             ("/v1internal:streamGenerateContent", CodeAssist), ("enerateContent", Gemini))


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request, client_address):
        """An agent that ends hangs up in the middle of things."""


class Model:
    def __init__(self, steps, log=None):
        self.steps, self.log = steps, log
        self.told, self.texts, self.strays = [], [], []
        self.asked, self.finished = threading.Event(), threading.Event()
        self.lock = threading.Lock()
        self.answers = 0
        self.server = Server(("127.0.0.1", 0), handler_of(self))
        self.port = self.server.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}"
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    def next(self, asked):
        """What the model says now: a text or a call."""
        with self.lock:
            self.answers += 1
            number = self.answers
            if not find_tool(asked.tools, SHELLS):
                return "scripted", number
            self.asked.set()
            if len(asked.results) >= len(self.told):
                self.told = asked.results
            if len(asked.results) < len(self.steps):
                return call_for(self.steps[len(asked.results)], asked.tools), number
            self.finished.set()
            ending = find_tool(asked.tools, ENDINGS)
            if ending and len(asked.results) == len(self.steps):
                return Call(ending.name, fill(ending.schema, [(("result", "summary"), FAREWELL)])), number
            return FAREWELL, number

    def saw(self, text):
        """Was this anywhere in what the agent sent?"""
        return any(text in sent for sent in self.texts)

    def note(self, method, path, body):
        with self.lock:
            self.texts.append(body)
            if self.log:
                with open(self.log, "a", encoding="utf-8") as file:
                    file.write(f"{method} {path}\n{body}\n\n")


def handler_of(model):
    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_):
            pass

        def reply(self, value, status=200):
            body = json.dumps(value).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def reply_stream(self, events):
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            for event in events:
                data = event.encode()
                self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
            self.wfile.write(b"0\r\n\r\n")

        def do_GET(self):
            model.note("GET", self.path, "")
            names = [{"id": name, "object": "model", "name": name, "type": "model", "display_name": name,
                      "created": 1, "owned_by": "test"} for name in ("scripted",)]
            self.reply({"object": "list", "data": names, "models": names, "has_more": False})

        def do_HEAD(self):
            self.reply({})

        def body(self):
            content, coding = self.content(), self.headers.get("Content-Encoding")
            if coding == "zstd":  # which Python does not have
                return subprocess.run(["zstd", "-dc"], input=content, capture_output=True, check=True).stdout
            return gzip.decompress(content) if coding == "gzip" else content

        def content(self):
            if self.headers.get("Transfer-Encoding", "").lower() != "chunked":
                return self.rfile.read(int(self.headers.get("Content-Length", 0)))
            parts = []
            while size := int(self.rfile.readline().split(b";")[0], 16):
                parts.append(self.rfile.read(size))
                self.rfile.readline()
            self.rfile.readline()
            return b"".join(parts)

        def do_POST(self):
            text = self.body().decode("utf-8", "replace")
            path = self.path.split("?")[0]
            model.note("POST", self.path, text)
            if path.endswith(("count_tokens", ":countTokens")):
                return self.reply({"input_tokens": 10, "totalTokens": 10})
            protocol = next((protocol for word, protocol in PROTOCOLS if word in path), None)
            if not protocol:
                model.strays.append(self.path)
                return self.reply({"error": {"message": "not part of the script", "type": "not_found"}}, 404)
            asked = protocol.read(json.loads(text), path)
            call, number = model.next(asked)
            more = {"tools": asked.tools} if protocol is Responses else {}
            if asked.streams:
                return self.reply_stream(protocol.stream(call, number, **more))
            return self.reply(protocol.whole(call, number, **more))

    return Handler


if __name__ == "__main__":  # by hand: tests/agents/model.py 'command' …
    import sys

    here = Model([Run(word) for word in sys.argv[1:]], log="/dev/stderr")
    print(here.url, flush=True)
    threading.Event().wait()
