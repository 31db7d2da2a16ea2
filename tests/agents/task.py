"""The scripted task of tests/agents, and what must be seen of it: also in a container (tests/container)."""
import catalogue
import lab
import model
import scratch

NOT_THERE = "No such file or directory"


def said(done):
    return f"status {done.returncode}: {done.stdout[-700:]}\n{done.stderr[-1200:]}"


def test_task(trial, done):
    """It wrote a file with its own tool, ran it and committed it."""
    assert done.returncode == 0, said(done)
    scratch.same((trial.project / "hello.py").read_text().strip(), 'print("hello from " + "inside")')
    assert "hello from inside" in trial.told(1), f"the model was told: {trial.told(1)!r}"
    scratch.same(trial.on_host("git", "log", "-1", "--format=%an <%ae> %s").stdout.strip(),  "Test Person <person@example.test> Say hello")
    assert "Test Person <person@example.test>" in trial.told(1)
    assert model.FAREWELL in done.stdout, said(done)


def without_namespaces(agent, who, base, bawn, closed, flags=("--walls", "landlock")):
    """The task behind walls on Landlock alone."""
    trial = lab.Trial(agent, lab.Person(who.user, own_etc=True), base / "landlock", bawn, closed)
    done = trial.run(*agent.arguments(trial.model.url), flags=flags)
    trial.model.close()
    return trial, done


def test_without_namespaces(trial, done):
    """without namespaces it does its task, too, and gets no further than with them"""
    test_task(trial, done)
    for attack, words, status in (("key", NOT_THERE, "1"), ("dotenv", NOT_THERE, "1"), ("strange", NOT_THERE, "1"), ("variable", "", "1"),
                                  ("host", "Could not resolve host", "6"), ("port", "connect to 127.0.0.1", "7")):
        text, got = trial.outcome(attack)
        assert words in text and got == status, f"{attack}: status {got}, {text!r}"
    text, got = trial.outcome("hook")
    assert "Permission denied" in text and got != "0", f"hook: status {got}, {text!r}"
    assert not trial.commit_runs_hook()


def control(tap, who, base, bawn, closed):
    """The same attacks without bawn succeed: nothing above is refused for another reason."""
    trial = lab.Trial(catalogue.AGENTS[0], who, base / "control", bawn, closed)
    trial.model.close()
    for name, command in trial.attacks().items():
        done = trial.on_host("bash", "-c", command)
        good = trial.commit_runs_hook() if name == "hook" else lab.SECRET in done.stdout or lab.STRANGE in done.stdout
        tap.ok(good, f"without bawn: {name}", done.returncode, done.stdout, done.stderr)
