"""The profile forge/github-pr: pull requests in the repositories of `forge` rules, with their token outside. The real gh, where there is one, and
a server that answers for api.github.com."""
import json
import shutil

from request_rules import asked, raw
from secrets_outside import requests
from session import Skip, sanitized_too

TESTS = []
TOKEN = "gho_TheForgesR3alToken0123456789abcdefghij"
OTHER = "gho_An0therRepositorysToken0123456789abcdef"
TOP = "/repos/acme/app"
ALLOWED = [f"POST {TOP}/pulls", f"GET {TOP}/pulls", f"GET {TOP}/pulls/1/files", f"POST {TOP}/pulls/1/comments", f"POST {TOP}/issues/1/comments",
           f"GET {TOP}/issues/1/comments", f"GET {TOP}/issues", f"GET {TOP}/issues/1", f"GET {TOP}/commits/agent/fix/check-runs", f"GET {TOP}/commits/agent/fix/status",
           f"GET {TOP}/check-runs/7/annotations", f"GET {TOP}/check-suites/7/check-runs"]
REFUSED = [f"PUT {TOP}/pulls/1/merge", f"POST {TOP}/pulls/1/reviews", f"PATCH {TOP}/pulls/1", f"POST {TOP}/pulls/1", f"PUT {TOP}/pulls/1/update-branch",
           f"POST {TOP}/merges", f"GET {TOP}", f"PATCH {TOP}", f"DELETE {TOP}", f"POST {TOP}/issues", f"PATCH {TOP}/issues/1", f"PUT {TOP}/issues/1/lock", f"POST {TOP}/issues/1/labels", f"GET {TOP}/issues/1/timeline", f"DELETE {TOP}/issues/comments/1",
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
        "POST /graphql is refused: it is not one request of GraphQL, as JSON", "POST /GraphQL is refused by `refuse api.github.com:443/graphql` (forge/github-pr.bawn:24)"]
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
    lines = ("gh api -X PUT repos/acme/app/pulls/1/merge --silent",
             "gh pr merge -R acme/app 1 --merge", "gh secret set KEY -R acme/app --body x", "gh workflow run ci.yml -R acme/app",
             "gh release create v1 -R acme/app --notes x", "gh api repos/acme/other/pulls --silent", "gh repo edit acme/app --description x")
    done = gh(session, *lines)
    assert done.out == "[1]\n" * len(lines) and not [text for text, _ in graphql(session) if "mutation" in text], done
    assert done.err.count("this request to api.github.com was not sent, on purpose") >= len(lines) - 2, done
    assert "GET /repos/acme/app/actions/secrets/public-key" in str(session.events("refused")), session.events("refused")
    control = gh(session, lines[0], policy=rules(session, "connect api.github.com/repos/acme/app/pulls/1/merge PUT"))
    assert control.out == "[0]\n" and asked(session) == [("PUT", f"{TOP}/pulls/1/merge")], control


# --- GraphQL ---


def graphql(session):
    """What the server was asked by GraphQL: (document, variables), each with the token."""
    seen = [event[1:] for event in session.lab.take() if event[0] == "graphql"]
    assert {(token, kind) for _, _, token, kind in seen} <= {(f"Bearer {TOKEN}", "application/json")}, seen
    return [(text, variables) for text, variables, *_ in seen]


@test
@sanitized_too
def the_real_gh_opens_views_lists_checks_and_comments_on_pull_requests(session):
    done = gh(session, "gh pr create -R acme/app --title 'a fix' --body 'naïve \"b\"' --head agent/fix --base main", "gh pr view -R acme/app 1 --json title,url,statusCheckRollup",
              "gh pr view -R acme/app 1", "gh pr list -R acme/app", "gh pr checks -R acme/app 1", "gh pr comment -R acme/app 1 --body hello")
    assert done.out.count("[0]\n") == 6 and "https://github.com/acme/app/pull/1\n[0]" in done.out and "build" in done.out, done
    changes = [variables["input"] for text, variables in graphql(session) if text.startswith("mutation")]
    assert changes[0]["repositoryId"] == "R_acme_app" and changes[0]["body"] == 'naïve "b"' and changes[1] == {"body": "hello", "subjectId": "PR_acme_app_1"}, changes
    assert TOKEN not in done.out + done.err and session.events("refused") == [], done


