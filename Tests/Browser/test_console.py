"""The console's pages: readable on every screen, valid, silent, usable without JavaScript, and live with it."""

import base64
import contextlib
import functools
import uuid

import conftest
import pytest
from looks import DARK, DESKTOP, LARGE, NARROW, assert_fit, assert_fit_on, assert_valid, wide
from playwright.sync_api import expect
from store import request as ask

SCREENS = {"desktop": DESKTOP, "dark": DARK, "narrow": NARROW, "large": LARGE}

# The paths after the environment; those in braces are of the customer and the purchase that the fixture makes.
PAGES = {
    "overview": "", "products": "/products", "product": "/products/com.example.monkeys/com.example.monkeys.credits5",
    "customers": "/customers", "customer": "/customers/{email}", "buy": "/buy", "transactions": "/transactions",
    "transaction": "/transactions/{id}", "refund": "/transactions/{id}/refund", "attempts": "/attempts",
    "refund-request-form": "/transactions/{id}/refund-request", "refund-requests": "/refund-requests",
    "refund-request": "/refund-requests/{shopper.request}", "api-keys": "/api-keys",
    "server-notifications": "/server-notifications",
    "server-notification": "/server-notifications/{shopper.notification}",
    "managed": "/managed", "managed-app": "/managed/{managed}", "managed-product": "/managed/{managed}/{managed}.coins",
    "managed-subscription": "/managed/{managed}/{managed}.club?locale=de&offer=come-back",
    "merchant": "/merchant", "merchant-user": "/merchant/users/ann",
    "merchant-transaction": "/merchant/transaction?id={id}",
    "content": "/content", "content-product": "/content/com.example.bookchapters/com.example.bookchapters.chapter1",
    "reviews": "/reviews", "clock": "/clock", "notifications": "/notifications",
    "inspector": "/inspector?transaction={id}", "settings": "/settings", "snippets": "/snippets",
    "preview": "/preview?storefront=DEU&language=de&account={email}",
    "preview-product": "/preview/com.example.monkeys/com.example.monkeys.credits5?account={email}",
    "preview-invalid": "/preview/com.example.monkeys/none", "subscriptions": "/subscriptions",
    "subscriber": "/subscriptions/{email}",
    "search": "/search?q=tester", "missing": "/transactions/1", "empty": "/transactions?account={email}&state=refunded",
}


class Shopper:
    """A customer of the store with a product that is bought."""

    def __init__(self, store):
        self.email, self.password = f"{uuid.uuid4().hex[:12]}@example.com", uuid.uuid4().hex
        self._store = store
        ask("POST", store.addresses["control"] + "/control/v1/sandbox/accounts",
            {"email": self.email, "password": self.password, "storefront": "USA"})
        self._token = ask("POST", store.addresses["sandbox"] + "/device/v1/session",
                          {"email": self.email, "password": self.password, "deviceId": str(uuid.uuid4())})["token"]
        self.id = self.buy("com.example.monkeys.credits5")
        # An app that the store manages.
        self.managed = f"com.example.drafts{uuid.uuid4().hex[:8]}"
        managed = store.addresses["control"] + "/control/v1/managed/apps"
        ask("POST", managed, {"bundleId": self.managed, "name": "Drafts"})
        ask("POST", f"{managed}/{self.managed}/products", {
            "kind": "consumable", "productId": f"{self.managed}.coins", "document": {
                "displayPrice": "0.99", "referenceName": "Coins",
                "localizations": [{"locale": "en_US", "displayName": "Coins", "description": "Ten coins."}]}})
        ask("PUT", f"{managed}/{self.managed}/groups/21000009", {"revision": 1, "name": "Club"})
        ask("POST", f"{managed}/{self.managed}/products", {
            "kind": "autoRenewableSubscription", "productId": f"{self.managed}.club", "groupId": "21000009",
            "document": {
                "displayPrice": "3.99", "groupNumber": 1, "recurringSubscriptionPeriod": "P1M",
                "localizations": [{"locale": "de", "displayName": "Verein", "description": "Alle Affen."}],
                "introductoryOffers": [{"paymentMode": "free", "subscriptionPeriod": "P1W"}],
                "adHocOffers": [{"offerID": "come-back", "paymentMode": "payAsYouGo", "displayPrice": "1.99",
                                 "subscriptionPeriod": "P1M", "numberOfPeriods": 3}]}})

    def buy(self, product):
        """Buys as an app on a device does. Returns the transaction's id."""
        answer = ask("POST", self._store.addresses["sandbox"] + "/device/v1/purchases",
                     {"idempotencyKey": str(uuid.uuid4()), "bundleId": "com.example.monkeys", "productId": product,
                      "quantity": 1, "simulatesAskToBuy": False}, self._token)
        return answer["transaction"]["transactionId"]

    @functools.cached_property
    def request(self):
        """A request for the refund of another purchase. The merchant is told of both."""
        return ask("POST", self._store.addresses["control"] + "/control/v1/sandbox/refund-requests", {
            "transactionId": self.buy("com.example.monkeys.credits5"), "reason": "UNINTENDED_PURCHASE"})["requestId"]

    @functools.cached_property
    def notification(self):
        """The store's question to the merchant about the request."""
        assert self.request
        found = ask("GET", self._store.addresses["control"]
                    + "/control/v1/sandbox/notifications?bundle=com.example.monkeys&type=CONSUMPTION_REQUEST")
        return found["rows"][0]["notificationUUID"]


