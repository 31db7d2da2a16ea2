"""The model of tests/agents behind the addresses that agents use by themselves. Which steps it has is read from a file, so that each test
can say them."""
import json

import model
import world

HOSTS = ("api.anthropic.com", "api.openai.com", "chatgpt.com", "generativelanguage.googleapis.com",
         "cloudcode-pa.googleapis.com", "dashscope.aliyuncs.com", "api.github.com", "api.githubcopilot.com", "api.individual.githubcopilot.com")
LOGIN_HOSTS = ("platform.claude.com", "auth.openai.com", "oauth2.googleapis.com")
MODELS = {}

# What codex, gemini and copilot ask about an account.
ACCOUNT = {
    "/backend-api/wham/accounts/check": {"account_ordering": ["account-1"], "accounts": [
        {"id": "account-1", "workspace_backend_origin": "NO_CONSTRAINT", "account_routing_override": "NO_CONSTRAINT"}]},
    "/v1internal:loadCodeAssist": {"currentTier": {"id": "standard-tier"}, "cloudaicompanionProject": "project-1"},
    "/copilot_internal/user": {"login": "me", "chat_enabled": True, "copilot_plan": "individual",
                               "endpoints": {"api": "https://api.individual.githubcopilot.com"}},
    "/models": {"data": [{"id": name, "name": name, "vendor": "OpenAI", "version": name, "object": "model", "model_picker_enabled": True,
                          "policy": {"state": "enabled"}, "supported_endpoints": ["/chat/completions"], "capabilities": {
                              "family": name, "type": "chat", "object": "model_capabilities", "tokenizer": "o200k_base",
                              "limits": {"max_context_window_tokens": 128000, "max_output_tokens": 16384, "max_prompt_tokens": 111616},
                              "supports": {"streaming": True, "tool_calls": True}}} for name in ("claude-sonnet-4.5", "gpt-5-mini")]},
}


def current():
    """The model of the script that a test has written last."""
    text = (world.FOLDER / "script").read_text()
    if text not in MODELS:
        MODELS[text] = model.Model([getattr(model, kind)(*words) for kind, *words in json.loads(text)])
    return MODELS[text]


def take_over(handler):
    """Makes the handler of a request to one of the hosts the model's. What it carried is remembered."""
    headers = {name.lower(): value for name, value in handler.headers.items()}
    if headers.get("host") not in HOSTS or not (world.FOLDER / "script").exists():
        return
    world.saw("asked", headers["host"], handler.command, handler.path, headers)
    base = model.handler_of(current())

    class Handler(base):
        def do_POST(self):
            if not self.path.startswith("/v1internal:") or "enerateContent" in self.path:
                return super().do_POST()
            self.body()
            return self.reply(ACCOUNT.get(self.path, {}))

        def do_GET(self):
            if self.path in ACCOUNT:
                return self.reply(ACCOUNT[self.path])
            if "upgrade" not in headers:
                return super().do_GET()
            self.send_response(426)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return None

    handler.__class__ = Handler
