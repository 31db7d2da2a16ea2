"""Real agents with a key that stays outside, at the addresses that they use by themselves. tests/agents installs them and has their model.
With BAWN_ALL_AGENTS=1 all agents are tried whose profile keeps a key outside, not only two."""
import json
import os
import pathlib

import catalogue
import lab as labs
import login_world
import model_world
from session import Skip

TESTS = []
CACHE = pathlib.Path(os.environ.get("BAWN_AGENTS_CACHE", "/var/cache/bawn-tests/agents"))
KEY = "sk-ant-api03-An-Agents-R3al-Key_0123456789abcdefghijklm"

# Looks for a text in the environment, in files, and in the memory of every process; prints where it is. The text is in two halves, so that
# neither this file nor its command line has it.
SEARCH = '''
import os, pathlib
DECOYS = (".ssh", ".aws", ".gnupg", ".password-store", "google-chrome", ".mozilla")
BLOCK = 1 << 21
text = b"%s" + b"%s"
found = set()
for name, value in os.environb.items():
    if text in value: found.add("environment")
for process in pathlib.Path("/proc").glob("[0-9]*"):
    if process.name == str(os.getpid()): continue
    try:
        if text in (process / "environ").read_bytes(): found.add("environ of a process")
        with open(process / "mem", "rb", 0) as memory, open(process / "pagemap", "rb", 0) as pages:
            for line in (process / "maps").read_text().splitlines():
                begin, end = (int(word, 16) for word in line.split()[0].split("-"))
                if line.split()[1][0] != "r" or "[v" in line: continue
                for at in range(begin, end, BLOCK):
                    size = min(BLOCK, end - at)
                    try:
                        pages.seek(at // 4096 * 8)
                        if max(pages.read(size // 4096 * 8)[7::8], default=0) < 0x40: continue  # none is in memory or swap
                        memory.seek(at)
                        piece = memory.read(size + 4096)
                    except (OSError, ValueError, OverflowError): continue
                    if text in piece: found.add("memory of a process")
    except OSError: pass
for top in (os.environ["HOME"], "/tmp", "/run", "/etc", "/dev/shm"):
    for folder, folders, names in os.walk(top):
        folders[:] = [name for name in folders if name not in DECOYS]
        for name in names:
            path = pathlib.Path(folder, name)
            try:
                if path.is_file() and path.stat().st_size < 1 << 26 and text in path.read_bytes(): found.add("a file")
            except OSError: pass
print("found", sorted(found), "searched")
'''


def place(agent, session, text=KEY):
    """Installs the agent as npm would, and gives it its script. Returns the caller's environment."""
    home = session.home
    node, folder = (CACHE / f"{package.replace('/', '+')}-{version}" for package, version in (("node", "22.23.3"), (agent.package, agent.version)))
    if not (node.is_dir() and folder.is_dir()):
        raise Skip(f"{agent.name} was not tried: {os.environ.get('BAWN_AGENTS_LACK', 'it is not installed')}")
    (home / ".npm-global").symlink_to(folder)
    (home / ".nvm").symlink_to(node)
    half = len(text) // 2
    (session.work / "search.py").write_text(SEARCH % (text[:half], text[half:]))
    steps = [("Write", str(session.work / "hello.py"), 'print("hello from " + "inside")\n'),
             ("Run", "python3 hello.py >hello; python3 search.py >found 2>&1; cat found")]
    (session.lab.folder / "script").write_text(json.dumps([*steps, ("Run", f"echo {session.home.name}")]))
    session.lab.take()
    return {"SSL_CERT_FILE": str(session.work / "cert.pem"), "USER": "test", "SHELL": "/bin/bash", "TERM": "xterm-256color",
            "PATH": f"{home}/.npm-global/bin:{home}/.nvm/bin:/usr/local/bin:/usr/bin:/bin"}


def work(session, name, words, key=None, rules=(), more=None, files=None, text=KEY):
    """The task. Returns what the search inside has found, and what the world has seen."""
    agent = next(agent for agent in catalogue.AGENTS if agent.name == name)
    environment = {**place(agent, session, text), **({key: text} if key else {}), **(more or {})}
    for path, content in (files or {}).items():
        catalogue.write(session.home, path, content)
    done = session.run(rules, agent.program(), *[word.replace("{prompt}", catalogue.PROMPT) for word in words], env=environment, timeout=200)
    asked = session.lab.take()
    found = session.work / "found"
    assert found.exists(), (done, [event[:4] for event in asked])
    assert (session.work / "hello").read_text() == "hello from inside\n", done
    assert found.read_text().endswith("searched\n"), found.read_text()
    return done, found.read_text(), asked


def carried(asked, header):
    return {(event[1], event[4][header].replace("bearer ", "Bearer ")) for event in asked if event[0] == "asked" and header in event[4]}


