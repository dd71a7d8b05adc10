"""A team's server behind TLS and behind a proxy: trusted with its authority, refused with words that help without."""

from __future__ import annotations

import datetime as dt
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from tests.fixtures_mlflow import free_port
from tests.store.conftest import MakeRun
from tests.store.connect_proxy import ConnectProxy, proxying
from tests.store.gateway import Gateway, running
from tracker.store.base import Query
from tracker.store.failures import StoreDownError
from tracker.store.mlflow_open import open_store
from tracker.store.mlflow_store import MlflowStore
from tracker.store.spool import Spool
from tracker.store.sync import log, sync

SETTINGS = ("MLFLOW_TRACKING_SERVER_CERT_PATH", "MLFLOW_TRACKING_INSECURE_TLS", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE",
            "SSL_CERT_FILE", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY")  # fmt: skip


@dataclass(frozen=True)
class Authority:
    """A certificate authority that nobody knows."""

    certificate: Path
    key: ec.EllipticCurvePrivateKey
    name: x509.Name

    def sign(self, folder: Path, host: str) -> tuple[Path, Path]:
        """Return a certificate for a host name, and its key."""
        key = ec.generate_private_key(ec.SECP256R1())
        built = _certificate(host, key, issuer=self.name, signer=self.key, is_authority=False)
        return _written(folder, host, built, key)


def _certificate(
    host: str, key: ec.EllipticCurvePrivateKey, *, issuer: x509.Name, signer: ec.EllipticCurvePrivateKey,
    is_authority: bool,
) -> x509.Certificate:  # fmt: skip
    now = dt.datetime.now(dt.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, host)]))
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(hours=1))
        .not_valid_after(now + dt.timedelta(hours=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(host)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=is_authority, path_length=None), critical=True)
        .sign(signer, hashes.SHA256())
    )


def _written(
    folder: Path, name: str, certificate: x509.Certificate, key: ec.EllipticCurvePrivateKey
) -> tuple[Path, Path]:
    public, private = folder / f"{name}.pem", folder / f"{name}.key"
    public.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    private.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    return public, private


def authority(folder: Path, called: str) -> Authority:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, called)])
    built = _certificate(called, key, issuer=name, signer=key, is_authority=True)
    return Authority(_written(folder, called, built, key)[0], key, name)


@pytest.fixture(autouse=True)
def no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in SETTINGS:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


@pytest.fixture
def ours(tmp_path: Path) -> Authority:
    return authority(tmp_path, "our-authority")


@pytest.fixture
def gateway(mlflow_server: str, ours: Authority, tmp_path: Path) -> Iterator[Gateway]:
    """`mlflow server` behind something that ends TLS, with a certificate that our authority signed."""
    with running(Gateway(upstream=mlflow_server, certificate=ours.sign(tmp_path, "localhost"))) as found:
        yield found


@pytest.fixture
def proxy() -> Iterator[ConnectProxy]:
    with proxying() as found:
        yield found


def store_at(url: str, tmp_path: Path) -> MlflowStore:
    return open_store(url, environ={}, cache_dir=tmp_path / "cache")


def assert_stored(gateway: Gateway, make_run: MakeRun, tmp_path: Path) -> None:
    """Log through the gateway, artifacts included, and read back."""
    store, run = store_at(gateway.url, tmp_path), make_run()
    logged = log(run, store, Spool(tmp_path / "spool"))
    assert logged.error is None
    stored = store.load(str(logged.run_id))
    assert stored.record == run.record
    assert store.requests(stored.run_id) == run.requests


def assert_waits(error: object, store: MlflowStore, spool: Spool) -> StoreDownError:
    assert isinstance(error, StoreDownError)
    assert len(spool.pending()) == 1
    return error


