"""The App Store Server API of both environments, called by Apple's own library for Python."""

import base64
import contextlib
import hmac
import http.client
import json
import os
import re
import sqlite3
import stat
import subprocess
import textwrap
import time
import uuid

import pytest
import store as stores
from appstoreserverlibrary.api_client import APIError, GetTransactionHistoryVersion
from appstoreserverlibrary.models.AutoRenewStatus import AutoRenewStatus
from appstoreserverlibrary.models.ConsumptionRequest import ConsumptionRequest
from appstoreserverlibrary.models.ConsumptionRequestV1 import ConsumptionRequestV1
from appstoreserverlibrary.models.ExpirationIntent import ExpirationIntent
from appstoreserverlibrary.models.ExtendReasonCode import ExtendReasonCode
from appstoreserverlibrary.models.ExtendRenewalDateRequest import ExtendRenewalDateRequest
from appstoreserverlibrary.models.InAppOwnershipType import InAppOwnershipType
from appstoreserverlibrary.models.MassExtendRenewalDateRequest import MassExtendRenewalDateRequest
from appstoreserverlibrary.models.OfferDiscountType import OfferDiscountType
from appstoreserverlibrary.models.OfferType import OfferType
from appstoreserverlibrary.models.OrderLookupStatus import OrderLookupStatus
from appstoreserverlibrary.models.RevocationReason import RevocationReason
from appstoreserverlibrary.models.RevocationType import RevocationType
from appstoreserverlibrary.models.Status import Status
from appstoreserverlibrary.models.TransactionHistoryRequest import Order, ProductType, TransactionHistoryRequest
from appstoreserverlibrary.models.TransactionReason import TransactionReason
from appstoreserverlibrary.models.Type import Type
from appstoreserverlibrary.models.UpdateAppAccountTokenRequest import UpdateAppAccountTokenRequest
from appstoreserverlibrary.promotional_offer import PromotionalOfferSignatureCreator
from appstoreserverlibrary.signed_data_verifier import VerificationException, VerificationStatus
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from server_api import (
    APP, AUDIO, AUDIO_GROUP, CATALOG, CLUB, COINS, DAY, LAMP, MONTHLY, NAMES, OTHER_APP, OTHER_COINS, PREMIUM,
    READING_GROUP, SEASON, AppServer, altered, assert_known, decoded, ecdsa, encoded, make_key, payload_of, private_key,
    refused, token, unauthenticated,
)

V1, V2 = GetTransactionHistoryVersion


@pytest.fixture(scope="module", params=stores.DATABASES)
def store(request):
    """A store with the app."""
    # The merchant asks the server API, too, and would meet the faults and limits that are ordered here.
    with stores.running(more=[CATALOG], options=["--no-merchant"], database=request.param) as running:
        yield running


@pytest.fixture(scope="module")
def key(store):
    """A key of the app. It is good in both environments."""
    return make_key(store)


@pytest.fixture(scope="module", params=list(NAMES))
def api(request, store, key):
    """The app's server in an environment."""
    return AppServer(store, key, request.param)


def other(environment):
    """The other environment."""
    (name,) = set(NAMES) - {environment}
    return name


# Transactions.

def test_a_transaction_of_each_type(api):
    customer, user = api.customer(), str(uuid.uuid4()).upper()
    for product, kind, quantity, price in [
            (COINS, Type.CONSUMABLE, 3, 2970), (LAMP, Type.NON_CONSUMABLE, 1, 2990),
            (SEASON, Type.NON_RENEWING_SUBSCRIPTION, 1, 7990), (AUDIO, Type.AUTO_RENEWABLE_SUBSCRIPTION, 1, 1990)]:
        bought = api.buy(customer, product, quantity, user)
        read = api.info(bought)
        assert (read.transactionId, read.originalTransactionId, read.productId) == (bought, bought, product)
        assert (read.type, read.quantity, read.price, read.currency) == (kind, quantity, price, "USD")
        assert (read.storefront, read.storefrontId) == ("USA", "143441")
        assert (read.transactionReason, read.inAppOwnershipType) == (
            TransactionReason.PURCHASE, InAppOwnershipType.PURCHASED)
        assert (read.appAccountToken, read.revocationDate, read.isUpgraded) == (user.lower(), None, None)
    # A name that is no UUID is no account token.
    assert api.info(api.buy(customer, COINS, user="Anna")).appAccountToken is None


