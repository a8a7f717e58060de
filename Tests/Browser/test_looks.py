"""Every kind of page on every kind of screen: readable, accessible, silent, and in one column's width."""

import html

import conftest
import html5lib
import pytest
from axe_playwright_python.sync_playwright import Axe
from looks import AXE
from store import ALBUM, BOOK, FILM, FILTERS, GIBBONS, MARKUP, MONKEYS, ROOT, SONG

SCREENS = ROOT / ".build/screens"

# Width, height and colours. "large" has text of twice the usual size, as a reader can order in the browser's settings.
MODES = {
    "desktop": (1280, 800, "light"), "desktop-dark": (1280, 800, "dark"), "phone": (375, 667, "light"),
    "phone-dark": (375, 667, "dark"), "narrow": (320, 568, "light"), "large": (1280, 800, "light"),
}

# The addresses; those in braces are visits.
PAGES = {
    "first": "/us", "found": "/us/find?term=canopy", "nothing": "/us/find?term=zebra",
    "creator": f"/us/artist/the-gibbons/{GIBBONS}", "app": f"/us/app/monkey-credits/id{MONKEYS}",
    "paid-app": f"/us/app/photo-filters/id{FILTERS}", "album": f"/us/album/canopy/{ALBUM}",
    "song": f"/us/album/first-branch/{ALBUM}?i={SONG}", "film": f"/us/movie/the-keeper/id{FILM}",
    "book": f"/us/book/the-small-compass/id{BOOK}", "long-words": f"/us/app/id{MARKUP}", "missing": "/us/app/id5",
    "offered": "{offered}", "question": "{offered}/buy", "refused": "{offered}?problem=payment_declined",
    "owned": "{owned}?done=bought", "reviewed": "{reviewed}?done=reviewed", "expired": "/visit/0", "done": "{done}/done",
}

# axe cannot decide these by itself. Each was looked at.
UNDECIDED = {
    # Captions are for speech, and only its maker knows whether a clip has any. The sample's has none.
    "video-caption": "<video",
    # axe does not measure text of one sign. The stars have the colour of the text, or --star: at least 4.5:1.
    "color-contrast": "★",
}


@pytest.fixture(scope="module")
def visits(store):
    """The addresses of pages within apps."""
    buyer, critic = store.customer(), store.customer()
    addresses = {"offered": buyer.visit(SONG)["url"], "owned": buyer.visit(FILM)["url"],
                 "done": buyer.visit(BOOK)["url"], "reviewed": critic.visit(MONKEYS)["url"]}
    buyer.buy(FILM)
    critic.buy(MONKEYS)
    critic.review("com.example.monkeys", 4, "Fun for a rainy day", "My monkeys are never hungry now.\nMore jungles!")
    store.answer_reviews(MONKEYS, "The next version has two.")
    for stars in (5, 5, 3):
        other = store.customer()
        other.buy(MONKEYS)
        other.review("com.example.monkeys", stars)
    return addresses


@pytest.fixture(scope="module", params=MODES)
def screen(request, browser, store):
    """A page with a watch for each mode."""
    width, height, colours = MODES[request.param]
    options = {"viewport": {"width": width, "height": height}, "color_scheme": colours}
    with conftest.watched(browser, store, **options) as (context, watch):
        watch.expected = {404}
        page = context.new_page()
        page.mode = request.param
        if page.mode == "large":
            sizes = {"fontSizes": {"standard": 32, "fixed": 26}}
            context.new_cdp_session(page).send("Page.setFontSizes", sizes)
        yield page


def open_page(page, name, visits):
    """Goes to a page as its kind is reached."""
    address = PAGES[name].format(**visits)
    if name == "done":
        page.goto(visits["done"])
        page.get_by_role("button", name="Done").click()
    else:
        page.goto(address)


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_fit_for_people(screen, visits, name):
    page = screen
    open_page(page, name, visits)
    if page.mode in ("desktop", "desktop-dark", "phone", "phone-dark"):
        for image in page.locator("img").all():
            image.scroll_into_view_if_needed()
            image.evaluate("image => image.decode()")
        page.evaluate("scrollTo(0, 0)")
        SCREENS.mkdir(parents=True, exist_ok=True)
        page.screenshot(path=SCREENS / f"{name}-{page.mode}.png", full_page=True)
    width = page.viewport_size["width"]
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    # Words that run out of their part of the page: only the screenshots scroll, and within themselves.
    assert page.evaluate("""[...document.querySelectorAll("main *, header *, footer *")].filter(element =>
        !element.closest(".shots, .hidden") && element.getBoundingClientRect().right > innerWidth + 1
    ).map(element => element.outerHTML.slice(0, 200))""") == []
    results = Axe().run(page, options=AXE).response
    faults = [f"{rule['id']}: {node['html'][:200]} {node['failureSummary']}"
              for rule in results["violations"] for node in rule["nodes"]]
    faults += [f"undecided {rule['id']}: {node['html'][:200]}"
               for rule in results["incomplete"] for node in rule["nodes"] if UNDECIDED.get(rule["id"], "\0") not in node["html"]]
    assert faults == []


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_valid_html(browser, store, visits, name):
    with conftest.watched(browser, store) as (context, watch):
        address = PAGES[name].format(**visits)
        answer = context.request.post(address) if name == "done" else context.request.get(address)
        parser = html5lib.HTMLParser(strict=False)
        parser.parse(answer.body(), transport_encoding="utf-8")
        lines = answer.text().splitlines()
        assert [(lines[line - 1][:200], code) for (line, _), code, _ in parser.errors] == []


@pytest.fixture(scope="module", autouse=True)
def sheet(browser):
    """Puts all screenshots on one sheet."""
    yield
    if not SCREENS.is_dir():
        return
    figures = "".join(
        "<h2>" + name + "</h2><div>" + "".join(
            f"<img src='{html.escape((SCREENS / f'{name}-{mode}.png').as_uri())}'>"
            for mode in ("desktop", "desktop-dark", "phone", "phone-dark")
            if (SCREENS / f"{name}-{mode}.png").exists()) + "</div>"
        for name in PAGES)
    style = "div { display: flex; gap: 12px; align-items: start } img { zoom: .4; border: 2px solid gray }"
    page = browser.new_page(viewport={"width": 1400, "height": 800})
    path = SCREENS / "sheet.html"
    path.write_text(f"<!DOCTYPE html><title>Pages</title><style>{style}</style>{figures}", encoding="utf-8")
    page.goto(path.as_uri())
    page.screenshot(path=SCREENS / "sheet.png", full_page=True)
    page.close()
