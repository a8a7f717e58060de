"""What people do on the console from one end to the other, each time in a store of its own."""

import base64
import contextlib
import hashlib
import hmac
import random
import re
import shutil
import time
import uuid

import conftest
import pytest
import store as stores
from hands import Keyboard, Pointer, WithoutScripts
from looks import assert_fit
from playwright.sync_api import expect
from store import ROOT
from test_console import Shopper, console

JOURNEYS = ROOT / "Tests/Browser/journeys.yaml"
HEADING = {"level": 1}


@contextlib.contextmanager
def people(browser, store, kind):
    """Somebody at a page of the console, with a watch."""
    with console(browser, store, java_script_enabled=kind.scripts) as page:
        yield kind(page)


@pytest.fixture
def fresh():
    """A store that nobody used."""
    with stores.running(more=[JOURNEYS]) as store:
        yield store


def number(page, name):
    """A number of the overview."""
    return page.locator(".numbers > div", has=page.get_by_text(name, exact=True)).locator("dd")


def buy(hands, product, password=None):
    """Buys from the page of purchases, which names the customer already. The store's tester needs no password."""
    page = hands.page
    if password:
        hands.fill(page.get_by_label("Password"), password)
    hands.choose(page.get_by_label("Product", exact=True), product)
    hands.press(page.get_by_role("button", name="Buy", exact=True))


@pytest.mark.parametrize("kind", [Pointer, WithoutScripts, Keyboard])
def test_from_the_first_start_to_a_verified_receipt(browser, fresh, kind):
    with people(browser, fresh, kind) as hands:
        page = hands.page
        page.goto("/")
        steps = page.locator("#first li")
        expect(steps).to_have_count(4)
        # The store made a tester.
        expect(page.locator("#first li.done")).to_have_count(1)
        hands.press(steps.nth(0).get_by_role("link"))
        hands.fill(page.get_by_label("E-mail address"), "ann@example.com")
        hands.press(page.get_by_role("button", name="Create"))
        expect(page.get_by_text("It is shown for 30 seconds, and not again.")).to_be_visible()
        password = page.locator("dd code.id").nth(1).inner_text()
        if kind is Pointer:
            assert_fit(page)
        hands.press(page.get_by_role("link", name="Buy as this customer"))
        expect(page.get_by_label("Customer", exact=True)).to_have_value("ann@example.com")
        buy(hands, "com.example.photofilters.sepia", password)
        expect(page.get_by_role("heading", **HEADING)).to_have_text(re.compile("Transaction [0-9]+"))
        expect(page.locator("#fields")).to_contain_text("ann@example.com")
        bought = page.get_by_role("heading", **HEADING).inner_text().split()[1]

        hands.go("Overview")
        expect(page.locator("#first li.done")).to_have_count(2)
        expect(number(page, "Purchases, 24 hours")).to_have_text("1")
        hands.press(steps.nth(2).get_by_role("link"))
        hands.press(page.get_by_role("link", name="Inspect the app receipt"))
        expect(page.locator("#verdict")).to_contain_text("Genuine")
        expect(page.locator("#purchases")).to_contain_text(bought)
        expect(page.locator("#verify")).to_contain_text("The receipt is valid.")
        hands.go("Overview")
        expect(page.get_by_role("heading", name="Last events")).to_be_visible()
        expect(page.locator("#first")).to_have_count(0)


