"""The payment sheet's pages: fit for every screen, and answered by an app's customers with and without JavaScript."""

import contextlib
import http.client
import http.server
import os
import pathlib
import re
import subprocess
import threading
import time
import urllib.parse

import conftest
import pytest
from looks import DARK, DESKTOP, LARGE, NARROW, PHONE, PHONE_DARK, assert_fit_on, assert_valid
from playwright.sync_api import expect
from store import Refused, request as ask

SCREENS = {"desktop": DESKTOP, "dark": DARK, "phone": PHONE, "narrow": NARROW, "large": LARGE,
           "forced": DESKTOP._replace(forced="active"), "forced-dark": PHONE_DARK._replace(forced="active")}

LONG = "Unbreakable" * 30
CONFIRM = {"kind": "confirm", "title": "Five Credits", "lines": ["$0.99", "Account: ann@example.com"],
           "environment": "Sandbox"}
SIGN_IN = {"kind": "signIn", "title": "Sign in to the store", "lines": [], "environment": "Sandbox"}

# The questions, and the answers that were given to them.
PAGES = {
    "confirm": (CONFIRM, None), "production": (CONFIRM | {"environment": "Production"}, None),
    "unknown": ({**CONFIRM, "environment": None}, None), "sign-in": (SIGN_IN, None),
    "account": (SIGN_IN | {"email": "ann@example.com"}, None),
    "wrong": (SIGN_IN | {"enteredEmail": "ann@example.com", "lines": ["The password is not right. Try again."]}, None),
    "empty": (SIGN_IN, "choice=accept&email=ann@example.com"), "buttons": (CONFIRM, "choice=later"),
    "code": ({"kind": "code", "title": "Redeem a code", "environment": "Sandbox",
              "lines": ["This code was used."]}, None),
    "notice": ({"kind": "notice", "title": "Store", "environment": "Sandbox",
                "lines": ["Your payment was declined."]}, None),
    "increase": ({"kind": "priceIncrease", "title": "Monthly", "environment": "Sandbox",
                  "lines": ["It will cost $2.99 instead of $1.99."]}, None),
    "refund": ({"kind": "refund", "title": "Refund of Five Credits", "environment": "Sandbox",
                "lines": ["$0.99", "Account: ann@example.com"],
                "options": [{"value": "LEGAL", "label": "A legal reason"},
                            {"value": "OTHER", "label": "Another reason"}]}, None),
    "hostile": ({"kind": "signIn", "title": f"<b>{LONG}</b>", "lines": [f"<script>alert('x')</script> {LONG}"],
                 "enteredEmail": "<i>@" + "a" * 200, "environment": "Sandbox"}, None),
    "bought": (CONFIRM, "choice=accept"), "cancelled": (CONFIRM, "choice=decline"),
    "back": (CONFIRM | {"returnAddress": "http://127.0.0.1:9/"}, "choice=decline"), "gone": (None, None),
}
# The pages of these are the answers to forms.
REFUSED = ("empty", "buttons")

# The addresses of the questions of a test.
ASKED = []


def post(store, question):
    """Asks a question as an app does. Returns its address."""
    address = store.control + ask("POST", store.control + "/control/v1/sheets", question)["path"]
    ASKED.append((address, question["kind"]))
    return address


@pytest.fixture(autouse=True)
def ended():
    """Answers the questions of a test and fetches the answers, because only so many may wait."""
    yield
    for address, kind in ASKED:
        address = urllib.parse.urlsplit(address)
        connection = http.client.HTTPConnection(address.netloc)
        choice = "accept" if kind == "notice" else "decline"
        for method, path, form in [("POST", address.path + "/answer", f"choice={choice}"),
                                   ("GET", f"/control/v1{address.path}/answer", None)]:
            connection.request(method, path, form, {"Content-Type": "application/x-www-form-urlencoded"})
            answer = connection.getresponse()
            answer.read()
            assert answer.status in (200, 303, 409), (path, answer.status)
        connection.close()
    ASKED.clear()


@contextlib.contextmanager
def sheets(browser, store, **options):
    """A page with a watch over the control port."""
    with conftest.watched(browser, store, store.control, **options) as (context, watch):
        page = context.new_page()
        page.watch = watch
        yield page


@pytest.fixture(scope="module")
def sheet(browser, store):
    """A page on which a question can be asked."""
    with sheets(browser, store) as page:
        page.watch.expected = {404, 422}
        yield page


