"""Whether pages can be read by everybody, on every kind of screen."""

from typing import NamedTuple

import html5lib
from axe_playwright_python.base import AXE_SCRIPT

# Without the rules that a page passes, whose list takes longer to send than to find.
AXE = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22a", "wcag22aa"],
       "resultTypes": ["violations", "incomplete"]}
# Rules that axe has switched off, for pages that switch them on.
NAMES = {"label-content-name-mismatch": {"enabled": True}}


class Screen(NamedTuple):
    """A screen, and how its reader set the browser: colours, forced colours, and the size of text in pixels."""

    width: int
    height: int
    colours: str = "light"
    forced: str = "none"
    text: int = 16


DESKTOP, DARK, LARGE = Screen(1280, 800), Screen(1280, 800, "dark"), Screen(1280, 800, text=32)
PHONE, PHONE_DARK, NARROW = Screen(375, 667), Screen(375, 667, "dark"), Screen(320, 568)


def use(page, screen):
    """Shows a page on a screen."""
    page.set_viewport_size({"width": screen.width, "height": screen.height})
    page.emulate_media(color_scheme=screen.colours, forced_colors=screen.forced)
    if not hasattr(page, "settings"):
        page.settings = page.context.new_cdp_session(page)
    page.settings.send("Page.setFontSizes", {"fontSizes": {"standard": screen.text, "fixed": screen.text * 13 // 16}})


def keep(page, path):
    """Keeps a picture of a page, with the pictures that load when they come into view."""
    for image in page.locator("img").all():
        image.scroll_into_view_if_needed()
        image.evaluate("image => image.decode()")
    page.evaluate("scrollTo(0, 0)")
    page.screenshot(path=path, full_page=True)


# What of a page is wider than the window. Screenshots of apps scroll within themselves, and narrow tables hide their head.
WIDE = """[...document.querySelectorAll("body *")].filter(element =>
    element.getBoundingClientRect().right > innerWidth + 1 && !element.closest(".hidden, .skip, .shots, thead")
).map(element => "wide: " + element.outerHTML.slice(0, 200))"""


def wide(page):
    """What of a page is wider than the window."""
    # Without its style sheet a page is wider.
    page.wait_for_load_state()
    sideways, parts = page.evaluate(f"[document.documentElement.scrollWidth, {WIDE}]")
    return parts + ([f"scrolls sideways: {sideways}"] if sideways > page.viewport_size["width"] else [])


def faults(page, decided=None, rules=None):
    """What is wrong with a page: parts wider than the window, and what axe finds or cannot decide, also by further
    `rules`.

    `decided` has, by axe's rule, a part of the elements that somebody looked at because axe cannot decide."""
    options = {**AXE, "rules": rules or {}}
    # Without its style sheet a page looks different.
    page.wait_for_load_state()
    if page.evaluate("matchMedia('(forced-colors: active)').matches"):
        # axe reads the style sheet's colours, where the browser paints the system's.
        options["rules"] = {**options["rules"], "color-contrast": {"enabled": False}}
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE_SCRIPT)
    results = page.evaluate(
        "options => axe.run(options).then(({ violations, incomplete }) => ({ violations, incomplete }))", options)
    found = [f"{rule['id']}: {node['html'][:200]} {node['failureSummary']}"
             for rule in results["violations"] for node in rule["nodes"]]
    found += [f"undecided {rule['id']}: {node['html'][:200]}" for rule in results["incomplete"]
              for node in rule["nodes"] if (decided or {}).get(rule["id"], "\0") not in node["html"]]
    return wide(page) + found


def assert_fit(page):
    """A page must have no faults."""
    assert faults(page) == []


def assert_fit_on(page, screens, name, pictures, decided=None, rules=None):
    """A page must have no faults on any of these screens. `pictures` is a folder for pictures of it, or None."""
    found = []
    for title, screen in screens.items():
        use(page, screen)
        if pictures:
            keep(page, pictures / f"{name}-{title}.png")
        found += [f"{title}: {fault}" for fault in faults(page, decided, rules)]
    assert found == []


def assert_valid(answer):
    """An answer must be valid HTML."""
    parser = html5lib.HTMLParser(strict=False)
    parser.parse(answer.body(), transport_encoding="utf-8")
    lines = answer.text().splitlines()
    assert [(lines[line - 1][:200], code) for (line, _), code, _ in parser.errors] == []