@pytest.mark.parametrize("setting", ["MLFLOW_TRACKING_SERVER_CERT_PATH", "REQUESTS_CA_BUNDLE"])
def test_a_server_is_trusted_with_the_certificate_of_its_authority(
    setting: str, gateway: Gateway, ours: Authority, make_run: MakeRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(setting, str(ours.certificate))

    assert_stored(gateway, make_run, tmp_path)


def test_without_it_the_server_is_refused_with_what_to_set_and_the_run_waits(
    gateway: Gateway, ours: Authority, make_run: MakeRun, experiment: str, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    store, spool = store_at(gateway.url, tmp_path), Spool(tmp_path / "spool")
    started = time.monotonic()

    logged = log(make_run(), store, spool)

    error = assert_waits(logged.error, store, spool)
    assert "certificate is not trusted" in error.message
    for name in ("MLFLOW_TRACKING_SERVER_CERT_PATH", "REQUESTS_CA_BUNDLE", "MLFLOW_TRACKING_INSECURE_TLS"):
        assert name in str(error)
    assert time.monotonic() - started < 60  # MLflow's own patience is minutes
    monkeypatch.setenv("MLFLOW_TRACKING_SERVER_CERT_PATH", str(ours.certificate))
    assert [outcome.status for outcome in sync(store_at(gateway.url, tmp_path), spool)] == ["sent"]
    assert len(store_at(gateway.url, tmp_path).query(Query(experiment=experiment))) == 1


@pytest.mark.slow
def test_the_certificate_of_another_authority_or_for_another_host_is_refused(
    gateway: Gateway, ours: Authority, mlflow_server: str, make_run: MakeRun, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    other = authority(tmp_path, "another-authority")
    monkeypatch.setenv("MLFLOW_TRACKING_SERVER_CERT_PATH", str(other.certificate))
    with pytest.raises(StoreDownError, match="certificate is not trusted"):
        store_at(gateway.url, tmp_path).save(make_run())

    monkeypatch.setenv("MLFLOW_TRACKING_SERVER_CERT_PATH", str(ours.certificate))
    wrong = Gateway(upstream=mlflow_server, certificate=ours.sign(tmp_path, "tracking.example.org"))
    with running(wrong), pytest.raises(StoreDownError, match=r"not trusted \(Hostname mismatch"):
        store_at(wrong.url, tmp_path).save(make_run())


@pytest.mark.slow
def test_tls_can_be_had_without_any_check(
    gateway: Gateway, make_run: MakeRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_INSECURE_TLS", "true")
    monkeypatch.setattr("warnings.filters", [("ignore", None, Warning, None, 0)])  # urllib3 says that it is unsafe

    assert_stored(gateway, make_run, tmp_path)


@pytest.mark.slow
def test_https_to_a_server_without_tls_is_told(mlflow_server: str, make_run: MakeRun, tmp_path: Path) -> None:
    with pytest.raises(StoreDownError, match="does not speak TLS.*http://"):  # noqa: RUF043
        store_at(mlflow_server.replace("http://", "https://"), tmp_path).save(make_run())


def test_a_proxy_is_used_where_the_environment_names_one_and_not_where_it_excepts_the_host(
    gateway: Gateway, ours: Authority, proxy: ConnectProxy, make_run: MakeRun, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setenv("MLFLOW_TRACKING_SERVER_CERT_PATH", str(ours.certificate))
    monkeypatch.setenv("HTTPS_PROXY", proxy.url)
    assert_stored(gateway, make_run, tmp_path)
    through = len(proxy.asked)
    assert set(proxy.asked) == {gateway.url.removeprefix("https://")}

    monkeypatch.setenv("NO_PROXY", "localhost")
    store_at(gateway.url, tmp_path).experiments()

    assert len(proxy.asked) == through > 0


@pytest.mark.slow
def test_a_proxy_that_is_dead_or_refuses_is_told_and_the_run_waits(
    gateway: Gateway, ours: Authority, proxy: ConnectProxy, make_run: MakeRun, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setenv("MLFLOW_TRACKING_SERVER_CERT_PATH", str(ours.certificate))
    dead = f"http://maria:PLANTED-secret@127.0.0.1:{free_port()}"
    spool = Spool(tmp_path / "spool")
    for url, told in ((dead, "does not answer"), (proxy.url, "the proxy answers 403")):
        monkeypatch.setenv("HTTPS_PROXY", url)
        proxy.refuses = True
        store = store_at(gateway.url, tmp_path)

        logged = log(make_run(), store, spool)

        error = assert_waits(logged.error, store, spool)
        assert told in error.message
        assert "NO_PROXY" in str(error)
        assert "PLANTED" not in str(error)
    proxy.refuses = False
    assert [outcome.status for outcome in sync(store_at(gateway.url, tmp_path), spool)] == ["sent"]
