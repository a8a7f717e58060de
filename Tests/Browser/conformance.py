"""Documentation/ServerAPIConformance.md: what Apple defines of its server API and notifications, with tests of it.

The tests' app server notes what it received and checked. At the end of a whole run, the page must say the same.
"""

import ast
import difflib
import json
import os
import pathlib
import re
import urllib.parse

import apple

HERE = pathlib.Path(__file__).parent
PAGE = HERE.parents[1] / "Documentation/ServerAPIConformance.md"
# The files whose tests show something.
FILES = ("test_notification_types.py", "test_notifications.py", "test_notifications_v1.py", "test_server_api.py")
ENVIRONMENTS = ("sandbox", "production")
UNAUTHENTICATED = "401"

# What the tests of this process have seen: the name that the page has for it, and the test.
seen = set()


def note(name):
    """Notes that the current test shows something. `name` is what the page calls it."""
    current = os.environ.get("PYTEST_CURRENT_TEST", "")
    test = current.rsplit(" (", 1)[0].rsplit("::", 1)[-1].split("[")[0]
    if test:
        seen.add((name, test))


def note_members(owner, content):
    """Notes the members of an object, and those of objects in its arrays."""
    for name, value in content.items():
        note(f"{owner} {name}")
        for one in value if isinstance(value, list) else []:
            if isinstance(one, dict):
                note_members(f"{owner} {name}[].", one)


def note_exchange(method, url, asked, status, body, environment):
    """Notes a successful answer of an endpoint, and what was asked. `asked` and `body` are the request's body and the
    answer's, in JSON."""
    address = urllib.parse.urlsplit(url)
    if not 200 <= status < 300:
        return
    for endpoint in apple.ENDPOINTS:
        pattern = re.sub(r"\\\{\w+\\\}", "[^/]+", re.escape(endpoint))
        if re.fullmatch(pattern, f"{method} {address.path}"):
            note(f"{endpoint} in {environment}")
            note_request(endpoint, urllib.parse.parse_qs(address.query), json.loads(asked) if asked else {})
            if body:
                note_members(endpoint, json.loads(body))


def note_request(endpoint, query, body):
    """Notes the parameters and the members of a request. Tests may send others, which the store ignores."""
    for name in set(query) & set(apple.QUERIES.get(endpoint, ())):
        note(parameter(endpoint, name))
    for name in set(body) & set(apple.BODIES.get(endpoint, ())):
        note(sent(endpoint, name))


def note_value(member, value):
    """Notes a value of a member."""
    note(f"{member} {value}")


def note_values(payload):
    """Notes the values of a payload's members whose values the page lists. `status` is noted where an answer has it."""
    for name in set(payload) & set(apple.VALUES) - {"status"}:
        note_value(name, payload[name])


def note_version_1(body):
    """Notes a notification of version 1."""
    note(of_version_1(body["notification_type"]))
    for name, value in body.items():
        note(f"{apple.VERSION_1} {name}")
        for inner in value if isinstance(value, dict) else ():
            note(f"{apple.VERSION_1} {name}.{inner}")


def note_error(code):
    """Notes an error whose number and text a test has checked."""
    note(str(int(code)))


def note_notification(notification, subtype):
    """Notes a type of notifications."""
    note(words(notification, subtype))


def words(notification, subtype):
    """The name of a type and its subtype."""
    return notification + (f"/{subtype}" if subtype else "")


def parameter(endpoint, name):
    """The name of a parameter of a query."""
    return f"{endpoint} with parameter {name}"


def sent(endpoint, name):
    """The name of a member of a request."""
    return f"{endpoint} with {name} in the body"


def of_version_1(notification):
    """The name of a type of version 1."""
    return f"{notification} of version 1"


def defined():
    """The names of everything that Apple defines."""
    names = [f"{endpoint} in {environment}" for endpoint in apple.ENDPOINTS for environment in ENVIRONMENTS]
    names += [f"{owner} {member}" for owner, members in (apple.ENDPOINTS | apple.PAYLOADS).items()
              for member in members]
    names += [parameter(endpoint, one) for endpoint, parameters in apple.QUERIES.items() for one in parameters]
    names += [sent(endpoint, one) for endpoint, members in apple.BODIES.items() for one in members]
    names += [f"{member} {value}" for member, values in apple.VALUES.items() for value in values]
    names += [UNAUTHENTICATED, *map(str, apple.ERRORS)]
    names += [words(one, subtype) for one, subtypes in apple.NOTIFICATIONS.items() for subtype in subtypes]
    names += [of_version_1(one) for one in apple.NOTIFICATIONS_1]
    names += [f"{apple.VERSION_1} {member}" for member in apple.MEMBERS_1]
    return names


def tests_of(names):
    """The names of the tests in the files, as they are written there."""
    return {part.name for name in names for part in ast.walk(ast.parse((HERE / name).read_text(encoding="utf-8")))
            if isinstance(part, ast.FunctionDef) and part.name.startswith("test_")}