def test_a_history_has_pages_filters_and_an_order(api):
    customer = api.customer()
    lamp = api.buy(customer, LAMP)
    coins = [api.buy(customer, COINS) for _ in range(22)]
    season, monthly = api.buy(customer, SEASON), api.buy(customer, MONTHLY)
    customer.purchase(OTHER_APP, OTHER_COINS)
    bought = [lamp, *coins, season, monthly]
    history, revision = api.history(monthly)
    assert [one.transactionId for one in history] == bought
    assert api.ids(lamp) == api.ids(coins[3]) == bought
    assert api.ids(lamp, sort=Order.ASCENDING) == bought
    assert api.ids(lamp, sort=Order.DESCENDING) == bought[::-1]
    # A caller who keeps the last revision gets what is new.
    coins.append(api.buy(customer, COINS))
    bought.append(coins[-1])
    later = api.client.get_transaction_history(lamp, revision, TransactionHistoryRequest(), V2)
    assert [api.transaction(signed).transactionId for signed in later.signedTransactions] == coins[-1:]
    assert not later.hasMore
    # Filters.
    for kind, expected in [
            (ProductType.CONSUMABLE, coins), (ProductType.NON_CONSUMABLE, [lamp]),
            (ProductType.NON_RENEWABLE, [season]), (ProductType.AUTO_RENEWABLE, [monthly])]:
        assert api.ids(lamp, productTypes=[kind]) == expected
    assert api.ids(lamp, productTypes=[ProductType.NON_RENEWABLE, ProductType.NON_CONSUMABLE]) == [lamp, season]
    assert api.ids(lamp, productIds=[LAMP, MONTHLY]) == [lamp, monthly]
    assert api.ids(lamp, productIds=[LAMP.upper()]) == api.ids(lamp, productIds=[OTHER_COINS]) == []
    assert api.ids(lamp, productIds=[LAMP], productTypes=[ProductType.CONSUMABLE]) == []
    assert api.ids(lamp, subscriptionGroupIdentifiers=[READING_GROUP, AUDIO_GROUP]) == [monthly]
    assert api.ids(lamp, subscriptionGroupIdentifiers=[AUDIO_GROUP]) == []
    assert api.ids(lamp, inAppOwnershipType=InAppOwnershipType.PURCHASED) == bought
    assert api.ids(lamp, inAppOwnershipType=InAppOwnershipType.FAMILY_SHARED) == []
    date = history[10].purchaseDate
    since = [one.transactionId for one in history if one.purchaseDate >= date] + coins[-1:]
    assert api.ids(lamp, startDate=date) == since
    assert api.ids(lamp, endDate=date) == [one for one in bought if one not in since]
    assert api.ids(lamp, startDate=date, endDate=history[-1].purchaseDate + 1000 * DAY) == since
    # A changed transaction moves to the end.
    api.refund(lamp)
    bought.append(bought.pop(0))
    assert api.ids(monthly) == bought
    assert api.ids(monthly, revoked=True) == [lamp]
    assert api.ids(monthly, revoked=False) == bought[:-1]
    assert api.info(lamp).revocationType == RevocationType.REFUND_FULL
    # Version 1 leaves finished consumables out.
    for transaction in (coins[0], coins[5], season):
        customer.finish(transaction)
    assert api.ids(monthly, V2) == bought
    assert api.ids(monthly, V1) == [one for one in bought if one not in (coins[0], coins[5])]
    assert api.ids(monthly, V1, productTypes=[ProductType.CONSUMABLE], sort=Order.DESCENDING) == [
        one for one in coins[::-1] if one not in (coins[0], coins[5])]
    # It has the same filters.
    for filters in (
            {"startDate": date}, {"endDate": date}, {"productIds": [LAMP, MONTHLY]}, {"revoked": True},
            {"subscriptionGroupIdentifiers": [READING_GROUP]},
            {"inAppOwnershipType": InAppOwnershipType.PURCHASED}):
        assert api.ids(monthly, V1, **filters) == [
            one for one in api.ids(monthly, V2, **filters) if one not in (coins[0], coins[5])], filters
    # Apple has deprecated this parameter, and the library does not send it.
    for version, expected in ((1, api.ids(monthly, V1, revoked=False)), (2, api.ids(monthly, V2, revoked=False))):
        answer = api.ask(f"/inApps/v{version}/history/{monthly}?excludeRevoked=true", "Bearer " + token(api.key))
        assert answer.status == 200
        found = [payload_of(signed)["transactionId"] for signed in json.loads(answer.body)["signedTransactions"]]
        assert lamp not in found and found == expected[:len(found)] and found


def test_what_a_family_shares(api):
    anna, ben = api.customer(), api.customer()
    lamp, coins = api.buy(anna, LAMP), api.buy(ben, COINS)
    api.report("family", "create", anna.name)
    api.report("family", "add", anna.name, ben.name)
    (shared,) = api.ids(coins, inAppOwnershipType=InAppOwnershipType.FAMILY_SHARED)
    assert shared != lamp and api.ids(coins, inAppOwnershipType=InAppOwnershipType.PURCHASED) == [coins]
    assert api.ids(lamp) == [lamp]
    assert api.info(shared).revocationDate is None
    api.report("family", "share", anna.name, "off")
    assert api.info(shared).revocationType == RevocationType.FAMILY_REVOKE
    assert api.info(lamp).revocationDate is None


# Subscriptions.

def test_a_year_of_a_subscription(api):
    api.store.report("app", "grace", APP, "--days", "16")
    customer = api.customer()
    first = api.buy(customer, MONTHLY)
    began = api.info(first).purchaseDate

    def look(status):
        """Verifies all that the API says of the subscription. Returns the last transaction and the renewal."""
        (item,) = api.statuses(first)
        assert (item.group, item.status) == (READING_GROUP, status)
        assert item.transaction.originalTransactionId == first
        assert item.transaction.transactionId in api.ids(first)
        return item.transaction, item.renewal

    # A free week, of which the renewal knows nothing.
    last, renewal = look(Status.ACTIVE)
    assert (last.offerType, last.offerDiscountType, last.offerPeriod, last.price) == (
        OfferType.INTRODUCTORY_OFFER, OfferDiscountType.FREE_TRIAL, "P1W", 0)
    assert (renewal.offerType, renewal.renewalPrice, renewal.autoRenewProductId) == (None, 4990, MONTHLY)
    api.advance(months=1)
    last, _ = look(Status.ACTIVE)
    assert (last.transactionReason, last.price, last.offerType) == (TransactionReason.RENEWAL, 4990, None)
    # A card that fails.
    rule = uuid.uuid4().hex
    api.report("payment-rule", "add", rule, "--account", customer.name)
    api.advance(days=12)
    look(Status.BILLING_GRACE_PERIOD)
    api.advance(days=20)
    look(Status.BILLING_RETRY)
    api.report("payment-rule", "remove", rule)
    api.report("subscription", "recover", customer.name)
    monthly, _ = look(Status.ACTIVE)
    assert (monthly.transactionReason, monthly.isUpgraded) == (TransactionReason.RENEWAL, None)
    # An upgrade begins at once.
    api.report("subscription", "change", customer.name, "--to", PREMIUM)
    last, _ = look(Status.ACTIVE)
    assert (last.productId, last.transactionReason, last.price) == (PREMIUM, TransactionReason.PURCHASE, 9990)
    replaced = api.info(monthly.transactionId)
    assert (replaced.isUpgraded, replaced.revocationDate) == (True, None)
    api.advance(months=3, days=3)
    last, _ = look(Status.ACTIVE)
    assert (last.productId, last.transactionReason) == (PREMIUM, TransactionReason.RENEWAL)
    # A downgrade waits for the renewal.
    api.report("subscription", "change", customer.name, "--to", MONTHLY)
    last, renewal = look(Status.ACTIVE)
    assert (last.productId, renewal.autoRenewProductId, renewal.renewalPrice) == (PREMIUM, MONTHLY, 4990)
    api.advance(months=1)
    last, _ = look(Status.ACTIVE)
    assert (last.productId, last.transactionReason) == (MONTHLY, TransactionReason.RENEWAL)
    # A refund of a part ends it.
    api.report("transaction", "refund", last.transactionId, "--reason", "app", "--prorated")
    last, renewal = look(Status.REVOKED)
    assert (last.revocationType, last.revocationReason) == (
        RevocationType.REFUND_PRORATED, RevocationReason.REFUNDED_DUE_TO_ISSUE)
    assert 0 < last.revocationPercentage < 100_000
    assert renewal.autoRenewStatus == AutoRenewStatus.OFF
    # The customer comes back, without a second free week.
    again = api.buy(customer, MONTHLY)
    last, renewal = look(Status.ACTIVE)
    assert (last.transactionId, last.transactionReason, last.offerType) == (again, TransactionReason.PURCHASE, None)
    assert renewal.autoRenewStatus == AutoRenewStatus.ON
    # A cancellation.
    api.advance(months=2, days=3)
    api.report("subscription", "cancel", customer.name)
    _, renewal = look(Status.ACTIVE)
    assert (renewal.autoRenewStatus, renewal.renewalPrice) == (AutoRenewStatus.OFF, None)
    api.advance(months=2)
    _, renewal = look(Status.EXPIRED)
    assert renewal.expirationIntent == ExpirationIntent.CUSTOMER_CANCELLED
    api.buy(customer, PREMIUM)
    api.advance(months=2)
    last, _ = look(Status.ACTIVE)
    assert last.signedDate - began > 365 * DAY
    kept = api.ids(first, revoked=False)
    assert len(kept) >= 12 and len(api.ids(first)) == len(kept) + 1