@test
@sanitized_too
def the_real_gh_lists_views_and_comments_on_issues_and_changes_no_other_way(session):
    changes = ("gh issue create -R acme/app --title t --body b", "gh issue close -R acme/app 2", "gh issue edit -R acme/app 2 --title x", "gh issue lock -R acme/app 2",
               "gh issue pin -R acme/app 2", "gh issue transfer -R acme/app 2 acme/other", "gh issue delete -R acme/app 2 --confirm", "gh issue view -R acme/other 2")
    done = gh(session, "gh issue list -R acme/app", "gh issue view -R acme/app 2", "gh issue view -R acme/app 2 --comments", "gh issue view -R acme/app 2 --json title,body,comments,state",
              "gh issue comment -R acme/app 2 --body hello", *changes)
    assert done.out.count("[0]\n") == 5 and done.out.count("[1]\n") == len(changes), done
    assert "a bug" in done.out and "seen" in done.out and TOKEN not in done.out + done.err, done
    assert [variables["input"] for text, variables in graphql(session) if text.startswith("mutation")] == [{"body": "hello", "subjectId": "I_acme_app_2"}]


ABOUT = 'repository(owner:"acme",name:"app")'
QUESTIONS = {  # name → document and variables that pass
    "by names": ("query($o:String!,$n:String!){repository(owner:$o,name:$n){id pullRequest(number:1){id title}}}", {"o": "acme", "n": "app"}),
    "in the document": (f"{{{ABOUT}{{id,pullRequests(first:1){{nodes{{id}}}}}}}}", {}),
    "an alias": (f"{{x:{ABOUT}{{name pullRequest(number:1){{checks:commits(last:1){{totalCount}}}}}}}}", {}),
    "a fragment": (f"query{{{ABOUT}{{...r parent{{...r}}}}}}fragment r on Repository{{id owner{{login}}}}", {}),
    "who and what": ('{viewer{login} PullRequest:__type(name:"PullRequest"){fields(includeDeprecated:true){name}}}', None),
    "a default": (f"query($s:[PullRequestState!]=OPEN){{{ABOUT}{{pullRequests(states:$s){{totalCount}}}}}}", {}),
    "a known pull request": ('query($id:ID!){node(id:$id){...on PullRequest{title}}}', {"id": "PR_acme_app_1"}),
    "an issue": ("query($n:Int!){%s{hasIssuesEnabled issue:issueOrPullRequest(number:$n){__typename ...on Issue{id title stateReason} ...on PullRequest{id title}}}}" % ABOUT, {"n": 2}),
    "issues": ("query($a:String){%s{issues(first:1,filterBy:{assignee:$a}){nodes{id}}}}" % ABOUT, {}),
    "comment on an issue": ('mutation{addComment(input:{subjectId:"I_acme_app_2",body:"x"}){commentEdge{node{url}}}}', {}),
    "open one": ("mutation($i:CreatePullRequestInput!){createPullRequest(input:$i){pullRequest{url}}}",
                 {"i": {"repositoryId": "R_acme_app", "baseRefName": "main", "headRefName": "agent/x", "title": "t", "body": "b\u0007\n", "draft": True}}),
    "comment": ('mutation{addComment(input:{subjectId:"PR_acme_app_1",body:"x\\ny"}){commentEdge{node{url}}}}', {}),
}
MAKE = "mutation($i:CreatePullRequestInput!){createPullRequest(input:$i){pullRequest{url}}}"
INPUT = {"repositoryId": "R_acme_app", "baseRefName": "main", "headRefName": "x", "title": "t"}
ATTACKS = {
    "merge": ('mutation{mergePullRequest(input:{pullRequestId:"PR_acme_app_1"}){clientMutationId}}', {}),
    "approve": ('mutation{addPullRequestReview(input:{pullRequestId:"PR_acme_app_1",event:APPROVE}){clientMutationId}}', {}),
    "merge beside a comment": ('mutation{addComment(input:{subjectId:"PR_acme_app_1",body:"x"}){clientMutationId} mergePullRequest(input:{pullRequestId:"PR_acme_app_1"}){clientMutationId}}', {}),
    "merge under an alias": ('mutation{addComment:mergePullRequest(input:{pullRequestId:"PR_acme_app_1"}){clientMutationId}}', {}),
    "merge in a fragment": ('mutation{...f} fragment f on Mutation{mergePullRequest(input:{pullRequestId:"PR_acme_app_1"}){clientMutationId}}', {}),
    "another repository": ('{repository(owner:"acme",name:"other"){id}}', {}),
    "another spelling": ('{repository(owner:"ACME",name:"app"){id}}', {}),
    "another repository beside it": (f'{{{ABOUT}{{id}} x:repository(owner:"acme",name:"other"){{id}}}}', {}),
    "another repository by default": ('query($n:String!="other"){repository(owner:"acme",name:$n){id}}', {}),
    "another repository by a variable": ("query($n:String!){repository(owner:\"acme\",name:$n){id}}", {"n": "other"}),
    "an escape": ('{repository(owner:"acme",name:"\\u006fther"){id}}', {}),
    "all repositories": ("{viewer{repositories(first:9){nodes{name}}}}", {}),
    "an organization of the user": ('{viewer{organization(login:"acme"){name}}}', {}),
    "an organization of an author": (f'{{{ABOUT}{{pullRequest(number:1){{author{{...on User{{organization(login:"secret"){{login}}}}}}}}}}}}', {}),
    "an organization of the owner": (f'{{{ABOUT}{{owner{{...on User{{organization(login:"secret"){{login}}}}}}}}}}', {}),
    "whether a check is another's": (f'{{{ABOUT}{{pullRequest(number:1){{commits{{nodes{{commit{{statusCheckRollup{{contexts{{nodes{{...on CheckRun{{'
                                     'isRequired(pullRequestId:"PR_acme_other_1")}}}}}}}}}}', {}),
    "the address of the user": ("{viewer{email}}", {}),
    "a token to clone": (f"{{{ABOUT}{{tempCloneToken}}}}", {}),
    "a file": (f'{{{ABOUT}{{object(expression:"HEAD:x"){{...on Blob{{text}}}}}}}}', {}),
    "the owner's repositories": (f"{{{ABOUT}{{owner{{...on User{{repositories{{totalCount}}}}}}}}}}", {}),
    "the parent's pull requests": (f"{{{ABOUT}{{parent{{pullRequests(first:9){{nodes{{body}}}}}}}}}}", {}),
    "a fork's pull requests": (f"{{{ABOUT}{{pullRequest(number:1){{headRepository{{pullRequests{{totalCount}}}}}}}}}}", {}),
    "the parent's in a fragment": (f"{{{ABOUT}{{parent{{...f}}}}}}fragment f on Repository{{pullRequests{{totalCount}}}}", {}),
    "who may push": (f"{{{ABOUT}{{collaborators{{nodes{{login}}}}}}}}", {}),
    "search": ('{search(query:"is:pr",type:ISSUE,first:9){issueCount}}', {}),
    "an unknown pull request": ('{node(id:"PR_acme_other_1"){...on PullRequest{title}}}', {}),
    "a repository as a node": ('{node(id:"R_acme_app"){...on PullRequest{title}}}', {}),
    "an unknown repository": (MAKE, {"i": {**INPUT, "repositoryId": "R_acme_other"}}),
    "a head elsewhere": (MAKE, {"i": {**INPUT, "headRepositoryId": "R_acme_other"}}),
    "no repository": (MAKE, {"i": {"title": "t"}}),
    "a list": (MAKE, {"i": [INPUT]}),
    "one more member": (MAKE, {"i": {**INPUT, "reviewers": ["eve"]}}),
    "a comment on a repository": ('mutation{addComment(input:{subjectId:"R_acme_app",body:"x"}){clientMutationId}}', {}),
    "a comment on another": ('mutation{addComment(input:{subjectId:"PR_acme_other_1",body:"x"}){clientMutationId}}', {}),
    "an id by an alias": (f"{{{ABOUT}{{pullRequest(number:1){{id:title}}}}}}", {}),
    "a pull request by an alias": (f"{{{ABOUT}{{pullRequest:parent{{id}}}}}}", {}),
    "an issue by an alias": (f"{{{ABOUT}{{issue:parent{{id}}}}}}", {}),
    "a pull request by the alias of an issue": (f"{{{ABOUT}{{pullRequest:issueOrPullRequest(number:1){{id}}}}}}", {}),
    "issues by an alias": (f"{{{ABOUT}{{issues:forks{{nodes{{id}}}}}}}}", {}),
    "an unknown issue": ('{node(id:"I_acme_other_2"){...on Issue{title}}}', {}),
    "a comment on another's issue": ('mutation{addComment(input:{subjectId:"I_acme_other_2",body:"x"}){clientMutationId}}', {}),
    "an issue's repository": (f"{{{ABOUT}{{issue(number:2){{repository{{name}}}}}}}}", {}),
    "what an issue is linked with": (f"{{{ABOUT}{{issue(number:2){{timelineItems(first:9){{totalCount}}}}}}}}", {}),
    "close an issue": ('mutation{closeIssue(input:{issueId:"I_acme_app_2"}){clientMutationId}}', {}),
    "transfer an issue": ('mutation{transferIssue(input:{issueId:"I_acme_app_2",repositoryId:"R_acme_app"}){clientMutationId}}', {}),
    "nodes by an alias": (f"{{{ABOUT}{{pullRequests{{nodes:pageInfo{{endCursor}}}}}}}}", {}),
    "one name for two": (f'{{x:{ABOUT}{{id}} x:viewer{{id}}}}', {}),
    "two operations": (f'query a{{{ABOUT}{{id}}}} mutation b{{mergePullRequest(input:{{pullRequestId:"x"}}){{clientMutationId}}}}', {}),
    "a subscription": ("subscription{viewer{login}}", {}),
    "a directive": (f"{{{ABOUT}{{id @include(if:true)}}}}", {}),
    "a comment in it": (f"{{{ABOUT}{{id #}}\n}}}}", {}),
    "a block string": ('{repository(owner:"""acme""",name:"app"){id}}', {}),
    "an argument twice": ('{repository(owner:"acme",name:"app",name:"other"){id}}', {}),
    "one more argument": ('{repository(owner:"acme",name:"app",followRenames:true){id}}', {}),
    "a circle": (f"{{{ABOUT}{{...f}}}}fragment f on Repository{{id ...f}}", {}),
    "much": ("{" + ABOUT + "{" + "...f " * 70 + "}}fragment f on Repository{" + "...g " * 70 + "}fragment g on Repository{id}", {}),
    "deep": ("{" * 5000 + "id" + "}" * 5000, {}),
    "nothing": ("", {}),
    "a field without fields": (f"{{{ABOUT}}}", {}),
    "a plain field with fields": (f"{{{ABOUT}{{id{{x}}}}}}", {}),
    "an unknown fragment": (f"{{{ABOUT}{{...nowhere}}}}", {}),
    "deep variables": (f"query($a:X){{{ABOUT}{{id}}}}", {"a": [[[[[1]]]]]}),
}
BODIES = {  # requests that are not what json.dumps writes
    "query twice": '{"query":"%s","query":"mutation{mergePullRequest{x}}"}' % f"{{{ABOUT}{{id}}}}".replace('"', '\\"'),
    "an escaped key": '{"query":"%s","qu\\u0065ry":"mutation{mergePullRequest{x}}"}' % f"{{{ABOUT}{{id}}}}".replace('"', '\\"'),
    "variables twice": '{"query":"query($n:String!){repository(owner:\\"acme\\",name:$n){id}}","variables":{"n":"app"},"variables":{"n":"other"}}',
    "a variable twice": '{"query":"query($n:String!){repository(owner:\\"acme\\",name:$n){id}}","variables":{"n":"app","n":"other"}}',
    "an escaped variable": '{"query":"query($n:String!){repository(owner:\\"acme\\",name:$n){id}}","variables":{"n":"app","\\u006e":"other"}}',
    "a member twice": '{"query":"%s","variables":{"i":{"repositoryId":"R_acme_app","repositoryId":"R_acme_other"}}}' % MAKE,
    "an extension": '{"query":"{%s{id}}","extensions":{"persistedQuery":{"version":1}}}' % ABOUT.replace('"', '\\"'),
    "a batch": '[{"query":"{%s{id}}"}]' % ABOUT.replace('"', '\\"'),
    "a form": "query=mutation{mergePullRequest{x}}",
    "two values": '{"query":"{%s{id}}"}{}' % ABOUT.replace('"', '\\"'),
    "no query": "{}",
    "nothing": "",
    "a NUL": '{"query":"{%s{id}}\\u0000mutation{x}"}' % ABOUT.replace('"', '\\"'),
}


