"""The agents that npm can install, and how each is pointed at the scripted model. Versions are fixed, so that a test that
passed yesterday tests the same today: with BAWN_AGENTS_LATEST=1 the newest are taken instead."""
import dataclasses
import json

PROMPT = "Carry out the plan step by step with your tools, and stop when it is done."
KEY = "sk-test-not-a-secret"


def write(home, path, content):
    target = home / path
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(content if isinstance(content, str) else json.dumps(content))


@dataclasses.dataclass
class Agent:
    name: str
    package: str
    version: str
    command: str = ""
    variables: tuple = ()  # "NAME=value with {url}"
    words: tuple = ()
    files: dict = dataclasses.field(default_factory=dict)  # in the home; values as text or JSON, with {url}
    first: tuple = ()  # a command before the first run: a login
    instructions: str = ""  # the file with the user's own, which the model must be told
    live: str = ""  # what of its state is the host's own: this workspace's history. With {slug}
    strange: str = ""  # a transcript of another project's, which must not be seen
    login_page: str = ""  # the beginning of the page that its login opens
    login: str = ""  # the file that is kept the same on both sides
    servers: tuple = ()  # words that make it take the MCP servers of a project's .mcp.json
    sandbox_settings: tuple = ()  # a file of the user's, and the text in it that turns its own sandbox on
    asks: bool = False  # its profile hands it the tools of `bawn mcp`
    own_sandbox: bool = False  # which can be asked for with --sandbox
    briefed: bool = False  # its profile tells it where it is
    account: bool = False  # models answer only through its own server: all that can be seen is that it starts
    hides_git_settings: bool = False  # all but the repository's own, from the commands that it runs: with bawn or without
    editor: tuple = ()  # words that make it speak the Agent Client Protocol
    editor_writes: bool = False  # by that protocol it lets the editor write its files, if that offers it
    machines: tuple = ("aarch64", "x86_64")  # that npm has it for

    def program(self):
        return self.command or self.name

    def environment(self, url):
        return dict(pair.format(url=url).split("=", 1) for pair in self.variables)

    def arguments(self, url):
        return [word.replace("{url}", url).replace("{prompt}", PROMPT) for word in self.words]

    def prepare(self, home, url):
        for path, content in self.files.items():
            text = content if isinstance(content, str) else json.dumps(content)
            write(home, path, text.replace("{url}", url))


def openai_provider(url="{url}/v1"):
    return {"npm": "@ai-sdk/openai-compatible", "name": "scripted", "options": {"baseURL": url, "apiKey": KEY},
            "models": {"scripted": {"name": "scripted", "tool_call": True}}}


CODEX_PROVIDER = ("-c", "model_provider=mock", "-c", "model=gpt-5.5", "-c", "model_providers.mock.name=mock",
                  "-c", "model_providers.mock.base_url={url}/v1", "-c", "model_providers.mock.env_key=OPENAI_API_KEY",
                  "-c", "model_providers.mock.wire_api=responses")

