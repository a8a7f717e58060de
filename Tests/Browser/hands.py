"""People at a page: with a pointer, without scripts, or with a keyboard alone."""

import re

from playwright.sync_api import expect


class Pointer:
    """Somebody who points at what is to be used."""

    scripts = True

    def __init__(self, page):
        self.page = page

    def press(self, control):
        """Uses a link, a button or a tick."""
        control.click()

    def fill(self, field, text):
        """Types into a field in place of its text."""
        field.fill(text)

    def choose(self, field, label):
        """Chooses a value of a field by its words."""
        field.select_option(label=label)

    def go(self, name):
        """Goes to a page of the navigation, which a narrow screen keeps in a menu."""
        # Before its style sheet has arrived, a page shows the button on every screen.
        self.page.wait_for_load_state()
        menu = self.page.get_by_role("button", name="Menu")
        if menu.is_visible():
            menu.click()
        self.page.get_by_role("navigation", name="Pages").get_by_role("link", name=name, exact=True).click()


class WithoutScripts(Pointer):
    """Somebody whose browser runs no scripts."""

    scripts = False


class Keyboard(Pointer):
    """Somebody who has no pointer."""

    # More than the controls of any page.
    MOST = 400

    def _reach(self, control):
        """Moves the focus to a control."""
        # A key may still be leading to the control's page. Before its style sheet has arrived, a page is not shown, and
        # nothing of it takes the focus.
        control.wait_for(state="attached")
        self.page.wait_for_load_state()
        for _ in range(self.MOST):
            # The page may replace the control while somebody is on the way to it.
            if control.evaluate("element => element === document.activeElement"):
                return
            self.page.keyboard.press("Tab")
        raise AssertionError(f"Tab does not lead to {control}")

    def press(self, control):
        self._reach(control)
        self.page.keyboard.press("Space" if control.get_attribute("type") == "checkbox" else "Enter")

    def fill(self, field, text):
        self._reach(field)
        self.page.keyboard.press("Control+A")
        self.page.keyboard.type(text)

    def choose(self, field, label):
        self._reach(field)
        self.page.keyboard.press("Home")
        for _ in range(self.MOST):
            if field.evaluate("field => field.selectedOptions[0].label") == label:
                return
            self.page.keyboard.press("ArrowDown")
        raise AssertionError(f"{field} has no {label}")

    def go(self, name):
        """Goes to a page by `g` and the letter that the help names."""
        # Keys have their meaning when the page's script has run.
        self.page.wait_for_load_state()
        self.page.keyboard.press("?")
        help = self.page.get_by_role("dialog")
        line = help.get_by_text(re.compile(f"^g . — {re.escape(name)}$")).inner_text()
        self.page.keyboard.press("Escape")
        expect(help).to_be_hidden()
        self.page.keyboard.type("g" + line[2])
