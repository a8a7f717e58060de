"""What others try with the console: pages of other servers, forged forms, hostile text, and too many streams."""

import contextlib
import http.client
import urllib.parse
import uuid

import pytest
import store as stores
from looks import wide
from playwright.sync_api import expect
from store import request as ask
from test_console import PAGES, Shopper, address, console
from test_console_live import is_stream

FREEZE = "/sandbox/clock/freeze"


def is_frozen(store):
    """Whether the sandbox's clock stands still."""
    return ask("GET", store.addresses["control"] + "/control/v1/sandbox/clock")["frozen"]


def port(address):
    """The port of an address."""
    return urllib.parse.urlsplit(address).port


def test_a_foreign_name_reads_nothing(browser, store):
    """A page whose name was made to resolve to this machine has that name as its host."""
    with console(browser, store) as page:
        page.goto("/sandbox/customers?start=tester")
        expect(page.get_by_role("main")).to_contain_text("tester@sandbox.example")
    with contextlib.closing(browser.new_context()) as context:
        page = context.new_page()
        for path in ["/", "/sandbox/customers?start=tester", "/sign-in", "/console/events", "/sandbox/transactions.csv"]:
            answer = page.goto(f"http://evil.example:{port(store.console)}{path}")
            assert answer.status == 421, path
            expect(page.get_by_text("The console does not answer to this name.")).to_be_visible()
            assert "sandbox.example" not in page.content()
            assert context.cookies() == []


@pytest.mark.parametrize(("host", "console_host"), [
    ("evil.example", "cornerstore.localhost"), ("localhost", "cornerstore.localhost"), ("127.0.0.1", "127.0.0.1"),
])
def test_a_foreign_page_changes_nothing(browser, store, host, console_host):
    """A server on another port of 127.0.0.1 even gets the cookie, which knows no ports."""
    base = f"http://{console_host}:{port(store.console)}"
    with contextlib.closing(browser.new_context(base_url=base)) as context, \
            contextlib.closing(stores.Receiver()) as attacker:
        page = context.new_page()
        page.goto("/sandbox/clock")
        # The attacker even learned a token.
        token = page.locator(f"form[action='{FREEZE}'] input[name=token]").input_value()
        attacker.page = f"""<form method="post" action="{base}{FREEZE}">
            <input name="token" value="{token}"></form><script>document.forms[0].submit()</script>"""
        with page.expect_response(lambda answer: answer.request.method == "POST") as answer:
            page.goto(f"http://{host}:{attacker.port}/")
        assert answer.value.status == 403
        expect(page.get_by_text("The console takes forms from its own pages only.")).to_be_visible()
        # By a request of a script, whose answer the script may not read.
        attacker.page = f"""<body><script>fetch("{base}{FREEZE}", {{ method: "POST", credentials: "include", mode: "no-cors",
            body: new URLSearchParams({{ token: "{token}" }}) }}).finally(() => document.body.append("sent"))</script>"""
        page.goto(f"http://{host}:{attacker.port}/")
        expect(page.get_by_text("sent")).to_be_visible()
        assert not is_frozen(store)
        # The token is good where it belongs.
        page.goto("/sandbox/clock")
        page.get_by_role("button", name="Stop the clock").click()
        expect(page.locator(".clock.moved")).to_contain_text("frozen")
        page.get_by_role("button", name="Let the clock run").click()
        page.get_by_role("button", name="Return to this machine's clock").click()
        expect(page.locator(".clock.moved")).to_have_count(0)


def test_no_page_frames_the_console(browser, store):
    with contextlib.closing(browser.new_context()) as context, contextlib.closing(stores.Receiver()) as attacker:
        page = context.new_page()
        for path in ["/sandbox", "/nowhere", "/sandbox/transactions/1"]:
            attacker.page = f'<iframe src="{store.console}{path}"></iframe>'
            with page.expect_console_message(lambda message: "frame-ancestors" in message.text):
                page.goto(f"http://evil.example:{attacker.port}/")
            frame = page.frames[1]
            frame.wait_for_load_state()
            assert not frame.url.startswith(store.console) and "Cornerstore" not in frame.content(), path


def test_a_form_without_its_token_is_shown_again(browser, store):
    with console(browser, store) as page:
        page.watch.expected = {403}
        # A page whose stream opens later than a second after its beginning asks for what it missed, and would get its
        # forms back with their tokens.
        page.add_init_script("performance.now = () => 0")
        page.goto("/sandbox/clock")
        page.locator(f"form[action='{FREEZE}'] input[name=token]").evaluate("input => input.remove()")
        page.get_by_role("button", name="Stop the clock").click()
        expect(page.get_by_role("alert").first).to_contain_text("Send it again.")
        assert not is_frozen(store)

        # A session that ended, such as by a restart of the server: what was typed stays, and is sent again.
        email = f"{uuid.uuid4().hex[:12]}@example.com"
        page.goto("/sandbox/customers")
        page.get_by_label("E-mail address").fill(email)
        page.get_by_label("Asks to buy").check()
        page.context.clear_cookies()
        page.get_by_role("button", name="Create").click()
        expect(page.get_by_role("alert").first).to_contain_text("This form is from another session")
        expect(page.get_by_label("E-mail address")).to_have_value(email)
        expect(page.get_by_label("Asks to buy")).to_be_checked()
        page.get_by_role("button", name="Create").click()
        expect(page.get_by_role("heading", level=1)).to_have_text(f"{email} was created")

        # A token of another form.
        page.goto("/sandbox/clock")
        page.evaluate("""action => document.querySelector(`form[action='${action}'] input[name=token]`).value =
            document.querySelector("form[action='/sandbox/clock/reset'] input[name=token]").value""", FREEZE)
        page.get_by_role("button", name="Stop the clock").click()
        expect(page.get_by_role("alert").first).to_contain_text("Send it again.")
        assert not is_frozen(store)


