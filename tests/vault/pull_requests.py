"""The profile forge/github-pr: pull requests in the repositories of `forge` rules, with their token outside. The real gh, where there is one, and
a server that answers for api.github.com."""
import shutil

from request_rules import asked, raw
from secrets_outside import requests
from session import Skip, sanitized_too

TESTS = []
TOKEN = "gho_TheForgesR3alToken0123456789abcdefghij"
OTHER = "gho_An0therRepositorysToken0123456789abcdef"
TOP = "/repos/acme/app"
ALLOWED = [f"POST {TOP}/pulls", f"GET {TOP}/pulls", f"GET {TOP}/pulls/1/files", f"POST {TOP}/pulls/1/comments", f"POST {TOP}/issues/1/comments",
           f"GET {TOP}/issues/1/comments", f"GET {TOP}/commits/agent/fix/check-runs", f"GET {TOP}/commits/agent/fix/status",
           f"GET {TOP}/check-runs/7/annotations", f"GET {TOP}/check-suites/7/check-runs"]
REFUSED = [f"PUT {TOP}/pulls/1/merge", f"POST {TOP}/pulls/1/reviews", f"PATCH {TOP}/pulls/1", f"POST {TOP}/pulls/1", f"PUT {TOP}/pulls/1/update-branch",
           f"POST {TOP}/merges", f"GET {TOP}", f"PATCH {TOP}", f"DELETE {TOP}", f"POST {TOP}/issues", f"DELETE {TOP}/issues/comments/1",
           f"PUT {TOP}/actions/secrets/KEY", f"GET {TOP}/actions/secrets", f"POST {TOP}/actions/workflows/1/dispatches", f"POST {TOP}/dispatches",
           f"PUT {TOP}/actions/permissions", f"POST {TOP}/releases", f"PUT {TOP}/contents/x", f"POST {TOP}/git/refs", f"DELETE {TOP}/git/refs/heads/main",
           f"POST {TOP}/hooks", f"POST {TOP}/keys", f"POST {TOP}/check-runs", f"POST {TOP}/statuses/0123", f"PUT {TOP}/collaborators/eve",
           "GET /repos/acme/other/pulls", "POST /repos/acme/other/pulls", "GET /repos/acme/app-2/pulls", "GET /repos/eve/app/pulls",
           # Names of the same repository that GitHub knows as well.
           "PUT /repositories/1296269/pulls/1/merge", "GET /repositories/1296269/pulls", "GET /repos/ACME/app/pulls", "POST /repos/acme/App/pulls",
           "POST /Repos/acme/app/pulls", "GET /repos/acme/app.git/pulls",
           "POST /graphql", "POST /GraphQL", "GET /user", "GET /user/repos", "POST /gists", "GET /"]


def test(function):
    TESTS.append(function)
    return function


def rules(session, *more, repository="acme/app", rights="fetch push refs/heads/agent/*", token=TOKEN):
    (session.lab.folder / "script").unlink(missing_ok=True)  # the model of the agents' tests has api.github.com, too
    path = session.home / f"token-{repository.replace('/', '-')}"
    path.write_text(token + "\n")
    return ["use forge/github-pr", f'forge github.com/{repository} {rights} token from command "cat {path}"', *more]


def caller(session, **more) -> dict:
    return {"SSL_CERT_FILE": str(session.work / "cert.pem"), "GH_NO_UPDATE_NOTIFIER": "1", **more}


def ask(session, lines, policy, words="", env=None):
    """The statuses of these requests, one "METHOD PATH" each."""
    line = " --next -sS ".join(f"{words} -o /dev/null -w '%{{http_code}}\\n' -X {line.split()[0]} https://api.github.com{line.split()[1]}" for line in lines)
    done = session.run(policy, "sh", "-c", "exec curl -sS -m 20 " + line, env=caller(session) if env is None else env, timeout=60)
    return done.out.split()


