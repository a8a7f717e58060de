"""Refund requests, the store's notifications and the keys of the server API on the console."""

import contextlib
import json
import re

import pytest
import store as stores
from hands import Keyboard, Pointer, WithoutScripts
from looks import assert_fit
from playwright.sync_api import expect
from test_console import Shopper, console

HEADING = {"level": 1}
MONKEYS = "com.example.monkeys"


@pytest.fixture
def fresh():
    """A store that nobody used, without a merchant, to which notifications would go."""
    with stores.running(more=[], options=["--no-merchant"]) as store:
        yield store


@contextlib.contextmanager
def people(browser, store, kind):
    """Somebody at a page of the console, with a watch."""
    with console(browser, store, java_script_enabled=kind.scripts) as page:
        yield kind(page)


@pytest.mark.parametrize("kind", [Pointer, WithoutScripts, Keyboard])
def test_a_refund_is_requested_and_approved(browser, fresh, kind):
    shopper = Shopper(fresh)
    with people(browser, fresh, kind) as hands:
        page = hands.page
        page.goto(f"/sandbox/transactions/{shopper.id}")
        hands.press(page.get_by_role("link", name="Request a refund as the customer"))
        hands.choose(page.get_by_label("The customer's reason"), "Not satisfied with it")
        hands.press(page.get_by_role("button", name="Request the refund"))
        expect(page.get_by_role("heading", **HEADING)).to_have_text(re.compile("Refund request [0-9]+"))
        expect(page.locator("#summary")).to_contain_text("Waiting")
        expect(page.locator("#summary")).to_contain_text(shopper.email)
        if kind is Pointer:
            assert_fit(page)

        hands.go("Overview")
        number = page.locator(".numbers > div", has=page.get_by_text("Refund requests", exact=True))
        hands.press(number.get_by_role("link"))
        row = page.locator("#list tbody tr")
        expect(row).to_have_count(1)
        expect(row).to_contain_text("Not satisfied with it")
        hands.press(row.get_by_role("link").first)
        hands.choose(page.get_by_label("How much"), "The part that was not used")
        hands.press(page.locator("#decision").get_by_role("button", name="Approve"))
        expect(page.locator("#summary")).to_contain_text("Approved")
        expect(page.locator("#decision")).to_have_count(0)
        page.goto(f"/sandbox/transactions/{shopper.id}")
        expect(page.locator("#fields")).to_contain_text("Refunded")
        expect(page.get_by_role("link", name="Request a refund as the customer")).to_have_count(0)


@pytest.mark.parametrize("kind", [Pointer, WithoutScripts])
def test_production_asks_before_the_rule_is_set(browser, fresh, kind):
    with people(browser, fresh, kind) as hands:
        page = hands.page
        page.goto("/production/refund-requests")
        hands.choose(page.get_by_label("When the deadline is over"), "Decline")
        hands.press(page.get_by_role("button", name="Set the rule"))
        expect(page.get_by_role("heading", **HEADING)).to_have_text("Change production?")
        assert fresh.report("refund-request", "rule", "--environment", "production") == {"rule": "ask"}
        hands.press(page.get_by_role("button", name="Yes"))
        expect(page.locator("#rule")).to_contain_text("Decline")
        assert fresh.report("refund-request", "rule", "--environment", "production") == {"rule": "decline"}
        assert fresh.report("refund-request", "rule") == {"rule": "approve"}


@pytest.mark.parametrize("kind", [Pointer, WithoutScripts])
def test_notifications_are_sent_tested_and_sent_again(browser, fresh, kind):
    with contextlib.closing(stores.Receiver(status=500)) as receiver, people(browser, fresh, kind) as hands:
        page = hands.page
        page.goto("/sandbox")
        hands.go("Notifications")
        hands.press(page.get_by_role("link", name="Notifications and their URLs"))
        expect(page.locator("#urls")).to_contain_text("No URLs yet.")
        urls = page.locator("#urls")
        page.watch.expected = {422}
        urls.get_by_label("App", exact=True).select_option(MONKEYS)
        hands.fill(urls.get_by_label("URL", exact=True), "http://shop.example/apple")
        hands.press(urls.get_by_role("button", name="Set"))
        expect(urls.get_by_role("alert")).to_be_visible()
        hands.fill(urls.get_by_label("URL", exact=True), f"http://127.0.0.1:{receiver.port}/apple")
        hands.press(urls.get_by_role("button", name="Set"))
        expect(urls.locator("tbody tr")).to_have_count(1)

        hands.press(urls.get_by_role("button", name="Test"))
        expect(page.get_by_role("heading", **HEADING)).to_have_text("Notification TEST")
        shown(page, "#attempts", "UNSUCCESSFUL_HTTP_RESPONSE_CODE")
        expect(page.locator("#summary")).to_contain_text("Failed")
        # The payload is shown decoded.
        payload = json.loads(page.locator("#payload code").inner_text())
        assert payload["notificationType"] == "TEST" and payload["data"]["bundleId"] == MONKEYS
        if kind is Pointer:
            assert_fit(page)

        receiver.status = 200
        hands.press(page.get_by_role("button", name="Send again"))
        shown(page, "#attempts", "SUCCESS")
        expect(page.locator("#attempts tbody tr")).to_have_count(2)
        assert len(receiver.received) == 2

        # A purchase is told too, with its transaction decoded.
        bought = Shopper(fresh).id
        page.goto("/sandbox/server-notifications?type=ONE_TIME_CHARGE")
        hands.press(page.locator("#list tbody tr").get_by_role("link").first)
        shown(page, "#attempts", "SUCCESS")
        payload = json.loads(page.locator("#payload code").inner_text())
        assert payload["data"]["signedTransactionInfo"]["transactionId"] == bought

        page.goto("/sandbox/server-notifications")
        hands.press(page.locator("#urls").get_by_role("button", name="Remove"))
        expect(page.locator("#urls")).to_contain_text("No URLs yet.")


def shown(page, section, text):
    """Loads a page again until a section has a text: the store's senders change it without a topic of the stream."""
    for _ in range(100):
        if re.search(rf"\b{text}\b", page.locator(section).inner_text()):
            return
        page.wait_for_timeout(100)
        page.reload()
    raise AssertionError(f"{section} does not have {text}")


@pytest.mark.parametrize("kind", [Pointer, WithoutScripts])
def test_a_key_is_made_shown_once_and_revoked(browser, fresh, kind):
    with people(browser, fresh, kind) as hands:
        page = hands.page
        page.goto("/sandbox")
        hands.go("Settings")
        hands.press(page.get_by_role("link", name="Keys of the server API"))
        page.locator("#keys").get_by_label("App", exact=True).select_option(MONKEYS)
        hands.press(page.get_by_role("button", name="Make"))
        expect(page.locator("#key pre")).to_contain_text("-----BEGIN PRIVATE KEY-----")
        key = page.locator("#key dd code.id").first.inner_text()
        page.goto("/sandbox/api-keys")
        expect(page.locator("#keys tbody tr")).to_have_count(1)
        expect(page.locator("#keys")).to_contain_text(key)
        expect(page.locator("main")).not_to_contain_text("PRIVATE KEY")
        hands.press(page.get_by_role("button", name=f"Revoke the key {key}"))
        expect(page.get_by_role("heading", **HEADING)).to_have_text("Change both environments?")
        hands.press(page.get_by_role("button", name="Yes"))
        expect(page.locator("#keys tbody tr")).to_contain_text("Revoked")
        assert fresh.report("key", "list")[0]["revokedDate"]