def send(session, bodies, policy, words="", env=None, targets=()):
    """The statuses of POST requests to /graphql with these contents, one after the other."""
    for i, body in enumerate(bodies):
        (session.work / f"body{i}").write_text(body)
    lines = [f"{words} -o /dev/null -w '%{{http_code}}\\n' --data-binary @body{i} https://api.github.com{targets[i] if targets else '/graphql'}" for i in range(len(bodies))]
    done = session.run(policy, "sh", "-c", "exec curl -sS -m 20 " + " --next -sS ".join(lines), env=caller(session) if env is None else env, timeout=120)
    return done.out.split()


def body(question):
    document, variables = question
    return json.dumps({"query": document} if variables is None else {"query": document, "variables": variables})


@test
@sanitized_too
def questions_and_changes_of_the_repository_pass_and_no_others(session):
    allowed, refused = list(map(body, QUESTIONS.values())), [*map(body, ATTACKS.values()), *BODIES.values()]
    statuses = send(session, allowed + refused, rules(session), "-H 'Content-Type: application/x-www-form-urlencoded'")
    assert statuses[: len(allowed)] == ["200"] * len(allowed), list(zip(QUESTIONS, statuses))
    assert statuses[len(allowed):] == ["403"] * len(refused), [name for name, status in zip([*ATTACKS, *BODIES], statuses[len(allowed):]) if status != "403"]
    seen = graphql(session)
    assert len(seen) == len(allowed) and not [text for text, _ in seen if "merge" in text], seen
    assert [variables for _, variables in seen] == [question[1] or {} for question in QUESTIONS.values()], seen
    why = [event["why"] for event in session.events("refused")]
    assert "POST /graphql is refused: bawn lets no request with the field `mergePullRequest` pass there" in why, why
    assert "POST /graphql is refused: no `forge` rule with a token is for the repository acme/other" in why, why
    attacks = [text for text in refused if text.startswith("{") and json.loads(text.split("}{")[0] + "}" * text.count("}{")).get("query")][:20]
    assert send(session, attacks, ["connect api.github.com"], "--cacert cert.pem", env={}) == ["200"] * len(attacks)  # the control: the server takes them


