"""Pages in forced colours, where backgrounds, shadows and colours of text say nothing."""

import conftest
import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect
from store import FILTERS, MONKEYS, SONG
from test_console import Shopper
from test_looks import AXE
from test_sheets import PAGES, post

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

# axe reads the style sheet's colours, where the browser paints the system's.
UNFORCED = {"rules": {"color-contrast": {"enabled": False}}}

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
    results = Axe().run(page, options=AXE | UNFORCED).response
    assert [f"{rule['id']}: {node['html'][:200]} {node['failureSummary']}"
            for rule in results["violations"] for node in rule["nodes"]] == []


@pytest.mark.parametrize("colours", ["light", "dark"])
@pytest.mark.parametrize("path", CONSOLE)
def test_the_console(browser, store, path, colours):
    Shopper(store)
    with conftest.watched(browser, store, store.console, forced_colors="active", color_scheme=colours) as (context, _):
        page = context.new_page()
        page.goto(path)
        assert_readable(page, CONSOLE[path])
        # The page and the environment where the reader is differ from the others.
        for links in (".pages a", ".switch a"):
            colour = "link => getComputedStyle(link).backgroundColor"
            here = page.locator(links + "[aria-current]").evaluate(colour)
            assert here not in [other.evaluate(colour) for other in page.locator(links + ":not([aria-current])").all()]


@pytest.mark.parametrize("colours", ["light", "dark"])
@pytest.mark.parametrize("path", STOREFRONT)
def test_the_storefront(browser, store, path, colours):
    with conftest.watched(browser, store, forced_colors="active", color_scheme=colours) as (context, _):
        page = context.new_page()
        page.goto(path)
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
