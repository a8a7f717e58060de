"""Each type of server notification arrives as Documentation/NotificationTypes.md says."""

import importlib.machinery
import importlib.util

import conformance
import pytest
import store as stores

SCRIPT = str(stores.ROOT / "scripts/cause-every-notification")


def script():
    """The script that writes the page, as a module."""
    loader = importlib.machinery.SourceFileLoader("causes", SCRIPT)
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("causes", loader))
    loader.exec_module(module)
    return module


CAUSES = script()
PAGE = CAUSES.PAGE.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def causing():
    """The store and the receiver of all lines, which run in their order."""
    with CAUSES.running() as running:
        yield running


@pytest.mark.parametrize(
    "number", range(len(CAUSES.LINES)), ids=["-".join(filter(None, line[:2])) for line in CAUSES.LINES])
def test_the_page_of_types_says_what_arrives(causing, number):
    """A test for each line of the script, so that each has little to do."""
    line = CAUSES.LINES[number]
    rows = PAGE.removeprefix(CAUSES.HEAD).splitlines(keepends=True)
    assert PAGE.startswith(CAUSES.HEAD) and len(rows) == len(CAUSES.LINES)
    assert CAUSES.make_row(*causing, *line) == rows[number]
    conformance.note_notification(*line[:2])
