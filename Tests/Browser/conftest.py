"""The store and the browser that all tests share, and a watch over everything that pages do."""

import contextlib
import os
import re
import urllib.parse

import conformance
import playwright.sync_api
import pytest
import store as stores

# Failed tests show the values of their assertions, too.
pytest.register_assert_rewrite("looks", "server_api")

# Milliseconds. Several test runs may share a machine with two cores.
PATIENCE = 30_000
PICTURES = stores.ROOT / ".build/screens"
playwright.sync_api.expect.set_options(timeout=PATIENCE)


def pytest_addoption(parser):
    parser.addoption("--pictures", action="store_true", help=f"keep pictures of all pages in {PICTURES}")
    parser.addoption("--write-conformance", action="store_true",
                     help="write Documentation/ServerAPIConformance.md instead of comparing it")


# Parts of Chromium's lines in the console about requests to a server that ends: it was gone, it ended before it read the
# request or before it answered, or in the middle of an answer.
ENDED = {"ERR_CONNECTION_REFUSED", "ERR_CONNECTION_RESET", "ERR_EMPTY_RESPONSE", "ERR_CONTENT_LENGTH_MISMATCH",
         "ERR_INCOMPLETE_CHUNKED_ENCODING"}

# The files that take longest. They are begun first, so that no process is left with one of them at the end.
LONGEST = ["test_server_api", "test_samples", "test_notifications", "test_console", "test_console_journeys"]


def pytest_collection_modifyitems(items):
    """Leaves out PostgreSQL where a test judges what is asked and what is signed, before or after a database. One
    process takes what a file tests with one database."""
    def place(item):
        return LONGEST.index(item.path.stem) if item.path.stem in LONGEST else len(LONGEST)

    kept = []
    for item in items:
        database = item.callspec.params.get("store", "") if hasattr(item, "callspec") else ""
        if item.get_closest_marker("one_database") and database == "postgresql":
            continue
        item.add_marker(pytest.mark.xdist_group(f"{item.path.stem} {database}".strip()))
        kept.append(item)
    items[:] = sorted(kept, key=place)


# The names of the tests that passed, and what is wrong with the page of conformance.
PASSED, PROBLEMS = set(), []


def pytest_runtest_logreport(report):
    """Notes the tests that pass."""
    if report.when == "call" and report.passed:
        PASSED.add(re.split(r"[@[]", report.nodeid.rsplit("::", 1)[-1])[0])


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node):
    """Joins what the tests of another process have seen."""
    conformance.seen.update(map(tuple, getattr(node, "workeroutput", {}).get("conformance", [])))


def pytest_terminal_summary(terminalreporter):
    """Says what is wrong with the page of conformance."""
    for line in PROBLEMS:
        terminalreporter.write_line(line)


def check_conformance(session):
    """Compares the page of conformance, if all tests that show something ran."""
    option = session.config.option
    if session.testsfailed or option.keyword or option.markexpr or option.deselect:
        return
    if conformance.tests_of(conformance.FILES) <= PASSED and not any("::" in one for one in session.config.args):
        PROBLEMS.extend(conformance.check(conformance.seen, option.write_conformance))
    elif option.write_conformance:
        PROBLEMS.append("--write-conformance needs all tests of " + ", ".join(conformance.FILES))
    if PROBLEMS:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_sessionfinish(session):
    """Compares the page of conformance, and puts all pictures on one page."""
    if hasattr(session.config, "workerinput"):
        session.config.workeroutput["conformance"] = sorted(conformance.seen)
    else:
        check_conformance(session)
    if session.config.getoption("--pictures") and not hasattr(session.config, "workerinput"):
        figures = "".join(f"<figure><img src='{path.name}' width='300'><figcaption>{path.stem}</figcaption></figure>"
                          for path in sorted(PICTURES.glob("*.png")))
        style = "body { display: flex; flex-wrap: wrap; align-items: start }"
        PICTURES.mkdir(parents=True, exist_ok=True)
        (PICTURES / "index.html").write_text(
            f"<!DOCTYPE html><title>Pages</title><style>{style}</style>{figures}", encoding="utf-8")


@pytest.fixture(scope="session")
def pictures(pytestconfig):
    """The folder for pictures of pages, or None."""
    if not pytestconfig.getoption("--pictures"):
        return None
    PICTURES.mkdir(parents=True, exist_ok=True)
    return PICTURES


@pytest.fixture(scope="session")
def store():
    """The running store."""
    running = stores.Store()
    yield running
    running.stop()


@pytest.fixture(scope="session")
def browser():
    """Debian's Chromium, or its Firefox when CORNERSTORE_TEST_BROWSER names that."""
    path = os.environ["CORNERSTORE_TEST_BROWSER"]
    with playwright.sync_api.sync_playwright() as play:
        if "firefox" in os.path.basename(path):
            running = play.firefox.launch(channel="moz-firefox", executable_path=path)
        else:
            # Chromium has no sandbox for root, and a container may have a small /dev/shm, and no GPU that is worth a
            # process. Names under .example are this machine's, for attacks.
            arguments = ["--disable-dev-shm-usage", "--disable-gpu", "--mute-audio",
                         "--host-resolver-rules=MAP *.example 127.0.0.1"]
            running = play.chromium.launch(
                executable_path=path, args=arguments + (["--no-sandbox"] if os.getuid() == 0 else []))
        yield running
        running.close()


class Watch:
    """Notes what a page must not do: show a dialog, write to the console, fail, or ask another server."""

    def __init__(self, origin):
        self._origins = {urllib.parse.urlsplit(origin).netloc}
        self.faults = []
        # Answers of these statuses are expected, and so is the browser's line in the console about them. Texts are
        # parts of other lines that are expected.
        self.expected = set()

    def follow(self, page):
        """Watches a page."""
        page.on("dialog", self._dialog)
        page.on("console", self._console)
        page.on("pageerror", lambda error: self.faults.append(f"error: {error}"))
        page.on("request", self._request)
        page.on("response", self._response)

    def allow(self, origin):
        """Takes requests to another server for expected."""
        self._origins.add(urllib.parse.urlsplit(origin).netloc)

    def _dialog(self, dialog):
        self.faults.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def _console(self, message):
        words = [f"status of {item} " if isinstance(item, int) else item for item in self.expected]
        if not any(word in message.text for word in words):
            self.faults.append(f"console: {message.text}")

    def _request(self, request):
        address = urllib.parse.urlsplit(request.url)
        if address.scheme in ("http", "https", "ws", "wss") and address.netloc not in self._origins:
            self.faults.append(f"request: {request.url}")

    def _response(self, response):
        if response.status >= 400 and response.status not in self.expected:
            self.faults.append(f"{response.status}: {response.url}")


@contextlib.contextmanager
def watched(browser, store, origin=None, **options):
    """A context of the browser with a watch, which must have noted nothing at the end."""
    origin = origin or store.storefront
    with contextlib.closing(browser.new_context(base_url=origin, **options)) as context:
        context.set_default_timeout(PATIENCE)
        watch = Watch(origin)
        context.on("page", watch.follow)
        yield context, watch
        assert watch.faults == []


@pytest.fixture(params=["with scripts", "without scripts"])
def page(request, browser, store):
    """A new page of a phone, once in a browser that runs scripts and once in one that does not."""
    screen = {"width": 375, "height": 667}
    with watched(browser, store, viewport=screen, java_script_enabled=request.param == "with scripts") as (context, watch):
        page = context.new_page()
        page.watch = watch
        yield page