def open_stream(store):
    """A connection on which the stream was asked for, and its answer."""
    connection = http.client.HTTPConnection("127.0.0.1", port(store.console), timeout=30)
    connection.request("GET", "/console/events", headers={"Host": "localhost"})
    return connection, connection.getresponse()


def test_the_65th_stream_is_refused_and_its_page_waits(browser):
    # The store of other tests may still miss the end of their pages' streams, and have a place later.
    with stores.running() as store:
        streams = [open_stream(store) for _ in range(65)]
        try:
            assert [answer.status for _, answer in streams] == [200] * 64 + [503]
            with console(browser, store) as page:
                page.watch.expected = {503}
                with page.expect_response(is_stream) as answer:
                    page.goto("/sandbox/transactions")
                assert answer.value.status == 503
                expect(page.locator("#live-text")).to_have_text("Not connected")
                # The console is usable all the same.
                page.get_by_role("link", name="Customers").click()
                expect(page.get_by_role("heading", level=1)).to_have_text("Customers")
                for connection, _ in streams:
                    connection.close()
                expect(page.locator("#live-text")).to_have_text("Live")
        finally:
            for connection, _ in streams:
                connection.close()


MARKUP = "\u202e\"'></textarea></title><script>alert(1)</script><img src=x onerror=alert(1)>{{name}} אבג"
LONG = "W" * 1000

# Values that the console takes, so that the other fields of a form reach the store.
GOOD = {
    "bundle": "com.example.{}", "product": "com.example.{}.key", "email": "{}@example.com", "price": "0.99",
    "minimum": "1", "count": "1", "quantity": "1", "storefront": "USA", "locale": "en_US", "amount": "1", "instant": "",
    "password": "", "scopes": "users",
}

# Fills a form in as somebody does who wrote to the page's form what browsers do not allow.
FILL = """([action, text, good]) => {
    const form = [...document.forms].find(form => form.getAttribute("action") === action);
    form.noValidate = true;
    for (const field of form.querySelectorAll("input:not([type=hidden]):not([type=checkbox]), textarea")) {
        if (field.tagName === "INPUT") field.type = "text";
        field.value = good[field.name] ?? text;
    }
    form.submit();
}"""

# The addresses of the forms into which somebody can type.
FORMS = """[...document.forms]
    .filter(form => form.querySelector("input:not([type=hidden]):not([type=checkbox]), textarea"))
    .map(form => form.getAttribute("action"))"""


# The heading, the text, and how many elements are not the console's.
SHOWN = """() => [document.querySelector("h1").checkVisibility(), document.querySelector("main").innerText,
    document.querySelectorAll("script:not([src^='/assets/']), img:not([src^='/assets/']), [onerror], iframe").length]"""


def test_hostile_text_stays_text_in_every_field(browser):
    with stores.running() as store, console(browser, store, viewport={"width": 320, "height": 640}) as page:
        # The last is a field for numbers that is shown again with other text.
        page.watch.expected = {400, 404, 422, 502, "cannot be parsed, or is out of range"}
        shopper, sent, shown = Shopper(store), set(), set()
        # A product in review has a field for the reason.
        managed = f"/sandbox/managed/{shopper.managed}"
        page.goto(managed)
        page.get_by_label("Review", exact=True).select_option("manual")
        page.get_by_role("button", name="Save", exact=True).click()
        page.goto(f"{managed}/{shopper.managed}.coins")
        page.get_by_role("button", name="Submit for review").click()

        def check(name):
            # No element may be somebody's text, and no text may run out of the page.
            has_heading, content, made = page.evaluate(SHOWN)
            assert has_heading and made == 0 and wide(page) == [], name
            # The values of fields are not part of this text.
            if "<script>alert(1)</script>" in content:
                shown.add(name)

        paths = [address(name, shopper) for name in PAGES]
        for path in paths:
            page.goto(path)
            for action in page.evaluate(FORMS):
                if action in sent:
                    continue
                sent.add(action)
                # With markup in all fields, which is refused, and with what the store takes in some of them.
                for text, corrected in [(MARKUP, False), (MARKUP, True), (LONG, True)]:
                    good = {name: value.format(uuid.uuid4().hex[:8]) for name, value in GOOD.items()}
                    if action == "/sandbox/buy":
                        good |= {"email": shopper.email, "password": shopper.password}
                    if action not in page.evaluate(FORMS):
                        page.goto(path)
                    # A step of a review leads on, and the form is gone.
                    if action in page.evaluate(FORMS):
                        with page.expect_navigation():
                            page.evaluate(FILL, [action, text, good if corrected else {}])
                        check(action)
        for path in paths:
            page.goto(path)
            check(path)
        assert len(sent) > 30 and len(shown) > 10, (sent, shown)
