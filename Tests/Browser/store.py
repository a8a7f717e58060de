"""A running store, a device that speaks to it in the device protocol, and a server that takes requests."""

import atexit
import contextlib
import http.client
import http.server
import json
import os
import pathlib
import shutil
import socket
import subprocess
import tempfile
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid

ROOT = pathlib.Path(__file__).resolve().parents[2]
HOSTILE = pathlib.Path(__file__).with_name("hostile.yaml")

# Numbers of Examples/Storefront/Items.yaml and hostile.yaml.
MONKEYS, FILTERS, ALBUM, SONG, FILM, BOOK = 1400000001, 1400000002, 1400000003, 1400000004, 1400000007, 1400000008
GIBBONS = 1300000003
MARKUP = 1400000099

# The address of a PostgreSQL server on which tests may make schemas (scripts/with-postgresql), and the databases with
# which tests of the store run.
POSTGRESQL = os.environ.get("CORNERSTORE_TEST_POSTGRESQL")
DATABASES = ["sqlite", "postgresql"] if POSTGRESQL else ["sqlite"]


class Refused(Exception):
    """An answer that is no success."""


class Store:
    """`cornerstore serve` with the sample items, on free ports, in a temporary folder."""

    # The keys and certificates of the first store, which others use as well: to make them takes more than a second.
    authority = None

    PORTS = ("control", "sandbox", "production", "storefront", "merchant", "console")

    def __init__(self, more=(HOSTILE,), options=(), environment=None, usual=False, database="sqlite"):
        """`more` are further catalogs, `options` and `environment` those of `cornerstore serve`. With `usual`, the data
        directory is the usual one of the program's working directory, and pages need not name it. `database` is one of
        `DATABASES`."""
        self.database = database
        # The beginning of the names of the schemas on PostgreSQL; None with SQLite.
        self._schemas = None
        # Sockets that have the program's ports, also while it is stopped.
        self._held = {name: hold(0) for name in self.PORTS}
        if database == "postgresql":
            self._schemas = "test_" + uuid.uuid4().hex[:16]
            options = ["--database", POSTGRESQL, "--schema-prefix", self._schemas, *options]
        examples = ROOT / "Examples"
        self.program = os.environ.get("CORNERSTORE", str(ROOT / ".build/debug/cornerstore"))
        self._folder = tempfile.TemporaryDirectory(prefix="cornerstore-browser.")
        self.data = pathlib.Path(self._folder.name, ".cornerstore" if usual else "data")
        self._log = open(pathlib.Path(self._folder.name, "log"), "w+", encoding="utf-8")
        self._arguments = [
            f"{examples}/MonkeyCredits/MonkeyCredits.storekit=com.example.monkeys",
            f"{examples}/PhotoFilters/PhotoFilters.storekit=com.example.photofilters",
            f"{examples}/BookChapters/BookChapters.yaml", f"{examples}/Storefront/Items.yaml",
            *map(str, more), *options]
        self._environment = os.environ | (environment or {})
        authority = self.data / "authority"
        if Store.authority:
            self.data.mkdir(mode=0o700)
            shutil.copytree(Store.authority, authority)
        self.start()
        if not Store.authority:
            Store.authority = shutil.copytree(authority, tempfile.mkdtemp(prefix="cornerstore-browser."), dirs_exist_ok=True)
            atexit.register(shutil.rmtree, Store.authority)

    def start(self):
        """Starts the program, again with the same data and on the same ports."""
        ports = {name: held.getsockname()[1] for name, held in self._held.items()}
        self._server = subprocess.Popen(
            [self.program, "serve", "--json", "--data", str(self.data), "--password-cost", "16",
             *[part for name, port in ports.items() for part in (f"--{name}-port", str(port))], *self._arguments],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=self._log, text=True, env=self._environment,
            cwd=self.data.parent)
        self.addresses = self._read_addresses()
        self.storefront = self.addresses["storefront"]
        self.console = self.addresses["console"]
        self.control = self.addresses["control"]

    def _read_addresses(self):
        """The JSON document that the program prints when it is ready."""
        # Reading ends with the program.
        watch = threading.Timer(60, self._server.kill)
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

    def run(self, *arguments):
        """Runs a command of `cornerstore` on the store's data. Returns what it printed."""
        return subprocess.run(
            [self.program, *arguments], check=True, timeout=60, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            text=True, env=self._environment | {"CORNERSTORE_DATA": str(self.data)}).stdout

    def report(self, *arguments):
        """Runs a command of `cornerstore` on the store's data. Returns the JSON document that it printed."""
        return json.loads(self.run(*arguments, "--json"))

    @property
    def log(self):
        """What the program wrote on standard error."""
        if not self._log.closed:
            self._log.seek(0)
            self._text = self._log.read()
        return self._text

    @property
    def memory(self):
        """The bytes that the program has in memory of its own, also those that the machine has swapped out. Parts of
        its file come and go with what else the machine does."""
        lines = pathlib.Path(f"/proc/{self._server.pid}/status").read_text(encoding="utf-8").splitlines()
        return sum(int(line.split()[1]) << 10 for line in lines if line.startswith(("RssAnon:", "VmSwap:")))

    def halt(self):
        """Stops the program gracefully, as SIGTERM does. Returns the seconds that it took."""
        began = time.monotonic()
        self._server.terminate()
        try:
            self._server.wait(timeout=30)
        except subprocess.TimeoutExpired:
            self._server.kill()
            self._server.wait()
        self._server.stdout.close()
        return time.monotonic() - began

    def stop(self):
        """Stops the program and removes its folder and its schemas."""
        self.halt()
        for held in self._held.values():
            held.close()
        _ = self.log
        self._log.close()
        self._folder.cleanup()
        if self._schemas:
            names = ", ".join(f"{self._schemas}_{part}" for part in ("apps", "sandbox", "production", "merchant"))
            subprocess.run(
                ["psql", "--no-psqlrc", "--quiet", f"--dbname={POSTGRESQL}",
                 f"--command=DROP SCHEMA IF EXISTS {names} CASCADE"],
                check=True, timeout=60, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def answer_reviews(self, item, text):
        """Answers all reviews of an item in the developer's name."""
        control = self.addresses["control"] + "/control/v1/reviews"
        for review in request("GET", f"{control}?item={item}"):
            if review.get("title"):
                request("PUT", f"{control}/{review['reviewId']}/answer", {"text": text})

    def account(self, storefront="USA", environment="sandbox", **settings):
        """A new account: its e-mail address and its password."""
        name, password = f"{uuid.uuid4().hex}@example.com", uuid.uuid4().hex
        request("POST", f"{self.control}/control/v1/{environment}/accounts",
                {"email": name, "password": password, "storefront": storefront, **settings})
        return name, password

    def customer(self, storefront="USA", environment="sandbox"):
        """A new account that is signed in on a device of its own."""
        name, password = self.account(storefront, environment)
        device = self.addresses[environment] + "/device/v1"
        session = request(
            "POST", device + "/session", {"email": name, "password": password, "deviceId": str(uuid.uuid4())})
        return Customer(device, name, session["token"])


class Customer:
    """A signed-in account."""

    def __init__(self, device, name, token):
        self._device, self.name, self._token = device, name, token

    def visit(self, item):
        """Opens an item's page for this account and returns its description, with the page's address in `url`."""
        return request("POST", self._device + "/visits", {"item": item}, self._token)

    def state(self, visit, wait=0):
        """How a visit went: open, bought or closed. The answer comes when it is no longer open, or after `wait`
        seconds."""
        return request("GET", f"{self._device}/visits/{visit['id']}?wait={wait}", token=self._token)["state"]

    def ask_state(self, visit, wait):
        """Sends the request of `state`, and returns the connection on which the answer comes."""
        device = urllib.parse.urlsplit(self._device)
        connection = http.client.HTTPConnection(device.netloc, timeout=60)
        connection.request("GET", f"{device.path}/visits/{visit['id']}?wait={wait}",
                           headers={"Authorization": f"Bearer {self._token}"})
        return connection

    def buy(self, item):
        """Buys an item without a page."""
        request("POST", self._device + "/items", {"item": item, "idempotencyKey": str(uuid.uuid4())}, self._token)

    def review(self, app, stars, title=None, text=None):
        """Rates an app, or reviews it."""
        request("POST", self._device + "/review", {"bundleId": app, "stars": stars, "title": title, "text": text},
                self._token)

    def subscribe(self, app, product):
        """Buys a subscription of an app."""
        self.purchase(app, product)

    def purchase(self, app, product, quantity=1, user=None, **more):
        """Buys a product of an app, which may have a name for its user. `more` are further members of the request, such as
        an offer. Returns the transaction."""
        order = {"idempotencyKey": str(uuid.uuid4()), "bundleId": app, "productId": product, "quantity": quantity,
                 "simulatesAskToBuy": False, **more}
        if user is not None:
            order["applicationUsername"] = user
        return request("POST", self._device + "/purchases", order, self._token)["transaction"]

    def receipt(self, app, version):
        """Asks for the app receipt as a version of an app. Returns its bytes."""
        return send("POST", self._device + "/receipt", {
            "bundleId": app, "bundleVersion": version, "vendorIdentifier": str(uuid.uuid4())}, self._token)

    def redeem(self, app, code):
        """Redeems a code for an app. Returns the transaction."""
        return request("POST", self._device + "/redemptions", {"bundleId": app, "code": code}, self._token)

    def finish(self, transaction):
        """Finishes a transaction."""
        request("POST", f"{self._device}/transactions/{transaction}/finish", token=self._token)

    def subscriptions(self):
        """The subscriptions."""
        return request("GET", self._device + "/subscriptions", token=self._token)["subscriptions"]

    def turn_renewal(self, on):
        """Turns the renewal of the first subscription on or off."""
        one = self.subscriptions()[0]["originalTransactionId"]
        request("POST", f"{self._device}/subscriptions/{one}/renewal", {"willRenew": on}, self._token)

    def open_subscriptions(self):
        """Opens the page of subscriptions and returns its address."""
        return request("POST", self._device + "/subscriptions/page", {}, self._token)["url"]

    def library(self):
        """The owned items."""
        return request("GET", self._device + "/items", token=self._token)["items"]

    def sign_out(self):
        """Signs the device out, which ends its visits."""
        request("DELETE", self._device + "/session", token=self._token)


class Receiver:
    """A server of somebody else on this machine. It notes what it is sent."""

    def __init__(self, page="", status=200):
        """`page` and `status` are the answer to every request."""
        self.page, self.status, self.received = page, status, []
        receiver = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                receiver.received.append(({name.lower(): value for name, value in self.headers.items()}, body))
                answer = receiver.page.encode()
                self.send_response(receiver.status)
                self.send_header("Content-Type", "text/html; charset=utf-8")
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            do_POST = do_GET

            def log_message(self, *_):
                pass

        class Server(http.server.ThreadingHTTPServer):
            # A store makes eight connections at once, and more than the usual five may wait.
            request_queue_size = 64

        self._server = Server(("127.0.0.1", 0), Handler)
        self.port = self._server.server_port
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self):
        """Stops the server."""
        self._server.shutdown()
        self._server.server_close()


def hold(port):
    """Holds a port of this machine, or any with 0: nobody gets it who wants a free port. A program that is told to use it
    can listen there, and until then connections to it are refused. Returns the socket."""
    held = socket.socket()
    held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    held.bind(("127.0.0.1", port))
    return held


@contextlib.contextmanager
def running(**options):
    """A store of its own for one test."""
    store = Store(**options)
    try:
        yield store
    finally:
        store.stop()


def request(method, url, body=None, token=None):
    """Sends JSON and returns the answer's JSON."""
    content = send(method, url, body, token)
    return json.loads(content) if content else None


def send(method, url, body=None, token=None):
    """Sends JSON and returns the answer's bytes."""
    headers = {"Content-Type": "application/json"} if body is not None else {}
    if token:
        headers["Authorization"] = f"Bearer {token}"
    data = None if body is None else json.dumps(body).encode()
    try:
        with urllib.request.urlopen(
                urllib.request.Request(url, data, headers, method=method), timeout=60) as answer:
            return answer.read()
    except urllib.error.HTTPError as error:
        raise Refused(f"{method} {url}: {error.code} {error.read()[:500]}") from None