@pytest.mark.parametrize("kind", [Pointer, WithoutScripts])
def test_a_draft_is_reviewed_and_sold_in_production(browser, fresh, kind):
    with people(browser, fresh, kind) as hands:
        page = hands.page

        def states(state, sandbox, production):
            summary = page.locator("#summary")
            expect(summary).to_contain_text(re.compile(state, re.IGNORECASE))
            for store, sells in [("Sandbox", sandbox), ("Production", production)]:
                expect(summary.locator(".facts > div", has_text=store)).to_contain_text(
                    "sells it" if sells else "does not sell it")

        page.goto("/sandbox/products")
        hands.press(page.get_by_role("link", name="Create and change products"))
        hands.fill(page.get_by_label("Bundle id").first, "com.example.fresh")
        hands.fill(page.get_by_label("Name", exact=True), "Fresh")
        hands.press(page.get_by_role("button", name="Register"))
        expect(page.get_by_text("Registered com.example.fresh.")).to_be_visible()
        hands.choose(page.get_by_label("Review", exact=True), "manual")
        hands.press(page.get_by_role("button", name="Save", exact=True))
        expect(page.get_by_text("Saved.", exact=True)).to_be_visible()

        hands.choose(page.get_by_label("Type"), "Non-consumable")
        hands.fill(page.get_by_label("Product id"), "com.example.fresh.key")
        hands.press(page.get_by_role("button", name="Create"))
        states("Missing Metadata", False, False)
        hands.fill(page.get_by_label("Reference name"), "The key")
        hands.fill(page.get_by_label("Price"), "2.49")
        hands.press(page.get_by_role("button", name="Save", exact=True))
        expect(page.get_by_text("Saved. The product is in “Missing Metadata”.")).to_be_visible()
        hands.fill(page.get_by_label("Language", exact=True), "en_US")
        hands.fill(page.get_by_label("Name that customers read"), "A golden key")
        hands.fill(page.get_by_label("Description"), "Opens every door.")
        hands.press(page.get_by_role("button", name="Save the language"))
        states("Ready to Submit", True, False)
        hands.press(page.get_by_role("button", name="Submit for review"))
        states("Waiting for Review", True, False)
        hands.press(page.get_by_role("button", name="Begin the review"))
        states("In Review", True, False)
        hands.fill(page.get_by_label("Reason"), "Doors are not described.")
        hands.press(page.get_by_role("button", name="Reject"))
        states("Rejected", True, False)
        expect(page.locator("#versions")).to_contain_text("Doors are not described.")
        hands.press(page.get_by_role("button", name="Submit for review"))
        hands.press(page.get_by_role("button", name="Approve"))
        states("Approved", True, True)

        # Production asks before each change, and asks for the password again, which no page keeps.
        hands.press(page.get_by_role("link", name="Production"))
        hands.go("Customers")
        hands.fill(page.get_by_label("E-mail address"), "ben@example.com")
        hands.press(page.get_by_role("button", name="Create"))
        expect(page.get_by_role("heading", **HEADING)).to_have_text("Change production?")
        hands.press(page.get_by_role("button", name="Yes, create a customer"))
        password = page.locator("dd code.id").nth(1).inner_text()
        hands.press(page.get_by_role("link", name="Buy as this customer"))
        expect(page.get_by_label("Customer", exact=True)).to_have_value("ben@example.com")
        buy(hands, "com.example.fresh.key", password)
        expect(page.get_by_role("heading", **HEADING)).to_have_text("Change production?")
        expect(page.get_by_role("main")).not_to_contain_text(password)
        if kind is Pointer:
            assert_fit(page)
        hands.fill(page.get_by_label("Password"), password)
        hands.press(page.get_by_role("button", name="Yes, buy as a customer"))
        expect(page.get_by_role("heading", **HEADING)).to_have_text(re.compile("Transaction [0-9]+"))
        expect(page.locator("#fields")).to_contain_text("2.49 USD")


def test_content_is_rejected_and_then_approved(browser, fresh, tmp_path):
    product = "com.example.bookchapters.chapter1"

    def package(folder):
        file = tmp_path / f"{folder}.pkg"
        fresh.run("content", "build", str(ROOT / "Examples/BookChapters/Content" / folder), "--output", str(file))
        return file

    with people(browser, fresh, WithoutScripts) as hands:
        page = hands.page
        versions, history = page.locator("#versions tbody tr"), page.locator("#history tbody tr")
        page.goto("/sandbox/content")
        hands.press(page.get_by_role("link", name=product))
        page.get_by_label("Choose a package, or drop it here").set_input_files(package(product))
        hands.press(page.get_by_role("button", name="Upload"))
        expect(page.get_by_text("Version 1.0 arrived.")).to_be_visible()
        expect(versions).to_contain_text("Ready to Submit")
        hands.press(page.get_by_role("button", name="Submit version 1.0"))
        hands.go("Overview")
        expect(number(page, "Content in review")).to_have_text("1")
        hands.press(number(page, "Content in review").get_by_role("link"))
        hands.press(page.get_by_role("link", name=product))
        hands.press(page.get_by_role("button", name="Begin the review version 1.0"))
        expect(versions).to_contain_text("In Review")
        # A reason is required: without scripts, too, the browser says so. Spaces are no reason.
        page.watch.expected = {422}
        hands.fill(page.get_by_label("Reason"), "  ")
        hands.press(page.get_by_role("button", name="Reject", exact=True))
        expect(page.get_by_role("alert").first).to_contain_text("“Reason” is empty.")
        hands.fill(page.get_by_label("Reason"), "The lamp is dark.")
        hands.press(page.get_by_role("button", name="Reject", exact=True))
        expect(versions).to_contain_text("Rejected")
        page.watch.expected = set()
        expect(history.first).to_contain_text("The lamp is dark.")
        # What was rejected cannot be submitted again. The developer uploads another version.
        expect(page.get_by_role("button", name="Submit version 1.0")).to_have_count(0)
        page.get_by_label("Choose a package, or drop it here").set_input_files(package(product + "-2.0"))
        hands.press(page.get_by_role("button", name="Upload"))
        hands.press(page.get_by_role("button", name="Submit version 2.0"))
        hands.press(page.get_by_role("button", name="Approve version 2.0"))
        expect(page.get_by_text("Approved. Production delivers the highest approved version.")).to_be_visible()
        hands.go("Content & review")
        row = page.locator("#list tbody tr", has_text=product)
        expect(row.locator("[data-label=Production]")).to_have_text("2.0")
        hands.go("Overview")
        expect(number(page, "Content in review")).to_have_text("0")