def finishes_with_nothing_inside(session, name, words, key, hosts, header, value, **more):
    """The key is in the variable, or in one of the files."""
    done, found, asked = work(session, name, words, key, **more)
    assert "The work is done" in done.out, done
    assert found == "found [] searched\n", found
    assert session.events("leak") == [], session.events("leak")  # its own requests have placeholders, which look like keys
    assert carried(asked, header) == {(host, value) for host in hosts.split()}, carried(asked, header)
    assert more.get("text", KEY) not in done.out + done.err
    # The control: the same search in the same sandbox finds the key of the way back.
    control = session.run([f"agent {name}", "secrets inside"], "sh", "-c", "python3 search.py; true", env={**({key: more.get("text", KEY)} if key else {}), **(more.get("more") or {})})
    places = ["environ of a process", "environment", "memory of a process"] if key else ["a file"]
    assert control.out == f"found {places} searched\n", control


def test(name, words, key, hosts, header, value=KEY, **more):
    def run(session):
        finishes_with_nothing_inside(session, name, words, key, hosts, header, value, **more)

    run.__name__ = f"{name}_finishes_its_task_with_its_key_outside"
    if name in ("claude", "codex") or os.environ.get("BAWN_ALL_AGENTS"):
        TESTS.append(run)


MARK = "/+token-0123456789abcdefghij"  # in every token of the world's server of logins


def with_login(name, words, path, login, hosts, files=None, mark=MARK, which="its login", folder=None, **more):
    """A login that has run out: the agent refreshes it, and works with the new token."""

    def run(session):
        own = {"more": {folder: str((session.home / path).parent)}} if folder else more
        done, found, seen = work(session, name, words, files={path: login, **(files or {})}, text=mark, **own)
        assert "The work is done" in done.out and found == "found [] searched\n", (done, found)
        assert session.events("leak") == [], session.events("leak")
        [issued] = [event[1] for event in seen if event[0] == "issued"]
        bearers = carried(seen, "authorization")
        assert (hosts, f"Bearer {issued['access_token']}") in bearers, bearers
        assert all(token in (session.home / path).read_text() for token in issued.values()) and mark not in done.out + done.err
        control = session.run([f"agent {name}", "secrets inside"], "sh", "-c", "python3 search.py; true", env=own.get("more"))
        assert "a file" in control.out, control

    run.__name__ = f"{name}_finishes_its_task_with_{which}_outside".replace(" ", "_")
    if name in ("claude", "codex") or os.environ.get("BAWN_ALL_AGENTS"):
        TESTS.append(run)


PROMPT = "{prompt}"
for folder, more in ((".claude", {}), (".claude-work", {"which": "the login of CLAUDE_CONFIG_DIR", "folder": "CLAUDE_CONFIG_DIR"})):
    with_login("claude", ("-p", PROMPT, "--dangerously-skip-permissions"), f"{folder}/.credentials.json",
               {"claudeAiOauth": {"accessToken": f"sk-ant-oat01-start-{MARK}", "refreshToken": f"sk-ant-ort01-start-{folder[1:]}{MARK}", "expiresAt": 1600000000000,
                                  "scopes": ["user:inference", "user:profile"], "subscriptionType": "max"}}, "api.anthropic.com", **more)
with_login("codex", ("exec", "--skip-git-repo-check", "-c", "model=gpt-5.5", "-c", "features.enable_request_compression=false", PROMPT), ".codex/auth.json",
           {"OPENAI_API_KEY": None, "last_refresh": "2020-01-01T00:00:00.000000Z",
            "tokens": {"id_token": login_world.jwt({"email": "me@example.com", "https://api.openai.com/auth": {
                "chatgpt_plan_type": "pro", "chatgpt_account_id": "account-1"}}),
                       "access_token": f"start-{MARK}", "refresh_token": f"sk-ant-ort01-start-codex{MARK}", "account_id": "account-1"}}, "chatgpt.com")
GEMINI = {"GEMINI_CLI_TRUST_WORKSPACE": "true", "GEMINI_MODEL": "gemini-2.5-pro"}
with_login("gemini", ("--yolo", "-p", PROMPT), ".gemini/oauth_creds.json",
           {"access_token": f"ya29.start-{MARK}", "refresh_token": f"1//start-gemini{MARK}", "scope": "cloud-platform", "token_type": "Bearer",
            "expiry_date": 1600000000000}, "cloudcode-pa.googleapis.com", more=GEMINI,
           files={".gemini/settings.json": {"security": {"auth": {"selectedType": "oauth-personal"}}}, ".gemini/google_accounts.json": {"active": "me@example.com", "old": []}})
