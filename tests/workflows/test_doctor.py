"""doctor on healthy and on broken installations: every fault is named with its fix, and nothing tried stays."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import socket
import sqlite3
import subprocess
import uuid
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from importlib import metadata
from pathlib import Path

import pytest
from aiosmtpd.controller import Controller

from tests.fixtures_mlflow import free_port
from tests.store import samples
from tests.store.gateway import Gateway, running
from tests.store.test_open import old_database
from tests.store.test_tls_and_proxies import authority
from tracker.cli.main import main
from tracker.store import Spool, open_store, put_campaign
from tracker.store.mlflow_open import configure_mlflow
from tracker.workflows import doctor
from tracker.workflows.doctor import examine
from tracker.workflows.doctor_host import Check
from tracker.workflows.session import Session

__all__ = ["old_database"]

configure_mlflow(os.environ)
NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
Examine = Callable[..., dict[str, Check]]


@pytest.fixture(autouse=True)
def no_credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("MLFLOW_TRACKING_TOKEN", "MLFLOW_TRACKING_USERNAME", "MLFLOW_TRACKING_PASSWORD"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def data(tmp_path: Path, empty_database: Path) -> Path:
    """A data folder with a ready embedded store."""
    folder = tmp_path / "data"
    folder.mkdir()
    shutil.copy(empty_database, folder / "mlflow.db")
    return folder


@pytest.fixture
def found(data: Path, tmp_path: Path) -> Examine:
    """Examine, and return the worst check of each topic."""

    def examined(uri: str | None = None, **environ: str) -> dict[str, Check]:
        session = Session(now=NOW, environ=environ, cwd=tmp_path, folder=data, tracking_uri=uri)
        order = ("ok", "warning", "problem")
        checks = sorted(examine(session, clock=lambda: datetime.now(UTC)), key=lambda check: order.index(check.state))
        assert all(check.fix for check in checks if check.state != "ok"), "a shortcoming without its fix"
        return {check.topic: check for check in checks}

    return examined


def everything_in(folder: Path) -> list[tuple[str, int]]:
    return sorted((str(path.relative_to(folder)), path.stat().st_size) for path in folder.rglob("*"))


@pytest.fixture(scope="module")
def campaign_server(mlflow_server: str) -> str:
    """The server with a campaign as its newest."""
    name = f"doctor-{uuid.uuid4().hex[:12]}"
    open_store(mlflow_server, environ={}).save(samples.run(experiment=name, record_id=name))
    return mlflow_server


def test_a_healthy_machine_has_no_complaint_and_is_left_as_it_was(found: Examine, data: Path) -> None:
    before = everything_in(data)

    checks = found()

    assert {check.state for check in checks.values()} == {"ok"}
    assert set(checks) == {"versions", "store", "schema", "clock", "spool", "mail", "engine", "torch", "gpu"}
    assert "written, read back" in checks["store"].message
    assert everything_in(data) == before


def test_a_healthy_server_has_no_complaint_and_is_left_as_it_was(found: Examine, campaign_server: str) -> None:
    from mlflow import MlflowClient

    client = MlflowClient(tracking_uri=campaign_server)
    tags = {item.experiment_id: item.tags for item in client.search_experiments()}

    checks = found(campaign_server)

    assert {check.state for check in checks.values()} == {"ok"}, checks
    assert "mlflow-artifacts:" in checks["store"].message
    assert "the server runs MLflow 3." in checks["schema"].message
    assert checks["clock"].message == "agrees with the server's"
    assert {item.experiment_id: item.tags for item in client.search_experiments()} == tags


def test_a_store_that_does_not_exist_yet_is_not_made(tmp_path: Path) -> None:
    session = Session(now=NOW, environ={}, cwd=tmp_path, folder=tmp_path / "new")

    checks = list(examine(session, clock=lambda: NOW))

    assert "is created at its first use" in next(check.message for check in checks if check.topic == "store")
    assert {check.state for check in checks} == {"ok"}
    assert not (tmp_path / "new").exists()


def test_a_dead_server_is_a_problem_that_shows_no_password(found: Examine) -> None:
    check = found("http://maria:PLANTED@127.0.0.1:9")["store"]

    assert check.state == "problem"
    assert "does not answer" in check.message
    assert "PLANTED" not in f"{check}"


def test_a_bare_database_is_a_problem(found: Examine) -> None:
    check = found("postgresql://maria:PLANTED@db/mlflow")["store"]

    assert (check.state, "no place for artifacts" in check.message) == ("problem", True)
    assert "PLANTED" not in f"{check}"


@pytest.fixture
def gateway(campaign_server: str) -> Iterator[Gateway]:
    with running(Gateway(upstream=campaign_server)) as made:
        yield made


def test_missing_credentials_are_a_problem(found: Examine, gateway: Gateway) -> None:
    gateway.authorization = "Bearer PLANTED"

    check = found(gateway.url)["store"]

    assert (check.state, "refuses the credentials" in check.message) == ("problem", True)
    assert "MLFLOW_TRACKING_TOKEN" in str(check.fix)


@pytest.mark.parametrize(
    ("refused", "told"),
    [
        (
            lambda method, path: 403 if "set-experiment-tag" in path else None,
            "a tag could not be written into '",
        ),
        (lambda method, path: 403 if method == "PUT" and "artifacts" in path else None, "an artifact could not be"),
    ],
    ids=["read only", "no artifacts"],
)
def test_a_store_that_cannot_be_written_is_a_problem(
    found: Examine, gateway: Gateway, refused: Callable[[str, str], int | None], told: str
) -> None:
    gateway.refuses = refused

    check = found(gateway.url)["store"]

    assert (check.state, told in check.message) == ("problem", True), check


def test_a_store_that_lets_nothing_be_removed_is_a_warning_that_names_what_stays(
    found: Examine, gateway: Gateway
) -> None:
    gateway.refuses = lambda method, _path: 403 if method == "DELETE" else None

    check = found(gateway.url)["artifacts"]

    assert (check.state, "tracker.doctor." in check.message) == ("warning", True), check


def test_a_server_that_sends_artifacts_to_whoever_logs_is_a_warning(
    found: Examine, campaign_server: str, tmp_path: Path
) -> None:
    from mlflow import MlflowClient

    client = MlflowClient(tracking_uri=campaign_server)
    number = client.create_experiment(
        f"local-{uuid.uuid4().hex}", artifact_location=str(tmp_path / "mine"), tags={"tracker.campaign_schema": "1"}
    )

    check = found(campaign_server)["artifacts"]
    client.delete_experiment(number)

    assert (check.state, f"{tmp_path / 'mine'}" in check.message) == ("warning", True), check
    assert "--serve-artifacts" in str(check.fix)
    assert not (tmp_path / "mine").exists()


@pytest.mark.parametrize(("off", "state"), [(-60, "warning"), (3600, "problem")])
def test_a_clock_that_is_wrong_is_told_with_how_much_and_which_way(
    found: Examine, gateway: Gateway, off: int, state: str
) -> None:
    gateway.clock_off = timedelta(seconds=off)

    check = found(gateway.url)["clock"]

    assert check.state == state
    assert ("behind the server's" if off > 0 else "ahead of the server's") in check.message
    seconds = int(check.message.split(" s ")[0].rsplit(" ", 1)[1])
    assert abs(seconds - abs(off)) <= 2


def test_a_schema_of_another_mlflow_is_a_problem(found: Examine, data: Path) -> None:
    with contextlib.closing(sqlite3.connect(data / "mlflow.db")) as connection, connection:
        connection.execute("UPDATE alembic_version SET version_num = 'ffffffffffff'")

    checks = found()

    assert checks["store"].state == checks["schema"].state == "problem"
    assert "ffffffffffff is newer" in checks["schema"].message


def test_a_folder_that_was_moved_with_its_store_is_a_problem_that_names_where_the_records_should_be(
    found: Examine, data: Path, tmp_path: Path
) -> None:
    open_store(environ={}, data_dir=data).save(samples.run(experiment="moved", record_id="moved"))
    assert "artifacts" not in found()
    (data / "artifacts").rename(tmp_path / "elsewhere")

    check = found()["artifacts"]

    assert (check.state, "has no artifact record.json" in check.message) == ("problem", True)
    assert str(data / "artifacts") in check.message
    assert "put the folder back" in str(check.fix)


@pytest.mark.slow
def test_a_certificate_that_nobody_trusts_and_a_proxy_in_the_way_are_problems_with_what_to_set(
    found: Examine, campaign_server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours = authority(tmp_path, "our-authority")
    secured = Gateway(upstream=campaign_server, certificate=ours.sign(tmp_path, "localhost"))
    with running(secured):
        refused = found(secured.url)["store"]
        monkeypatch.setenv("MLFLOW_TRACKING_SERVER_CERT_PATH", str(ours.certificate))
        trusted = found(secured.url)["store"]
        monkeypatch.setenv("HTTPS_PROXY", f"http://127.0.0.1:{free_port()}")
        behind = found(secured.url)["store"]

    assert (refused.state, "certificate is not trusted" in refused.message) == ("problem", True)
    assert "MLFLOW_TRACKING_SERVER_CERT_PATH" in str(refused.fix)
    assert trusted.state == "ok"
    assert (behind.state, "NO_PROXY" in str(behind.fix)) == ("problem", True)


def test_a_database_that_is_none_is_a_problem(found: Examine, data: Path) -> None:
    (data / "mlflow.db").write_text("not a database, " * 100)

    checks = found()

    assert (checks["store"].state, checks["schema"].state) == ("problem", "problem")


@pytest.fixture
def read_only(tmp_path: Path, empty_database: Path) -> Iterator[Callable[..., Path]]:
    """Make a folder that even root cannot write: a file system mounted read-only, with a store or empty."""
    folder = tmp_path / "read-only"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=16m", "tmpfs", str(folder)]
    if shutil.which("mount") is None or subprocess.run(command, check=False, capture_output=True).returncode != 0:
        pytest.skip("no file system can be mounted here")

    def make(*, with_store: bool) -> Path:
        if with_store:
            shutil.copy(empty_database, folder / "mlflow.db")
        subprocess.run(["mount", "-o", "remount,ro", str(folder)], check=True)
        return folder

    yield make
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


def checks_of(folder: Path) -> dict[str, Check]:
    session = Session(now=NOW, environ={}, cwd=folder, folder=folder)
    return {check.topic: check for check in examine(session, clock=lambda: datetime.now(UTC))}


def test_a_store_in_a_folder_that_cannot_be_written_is_a_problem_told_in_words_alone(
    read_only: Callable[..., Path], capfd: pytest.CaptureFixture[str]
) -> None:
    folder = read_only(with_store=True)
    capfd.readouterr()

    checks = checks_of(folder)

    assert (checks["store"].state, checks["spool"].state) == ("problem", "problem")
    assert "attempt to write a readonly database" in checks["store"].message
    assert "Make the database's file and its folder writable" in str(checks["store"].fix)
    assert capfd.readouterr() == ("", "")


def test_a_store_that_could_not_be_made_is_a_problem_before_its_first_use(read_only: Callable[..., Path]) -> None:
    folder = read_only(with_store=False)

    check = checks_of(folder / "new" / "tracker")["store"]

    assert check.state == "problem"
    assert f"cannot be created: {folder} cannot be written" in check.message
    assert "TRACKER_DATA_DIR" in str(check.fix)


def test_a_new_store_on_a_disk_without_space_for_it_is_a_problem_before_its_first_use(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor, "NEW_DATABASE_BYTES", shutil.disk_usage(tmp_path).total)

    check = checks_of(tmp_path / "new")["store"]

    assert (check.state, "is full" in check.message) == ("problem", True)
    assert "Free some space" in str(check.fix)


def test_a_folder_that_cannot_be_looked_into_is_a_problem_for_store_and_spool(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    checks = checks_of(tmp_path / "file" / ("long" * 100))

    assert (checks["store"].state, checks["spool"].state) == ("problem", "problem")
    assert "cannot be created" in checks["store"].message


def test_a_machine_without_mlflow_is_told_where_its_runs_wait_and_the_rest_is_looked_at(
    found: Examine, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = metadata.version

    def without(name: str) -> str:
        if name == "mlflow":
            raise metadata.PackageNotFoundError(name)
        return known(name)

    monkeypatch.setattr(metadata, "version", without)

    checks = found()

    assert {topic for topic, check in checks.items() if check.state == "problem"} == {"versions", "store"}
    assert "tracker sync SPOOL" in str(checks["store"].fix)


@pytest.mark.slow
def test_a_store_of_an_older_mlflow_is_migrated_when_asked_to_and_only_then(
    old_database: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TRACKER_DATA_DIR", str(old_database.parent))

    def call(*arguments: str) -> tuple[object, str]:
        capfd.readouterr()
        with pytest.raises(SystemExit) as stop:
            main(["doctor", *arguments])
        captured = capfd.readouterr()
        return stop.value.code, captured.out + captured.err

    code, text = call("--tracking-uri", f"sqlite:///{old_database}")
    assert (code, "fix: Run `tracker doctor --migrate --tracking-uri sqlite:///" in text) == (1, True)
    code, text = call("--tracking-uri", f"sqlite:///{old_database}", "--migrate")
    assert (code, "as it was before it is in" in text, "warning" in text.lower()) == (0, True, False)
    assert len(list(old_database.parent.glob("mlflow.db.backup-*"))) == 1
    assert call("--migrate", "--tracking-uri", "http://127.0.0.1:9")[0] == 2
    assert call("--migrate", "--tracking-uri", f"sqlite:///{old_database.parent}/none.db")[0] == 1


def test_who_chose_a_store_that_fails_is_told(found: Examine) -> None:
    check = found(MLFLOW_TRACKING_URI="http://127.0.0.1:9")["store"]

    assert check.message.endswith("(store chosen by MLFLOW_TRACKING_URI)")


def test_waiting_facts_of_a_campaign_are_a_warning(found: Examine, data: Path) -> None:
    put_campaign(samples.campaign("kimi"), Spool(data / "spool"))

    assert (found()["spool"].state, found()["spool"].fix) == ("warning", "Run `tracker sync`")


def test_waiting_runs_are_a_warning_and_damaged_ones_a_problem(found: Examine, data: Path) -> None:
    spool = Spool(data / "spool")
    spool.put(samples.run("waits"))

    assert (found()["spool"].state, found()["spool"].fix) == ("warning", "Run `tracker sync`")

    spool.set_aside(spool.put(samples.run("damaged")), "cut off")
    check = found()["spool"]
    assert (check.state, check.message.endswith("bad: 1")) == ("problem", True)
    assert len(spool.pending()) == 1


def test_a_spool_that_cannot_be_written_is_a_problem(found: Examine, data: Path) -> None:
    (data / "spool").write_text("in the way")

    check = found()["spool"]

    assert (check.state, "cannot be written" in check.message) == ("problem", True)


class Sink:
    """Counts what it gets; there must be nothing."""

    def __init__(self) -> None:
        self.mails = 0

    async def handle_DATA(self, _server: object, _session: object, _envelope: object) -> str:  # noqa: N802
        self.mails += 1
        return "250 OK"


def test_a_mail_server_is_reached_without_a_mail(found: Examine) -> None:
    sink = Sink()
    controller = Controller(sink, hostname="127.0.0.1", port=0, ready_timeout=10.0)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        controller.port = free.getsockname()[1]
    settings = {"TRACKER_SMTP_HOST": "127.0.0.1", "TRACKER_SMTP_PORT": str(controller.port), "TRACKER_MAIL_FROM": "a@b"}
    controller.start()
    try:
        reached = found(TRACKER_SMTP_SECURITY="none", **settings)["mail"]
        refused = found(TRACKER_SMTP_SECURITY="starttls", **settings)["mail"]
    finally:
        controller.stop()
    gone = found(TRACKER_SMTP_SECURITY="none", **settings)["mail"]

    assert (reached.state, refused.state, gone.state) == ("ok", "problem", "problem")
    assert sink.mails == 0
    assert "cannot be reached" in gone.message


@pytest.mark.parametrize(
    ("environ", "told"),
    [
        ({"TRACKER_SMTP_HOST": "mail"}, "TRACKER_MAIL_FROM"),
        ({"TRACKER_SMTP_HOST": "mail", "TRACKER_MAIL_FROM": "a@b", "TRACKER_SMTP_PORT": "x"}, "no port"),
        ({"TRACKER_SENDMAIL": "/no/such/sendmail -i", "TRACKER_MAIL_FROM": "a@b"}, "no command"),
    ],
)
def test_mail_settings_that_mean_nothing_are_a_problem(found: Examine, environ: dict[str, str], told: str) -> None:
    check = found(**environ)["mail"]

    assert (check.state, told in check.message) == ("problem", True), check


def tool(folder: Path, text: str) -> str:
    """A PATH with a driver's tool that says this."""
    folder.mkdir()
    (folder / "nvidia-smi").write_text(f"#!/bin/sh\n{text}\n")
    (folder / "nvidia-smi").chmod(0o755)
    return str(folder)