def test_statuses_are_filtered(api):
    customer = api.customer()
    coins = api.buy(customer, COINS)
    assert api.statuses(coins) == []
    reading, audio = api.buy(customer, MONTHLY), api.buy(customer, AUDIO)
    api.report("subscription", "cancel", customer.name, "--product", AUDIO)
    api.advance(months=2)

    def found(transaction, *wanted):
        return {item.group: item.status for item in api.statuses(transaction, *wanted)}

    both = {READING_GROUP: Status.ACTIVE, AUDIO_GROUP: Status.EXPIRED}
    # Any transaction of the customer's will do.
    assert found(reading) == found(audio) == found(coins) == both
    assert found(coins, Status.ACTIVE) == {READING_GROUP: Status.ACTIVE}
    assert found(coins, Status.EXPIRED, Status.REVOKED) == {AUDIO_GROUP: Status.EXPIRED}
    assert found(coins, Status.ACTIVE, Status.EXPIRED) == both
    assert found(coins, Status.BILLING_RETRY, Status.BILLING_GRACE_PERIOD) == {}


# Errors, keys and tokens.

@pytest.mark.one_database
def test_errors_have_apples_numbers_and_texts(api):
    client, everything = api.client, TransactionHistoryRequest()
    customer = api.customer()
    own = api.buy(customer, COINS)
    foreign = customer.purchase(OTHER_APP, OTHER_COINS)["transactionId"]
    elsewhere = AppServer(api.store, api.key, other(api.environment))
    distant = elsewhere.buy(elsewhere.customer(), COINS)
    for call in (
            client.get_transaction_info, client.get_all_subscription_statuses,
            lambda one: client.get_transaction_history(one, None, everything, V1),
            lambda one: client.get_transaction_history(one, None, everything, V2)):
        for wrong in ("abc", "0", "-1", "9" * 20):
            with refused(APIError.INVALID_TRANSACTION_ID):
                call(wrong)
        for unknown in ("999", foreign, distant):
            with refused(APIError.TRANSACTION_ID_NOT_FOUND):
                call(unknown)
    # A revision is good for its query.
    revision = client.get_transaction_history(own, None, everything, V2).revision
    for asked, text in ((everything, "x"), (everything, revision + "0"),
                        *((everything, text) for text in altered(revision)),
                        (TransactionHistoryRequest(productIds=[COINS]), revision)):
        with refused(APIError.INVALID_REQUEST_REVISION):
            client.get_transaction_history(own, text, asked, V2)
    # Values that the library does not send.
    for query, error in {
            "startDate=x": APIError.INVALID_START_DATE, "endDate=-1": APIError.INVALID_END_DATE,
            "sort=UP": APIError.INVALID_SORT, "productType=BOOK": APIError.INVALID_PRODUCT_TYPE,
            "productId=" + "a" * 300: APIError.INVALID_PRODUCT_ID,
            "subscriptionGroupIdentifier=" + "a" * 300: APIError.INVALID_SUBSCRIPTION_GROUP_IDENTIFIER,
            "inAppOwnershipType=MINE": APIError.INVALID_IN_APP_OWNERSHIP_TYPE,
            "revoked=maybe": APIError.INVALID_REVOKED,
    }.items():
        api.assert_refused(error, f"/inApps/v2/history/{own}?{query}")
    api.assert_refused(APIError.INVALID_STATUS, f"/inApps/v1/subscriptions/{own}?status=1&status=6")
    api.assert_refused(APIError.TRANSACTION_ID_NOT_FOUND, "/inApps/v1/transactions/999")


def test_keys_are_made_listed_and_revoked(store):
    made = make_key(store)
    assert stat.S_IMODE(os.stat(made["keyFile"]).st_mode) == 0o600
    api = AppServer(store, made, "sandbox")
    coins = api.buy(api.customer(), COINS)
    api.info(coins)

    def listed():
        return {one["keyId"]: "revokedDate" in one for one in store.report("key", "list")}

    known = listed()
    assert known[made["keyId"]] is False
    # No file is overwritten, and no key is left whose private half nobody has.
    with pytest.raises(subprocess.CalledProcessError):
        store.run("key", "make", "--app", APP, "--out", made["keyFile"])
    assert not [name for name, revoked in listed().items() if name not in known and not revoked]
    api.info(coins)
    store.report("key", "revoke", made["keyId"])
    assert listed()[made["keyId"]] is True
    with unauthenticated():
        api.info(coins)


@pytest.mark.one_database
def test_good_tokens_are_taken(api):
    coins, now = api.buy(api.customer(), COINS), int(time.time())
    for claims in ({}, {"iat": None}, {"exp": now + 3_500}, {"nonce": str(uuid.uuid4())}):
        answer = api.ask(f"/inApps/v1/transactions/{coins}", "Bearer " + token(api.key, claims=claims))
        assert (answer.status, answer.type) == (200, "application/json"), claims
    # Another app's key is good for that app.
    with refused(APIError.TRANSACTION_ID_NOT_FOUND):
        api.connect(make_key(api.store, OTHER_APP), app=OTHER_APP).get_transaction_info(coins)


