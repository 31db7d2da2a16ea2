"""GitHub's GraphQL, as far as gh's commands about pull requests and issues need it. It answers with more than was asked for, and does what any token may do: whatever
is refused, bawn has refused."""
import json
import re

import world

CHECK = {"__typename": "CheckRun", "name": "build", "status": "COMPLETED", "conclusion": "SUCCESS", "startedAt": "2026-01-01T00:00:00Z",
         "completedAt": "2026-01-01T00:01:00Z", "detailsUrl": "https://ci.example.com/1", "checkSuite": {"workflowRun": {"workflow": {"name": "CI"}}}}
ROLLUP = {"nodes": [{"commit": {"oid": "0" * 40, "statusCheckRollup": {"contexts": {"nodes": [CHECK], "pageInfo": {"hasNextPage": False, "endCursor": ""}}}}}]}


def pull(owner, name):
    return {"id": f"PR_{owner}_{name}_1", "number": 1, "title": "a fix", "body": "text", "state": "OPEN", "url": f"https://github.com/{owner}/{name}/pull/1",
            "headRefName": "agent/fix", "baseRefName": "main", "author": {"login": "me"}, "isCrossRepository": False, "headRepositoryOwner": {"login": owner},
            "headRepository": {"id": "R_x", "name": name}, "statusCheckRollup": ROLLUP, "commits": {"totalCount": 1, **ROLLUP},
            "createdAt": "2026-01-01T00:00:00Z", "additions": 1, "deletions": 1, "mergeable": "MERGEABLE"}


def issue(owner, name):
    return {**pull(owner, name), "__typename": "Issue", "id": f"I_{owner}_{name}_2", "number": 2, "title": "a bug", "url": f"https://github.com/{owner}/{name}/issues/2",
            "comments": {"nodes": [{"id": "IC_1", "author": {"login": "me"}, "body": "seen", "createdAt": "2026-01-01T00:00:00Z", "authorAssociation": "MEMBER"}],
                         "totalCount": 1, "pageInfo": {"hasNextPage": False}}}


def repository(owner, name):
    return {"id": f"R_{owner}_{name}", "name": name, "owner": {"login": owner}, "viewerPermission": "WRITE", "defaultBranchRef": {"name": "main"},
            "hasIssuesEnabled": True, "description": "", "parent": None, "isPrivate": True, "pullRequest": pull(owner, name),
            "pullRequests": {"nodes": [pull(owner, name)], "totalCount": 1, "pageInfo": {"hasNextPage": False}}, "issue": issue(owner, name),
            "issues": {"nodes": [issue(owner, name)], "totalCount": 1, "pageInfo": {"hasNextPage": False}}}


def names(text, variables):
    """key → (owner, name) of each `repository` that is asked for."""
    for key, owner, name in re.findall(r"(?:(\w+)\s*:\s*)?\brepository\s*\(\s*owner\s*:\s*(\S+?)\s*,?\s+name\s*:\s*(\S+?)\s*\)", text):
        yield key or "repository", *(variables.get(word[1:], "") if word[0] == "$" else word.strip('"') for word in (owner.replace("$ ", "$"), name.replace("$ ", "$")))


def answer(handler, body) -> bool:
    try:
        request = json.loads(body)
        text, variables = re.sub(r"\$ ", "$", request["query"]), request.get("variables") or {}
    except (ValueError, KeyError, TypeError):
        return False
    if handler.path != "/graphql":
        return False
    world.saw("graphql", text, variables, handler.headers.get("Authorization", ""), handler.headers.get("Content-Type", ""))
    data = {key: repository(owner, name) for key, owner, name in names(text, variables)}
    if "headRefName" in variables:  # is there a pull request for this branch?
        data["repository"]["pullRequests"]["nodes"] = []
    data |= {"viewer": {"login": "me"}, "node": pull("acme", "app")}
    if "CommentsForIssue" in text:  # here gh takes nothing but what it asks for
        data = {"node": {"comments": issue("acme", "app")["comments"]}}
    for name in re.findall(r"(\w+)\s*:\s*__type\b", text):
        data[name] = {"fields": [{"name": "id"}]}
    if "createPullRequest" in text:
        data = {"createPullRequest": {"pullRequest": pull("acme", "app")}}
    if "addComment" in text:
        data = {"addComment": {"commentEdge": {"node": {"url": "https://github.com/acme/app/pull/1#comment"}}}}
    handler.reply(json.dumps({"data": data}).encode())
    return True