def test_an_upload_goes_on_where_it_stopped(browser, fresh, tmp_path):
    product = "com.example.bookchapters.chapter1"
    source, package = tmp_path / "source", tmp_path / "large.pkg"
    shutil.copytree(ROOT / "Examples/BookChapters/Content" / product, source)
    (source / "Contents" / "noise.bin").write_bytes(random.Random(7).randbytes(9 << 20))
    fresh.run("content", "build", str(source), "--output", str(package))
    with people(browser, fresh, Pointer) as hands:
        page, address = hands.page, f"/sandbox/content/com.example.bookchapters/{product}"
        field, upload = page.get_by_label("Choose a package, or drop it here"), page.get_by_role("button", name="Upload")
        pieces = []

        def pass_on(route):
            pieces.append(route)
            # The second piece is lost on its way, and after the third the browser is on its own.
            if len(pieces) == 2:
                route.abort("connectionreset")
            elif len(pieces) > 3:
                route.abort("blockedbyclient")
            else:
                route.continue_()

        page.goto(address)
        page.watch.expected = {"Failed to load resource"}
        page.route("**/upload", pass_on)
        field.set_input_files(package)
        hands.press(upload)
        arrived = (8 << 20) * 100 // package.stat().st_size
        expect(page.locator("form [role=status]")).to_have_text(f"{arrived} %")
        expect(page.get_by_role("progressbar", name="Upload")).to_be_visible()
        page.goto(address)
        page.unroute("**/upload")
        expect(page.locator("#uploads tbody tr").first).to_contain_text("8 MB of 9 MB")
        field.set_input_files(package)
        hands.press(upload)
        expect(page.get_by_text("Version 1.0 arrived.")).to_be_visible()
        expect(page.locator("#versions tbody tr")).to_contain_text("Ready to Submit")

        # A file that is no package is refused with what to do, and the form is ready for another.
        page.goto(address)
        field.set_input_files({"name": "notes.txt", "mimeType": "text/plain", "buffer": b"Not a package."})
        hands.press(upload)
        expect(page.locator("form p.note.bad")).to_contain_text("The package is invalid")
        expect(upload).to_be_enabled()
        assert_fit(page)