@test
def an_id_that_came_in_no_answer_opens_nothing(session):
    """The server would take it. A client that says it first, or in another session, is refused."""
    changes = [body(QUESTIONS[name]) for name in ("open one", "comment", "a known pull request")]
    assert send(session, changes, rules(session)) == ["403"] * 3 and graphql(session) == []
    first = body(QUESTIONS["by names"])
    assert send(session, [first, *changes], rules(session)) == ["200"] * 4 and len(graphql(session)) == 4


@test
def a_repository_that_may_not_be_pushed_to_is_read_by_graphql_too(session):
    lines = [body(QUESTIONS[name]) for name in ("by names", "open one", "comment")]
    assert send(session, lines, rules(session, rights="fetch")) == ["200", "403", "403"] and len(graphql(session)) == 1


@test
def other_ways_to_graphql_open_nothing(session):
    targets = ["/graphql?query=x", "/graphql/", "/GraphQL", "/graphql/acme/app", "/graphql/acme/app?x", "/graphql/acme/other", "/v4/graphql"]
    question = body(QUESTIONS["by names"])
    statuses = send(session, [question] * len(targets), rules(session), targets=targets)
    assert statuses == ["403"] * len(targets) and graphql(session) == [], statuses
    statuses = ask(session, ["GET /graphql", "GET /graphql/acme/app", "PUT /graphql"], rules(session))
    assert statuses == ["403"] * 3 and requests(session) == [], statuses
    assert send(session, [question], rules(session), "-H 'Content-Encoding: gzip'") == ["403"] and graphql(session) == []
    assert send(session, [question], rules(session), "-H 'Transfer-Encoding: chunked'") == ["200"] and len(graphql(session)) == 1  # the control
    assert send(session, [" " * (512 * 1024) + question], rules(session))[0] in ("400", "403") and graphql(session) == []


