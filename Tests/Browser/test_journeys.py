"""What people do on the storefront's public pages, with and without JavaScript."""

import re

import pytest
from playwright.sync_api import expect
from store import ALBUM, BOOK, FILM, GIBBONS, MONKEYS, SONG


def assert_decoded(images):
    """Every one of these pictures must have been decoded."""
    # A heading is there before the parser has reached what follows it.
    images.page.wait_for_load_state()
    assert images.count() > 0
    for image in images.all():
        # Pictures load when they come into view.
        image.scroll_into_view_if_needed()
        image.evaluate("image => image.decode()")
        assert image.evaluate("image => image.naturalWidth") > 0, image.get_attribute("src")


def test_an_item_is_found_by_the_form(page):
    page.goto("/")
    page.get_by_role("searchbox", name="Search").fill("small compass")
    page.get_by_role("button", name="Search").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Results for “small compass”")
    assert_decoded(page.locator(".tiles img"))
    page.get_by_role("link", name="The Small Compass").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("The Small Compass")
    expect(page).to_have_url(re.compile(f"/us/book/the-small-compass/id{BOOK}$"))


@pytest.mark.parametrize(("link", "name"), [
    (f"/us/app/monkey-credits/id{MONKEYS}", "Monkey Credits"),
    (f"/id{MONKEYS}", "Monkey Credits"),
    (f"/us/album/first-branch/{ALBUM}?i={SONG}", "First Branch"),
    (f"/album/{ALBUM}", "Canopy"),
    (f"/us/movie/the-keeper/id{FILM}", "The Keeper"),
])
def test_links_lead_to_items_with_pictures(page, link, name):
    page.goto(link)
    expect(page.get_by_role("heading", level=1)).to_have_text(name)
    assert_decoded(page.locator("article img"))


def test_a_creators_items_are_listed(page):
    page.goto(f"/us/album/first-branch/{ALBUM}?i={SONG}")
    page.get_by_role("link", name="The Gibbons").first.click()
    expect(page).to_have_url(re.compile(f"/us/artist/the-gibbons/{GIBBONS}$"))
    expect(page.locator(".tiles li")).to_have_count(4)


@pytest.mark.parametrize(("link", "player"), [
    (f"/us/album/first-branch/{ALBUM}?i={SONG}", "audio"), (f"/us/movie/the-keeper/id{FILM}", "video"),
])
def test_a_preview_plays(page, link, player):
    page.goto(link)
    player = page.locator(player)
    player.focus()
    page.keyboard.press("Space")
    # The clip was read and decoded. Playwright asks again and again: without scripts, a page's own timers may stand still.
    expect(player).not_to_have_js_property("currentTime", 0)
    assert player.evaluate("player => player.error?.message ?? null") is None
