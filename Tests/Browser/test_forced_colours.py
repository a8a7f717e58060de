"""Pages in forced colours, where backgrounds, shadows and colours of text say nothing."""

import conftest
import pytest
from looks import DARK, DESKTOP, faults, use
from playwright.sync_api import expect
from store import FILTERS, MONKEYS, SONG
from test_console import Shopper
from test_sheets import PAGES, post

SCREENS = [screen._replace(forced="active") for screen in (DESKTOP, DARK)]

# The console's pages, and what must have a border or an outline there.
CONSOLE = {
    "/sandbox": "button, .banner, .clock, .switch, .find input, .numbers div",
    "/production": ".banner, .switch",
    "/sandbox/transactions": "button, select, input:not([type=hidden])",
    "/sandbox/clock": "button, input:not([type=hidden]), select",
    "/sandbox/inspector": "button, textarea, input:not([type=hidden], [type=checkbox])",
}
STOREFRONT = {
    f"/us/app/monkey-credits/id{MONKEYS}": "button, input:not([type=hidden])",
    f"/us/app/photo-filters/id{FILTERS}": "button, .price",
}

# What of these has neither a border nor an outline on any side.
BARE = """selector => [...document.querySelectorAll(selector)].filter(element => {
    if (!element.checkVisibility()) return false;
    const style = getComputedStyle(element);
    const isSeen = side => style[`border${side}Style`] !== "none" && parseFloat(style[`border${side}Width`]) > 0;
    return !["Top", "Bottom", "Left", "Right"].some(isSeen) && style.outlineStyle === "none";
}).map(element => element.outerHTML.slice(0, 150))"""


def assert_readable(page, selector):
    """axe must be content, and elements of these kinds must be there and have borders."""
    assert page.evaluate("matchMedia('(forced-colors: active)').matches")
    assert page.locator(selector).count() > 0
    assert page.evaluate(BARE, selector) == []
    assert faults(page) == []


def assert_marked(page):
    """The page and the environment where the reader is must differ from the others."""
    for links in (".pages a", ".switch a"):
        colours = "links => links.map(link => getComputedStyle(link).backgroundColor)"
        here = page.locator(links + "[aria-current]").evaluate_all(colours)
        others = page.locator(links + ":not([aria-current])").evaluate_all(colours)
        assert len(here) == 1 and others and here[0] not in others


@pytest.fixture(scope="module")
def purchase(store):
    """A purchase, which the console's lists show."""
    return Shopper(store)


@pytest.mark.parametrize("path", CONSOLE)
def test_the_console(browser, store, purchase, path):
    with conftest.watched(browser, store, store.console) as (context, _):
        page = context.new_page()
        page.goto(path)
        for screen in SCREENS:
            use(page, screen)
            assert_readable(page, CONSOLE[path])
            assert_marked(page)


@pytest.mark.parametrize("path", STOREFRONT)
def test_the_storefront(browser, store, path):
    with conftest.watched(browser, store) as (context, _):
        page = context.new_page()
        page.goto(path)
        for screen in SCREENS:
            use(page, screen)
            assert_readable(page, STOREFRONT[path])


def test_a_purchase_on_the_storefront(browser, store):
    visit = store.customer().visit(SONG)
    with conftest.watched(browser, store, forced_colors="active") as (context, _):
        page = context.new_page()
        page.goto(visit["url"] + "/buy")
        assert_readable(page, ".confirm, .button, button")


def test_a_payment_sheet_shows_focus_error_and_environment(browser, store):
    with conftest.watched(browser, store, store.control, forced_colors="active") as (context, _):
        page = context.new_page()
        page.goto(post(store, PAGES["wrong"][0]))
        assert_readable(page, ".confirm, .environment, button, input, .message")
        width = "field => parseFloat(getComputedStyle(field).borderTopWidth)"
        assert page.get_by_label("Password").evaluate(width) > page.get_by_label("E-mail").evaluate(width)
        page.get_by_label("Password").focus()
        expect(page.get_by_label("Password")).to_have_css("outline-style", "solid")
