"""Rules on requests: programs as they are, and what they are told."""
import json
import shutil
import subprocess

from secret_attacks import RAW
from secrets_outside import requests
from session import BAWN, Skip, sanitized_too

TESTS = []
RULES = ["connect allowed.test/repos/acme/app/** GET,POST", "refuse allowed.test/**/actions/secrets/**"]
OPEN = ["connect allowed.test"]
CLOSE = "Connection: close\\r\\n"


def test(function):
    TESTS.append(function)
    return function


def caller(session, **more) -> dict:
    return {"SSL_CERT_FILE": str(session.work / "cert.pem"), **more}


def curl(session, *words, rules=RULES):
    return session.run(rules, "sh", "-c", "exec curl -sS -m 20 " + " ".join(words), env=caller(session))


def raw(session, code, rules=RULES):
    return session.run(rules, "/usr/bin/python3", "-c", RAW + code, env=caller(session), timeout=60)


def asked(session) -> list:
    return [(method, path) for method, path, _, _ in requests(session)]


def ask_line(target, method="GET", more=""):
    return f"{method} {target} HTTP/1.1\\r\\nHost: allowed.test\\r\\n{more}\\r\\n"


@test
@sanitized_too
def the_path_and_the_method_decide(session):
    tries = (("/repos/acme/app", 200), ("/repos/acme/app/pulls?x=/../y", 200), ("-d text /repos/acme/app/issues", 200),
             ("-I /repos/acme/app", 200), ("/repos/acme/other", 403), ("-X DELETE /repos/acme/app", 403), ("/", 403),
             ("/repos/acme/app/actions/secrets/KEY", 403), ("/repos/acme/app/Actions/Secrets", 403))
    one = lambda words: f"-o /dev/null -w '%{{http_code}}\\n' {' '.join(words.split()[:-1])} https://allowed.test{words.split()[-1]}"
    done = curl(session, " --next -sS ".join(one(words) for words, _ in tries))
    assert done.out.split() == [str(status) for _, status in tries], done
    assert len(requests(session)) == sum(status == 200 for _, status in tries)
    control = session.run(OPEN, "sh", "-c", "curl -sS --cacert cert.pem https://allowed.test/repos/acme/app/actions/secrets/KEY", env={})
    assert control.status == 0 and asked(session) == [("GET", "/repos/acme/app/actions/secrets/KEY")], control


@test
def a_refusal_says_which_rule_made_it_and_how_to_ask(session):
    done = curl(session, "https://allowed.test/repos/acme/app/actions/secrets")
    assert "`refuse allowed.test:443/**/actions/secrets/**` (command line)" in done.out, done
    assert "`bawn why GET 'https://allowed.test/repos/acme/app/actions/secrets'`" in done.out, done
    assert "connection to" not in done.err, done
    done = curl(session, "-H 'Accept: application/vnd.github+json'", "https://allowed.test/user")
    answer = json.loads(done.out)
    assert answer["by"] == "bawn" and answer["why"] == "bawn why GET 'https://allowed.test/user'" and "rule" not in answer, answer
    assert "is allowed by no rule on requests" in answer["message"], answer
    why = [event["why"] for event in session.events("refused")]
    assert why == ["GET /repos/acme/app/actions/secrets is refused by `refuse allowed.test:443/**/actions/secrets/**` (command line)",
                   "GET /user is allowed by no rule on requests"], why
    assert {(event["host"], event["port"]) for event in session.events("refused")} == {("allowed.test", "443")}


@test
def the_end_of_a_run_names_it(session):
    said = session.on_terminal(RULES, "sh", "-c", "curl -sS https://allowed.test/user")
    assert "refused" in said and "allowed.test GET /user is allowed by no rule on requests" in said, said


@test
@sanitized_too
def a_connection_goes_on_after_a_refusal(session):
    fine, no = "https://allowed.test/repos/acme/app", "https://allowed.test/no"
    done = curl(session, f"-w '%{{http_code}} %{{num_connects}}\\n' -o /dev/null {fine} --next -sS -w '%{{http_code}} %{{num_connects}}\\n' -o /dev/null"
                f" -d content {no} --next -sS -w '%{{http_code}} %{{num_connects}}\\n' -o /dev/null {fine}")
    assert done.out == "200 1\n403 0\n200 0\n", done
    assert asked(session) == [("GET", "/repos/acme/app")] * 2


