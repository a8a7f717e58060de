"""The pages of sample apps: fit for every screen and for a keyboard alone, and closed to everybody else."""

import contextlib
import http.client
import re
import socket
import time
import urllib.parse

import pytest
import store as stores
from hands import Keyboard
from looks import DARK, DESKTOP, LARGE, NAMES, NARROW, PHONE, PHONE_DARK, assert_fit_on, assert_valid, wide
from playwright.sync_api import expect
from sample import (
    BOOKS, CHAPTERS, FILTERS, HEADING, MAGAZINE, MONKEYS, PROMOTION, SHELL, Kind, Sample, arrive, buy, granted, headline, item,
    person, said, selling, sign_in, using,
)

SCREENS = {"desktop": DESKTOP, "dark": DARK, "phone": PHONE, "phone-dark": PHONE_DARK, "narrow": NARROW, "large": LARGE,
           "forced": PHONE_DARK._replace(forced="active")}
MOST = {title: screen for title, screen in SCREENS.items() if title not in ("narrow", "large")}
FEW = {"desktop": DESKTOP, "phone-dark": PHONE_DARK}
HOSTILE = Kind("device", "com.example.hostile.product", "<script>alert('product')</script>", "$0.99", None,
               "cornerstore", "device", "web", "--app", "com.example.hostile")
KINDS = {"monkey-credits": MONKEYS, "photo-filters": FILTERS, "book-chapters": CHAPTERS, "server-books": BOOKS,
         "cross-promotion": PROMOTION, "magazine": MAGAZINE, "device": SHELL, "hostile": HOSTILE}


@pytest.fixture(scope="module")
def store():
    """A store that sells what all samples sell."""
    with selling() as store:
        yield store


def signed_in(store, folder):
    """The variables with which no sheet is shown: an account signs in and buys by itself."""
    email, password = store.account()
    file = folder / "password"
    file.touch(mode=0o600)
    file.write_text(password, encoding="utf-8")
    return {"CORNERSTORE_SHEET": "approve", "CORNERSTORE_ACCOUNT": email, "CORNERSTORE_PASSWORD_FILE": str(file)}


@pytest.mark.parametrize("name", KINDS)
def test_a_page_is_fit_for_people(browser, store, tmp_path, name, pictures):
    """Before a purchase, while the store asks, and after."""
    kind = KINDS[name]
    with using(browser, store, kind, tmp_path) as (_, page):
        if kind is PROMOTION:
            page.get_by_label("Find an item").fill("gibbons")
            page.get_by_role("button", name="Find").click()
            expect(item(page, "Swing Low Leaf").first).to_be_visible()
            assert_fit_on(page, MOST, f"sample-{name}", pictures, rules=NAMES)
            assert_valid(page.goto("/"))
            return
        expect(kind.buy(page)).to_be_visible()
        assert_valid(page.goto("/"))
        kind.buy(page).click()
        email, password = store.account()
        sign_in(page, email, password)
        arrive(page, kind.title)
        sheet = page.url
        page.goto("/")
        assert_fit_on(page, FEW, f"sample-{name}-asked", pictures, rules=NAMES)
        page.get_by_role("link", name="Answer").click()
        expect(page).to_have_url(sheet)
        page.get_by_role("button", name="Buy").click()
        expect(page.locator("#receipt tbody tr")).to_have_count(1)
        expect(page.locator("#queue")).to_contain_text("The queue is empty")
        if kind in (FILTERS, CHAPTERS, BOOKS):
            granted(page, kind).click()
            expect(page.locator(".reading, figure:nth-child(2)").first).to_be_visible()
        assert_fit_on(page, SCREENS if kind is MONKEYS else MOST, f"sample-{name}", pictures, rules=NAMES)
        assert_valid(page.goto("/"))


def test_a_taken_port_is_named(store, tmp_path):
    with contextlib.closing(MONKEYS.start(store, tmp_path / "phone")) as phone:
        with pytest.raises(AssertionError, match=f"Port {phone.port} is taken. Choose another with --port."):
            Sample(store, tmp_path / "tablet", "monkey-credits", "--web", port=phone.port)


def test_problems_have_pages(browser, store, tmp_path):
    with using(browser, store, MONKEYS, tmp_path) as (_, page):
        page.watch.expected = {404, 403}
        for path in ("/nothing", "/pictures/none", "/receipt"):
            answer = page.goto(path)
            assert answer.status == 404
            assert_valid(answer)
            expect(page.get_by_role("heading", **HEADING)).to_have_text("Not found")
            assert_fit_on(page, FEW, "sample-none", None)