def test_a_month_on_a_subscription_has_renewed_and_ends_without_auto_renew(browser, fresh):
    with people(browser, fresh, Pointer) as hands:
        page = hands.page
        page.goto("/sandbox/buy")
        buy(hands, "com.example.journeys.monthly")
        expires = page.locator("#fields .facts > div", has_text="expires_date")
        expect(expires).to_contain_text(re.compile("in (27|28|29|30|31) d"))
        transaction = page.url.split("?")[0]
        hands.go("Overview")
        expect(number(page, "Purchases, 30 days")).to_have_text("1")

        hands.press(page.locator("a.clock"))
        hands.press(page.get_by_role("button", name="Move the clock forward by 1 month"))
        expect(page.get_by_text("It moved on by 30 d.")).to_be_visible()
        # A month may have 31 days.
        hands.press(page.get_by_role("button", name="Move the clock forward by 1 week"))
        expect(page.locator(".clock.moved")).to_contain_text("+37 d")
        hands.go("Overview")
        expect(number(page, "Purchases, 30 days")).to_have_text("1")
        page.goto(transaction)
        expect(expires).to_contain_text(re.compile("[0-9]+ (d|h) ago"))

        # The period that followed is paid. Without auto-renew there is no third.
        hands.go("Subscriptions")
        hands.press(page.locator("#subscribers tbody a").first)
        subscriber = page.url.split("?")[0]
        expect(page.locator("#state tbody")).to_contain_text("Active")
        expect(page.locator("#periods tbody tr")).to_have_count(2)
        expect(page.locator("#news tbody tr").first).to_contain_text("DID_RENEW")
        hands.press(page.get_by_role("button", name="Turn auto-renew off"))
        expect(page.get_by_text("Auto-renew is off.")).to_be_visible()
        expect(page.get_by_role("button", name="Turn auto-renew on")).to_be_visible()
        hands.press(page.locator("a.clock"))
        hands.press(page.get_by_role("button", name="Move the clock forward by 1 month"))
        expect(page.locator(".clock.moved")).to_contain_text("+2 months")
        page.goto(subscriber)
        expect(page.locator("#state tbody")).to_contain_text("auto-renew was off")
        expect(page.locator("#news tbody tr").first).to_contain_text("VOLUNTARY")
        expect(page.locator("#periods tbody tr")).to_have_count(2)

        hands.press(page.locator("a.clock"))
        hands.press(page.get_by_role("button", name="Stop the clock"))
        expect(page.locator(".clock.moved")).to_contain_text("frozen")
        hands.press(page.get_by_role("button", name="Let the clock run"))
        hands.press(page.get_by_role("button", name="Return to this machine's clock"))
        expect(page.locator(".clock")).to_be_visible()
        expect(page.locator(".clock.moved")).to_have_count(0)


def test_faults_are_ordered_met_and_cleared_by_keyboard(browser, fresh):
    with people(browser, fresh, Keyboard) as hands:
        page = hands.page
        page.watch.expected = {422, 502}
        row = page.locator("#faults tbody tr")
        page.goto("/sandbox")
        hands.go("Clock & faults")
        form = page.locator("#order form", has=page.get_by_role("heading", name="purchases", exact=True))
        hands.choose(form.get_by_label("Fails with"), "Status 503")
        hands.fill(form.get_by_label("Requests"), "2")
        hands.press(form.get_by_role("button"))
        expect(page.get_by_text("The next 2 requests of purchases will fail: status 503.")).to_be_visible()
        expect(row.locator("[data-label=Left]")).to_have_text("2")
        hands.go("Overview")
        expect(number(page, "Ordered faults")).to_have_text("1")

        page.goto("/sandbox/buy")
        buy(hands, "com.example.monkeys.credits5")
        expect(page.get_by_role("alert").first).to_be_visible()
        expect(page.get_by_label("Customer", exact=True)).to_have_value("tester@sandbox.example")
        assert_fit(page)
        hands.go("Clock & faults")
        expect(row.locator("[data-label=Left]")).to_have_text("1")
        expect(row.locator("[data-label=Met]")).to_have_text("1")
        expect(page.locator("#met tbody tr")).to_contain_text("status 503")
        hands.press(page.get_by_role("button", name="Remove the fault of purchases"))
        expect(page.get_by_text("The fault of purchases is removed.")).to_be_visible()

        # A recipe declines the next payment, and only that.
        recipe = page.locator("form", has=page.get_by_role("heading", name="Card declined once"))
        hands.press(recipe.get_by_role("button"))
        expect(page.get_by_text("The next payment will be declined.")).to_be_visible()
        page.goto("/sandbox/buy")
        buy(hands, "com.example.monkeys.credits5")
        expect(page.get_by_role("alert").first).to_contain_text("The purchase failed")
        hands.press(page.get_by_role("button", name="Buy", exact=True))
        expect(page.get_by_role("heading", **HEADING)).to_have_text(re.compile("Transaction [0-9]+"))
        hands.go("Overview")
        expect(number(page, "Ordered faults")).to_have_text("0")
        expect(number(page, "Failed attempts, 24 hours")).to_have_text("1")


