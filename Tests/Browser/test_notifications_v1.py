"""App Store Server Notifications of version 1, received over HTTP."""

import collections
import contextlib
import json

import apple
import conformance
import pytest
import store as stores
from server_api import APP, AUDIO, CATALOG, COINS, MONTHLY, PREMIUM, AppServer, make_key, wait_for

# The members that all have. Those of subscriptions come with these.
ALWAYS = {
    "notification_type", "password", "environment", "bid", "bvrs", "original_transaction_id", "unified_receipt"}
SUBSCRIPTION = {"auto_renew_product_id", "auto_renew_adam_id", "auto_renew_status"}
RECEIPT = {"status", "environment", "latest_receipt", "latest_receipt_info"}


def dates(name):
    """The members of a date."""
    return {name, name + "_ms", name + "_pst"}


@pytest.fixture(scope="module", params=stores.DATABASES)
def store(request):
    """A store with the app, and without a merchant."""
    with stores.running(more=[CATALOG], options=["--no-merchant"], database=request.param) as running:
        yield running


@pytest.fixture(scope="module")
def key(store):
    """A key of the app."""
    return make_key(store)


@contextlib.contextmanager
def receiving(api):
    """What receives the notifications of an environment in version 1."""
    with contextlib.closing(stores.Receiver()) as listening:
        api.store.run("notification", "url", "set", "--app", APP, "--environment", api.environment, "--v1",
                      f"http://127.0.0.1:{listening.port}/notifications")
        yield listening


def received(receiver, environment):
    """What was received, by types. Each has Apple's members."""
    found = collections.defaultdict(list)
    for headers, body in list(receiver.received):
        assert headers["content-type"].split(";")[0] == "application/json"
        content = json.loads(body)
        conformance.note_version_1(content)
        assert set(content) <= set(apple.MEMBERS_1)
        assert ALWAYS <= set(content) and (content["bid"], content["environment"]) == (APP, environment)
        assert content["password"] and isinstance(content["original_transaction_id"], int)
        receipt = content["unified_receipt"]
        assert RECEIPT <= set(receipt) and receipt["status"] == 0 and receipt["latest_receipt_info"]
        if SUBSCRIPTION & set(content):
            assert SUBSCRIPTION <= set(content) and content["auto_renew_status"] in ("true", "false")
        found[content["notification_type"]].append(content)
    return found


def test_each_type_of_version_1_arrives(store, key):
    """In the sandbox, where a payment fails by a command."""
    api = AppServer(store, key, "sandbox")
    with receiving(api) as receiver:
        customer = api.customer()
        first = api.buy(customer, PREMIUM)
        api.report("subscription", "change", customer.name, "--to", MONTHLY)
        api.advance(days=32)
        api.report("subscription", "change", customer.name, "--to", PREMIUM)
        api.report("subscription", "fail", customer.name)
        api.report("subscription", "recover", customer.name)
        api.report("price-increase", "add", PREMIUM, "19.99", "--account", customer.name)
        (item,) = api.statuses(first)
        api.refund(item.transaction.transactionId)
        coins = api.buy(api.customer(), COINS)
        api.report("refund-request", "make", coins)
        api.refund(coins)
        anna, ben = api.customer(), api.customer()
        api.buy(anna, AUDIO)
        api.report("family", "create", anna.name)
        api.report("family", "add", anna.name, ben.name)
        api.report("family", "share", anna.name, "off")
        # Apple sends RENEWAL no longer.
        wanted = set(apple.NOTIFICATIONS_1) - {"RENEWAL"}

        def look():
            found = received(receiver, "Sandbox")
            return found if set(found) >= wanted else None

        found = wait_for(look)
    assert set(found) == wanted
    # Notifications of two subscriptions have no order.
    (bought,) = [one for one in found["INITIAL_BUY"] if one["original_transaction_id"] == int(first)]
    assert bought["auto_renew_product_id"] == PREMIUM
    assert found["DID_CHANGE_RENEWAL_PREF"][0]["auto_renew_product_id"] == MONTHLY
    assert all(dates("auto_renew_status_change_date") <= set(one) for one in found["DID_CHANGE_RENEWAL_STATUS"])
    assert found["DID_FAIL_TO_RENEW"][0]["expiration_intent"] == 2
    assert {"web_order_line_item_id"} | dates("cancellation_date") <= set(found["CANCEL"][0])
    assert "auto_renew_status" not in found["REFUND"][0]
    assert "pending_renewal_info" in bought["unified_receipt"]


def test_production_is_called_prod(store, key):
    api = AppServer(store, key, "production")
    with receiving(api) as receiver:
        first = api.buy(api.customer(), MONTHLY)
        (note,) = wait_for(lambda: received(receiver, "PROD").get("INITIAL_BUY"))
    assert note["original_transaction_id"] == int(first)
    assert note["unified_receipt"]["environment"] == "Production"