@test
def each_repository_is_asked_about_with_its_own_token(session):
    policy = rules(session) + rules(session, repository="acme/lib", token=OTHER)[1:]
    lines = [body(QUESTIONS["by names"]), body(('{repository(owner:"acme",name:"lib"){id}}', {})),
             body((f'{{{ABOUT}{{id}} x:repository(owner:"acme",name:"lib"){{id}}}}', {})), body((MAKE, {"i": {**INPUT, "headRepositoryId": "R_acme_lib"}}))]
    assert send(session, lines, policy) == ["200", "200", "403", "403"]
    assert [event[3] for event in session.lab.take() if event[0] == "graphql"] == [f"Bearer {TOKEN}", f"Bearer {OTHER}"]


@test
def a_rule_of_the_users_opens_graphql_without_the_token(session):
    policy = rules(session, "connect api.github.com/graphql POST")
    lines = [body(QUESTIONS["by names"]), body(ATTACKS["merge"]), BODIES["nothing"]]
    assert send(session, lines, policy, "-H 'Authorization: Bearer mine'") == ["200"] * 3
    assert [(event[3], "merge" in event[1]) for event in session.lab.take() if event[0] == "graphql"] == [(f"Bearer {TOKEN}", False), ("Bearer mine", True)]
    learned = [body(ATTACKS["another repository"]), body((MAKE, {"i": {**INPUT, "repositoryId": "R_acme_other"}}))]
    assert send(session, learned, policy, "-H 'Authorization: Bearer mine'") == ["200"] * 2  # what passed without the token teaches no id
    assert {event[3] for event in session.lab.take() if event[0] == "graphql"} == {"Bearer mine"}