@pytest.fixture(scope="module")
def shopper(store):
    """A customer with a purchase."""
    return Shopper(store)


@contextlib.contextmanager
def console(browser, store, **options):
    """A page of the console with a watch, which must have noted nothing at the end."""
    with conftest.watched(browser, store, store.console, **options) as (context, watch):
        page = context.new_page()
        page.watch = watch
        yield page


@pytest.fixture(scope="module", params=[True, False], ids=["with scripts", "without scripts"])
def page(request, browser, store):
    """A page of a browser that runs scripts, and of one that does not."""
    with console(browser, store, java_script_enabled=request.param) as page:
        page.watch.expected = {404}
        page.scripts = request.param
        yield page


def address(name, shopper, environment="sandbox"):
    """The path of a page."""
    return f"/{environment}" + PAGES[name].format(
        email=shopper.email, id=shopper.id, managed=shopper.managed, shopper=shopper)


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_fit_for_people(page, shopper, name, pictures):
    answer = page.goto(address(name, shopper))
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    if page.scripts:
        assert_valid(answer)
        assert_fit_on(page, SCREENS, f"console-{name}", pictures)
    else:
        # Chromium runs no script for axe either.
        expect(page.get_by_role("link", name="Overview").first).to_be_visible()


# Words of a table that break in the middle. Identifiers and other long strings may.
BROKEN = """[...document.querySelectorAll("td > div, th > div")].flatMap(cell => {
    const texts = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT), range = document.createRange(), found = [];
    for (let text; (text = texts.nextNode());) {
        for (const word of text.data.matchAll(/[^\\s-]+/g)) {
            range.setStart(text, word.index);
            range.setEnd(text, word.index + word[0].length);
            const lines = new Set([...range.getClientRects()].map(box => Math.round(box.top)));
            if (lines.size > 1 && word[0].length <= 16 && !text.parentElement.closest(".id")) found.push(word[0]);
        }
    }
    return found;
})"""


@pytest.mark.parametrize("name", ["overview", "transactions", "customer", "content", "managed-app", "settings"])
def test_words_of_tables_stay_whole(browser, store, shopper, name):
    with console(browser, store) as page:
        page.goto(address(name, shopper))
        for width in (1280, 1024, 720):
            page.set_viewport_size({"width": width, "height": 800})
            assert page.evaluate(BROKEN) == [] and wide(page) == [], width


@pytest.mark.parametrize("scripts", [True, False])
def test_a_phone_shows_the_page_first_and_the_pages_in_a_menu(browser, store, scripts):
    screen = {"width": 375, "height": 667}
    with console(browser, store, viewport=screen, java_script_enabled=scripts) as page:
        page.goto("/sandbox/transactions")
        heading, pages = page.get_by_role("heading", level=1), page.get_by_role("navigation", name="Pages")
        assert heading.bounding_box()["y"] < 300
        expect(pages).to_be_hidden()
        page.get_by_role("button", name="Menu").click()
        expect(pages.get_by_role("link")).to_have_count(13)
        if scripts:
            assert_fit(page)
        page.keyboard.press("Escape")
        expect(pages).to_be_hidden()
        page.get_by_role("button", name="Menu").press("Enter")
        page.keyboard.press("Tab")
        expect(pages.get_by_role("link", name="Overview")).to_be_focused()
        pages.get_by_role("link", name="Customers").click()
        expect(heading).to_have_text("Customers")
        expect(pages).to_be_hidden()
        if scripts:
            # Keys have their meaning when the page's script has run.
            page.wait_for_load_state()
            page.keyboard.type("gt")
            expect(heading).to_have_text("Transactions")
            page.wait_for_load_state()
            page.keyboard.press("/")
            expect(page.get_by_role("searchbox", name="Search")).to_be_focused()


def test_the_first_page_is_small(browser, store):
    with console(browser, store) as page:
        answers = []
        page.on("response", lambda answer: answers.append(answer))
        page.goto("/sandbox")
        # The stream of changes has no end.
        sizes = [(answer.url, len(answer.body())) for answer in answers if "/console/events" not in answer.url]
        assert len(sizes) <= 5, sizes
        assert sum(size for _, size in sizes) <= 150_000, sizes


@pytest.mark.parametrize("scripts", [True, False])
def test_a_promotion_is_sent_from_the_preview(browser, store, shopper, scripts):
    with console(browser, store, java_script_enabled=scripts) as page:
        page.goto("/sandbox/preview?app=com.example.monkeys")
        page.get_by_label("Customer").fill(shopper.email)
        page.get_by_role("button", name="Show").last.click()
        page.locator("#products").get_by_role("link").first.click()
        expect(page.get_by_role("heading", name="As SKProduct describes it")).to_be_visible()
        page.get_by_role("button", name="Send the promotion").click()
        expect(page.get_by_text(f"Sent to {shopper.email}.")).to_be_visible()
        page.goto(f"/sandbox/customers/{shopper.email}")
        expect(page.locator("#offers").get_by_text("Waits for a device").first).to_be_visible()


