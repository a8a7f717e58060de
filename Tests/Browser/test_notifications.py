"""App Store Server Notifications of version 2, received over HTTP and verified by Apple's own library for Python."""

import collections
import contextlib
import json
import time
import uuid

import pytest
import store as stores
from appstoreserverlibrary.api_client import APIError, APIException
from appstoreserverlibrary.models.ExtendReasonCode import ExtendReasonCode
from appstoreserverlibrary.models.MassExtendRenewalDateRequest import MassExtendRenewalDateRequest
from appstoreserverlibrary.models.NotificationHistoryRequest import NotificationHistoryRequest
from appstoreserverlibrary.models.NotificationTypeV2 import NotificationTypeV2
from appstoreserverlibrary.models.SendAttemptResult import SendAttemptResult
from appstoreserverlibrary.models.Status import Status
from appstoreserverlibrary.models.Subtype import Subtype
from server_api import (
    APP, CATALOG, CLUB, COINS, DAY, MONTHLY, NAMES, OTHER_APP, PREMIUM, AppServer, assert_known, make_key, payload_of,
    refused,
)

ALWAYS = {"notificationType", "notificationUUID", "version", "signedDate"}
ONE_OF = {"data", "summary", "externalPurchaseToken", "appData"}


@pytest.fixture(scope="module")
def store():
    """A store with the app, and without a merchant, to which notifications of an app without an address would go."""
    with stores.running(more=[CATALOG], options=["--no-merchant"]) as running:
        yield running


@pytest.fixture(scope="module")
def key(store):
    """A key of the app."""
    return make_key(store)


@pytest.fixture(scope="module", params=list(NAMES))
def api(request, store, key):
    """The app's server in an environment."""
    return AppServer(store, key, request.param)


@pytest.fixture(scope="module")
def receiver(api):
    """What receives the notifications of the environment."""
    with contextlib.closing(stores.Receiver()) as listening:
        send_to(api, listening)
        yield listening


def send_to(api, receiver):
    """Sets the address to which the store sends an environment's notifications."""
    api.store.run("notification", "url", "set", "--app", APP, "--environment", api.environment,
                  f"http://127.0.0.1:{receiver.port}/notifications")


def wait_for(look):
    """Waits until something is there. Returns it."""
    end = time.monotonic() + 30
    while not (found := look()):
        assert time.monotonic() < end, "nothing came"
        time.sleep(0.1)
    return found


def signed_payloads(receiver):
    """What was received, each a JSON object with one member."""
    found = []
    for headers, body in list(receiver.received):
        assert headers["content-type"].split(";")[0] == "application/json"
        content = json.loads(body)
        assert set(content) == {"signedPayload"}
        found.append(content["signedPayload"])
    return found


def verified(api, signed):
    """Verifies and checks a notification. Returns it as the library reads it, and its signed transaction."""
    note, payload = api.verifier.verify_and_decode_notification(signed), payload_of(signed)
    assert_known(payload, note)
    assert ALWAYS <= set(payload) and len(ONE_OF & set(payload)) == 1
    assert note.version == "2.0" and str(uuid.UUID(note.notificationUUID)) == note.notificationUUID
    if note.data is None:
        (part,) = ONE_OF & set(payload)
        assert_known(payload[part], getattr(note, part))
        if note.appData:
            signed = note.appData.signedAppTransactionInfo
            assert_known(payload_of(signed), api.verifier.verify_and_decode_app_transaction(signed))
        return note, None
    assert_known(payload["data"], note.data)
    api.assert_own(note.data)
    if note.data.signedRenewalInfo:
        api.renewal(note.data.signedRenewalInfo)
        assert note.data.status is not None
    return note, api.transaction(note.data.signedTransactionInfo) if note.data.signedTransactionInfo else None


def attempts(api, token):
    """The payload of a test notification, and the results of the attempts to send it."""
    def look():
        try:
            return api.client.get_test_notification_status(token)
        except APIException as error:
            assert error.api_error == APIError.TEST_NOTIFICATION_NOT_FOUND
            return None

    status = wait_for(look)
    return status.signedPayload, [attempt.sendAttemptResult for attempt in status.sendAttempts]


