"""Apps that run on a page, each a program on a device of its own, and the person who uses one."""

import contextlib
import os
import pathlib
import re
import signal
import subprocess
import tempfile
import threading
import time
import urllib.parse
import uuid

import conftest
import store as stores
from playwright.sync_api import TimeoutError, expect
from store import HOSTILE, ROOT, request as ask

EXAMPLES = ROOT / "Examples"
HEADING = {"level": 1}
CHAPTER = "com.example.bookchapters.chapter1"


class Sample:
    """A program that shows an app on a page, on a device of its own. It can end, and start again on the same port."""

    def __init__(self, store, folder, *command, port=None, **environment):
        """`folder` becomes the device's folder. `command` is a program beside `cornerstore` with its arguments, and
        `environment` has further variables. Without `port`, it gets a free one."""
        self.device = pathlib.Path(folder)
        self._command = [pathlib.Path(store.program).with_name(command[0]), *command[1:]]
        keep = {name: os.environ[name] for name in ("PATH", "TMPDIR", "HOME") if name in os.environ}
        self._environment = keep | {
            "CORNERSTORE_DATA": str(store.data), "CORNERSTORE_DEVICE": str(folder), **environment}
        self._errors = tempfile.TemporaryFile("w+", encoding="utf-8")
        # A socket that has the program's port, also while it is stopped.
        self._held = None if port else stores.hold(0)
        self.port = port or self._held.getsockname()[1]
        self.start()

    def start(self):
        """Starts the program, again on the same port."""
        self._process = subprocess.Popen(
            [*self._command, "--port", str(self.port)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=self._errors, text=True, env=self._environment)
        # Reading ends with the program, which also must not outlive a test that hangs.
        self._watch = threading.Timer(120, self._process.kill)
        self._watch.start()
        for line in self._process.stdout:
            if found := re.search(r" is at (http://\S+)", line):
                self.address = found[1]
                return
        status = self.wait()
        self.close()
        raise AssertionError(f"no page: status {status}, {self.errors}")

    @property
    def errors(self):
        """What the program wrote on standard error."""
        self._errors.seek(0)
        return self._errors.read()

    def wait(self):
        """Waits until the program has ended. Returns its status."""
        # What it still writes.
        self._process.stdout.read()
        self._process.stdout.close()
        self._watch.cancel()
        return self._process.wait()

    def kill(self):
        """Ends the program as a crash does."""
        self._process.kill()
        assert self.wait() == -signal.SIGKILL

    def close(self):
        """Ends the program gracefully, if it runs."""
        if self._process.returncode is None:
            self._process.terminate()
            self.wait()
        if self._held:
            self._held.close()


def ledger(store, email):
    """The transactions of an account, the newest first."""
    path = f"/control/v1/sandbox/transactions?account={urllib.parse.quote(email)}"
    return ask("GET", store.control + path)["rows"]


def order(store, operation, count=1000, **failure):
    """Makes requests of devices fail."""
    ask("POST", store.control + "/control/v1/sandbox/faults", {"operation": operation, "count": count, **failure})


def wait_for_hit(store, operation):
    """Waits until a request met the fault of an operation."""
    end = time.monotonic() + 30
    while time.monotonic() < end:
        faults = ask("GET", store.control + "/control/v1/sandbox/faults")
        if any(fault["operation"] == operation and fault["hits"] for fault in faults):
            return
        time.sleep(0.02)
    raise AssertionError(f"nobody asked for {operation}")


def clear(store):
    """Takes all faults back."""
    ask("DELETE", store.control + "/control/v1/sandbox/faults")


def patience(since):
    """How long to wait, in milliseconds, for what an app has tried in vain since a time. The pauses between its tries
    double."""
    return conftest.PATIENCE + 2_000 * (time.monotonic() - since)


def arrive(page, title, alert=None):
    """Waits for a page of the store, or for this alert on it. On a busy machine the app may lead to its own page first, which has a link to the
    store's, without scripts after a reload. Until the app has heard the answer to its last question, the link leads to
    that one, and its page back."""
    there = page.get_by_role("heading", name=title, exact=True, **HEADING)
    if alert:
        # The page with the question, on which the alert is missing, has the same heading.
        there = page.get_by_role("alert").filter(has_text=alert)
    link = page.get_by_role("link", name=re.compile("^(Answer|Continue|Back to the app)$"))
    end = time.monotonic() + conftest.PATIENCE / 1000
    while time.monotonic() < end:
        with contextlib.suppress(TimeoutError):
            there.or_(link).first.wait_for(timeout=conftest.PATIENCE / 5)
        if there.is_visible():
            return
        # Scripts may take the link away.
        with contextlib.suppress(TimeoutError):
            if link.is_visible():
                link.click(timeout=conftest.PATIENCE / 5)
            else:
                page.reload()
    expect(there).to_be_visible()


def sign_in(page, email, password):
    """Answers the store's question who buys."""
    arrive(page, "Sign in to the store")
    page.get_by_label("E-mail address").fill(email)
    page.get_by_label("Password").fill(password)
    page.get_by_role("button", name="Sign in").click()


@contextlib.contextmanager
def selling():
    """A store that sells what all samples sell, beside a merchant that delivers three issues and lists two."""
    more = (HOSTILE, EXAMPLES / "ServerBooks/ServerBooks.yaml", EXAMPLES / "CrossPromotion/CrossPromotion.yaml",
            EXAMPLES / "Magazine/Magazine.yaml")
    with stores.running(more=more, options=(
            "--merchant-products", str(EXAMPLES / "ServerBooks/Merchant.yaml"),
            "--merchant-products", str(EXAMPLES / "Magazine/Merchant.yaml"))) as store:
        for issue in ("issue-1", "issue-2", "issue-3"):
            store.run("merchant", "content", "put", issue, str(EXAMPLES / f"ServerBooks/Issues/{issue}.txt"),
                      "--data", str(store.data / "merchant"))
        publish(store, CHAPTER)
        publish(store, "com.example.bookchapters.chapter2")
        yield store


def publish(store, folder, *options):
    """Hosts a chapter's content at the store."""
    package = store.data / f"{folder}.pkg"
    store.run("content", "build", str(EXAMPLES / f"BookChapters/Content/{folder}"), "-o", str(package), *options)
    store.run("content", "upload", str(package), "--app", "com.example.bookchapters")


class Kind:
    """A sample: how it is started, and how the first thing that it sells is bought."""

    def __init__(self, name, product, title, price, buy, *command):
        self.name, self.product, self.title, self.price = name, product, title, price
        # The name of its button.
        self._buy = buy or f"Buy {title}"
        # The name on the app's list.
        self.label = "5 credits" if name == "monkey-credits" else title
        self.command = command or (name, "--web")

    def buy(self, page):
        """The button that buys."""
        return page.get_by_role("button", name=self._buy)

    def start(self, store, folder, **environment):
        """Starts it on a device. All devices of a test belong to one user of the merchant."""
        if self.name in ("server-books", "magazine"):
            token = folder.parent / "user.token"
            if not token.exists():
                user = uuid.uuid4().hex
                made = subprocess.run(
                    [store.program, "merchant", "token", "--user", user, "--data", str(store.data / "merchant")],
                    check=True, timeout=60, stdin=subprocess.DEVNULL, capture_output=True, text=True)
                token.write_text(made.stdout, encoding="utf-8")
            environment["CORNERSTORE_USER_TOKEN_FILE"] = str(token)
        command = self.command
        if command[0] == "cornerstore":
            command += ("--device", str(folder))
        return Sample(store, folder, *command, **environment)


MONKEYS = Kind("monkey-credits", "com.example.monkeys.credits5", "5 Monkey Credits", "$0.99", "Buy 5 credits")
FILTERS = Kind("photo-filters", "com.example.photofilters.mono", "Mono", "$0.99", "Buy $0.99: mono")
CHAPTERS = Kind("book-chapters", CHAPTER, "The Light", "$0.99", "Buy Chapter 1")
BOOKS = Kind("server-books", "com.example.serverbooks.issue1", "The Ferry", "$1.99", "Buy The Ferry")
MAGAZINE = Kind("magazine", "com.example.magazine.monthly", "Monthly", "$2.99", "Subscribe to Monthly")
SHELL = Kind("device", "com.example.photofilters.mono", "Mono", "$0.99", None,
             "cornerstore", "device", "web", "--app", "com.example.photofilters")
HOSTED = Kind("device", CHAPTER, "The Light", "$0.99", None,
              "cornerstore", "device", "web", "--app", "com.example.bookchapters")
PROMOTION = Kind("cross-promotion", None, None, None, "Show")
SELLERS = [MONKEYS, FILTERS, CHAPTERS, BOOKS, MAGAZINE, SHELL]


@contextlib.contextmanager
def person(browser, store, *samples, **options):
    """A page of somebody who uses these samples."""
    with conftest.watched(browser, store, samples[0].address, **options) as (context, watch):
        for origin in (store.control, store.storefront, *(sample.address for sample in samples)):
            watch.allow(origin)
        page = context.new_page()
        page.watch = watch
        yield page


@contextlib.contextmanager
def using(browser, store, kind, folder, **options):
    """A sample on a device of its own, and the page of somebody who uses it."""
    with contextlib.closing(kind.start(store, folder / "device")) as sample, \
            person(browser, store, sample, **options) as page:
        page.goto("/")
        yield sample, page


def headline(page):
    """The main fact."""
    return page.locator(".headline")


def said(page):
    """What the app said last."""
    return page.locator("#app .note.said")


def lines(page):
    """The last events."""
    return page.locator("#happened .timeline")


def item(page, name):
    """Something that the app lists."""
    return page.locator(".goods > li", has=page.get_by_text(name, exact=True))


def settle(page, there, scripts=True):
    """Waits until something is on the page: without a reload, or without scripts by reloads."""
    if not scripts:
        end = time.monotonic() + conftest.PATIENCE / 1000
        while not there.first.is_visible() and time.monotonic() < end:
            page.reload()
    expect(there.first).to_be_visible()


def pay(page, title):
    """Answers the store's question about a payment."""
    arrive(page, title)
    page.get_by_role("button", name="Buy").click()


def buy(page, kind, email, password):
    """Presses the button, signs in and pays."""
    kind.buy(page).click()
    sign_in(page, email, password)
    pay(page, kind.title)


def bar(page):
    """The bar of a download."""
    return page.get_by_role("progressbar", name="Download of")


def granted(page, kind):
    """What shows that the first thing is bought."""
    return {"monkey-credits": headline(page).filter(has_text="Monkey credits: 5"),
            "photo-filters": page.get_by_role("button", name="Use mono"),
            "book-chapters": page.get_by_role("button", name="Read Chapter 1"),
            "server-books": page.get_by_role("button", name="Read The Ferry"),
            "magazine": headline(page).filter(has_text="By the receipt: Monthly, free until"),
            "device": item(page, kind.title).get_by_text("In the receipt.")}[kind.name]


def assert_bought_once(store, email, kind):
    """There must be one purchase, and the app must finish it, which the store learns after the page shows the grant."""
    end = time.monotonic() + conftest.PATIENCE / 1000
    while not all("finishedDate" in row for row in ledger(store, email)) and time.monotonic() < end:
        time.sleep(0.05)
    rows = ledger(store, email)
    assert [(row["productId"], "finishedDate" in row) for row in rows] == [(kind.product, True)], rows
