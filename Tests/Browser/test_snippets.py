"""The programs that the console shows for other languages do what they say, in each language that is installed."""

import base64
import contextlib
import hmac
import html
import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.request

import pytest
import store as stores
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature

DER = serialization.Encoding.DER
MAGAZINE = stores.ROOT / "Examples/Magazine/Magazine.yaml"
# The program that runs or builds a language's file, and the file's name.
LANGUAGES = {
    "curl": (["bash"], "verify.sh"), "Python": (["python3"], "verify.py"), "Node": (["node"], "verify.js"),
    "Swift": (["swiftc", "-o", "verify"], "main.swift"), "Go": (["go", "build", "-o", "verify"], "verify.go"),
    "PHP": (["php"], "verify.php"), "Ruby": (["ruby"], "verify.rb"), "Java": (["java"], "Verify.java"),
}
# Those that are built.
BUILT = {"Swift", "Go"}
# What two languages build with their first program, and keep: C's modules below Foundation, and Go's library. Beside
# other tests, all of it and the program may take more than a minute.
PARTS = {
    "Swift": ("Swift", ["swiftc", "-typecheck", "main.swift"]), "Go": ("Go", ["go", "build", "fmt"]),
    "Go with TLS": ("Go", ["go", "build", "crypto/tls"]), "Go with HTTP": ("Go", ["go", "build", "net/http"]),
}
# Seconds that a command may take.
LIMIT = 60


def shown(store, path):
    """A page of the console."""
    # Browsers know the console's name; not every resolver does.
    console = store.console.replace("cornerstore.localhost", "127.0.0.1")
    with urllib.request.urlopen(f"{console}/sandbox/{path}", timeout=60) as answer:
        return answer.read().decode()


def codes(page):
    """The lines that a page or a part of it shows for copying, by their labels."""
    found = re.findall(r'<span class="dim">([^<]*)</span><pre><code>(.*?)</code>', page, re.S)
    return {html.unescape(label): html.unescape(code) for label, code in found}


def snippets(store, section, app="com.example.monkeys"):
    """The programs of a section of the page, by their labels."""
    page = shown(store, f"snippets?app={app}")
    return codes(re.search(f'<section id="{section}"(.*?)</section>', page, re.S).group(1))


def run(command, folder, **environment):
    """Runs a program in a folder and returns what it printed."""
    done = subprocess.run(
        command, cwd=folder, env=os.environ | environment, stdin=subprocess.DEVNULL, capture_output=True, text=True,
        timeout=LIMIT, check=False)
    assert done.returncode == 0, f"{command}: {done.stderr}\n{done.stdout}"
    return done.stdout.strip()


def prepared(language, folder):
    """The command that runs a language's program in a folder. A language that is built is built now."""
    command, name = LANGUAGES[language]
    if language not in BUILT:
        return [*command, name]
    run([*command, name], folder)
    return [str(folder / "verify")]


@pytest.fixture(scope="module")
def store():
    """A store that also sells subscriptions."""
    with stores.running(more=[MAGAZINE]) as running:
        yield running


@pytest.fixture(scope="module")
def folder(store, tmp_path_factory):
    """A folder with the files `credits` and `subscription`: receipts of purchases at the store."""
    made = tmp_path_factory.mktemp("snippets")
    run([store.program, "buy", "com.example.monkeys.credits5", "--app", "com.example.monkeys", "--receipt-out",
         str(made / "credits"), "--data", store.data], made)
    customer = store.customer()
    customer.subscribe("com.example.magazine", "com.example.magazine.premium")
    (made / "subscription").write_bytes(customer.receipt("com.example.magazine", "1.0"))
    return made


@pytest.fixture(scope="module")
def path(store, folder):
    """A `PATH` with the command `cornerstore`."""
    bin = folder / "bin"
    bin.mkdir()
    (bin / "cornerstore").symlink_to(pathlib.Path(store.program).resolve())
    return f"{bin}{os.pathsep}{os.environ['PATH']}"


@pytest.fixture(scope="module")
def secret(store, folder, path):
    """The shared secret of the app with the subscription, as the page's command finds it."""
    command = snippets(store, "verify", "com.example.magazine")["The app's shared secret"]
    return run(["bash", "-c", f'{command}; printf %s "$CORNERSTORE_SHARED_SECRET"'], folder, PATH=path)


def test_every_language_has_its_program(store):
    assert set(snippets(store, "verify")) == set(LANGUAGES) | {"The app's shared secret"}


def test_a_subscription_is_not_verified_without_the_secret(store, folder):
    receipt = base64.b64encode((folder / "subscription").read_bytes()).decode()
    url = store.addresses["sandbox"] + "/verifyReceipt"
    assert stores.request("POST", url, {"receipt-data": receipt})["status"] == 21004