@test
@sanitized_too
def pull_requests_comments_and_checks_with_the_token_and_nothing_else(session):
    statuses = ask(session, ALLOWED + REFUSED, rules(session))
    assert statuses == ["200"] * len(ALLOWED) + ["403"] * len(REFUSED), list(zip(ALLOWED + REFUSED, statuses))
    seen = requests(session)
    assert [f"{method} {path}" for method, path, _, _ in seen] == ALLOWED
    assert {headers["authorization"] for _, _, headers, _ in seen} == {f"Bearer {TOKEN}"}
    refused = session.events("refused")
    assert len(refused) == len(REFUSED) and refused[0]["why"] == f"PUT {TOP}/pulls/1/merge is allowed by no rule on requests", refused[0]
    assert [event["why"] for event in refused if "graphql" in event["why"].lower()] == [
        f"POST /{name} is refused by `refuse api.github.com:443/graphql` (forge/github-pr.bawn:18)" for name in ("graphql", "GraphQL")]
    statuses = ask(session, ALLOWED + REFUSED, ["connect api.github.com"], "--cacert cert.pem", env={})  # the control: the server takes them all
    assert statuses == ["200"] * len(ALLOWED + REFUSED) and len(asked(session)) == len(ALLOWED + REFUSED), statuses


@test
@sanitized_too
def a_rule_that_opens_the_host_opens_it_without_the_token(session):
    """The agent's profile, or net/github, may open all of the API: the token goes with the profile's own requests even so."""
    for more in (["use net/github"], ["connect api.github.com"], ["connect api.github.com/**"]):
        policy = rules(session, *more)
        lines = [f"POST {TOP}/pulls", f"PUT {TOP}/pulls/1/merge", "GET /user", "GET /repositories/1/pulls", "POST /graphql"]
        statuses = ask(session, lines, policy, "-H 'Authorization: Bearer kept-outside-by-bawn'")
        seen = {f"{method} {path}": headers.get("authorization") for method, path, headers, _ in requests(session)}
        assert seen.pop(lines[0]) == f"Bearer {TOKEN}" and statuses[0] == "200" and statuses[4] == "403", (more, statuses, seen)
        assert TOKEN not in str(seen) and len(seen) == 3, (more, seen)


@test
def the_clients_own_words_do_not_steer_the_token(session):
    """Whatever a client says about itself, or about another method or path, is not sent with the token."""
    words = ("-H 'Authorization: Bearer gho_of-somebody-else' -H 'Cookie: user_session=1' -H 'X-HTTP-Method-Override: DELETE' -H 'X-Original-URL: /user'"
             " -H 'X-Forwarded-Host: eve.test' -H 'X-GitHub-Api-Version: 2022-11-28' -H 'If-None-Match: x' -A me")
    assert ask(session, [f"POST {TOP}/pulls"], rules(session), words) == ["200"]
    [(_, _, headers, _)] = requests(session)
    assert headers["authorization"] == f"Bearer {TOKEN}" and headers["x-github-api-version"] == "2022-11-28" and headers["if-none-match"] == "x", headers
    assert not {"cookie", "x-http-method-override", "x-original-url", "x-forwarded-host"} & headers.keys(), headers
    assert ask(session, [f"POST {TOP}/pulls"], ["connect api.github.com"], f"--cacert cert.pem {words}", env={}) == ["200"]
    [(_, _, headers, _)] = requests(session)  # the control
    assert {"cookie", "x-http-method-override", "x-original-url", "x-forwarded-host"} <= headers.keys(), headers


TRICKS = (f"{TOP}/pulls/../merges", f"{TOP}/pulls/%2e%2e/merges", f"{TOP}/pulls/..%2fmerges", f"{TOP}/pulls/1/comments/../merge", f"{TOP}//pulls",
          f"/{TOP}/pulls", f"{TOP}/pulls/..;/merges", f"{TOP}%2fpulls", f"{TOP}/pulls%2f1%2fmerge", f"{TOP}/./pulls", "/repos/acme/x/../app/pulls",
          "/repos/{forge}/pulls", "/repos/acme%2fapp/pulls", f"{TOP}/pulls%00", f"{TOP}/pulls#x")
PLAIN_TRICKS = ("/repos/%7Bforge%7D/pulls", f"{TOP}/pulls/1/merg%65", "/repos/acme/%61pp2/pulls", f"{TOP}/%70ulls/1/merge", f"{TOP}/pulls/1/merge?/comments")


@test
@sanitized_too
def other_spellings_of_a_path_open_nothing(session):
    paths = TRICKS + PLAIN_TRICKS + (f"{TOP}/pulls?a=b",)  # the last one is the control
    sent = [f"POST {path} HTTP/1.1\\r\\nHost: api.github.com\\r\\nContent-Length: 0\\r\\nConnection: close\\r\\n\\r\\n" for path in paths]
    done = raw(session, "print([ask(data, 'api.github.com')[9:12].decode() for data in (%s)])" % ", ".join(f'b"{data}"' for data in sent), rules=rules(session))
    assert done.out == str(["400"] * len(TRICKS) + ["403"] * len(PLAIN_TRICKS) + ["200"]) + "\n", done
    assert asked(session) == [("POST", f"{TOP}/pulls?a=b")]