@pytest.mark.one_database
def test_bad_tokens_are_refused(api, key):
    coins, now = api.buy(api.customer(), COINS), int(time.time())
    foreign, private, public = make_key(api.store, OTHER_APP), private_key(key), private_key(key).public_key()
    pem, point = (public.public_bytes(*form) for form in [
        (serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo),
        (serialization.Encoding.X962, serialization.PublicFormat.UncompressedPoint)])
    stranger, wide = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP384R1())

    def hs256(secret):
        return token(key, header={"alg": "HS256"}, sign=lambda content: hmac.digest(secret, content, "sha256"))

    good = token(key)
    for name, bad in {
            "no algorithm": token(key, header={"alg": "none"}, sign=lambda _: b""),
            "no algorithm, signed": token(key, header={"alg": "none"}),
            "no signature": token(key, sign=lambda _: b""),
            "HS256 with the public key": hs256(pem),
            "HS256 with the public key's point": hs256(point),
            "another curve": token(key, header={"alg": "ES384"}, sign=ecdsa(wide, hashes.SHA384)),
            "another curve as ES256": token(key, sign=ecdsa(wide)),
            "a signature in DER": token(key, sign=lambda content: private.sign(content, ec.ECDSA(hashes.SHA256()))),
            "a stranger's key": token(key, sign=ecdsa(stranger)),
            "another app's key": token(key, sign=ecdsa(private_key(foreign))),
            "another app's key for this app": token(foreign, claims={"bid": APP}),
            "this key for another app": token(key, claims={"bid": OTHER_APP}),
            "the app in other letters": token(key, claims={"bid": APP.upper()}),
            "the key in other letters": token(key, header={"kid": key["keyId"].swapcase()}),
            "no key": token(key, header={"kid": None}),
            "another issuer": token(key, claims={"iss": str(uuid.uuid4())}),
            "the issuer in other letters": token(key, claims={"iss": key["issuerId"].swapcase()}),
            "no issuer": token(key, claims={"iss": None}),
            "another audience": token(key, claims={"aud": "appstoreconnect-v2"}),
            "no audience": token(key, claims={"aud": None}),
            "expired": token(key, claims={"iat": now - 600, "exp": now - 1}),
            "expired long ago": token(key, claims={"iat": now - 90_000, "exp": now - 86_400}),
            "from the future": token(key, claims={"iat": now + 600, "exp": now + 900}),
            "longer than an hour": token(key, claims={"exp": now + 3_700}),
            "no end": token(key, claims={"exp": None}),
            "an end that is text": token(key, claims={"exp": str(now + 300)}),
            "another part": good + ".AAAA",
            "a part less": good.rsplit(".", 1)[0],
            "nothing": "",
    }.items():
        answer = api.ask(f"/inApps/v1/transactions/{coins}", "Bearer " + bad)
        assert (answer.status, answer.type.split(";")[0], answer.body.strip()) == (
            401, "text/plain", b"Unauthenticated"), name
    for header in (None, good, "Basic " + base64.b64encode(b"user:" + good.encode()).decode()):
        assert api.ask(f"/inApps/v1/transactions/{coins}", header).status == 401
    with unauthenticated():
        api.connect(key, stranger.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption(),
        )).get_transaction_info(coins)


@pytest.mark.one_database
def test_a_token_of_a_megabyte_is_refused(api):
    """By the API, up to the 16 KiB that all headers may have, and beyond by HTTP's limit (Documentation/ServerAPI.md)."""
    coins = api.buy(api.customer(), COINS)
    path = f"/inApps/v1/transactions/{coins}"
    for size in (4_090, 15_000):
        answer = api.ask(path, "Bearer " + "a" * size)
        assert (answer.status, answer.body) == (401, b"Unauthenticated"), size
    try:
        answer = api.ask(path, "Bearer " + "a" * (1 << 20))
        assert (answer.status, answer.body) == (400, b"")
    except (OSError, http.client.HTTPException):
        # The store closes the connection before the client has sent everything.
        pass
    api.info(coins)


def test_many_bad_requests_take_no_memory(store, key):
    """Some 66 MiB of bodies are refused."""
    if store.database != "sqlite":
        pytest.skip("what is refused here reaches no database")
    api, good, filler = AppServer(store, key, "sandbox"), "Bearer " + token(key), {"filler": "x" * 64_000}
    bad = [
        ("Bearer " + "a" * 12_000, "GET", "/inApps/v1/transactions/1", None),
        (good, "GET", "/inApps/v2/history/1?" + "productId=a&" * 1_000, None), (good, "POST", NOTIFICATIONS, filler),
        # More than a body may have.
        (good, "POST", NOTIFICATIONS, {"filler": "x" * 70_000}),
        (good, "PUT", "/inApps/v1/transactions/1/appAccountToken", filler),
        (good, "POST", NOTIFICATIONS, [["x"] * 12_000])]

    def ask(times):
        for _ in range(times):
            for authorization, method, path, body in bad:
                assert 400 <= api.ask(path, authorization, method, body).status < 500, path

    ask(30)
    before = store.memory
    ask(250)
    assert store.memory - before < 24 << 20


# Signatures.

@pytest.mark.one_database
def test_a_signature_holds_for_its_app_environment_and_root(api):
    signed = api.client.get_transaction_info(api.buy(api.customer(), COINS)).signedTransactionInfo
    head, _, signature = signed.split(".")
    assert set(json.loads(decoded(head))) == {"alg", "x5c"} and len(json.loads(decoded(head))["x5c"]) == 3
    changed = encoded(json.dumps(payload_of(signed) | {"price": 0}).encode())
    foreign_root = (api.store.data / "roots/receipt-root.der").read_bytes()
    for verifier, text, status in [
            (api.make_verifier(app=OTHER_APP), signed, VerificationStatus.INVALID_APP_IDENTIFIER),
            (api.make_verifier(environment=other(api.environment)), signed, VerificationStatus.INVALID_ENVIRONMENT),
            (api.make_verifier(root=foreign_root), signed, VerificationStatus.VERIFICATION_FAILURE),
            (api.verifier, f"{head}.{changed}.{signature}", VerificationStatus.VERIFICATION_FAILURE)]:
        with pytest.raises(VerificationException) as caught:
            verifier.verify_and_decode_signed_transaction(text)
        assert caught.value.status == status


