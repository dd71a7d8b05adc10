"""A real mail server on loopback, with its own certificate authority."""

from __future__ import annotations

import datetime as dt
import socket
import ssl
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP, AuthResult, LoginPassword
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

USER, PASSWORD = "memo", "correct-horse-battery"


@dataclass
class Inbox:
    """What the server took."""

    contents: list[bytes] = field(default_factory=list)
    recipients: list[list[str]] = field(default_factory=list)
    encrypted: list[bool] = field(default_factory=list)
    refuse: frozenset[str] = frozenset()
    answer: str = "250 kept"
    first_answers: list[str] = field(default_factory=list)

    async def handle_RCPT(self, server: SMTP, session: Any, envelope: Any, address: str, options: Any) -> str:  # noqa: N802
        if address in self.refuse:
            return "550 no such mailbox here"
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server: SMTP, session: Any, envelope: Any) -> str:  # noqa: N802
        if self.first_answers:
            return self.first_answers.pop(0)
        if self.answer.startswith("2"):
            self.contents.append(envelope.content)
            self.recipients.append(list(envelope.rcpt_tos))
            self.encrypted.append(server.transport.get_extra_info("sslcontext") is not None)
        return self.answer


@dataclass(frozen=True, kw_only=True)
class Server:
    """A running server."""

    port: int
    inbox: Inbox
    ca_file: str


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A certificate for localhost that signs itself, and its key."""
    folder = tmp_path_factory.mktemp("tls")
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = dt.datetime.now(dt.UTC)
    built = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(hours=1))
        .not_valid_after(now + dt.timedelta(hours=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    public, private = folder / "cert.pem", folder / "key.pem"
    public.write_bytes(built.public_bytes(serialization.Encoding.PEM))
    private.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    return public, private


def _authenticate(server: SMTP, session: Any, envelope: Any, mechanism: str, data: Any) -> AuthResult:
    good = isinstance(data, LoginPassword) and (data.login, data.password) == (USER.encode(), PASSWORD.encode())
    return AuthResult(success=good, handled=False)


@pytest.fixture
def serve(certificate: tuple[Path, Path]) -> Iterator[Callable[..., Server]]:
    """Start servers that end with the test: `serve(security="starttls", login=True)`."""
    public, private = certificate
    with ExitStack() as stack:

        def start(*, security: str = "none", login: bool = False) -> Server:
            context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
            context.load_cert_chain(public, private)
            inbox = Inbox()
            with socket.socket() as probe:
                probe.bind(("127.0.0.1", 0))
                port = probe.getsockname()[1]
            options: dict[str, Any] = {"hostname": "127.0.0.1", "port": port}
            if security == "starttls":
                options |= {"tls_context": context, "require_starttls": True}
            if security == "tls":
                options |= {"ssl_context": context}
            if login:
                plain = {"auth_require_tls": False} if security != "starttls" else {}
                options |= {"authenticator": _authenticate, "auth_required": True, **plain}
            controller = Controller(inbox, **options)
            controller.start()
            stack.callback(controller.stop)
            return Server(port=port, inbox=inbox, ca_file=str(public))

        yield start
