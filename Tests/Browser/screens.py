"""Takes the documentation's pictures of the console and of an app on a page, of a store with a few purchases."""

import contextlib
import json
import os
import pathlib
import re
import subprocess
import uuid

import conftest
import playwright.sync_api
import store as stores
from store import ROOT, request as ask
from test_console import Shopper

FOLDER = ROOT / "Documentation/Images"
# All pictures together, in bytes.
MOST = 200_000

# The name, the path, the width, the height and the colours.
PICTURES = [
    ("console-overview", "/sandbox", 1280, 800, "light"),
    ("console-transaction", "/sandbox/transactions/{id}", 1280, 600, "dark"),
    ("console-phone", "/sandbox/customers/{email}", 320, 640, "light"),
]


def prepare(store):
    """Makes customers, purchases, a refund, and a purchase that waits for approval."""
    control, device = store.addresses["control"] + "/control/v1/sandbox", store.addresses["sandbox"] + "/device/v1"
    shopper = Shopper(store)
    bought = [shopper.buy("com.example.monkeys.credits5") for _ in range(4)]
    ask("POST", f"{control}/transactions/{bought[1]}/refund", {})
    child = {"email": "child@example.com", "password": uuid.uuid4().hex}
    ask("POST", f"{control}/accounts", child | {"asksToBuy": True})
    token = ask("POST", f"{device}/session", child | {"deviceId": str(uuid.uuid4())})["token"]
    ask("POST", f"{device}/purchases",
        {"idempotencyKey": str(uuid.uuid4()), "bundleId": "com.example.monkeys",
         "productId": "com.example.monkeys.credits5", "quantity": 1, "simulatesAskToBuy": False}, token)
    return {"id": bought[1], "email": shopper.email}


@contextlib.contextmanager
def monkeys(store):
    """Monkey Credits on a page, on a device that is signed in with no questions asked. Gives the page's address."""
    tester = json.loads((store.data / "sandbox-tester.json").read_text())
    password = store.data / "password"
    password.touch(mode=0o600)
    password.write_text(tester["password"])
    program = pathlib.Path(store.program).with_name("monkey-credits")
    app = subprocess.Popen(
        [program, "--web", "--port", "0"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
        env=os.environ | {"CORNERSTORE_DATA": str(store.data), "CORNERSTORE_DEVICE": str(store.data / "phone"),
                          "CORNERSTORE_SHEET": "approve", "CORNERSTORE_ACCOUNT": tester["email"],
                          "CORNERSTORE_PASSWORD_FILE": str(password)})
    try:
        yield re.search(r"http://\S+", app.stdout.readline())[0]
    finally:
        app.kill()
        app.wait()
        app.stdout.close()


def take_app(browser, store):
    """Takes the picture of an app that has just bought."""
    with monkeys(store) as address, contextlib.closing(
            browser.new_context(viewport={"width": 1080, "height": 560})) as context:
        context.set_default_timeout(conftest.PATIENCE)
        page = context.new_page()
        page.goto(address)
        page.get_by_label("How many").first.fill("3")
        page.get_by_role("button", name="Buy 5 credits").click()
        page.get_by_text("Monkey credits: 15").wait_for()
        page.screenshot(path=FOLDER / "screen-monkeys.jpg", type="jpeg", quality=45)


def main():
    """Takes the pictures."""
    store = stores.Store(more=(), usual=True)
    try:
        values = prepare(store)
        FOLDER.mkdir(exist_ok=True)
        with playwright.sync_api.sync_playwright() as play:
            arguments = ["--disable-dev-shm-usage"] + (["--no-sandbox"] if os.getuid() == 0 else [])
            with contextlib.closing(play.chromium.launch(
                    executable_path=os.environ["CORNERSTORE_TEST_BROWSER"], args=arguments)) as browser:
                take_app(browser, store)
                for name, path, width, height, colours in PICTURES:
                    with contextlib.closing(browser.new_context(
                            base_url=store.console, viewport={"width": width, "height": height},
                            color_scheme=colours)) as context:
                        context.set_default_timeout(conftest.PATIENCE)
                        page = context.new_page()
                        page.goto(path.format(**values))
                        page.screenshot(path=FOLDER / f"{name}.jpg", type="jpeg", quality=45)
    finally:
        store.stop()
    sizes = {picture.name: picture.stat().st_size for picture in FOLDER.glob("*.jpg")}
    print(*(f"{name} {size} bytes" for name, size in sorted(sizes.items())), sep="\n")
    if sum(sizes.values()) > MOST:
        raise SystemExit(f"the pictures have over {MOST} bytes")


main()
