"""Whether a page can be read by everybody."""

from axe_playwright_python.sync_playwright import Axe

AXE = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22a", "wcag22aa"]}


def assert_in_width(page):
    """Nothing of a console page may be wider than the window."""
    assert page.evaluate("document.documentElement.scrollWidth") <= page.viewport_size["width"]
    assert page.evaluate("""[...document.querySelectorAll("body *")].filter(element =>
        !element.closest(".hidden, .skip, thead") && element.getBoundingClientRect().right > innerWidth + 1
    ).map(element => element.outerHTML.slice(0, 200))""") == []


def assert_fit(page):
    """A console page must keep to the window's width and pass axe, which must not be undecided either."""
    assert_in_width(page)
    results = Axe().run(page, options=AXE).response
    faults = [f"{rule['id']}: {node['html'][:200]} {node['failureSummary']}"
              for rule in results["violations"] for node in rule["nodes"]]
    faults += [f"undecided {rule['id']}: {node['html'][:200]}"
               for rule in results["incomplete"] for node in rule["nodes"]]
    assert faults == []