@pytest.mark.parametrize(
    ("says", "state", "told"),
    [
        ("echo 'NVIDIA H200, 580.1'", "ok", "1 x NVIDIA H200, driver 580.1"),
        ("echo 'driver/library version mismatch' >&2; exit 18", "problem", "names no GPU"),
    ],
)
def test_gpus_are_seen_through_the_driver(
    found: Examine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, says: str, state: str, told: str
) -> None:
    path = f"{tool(tmp_path / 'bin', says)}:/usr/bin:/bin"
    monkeypatch.setenv("PATH", path)

    check = found(PATH=path)["gpu"]

    assert (check.state, told in check.message) == (state, True), check


@pytest.mark.parametrize(
    ("visible", "state", "told"),
    [
        ("0", "ok", "1 x NVIDIA H200"),
        ("7", "problem", "CUDA_VISIBLE_DEVICES=7 leaves no GPU"),
        ("", "problem", "CUDA_VISIBLE_DEVICES= leaves no GPU"),
        ("0,7", "warning", "CUDA_VISIBLE_DEVICES=0,7 leaves 1 x NVIDIA H200"),
    ],
)
def test_gpus_that_are_made_visible_and_are_not_here_are_told(
    found: Examine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, visible: str, state: str, told: str
) -> None:
    says = "echo 'NVIDIA H200, 580.1'"
    path = f"{tool(tmp_path / 'bin', says)}:/usr/bin:/bin"
    monkeypatch.setenv("PATH", path)

    check = found(PATH=path, CUDA_VISIBLE_DEVICES=visible)["gpu"]

    assert (check.state, told in check.message) == (state, True), check


