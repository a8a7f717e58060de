"""A customer's own page of subscriptions: opened by an app, or after a sign-in; with and without JavaScript."""

import pathlib

import conftest
import pytest
import store as stores
from looks import DARK, DESKTOP, LARGE, NARROW, PHONE, assert_fit_on, assert_valid
from playwright.sync_api import expect

CLUB = pathlib.Path(__file__).with_name("club.yaml")
MONTH, YEAR = "A month of the club", "A year of the club"
SCREENS = {"desktop": DESKTOP, "desktop-dark": DARK, "phone": PHONE, "narrow": NARROW, "large": LARGE}


@pytest.fixture(scope="module")
def store():
    """A store with subscriptions."""
    with stores.running(more=[CLUB]) as running:
        yield running


@pytest.fixture
def customer(store):
    """A customer with two subscriptions."""
    customer = store.customer()
    customer.subscribe("com.example.club", "club.monthly")
    customer.subscribe("com.example.club", "gym.monthly")
    return customer


def part(page, name):
    """The part of the page about a subscription."""
    return page.get_by_role("region", name=name)


def test_renewal_is_turned_off_and_on(page, customer):
    page.goto(customer.open_subscriptions())
    expect(part(page, MONTH)).to_contain_text("The Club · Membership")
    expect(part(page, MONTH)).to_contain_text("$5.99 on ")
    part(page, MONTH).get_by_role("link", name="Turn off renewal").click()
    expect(page.get_by_role("heading", level=1)).to_have_text(f"Turn off renewal of “{MONTH}”?")
    page.get_by_role("link", name="Cancel").click()
    expect(part(page, MONTH)).to_contain_text("$5.99 on ")
    part(page, MONTH).get_by_role("link", name="Turn off renewal").click()
    page.get_by_role("button", name="Turn off renewal").click()
    expect(page.get_by_role("status")).to_contain_text("Renewal is off.")
    expect(part(page, MONTH)).to_contain_text("None: renewal is off")
    expect(part(page, "The gym")).to_contain_text("$9.99 on ")
    part(page, MONTH).get_by_role("button", name="Turn on renewal again").click()
    expect(page.get_by_role("status")).to_have_text("The subscription renews again.")
    expect(part(page, MONTH)).to_contain_text("$5.99 on ")


def test_the_plan_is_changed_once(page, customer):
    page.goto(customer.open_subscriptions())
    # A lower plan waits for the renewal.
    part(page, MONTH).get_by_role("link", name="Change to <script>").click()
    expect(page.get_by_role("main")).to_contain_text("Nothing is paid now.")
    page.get_by_role("button", name="Confirm").click()
    expect(page.get_by_role("status")).to_have_text("Thank you. The plan begins with the next renewal.")
    expect(part(page, MONTH)).to_contain_text("$1.99 on ")
    # A higher one begins now, and a double click buys it once.
    part(page, MONTH).get_by_role("link", name=f"Change to {YEAR}").click()
    expect(page.get_by_role("heading", level=1)).to_have_text(f"Change to “{YEAR}” for $49.99 a year?")
    expect(page.get_by_role("main")).to_contain_text(customer.name)
    page.get_by_role("button", name="Confirm").dblclick()
    expect(page.get_by_role("status")).to_have_text("Thank you. The plan has begun.")
    expect(part(page, YEAR)).to_contain_text("$49.99 on ")
    expect(part(page, MONTH)).to_have_count(0)
    assert [each["productId"] for each in customer.subscriptions()] == ["club.yearly", "gym.monthly"]
    page.get_by_role("button", name="Done").click()
    expect(page.get_by_role("main")).to_contain_text("You can return to the app.")


def test_a_customer_signs_in(page, store):
    page.watch.expected = {401, 404}
    name, password = store.account()
    page.goto("/us")
    page.get_by_role("link", name="Subscriptions").click()
    page.get_by_label("E-mail address").fill(name)
    page.get_by_label("Password").fill("wrong")
    page.get_by_label("Sandbox").check()
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("alert")).to_be_visible()
    # The form keeps what was typed, except for the password.
    expect(page.get_by_label("E-mail address")).to_have_value(name)
    expect(page.get_by_label("Sandbox")).to_be_checked()
    page.get_by_label("Password").fill(password)
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("main")).to_contain_text("You have no subscriptions.")
    expect(page.get_by_role("main")).to_contain_text(name)
    address = page.url
    page.get_by_role("button", name="Done").click()
    expect(page.get_by_label("Password")).to_be_visible()
    page.goto(address)
    expect(page.get_by_role("heading", level=1)).to_have_text("Not found")


def test_the_pages_are_fit_for_people(browser, store, customer, pictures):
    ended = store.customer()
    ended.subscribe("com.example.club", "club.weekly")
    ended.turn_renewal(False)
    listed, off = customer.open_subscriptions(), ended.open_subscriptions()
    one = customer.subscriptions()[0]["originalTransactionId"]
    with conftest.watched(browser, store) as (context, watch):
        watch.expected = {404}
        page = context.new_page()
        for name, address in {
            "sign-in": "/subscriptions", "listed": f"{listed}?done=on", "off": f"{off}?problem=price_changed",
            "turning-off": f"{listed}/{one}/off", "changing": f"{listed}/{one}/plan?product=club.weekly",
            "expired": "/subscriptions/0",
        }.items():
            assert_valid(page.goto(address))
            assert_fit_on(page, SCREENS, f"subscriptions-{name}", pictures, {})
