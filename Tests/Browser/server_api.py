"""An app's server that calls the App Store Server API with Apple's library for Python, as it comes from PyPI."""

import base64
import contextlib
import json
import pathlib
import re
import time
import typing
import urllib.error
import urllib.request
import uuid

import apple
import attr
import conformance
import pytest
import store as stores
from appstoreserverlibrary.api_client import (
    APIError, APIException, AppStoreServerAPIClient, GetTransactionHistoryVersion,
)
from appstoreserverlibrary.models.AutoRenewStatus import AutoRenewStatus
from appstoreserverlibrary.models.Environment import Environment
from appstoreserverlibrary.models.ExpirationIntent import ExpirationIntent
from appstoreserverlibrary.models.InAppOwnershipType import InAppOwnershipType
from appstoreserverlibrary.models.JWSRenewalInfoDecodedPayload import JWSRenewalInfoDecodedPayload
from appstoreserverlibrary.models.JWSTransactionDecodedPayload import JWSTransactionDecodedPayload
from appstoreserverlibrary.models.PriceIncreaseStatus import PriceIncreaseStatus
from appstoreserverlibrary.models.RevocationType import RevocationType
from appstoreserverlibrary.models.Status import Status
from appstoreserverlibrary.models.TransactionHistoryRequest import TransactionHistoryRequest
from appstoreserverlibrary.models.Type import Type
from appstoreserverlibrary.signed_data_verifier import SignedDataVerifier
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature

CATALOG = pathlib.Path(__file__).with_name("reading.yaml")
APP, OTHER_APP, THIRD_APP = "com.example.reading", "com.example.monkeys", "com.example.photofilters"
COINS, LAMP, SEASON = "reading.coins", "reading.lamp", "reading.season"
PREMIUM, MONTHLY, AUDIO, CLUB = "reading.premium", "reading.monthly", "reading.audio", "reading.club"
READING_GROUP, AUDIO_GROUP = "21000301", "21000302"
OTHER_COINS = "com.example.monkeys.credits5"

NAMES = {"sandbox": Environment.SANDBOX, "production": Environment.PRODUCTION}
PAGE = 20
DAY = 86_400_000

# The members that a payload always has, and those that come with its kind (Apple's reference of the payloads).
TRANSACTION = {
    "transactionId", "originalTransactionId", "bundleId", "productId", "purchaseDate", "originalPurchaseDate",
    "quantity", "type", "inAppOwnershipType", "signedDate", "environment", "storefront", "storefrontId",
    "transactionReason",
}
PRICE = {"price", "currency"}
PERIOD = {"webOrderLineItemId", "subscriptionGroupIdentifier", "expiresDate"}
REVOCATION = {"revocationDate", "revocationReason", "revocationType"}
OFFER = {"offerType", "offerDiscountType", "offerPeriod"}
RENEWAL = {
    "originalTransactionId", "productId", "autoRenewProductId", "autoRenewStatus", "signedDate", "environment",
    "recentSubscriptionStartDate", "renewalDate",
}
FORMS = {
    "transactionId": r"\d+", "originalTransactionId": r"\d+", "webOrderLineItemId": r"\d+", "storefront": r"[A-Z]{3}",
    "storefrontId": r"\d{6}", "currency": r"[A-Z]{3}", "appTransactionId": r"\d+",
    "offerPeriod": r"P\d+[DWMY]", "appAccountToken": r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}",
}
# The range to which the store's clock can be set ends with the year 2199.
DATES = range(946_684_800_000, 7_258_118_400_000)


class Item(typing.NamedTuple):
    """A subscription in an answer about statuses."""

    group: str
    status: Status
    transaction: JWSTransactionDecodedPayload
    renewal: JWSRenewalInfoDecodedPayload


class Answer(typing.NamedTuple):
    """An answer to a request by hand."""

    status: int
    type: str
    body: bytes
    retry_after: str | None = None


def make_key(store, app=APP):
    """Makes a key of the API. Returns its `keyFile`, `keyId`, `issuerId` and `bundleId`."""
    return store.report("key", "make", "--app", app, "--out", str(store.data / f"{uuid.uuid4().hex}.p8"))