@test
def only_hosts_with_such_rules_are_inspected(session):
    done = session.run([*RULES, "connect other.test"], "sh", "-c", 'openssl x509 -in "$NODE_EXTRA_CA_CERTS" -noout -ext nameConstraints; '
                       "curl -sS -o /dev/null -w '%{http_code}' --cacert cert.pem https://other.test/", env=caller(session))
    assert done.out.startswith("X509v3 Name Constraints: critical\n    Permitted:\n      DNS:allowed.test\n") and done.out.endswith("200"), done
    none = session.run(OPEN, "sh", "-c", 'ls /run/bawn "$TMPDIR/bawn"; echo "$NODE_EXTRA_CA_CERTS"', env=caller(session))
    assert "certificate" not in none.out and none.out.endswith("\n\n"), none


@test
def a_secret_and_rules_on_requests_hold_together(session):
    rules = [*RULES, "secret API_KEY to allowed.test"]
    words = 'curl -sS -o /dev/null -w "%{http_code}" -H "x-api-key: $API_KEY" https://allowed.test'
    done = session.run(rules, "sh", "-c", f"{words}/repos/acme/app; {words}/no", env=caller(session, API_KEY="sk-ant-api03-R3al-S3cret_0123456789"))
    assert done.out == "200403", done
    [(_, path, headers, _)] = requests(session)
    assert (path, headers["x-api-key"]) == ("/repos/acme/app", "sk-ant-api03-R3al-S3cret_0123456789")


@test
def a_repository_narrows_and_does_not_widen(session):
    (session.work / ".bawn").write_text("refuse allowed.test/repos/acme/app/private/**\nconnect allowed.test/wide\n")
    done = curl(session, "-o /dev/null -w '%{http_code} '", *(f"https://allowed.test{path}" for path in ("/repos/acme/app/a", "/repos/acme/app/private/x", "/wide")))
    assert done.status == 0, done
    assert asked(session) == [("GET", "/repos/acme/app/a")]


@test
def why_tells_the_same_as_the_vault(session):
    ask = lambda *words: subprocess.run([BAWN, "why", *[word for rule in RULES for word in (f"--{rule.split()[0]}", rule.split(" ", 1)[1])], *words],
                                        cwd=session.work, env=session.environment(), capture_output=True, text=True, timeout=90)
    tries = (("/repos/acme/app/x", "is allowed"), ("/repos/acme/app/actions/secrets", "a rule refuses it"),
             ("/user", "no rule on requests allows it"), ("/a/../b", "its path has a '.' or '..' in it"))
    why = ask(*[word for path, _ in tries for word in ("GET", f"https://allowed.test{path}")])
    assert why.returncode == 0, why
    for path, sentence in tries:
        assert [line for line in why.stdout.splitlines() if line.startswith(f"GET https://allowed.test{path} ") and sentence in line], (path, why)
    lines = ", ".join(f'b"{ask_line(path, more=CLOSE)}"' for path, _ in tries)
    done = raw(session, f"print([ask(data)[9:12].decode() for data in ({lines})])")
    assert done.out == "['200', '403', '403', '400']\n", done


@test
def a_running_session_gets_no_more_of_such_a_host(session):
    process = session.start(RULES, "sh", "-c", "echo up; read line; true", env=caller(session))
    assert process.stdout.readline() == "up\n"
    done = subprocess.run([BAWN, "allow", "allowed.test"], cwd=session.work, env=session.environment(), capture_output=True, text=True, timeout=90)
    process.communicate("go\n", timeout=90)
    assert done.returncode != 0 and "rules of the policy judge requests to allowed.test" in done.stderr, done


@test
def gh_opens_a_pull_request_and_cannot_merge_it(session):
    if not shutil.which("gh", path="/usr/local/bin:/usr/bin:/bin"):
        raise Skip("needs gh")
    env = caller(session, GH_ENTERPRISE_TOKEN="ghp_TheRealToken0123456789abcdef", GH_HOST="allowed.test", GH_NO_UPDATE_NOTIFIER="1")
    rules = ["connect allowed.test/api/v3/repos/acme/app/pulls GET,POST", "secret GH_ENTERPRISE_TOKEN to allowed.test", "env GH_HOST", "env GH_NO_UPDATE_NOTIFIER"]
    done = session.run(rules, "sh", "-c", "gh api repos/acme/app/pulls -f title=t -f head=agent/fix -f base=main >out; echo $?; "
                       "gh api -X PUT repos/acme/app/pulls/1/merge; echo $?", env=env, timeout=60)
    assert done.out.startswith("0\n{") and done.out.endswith("}\n1\n"), done
    assert "gh: bawn: this request to allowed.test was not sent, on purpose" in done.err and "(HTTP 403)" in done.err, done
    [(method, path, headers, body)] = requests(session)
    assert (method, path) == ("POST", "/api/v3/repos/acme/app/pulls") and '"head":"agent/fix"' in body, (path, body)
    assert headers["authorization"] == "token ghp_TheRealToken0123456789abcdef", headers
