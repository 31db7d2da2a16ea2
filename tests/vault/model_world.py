"""The model of tests/agents behind the addresses that agents use by themselves. Which steps it has is read from a file, so that each test
can say them."""
import json

import model
import world

HOSTS = ("api.anthropic.com", "api.openai.com", "chatgpt.com", "generativelanguage.googleapis.com",
         "cloudcode-pa.googleapis.com", "dashscope.aliyuncs.com", "api.github.com", "api.githubcopilot.com", "api.individual.githubcopilot.com")
LOGIN_HOSTS = ("platform.claude.com", "auth.openai.com", "oauth2.googleapis.com")
MODELS = {}


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
            method = self.path.partition("/v1internal:")[2]
            if not method or "enerateContent" in method:
                return super().do_POST()
            self.body()  # what gemini asks of an account: its plan and its project
            return self.reply({"currentTier": {"id": "standard-tier"}, "cloudaicompanionProject": "project-1"} if method == "loadCodeAssist" else {})

        def do_GET(self):
            if self.path == "/backend-api/wham/accounts/check":  # which host codex's account is served by
                account = {"id": "account-1", "workspace_backend_origin": "NO_CONSTRAINT", "account_routing_override": "NO_CONSTRAINT"}
                return self.reply({"accounts": [account], "account_ordering": ["account-1"]})
            if "upgrade" not in headers:
                return super().do_GET()
            self.send_response(426)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return None

    handler.__class__ = Handler
