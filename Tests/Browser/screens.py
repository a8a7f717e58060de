"""Takes the documentation's pictures of the console, of a store with a few customers and purchases."""

import contextlib
import os
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
    ("console-overview", "/sandbox", 1280, 900, "light"),
    ("console-transaction", "/sandbox/transactions/{id}", 1280, 700, "dark"),
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


def main():
    """Takes the pictures."""
    store = stores.Store(more=())
    try:
        values = prepare(store)
        FOLDER.mkdir(exist_ok=True)
        with playwright.sync_api.sync_playwright() as play:
            arguments = ["--disable-dev-shm-usage"] + (["--no-sandbox"] if os.getuid() == 0 else [])
            with contextlib.closing(play.chromium.launch(
                    executable_path=os.environ["CORNERSTORE_TEST_BROWSER"], args=arguments)) as browser:
                for name, path, width, height, colours in PICTURES:
                    with contextlib.closing(browser.new_context(
                            base_url=store.console, viewport={"width": width, "height": height},
                            color_scheme=colours)) as context:
                        context.set_default_timeout(conftest.PATIENCE)
                        page = context.new_page()
                        page.goto(path.format(**values))
                        page.screenshot(path=FOLDER / f"{name}.jpg", type="jpeg", quality=60)
    finally:
        store.stop()
    sizes = {picture.name: picture.stat().st_size for picture in FOLDER.glob("*.jpg")}
    print(*(f"{name} {size} bytes" for name, size in sorted(sizes.items())), sep="\n")
    if sum(sizes.values()) > MOST:
        raise SystemExit(f"the pictures have over {MOST} bytes")


main()