def test_a_keyboard_alone_buys(browser, store, tmp_path):
    email, password = store.account()
    with using(browser, store, MONKEYS, tmp_path) as (_, page):
        hands = Keyboard(page)
        expect(MONKEYS.buy(page)).to_be_visible()
        # Tab leads through the app as it is read.
        order = """() => [...document.querySelectorAll("#app input:not([type=hidden]), #app button")]
            .map(control => control.id || control.textContent)"""
        controls, reached = page.evaluate(order), []
        page.keyboard.press("Tab")
        while len(reached) < 40 and controls[-1:] != reached[-1:]:
            reached.append(page.evaluate("document.activeElement.id || document.activeElement.textContent"))
            page.keyboard.press("Tab")
        assert [name for name in reached if name in controls] == controls
        page.goto("/")
        hands.fill(page.get_by_label("How many").first, "2")
        hands.press(MONKEYS.buy(page))
        arrive(page, "Sign in to the store")
        hands.fill(page.get_by_label("E-mail address"), email)
        hands.fill(page.get_by_label("Password"), password)
        hands.press(page.get_by_role("button", name="Sign in"))
        arrive(page, MONKEYS.title)
        hands.press(page.get_by_role("button", name="Buy"))
        expect(headline(page)).to_have_text("Monkey credits: 10")


def test_a_live_change_takes_no_focus(browser, store, tmp_path):
    """Somebody is on a button of one section while the others change."""
    with contextlib.closing(FILTERS.start(store, tmp_path / "device", **signed_in(store, tmp_path))) as sample, \
            person(browser, store, sample) as page:
        page.goto("/")
        expect(FILTERS.buy(page)).to_be_visible()
        tab = page.context.new_page()
        tab.goto("/")
        crash = tab.get_by_role("button", name="Crash now")
        crash.focus()
        FILTERS.buy(page).click()
        expect(said(page)).to_have_text("The filter mono is yours.")
        expect(granted(tab, FILTERS)).to_be_visible()
        expect(crash).to_be_focused()
        # On a button of the app: its section waits, the others do not.
        sepia = tab.get_by_role("button", name="Buy $1.99: sepia")
        sepia.focus()
        page.get_by_role("button", name="Use mono").click()
        page.get_by_role("button", name="Crash at the next grant").click()
        expect(tab.get_by_role("button", name="Do not crash")).to_be_visible()
        expect(sepia).to_be_focused()
        expect(tab.locator("figure")).to_have_count(1)
        tab.get_by_role("button", name="Show changes").click()
        expect(tab.locator("figure")).to_have_count(2)


# What others try.

def send(sample, method, path, body=None, host=None, **headers):
    """The status and the text of an answer to a request that no browser sends."""
    connection = http.client.HTTPConnection("127.0.0.1", sample.port, timeout=30)
    with contextlib.closing(connection):
        if body is not None:
            headers.setdefault("Content-Type", "application/x-www-form-urlencoded")
        own = urllib.parse.urlsplit(sample.address).netloc
        connection.request(method, path, body, {"Host": host or own, **headers})
        answer = connection.getresponse()
        return answer.status, answer.read().decode()


def own(sample):
    """What a browser adds to a form of the page itself."""
    return {"Origin": sample.address, "Sec-Fetch-Site": "same-origin"}


def tokens(sample):
    """The token of each address that takes forms."""
    _, text = send(sample, "GET", "/")
    return dict(re.findall(r'action="([^"]+)"[^>]*>\s*<input type="hidden" name="token" value="([0-9a-f]+)"', text))


def credits(sample):
    """The credits that the page shows."""
    _, text = send(sample, "GET", "/")
    return re.search(r"Monkey credits: (\d+)", text)[1], "Do not crash" in text


@pytest.fixture(scope="module")
def phone(store, tmp_path_factory):
    """Monkey Credits, which buys without a question and has five credits."""
    folder = tmp_path_factory.mktemp("phone")
    with contextlib.closing(MONKEYS.start(store, folder / "device", **signed_in(store, folder))) as sample:
        buttons, forms = "/press/com.example.monkeys.credits5", {}
        end = time.monotonic() + 30
        while buttons not in forms and time.monotonic() < end:
            forms = tokens(sample)
        assert buttons in forms, "the app does not offer its credits"
        send(sample, "POST", buttons, f"token={forms[buttons]}&quantity=1", **own(sample))
        while credits(sample) != ("5", False):
            assert time.monotonic() < end, "the credits did not come"
        yield sample


