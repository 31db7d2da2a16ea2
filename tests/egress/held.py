"""--ask: connections to hosts that no rule names wait for a person's answer."""
import os
import re
import subprocess

import lab as labs
from scratch import PATIENCE, until
from session import BAWN, HELPERS, WALLS, sanitized_too

TESTS = []


def test(function):
    TESTS.append(function)
    return function


def bawn(session, *words):
    return subprocess.run([BAWN, *words], cwd=session.work, env=session.environment(), text=True, capture_output=True, timeout=PATIENCE)


def open_question(session, text):
    """The number of the question, once it is open."""
    return until(lambda: re.search(rf"^(\S+)  {re.escape(text)}  ", bawn(session, "requests").stdout, re.M), text)[1]


def ask(session, rules, code):
    """A program in a run with --ask."""
    command = [BAWN, *WALLS, "--ask", *(word for rule in rules for word in (f"--{rule.split(' ')[0]}", rule.split(" ", 1)[1])), "--",
               "/usr/bin/python3", "-u", "-c", HELPERS + code]
    process = subprocess.Popen(command, cwd=session.work, env=session.environment(), text=True, stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    session.started.append(process)
    return process


@test
@sanitized_too
def a_connection_to_an_unlisted_host_waits_and_goes_on_when_a_person_says_yes(session):
    session.lab.take()
    process = ask(session, ["connect allowed.test:9000"], 'print(exchange("other.test", 9000, b"x"))')
    number = open_question(session, "connect other.test:9000")
    # Nothing has left: neither a question for the name nor a connection.
    assert session.lab.take() == [], "before the answer"
    assert bawn(session, "answer", number, "session").returncode == 0
    assert process.communicate(timeout=PATIENCE)[0] == "b'xthe end'\n"
    assert [event["program"] for event in session.events("asked")] == ["python3"], session.events("asked")
    assert [event["answer"] for event in session.events("answered")] == ["session"]


@test
@sanitized_too
def a_person_says_no_and_the_connection_is_reset_and_so_is_the_next_one(session):
    process = ask(session, ["connect allowed.test:9000"],
                  'print(attempt(lambda: exchange("other.test", 9000, b"x")), attempt(lambda: exchange("other.test", 9000, b"x")))')
    assert bawn(session, "answer", open_question(session, "connect other.test:9000"), "no").returncode == 0
    assert process.communicate(timeout=PATIENCE)[0] in ("ECONNRESET ECONNRESET\n", "ECONNRESET EAI-2\n", "ECONNRESET ECONNREFUSED\n")
    assert len(session.events("asked")) == 1


@test
def a_client_of_http_that_waited_gets_the_reason_as_a_403(session):
    command = [BAWN, *WALLS, "--ask", "--", "curl", "-s", "-m", str(PATIENCE), "http://other.test/"]
    curl = subprocess.Popen(command, cwd=session.work, env=session.environment(), text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            stdin=subprocess.PIPE)
    session.started.append(curl)
    assert bawn(session, "answer", open_question(session, "connect other.test:80"), "no").returncode == 0
    assert curl.communicate(timeout=PATIENCE)[0] == "bawn: this sandbox may not reach other.test: was refused by the person who was asked.\n"


@test
@sanitized_too
def without_the_flag_nothing_waits_and_a_refused_host_is_never_asked_for(session):
    code = 'print(attempt(lambda: exchange("other.test", 9000, b"x")))'
    assert session.python(["connect allowed.test:9000"], code).out == "EAI-2\n"
    process = ask(session, ["connect allowed.test:9000", "refuse other.test"], code)
    out = process.communicate(timeout=PATIENCE)[0]
    assert out == "ECONNRESET\n", out
    assert session.events("asked") == []


@test
@sanitized_too
def a_hundred_connections_wait_and_each_gets_the_answer_for_its_host(session):
    names = [f"n{i}.test" for i in range(20)]
    code = f"""
import concurrent.futures
names = {names!r} * 5
with concurrent.futures.ThreadPoolExecutor(100) as pool:
    results = list(pool.map(lambda name: attempt(lambda: exchange(name, 9000, b"x", 4 * PATIENCE)), names))  # twenty answers, one after the other
print(sorted({{(name, str(result)) for name, result in zip(names, results)}}))"""
    process = ask(session, ["connect allowed.test:9000"], code)
    until(lambda: bawn(session, "requests").stdout.count("connect n") == 20, "20 hosts are asked for")
    for line in bawn(session, "requests").stdout.splitlines():
        if found := re.match(r"(\S+)  connect (n\d+)\.test:9000 ", line):
            bawn(session, "answer", found[1], "no")
    out = process.communicate(timeout=5 * PATIENCE)[0]
    assert out.count("ECONNRESET") == 20, out
    assert len(session.events("asked")) == 20


@test
def a_program_that_gives_up_leaves_the_question_and_its_next_try_needs_no_second_one(session):
    code = """
s = socket.socket(); s.settimeout(3)
try: s.connect((socket.gethostbyname("other.test"), 9000)); s.send(b"x"); s.recv(9)
except OSError as why: print(type(why).__name__, flush=True)
s.close()
sys.stdin.readline()
print(exchange("other.test", 9000, b"x"))"""
    process = ask(session, ["connect allowed.test:9000"], code)
    number = open_question(session, "connect other.test:9000")
    assert process.stdout.readline() == "TimeoutError\n"
    assert bawn(session, "answer", number, "session").returncode == 0
    process.stdin.write("\n")
    process.stdin.flush()
    assert process.communicate(timeout=PATIENCE)[0] == "b'xthe end'\n"
    assert len(session.events("asked")) == 1


@test
@sanitized_too
def a_program_that_is_told_yes_finds_the_host_open_at_once(session):
    code = f"""
import subprocess
exchange("allowed.test", 9000, b"x")  # the helper runs already, so that the grant must reach it
subprocess.run([{BAWN!r}, "ask", "connect", "other.test:9000"], check=True, stdout=subprocess.DEVNULL)
print(exchange("other.test", 9000, b"x"))"""
    process = session.start(["connect allowed.test:9000", f"read {os.path.dirname(BAWN)}"], "/usr/bin/python3", "-u", "-c", HELPERS + code)
    assert bawn(session, "answer", open_question(session, "connect other.test:9000"), "session").returncode == 0
    assert process.communicate(timeout=PATIENCE)[0] == "b'xthe end'\n"


@test
@sanitized_too
def once_lets_one_connection_through_and_the_next_one_is_another_question(session):
    code = 'print(exchange("other.test", 9000, b"x")); print(attempt(lambda: exchange("other.test", 9000, b"y")))'
    process = ask(session, ["connect allowed.test:9000"], code)
    assert bawn(session, "answer", open_question(session, "connect other.test:9000"), "once").returncode == 0
    assert process.stdout.readline() == "b'xthe end'\n"
    assert bawn(session, "answer", open_question(session, "connect other.test:9000"), "no").returncode == 0
    assert process.communicate(timeout=PATIENCE)[0] == "ECONNRESET\n"
    assert [event["answer"] for event in session.events("answered")] == ["once", "no"]


@test
@sanitized_too
def of_several_connections_that_wait_once_is_for_one(session):
    code = """
import concurrent.futures
with concurrent.futures.ThreadPoolExecutor(3) as pool:
    print(sorted(str(result) for result in pool.map(lambda _: attempt(lambda: exchange("other.test", 9000, b"x")), range(3))))"""
    process = ask(session, ["connect allowed.test:9000"], code)
    number = open_question(session, "connect other.test:9000")
    assert bawn(session, "answer", number, "once").returncode == 0
    while process.poll() is None:  # one that came after the answer is another question
        if late := re.search(r"^(\S+)  connect other", bawn(session, "requests").stdout, re.M):
            bawn(session, "answer", late[1], "no")
    assert process.communicate(timeout=PATIENCE)[0] == str(sorted(["b'xthe end'", "ECONNRESET", "ECONNRESET"])) + "\n"


@test
@sanitized_too
def without_the_flag_once_is_for_the_next_connection_and_then_the_host_is_closed(session):
    code = f"""
import subprocess
subprocess.run([{BAWN!r}, "ask", "connect", "other.test:9000"], check=True)
print(exchange("other.test", 9000, b"x"), attempt(lambda: exchange("other.test", 9000, b"y")))"""
    process = session.start([f"read {os.path.dirname(BAWN)}"], "/usr/bin/python3", "-u", "-c", HELPERS + code)
    assert bawn(session, "answer", open_question(session, "connect other.test:9000"), "once").returncode == 0
    out = process.communicate(timeout=PATIENCE)[0]
    first, second = out.splitlines()
    assert first == "granted: you may connect to other.test:9000 once: the next connection is let through.", out
    assert second in ("b'xthe end' ECONNRESET", "b'xthe end' EAI-2", "b'xthe end' ECONNREFUSED"), out