def test_a_test_notification_arrives(api, receiver):
    token = api.client.request_test_notification().testNotificationToken
    wait_for(lambda: receiver.received)
    (signed,) = signed_payloads(receiver)
    note, transaction = verified(api, signed)
    assert (note.notificationType, note.subtype, transaction) == (NotificationTypeV2.TEST, None, None)
    assert attempts(api, token) == attempts(api, token.upper()) == (signed, [SendAttemptResult.SUCCESS])
    with refused(APIError.INVALID_TEST_NOTIFICATION_TOKEN):
        api.client.get_test_notification_status("x")


def test_the_operator_sends_a_test(api, receiver):
    known = len(receiver.received)
    sent = api.report("notification", "test", "--app", APP)
    wait_for(lambda: len(receiver.received) > known)
    (signed,) = signed_payloads(receiver)[known:]
    assert verified(api, signed)[0].notificationUUID == sent["notificationUUID"]
    wait_for(lambda: api.report("notification", "show", sent["notificationUUID"])["state"] == "delivered")


def test_a_failed_attempt_is_noted(api, receiver):
    with contextlib.closing(stores.Receiver(status=500)) as failing:
        send_to(api, failing)
        try:
            token = api.client.request_test_notification().testNotificationToken
            assert attempts(api, token)[1] == [SendAttemptResult.UNSUCCESSFUL_HTTP_RESPONSE_CODE]
        finally:
            send_to(api, receiver)


def test_an_app_without_an_address(api):
    client = api.connect(make_key(api.store, OTHER_APP), app=OTHER_APP)
    with refused(APIError.SERVER_NOTIFICATION_URL_NOT_FOUND):
        client.request_test_notification()


def test_what_happens_to_a_subscription_is_told(api, receiver):
    customer = api.customer()
    first = api.buy(customer, MONTHLY)
    api.advance("1mo")
    api.report("subscription", "cancel", customer.name)
    api.advance("2mo")
    api.buy(customer, MONTHLY)
    api.report("subscription", "change", customer.name, "--to", PREMIUM)
    (item,) = api.statuses(first)
    api.refund(item.transaction.transactionId)
    expected = [
        (NotificationTypeV2.SUBSCRIBED, Subtype.INITIAL_BUY, Status.ACTIVE),
        (NotificationTypeV2.DID_RENEW, None, Status.ACTIVE),
        (NotificationTypeV2.DID_CHANGE_RENEWAL_STATUS, Subtype.AUTO_RENEW_DISABLED, Status.ACTIVE),
        (NotificationTypeV2.EXPIRED, Subtype.VOLUNTARY, Status.EXPIRED),
        (NotificationTypeV2.SUBSCRIBED, Subtype.RESUBSCRIBE, Status.ACTIVE),
        (NotificationTypeV2.DID_CHANGE_RENEWAL_PREF, Subtype.UPGRADE, Status.ACTIVE),
        (NotificationTypeV2.REFUND, None, Status.REVOKED),
        (NotificationTypeV2.DID_CHANGE_RENEWAL_STATUS, Subtype.AUTO_RENEW_DISABLED, Status.REVOKED),
    ]

    def told():
        """The customer's notifications by their signed texts, once all are there."""
        notes = {signed: verified(api, signed) for signed in signed_payloads(receiver)}
        own = {signed: note for signed, (note, transaction) in notes.items()
               if transaction and transaction.originalTransactionId == first}
        return own if len(own) >= len(expected) else None

    own = wait_for(told)
    assert collections.Counter(
        (note.notificationType, note.subtype, note.data.status) for note in own.values()
    ) == collections.Counter(expected)
    assert len({note.notificationUUID for note in own.values()}) == len(own)

    # The history has them as they were signed.
    now = api.report("clock", "show")["milliseconds"]

    def history(start=now - 170 * DAY, **asked):
        request, found, token, more = NotificationHistoryRequest(start, now + DAY, **asked), [], None, True
        while more:
            page = api.client.get_notification_history(token, request)
            assert len(page.notificationHistory) <= 20 and page.hasMore == (page.paginationToken is not None)
            for one in page.notificationHistory:
                assert [attempt.sendAttemptResult for attempt in one.sendAttempts] == [SendAttemptResult.SUCCESS]
            found += [one.signedPayload for one in page.notificationHistory]
            token, more = page.paginationToken, page.hasMore
        return found

    assert sorted(history(transactionId=first)) == sorted(own)
    ended = [signed for signed, note in own.items() if note.notificationType == NotificationTypeV2.EXPIRED]
    assert set(ended) <= set(history(
        notificationType=NotificationTypeV2.EXPIRED, notificationSubtype=Subtype.VOLUNTARY))
    assert history(transactionId=first, onlyFailures=True) == []
    with refused(APIError.MULTIPLE_FILTERS_SUPPLIED):
        history(transactionId=first, notificationType=NotificationTypeV2.EXPIRED)
    with refused(APIError.START_DATE_AFTER_END_DATE):
        history(start=now + 2 * DAY)


