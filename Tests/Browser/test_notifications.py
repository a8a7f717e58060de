"""App Store Server Notifications of version 2, received over HTTP and verified by Apple's own library for Python."""

import collections
import contextlib
import functools
import json
import ssl
import uuid

import apple
import conformance
import pytest
import receivers
import store as stores
from appstoreserverlibrary.api_client import APIError, APIException
from appstoreserverlibrary.models.ExtendReasonCode import ExtendReasonCode
from appstoreserverlibrary.models.MassExtendRenewalDateRequest import MassExtendRenewalDateRequest
from appstoreserverlibrary.models.NotificationHistoryRequest import NotificationHistoryRequest
from appstoreserverlibrary.models.NotificationTypeV2 import NotificationTypeV2
from appstoreserverlibrary.models.SendAttemptResult import SendAttemptResult
from appstoreserverlibrary.models.Status import Status
from appstoreserverlibrary.models.Subtype import Subtype
from appstoreserverlibrary.signed_data_verifier import VerificationException, VerificationStatus
from server_api import (
    APP, CATALOG, CLUB, COINS, DAY, MONTHLY, NAMES, OTHER_APP, PREMIUM, THIRD_APP, AppServer, altered, assert_known,
    make_key, payload_of, refused, wait_for,
)

ALWAYS = {"notificationType", "notificationUUID", "version", "signedDate"}
ONE_OF = {"data", "summary", "externalPurchaseToken", "appData"}


@pytest.fixture(scope="module", params=stores.DATABASES)
def store(request):
    """A store with the app, and without a merchant, to which notifications of an app without an address would go."""
    with stores.running(more=[CATALOG], options=["--no-merchant"], database=request.param) as running:
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


def attempts(client, token):
    """The payload of a test notification, and the results of the attempts to send it."""
    def look():
        try:
            return client.get_test_notification_status(token)
        except APIException as error:
            assert error.api_error == APIError.TEST_NOTIFICATION_NOT_FOUND
            return None

    status = wait_for(look)
    return status.signedPayload, [attempt.sendAttemptResult for attempt in status.sendAttempts]


def wait_for_results(api):
    """Waits until the store has noted the result of each notification's first attempt, which it does after the receiver's
    answer. Retries of production wait longer."""
    wait_for(lambda: all("nextAttemptDate" in one for one in api.waiting()))


def test_a_test_notification_arrives(api, receiver):
    token = api.client.request_test_notification().testNotificationToken
    wait_for(lambda: receiver.received)
    (signed,) = signed_payloads(receiver)
    note, transaction = verified(api, signed)
    assert (note.notificationType, note.subtype, transaction) == (NotificationTypeV2.TEST, None, None)
    assert attempts(api.client, token) == attempts(api.client, token.upper()) == (signed, [SendAttemptResult.SUCCESS])
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
            assert attempts(api.client, token)[1] == [SendAttemptResult.UNSUCCESSFUL_HTTP_RESPONSE_CODE]
        finally:
            send_to(api, receiver)


def test_an_app_without_an_address(api):
    client = api.connect(make_key(api.store, OTHER_APP), app=OTHER_APP)
    with refused(APIError.SERVER_NOTIFICATION_URL_NOT_FOUND):
        client.request_test_notification()


def test_what_happens_to_a_subscription_is_told(api, receiver):
    customer = api.customer()
    first = api.buy(customer, MONTHLY)
    api.advance(months=1)
    api.report("subscription", "cancel", customer.name)
    api.advance(months=2)
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

    notes = {}

    def told():
        """The customer's notifications by their signed texts, once all are there."""
        for signed in signed_payloads(receiver):
            if signed not in notes:
                notes[signed] = verified(api, signed)
        own = {signed: note for signed, (note, transaction) in notes.items()
               if transaction and transaction.originalTransactionId == first}
        return own if len(own) >= len(expected) else None

    own = wait_for(told)
    assert collections.Counter(
        (note.notificationType, note.subtype, note.data.status) for note in own.values()
    ) == collections.Counter(expected)
    assert len({note.notificationUUID for note in own.values()}) == len(own)

    # The history has them as they were signed.
    wait_for_results(api)
    now = api.now

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


