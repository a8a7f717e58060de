"""What people do on the pages that apps open for their customers, with and without JavaScript."""

import contextlib
import json
import re
import select

from playwright.sync_api import expect
from store import ALBUM, BOOK, FILM, FILTERS, MARKUP, SONG, running


def test_an_item_is_bought_and_reviewed(page, store):
    customer = store.customer()
    visit = customer.visit(SONG)
    page.goto(visit["url"])
    page.get_by_role("link", name="Buy for $0.69").click()
    # The question names the price and the account.
    expect(page.get_by_role("heading", level=1)).to_have_text("Buy “First Branch” for $0.69?")
    expect(page.get_by_role("main")).to_contain_text(customer.name)
    page.get_by_role("link", name="Cancel").click()
    assert customer.library() == []
    page.get_by_role("link", name="Buy for $0.69").click()
    page.get_by_role("button", name="Buy").click()
    expect(page.get_by_role("status")).to_have_text("Thank you. It is in your library now.")
    expect(page.get_by_role("link", name="Buy for")).to_have_count(0)
    assert customer.state(visit) == "bought"
    assert [item["item"] for item in customer.library()] == [SONG]

    public = f"/us/album/first-branch/{ALBUM}?i={SONG}"
    title, text = f"Swings {visit['id'][:6]}", "One\nTwo <b>three</b>"
    page.get_by_label("4 stars").check()
    page.get_by_label("Title").fill(title)
    page.get_by_label("Review", exact=True).fill(text)
    page.get_by_role("button", name="Send").click()
    expect(page.get_by_role("status")).to_have_text("Thank you for your review.")
    page.goto(public)
    review = page.locator(".review", has_text=title)
    expect(review).to_contain_text("Two <b>three</b>")
    expect(review.get_by_role("img", name="4 of 5 stars")).to_be_visible()
    expect(page.locator(".head").get_by_role("img", name="4.0 of 5 stars")).to_be_visible()

    # The form has what was written before, and the changed review takes the place of the first.
    page.goto(visit["url"])
    expect(page.get_by_label("4 stars")).to_be_checked()
    expect(page.get_by_label("Review", exact=True)).to_have_value(text)
    page.get_by_label("2 stars").check()
    page.get_by_role("button", name="Save").click()
    page.goto(public)
    expect(page.locator(".head").get_by_role("img", name="2.0 of 5 stars")).to_be_visible()
    expect(page.locator(".review")).to_have_count(1)

    page.goto(visit["url"])
    page.get_by_role("button", name="Remove your review").click()
    expect(page.get_by_role("status")).to_have_text("Your review was removed.")
    page.goto(public)
    expect(page.locator(".review")).to_have_count(0)
    expect(page.get_by_role("main")).to_contain_text("No ratings in this storefront yet.")


def test_double_click_and_back_button_buy_once(page, store):
    customer = store.customer()
    visit = customer.visit(BOOK)
    page.goto(visit["url"])
    page.get_by_role("link", name="Buy for $0.99").click()
    page.get_by_role("button", name="Buy").dblclick()
    expect(page.get_by_role("status")).to_have_text("Thank you. It is in your library now.")
    page.go_back()
    # Whatever page the browser goes back to, no button buys the item again.
    expect(page.get_by_role("main")).to_contain_text("The Small Compass")
    expect(page.get_by_role("button", name="Buy")).to_have_count(0)
    page.reload()
    page.goto(visit["url"] + "/buy")
    expect(page.get_by_role("main")).to_contain_text("You own this.")
    assert [item["item"] for item in customer.library()] == [BOOK]


def test_the_price_is_that_of_the_customers_storefront(page, store):
    customer = store.customer("JPN")
    page.goto(customer.visit(FILTERS)["url"])
    page.get_by_role("link", name=re.compile("Buy for [¥￥]300")).click()
    expect(page.get_by_role("heading", level=1)).to_have_text(re.compile("[¥￥]300"))


def test_done_closes_the_page(page, store):
    customer = store.customer()
    visit = customer.visit(FILM)
    page.goto(visit["url"])
    page.get_by_role("button", name="Done").click()
    expect(page.get_by_role("main")).to_contain_text("You can return to the app.")
    assert customer.state(visit) == "closed"


def test_a_forged_or_ended_visit_shows_nothing(page, store):
    page.watch.expected = {404}
    customer = store.customer()
    visit = customer.visit(SONG)
    forged = visit["url"][:-1] + ("0" if visit["url"][-1] != "0" else "1")
    customer.sign_out()
    for address in [visit["url"], visit["url"] + "/buy", forged, "/visit/", "/visit/%00", "/visit/x/y/z"]:
        page.goto(address)
        expect(page.get_by_role("heading", level=1)).to_have_text("Not found")
        expect(page.get_by_role("main")).not_to_contain_text(customer.name)
        expect(page.locator("form[method=post]")).to_have_count(0)


def test_hostile_text_stays_text(page, store):
    """The watch notes a dialog, a refused script or a request, should any text have become markup."""
    customer = store.customer()
    visit = customer.visit(MARKUP)
    for address in [visit["url"], visit["url"] + "/buy", f"/us/app/id{MARKUP}", "/us/developer/id1300000099", "/us",
                    "/us/find?term=%22%3E%3Cscript%3Ealert(1)%3C%2Fscript%3E"]:
        page.goto(address)
        expect(page.locator("script, iframe, svg, style, main img[src=x]")).to_have_count(0)
        expect(page.get_by_role("main")).to_contain_text("script>alert(")
    page.goto(visit["url"] + "/buy")
    page.get_by_role("button", name="Get").click()
    page.get_by_label("1 star", exact=True).check()
    page.get_by_label("Title").fill("<script>alert('title')</script>\u202e")
    page.get_by_label("Review", exact=True).fill("</textarea><script>alert('text')</script>")
    page.get_by_role("button", name="Send").click()
    expect(page.get_by_label("Review", exact=True)).to_have_value("</textarea><script>alert('text')</script>")
    page.goto(f"/us/app/id{MARKUP}")
    expect(page.locator(".review")).to_contain_text("</textarea><script>alert('text')</script>")
    page.goto(visit["url"])
    page.get_by_role("button", name="Remove your review").click()
    expect(page.locator(".review")).to_have_count(0)


def test_an_open_page_does_not_keep_the_store_from_stopping():
    with running() as store:
        customer = store.customer()
        visit = customer.visit(SONG)
        with contextlib.closing(customer.ask_state(visit, wait=20)) as waiting:
            # Until its answer the store has also got the other request.
            assert customer.state(visit, wait=1) == "open"
            assert select.select([waiting.sock], [], [], 0)[0] == []
            assert store.halt() < 8
            assert json.load(waiting.getresponse())["state"] == "open"