def until(page, locator, text):
    """Loads the page until a part has a text. For what no topic of the stream tells."""
    end = time.monotonic() + conftest.PATIENCE / 1000
    while text not in locator.inner_text() and time.monotonic() < end:
        page.reload()
    expect(locator).to_contain_text(text)


def test_a_webhook_is_dead_mended_and_sent_again(browser):
    secret = base64.b64encode(uuid.uuid4().bytes * 2).decode()
    backend = stores.Receiver("The shop is closed. <script>alert('answer')</script>", 410)
    options = {"options": ["--webhook", f"http://127.0.0.1:{backend.port}/hook"],
               "environment": {"CORNERSTORE_WEBHOOK_SECRET": "whsec_" + secret}}
    with contextlib.closing(backend), stores.running(**options) as store, people(browser, store, Pointer) as hands:
        page = hands.page
        page.goto("/sandbox/notifications")
        hands.press(page.get_by_role("button", name="Send a test event"))
        expect(page.get_by_text("is on its way")).to_be_visible()
        until(page, page.locator("#webhooks tbody tr"), "dead")
        hands.go("Overview")
        expect(number(page, "Dead webhooks")).to_have_text("1")
        hands.press(number(page, "Dead webhooks").get_by_role("link"))
        hands.press(page.locator("#webhooks tbody a").first)
        address, attempts = page.url, page.locator("#attempts tbody tr")
        expect(page.locator("#summary")).to_contain_text("dead")
        expect(attempts).to_contain_text("410")
        expect(attempts).to_contain_text("The shop is closed. <script>alert('answer')</script>")
        for width in (1280, 320):
            page.set_viewport_size({"width": width, "height": 720})
            assert_fit(page)

        backend.page, backend.status = "", 204
        hands.press(page.get_by_role("button", name="Send again"))
        expect(page.get_by_text("The webhook is sent again.")).to_be_visible()
        until(page, page.locator("#webhooks tbody tr"), "delivered")
        page.goto(address)
        expect(attempts).to_have_count(2)
        expect(attempts.filter(has_text="204")).to_have_count(1)
        hands.go("Overview")
        expect(number(page, "Dead webhooks")).to_have_text("0")
        # The receiver got the same event twice, and can check the signature as the page says.
        (first, _), (second, body) = backend.received
        assert first["webhook-id"] == second["webhook-id"] == address.rsplit("/", 1)[1]
        signed = f"{second['webhook-id']}.{second['webhook-timestamp']}.".encode() + body
        code = hmac.digest(base64.b64decode(secret), signed, hashlib.sha256)
        assert second["webhook-signature"] == "v1," + base64.b64encode(code).decode()


@pytest.mark.parametrize("kind", [Pointer, WithoutScripts])
def test_a_refund_is_shown_in_the_other_tab(browser, store, kind):
    bought = Shopper(store).id
    with people(browser, store, kind) as hands:
        page, other = hands.page, hands.page.context.new_page()
        other.goto(f"/sandbox/transactions/{bought}")
        expect(other.locator("#fields")).not_to_contain_text("Refunded")
        page.goto(f"/sandbox/transactions/{bought}")
        hands.press(page.get_by_role("link", name="Refund…"))
        expect(page.get_by_role("heading", **HEADING)).to_have_text("Refund 0.99 USD?")
        expect(page.get_by_text("1 delivery is revoked")).to_be_visible()
        hands.press(page.get_by_role("button", name="Refund 0.99 USD"))
        expect(page.get_by_text("1 delivery revoked.")).to_be_visible()
        if not kind.scripts:
            other.reload()
        expect(other.locator("#fields dd.bad")).to_have_text("Refunded")
        expect(other.get_by_role("link", name="Refund…")).to_have_count(0)


