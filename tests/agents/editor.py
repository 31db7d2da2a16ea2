"""Agents as an editor starts them: by the Agent Client Protocol (ACP), JSON-RPC 2.0 in lines over stdin and stdout."""
import json
import subprocess
import threading

import catalogue
import lab
import model
import scratch


class Editor:
    """The client's side of ACP: it answers what the agent asks, and writes files itself where it has offered that."""

    def __init__(self, trial, offers_files):
        words = [*trial.who.prefix, trial.bawn, *lab.WALLS, "--host-port", str(trial.model.port), "--", trial.agent.program(), *trial.agent.editor]
        self.child = subprocess.Popen(words, cwd=trial.project, env=trial.environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.errors = []
        threading.Thread(target=lambda: self.errors.extend(self.child.stderr), daemon=True).start()
        self.late = threading.Timer(lab.SECONDS, self.child.kill)
        self.late.start()
        self.trial, self.offers_files, self.number = trial, offers_files, 0
        self.strange, self.asked, self.said = [], [], ""

    def say(self, message):
        self.child.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        self.child.stdin.flush()

    def answer(self, method, params):
        """What the editor does for the agent, outside."""
        self.asked.append(method)
        if method == "session/request_permission":
            choice = next(option for option in params["options"] if option["kind"].startswith("allow"))
            return {"outcome": {"outcome": "selected", "optionId": choice["optionId"]}}
        if method == "fs/write_text_file" and self.offers_files:
            with open(params["path"], "w", encoding="utf-8") as file:
                file.write(params["content"])
            self.trial.who.own(params["path"])
        return {}

    def read(self, line):
        """The message in a line of the agent's stdout; {} where it is none of the protocol."""
        try:
            return json.loads(line)
        except ValueError:
            self.strange.append(line)
            return {}

    def call(self, method, params):
        """The result of a request; on the way, what the agent asks is answered."""
        self.number += 1
        self.say({"id": self.number, "method": method, "params": params})
        for line in self.child.stdout:
            message = self.read(line)
            if "method" in message and "id" in message:
                self.say({"id": message["id"], "result": self.answer(message["method"], message["params"])})
            elif "method" in message:
                update = message["params"].get("update", {})
                if update.get("sessionUpdate") == "agent_message_chunk":
                    self.said += update["content"].get("text", "")
            elif message.get("id") == self.number:
                assert "result" in message, (method, message, self.end())
                return message["result"]
        raise AssertionError(f"{method} was not answered: {self.end()}")

    def work(self):
        able = {"fs": {"readTextFile": False, "writeTextFile": self.offers_files}, "terminal": False}
        self.call("initialize", {"protocolVersion": 1, "clientCapabilities": able, "clientInfo": {"name": "test", "title": "Test", "version": "1"}})
        session = self.call("session/new", {"cwd": str(self.trial.project), "mcpServers": []})["sessionId"]
        return self.call("session/prompt", {"sessionId": session, "prompt": [{"type": "text", "text": catalogue.PROMPT}]})["stopReason"]

    def end(self):
        """The editor closes the agent's input, as when its window is closed. Returns the status and what was said on stderr."""
        self.child.stdin.close()
        for line in self.child.stdout:
            self.read(line)
        status = self.child.wait()
        self.late.cancel()
        return status, b"".join(self.errors).decode(errors="replace")[-900:]


def serve(agent, who, base, bawn, closed, offers_files=False):
    """The scripted task for an editor. Returns what it saw, and how the agent ended."""
    trial = lab.Trial(agent, who, base / f"editor-{'files' if offers_files else 'plain'}", bawn, closed)
    editor = Editor(trial, offers_files)
    reason = editor.work()
    ended = editor.end()
    trial.model.close()
    return trial, editor, reason, ended


def test_editor(trial, editor, reason, ended):
    """an editor starts it by ACP: it does its task and gets no further, only the protocol is on its stdout, and it ends with its input"""
    scratch.same((reason, editor.strange, ended[0]), ("end_turn", [], 0))
    assert "hello from inside" in trial.told(1) and model.FAREWELL in editor.said, (trial.told(1), editor.said, ended)
    scratch.same(trial.on_host("git", "log", "-1", "--format=%an <%ae> %s").stdout.strip(), "Test Person <person@example.test> Say hello")
    for attack, words, status in (("key", "No such file or directory", "1"), ("variable", "", "1"), ("host", "Could not resolve host", "6")):
        text, got = trial.outcome(attack)
        assert words in text and got == status, f"{attack}: status {got}, {text!r}"
    assert not trial.commit_runs_hook()


def test_editor_writes(_, editor, reason, ended):
    """what an editor offers to do for the agent, it does outside: bawn does not read what they say to each other"""
    assert reason == "end_turn" and "fs/write_text_file" in editor.asked, (reason, editor.asked, ended)
