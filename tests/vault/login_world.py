"""A server of logins whose refresh tokens are used once. A token that begins with START is the first of a login; after that only the last one
that was issued is good. The path says how it answers. Google's keeps its refresh tokens, and answers without one. Where a refresh token begins
with "rt_", access tokens are JWTs, and all tokens have SIGNATURE."""
import base64
import gzip
import itertools
import json
import threading
import urllib.parse

import world

START = ("sk-ant-ort01-start-", "1//start-", "rt_start-")
SIGNATURE = "c2lnbmF0dXJlLXNpZ25hdHVyZS1zaWduYXR1cmU"
GOOGLE = "oauth2.googleapis.com"
LOCK = threading.Lock()
NUMBERS = itertools.count(1)
ISSUED, USED, ACCESS = set(), set(), set()
RELEASED = threading.Event()


def grant_of(handler, body):
    if handler.headers.get("Content-Type", "").startswith("application/json"):
        return json.loads(body)
    return dict(urllib.parse.parse_qsl(body.decode(), strict_parsing=True))


def jwt(claims, end="") -> str:
    return ".".join([*(base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in ({"alg": "RS256"}, claims)), SIGNATURE + end])


def issue(token, is_google):
    """The tokens that follow; None for one that is not good."""
    with LOCK:
        if token in USED or not (token in ISSUED or token.startswith(START)):
            return None
        if is_google:
            return {"access_token": f"ya29.{next(NUMBERS):06}-access/+token-0123456789abcdefghij"}
        USED.add(token)
        number = next(NUMBERS)
        tokens = {"access_token": f"sk-ant-oat01-{number:06}-access/+token-0123456789abcdefghij",
                  "refresh_token": f"sk-ant-ort01-{number:06}-refresh/+token-0123456789abcdefghij"}
        if token.startswith("rt_"):
            tokens = {"access_token": jwt({"https://api.openai.com/auth": {"chatgpt_account_id": "account-1"}}, f"{number:06}"),
                      "refresh_token": f"rt_{number:06}-{SIGNATURE}"}
        ISSUED.add(tokens["refresh_token"])
        ACCESS.add(tokens["access_token"])
    return tokens


def text_of(path, tokens):
    answer = {"token_type": "Bearer", **tokens, "expires_in": 3600, "scope": "user:inference user:profile"}
    if path.startswith("/echo/"):
        answer["note"] = f"you have got {tokens['access_token']} and {tokens['refresh_token']}"
    text = json.dumps(answer)
    if path.startswith("/twice/"):
        text = text[:-1] + ', "access_token": "another-access-token-01234"}'
    if path.startswith("/odd/"):
        text = "access_token=" + tokens["access_token"]
    if path.startswith("/split/"):
        text = text.replace(tokens["access_token"], tokens["access_token"] + "\\r\\nX-Other: 1")
    if path.startswith("/nested/"):
        text = text[:-1] + ', "more": [{"refresh_token": "another-refresh-token-01234"}]}'
    if path.startswith("/named/"):
        text = text[:-1] + ', "refreshToken": "another-refresh-token-01234"}'
    if path.startswith("/large/"):
        text = text[:-1] + ', "note": "' + "x" * 100000 + '"}'
    return text.encode()


def reply(handler, status, body):
    handler.send_response(status)
    handler.send_header("Content-Type", "application/json")
    if handler.path.startswith("/gzip/"):
        handler.send_header("Content-Encoding", "gzip")
        body = gzip.compress(body)
    handler.send_header("Content-Length", str(len(body)))
    handler.end_headers()
    handler.wfile.write(body)


def answer(handler, body):
    """POST …/token. Returns whether the request was one."""
    is_google = handler.headers.get("Host") == GOOGLE
    if is_google and handler.path == "/tokeninfo":
        reply(handler, 200, b'{"scope": "cloud-platform", "expires_in": 3600}')
        return True
    if handler.command != "POST" or not handler.path.endswith("/token"):
        return False
    grant = grant_of(handler, body)
    world.saw("grant", handler.path, grant, handler.headers.get("Content-Length"))
    if handler.path.startswith("/busy/"):
        reply(handler, 503, b'{"error": "busy"}')
        return True
    tokens = issue(grant.get("refresh_token", ""), is_google)
    if not tokens:
        reply(handler, 400, b'{"error": "invalid_grant"}')
        return True
    world.saw("issued", tokens)
    if handler.path.startswith("/late/"):
        RELEASED.clear()
        world.saw("waits")
        RELEASED.wait(30)
    reply(handler, 200, text_of(handler.path, tokens))
    return True


def me(handler):
    """GET /me: is the access token one that was issued?"""
    scheme, _, token = handler.headers.get("Authorization", "").partition(" ")
    with LOCK:
        is_good = scheme == "Bearer" and (token in ACCESS or token.startswith("sk-ant-oat01-start-"))
    world.saw("me", token)
    reply(handler, 200 if is_good else 401, b"{}")
