"""Servers of somebody else that receive notifications badly, and a certificate for one."""

import datetime
import ipaddress
import re
import socketserver
import threading

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


class RawReceiver:
    """A server of somebody else on this machine that answers each request with the same bytes, or never."""

    def __init__(self, answer, tls=None):
        """`answer` are the bytes after which it ends the connection; None for a server that waits until it is closed.
        `tls` is a context for TLS."""
        self.received = []
        self._end = threading.Event()
        receiver = self

        class Handler(socketserver.StreamRequestHandler):
            def handle(self):
                head = b""
                while line := self.rfile.readline(1 << 16).rstrip(b"\r\n"):
                    head += line.lower() + b"\n"
                length = re.search(rb"^content-length: *(\d+)$", head, re.M)
                receiver.received.append((head, self.rfile.read(int(length[1]) if length else 0)))
                if answer is None:
                    receiver._end.wait(60)
                else:
                    self.wfile.write(answer)

        class Server(socketserver.ThreadingTCPServer):
            daemon_threads = True

            def get_request(self):
                connection, address = super().get_request()
                try:
                    return (tls.wrap_socket(connection, server_side=True) if tls else connection), address
                except OSError:
                    connection.close()
                    raise

            def handle_error(self, *_):
                pass

        self._server = Server(("127.0.0.1", 0), Handler)
        self.port = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self):
        """Stops the server."""
        self._end.set()
        self._server.shutdown()
        self._server.server_close()


def make_certificate(folder):
    """Makes a certificate for this machine that nobody trusts, and its key. Returns the file with both, in PEM."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.datetime.now(datetime.timezone.utc)
    day = datetime.timedelta(days=1)
    certificate = (
        x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
        .serial_number(x509.random_serial_number()).not_valid_before(now - day).not_valid_after(now + day)
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), False)
        .sign(key, hashes.SHA256()))
    path = folder / "certificate.pem"
    path.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        + certificate.public_bytes(serialization.Encoding.PEM))
    return path
