"""The walk of Documentation/Notifications.md, command by command, as it stands there."""

import json
import os
import pathlib
import re
import subprocess

import store as stores
from server_api import wait_for

PAGE = stores.ROOT / "Documentation/Notifications.md"
HEADING = "\n## A walk to the merchant's books\n"
MAGAZINE = stores.ROOT / "Examples/Magazine"
APP = "com.example.magazine"


def blocks():
    """The walk's blocks of commands."""
    walk = PAGE.read_text(encoding="utf-8").split(HEADING, 1)[1].split("\n## ", 1)[0]
    return re.findall(r"^```sh\n(.*?)^```$", walk, re.M | re.S)


def books(store):
    """The user's stories, the state and the end of the entitlement, and the number of entries in the ledger."""
    report = store.report("merchant", "user", "ann")
    stories = [one["amount"] for one in report["balances"]
               if (one["currency"], one["environment"]) == ("stories", "Sandbox")]
    rights = [(one["state"], one["expiresAt"]) for one in report["entitlements"] if one["entitlement"] == "magazine"]
    return stories, rights, sum(len(page["entries"]) for page in report["history"])


def arrived(store, stories, state):
    """Waits until the books have a number of stories and a state of the entitlement. Returns the books."""
    def look():
        found = books(store)
        return found if (found[0], [right[0] for right in found[1]]) == ([stories], [state]) else None

    return wait_for(look)


def offered(store, token):
    """What the merchant's server offers to apps."""
    return json.dumps(stores.request(
        "GET", f"{store.addresses['merchant']}/v1/products?bundle={APP}", token=token))


def test_notifications_change_the_merchants_books(tmp_path):
    serve, prepare, buy, renew, refund, install, verify = blocks()
    assert serve == "make serve\n"
    assert install == "python3 -m venv .venv && .venv/bin/pip install app-store-server-library\n"
    with stores.running(more=[MAGAZINE / "Magazine.yaml"], usual=True,
                        options=["--merchant-products", str(MAGAZINE / "Merchant.yaml")]) as store:
        (tmp_path / "cornerstore").symlink_to(pathlib.Path(store.program).resolve())
        environment = os.environ | {"PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"}
        environment.pop("CORNERSTORE_DATA", None)

        def walk(commands):
            """Runs commands as a person would beside the store, whose ports are others here."""
            for usual, name in (("http://127.0.0.1:8401", "sandbox"), ("http://127.0.0.1:8410", "merchant")):
                commands = commands.replace(usual, store.addresses[name].rstrip("/"))
            done = subprocess.run(
                ["bash", "-euo", "pipefail", "-c", commands], cwd=store.data.parent, env=environment,
                stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False)
            assert done.returncode == 0, f"{commands}\n{done.stdout}\n{done.stderr}"
            return done.stdout

        assert "ann has no purchases" in walk(prepare)
        assert books(store) == ([], [], 0)
        # The server reads changed products within a second.
        token = store.run("merchant", "token", "--user", "ann").strip()
        wait_for(lambda: "stories" in offered(store, token))

        walk(buy)
        _, ((_, first_end),), entries = arrived(store, 10, "active")
        assert entries == 1
        walk(renew)
        _, ((_, second_end),), entries = arrived(store, 20, "active")
        assert (second_end > first_end, entries) == (True, 2)
        walk(refund)
        _, _, entries = arrived(store, 10, "revoked")
        assert entries == 3
        assert store.report("merchant", "check")["findings"] == []

        wait_for(lambda: not store.report("notification", "list", "--app", APP, "--state", "waiting"))
        # These tests have a virtual environment of their own, with the library.
        told = [line.split() for line in walk(verify.replace(".venv/bin/python3", "python3")).splitlines()]
        first, second = (transaction for _, _, transaction, _ in told[:2])
        assert first < second
        assert [" ".join(words) for words in told] == [
            f"SUBSCRIBED INITIAL_BUY {first} SUCCESS", f"DID_RENEW - {second} SUCCESS",
            f"REFUND - {second} SUCCESS", f"DID_CHANGE_RENEWAL_STATUS AUTO_RENEW_DISABLED {second} SUCCESS"]