def test_notifications_hold_with_online_checks(api, receiver):
    """Also those that the tests before received, with everything that is signed in them. The library asks the responder
    about the certificates, at this machine's time."""
    first = api.buy(api.customer(), MONTHLY)
    sample = api.report("notification", "sample", "--app", APP, "RESCIND_CONSENT")["notificationUUID"]
    verifier = api.make_verifier(online=True)

    @functools.cache
    def verify(signed):
        note = verifier.verify_and_decode_notification(signed)
        bought = None
        if note.data and note.data.signedTransactionInfo:
            bought = verifier.verify_and_decode_signed_transaction(note.data.signedTransactionInfo).transactionId
        if note.data and note.data.signedRenewalInfo:
            verifier.verify_and_decode_renewal_info(note.data.signedRenewalInfo)
        if note.appData:
            verifier.verify_and_decode_app_transaction(note.appData.signedAppTransactionInfo)
        return bought or note.notificationUUID

    assert wait_for(lambda: {first, sample} <= {verify(signed) for signed in signed_payloads(receiver)})


# What happens in a year of a subscription.
YEAR = {
    ("SUBSCRIBED", "INITIAL_BUY"), ("DID_RENEW", None), ("DID_FAIL_TO_RENEW", "GRACE_PERIOD"),
    ("GRACE_PERIOD_EXPIRED", None), ("DID_RENEW", "BILLING_RECOVERY"), ("DID_CHANGE_RENEWAL_PREF", "UPGRADE"),
    ("DID_CHANGE_RENEWAL_PREF", "DOWNGRADE"), ("REFUND", None), ("SUBSCRIBED", "RESUBSCRIBE"),
    ("DID_CHANGE_RENEWAL_STATUS", "AUTO_RENEW_DISABLED"), ("EXPIRED", "VOLUNTARY"),
}


def test_the_notifications_of_a_year_hold_with_online_checks(api, receiver):
    """The year of test_server_api.py, as it is told. The library asks the responder, at this machine's time."""
    api.store.report("app", "grace", APP, "--days", "16")
    customer, rule, known = api.customer(), uuid.uuid4().hex, len(receiver.received)
    began = api.now
    first = api.buy(customer, MONTHLY)
    api.advance(months=1)
    api.report("payment-rule", "add", rule, "--account", customer.name)
    for days in (12, 20):
        api.advance(days=days)
    api.report("payment-rule", "remove", rule)
    api.report("subscription", "recover", customer.name)
    api.report("subscription", "change", customer.name, "--to", PREMIUM)
    api.advance(months=3, days=3)
    api.report("subscription", "change", customer.name, "--to", MONTHLY)
    api.advance(months=1)
    (item,) = api.statuses(first)
    api.report("transaction", "refund", item.transaction.transactionId, "--reason", "app", "--prorated")
    api.buy(customer, MONTHLY)
    api.advance(months=2, days=3)
    api.report("subscription", "cancel", customer.name)
    api.advance(months=2)
    api.buy(customer, PREMIUM)
    api.advance(months=2)
    assert api.now - began > 365 * DAY
    periods, verifier, notes = set(api.ids(first)), api.make_verifier(online=True), {}

    def verify(signed):
        note, transaction = verified(api, signed)
        verifier.verify_and_decode_notification(signed)
        if transaction:
            verifier.verify_and_decode_signed_transaction(note.data.signedTransactionInfo)
        if note.data and note.data.signedRenewalInfo:
            verifier.verify_and_decode_renewal_info(note.data.signedRenewalInfo)
        return note, transaction

    def told():
        """The customer's notifications in the order in which they came, once all periods are told."""
        for signed in signed_payloads(receiver)[known:]:
            if signed not in notes:
                notes[signed] = verify(signed)
        own = [(note, transaction) for note, transaction in notes.values()
               if transaction and transaction.originalTransactionId == first]
        types = {(note.rawNotificationType, note.rawSubtype) for note, _ in own}
        return own if YEAR <= types and periods <= {transaction.transactionId for _, transaction in own} else None

    dates = [note.signedDate for note, _ in wait_for(told)]
    assert dates == sorted(dates) and len(periods) >= 12


