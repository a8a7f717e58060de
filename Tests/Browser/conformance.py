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
FILES = ("test_notification_types.py", "test_notifications.py", "test_server_api.py")
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


def note_answer(method, url, status, body, environment):
    """Notes a successful answer of an endpoint."""
    path = urllib.parse.urlsplit(url).path
    if not 200 <= status < 300:
        return
    for endpoint in apple.ENDPOINTS:
        pattern = re.sub(r"\\\{\w+\\\}", "[^/]+", re.escape(endpoint))
        if re.fullmatch(pattern, f"{method} {path}"):
            note(f"{endpoint} in {environment}")
            if body:
                note_members(endpoint, json.loads(body))


def note_error(code):
    """Notes an error whose number and text a test has checked."""
    note(str(int(code)))


def note_notification(notification, subtype):
    """Notes a type of notifications."""
    note(words(notification, subtype))


def words(notification, subtype):
    """The name of a type and its subtype."""
    return notification + (f"/{subtype}" if subtype else "")


def defined():
    """The names of everything that Apple defines."""
    names = [f"{endpoint} in {environment}" for endpoint in apple.ENDPOINTS for environment in ENVIRONMENTS]
    names += [f"{owner} {member}" for owner, members in (apple.ENDPOINTS | apple.PAYLOADS).items()
              for member in members]
    names += [UNAUTHENTICATED, *map(str, apple.ERRORS)]
    names += [words(one, subtype) for one, subtypes in apple.NOTIFICATIONS.items() for subtype in subtypes]
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
        return "not shown: " + apple.REASONS.get(name, "no reason")

    lines = [
        "# The conformance of the server API", "",
        "What Apple defines of the [App Store Server API](ServerAPI.md), version 1.21, and of [server",
        "notifications](Notifications.md), each with a test that shows it. Apple's own library for Python makes most",
        "requests, and verifies and reads what is signed. The tests of `Tests/Browser` write this page",
        "(`make test-browser ARGS=--write-conformance`) and compare it; `Tests/Browser/apple.py` lists what Apple",
        "defines.", "",
        "## Endpoints", "",
        "| endpoint | sandbox | production |", "|---|---|---|"]
    for endpoint in apple.ENDPOINTS:
        lines.append(f"| `{endpoint}` | " + " | ".join(cell(f"{endpoint} in {one}") for one in ENVIRONMENTS) + " |")
    lines += ["", "## Members of answers", "", "| endpoint | member | |", "|---|---|---|"]
    lines += [f"| `{endpoint}` | `{member}` | {cell(f'{endpoint} {member}')} |"
              for endpoint, members in apple.ENDPOINTS.items() for member in members]
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