@pytest.mark.parametrize("part", PARTS)
def test_a_part_is_built_before_the_program(store, tmp_path, part):
    language, command = PARTS[part]
    if not shutil.which(command[0]):
        pytest.skip(f"{language} is not installed")
    (tmp_path / LANGUAGES[language][1]).write_text(snippets(store, "verify")[language] + "\n", encoding="utf-8")
    run(command, tmp_path)


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_store_takes_the_receipts(store, folder, secret, language):
    command, name = LANGUAGES[language]
    if not shutil.which(command[0]):
        pytest.skip(f"{language} is not installed")
    place = folder / language
    place.mkdir()
    (place / name).write_text(snippets(store, "verify")[language] + "\n", encoding="utf-8")
    command = prepared(language, place)
    for receipt, environment in [("credits", {}), ("subscription", {"CORNERSTORE_SHARED_SECRET": secret})]:
        shutil.copy(folder / receipt, place / "receipt")
        output = json.loads(run(command, place, **environment))
        assert (output if isinstance(output, int) else output["status"]) == 0, receipt


def signer(store):
    """Signs payloads as the sandbox does, with the keys and certificates of its authority."""
    place = pathlib.Path(store.data) / "authority"
    files = [(place / f"jws-{name}.pem").read_bytes() for name in ("sandbox", "intermediate", "root")]
    keys = [serialization.load_pem_private_key(file, None) for file in files]
    chain = [x509.load_pem_x509_certificate(file) for file in files]

    def encoded(data):
        return base64.urlsafe_b64encode(data).rstrip(b"=").decode()

    def sign(payload, leaf=chain[0], key=keys[0], algorithm="ES256"):
        x5c = [base64.b64encode(one.public_bytes(DER)).decode() for one in (leaf, *chain[1:])]
        content = ".".join(encoded(json.dumps(one).encode()) for one in ({"alg": algorithm, "x5c": x5c}, payload))
        numbers = decode_dss_signature(key.sign(content.encode(), ec.ECDSA(hashes.SHA256())))
        return content + "." + encoded(b"".join(number.to_bytes(32, "big") for number in numbers))

    return sign, keys[1], chain


def unmarked(key, chain):
    """The certificate of the sandbox's signer without Apple's marker."""
    leaf = chain[0]
    return x509.CertificateBuilder(
        leaf.issuer, leaf.subject, leaf.public_key(), leaf.serial_number, leaf.not_valid_before_utc,
        leaf.not_valid_after_utc).sign(key, hashes.SHA384())


def impostor(root):
    """A root certificate with the store's names and another key."""
    return x509.CertificateBuilder(
        root.subject, root.subject, ec.generate_private_key(ec.SECP384R1()).public_key(), 1, root.not_valid_before_utc,
        root.not_valid_after_utc).sign(ec.generate_private_key(ec.SECP384R1()), hashes.SHA384())


def payloads(store):
    """A payload of the store's, and payloads that are not, by what is wrong with them."""
    sign, key, chain = signer(store)
    payload = {
        "transactionId": "2000000000000001", "bundleId": "com.example.monkeys", "environment": "Sandbox",
        "productId": "com.example.monkeys.credits5", "signedDate": int(time.time() * 1000)}
    good = sign(payload)
    head, body, signature = good.split(".")
    other = sign(payload | {"quantity": 2}).split(".")[1]
    return good, {
        "altered": f"{head}.{other}.{signature}", "cut": good[:-2], "no signature": f"{head}.{body}.",
        "another key": sign(payload, key=ec.generate_private_key(ec.SECP256R1())),
        "no marker": sign(payload, leaf=unmarked(key, chain)),
        "before its certificates": sign(payload | {"signedDate": 900_000_000_000}),
        "another algorithm": sign(payload, algorithm="none")}


def refuses(command, folder, wrong):
    """Asserts that the program prints no payload."""
    done = subprocess.run(command, cwd=folder, capture_output=True, timeout=LIMIT, check=False)
    assert done.returncode != 0 and b"2000000000000001" not in done.stdout, f"{wrong}: {done.stdout}"


def test_a_payload_is_checked_in_every_language(store):
    assert set(snippets(store, "check")) == set(LANGUAGES) - {"curl"} | {"Command"}


# A test in Swift runs the one for Swift.
@pytest.mark.parametrize("language", [language for language in LANGUAGES if language not in ("curl", "Swift")])
def test_only_the_stores_payloads_are_taken(store, tmp_path, language):
    command, name = LANGUAGES[language]
    if not shutil.which(command[0]):
        pytest.skip(f"{language} is not installed")
    (tmp_path / name).write_text(snippets(store, "check")[language] + "\n", encoding="utf-8")
    shutil.copy(pathlib.Path(store.data) / "roots" / "jws-root.der", tmp_path)
    good, others = payloads(store)
    (tmp_path / "payload").write_text(good + "\n", encoding="ascii")
    command = prepared(language, tmp_path)
    assert "2000000000000001" in run(command, tmp_path)
    for wrong, payload in others.items():
        (tmp_path / "payload").write_text(payload + "\n", encoding="ascii")
        refuses(command, tmp_path, wrong)
    (tmp_path / "payload").write_text(good, encoding="ascii")
    (tmp_path / "jws-root.der").write_bytes(impostor(signer(store)[2][2]).public_bytes(DER))
    refuses(command, tmp_path, "another root")