def test_the_history_has_pages(api, receiver):
    customer = api.customer()
    coins = [api.buy(customer, COINS) for _ in range(21)]
    now = api.now
    request = NotificationHistoryRequest(now - DAY, now + DAY, transactionId=coins[0])

    def first_page():
        page = api.client.get_notification_history(None, request)
        return page if page.hasMore else None

    first = wait_for(first_page)
    second = api.client.get_notification_history(first.paginationToken, request)
    assert (len(second.notificationHistory), second.hasMore, second.paginationToken) == (1, False, None)
    # A token is good for its query.
    longer = NotificationHistoryRequest(now - 2 * DAY, now + DAY, transactionId=coins[0])
    for asked, wrong in ((longer, first.paginationToken), *((request, one) for one in altered(first.paginationToken))):
        with refused(APIError.INVALID_PAGINATION_TOKEN):
            api.client.get_notification_history(wrong, asked)
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
    customer, known = api.customer(), len(receiver.received)
    reasons = {}
    for reason in apple.VALUES["consumptionRequestReason"]:
        coins = api.buy(customer, COINS)
        reasons[coins] = reason
        api.report("refund-request", "make", coins, "--reason", reason.lower().replace("_", "-"))

    def asked():
        notes = [verified(api, signed) for signed in signed_payloads(receiver)[known:]]
        found = {bought.transactionId: note.data for note, bought in notes
                 if note.notificationType == NotificationTypeV2.CONSUMPTION_REQUEST}
        return found if len(found) >= len(reasons) else None

    found = wait_for(asked)
    assert {coins: data.rawConsumptionRequestReason for coins, data in found.items()} == reasons
    assert {data.status for data in found.values()} == {None}


def test_the_version_of_the_app_is_told(api, receiver):
    customer, known = api.customer(), len(receiver.received)
    bought = {}
    # The device asks for a receipt after the first purchase.
    for version in (None, "1.2"):
        bought[api.buy(customer, COINS)] = version
        customer.receipt(APP, "1.2")

    def told():
        notes = [verified(api, signed) for signed in signed_payloads(receiver)[known:]]
        found = {transaction.transactionId: note.data.bundleVersion for note, transaction in notes
                 if transaction and transaction.transactionId in bought}
        return found if len(found) == len(bought) else None

    assert wait_for(told) == bought


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


# What a server does with a notification, by the result of the attempt: the bytes that it answers.
HEAD = "HTTP/1.1 200 OK\r\n"
ANSWERS = {
    "SUCCESS": HEAD + "Content-Length: 0\r\n\r\n",
    "UNSUCCESSFUL_HTTP_RESPONSE_CODE": "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n",
    "NO_RESPONSE": "",
    "PREMATURE_CLOSE": HEAD + "Content-Length: 100\r\n\r\nhello",
    "INVALID_RESPONSE": "hello, this is no HTTP\r\n\r\n",
    "UNSUPPORTED_CHARSET": HEAD + "Content-Type: text/html; charset=klingon\r\nContent-Length: 2\r\n\r\nok",
    "CIRCULAR_REDIRECT": "HTTP/1.1 307 Elsewhere\r\nLocation: /\r\nContent-Length: 0\r\n\r\n",
    "OTHER": "HTTP/1.1 307 Elsewhere\r\nLocation: https://example.com/\r\nContent-Length: 0\r\n\r\n",
}


@pytest.mark.one_database
def test_an_attempt_has_apples_word(store, key, tmp_path):
    """In the sandbox, which sends once. The app has no other notifications."""
    api = AppServer(store, key, "sandbox")
    client = api.connect(make_key(store, THIRD_APP), app=THIRD_APP)

    def ask(url):
        """Has a test notification sent to an address. Returns its token."""
        store.run("notification", "url", "set", "--app", THIRD_APP, url)
        return client.request_test_notification().testNotificationToken

    def assert_result(token, word):
        assert [one.value for one in attempts(client, token)[1]] == [word]
        conformance.note_value("sendAttemptResult", word)

    certificate = receivers.make_certificate(tmp_path)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(certificate)
    seen = set()
    with contextlib.closing(receivers.RawReceiver(None)) as silent:
        # It takes the longest, so it begins.
        waits = ask(f"http://127.0.0.1:{silent.port}/")
        wait_for(lambda: silent.received)
        for word, answer in ANSWERS.items():
            with contextlib.closing(receivers.RawReceiver(answer.encode())) as receiver:
                assert_result(ask(f"http://127.0.0.1:{receiver.port}/"), word)
                assert len(receiver.received) == 1
            seen.add(word)
        # Nobody listens there, and nobody else can.
        with contextlib.closing(stores.hold(0)) as held:
            assert_result(ask(f"http://127.0.0.1:{held.getsockname()[1]}/"), "SOCKET_ISSUE")
        # A certificate that the machine does not trust. Nothing is sent.
        with contextlib.closing(receivers.RawReceiver(b"", tls)) as receiver:
            assert_result(ask(f"https://127.0.0.1:{receiver.port}/"), "TLS_ISSUE")
            assert receiver.received == []
        assert_result(waits, "TIMED_OUT")
    assert seen | {"SOCKET_ISSUE", "TLS_ISSUE", "TIMED_OUT"} == set(apple.VALUES["sendAttemptResult"])


