"""A running store, and a device that speaks to it in the device protocol."""

import json
import os
import pathlib
import subprocess
import tempfile
import threading
import urllib.error
import urllib.request
import uuid

ROOT = pathlib.Path(__file__).resolve().parents[2]
HOSTILE = pathlib.Path(__file__).with_name("hostile.yaml")

# Numbers of Examples/Storefront/Items.yaml and hostile.yaml.
MONKEYS, FILTERS, ALBUM, SONG, FILM, BOOK = 1400000001, 1400000002, 1400000003, 1400000004, 1400000007, 1400000008
GIBBONS = 1300000003
MARKUP = 1400000099


class Refused(Exception):
    """An answer that is no success."""


class Store:
    """`cornerstore serve` with the sample items, on free ports, in a temporary folder."""

    def __init__(self, more=(HOSTILE,)):
        """`more` are further catalogs."""
        examples = ROOT / "Examples"
        self.program = os.environ.get("CORNERSTORE", str(ROOT / ".build/debug/cornerstore"))
        self._folder = tempfile.TemporaryDirectory(prefix="cornerstore-browser.")
        self.data = pathlib.Path(self._folder.name, "data")
        self._log = open(pathlib.Path(self._folder.name, "log"), "w+", encoding="utf-8")
        ports = [part for port in ["control", "sandbox", "production", "storefront", "merchant", "console"] for part in (f"--{port}-port", "0")]
        self._server = subprocess.Popen(
            [self.program, "serve", "--json", "--data", str(self.data), *ports,
             f"{examples}/MonkeyCredits/MonkeyCredits.storekit=com.example.monkeys",
             f"{examples}/PhotoFilters/PhotoFilters.storekit=com.example.photofilters",
             f"{examples}/Storefront/Items.yaml", *map(str, more)],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=self._log, text=True)
        self.addresses = self._read_addresses()
        self.storefront = self.addresses["storefront"]
        self.console = self.addresses["console"]
        self.control = self.addresses["control"]

    def _read_addresses(self):
        """The JSON document that the program prints when it is ready."""
        # Reading ends with the program.
        watch = threading.Timer(120, self._server.kill)
        watch.start()
        text = ""
        for line in self._server.stdout:
            text += line
            if line.rstrip() == "}":
                watch.cancel()
                return json.loads(text)
        watch.cancel()
        self.stop()
        raise AssertionError("cornerstore did not start: " + self.log)

    @property
    def log(self):
        """What the program wrote on standard error."""
        if not self._log.closed:
            self._log.seek(0)
            self._text = self._log.read()
        return self._text

    def stop(self):
        """Stops the program and removes its folder."""
        self._server.terminate()
        try:
            self._server.wait(timeout=30)
        except subprocess.TimeoutExpired:
            self._server.kill()
            self._server.wait()
        _ = self.log
        self._log.close()
        self._folder.cleanup()

    def answer_reviews(self, item, text):
        """Answers all reviews of an item in the developer's name."""
        control = self.addresses["control"] + "/control/v1/reviews"
        for review in request("GET", f"{control}?item={item}"):
            if review.get("title"):
                request("PUT", f"{control}/{review['reviewId']}/answer", {"text": text})

    def account(self, storefront="USA", **settings):
        """A new account: its e-mail address and its password."""
        name, password = f"{uuid.uuid4().hex}@example.com", uuid.uuid4().hex
        request("POST", self.control + "/control/v1/sandbox/accounts",
                {"email": name, "password": password, "storefront": storefront, **settings})
        return name, password

    def customer(self, storefront="USA"):
        """A new account that is signed in on a device of its own."""
        name, password = self.account(storefront)
        session = request(
            "POST", self.addresses["sandbox"] + "/device/v1/session",
            {"email": name, "password": password, "deviceId": str(uuid.uuid4())})
        return Customer(self.addresses["sandbox"] + "/device/v1", name, session["token"])


class Customer:
    """A signed-in account."""

    def __init__(self, device, name, token):
        self._device, self.name, self._token = device, name, token

    def visit(self, item):
        """Opens an item's page for this account and returns its description, with the page's address in `url`."""
        return request("POST", self._device + "/visits", {"item": item}, self._token)

    def state(self, visit):
        """How a visit went: open, bought or closed."""
        return request("GET", f"{self._device}/visits/{visit['id']}", token=self._token)["state"]

    def buy(self, item):
        """Buys an item without a page."""
        request("POST", self._device + "/items", {"item": item, "idempotencyKey": str(uuid.uuid4())}, self._token)

    def review(self, app, stars, title=None, text=None):
        """Rates an app, or reviews it."""
        request("POST", self._device + "/review", {"bundleId": app, "stars": stars, "title": title, "text": text},
                self._token)

    def library(self):
        """The owned items."""
        return request("GET", self._device + "/items", token=self._token)["items"]

    def sign_out(self):
        """Signs the device out, which ends its visits."""
        request("DELETE", self._device + "/session", token=self._token)


def request(method, url, body=None, token=None):
    """Sends JSON and returns the answer's JSON."""
    headers = {"Content-Type": "application/json"} if body is not None else {}
    if token:
        headers["Authorization"] = f"Bearer {token}"
    data = None if body is None else json.dumps(body).encode()
    try:
        with urllib.request.urlopen(
                urllib.request.Request(url, data, headers, method=method), timeout=60) as answer:
            content = answer.read()
            return json.loads(content) if content else None
    except urllib.error.HTTPError as error:
        raise Refused(f"{method} {url}: {error.code} {error.read()[:500]}") from None