@test
def each_repository_gets_its_own_token(session):
    policy = rules(session) + rules(session, repository="acme/lib", token=OTHER)[1:]
    assert ask(session, [f"GET {TOP}/pulls", "GET /repos/acme/lib/pulls"], policy) == ["200", "200"]
    assert [(path, headers["authorization"]) for _, path, headers, _ in requests(session)] == [
        (f"{TOP}/pulls", f"Bearer {TOKEN}"), ("/repos/acme/lib/pulls", f"Bearer {OTHER}")]


@test
def a_repository_that_may_not_be_pushed_to_is_read(session):
    policy = rules(session, rights="fetch")
    assert ask(session, [f"GET {TOP}/pulls", f"POST {TOP}/pulls", f"POST {TOP}/issues/1/comments"], policy) == ["200", "403", "403"]
    assert asked(session) == [("GET", f"{TOP}/pulls")]


@test
def without_a_forge_rule_the_profile_opens_nothing(session):
    for policy in (["use forge/github-pr"], ["use forge/github-pr", "forge gitlab.com/acme/app fetch push refs/heads/x token from env TOKEN"]):
        (session.lab.folder / "script").unlink(missing_ok=True)
        done = session.run(policy, "sh", "-c", f"curl -sS -m 20 https://api.github.com{TOP}/pulls", env=caller(session, TOKEN=TOKEN))
        assert done.status != 0 and requests(session) == [], done


@test
def the_token_is_not_inside_and_a_server_that_sends_it_back_does_not_bring_it(session):
    done = session.run(rules(session), "sh", "-c", f"env; cat /proc/*/environ; curl -sS -m 20 https://api.github.com{TOP}/pulls", env=caller(session, GH_TOKEN=TOKEN))
    [(_, _, headers, _)] = requests(session)
    assert headers["authorization"] == f"Bearer {TOKEN}" and "GH_TOKEN=kept-outside-by-bawn" in done.out, done
    assert '"authorization"' in done.out and TOKEN not in done.out + done.err, done  # the server says what it was sent


def gh(session, *lines, policy=None):
    if not shutil.which("gh", path="/usr/local/bin:/usr/bin:/bin"):
        raise Skip("needs gh")
    script = "".join(f"{line}; echo \"[$?]\"\n" for line in lines)
    return session.run(policy or rules(session), "sh", "-c", script, env=caller(session), timeout=120)


@test
def the_real_gh_opens_a_pull_request_comments_and_reads_checks(session):
    done = gh(session, "gh api repos/acme/app/pulls -f title=t -f head=agent/fix -f base=main --silent",
              "gh api repos/acme/app/issues/1/comments -f body=hello --silent", "gh api repos/acme/app/commits/agent/fix/check-runs --silent")
    assert done.out == "[0]\n[0]\n[0]\n", done
    seen = requests(session)
    assert [(method, path) for method, path, _, _ in seen] == [("POST", f"{TOP}/pulls"), ("POST", f"{TOP}/issues/1/comments"),
                                                               ("GET", f"{TOP}/commits/agent/fix/check-runs")]
    assert {headers["authorization"] for _, _, headers, _ in seen} == {f"Bearer {TOKEN}"} and '"head":"agent/fix"' in seen[0][3], seen


@test
def the_real_gh_is_told_why_it_may_not_do_more(session):
    lines = ("gh api -X PUT repos/acme/app/pulls/1/merge --silent", "gh pr create -R acme/app --title t --body b --head agent/fix --base main",
             "gh pr merge -R acme/app 1 --merge", "gh secret set KEY -R acme/app --body x", "gh workflow run ci.yml -R acme/app",
             "gh release create v1 -R acme/app --notes x", "gh api repos/acme/other/pulls --silent", "gh repo edit acme/app --description x")
    done = gh(session, *lines)
    assert done.out == "[1]\n" * len(lines) and requests(session) == [], done
    assert done.err.count("this request to api.github.com was not sent, on purpose") >= len(lines) - 1, done
    assert "GET /repos/acme/app/actions/secrets/public-key" in str(session.events("refused")), session.events("refused")
    control = gh(session, lines[0], policy=rules(session, "connect api.github.com/repos/acme/app/pulls/1/merge PUT"))
    assert control.out == "[0]\n" and asked(session) == [("PUT", f"{TOP}/pulls/1/merge")], control