@pytest.mark.parametrize("scripts", [True, False])
def test_a_code_is_made_and_withdrawn(browser, store, scripts):
    with console(browser, store, java_script_enabled=scripts) as page:
        page.goto("/sandbox/subscriptions")
        page.get_by_role("button", name="Make a code").click()
        said = page.get_by_role("status").filter(has_text="once.").inner_text()
        code = said.split()[0]
        page.get_by_role("button", name=f"Withdraw the code {code}").click()
        expect(page.get_by_text(f"{code} gives nothing any more.")).to_be_visible()


def test_production_asks_first(browser, store):
    with console(browser, store) as page:
        page.goto("/production/clock")
        expect(page.locator(".banner")).to_contain_text("Production")
        page.get_by_role("button", name="Stop the clock").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("Change production?")
        page.get_by_role("link", name="Cancel").click()
        page.goto("/production/clock")
        expect(page.get_by_role("button", name="Stop the clock")).to_be_visible()


def test_a_receipt_is_inspected(browser, store, shopper):
    with console(browser, store) as page:
        page.goto(f"/sandbox/inspector?transaction={shopper.id}")
        expect(page.locator("#verdict")).to_contain_text("Genuine")
        receipt = page.get_by_label("Paste a receipt").input_value()
        page.goto("/sandbox/inspector")
        page.get_by_label("Paste a receipt").fill(receipt)
        page.get_by_role("button", name="Inspect").click()
        expect(page.locator("#verdict")).to_contain_text("Genuine")
        expect(page.locator("#verify")).to_contain_text("The receipt is valid.")


@pytest.mark.parametrize("scripts", [True, False])
def test_a_receipts_file_is_inspected(browser, store, shopper, scripts):
    with console(browser, store, java_script_enabled=scripts) as page:
        page.watch.expected = {422}
        page.goto(f"/sandbox/inspector?transaction={shopper.id}")
        receipt = base64.b64decode(page.get_by_label("Paste a receipt").input_value())
        for name, content, word in [
                ("receipt", receipt, "Genuine"), ("receipt.txt", base64.b64encode(receipt), "Genuine"),
                ("answer.json", b'{"status": 21007}', "The receipt is of the sandbox."),
                ("signed.jws", b"eyJhbGciOiJFUzI1NiJ9.e30.AA", "Signed payload (JWS)")]:
            page.goto("/sandbox/inspector")
            page.get_by_label("Or choose its file, or drop it here").set_input_files(
                {"name": name, "mimeType": "application/octet-stream", "buffer": content})
            page.get_by_role("button", name="Inspect").click()
            expect(page.locator("#verdict")).to_contain_text(word)
        page.get_by_label("Or choose its file, or drop it here").set_input_files(
            {"name": "large", "mimeType": "application/octet-stream", "buffer": bytes((4 << 20) + 1)})
        page.get_by_role("button", name="Inspect").click()
        expect(page.get_by_role("alert").first).to_contain_text("The receipt is over 4 MiB.")


@pytest.mark.parametrize("scripts", [True, False])
def test_a_secret_disappears(browser, store, scripts):
    with console(browser, store, java_script_enabled=scripts) as page:
        # The page's clock is moved on with scripts, and the field of the answer is changed without.
        if scripts:
            page.clock.install()
        base = store.console.replace("cornerstore.localhost", "127.0.0.1")
        page.watch.allow(base)
        fields, held, read = [], [], []

        def hold(route):
            # The browser stays on the page with the secret until the test has read it.
            if read:
                route.continue_()
            else:
                held.append(route)

        def shorten(route):
            headers = route.request.headers | {"sec-fetch-site": "same-origin"}
            answer = route.fetch(headers=headers, max_redirects=0)
            fields.append(answer.headers["refresh"])
            soon = {} if scripts else {"refresh": "1; url=/sandbox/settings"}
            route.fulfill(response=answer, headers=answer.headers | soon)

        page.route("**/settings/tester", shorten)
        page.goto(base + "/sandbox/settings")
        page.route(base + "/sandbox/settings", hold)
        page.get_by_role("button", name="Show the password").click()
        expect(page.get_by_text("Shown for 30 seconds.")).to_be_visible()
        secret = page.locator("dd code.id").nth(1).inner_text()
        read.append(secret)
        for route in held:
            route.continue_()
        if scripts:
            # The page's script has set its timer when the page is loaded.
            page.wait_for_load_state()
            page.clock.fast_forward(29_000)
        expect(page.get_by_role("heading", level=1)).to_have_text("Settings")
        expect(page.get_by_text(secret)).to_have_count(0)
        assert fields == ["30; url=/sandbox/settings"]