def page(found):
    """The page, and what is wrong. `found` has pairs of names and tests."""
    shown = {}
    for name, test in found:
        # Members of objects in arrays are noted with a blank after the brackets.
        shown.setdefault(name.replace("[]. ", "[]."), set()).add(test)
    names = defined()
    problems = [f"{name} is not among what Apple defines (Tests/Browser/apple.py)"
                for name in sorted(set(shown) - set(names))]
    problems += [f"no test shows {name}, and Tests/Browser/apple.py has no reason"
                 for name in names if name not in shown and name not in apple.REASONS]
    problems += [f"a test shows {name}, for which Tests/Browser/apple.py has a reason"
                 for name in apple.REASONS if name in shown]
    problems += [f"Tests/Browser/apple.py has a reason for {name}, which nothing defines"
                 for name in apple.REASONS if name not in names]

    def cell(name):
        """The first test that shows something, or why none does."""
        if name in shown:
            return f"`{min(shown[name])}`"
        return apple.REASONS.get(name, "not tested")

    lines = [
        "# The conformance of the server API", "",
        "This page lists the endpoints, members and errors that Apple defines for the [App Store Server",
        f"API](ServerAPI.md), version {apple.VERSION}, and for [server notifications](Notifications.md), with the types of",
        "notifications and the values of some members. Beside each stands a test that covers it, the first by name, or",
        "the reason why none does. A test covers what the store accepted in a request, and what it answered or sent.",
        "Apple's own library for Python makes most requests, and verifies and reads what is signed. The tests of",
        "`Tests/Browser` write this page (`make test-browser ARGS=--write-conformance`) and compare it;",
        "`Tests/Browser/apple.py` lists what Apple defines. The endpoints of groups stand here without their members.",
        "Apple documents Advanced Commerce, retention messages and the reports of external purchases as APIs of their",
        "own, and they are not listed.", "",
        "## Endpoints", "",
        "| endpoint | sandbox | production |", "|---|---|---|"]
    for endpoint in apple.ENDPOINTS:
        lines.append(f"| `{endpoint}` | " + " | ".join(cell(f"{endpoint} in {one}") for one in ENVIRONMENTS) + " |")
    lines += ["", "## Parameters of queries", "", "| endpoint | parameter | |", "|---|---|---|"]
    lines += [f"| `{endpoint}` | `{one}` | {cell(parameter(endpoint, one))} |"
              for endpoint, parameters in apple.QUERIES.items() for one in parameters]
    lines += ["", "## Members of requests", "", "| endpoint | member | |", "|---|---|---|"]
    lines += [f"| `{endpoint}` | `{one}` | {cell(sent(endpoint, one))} |"
              for endpoint, members in apple.BODIES.items() for one in members]
    lines += ["", "## Members of answers", "", "| endpoint | member | |", "|---|---|---|"]
    lines += [f"| `{endpoint}` | `{member}` | {cell(f'{endpoint} {member}')} |"
              for endpoint, members in apple.ENDPOINTS.items() for member in members]
    lines += ["", "## Values", "", "| member | value | |", "|---|---|---|"]
    lines += [f"| `{member}` | `{value}` | {cell(f'{member} {value}')} |"
              for member, values in apple.VALUES.items() for value in values]
    for owner, members in apple.PAYLOADS.items():
        lines += ["", f"## {owner}", "", "| member | |", "|---|---|"]
        lines += [f"| `{member}` | {cell(f'{owner} {member}')} |" for member in members]
    lines += ["", "## Errors", "", "| number | text | |", "|---|---|---|",
              f"| – | `Unauthenticated`, with status 401 | {cell(UNAUTHENTICATED)} |"]
    lines += [f"| {code} | {text} | {cell(str(code))} |" for code, text in apple.ERRORS.items()]
    lines += ["", "## Notifications", "",
              "[Notification types](NotificationTypes.md) has the commands and what arrives.", "",
              "| type | subtype | |", "|---|---|---|"]
    lines += [f"| `{one}` | {f'`{subtype}`' if subtype else '–'} | {cell(words(one, subtype))} |"
              for one, subtypes in apple.NOTIFICATIONS.items() for subtype in subtypes]
    lines += ["", "## Notifications of version 1", "", "| type | |", "|---|---|"]
    lines += [f"| `{one}` | {cell(of_version_1(one))} |" for one in apple.NOTIFICATIONS_1]
    lines += ["", f"## {apple.VERSION_1}", "", "| member | |", "|---|---|"]
    lines += [f"| `{member}` | {cell(f'{apple.VERSION_1} {member}')} |" for member in apple.MEMBERS_1]
    return "\n".join(lines) + "\n", problems


def check(found, writes):
    """Writes the page, or compares it. Returns lines that say what is wrong."""
    text, problems = page(found)
    if writes:
        PAGE.write_text(text, encoding="utf-8")
        return problems
    known = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
    return problems + list(difflib.unified_diff(
        known.splitlines(), text.splitlines(), "Documentation/ServerAPIConformance.md", "what the tests show",
        lineterm=""))