def test_the_history_has_pages(api, receiver):
    customer = api.customer()
    coins = [api.buy(customer, COINS) for _ in range(21)]
    now = api.report("clock", "show")["milliseconds"]
    request = NotificationHistoryRequest(now - DAY, now + DAY, transactionId=coins[0])

    def first_page():
        page = api.client.get_notification_history(None, request)
        return page if page.hasMore else None

    first = wait_for(first_page)
    second = api.client.get_notification_history(first.paginationToken, request)
    assert (len(second.notificationHistory), second.hasMore, second.paginationToken) == (1, False, None)
    found = [verified(api, one.signedPayload)[1].transactionId
             for page in (first, second) for one in page.notificationHistory]
    assert sorted(found) == sorted(coins)


def notes_after(api, receiver, known, *wanted):
    """Waits until notifications of all types have arrived after the first `known` ones. Returns them by their types."""
    def look():
        notes = [verified(api, signed)[0] for signed in signed_payloads(receiver)[known:]]
        found = {note.rawNotificationType: note for note in notes}
        return found if set(wanted) <= set(found) else None

    return wait_for(look)


def test_a_request_for_a_refund_asks_for_the_consumption(api, receiver):
    known = len(receiver.received)
    coins = api.buy(api.customer(), COINS)
    api.report("refund-request", "make", coins, "--reason", "unintended-purchase")
    notes = notes_after(api, receiver, known, "ONE_TIME_CHARGE", "CONSUMPTION_REQUEST")
    data = notes["CONSUMPTION_REQUEST"].data
    assert (data.rawConsumptionRequestReason, data.status) == ("UNINTENDED_PURCHASE", None)


def test_an_extension_of_all_is_told(api, receiver):
    known = len(receiver.received)
    api.buy(api.customer(), CLUB)
    asked = MassExtendRenewalDateRequest(7, ExtendReasonCode.OTHER, str(uuid.uuid4()), ["USA"], CLUB)
    api.client.extend_renewal_date_for_all_active_subscribers(asked)
    notes = notes_after(api, receiver, known, "SUBSCRIBED", "RENEWAL_EXTENDED", "RENEWAL_EXTENSION")
    note = notes["RENEWAL_EXTENSION"]
    api.assert_own(note.summary)
    assert (note.subtype, note.summary.productId, note.summary.requestIdentifier) == (
        Subtype.SUMMARY, CLUB, asked.requestIdentifier)
    assert (note.summary.storefrontCountryCodes, note.summary.succeededCount, note.summary.failedCount) == (
        ["USA"], 1, 0)


# The library knows neither the members of the other samples nor the object of UNCLAIM_SEATS.
@pytest.mark.parametrize("kind, part", [
    ("EXTERNAL_PURCHASE_TOKEN/UNREPORTED", "externalPurchaseToken"), ("RESCIND_CONSENT", "appData"),
    ("METADATA_UPDATE", "data"), ("PRICE_CHANGE", "data")])
def test_samples_have_apples_form(api, receiver, kind, part):
    api.buy(api.customer(), MONTHLY)
    # Retries of production wait longer.
    wait_for(lambda: all("nextAttemptDate" in one for one in api.report(
        "notification", "list", "--app", APP, "--state", "waiting")))
    known = len(receiver.received)
    sent = api.report("notification", "sample", "--app", APP, kind)
    assert sent["isSample"]
    wait_for(lambda: len(receiver.received) > known)
    (signed,) = signed_payloads(receiver)[known:]
    note, transaction = verified(api, signed)
    assert (note.notificationUUID, note.rawNotificationType) == (sent["notificationUUID"], kind.split("/")[0])
    assert getattr(note, part) is not None and (transaction is not None) == (part == "data")
    if transaction:
        info = payload_of(note.data.signedTransactionInfo)["advancedCommerceInfo"]
        assert [one["SKU"] for one in info["items"]] == ["sample"]