def test_signatures_hold_with_online_checks(api):
    """What the tests before received, too: a year of a subscription. The library asks the responder whose address is
    in the certificates, at this machine's time, about both of them."""
    api.statuses(api.buy(api.customer(), MONTHLY))
    chain = json.loads(decoded(api.transactions[-1].split(".")[0]))["x5c"]
    for certificate in chain[:2]:
        access = x509.load_der_x509_certificate(base64.b64decode(certificate)).extensions.get_extension_for_class(
            x509.AuthorityInformationAccess).value
        addresses = [one.access_location.value for one in access
                     if one.access_method == x509.AuthorityInformationAccessOID.OCSP]
        assert addresses == [api.store.addresses["production"] + "/ocsp"]
    verifier = api.make_verifier(online=True)
    for signed in api.transactions:
        verifier.verify_and_decode_signed_transaction(signed)
    for signed in api.renewals:
        verifier.verify_and_decode_renewal_info(signed)


def test_the_stores_clock_moves_what_is_signed_and_nothing_else():
    """Payloads have the store's time. Tokens and the responder's answers follow this machine's."""
    with stores.running(more=[CATALOG], options=["--no-merchant"]) as store:
        key = make_key(store)
        api = AppServer(store, key, "sandbox")
        for instant in ("2010-06-01T00:00:00Z", "2090-06-01T00:00:00Z"):
            api.control("clock", "PUT", {"set": instant})
            began = api.now
            coins = api.buy(api.customer(), COINS)
            assert began <= api.info(coins).signedDate <= api.now
            # Another verifier would have kept the chain that it has checked.
            api.make_verifier(online=True).verify_and_decode_signed_transaction(api.transactions[-1])
            now = api.now // 1_000
            answer = api.ask(
                f"/inApps/v1/transactions/{coins}", "Bearer " + token(key, claims={"iat": now, "exp": now + 300}))
            assert answer.status == 401


def test_the_same_customer_is_found_by_the_app_transaction(api):
    customer = api.customer()
    coins, reading = api.buy(customer, COINS), api.buy(customer, MONTHLY)
    api.refund(coins)
    one = api.info(coins).appTransactionId
    assert one == api.info(reading).appTransactionId
    assert sorted(api.ids(one)) == sorted(api.ids(coins)) == sorted([coins, reading])
    (item,) = api.statuses(one)
    assert (item.group, item.status, item.transaction.transactionId) == (READING_GROUP, Status.ACTIVE, reading)
    assert api.statuses(one, Status.EXPIRED) == []
    page = api.client.get_refund_history(one, None)
    assert [api.transaction(signed).transactionId for signed in page.signedTransactions] == [coins]
    assert api.client.get_refund_history(one, page.revision).signedTransactions == []
    with refused(APIError.TRANSACTION_ID_NOT_FOUND):
        AppServer(api.store, api.key, other(api.environment)).client.get_all_subscription_statuses(one)


# Further requests, each in a test of its own.

def test_refunds_have_pages(api):
    customer = api.customer()
    coins = [api.buy(customer, COINS) for _ in range(23)]
    none = api.client.get_refund_history(coins[0], None)
    assert (none.signedTransactions, none.hasMore) == ([], False)
    for transaction in coins[:22]:
        api.refund(transaction)
    page = api.client.get_refund_history(coins[-1], None)
    assert (len(page.signedTransactions), page.hasMore) == (20, True)
    found = [api.transaction(signed) for signed in page.signedTransactions]
    page = api.client.get_refund_history(coins[-1], page.revision)
    assert (len(page.signedTransactions), page.hasMore) == (2, False)
    found += [api.transaction(signed) for signed in page.signedTransactions]
    assert [one.transactionId for one in found] == coins[:22]
    assert [one.revocationDate for one in found] == sorted(one.revocationDate for one in found)
    # The last revision finds later refunds.
    api.refund(coins[-1])
    page = api.client.get_refund_history(coins[0], page.revision)
    assert [api.transaction(signed).transactionId for signed in page.signedTransactions] == coins[-1:]
    for wrong in ("x", *altered(page.revision)):
        with refused(APIError.INVALID_REQUEST_REVISION):
            api.client.get_refund_history(coins[0], wrong)
    with refused(APIError.TRANSACTION_ID_NOT_FOUND):
        api.client.get_refund_history("999", None)


def test_an_order_is_looked_up(store, key):
    api = AppServer(store, key, "production")
    customer = api.customer()
    coins = api.buy(customer, COINS)
    (row,) = api.report("transaction", "list", "--account", customer.name)
    for order in (row["orderId"], row["orderId"].lower()):
        found = api.client.look_up_order_id(order)
        assert found.status == OrderLookupStatus.VALID
        assert [api.transaction(signed).transactionId for signed in found.signedTransactions] == [coins]
    unknown = api.client.look_up_order_id("M" + "0" * 12)
    assert (unknown.status, unknown.signedTransactions or []) == (OrderLookupStatus.INVALID, [])


def test_a_transaction_is_finished(api):
    customer = api.customer()
    coins, more = api.buy(customer, COINS), api.buy(customer, COINS)
    for _ in range(2):
        api.client.finish_transaction(coins)
    assert (api.ids(more, V1), api.ids(more, V2)) == ([more], [coins, more])
    with refused(APIError.TRANSACTION_ID_NOT_FOUND):
        api.client.finish_transaction("999")


def test_an_app_account_token_is_set(api):
    customer, user = api.customer(), str(uuid.uuid4())
    first = api.buy(customer, AUDIO)
    api.advance(months=1, days=1)
    _, renewed = api.ids(first)[:2]
    api.client.set_app_account_token(first, UpdateAppAccountTokenRequest(user.upper()))
    api.advance(months=1)
    history, _ = api.history(first)
    assert len(history) >= 3 and {one.appAccountToken for one in history} == {user}
    (item,) = api.statuses(first)
    assert item.renewal.appAccountToken == user
    for transaction, text, error in [
            (first, "Anna", APIError.INVALID_APP_ACCOUNT_TOKEN_UUID_ERROR),
            (renewed, user, APIError.TRANSACTION_ID_IS_NOT_ORIGINAL_TRANSACTION_ID_ERROR),
            ("999", user, APIError.TRANSACTION_ID_NOT_FOUND)]:
        with refused(error):
            api.client.set_app_account_token(transaction, UpdateAppAccountTokenRequest(text))