def test_the_page_answers_to_its_own_machine_and_names_only(phone):
    for name in ("127.0.0.1", "localhost", "[::1]", "monkey-credits.localhost"):
        assert send(phone, "GET", "/", host=f"{name}:{phone.port}")[0] == 200, name
    for name in ("evil.example", "cornerstore.localhost", "localhost.evil.example", "monkey-credits.localhost.",
                 "10.0.0.1"):
        for path in ("/", "/events", "/receipt", "/pictures/original", "/nothing"):
            status, text = send(phone, "GET", path, host=f"{name}:{phone.port}")
            assert status == 421 and "credits:" not in text, (name, path)
    # All of 127.0.0.0/8 is this machine. A server that listens to every address would answer here.
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.2", phone.port), timeout=5)


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1", "monkey-credits.localhost"])
def test_a_foreign_page_presses_nothing(browser, phone, host):
    """Even one that knows a token, on a port of this machine."""
    before, forms = credits(phone), tokens(phone)
    with contextlib.closing(browser.new_context()) as context, contextlib.closing(stores.Receiver()) as attacker:
        page = context.new_page()
        for path in ("/press/com.example.monkeys.credits5", "/crash", "/restore"):
            attacker.page = f"""<form method="post" action="{phone.address}{path}">
                <input name="token" value="{forms[path]}"><input name="when" value="now">
                <input name="quantity" value="1"></form><script>document.forms[0].submit()</script>"""
            with page.expect_response(lambda answer: answer.request.method == "POST") as answer:
                page.goto(f"http://{host}:{attacker.port}/")
            assert answer.value.status == 403
            expect(page.get_by_text("This screen takes forms from its own page only.")).to_be_visible()
        # Nor does a frame show it.
        attacker.page = f'<iframe src="{phone.address}"></iframe>'
        page.goto(f"http://{host}:{attacker.port}/")
        frame = page.frames[1]
        frame.wait_for_load_state()
        assert "Monkey" not in frame.content()
    assert credits(phone) == before


def test_forms_need_their_own_token(phone):
    before, forms = credits(phone), tokens(phone)
    action, other = "/press/com.example.monkeys.credits5", "/press/feed"
    for token in ("", "0" * 64, forms[other], forms[action][:-1], forms[action] + "0"):
        status, text = send(phone, "POST", action, f"token={token}&quantity=1", **own(phone))
        assert status == 403 and "Load the page again." in text, token
    for origin in ("null", "http://evil.example", f"http://evil.localhost:{phone.port}",
                   "http://monkey-credits.localhost"):
        status, _ = send(phone, "POST", action, f"token={forms[action]}&quantity=1", Origin=origin)
        assert status == 403, origin
    assert credits(phone) == before
    # The token is good where it belongs.
    status, _ = send(phone, "POST", "/crash", f"token={forms['/crash']}&when=next-purchase", **own(phone))
    assert status == 303 and credits(phone) == (before[0], True)
    status, _ = send(phone, "POST", "/crash", f"token={forms['/crash']}&when=never", **own(phone))
    assert status == 303 and credits(phone) == before


def test_odd_requests_change_nothing(phone):
    before, forms = credits(phone), tokens(phone)
    token = forms["/press/feed"]
    for method, path, body, status in [
            ("POST", "/press/feed", f"token={token}&words=" + "x" * (17 << 10), 413),
            ("GET", "/press/feed", None, 404), ("GET", "/crash", None, 404), ("POST", "/", "", 404),
            ("POST", "/press/" + "a" * 65, f"token={token}", 403),
            ("POST", "/press/%2e%2e%2fcrash", f"token={token}", 403),
            ("GET", "/pictures/..%2f..%2fetc%2fpasswd", None, 404), ("GET", "/pictures/%00", None, 404),
            ("GET", "/assets/console.js", None, 404)]:
        assert send(phone, method, path, body, **own(phone))[0] == status, (method, path)
    buttons = "/press/com.example.monkeys.credits5"
    for quantity in ("0", "-1", "11", "99999999999999999999", "1e3", "<b>", ""):
        body = urllib.parse.urlencode({"token": forms[buttons], "quantity": quantity})
        assert send(phone, "POST", buttons, body, **own(phone))[0] == 303
    assert credits(phone) == before


def test_hostile_text_stays_text(browser, store, tmp_path):
    email, password = store.account()
    with using(browser, store, HOSTILE, tmp_path, viewport={"width": 320, "height": 640}) as (_, page):
        expect(item(page, HOSTILE.title)).to_contain_text("</span><img src=x onerror=alert('product')>")

        def check():
            made = "script:not([src^='/assets/']), img, [onerror], iframe, svg, style"
            assert page.locator(made).count() == 0 and wide(page) == []

        check()
        buy(page, HOSTILE, email, password)
        expect(said(page)).to_have_text(f"{HOSTILE.product} is bought.")
        check()
    # Words that were typed, on the same device.
    with using(browser, store, PROMOTION, tmp_path, viewport={"width": 320, "height": 640}) as (_, page):
        for words in ("<script>alert(1)</script>", "\u202e\"'></textarea><img src=x onerror=alert(1)>", "W" * 1000):
            page.get_by_label("Find an item").fill(words)
            page.get_by_role("button", name="Find").click()
            expect(said(page)).to_have_text("The store has nothing like that.")
            check()
        page.get_by_label("Find an item").fill("1400000099")
        page.get_by_role("button", name="Find").click()
        arrive(page, re.compile(r"<script>alert\('name'\)<"))
        page.get_by_role("button", name="Done").click()
        expect(said(page)).to_contain_text("Back in Cross Promotion.")
        check()