with_login("pi", ("--provider", "anthropic", "--model", "claude-sonnet-4-5", "-p", PROMPT), ".pi/agent/auth.json",
           {"anthropic": {"type": "oauth", "access": f"sk-ant-oat01-start-{MARK}", "refresh": f"sk-ant-ort01-start-pi{MARK}", "expires": 1600000000000},
            "openai-codex": {"type": "oauth", "access": f"start-{MARK}", "refresh": f"rt_start-pi{MARK}", "expires": 1600000000000, "accountId": "account-1"},
            "openrouter": {"type": "api_key", "key": f"sk-or-v1-{MARK}"}}, "api.anthropic.com")
with_login("pi", ("--provider", "openai-codex", "--model", "gpt-5.5", "-p", PROMPT), ".pi/agent/auth.json",
           {"openai-codex": {"type": "oauth", "access": login_world.jwt({"https://api.openai.com/auth": {"chatgpt_account_id": "account-1"}}),
                             "refresh": f"rt_start-pi{login_world.SIGNATURE}", "expires": 1600000000000, "accountId": "account-1"}},
           "chatgpt.com", mark=login_world.SIGNATURE, which="a login for ChatGPT")
test("claude", ("-p", PROMPT, "--dangerously-skip-permissions"), "ANTHROPIC_API_KEY", "api.anthropic.com", "x-api-key")
test("codex", ("exec", "--skip-git-repo-check", "-c", "model=gpt-5.5", PROMPT), "CODEX_API_KEY", "api.openai.com chatgpt.com", "authorization", f"Bearer {KEY}")
GOOGLE = "generativelanguage.googleapis.com"
test("gemini", ("--yolo", "-p", PROMPT), "GEMINI_API_KEY", GOOGLE, "x-goog-api-key",
     more=GEMINI,
     files={".gemini/settings.json": {"security": {"auth": {"selectedType": "gemini-api-key"}}}})
test("pi", ("--provider", "anthropic", "--model", "claude-sonnet-4-5", "-p", PROMPT), "ANTHROPIC_API_KEY", "api.anthropic.com", "x-api-key")
test("continue", ("--auto", "-p", PROMPT), "ANTHROPIC_API_KEY", "api.anthropic.com", "x-api-key",
     files={".continue/config.yaml": "name: test\nversion: 1.0.0\nschema: v1\nmodels:\n  - name: c\n    provider: anthropic\n"
            "    model: claude-sonnet-4-5\n    apiKey: ${{ secrets.ANTHROPIC_API_KEY }}\n    roles: [chat]\n    capabilities: [tool_use]\n"})
test("opencode", ("run", "-m", "anthropic/claude-sonnet-4-5", PROMPT), "ANTHROPIC_API_KEY", "api.anthropic.com", "x-api-key",
     files={".config/opencode/opencode.json": {"permission": "allow"}})
test("kilo", ("run", "-m", "anthropic/claude-sonnet-4-5", PROMPT), "ANTHROPIC_API_KEY", "api.anthropic.com", "x-api-key",
     files={".config/kilo/kilo.json": {"permission": "allow"}})
test("qwen", ("--auth-type", "openai", "--yolo", "-p", PROMPT), "OPENAI_API_KEY", "dashscope.aliyuncs.com", "authorization", f"Bearer {KEY}",
     more={"OPENAI_BASE_URL": "https://dashscope.aliyuncs.com/compatible-mode/v1", "OPENAI_MODEL": "qwen3-coder-plus"})
test("cline", ("-y", PROMPT), None, "api.anthropic.com", "x-api-key",
     files={".cline/data/secrets.json": {"apiKey": KEY}, ".cline/data/globalState.json": {
         "welcomeViewCompleted": True, **{f"{mode}ModeApi{what}": value for mode in ("act", "plan") for what, value in (
             ("Provider", "anthropic"), ("ModelId", "claude-sonnet-4-5-20250929"))}}})
TOKEN = "gho_An0Agents0R3al0Token0123456789abcdef"  # it takes no other kind
test("copilot", ("-p", PROMPT, "--allow-all"), "COPILOT_GITHUB_TOKEN", "api.github.com api.individual.githubcopilot.com", "authorization",
     f"Bearer {TOKEN}", text=TOKEN, rules=["connect api.github.com/copilot_internal/** GET"])
with_login("opencode", ("run", "-m", "openai/gpt-5.5", PROMPT), ".local/share/opencode/auth.json",
           {"openai": {"type": "oauth", "access": login_world.jwt({"https://api.openai.com/auth": {"chatgpt_account_id": "account-1"}}),
                       "refresh": f"rt_start-opencode{login_world.SIGNATURE}", "expires": 1600000000000, "accountId": "account-1"}},
           "chatgpt.com", mark=login_world.SIGNATURE, files={".config/opencode/opencode.json": {"permission": "allow"}})