def test_an_app_transaction_is_found(api):
    customer = api.customer()
    coins = api.buy(customer, COINS)
    signed = api.client.get_app_transaction_info(coins).signedAppTransactionInfo
    read = api.verifier.verify_and_decode_app_transaction(signed)
    assert_known(payload_of(signed), read)
    assert api.make_verifier(online=True).verify_and_decode_app_transaction(signed) == read
    assert (read.receiptType, read.bundleId, read.appAppleId) == (NAMES[api.environment], APP, api.app_number)
    assert api.ids(read.appTransactionId) == [coins]
    with refused(APIError.APP_TRANSACTION_ID_NOT_SUPPORTED_ERROR):
        api.client.get_transaction_info(read.appTransactionId)


def extension(days, name=None):
    """A request to extend a subscription."""
    return ExtendRenewalDateRequest(days, ExtendReasonCode.SERVICE_ISSUE_OR_OUTAGE, name or str(uuid.uuid4()))


def test_a_subscription_is_extended(api):
    customer = api.customer()
    first, free = api.buy(customer, AUDIO), api.buy(customer, MONTHLY)
    for _ in range(2):
        before, asked = api.info(first), extension(7)
        answer = api.client.extend_subscription_renewal_date(first, asked)
        # The same request again changes nothing.
        assert api.client.extend_subscription_renewal_date(first, asked) == answer
        after = api.info(first)
        assert (answer.success, answer.originalTransactionId) == (True, first)
        assert (answer.webOrderLineItemId, answer.effectiveDate) == (after.webOrderLineItemId, after.expiresDate)
        # A day of Los Angeles can have an hour more or less.
        assert abs(after.expiresDate - before.expiresDate - 7 * DAY) <= DAY // 24
    # The extended transaction is the last that changed.
    assert api.ids(first, sort=Order.DESCENDING)[0] == first
    for transaction, asked, error in [
            (first, extension(7), APIError.SUBSCRIPTION_MAX_EXTENSION),
            (free, extension(7), APIError.SUBSCRIPTION_EXTENSION_INELIGIBLE),
            (first, extension(0), APIError.INVALID_EXTEND_BY_DAYS),
            (first, extension(91), APIError.INVALID_EXTEND_BY_DAYS),
            (first, extension(7, "a" * 129), APIError.INVALID_REQUEST_IDENTIFIER),
            ("abc", extension(7), APIError.INVALID_ORIGINAL_TRANSACTION_ID),
            ("999", extension(7), APIError.ORIGINAL_TRANSACTION_ID_NOT_FOUND)]:
        with refused(error):
            api.client.extend_subscription_renewal_date(transaction, asked)
    api.assert_refused(
        APIError.INVALID_EXTEND_REASON_CODE, f"/inApps/v1/subscriptions/extend/{first}", "PUT",
        {"extendByDays": 7, "extendReasonCode": 4, "requestIdentifier": str(uuid.uuid4())})


def test_all_subscribers_are_extended(api):
    subscribers = [api.buy(api.customer(country), CLUB) for country in ("USA", "USA", "JPN")]

    def extend(*countries):
        """Extends the subscriptions of storefronts, or of all. Returns how many were, and how many could not be."""
        asked = MassExtendRenewalDateRequest(
            7, ExtendReasonCode.OTHER, str(uuid.uuid4()), list(countries) or None, CLUB)
        # The same request again changes nothing.
        for _ in range(2):
            answer = api.client.extend_renewal_date_for_all_active_subscribers(asked)
            assert answer.requestIdentifier == asked.requestIdentifier
        end = time.monotonic() + 30
        while True:
            status = api.client.get_status_of_subscription_renewal_date_extensions(
                asked.requestIdentifier.upper(), CLUB)
            assert status.requestIdentifier.lower() == asked.requestIdentifier
            if status.complete:
                assert status.completeDate is not None
                return status.succeededCount, status.failedCount
            assert (status.completeDate, status.succeededCount, status.failedCount) == (None, None, None)
            assert time.monotonic() < end
            time.sleep(0.1)

    before = [api.info(transaction).expiresDate for transaction in subscribers]
    assert extend("USA") == (2, 0)
    assert extend() == (3, 0)
    assert extend("USA", "JPN") == (1, 2)
    for transaction, date in zip(subscribers, before):
        assert abs(api.info(transaction).expiresDate - date - 14 * DAY) <= DAY // 24
    for countries, product, days, error in [
            ([], CLUB, 7, APIError.INVALID_EMPTY_STOREFRONT_COUNTRY_CODE_LIST),
            (["XXX"], CLUB, 7, APIError.INVALID_STOREFRONT_COUNTRY_CODE),
            (["USA"], "reading.nothing", 7, APIError.INVALID_PRODUCT_ID),
            (["USA"], CLUB, 91, APIError.INVALID_EXTEND_BY_DAYS)]:
        with refused(error):
            api.client.extend_renewal_date_for_all_active_subscribers(MassExtendRenewalDateRequest(
                days, ExtendReasonCode.OTHER, str(uuid.uuid4()), countries, product))
    with refused(APIError.STATUS_REQUEST_NOT_FOUND):
        api.client.get_status_of_subscription_renewal_date_extensions(str(uuid.uuid4()), CLUB)


def test_an_apps_requests_are_limited_by_the_hour(api):
    coins = api.buy(api.customer(), COINS)
    api.report("rate-limit", "set", "transaction", "2", "--app", APP)
    try:
        for _ in range(2):
            api.info(coins)
        with refused(APIError.RATE_LIMIT_EXCEEDED):
            api.info(coins)
        answer = api.ask(f"/inApps/v1/transactions/{coins}", "Bearer " + token(api.key))
        assert answer.status == 429
        # The end of the hour, as Apple writes it.
        assert 0 < int(answer.retry_after) - time.time() * 1000 <= 3_601_000
        # Other requests are counted by themselves.
        assert api.ids(coins) == [coins]
    finally:
        api.store.run("rate-limit", "off", "--app", APP, "--environment", api.environment)
    api.info(coins)