AGENTS = [
    Agent("claude", "@anthropic-ai/claude-code", "2.1.325",
          variables=("ANTHROPIC_BASE_URL={url}", f"ANTHROPIC_API_KEY={KEY}"),
          words=("-p", "{prompt}", "--dangerously-skip-permissions"),
          servers=("--mcp-config", ".mcp.json"), sandbox_settings=(".claude/settings.json", '{"sandbox":{"enabled":true}}'),
          asks=True, briefed=True, instructions=".claude/CLAUDE.md", live=".claude/projects/{slug}", strange=".claude/projects/-other/one.jsonl",
          login=".claude/.credentials.json", login_page="https://claude.com/"),
    Agent("codex", "@openai/codex", "0.166.0",
          variables=(f"OPENAI_API_KEY={KEY}",),
          words=("exec", *CODEX_PROVIDER, "{prompt}"),  # as it is: bawn turns its own sandbox off
          asks=True, briefed=True, own_sandbox=True, instructions=".codex/AGENTS.md", strange=".codex/sessions/2026/01/01/rollout-other.jsonl",
          login=".codex/auth.json", login_page="https://auth.openai.com/"),
    Agent("opencode", "opencode-ai", "1.18.18",
          words=("run", "-m", "mock/scripted", "{prompt}"),
          files={".config/opencode/opencode.json": {
              "permission": "allow", "provider": {"mock": openai_provider()}, "model": "mock/scripted"}},
          asks=True, briefed=True, instructions=".config/opencode/AGENTS.md", strange=".local/share/opencode/storage/session/other.json"),
    Agent("gemini", "@google/gemini-cli", "0.61.0",
          variables=(f"GEMINI_API_KEY={KEY}", "GOOGLE_GEMINI_BASE_URL={url}", "GEMINI_CLI_TRUST_WORKSPACE=true",
                     "GEMINI_MODEL=gemini-2.5-pro"),
          words=("--yolo", "-p", "{prompt}"),
          files={".gemini/settings.json": {"security": {"auth": {"selectedType": "gemini-api-key"}}}},
          instructions=".gemini/GEMINI.md", strange=".gemini/tmp/other/logs.json", login=".gemini/oauth_creds.json",
          hides_git_settings=True, editor=("--acp",), editor_writes=True),
    Agent("qwen", "@qwen-code/qwen-code", "0.24.4",
          variables=(f"OPENAI_API_KEY={KEY}", "OPENAI_BASE_URL={url}/v1", "OPENAI_MODEL=scripted"),
          words=("--auth-type", "openai", "--yolo", "-p", "{prompt}"),
          briefed=True, instructions=".qwen/QWEN.md", live=".qwen/projects/{slug}", strange=".qwen/projects/-other/chats/one.jsonl",
          editor=("--acp",)),
    Agent("pi", "@earendil-works/pi-coding-agent", "0.87.1",
          words=("--provider", "mock", "--model", "scripted", "-p", "{prompt}"),
          files={".pi/agent/models.json": {"providers": {"mock": {
              "baseUrl": "{url}/v1", "api": "openai-completions", "apiKey": KEY, "models": [{"id": "scripted"}]}}}},
          briefed=True, instructions=".pi/agent/AGENTS.md", strange=".pi/agent/sessions/--other--/one.jsonl"),
    Agent("copilot", "@github/copilot", "1.0.102",
          variables=("COPILOT_PROVIDER_BASE_URL={url}/v1", "COPILOT_PROVIDER_TYPE=openai",
                     f"COPILOT_PROVIDER_API_KEY={KEY}", "COPILOT_MODEL=scripted"),
          words=("-p", "{prompt}", "--allow-all"),
          instructions=".copilot/copilot-instructions.md", strange=".copilot/session-state/other/events.jsonl",
          editor=("--acp",)),
    Agent("continue", "@continuedev/cli", "1.5.47", command="cn",
          words=("--auto", "-p", "{prompt}"),
          files={".continue/config.yaml": (
              "name: test\nversion: 1.0.0\nschema: v1\nmodels:\n  - name: scripted\n    provider: openai\n"
              f"    model: scripted\n    apiBase: {{url}}/v1\n    apiKey: {KEY}\n    roles: [chat]\n"
              "    capabilities: [tool_use]\n")},
          briefed=True, instructions=".continue/rules/house.md", strange=".continue/sessions/other.json", login=".continue/auth.json"),
    Agent("cline", "cline", "2.18.0",
          first=("auth", "-p", "openai", "-k", KEY, "-m", "gpt-5", "-b", "{url}/v1"),
          words=("-y", "{prompt}"),
          instructions="Cline/Rules/rule.md", strange=".cline/data/tasks/1/api_conversation_history.json"),
    Agent("auggie", "@augmentcode/auggie", "0.36.0", words=("--version",), account=True),
    Agent("kilo", "@kilocode/cli", "7.7.7", machines=("x86_64",), words=("run", "-m", "mock/scripted", "{prompt}"),
          files={".config/kilo/kilo.json": {
              "permission": "allow", "provider": {"mock": openai_provider()}, "model": "mock/scripted"}},
          instructions=".config/kilo/AGENTS.md", strange=".local/share/kilo/storage/session/other.json"),
]

# Profiles whose agents npm cannot bring, and why. They are counted as skipped.
UNTRIED = {
    "aider": "it is not on npm", "amp": "npm has only a loader", "crush": "npm has only a loader",
    "cursor": "it is not on npm", "droid": "npm has only a loader", "goose": "it is not on npm",
}