def members(model):
    """The members of a payload by the library's model of it, with their types in JSON."""
    found = {}
    for field in attr.fields(model):
        # An enumeration has two fields. The second one, `rawType` of `type`, has the type in JSON.
        name = field.name[3].lower() + field.name[4:] if field.name.startswith("raw") else field.name
        kind = typing.get_args(field.type)[0]
        found[name] = dict if attr.has(kind) else typing.get_origin(kind) or kind
    return found


def assert_known(payload, read):
    """Compares the members of a payload with the library's model of it, and their values with Apple's formats."""
    conformance.note_members(type(read).__name__, payload)
    conformance.note_values(payload)
    known = members(type(read))
    assert not set(payload) - set(known), "unknown members"
    assert {name: type(value) for name, value in payload.items()} == {name: known[name] for name in payload}
    for field in attr.fields(type(read)):
        if field.name.startswith("raw"):
            # The library reads a value that it does not know as None.
            name = field.name[3].lower() + field.name[4:]
            assert getattr(read, field.name) is None or getattr(read, name) is not None, f"unknown value of {name}"
    for name, value in payload.items():
        assert not name.endswith("Date") or value in DATES, name
        assert re.fullmatch(FORMS.get(name, ".*"), str(value), re.S), f"{name} is {value}"


def decoded(text):
    """The bytes of Base64url without padding."""
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def encoded(data):
    """Bytes in Base64url without padding."""
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def altered(text):
    """A good text of the store, such as a revision, with another character at the beginning, in the middle and at the
    end."""
    return [text[:place] + ("1" if text[place] == "0" else "0") + text[place + 1:]
            for place in (0, len(text) // 2, len(text) - 1)]


def payload_of(signed):
    """The payload of a signed text."""
    return json.loads(decoded(signed.split(".")[1]))


def private_key(key):
    """The private half of a key that `make_key` made."""
    return serialization.load_pem_private_key(pathlib.Path(key["keyFile"]).read_bytes(), None)


def ecdsa(private, digest=hashes.SHA256):
    """Makes signatures as JSON Web Signature writes them: both numbers in a row."""
    size = (private.curve.key_size + 7) // 8

    def sign(content):
        numbers = decode_dss_signature(private.sign(content, ec.ECDSA(digest())))
        return b"".join(number.to_bytes(size, "big") for number in numbers)

    return sign


def token(key, *, header=(), claims=(), sign=None):
    """A token by hand. `header` and `claims` replace members of a good one, and None leaves a member out. `sign` makes
    the signature of the text's bytes."""
    now = int(time.time())
    head = {"alg": "ES256", "kid": key["keyId"], "typ": "JWT", **dict(header)}
    body = {"iss": key["issuerId"], "iat": now, "exp": now + 300, "aud": "appstoreconnect-v1",
            "bid": key["bundleId"], **dict(claims)}
    content = ".".join(
        encoded(json.dumps({name: value for name, value in part.items() if value is not None}).encode())
        for part in (head, body))
    return content + "." + encoded((sign or ecdsa(private_key(key)))(content.encode()))


def wait_for(look):
    """Waits until something is there. Returns it."""
    end = time.monotonic() + 30
    while not (found := look()):
        assert time.monotonic() < end, "nothing came"
        time.sleep(0.02)
    return found


@contextlib.contextmanager
def refused(error):
    """Expects one of Apple's errors from the library, with Apple's text."""
    with pytest.raises(APIException) as caught:
        yield
    failure = caught.value
    assert (failure.api_error, failure.error_message) == (error, apple.ERRORS[int(error)])
    assert failure.http_status_code == error // 10_000
    conformance.note_error(error)


@contextlib.contextmanager
def unauthenticated():
    """Expects that the library's token is refused."""
    with pytest.raises(APIException) as caught:
        yield
    assert (caught.value.http_status_code, caught.value.raw_api_error) == (401, None)
    conformance.note(conformance.UNAUTHENTICATED)


class AppServer:
    """The server of an app in one environment, with the client and the verifier of Apple's library.

    Everything signed that it receives is verified, and compared with the library's models.
    """

    def __init__(self, store, key, environment):
        self.store, self.key, self.environment = store, key, environment
        self.address = store.addresses[environment]
        apps = stores.request("GET", store.control + "/control/v1/apps")
        self._number = next(app["appId"] for app in apps if app["bundleId"] == APP)
        # Apple's sandbox does not tell it.
        self.app_number = self._number if environment == "production" else None
        self.client = self.connect(key)
        self.verifier = self.make_verifier()
        # The signed texts that were received, in two lists.
        self.transactions, self.renewals = [], []

    def connect(self, key, private=None, app=APP):
        """A client with a key."""
        client = AppStoreServerAPIClient(
            private or pathlib.Path(key["keyFile"]).read_bytes(), key["keyId"], key["issuerId"], app,
            NAMES[self.environment])
        # The library has no parameter for the address: it derives it from the environment. LOCAL_TESTING has a fixed
        # address, too, and would turn verification off. So the address of this one client is replaced.
        client._base_url = self.address
        execute = client._execute_request

        def noted(*arguments, **named):
            response = execute(*arguments, **named)
            conformance.note_exchange(
                response.request.method, response.request.url, response.request.body, response.status_code,
                response.content, self.environment)
            return response

        client._execute_request = noted
        return client

    def make_verifier(self, online=False, app=APP, environment=None, root=None):
        """A verifier. The library always checks strictly (X509_STRICT)."""
        return SignedDataVerifier(
            [root or (self.store.data / "roots/jws-root.der").read_bytes()], online,
            NAMES[environment or self.environment], app, self._number)

    # The store.

    def report(self, *arguments):
        """Runs a command of `cornerstore` in this environment. Returns the JSON document that it printed."""
        return self.store.report(*arguments, "--environment", self.environment)

    def control(self, path, method="GET", body=None):
        """Sends a request to the control port, which is faster than a command. Returns the answer's JSON."""
        return stores.request(method, f"{self.store.control}/control/v1/{self.environment}/{path}", body)

    @property
    def now(self):
        """The store's time in milliseconds."""
        return self.control("clock")["milliseconds"]

    def advance(self, months=0, days=0):
        """Moves the clock, by the months first."""
        self.control("clock", "PUT", {"months": months or None, "advance": days * DAY})

    def waiting(self):
        """The app's notifications that were not delivered yet."""
        return self.control(f"notifications?bundle={APP}&state=waiting")["rows"]

    def customer(self, storefront="USA"):
        """A new customer."""
        return self.store.customer(storefront, self.environment)

    def buy(self, customer, product, quantity=1, user=None):
        """Buys a product of the app. Returns the transaction's identifier."""
        return customer.purchase(APP, product, quantity, user)["transactionId"]

    def refund(self, transaction):
        """Refunds a transaction."""
        stores.request(
            "POST", f"{self.store.control}/control/v1/{self.environment}/transactions/{transaction}/refund",
            {"reason": "other"})

    # The API.

    def transaction(self, signed):
        """Verifies and checks a signed transaction. Returns it as the library reads it."""
        read = self.verifier.verify_and_decode_signed_transaction(signed)
        payload = payload_of(signed)
        assert_known(payload, read)
        needed = set(TRANSACTION)
        if read.inAppOwnershipType != InAppOwnershipType.FAMILY_SHARED:
            needed |= PRICE
        if read.type == Type.AUTO_RENEWABLE_SUBSCRIPTION:
            needed |= PERIOD
            assert read.expiresDate >= read.purchaseDate
        if REVOCATION & set(payload):
            needed |= REVOCATION
        if read.revocationType == RevocationType.REFUND_PRORATED:
            needed |= {"revocationPercentage"}
        if OFFER & set(payload):
            needed |= OFFER
        assert not needed - set(payload), "missing members"
        # Apple's server writes it only when it is true.
        assert payload.get("isUpgraded", True)
        self.transactions.append(signed)
        return read

    def renewal(self, signed):
        """Verifies and checks signed renewal information. Returns it as the library reads it."""
        read = self.verifier.verify_and_decode_renewal_info(signed)
        payload = payload_of(signed)
        assert_known(payload, read)
        assert not RENEWAL - set(payload), "missing members"
        self.renewals.append(signed)
        return read

    def info(self, transaction):
        """A transaction by its identifier."""
        return self.transaction(self.client.get_transaction_info(transaction).signedTransactionInfo)

    def assert_own(self, answer):
        """Compares the app and the environment of an answer."""
        assert (answer.bundleId, answer.environment, answer.appAppleId) == (
            APP, NAMES[self.environment], self.app_number)

    def history(self, transaction, version=GetTransactionHistoryVersion.V2, **filters):
        """All pages of a customer's history. Returns the transactions and the last revision."""
        asked = TransactionHistoryRequest(**filters)
        found, revision, more = [], None, True
        while more:
            page = self.client.get_transaction_history(transaction, revision, asked, version)
            self.assert_own(page)
            assert page.revision and len(page.signedTransactions) <= PAGE
            found += [self.transaction(signed) for signed in page.signedTransactions]
            revision, more = page.revision, page.hasMore
            assert not more or len(page.signedTransactions) == PAGE
        return found, revision

    def ids(self, transaction, version=GetTransactionHistoryVersion.V2, **filters):
        """The identifiers of all transactions of a customer's history."""
        return [one.transactionId for one in self.history(transaction, version, **filters)[0]]

    def statuses(self, transaction, *wanted):
        """A customer's subscriptions."""
        answer = self.client.get_all_subscription_statuses(transaction, list(wanted) or None)
        self.assert_own(answer)
        groups = [group.subscriptionGroupIdentifier for group in answer.data]
        assert len(groups) == len(set(groups)), "a group twice"
        return [self._item(group.subscriptionGroupIdentifier, item)
                for group in answer.data for item in group.lastTransactions]

    def _item(self, group, item):
        found = Item(group, item.status, self.transaction(item.signedTransactionInfo),
                     self.renewal(item.signedRenewalInfo))
        bought, renewal = found.transaction, found.renewal
        assert bought.subscriptionGroupIdentifier == group
        assert item.originalTransactionId == bought.originalTransactionId == renewal.originalTransactionId
        assert (renewal.productId, renewal.renewalDate) == (bought.productId, bought.expiresDate)
        assert (found.status == Status.REVOKED) == (bought.revocationDate is not None)
        conformance.note_value("status", item.rawStatus)
        overdue = found.status in (Status.BILLING_RETRY, Status.BILLING_GRACE_PERIOD)
        assert bool(renewal.isInBillingRetryPeriod) == overdue
        if found.status == Status.ACTIVE:
            assert (renewal.expirationIntent, renewal.gracePeriodExpiresDate) == (None, None)
            if (renewal.autoRenewStatus, bought.inAppOwnershipType) == (
                    AutoRenewStatus.ON, InAppOwnershipType.PURCHASED):
                # Without an answer to a price increase nothing will be charged.
                is_asked = renewal.priceIncreaseStatus == PriceIncreaseStatus.CUSTOMER_HAS_NOT_RESPONDED
                assert (renewal.renewalPrice is None) == is_asked
                assert renewal.currency == (None if is_asked else bought.currency)
        elif found.status == Status.BILLING_GRACE_PERIOD:
            assert renewal.gracePeriodExpiresDate > renewal.renewalDate
        elif found.status == Status.BILLING_RETRY:
            assert renewal.expirationIntent == ExpirationIntent.BILLING_ERROR
        elif found.status == Status.EXPIRED:
            assert renewal.expirationIntent is not None and renewal.autoRenewStatus == AutoRenewStatus.OFF
        return found

    def ask(self, path, authorization=None, method="GET", body=None):
        """Sends a request by hand. `authorization` is the value of the header."""
        request = urllib.request.Request(self.address + path, method=method)
        if authorization is not None:
            request.add_header("Authorization", authorization)
        if body is not None:
            request.data = json.dumps(body).encode()
            request.add_header("Content-Type", "application/json")
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                found = Answer(answer.status, answer.headers["Content-Type"], answer.read())
                conformance.note_exchange(
                    method, path, request.data, found.status, found.body, self.environment)
                return found
        except urllib.error.HTTPError as error:
            with error:
                return Answer(
                    error.code, error.headers["Content-Type"], error.read(), error.headers["Retry-After"])

    def assert_refused(self, error, path, method="GET", body=None):
        """Expects one of Apple's errors from a request by hand: nothing but its number and text, and exactly the type
        that Python's library needs."""
        answer = self.ask(path, "Bearer " + token(self.key), method, body)
        assert (answer.status, answer.type) == (error // 10_000, "application/json"), answer
        assert json.loads(answer.body) == {"errorCode": int(error), "errorMessage": apple.ERRORS[int(error)]}
        conformance.note_error(error)