def test_the_database_is_locked_for_a_while(store, key):
    """By another program, longer than the store waits. Nothing is recorded, and the caller tries again."""
    if store.database != "sqlite":
        pytest.skip("only the file of SQLite is locked as a whole")
    api = AppServer(store, key, "sandbox")
    coins = api.buy(api.customer(), COINS)
    api.info(coins)
    file = store.data / "databases/sandbox.sqlite"
    with contextlib.closing(sqlite3.connect(file, timeout=60, isolation_level=None)) as program:
        program.execute("BEGIN IMMEDIATE")
        with refused(APIError.GENERAL_INTERNAL_RETRYABLE):
            api.client.finish_transaction(coins)
        program.execute("ROLLBACK")
    assert api.ids(coins, V1) == [coins]
    api.client.finish_transaction(coins)
    assert api.ids(coins, V1) == []


@pytest.mark.one_database
@pytest.mark.parametrize("error", [APIError.RATE_LIMIT_EXCEEDED, APIError.GENERAL_INTERNAL])
def test_requests_fail_on_order(api, error):
    coins = api.buy(api.customer(), COINS)
    stores.request("POST", f"{api.store.control}/control/v1/{api.environment}/faults",
                   {"operation": "serverAPI", "status": error // 10_000, "count": 1})
    with refused(error):
        api.info(coins)
    api.info(coins)


def test_the_last_refunds_are_listed(api):
    customer = api.customer()
    coins = [api.buy(customer, COINS) for _ in range(2)]
    for transaction in coins:
        api.refund(transaction)
    answer = api.ask(f"/inApps/v1/refund/lookup/{coins[0]}", "Bearer " + token(api.key))
    assert answer.status == 200
    signed = json.loads(answer.body)["signedTransactions"]
    assert sorted(api.transaction(one).transactionId for one in signed) == sorted(coins)


# What an app's server says of a purchase, in both versions.
CONSUMED_V1 = {
    "customerConsented": True, "sampleContentProvided": False, "accountTenure": 1, "appAccountToken": "",
    "consumptionStatus": 1, "deliveryStatus": 0, "lifetimeDollarsPurchased": 1, "lifetimeDollarsRefunded": 0,
    "platform": 1, "playTime": 1, "refundPreference": 2, "userStatus": 1,
}
CONSUMED_V2 = {
    "customerConsented": True, "sampleContentProvided": False, "deliveryStatus": "DELIVERED",
    "consumptionPercentage": 50_000, "refundPreference": "DECLINE",
}


@pytest.mark.parametrize("version, body", [(1, CONSUMED_V1), (2, CONSUMED_V2)])
def test_consumption_is_taken(api, version, body):
    coins = api.buy(api.customer(), COINS)
    request = api.report("refund-request", "make", coins)
    answer = api.ask(
        f"/inApps/v{version}/transactions/consumption/{coins}", "Bearer " + token(api.key), "PUT", body)
    assert (answer.status, answer.body) == (202, b"")
    assert api.report("refund-request", "show", request["requestId"])["consumptionVersion"] == version


@pytest.mark.filterwarnings("ignore:send_consumption_data is deprecated")
@pytest.mark.parametrize("version, made, body", [
    (1, ConsumptionRequestV1, CONSUMED_V1), (2, ConsumptionRequest, CONSUMED_V2)])
def test_consumption_is_taken_from_apples_client(api, version, made, body):
    coins = api.buy(api.customer(), COINS)
    request = api.report("refund-request", "make", coins)
    # The library reads a value from its enumeration, or takes it as it is travelling.
    plain = {"customerConsented", "sampleContentProvided", "appAccountToken", "consumptionPercentage"}
    consumed = made(**{
        name if name in plain else f"raw{name[0].upper()}{name[1:]}": value for name, value in body.items()})
    send = api.client.send_consumption_data if version == 1 else api.client.send_consumption_information
    send(coins, consumed)
    assert api.report("refund-request", "show", request["requestId"])["consumptionVersion"] == version


@pytest.mark.one_database
@pytest.mark.parametrize("error, member, value", [
    (4000032, "accountTenure", 8), (4000033, "appAccountToken", "Anna"), (4000034, "consumptionStatus", 4),
    (4000035, "customerConsented", False), (4000036, "deliveryStatus", 6), (4000037, "lifetimeDollarsPurchased", 8),
    (4000038, "lifetimeDollarsRefunded", 8), (4000039, "platform", 3), (4000040, "playTime", 8),
    (4000041, "sampleContentProvided", "yes"), (4000042, "userStatus", 5), (4000044, "refundPreference", 4)])
def test_wrong_consumption_is_refused(api, error, member, value):
    coins = api.buy(api.customer(), COINS)
    api.assert_refused(
        error, f"/inApps/v1/transactions/consumption/{coins}", "PUT", CONSUMED_V1 | {member: value})


@pytest.mark.one_database
def test_consumption_of_other_products_is_refused(api):
    customer = api.customer()
    lamp, audio = api.buy(customer, LAMP), api.buy(customer, AUDIO)
    api.assert_refused(4000047, f"/inApps/v1/transactions/consumption/{lamp}", "PUT", CONSUMED_V1)
    api.assert_refused(4000209, f"/inApps/v2/transactions/consumption/{audio}", "PUT", CONSUMED_V2)


NOTIFICATIONS = "/inApps/v1/notifications/history"


# The body is made with the store's time.
@pytest.mark.one_database
@pytest.mark.parametrize("error, method, path, body", [
    (4000000, "POST", NOTIFICATIONS, lambda now: "x"),
    (4000012, "POST", NOTIFICATIONS, lambda now: {"startDate": 1, "endDate": now}),
    (4000014, "POST", NOTIFICATIONS + "?paginationToken=x", lambda now: {"startDate": now - DAY, "endDate": now}),
    (4000018, "POST", NOTIFICATIONS,
     lambda now: {"startDate": now - DAY, "endDate": now, "notificationType": "SOLD"}),
    (4000025, "GET", "/inApps/v2/history/{coins}?excludeRevoked=maybe", None),
    (4040008, "GET", f"/inApps/v1/notifications/test/{uuid.UUID(int=1)}_1", None)])
def test_further_errors_have_apples_numbers_and_texts(api, error, method, path, body):
    coins, now = api.buy(api.customer(), COINS), api.now
    api.assert_refused(error, path.format(coins=coins), method, body and body(now))


@pytest.mark.one_database
def test_a_body_has_at_most_64_kib(api):
    now = api.now
    asked = {"startDate": now - DAY, "endDate": now, "filler": ""}
    asked["filler"] = "x" * ((64 << 10) - len(json.dumps(asked)))
    # Unknown members are ignored.
    assert api.ask(NOTIFICATIONS, "Bearer " + token(api.key), "POST", asked).status == 200
    asked["filler"] += "x"
    api.assert_refused(APIError.GENERAL_BAD_REQUEST, NOTIFICATIONS, "POST", asked)


def test_a_members_share_is_not_changed(api):
    anna, ben = api.customer(), api.customer()
    api.buy(anna, AUDIO)
    api.buy(anna, LAMP)
    coins = api.buy(ben, COINS)
    api.report("family", "create", anna.name)
    api.report("family", "add", anna.name, ben.name)
    shared = {one.productId: one.transactionId
              for one in api.history(coins, inAppOwnershipType=InAppOwnershipType.FAMILY_SHARED)[0]}
    api.assert_refused(
        4030007, f"/inApps/v1/subscriptions/extend/{shared[AUDIO]}", "PUT",
        {"extendByDays": 7, "extendReasonCode": 0, "requestIdentifier": str(uuid.uuid4())})
    api.assert_refused(
        4000185, f"/inApps/v1/transactions/{shared[LAMP]}/appAccountToken", "PUT",
        {"appAccountToken": str(uuid.uuid4())})


def test_an_offer_is_in_what_it_pays(api):
    customer = api.customer()
    first = api.buy(customer, PREMIUM)
    api.report("offer-code", "create-custom", PREMIUM, "SPRING", "--offer", "Spring", "--limit", "10")
    customer.redeem(APP, "SPRING")
    (item,) = api.statuses(first)
    assert (item.transaction.offerIdentifier, item.renewal.rawOfferType, item.renewal.offerIdentifier) == (
        None, 3, "Spring")
    assert (item.renewal.offerDiscountType, item.renewal.offerPeriod, item.renewal.renewalPrice) == (
        OfferDiscountType.FREE_TRIAL, "P1M", 0)
    api.advance(days=32)
    (item,) = api.statuses(first)
    assert (item.transaction.rawOfferType, item.transaction.offerIdentifier, item.renewal.offerIdentifier) == (
        3, "Spring", None)


def test_former_subscribers_have_win_back_offers(api):
    customer = api.customer()
    first = api.buy(customer, AUDIO)
    api.report("subscription", "cancel", customer.name)
    api.advance(months=2)
    (item,) = api.statuses(first, Status.EXPIRED)
    assert item.renewal.eligibleWinBackOfferIds == ["miss-you"]


def test_a_price_increase_waits_for_an_answer(api):
    customer = api.customer()
    first = api.buy(customer, AUDIO)
    api.report("price-increase", "add", AUDIO, "9.99", "--account", customer.name)
    (group,) = api.client.get_all_subscription_statuses(first).data
    (item,) = group.lastTransactions
    assert api.renewal(item.signedRenewalInfo).rawPriceIncreaseStatus == 0


def test_who_comes_back_gets_an_offer(api):
    """A promotional offer, which Apple's library signs, and a win-back offer."""
    anna, ben = api.customer(), api.customer()
    for customer, product in ((anna, PREMIUM), (ben, AUDIO)):
        api.buy(customer, product)
        api.report("subscription", "cancel", customer.name)
    api.advance(months=2)
    nonce, now = uuid.uuid4(), api.now
    secret = "\n".join(textwrap.wrap(re.search(r"privateKey: (\S+)", CATALOG.read_text(encoding="utf-8"))[1], 64))
    signer = PromotionalOfferSignatureCreator(
        f"-----BEGIN PRIVATE KEY-----\n{secret}\n-----END PRIVATE KEY-----\n".encode(), "OFFERKEY01", APP)
    offer = {"offerId": "come-back", "keyId": "OFFERKEY01", "nonce": str(nonce), "timestamp": now,
             "signature": signer.create_signature(PREMIUM, "come-back", "", nonce, now)}
    for customer, product, more, expected in [
            (anna, PREMIUM, {"offer": offer}, (2, "come-back", OfferDiscountType.PAY_UP_FRONT, "P2M", 15_000)),
            (ben, AUDIO, {"winBackOfferId": "miss-you"}, (4, "miss-you", OfferDiscountType.FREE_TRIAL, "P2W", 0))]:
        read = api.info(customer.purchase(APP, product, **more)["transactionId"])
        assert (read.rawOfferType, read.offerIdentifier, read.offerDiscountType, read.offerPeriod, read.price) == expected


# An app of the managed catalog, whose product can be taken off sale.
SHELF = "com.example.shelf"
SHELF_CATALOG = """\
cornerstore-catalog: 1
apps:
  - bundleID: com.example.shelf
    name: Shelf
    subscriptionGroups:
      - id: "21000309"
        name: Shelf
        localizations: [{ locale: en_US, displayName: Shelf }]
        subscriptions:
          - productID: shelf.monthly
            groupNumber: 1
            recurringSubscriptionPeriod: P1M
            displayPrice: 2.99
            localizations: [{ locale: en_US, displayName: A shelf, description: For a month. }]
"""


def test_why_a_subscription_expired(store, key, tmp_path):
    """Because of a price increase without an answer, and of a product that is not sold any more. A year of a
    subscription has the other reasons."""
    api = AppServer(store, key, "sandbox")
    (tmp_path / "Shelf.yaml").write_text(SHELF_CATALOG, encoding="utf-8")
    store.run("catalog", "import", str(tmp_path / "Shelf.yaml"), "--approved")
    customer = api.customer()
    audio, shelf = api.buy(customer, AUDIO), customer.purchase(SHELF, "shelf.monthly")["transactionId"]
    api.report("price-increase", "add", AUDIO, "9.99", "--account", customer.name)
    store.run("product", "remove", "shelf.monthly")
    api.advance(days=32)
    (item,) = api.statuses(audio)
    assert item.renewal.expirationIntent == ExpirationIntent.CUSTOMER_DID_NOT_CONSENT_TO_PRICE_INCREASE
    client = api.connect(make_key(store, SHELF), app=SHELF)
    ((last,),) = (group.lastTransactions for group in client.get_all_subscription_statuses(shelf).data)
    assert (last.status, api.renewal(last.signedRenewalInfo).expirationIntent) == (
        Status.EXPIRED, ExpirationIntent.PRODUCT_NOT_AVAILABLE)