def test_the_merchant_answers(store, folder, path):
    programs = snippets(store, "merchant")
    # All pages with the merchant's data show such a command.
    programs["Admin API"] = codes(shown(store, "merchant/users/ann"))["Admin API"]
    key = run(["bash", "-c", programs.pop("Make an API key")], folder, CORNERSTORE_DATA=store.data, PATH=path)
    for label, program in programs.items():
        command = ["python3", "-c", program] if label == "Python" else ["bash", "-c", program]
        assert "userId" in run(command, folder, KEY=key), label


@pytest.mark.parametrize("language, command, name", [
    ("Python", ["python3"], "receiver.py"), ("Node", ["node"], "receiver.js"), ("Java", ["java"], "Receiver.java")])
def test_a_webhook_is_taken_when_its_signature_is_right(store, tmp_path, language, command, name):
    if not shutil.which(command[0]):
        pytest.skip(f"{language} is not installed")
    held = stores.hold(0)
    port = held.getsockname()[1]
    (tmp_path / name).write_text(snippets(store, "webhook")[language].replace("9000", str(port)), encoding="utf-8")
    key, body = os.urandom(32), b'{"id":"e1","type":"webhook.test"}'
    environment = os.environ | {"CORNERSTORE_WEBHOOK_SECRET": "whsec_" + base64.b64encode(key).decode()}
    program = subprocess.Popen([*command, name], cwd=tmp_path, env=environment, stdout=subprocess.PIPE)

    def send(key, sent, without=None):
        code = hmac.digest(key, f"e1.{sent}.".encode() + body, "sha256")
        signature = "v1,AAAA v1," + base64.b64encode(code).decode()
        headers = {"webhook-id": "e1", "webhook-timestamp": str(sent), "webhook-signature": signature}
        headers.pop(without, None)
        request = urllib.request.Request(f"http://127.0.0.1:{port}/", body, headers)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return answer.status
        except urllib.error.HTTPError as error:
            return error.code

    try:
        until_open(port, program)
        now = int(time.time())
        # A request whose body does not arrive holds up no other.
        with socket.create_connection(("127.0.0.1", port), timeout=60) as stalled:
            stalled.sendall(b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n")
            assert send(os.urandom(32), now) == 401
            assert send(key, now - 3600) == 401
            assert send(key, "now") == 401
            for header in ("webhook-id", "webhook-timestamp", "webhook-signature"):
                assert send(key, now, without=header) == 401, header
            assert send(key, now) == 204
        assert program.stdout.readline() == b"e1 " + body + b"\n"
    finally:
        program.kill()
        program.communicate()
        held.close()


def test_a_test_event_arrives(store, tmp_path, path):
    programs = snippets(store, "webhook")
    secret, serve, test = (programs[label] for label in programs if label[0] in "123")
    secret = run(["bash", "-c", f'{secret}; printf %s "$CORNERSTORE_WEBHOOK_SECRET"'], tmp_path, PATH=path)
    with contextlib.closing(stores.Receiver(status=204)) as receiver:
        there = "http://127.0.0.1:9000/"
        # The test's store has catalog files of its own.
        assert serve == f"CORNERSTORE_DATA={store.data} cornerstore serve App.storekit --webhook {there}"
        here = there.replace("9000", str(receiver.port))
        with stores.running(options=["--webhook", here], environment={"CORNERSTORE_WEBHOOK_SECRET": secret}) as other:
            test = test.replace(there, here).replace(str(store.data), str(other.data))
            run(["bash", "-c", test], tmp_path, PATH=path)
            until = time.monotonic() + 60
            while not receiver.received and time.monotonic() < until:
                time.sleep(0.05)
        headers, body = receiver.received[0]
        assert json.loads(body)["type"] == "webhook.test"
        code = hmac.digest(
            base64.b64decode(secret.removeprefix("whsec_")),
            f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body, "sha256")
        assert headers["webhook-signature"] == "v1," + base64.b64encode(code).decode()


def until_open(port, program):
    """Waits until the program takes connections."""
    end = time.monotonic() + 60
    while program.poll() is None and time.monotonic() < end:
        with contextlib.suppress(ConnectionRefusedError), socket.create_connection(("127.0.0.1", port), timeout=60):
            return
        time.sleep(0.05)
    raise AssertionError(f"the program takes no connections; its status is {program.returncode}")