@test
def repositories_and_owners_named_graphql_are_as_any_other(session):
    """`/repos/acme/graphql/pulls` has the word in it, and stands for nothing."""
    for repository in ("acme/graphql", "graphql/foo"):
        policy = rules(session, repository=repository)
        assert ask(session, [f"GET /repos/{repository}/pulls"], policy) == ["200"] and asked(session) == [("GET", f"/repos/{repository}/pulls")]
        owner, name = repository.split("/")
        question, about = body(QUESTIONS["who and what"]), body((f'{{repository(owner:"{owner}",name:"{name}"){{id}}}}', {}))
        assert send(session, [question] * 3, policy, targets=["/repos", "/repos/acme/graphql", "/repos/graphql"]) == ["403"] * 3 and asked(session) == []
        assert send(session, [about], policy) == ["200"] and len(graphql(session)) == 1  # the control


@test
def an_id_counts_at_the_server_that_it_came_from(session):
    """Servers count their repositories from one: the same id is another repository's elsewhere."""
    policy = rules(session, "connect allowed.test/graphql/{forge} GET,POST") + [line.replace("github.com", "allowed.test") for line in rules(session)[1:]]
    first, change = body(QUESTIONS["by names"]), body(QUESTIONS["comment"])
    elsewhere, here = "--next -sS -d @body0 -o /dev/null https://allowed.test/graphql", "--next -sS -d @body0 -o /dev/null https://api.github.com/graphql"
    assert send(session, [first, change], policy, targets=[f"/graphql {elsewhere}", "/graphql"])[1:] == ["200"] and len(graphql(session)) == 3  # the control
    bodies = [body(QUESTIONS["who and what"]), change]
    (session.work / "known").write_text(first)
    assert send(session, bodies, policy, targets=[f"/graphql {elsewhere.replace('body0', 'known')}", "/graphql"])[1:] == ["403"] and len(graphql(session)) == 2
    assert send(session, bodies, policy, targets=[f"/graphql {here.replace('body0', 'known')}", "/graphql"])[1:] == ["200"]


@test
def content_is_never_sent_without_its_type(session):
    """A server could take content of no type for a form, and find another query in it."""
    text = body((f"query($a:String){{{ABOUT}{{id}}}}", {"a": "&query=mutation{mergePullRequest}&"}))
    code = """print([ask(b"POST /graphql HTTP/1.1\\r\\nHost: api.github.com\\r\\nContent-Length: %d\\r\\nRange: bytes=0-\\r\\nIf-Range: x\\r\\n" % len(text) +
        b"X: y\\r\\n" * count + b"Connection: close\\r\\n\\r\\n" + text, 'api.github.com')[9:12].decode() for count in (200, 251)])"""
    done = raw(session, f"text = {text.encode()!r}\n{code}", rules=rules(session))
    assert done.out == "['200', '403']\n" and len(graphql(session)) == 1, done


@test
def a_change_that_has_no_token_is_not_sent_by_the_path_of_its_rule(session):
    """The repository is only read with the token. A rule that opens the host lets changes pass without it, to the path that the server has."""
    policy = ["connect api.github.com/graphql/{forge} GET,POST", "connect api.github.com/**", rules(session, rights="fetch")[1]]
    lines = [body(QUESTIONS["by names"]), body(QUESTIONS["comment"])]
    assert send(session, lines, policy, "-H 'Authorization: Bearer mine'") == ["200"] * 2
    assert [event[3] for event in session.lab.take() if event[0] == "graphql"] == [f"Bearer {TOKEN}", "Bearer mine"]