def test_keys_lead_everywhere_and_can_be_turned_off(browser, store):
    shopper = Shopper(store)
    newest = shopper.buy("com.example.monkeys.credits5")
    with console(browser, store) as page:
        page.goto("/sandbox")
        page.keyboard.type("gt")
        expect(page).to_have_url(re.compile("/sandbox/transactions$"))
        rows = page.locator("main tbody tr a.id")
        expect(rows.first).to_have_text(newest)
        # Keys have their meaning when the page's script has run.
        page.wait_for_load_state()
        for key, row in [("j", 0), ("j", 1), ("k", 0), ("k", 0)]:
            page.keyboard.press(key)
            expect(rows.nth(row)).to_be_focused()
        page.keyboard.press("j")
        page.keyboard.press("Enter")
        expect(page).to_have_url(re.compile(f"/sandbox/transactions/{shopper.id}$"))
        page.wait_for_load_state()
        page.keyboard.press("/")
        expect(page.get_by_role("searchbox", name="Search")).to_be_focused()
        # Letters in a field are letters.
        page.keyboard.type(shopper.email)
        page.keyboard.press("Enter")
        # The transaction's page has such a link, too.
        expect(page).to_have_url(re.compile("/sandbox/search"))
        expect(page.get_by_role("link", name=shopper.email)).to_be_visible()
        page.wait_for_load_state()

        help = page.get_by_role("dialog")
        page.keyboard.press("?")
        expect(help).to_be_visible()
        help.get_by_role("button", name="Turn keys off").press("Enter")
        expect(help).to_have_count(0)
        # Without a page's own meaning, “/” is Firefox's search.
        for key in ["?", "g", "t"]:
            page.keyboard.press(key)
        expect(help).to_have_count(0)
        page.get_by_role("button", name="Keys", exact=True).press("Enter")
        help.get_by_role("button", name="Turn keys on").press("Enter")
        page.keyboard.press("?")
        expect(help).to_be_visible()
        expect(page).to_have_url(re.compile("/sandbox/search"))


def test_people_sign_in_and_out(browser):
    with stores.running(environment={"CORNERSTORE_ADMIN_TOKEN": "a token of the operator"}) as store, \
            people(browser, store, Pointer) as hands:
        page = hands.page
        page.watch.expected = {401, 403, 429}
        heading, alert = page.get_by_role("heading", **HEADING), page.get_by_role("alert").first

        def sign_in(token):
            hands.fill(page.get_by_role("textbox", name="Admin token"), token)
            hands.press(page.get_by_role("button", name="Sign in"))

        page.goto("/sandbox/customers?start=tester")
        expect(heading).to_have_text("Sign in")
        for width in (1280, 320):
            page.set_viewport_size({"width": width, "height": 720})
            assert_fit(page)
        page.set_viewport_size({"width": 1280, "height": 720})
        sign_in("a token of nobody")
        expect(alert).to_contain_text("This is not the admin token.")
        expect(page.get_by_role("textbox", name="Admin token")).to_have_value("")
        sign_in("a token of the operator")
        expect(page).to_have_url(re.compile("/sandbox/customers[?]start=tester$"))
        expect(page.get_by_role("link", name="tester@sandbox.example")).to_be_visible()
        cookie, = page.context.cookies()
        assert (cookie["name"], cookie["httpOnly"], cookie["sameSite"]) == ("cornerstore-console", True, "Strict")
        assert "operator" not in str(page.context.cookies()) + page.content()

        # The session ends in another tab. A form that is still open changes nothing, and no page is shown again.
        page.goto("/sandbox/clock")
        other = page.context.new_page()
        other.goto("/sandbox")
        other.get_by_role("button", name="Sign out of the console").click()
        expect(other.get_by_role("heading", **HEADING)).to_have_text("Sign in")
        expect(page.get_by_role("heading", name="Clock & faults")).to_be_visible()
        hands.press(page.get_by_role("button", name="Stop the clock"))
        expect(alert).to_contain_text("Sign in to the console first.")
        clock = stores.request("GET", store.control + "/control/v1/sandbox/clock", token="a token of the operator")
        assert not clock["frozen"]
        other.go_back()
        expect(other.get_by_role("heading", **HEADING)).to_have_text("Sign in")
        page.context.add_cookies([cookie | {"value": cookie["value"][::-1]}])
        page.goto("/sandbox/customers")
        expect(heading).to_have_text("Sign in")

        # Five tries a minute, of which one was used. A test with a clock of its own (ConsoleSecurityTests) shows that the
        # right token is refused then, too.
        statuses = []
        while 429 not in statuses and len(statuses) < 12:
            with page.expect_response(lambda answer: answer.request.method == "POST") as answer:
                sign_in("another token")
            statuses.append(answer.value.status)
            expect(alert).to_be_visible()
        assert statuses[:4] == [403] * 4 and statuses[-1] == 429, statuses
        expect(alert).to_contain_text("Too many tries. Wait")