# The library knows neither the members of the other samples nor the object of UNCLAIM_SEATS.
@pytest.mark.one_database
@pytest.mark.parametrize("kind, part", [
    ("EXTERNAL_PURCHASE_TOKEN/UNREPORTED", "externalPurchaseToken"), ("RESCIND_CONSENT", "appData"),
    ("METADATA_UPDATE", "data"), ("PRICE_CHANGE", "data")])
def test_samples_have_apples_form(api, receiver, kind, part):
    api.buy(api.customer(), MONTHLY)
    wait_for_results(api)
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


# What the samples have that the library does not know.
@pytest.mark.one_database
@pytest.mark.parametrize("kind, members", [
    ("EXTERNAL_PURCHASE_TOKEN/CREATED", {"tokenType", "tokenExpirationDate"}),
    ("EXTERNAL_PURCHASE_TOKEN/ACTIVE_TOKEN_REMINDER", {"tokenType", "tokenExpirationDate"}),
    ("MIGRATION", {"previousOriginalTransactionId"}),
    ("REFUND/SEATS", {"invitationManagement", "multiSeatInfo", "revokedSeatQuantity", "renewalQuantity"}),
    ("DID_CHANGE_RENEWAL_PREF/INCREASE_QUANTITY", {"invitationManagement", "renewalQuantity"}),
    ("DID_CHANGE_RENEWAL_PREF/DECREASE_QUANTITY", {"invitationManagement", "renewalQuantity"}),
    ("UNCLAIM_SEATS", {"unclaimInfo", "unclaimSeatIds"})])
def test_samples_have_newer_members(api, receiver, kind, members):
    wait_for_results(api)
    known = len(receiver.received)
    sent = api.report("notification", "sample", "--app", APP, kind)
    wait_for(lambda: len(receiver.received) > known)
    (signed,) = signed_payloads(receiver)[known:]
    payload = payload_of(signed)
    assert "/".join(filter(None, (payload["notificationType"], payload.get("subtype")))) == kind
    assert sent["isSample"] and payload["notificationUUID"] == sent["notificationUUID"]
    found = {"ResponseBodyV2DecodedPayload": payload}
    if "unclaimInfo" in payload:
        # The library finds the signature good, and no app that it knows.
        with pytest.raises(VerificationException) as caught:
            api.verifier.verify_and_decode_notification(signed)
        assert caught.value.status == VerificationStatus.INVALID_APP_IDENTIFIER
        found["UnclaimInfo"] = payload["unclaimInfo"]
    else:
        api.verifier.verify_and_decode_notification(signed)
    if "externalPurchaseToken" in payload:
        found["ExternalPurchaseToken"] = payload["externalPurchaseToken"]
    if "data" in payload:
        bought, renewal = payload["data"]["signedTransactionInfo"], payload["data"]["signedRenewalInfo"]
        api.verifier.verify_and_decode_signed_transaction(bought)
        api.verifier.verify_and_decode_renewal_info(renewal)
        found |= {"Data": payload["data"], "JWSTransactionDecodedPayload": payload_of(bought),
                  "JWSRenewalInfoDecodedPayload": payload_of(renewal)}
        if seats := payload_of(bought).get("multiSeatInfo"):
            found["MultiSeatInfo"] = seats
    for model, content in found.items():
        conformance.note_members(model, content)
    assert members <= set().union(*found.values())
