"""A second reading of SBPL, the language of macOS's sandbox profiles: as much of it as bawn writes.

Of all rules that match an operation on a path, the last decides. Filters: subpath, literal, regex, require-all, require-any,
require-not. Strings: "…", (param "NAME"), (string-append …). Anything else in a rule about files is an error.
"""
import re


def tokens(text):
    text = re.sub(r"^;.*$", "", text, flags=re.M)
    found = re.findall(r'"(?:\\.|[^"\\])*"|[()]|[^\s()"]+', text)
    assert re.sub(r"\s", "", "".join(found)) == re.sub(r"\s", "", text), "not SBPL"
    return found


def parse(text):
    """Nested lists; a string is ("text", …)."""
    stack = [[]]
    for token in tokens(text):
        if token == "(":
            stack.append([])
        elif token == ")":
            done = stack.pop()
            stack[-1].append(done)
        elif token.startswith('"'):
            stack[-1].append(("text", re.sub(r"\\(.)", r"\1", token[1:-1], flags=re.S)))
        else:
            stack[-1].append(token)
    assert len(stack) == 1, "brackets do not match"
    return stack[0]


class Profile:
    def __init__(self, text, parameters):
        self.parameters = parameters
        self.rules = [form for form in parse(text) if form[0] in ("allow", "deny")]
        assert ["deny", "default"] in self.rules

    def text(self, form):
        if isinstance(form, tuple):
            return form[1]
        if form[0] == "param":
            return self.parameters[self.text(form[1])]
        assert form[0] == "string-append", form
        return "".join(self.text(part) for part in form[1:])

    def matches(self, form, path):
        name, *rest = form
        if name == "subpath":
            top = self.text(rest[0])
            return path == top or path.startswith(top.rstrip("/") + "/")
        if name == "literal":
            return path == self.text(rest[0])
        if name == "regex":
            return re.search(self.text(rest[0]), path, re.S) is not None
        if name == "require-all":
            return all(self.matches(one, path) for one in rest)
        if name == "require-any":
            return any(self.matches(one, path) for one in rest)
        assert name == "require-not", form
        return not self.matches(rest[0], path)

    def allows(self, operation, path):
        answer = False
        for verdict, *rest in self.rules:
            names = [part for part in rest if isinstance(part, str)]
            filters = [part for part in rest if not isinstance(part, str)]
            covers = any(name in ("default", operation) or (name.endswith("*") and operation.startswith(name[:-1]))
                         for name in names)
            if covers and (not filters or any(self.matches(one, path) for one in filters)):
                answer = verdict == "allow"
        return answer