def installed(folder: Path, name: str, version: str) -> str:
    """A folder with a package's metadata, as pip leaves it."""
    info = folder / f"{name}-{version}.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    return str(folder)


def test_engine_and_torch_are_found_without_importing_them(
    found: Examine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed(tmp_path / "site", "sglang", "0.5.9")
    monkeypatch.syspath_prepend(installed(tmp_path / "site", "torch", "2.9.1"))

    checks = found()

    assert "sglang 0.5.9" in checks["engine"].message
    assert checks["torch"].message == "torch 2.9.1"


def test_a_package_out_of_range_is_a_problem_with_the_command_that_mends_it(
    found: Examine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(installed(tmp_path / "site", "mlflow", "2.22.0"))

    check = found()["versions"]

    assert (check.state, "2.22.0 is installed" in check.message) == ("problem", True)
    assert str(check.fix).startswith("pip install 'mlflow")


def test_the_command_prints_lines_or_json_and_ends_with_1_only_for_a_problem(
    data: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    for name in ("TRACKER_TRACKING_URI", "MLFLOW_TRACKING_URI", "TRACKER_SPOOL", "TRACKER_SMTP_HOST"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TRACKER_DATA_DIR", str(data))
    open_store(environ={}, data_dir=data).save(samples.run())
    Spool(data / "spool").put(samples.run("waits"))

    def call(*arguments: str) -> tuple[object, str]:
        capfd.readouterr()
        with pytest.raises(SystemExit) as stop:
            main(["doctor", *arguments])
        return stop.value.code, capfd.readouterr().out

    code, text = call()
    assert code == 0
    assert "warning  spool" in text
    assert "fix: Run `tracker sync`" in text
    code, text = call("--json", "--tracking-uri", "http://127.0.0.1:9")
    assert code == 1
    problems = [item for item in json.loads(text) if item["state"] == "problem"]
    assert [item["topic"] for item in problems] == ["store"]