def opened(page, store, name):
    """Opens a page of `PAGES`. Returns the answer that the browser got."""
    question, form = PAGES[name]
    if question is None:
        return page.goto(store.control + "/sheets/" + "0" * 32)
    address = post(store, question)
    if name not in REFUSED:
        if form:
            page.context.request.post(address + "/answer", data=form, max_redirects=0,
                                      headers={"Content-Type": "application/x-www-form-urlencoded"})
        return page.goto(address)
    # A refused form is the answer to it. No browser sends these by itself.
    page.goto(address)
    page.locator("form").evaluate("form => form.noValidate = true")
    for field, value in urllib.parse.parse_qsl(form):
        control = page.locator("button" if field == "choice" else f"[name={field}]").first
        control.evaluate("(control, value) => control.value = value", value)
    with page.expect_navigation() as navigation:
        page.locator("form button").first.click()
    return navigation.value


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_fit_for_people(sheet, store, name, pictures):
    answer = opened(sheet, store, name)
    assert answer.status == (422 if name in REFUSED else 404 if name == "gone" else 200)
    expect(sheet.get_by_role("heading", level=1)).to_be_visible()
    assert_valid(answer)
    policy = answer.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; style-src 'self'; form-action 'self'") and "script" not in policy
    assert_fit_on(sheet, SCREENS, f"sheet-{name}", pictures)


class App:
    """Monkey Credits on a device of its own, which asks on web pages."""

    def __init__(self, store, folder, *arguments):
        program = pathlib.Path(store.program).with_name("monkey-credits")
        keep = {name: os.environ[name] for name in ("PATH", "TMPDIR", "HOME") if name in os.environ}
        self._process = subprocess.Popen(
            [program, *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env=keep | {"CORNERSTORE_DATA": str(store.data), "CORNERSTORE_DEVICE": str(folder),
                        "CORNERSTORE_SHEET": "web"})
        self._watch = threading.Timer(120, self._process.kill)
        self._watch.start()

    def question(self):
        """The address of the next question."""
        for line in self._process.stderr:
            if found := re.match("Answer at (http.*)", line):
                return found[1]
        raise AssertionError(f"no question; status {self._process.wait()}")

    def end(self):
        """The status and the output of the program, once it has ended."""
        output = self._process.stdout.read()
        # Questions that nobody was waiting for.
        self._process.stderr.read()
        self._watch.cancel()
        return self._process.wait(), output


@pytest.fixture(params=[True, False], ids=["with scripts", "without scripts"])
def page(request, browser, store):
    """A page of a browser that runs scripts, and of one that does not."""
    with sheets(browser, store, java_script_enabled=request.param) as page:
        yield page


def arrive(page, there):
    """Waits for the app's next question. A page that has waited for it for some seconds has a link to it instead."""
    link, end = page.get_by_role("link", name="go on here"), time.monotonic() + conftest.PATIENCE / 1000
    there.or_(link).first.wait_for()
    while not there.is_visible() and time.monotonic() < end:
        link.click()
        there.or_(link).first.wait_for()
    expect(there).to_be_visible()


def sign_in(page, email, password):
    """Fills the form in and sends it."""
    page.get_by_label("E-mail address").fill(email)
    page.get_by_label("Password").fill(password)
    page.get_by_role("button", name="Sign in").click()


def test_a_purchase_of_an_app_from_sign_in_to_thanks(page, store, tmp_path):
    email, password = store.account()
    app = App(store, tmp_path, "--buy", "credits5")
    page.goto(app.question())
    expect(page.get_by_role("banner")).to_contain_text("Sandbox")
    sign_in(page, email, "not the password")
    # The app asks again, and the page leads there.
    arrive(page, page.get_by_role("alert"))
    expect(page.get_by_role("alert")).to_have_text("The password is not right. Try again.")
    expect(page.get_by_label("E-mail address")).to_have_value(email)
    expect(page.get_by_label("Password")).to_have_value("")
    expect(page.get_by_label("Password")).to_have_attribute("aria-invalid", "true")
    page.get_by_label("Password").fill(password)
    page.get_by_role("button", name="Sign in").click()
    arrive(page, page.get_by_role("heading", name="5 Monkey Credits", exact=True, level=1))
    expect(page.get_by_role("main")).to_contain_text("$0.99")
    expect(page.get_by_role("main")).to_contain_text(email)
    page.get_by_role("button", name="Buy").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Thank you")
    expect(page.get_by_role("main")).to_contain_text("You answered “Buy”.")
    status, output = app.end()
    assert status == 0 and "Monkey credits: 5" in output


def test_a_sheet_is_answered_by_keyboard_alone(page, store, tmp_path):
    email, password = store.account()
    app = App(store, tmp_path, "--buy", "credits5")
    page.goto(app.question())
    for key in ("Tab", "Tab"):
        page.keyboard.press(key)
    expect(page.get_by_label("E-mail address")).to_be_focused()
    page.keyboard.type(email)
    page.keyboard.press("Tab")
    page.keyboard.type(password)
    page.keyboard.press("Enter")
    arrive(page, page.get_by_role("heading", name="5 Monkey Credits", exact=True, level=1))
    # Before its style sheet has arrived, a page is not shown, and nothing of it takes the focus.
    page.wait_for_load_state()
    for key in ("Tab", "Tab", "Tab"):
        page.keyboard.press(key)
    expect(page.get_by_role("button", name="Cancel")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_role("main")).to_contain_text("Nothing was bought.")
    status, output = app.end()
    assert status == 1 and "bought" not in output


@pytest.mark.parametrize(("setting", "who"), [("asksToBuy", "approval"), ("interruptsPurchases", "customer")])
def test_a_purchase_that_waits(page, store, tmp_path, setting, who):
    def waiting():
        return [purchase["key"] for purchase in ask("GET", store.control + "/control/v1/sandbox/pending-purchases")
                if purchase["waitsFor"] == who]

    before = waiting()
    email, password = store.account()
    ask("PATCH", f"{store.control}/control/v1/sandbox/accounts/{email}", {setting: True})
    app = App(store, tmp_path, "--buy", "credits5")
    page.goto(app.question())
    sign_in(page, email, password)
    arrive(page, page.get_by_role("button", name="Buy"))
    page.get_by_role("button", name="Buy").click()
    expect(page.get_by_role("button", name="Buy")).to_have_count(0)
    _, output = app.end()
    assert len(waiting()) == len(before) + 1 and "bought" not in output


def test_a_declined_card_is_told_on_the_next_page(page, store, tmp_path):
    email, password = store.account()
    ask("POST", store.control + "/control/v1/sandbox/payment-rules", {"name": "poor", "account": email, "count": 1})
    app = App(store, tmp_path, "--buy", "credits5")
    page.goto(app.question())
    sign_in(page, email, password)
    arrive(page, page.get_by_role("button", name="Buy"))
    page.get_by_role("button", name="Buy").click()
    arrive(page, page.get_by_role("button", name="OK"))
    expect(page.get_by_role("main")).to_contain_text("declined")
    page.get_by_role("button", name="OK").click()
    expect(page.get_by_role("main")).to_contain_text("Return to the app.")
    assert app.end()[0] == 1


class Screen(http.server.BaseHTTPRequestHandler):
    """A page of an app on this machine."""

    def do_GET(self):
        body = b"<!DOCTYPE html><html lang=en><title>Monkeys</title><h1>The app's own page</h1>"
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "monkeys.localhost"])
def test_the_answer_leads_back_to_the_app(page, store, host):
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Screen) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            home = f"http://{host}:{server.server_port}/back?from=sheet"
            page.watch.allow(home)
            address = post(store, CONFIRM | {"returnAddress": home})
            page.goto(address)
            page.get_by_role("button", name="Cancel").click()
            expect(page).to_have_url(home)
            expect(page.get_by_role("heading", level=1)).to_have_text("The app's own page")
            page.goto(address)
            expect(page.get_by_role("main")).to_contain_text("Nothing was bought.")
            page.get_by_role("link", name="Back to the app").click()
            expect(page).to_have_url(home)
        finally:
            server.shutdown()
    with pytest.raises(Refused, match="returnAddress"):
        post(store, CONFIRM | {"returnAddress": "https://example.com/"})


def test_a_double_click_counts_once_and_another_answer_is_late(page, store):
    address = post(store, CONFIRM)
    page.goto(address)
    other = page.context.new_page()
    other.goto(address)
    page.get_by_role("button", name="Cancel").dblclick()
    expect(page.get_by_role("main")).to_contain_text("Nothing was bought.")
    page.watch.expected = {409}
    other.get_by_role("button", name="Buy").click()
    expect(other.get_by_role("main")).to_contain_text("The first answer counts: “Cancel”.")


def test_pages_of_others_neither_frame_nor_answer_a_sheet(browser, store):
    address = post(store, CONFIRM)
    with sheets(browser, store) as page:
        # Chromium says in the console that it refused to frame the page.
        page.watch.expected = {403, "frame-ancestors"}
        page.watch.allow("http://other.localhost")
        page.route("http://other.localhost/", lambda route: route.fulfill(content_type="text/html", body=f"""
            <iframe src="{address}"></iframe>
            <form method="post" action="{address}/answer"><button name="choice" value="accept">Win</button></form>"""))
        page.goto("http://other.localhost/")
        frame = page.frames[1]
        assert "Five Credits" not in frame.content()
        page.get_by_role("button", name="Win").click()
        expect(page.locator("body")).to_contain_text("pages of other origins")
        page.goto(address)
        expect(page.get_by_role("button", name="Buy")).to_be_visible()


def test_a_browser_at_the_control_port_is_sent_to_the_console(browser, store):
    with sheets(browser, store) as page:
        page.watch.allow(store.console)
        page.goto(store.control + "/")
        expect(page).to_have_url(store.console + "/sandbox")
    with pytest.raises(Refused, match="404 .*not_found"):
        ask("GET", store.control + "/")
