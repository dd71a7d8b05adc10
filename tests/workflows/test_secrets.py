"""Secrets planted wherever a user can leave one: none is ever stored, printed, logged or written into a memo."""

from __future__ import annotations

import base64
import json
import logging
import shutil
import sqlite3
import sys
import zlib
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest

from tracker.domain.record import LoggedRun
from tracker.errors import TrackerError
from tracker.store import RunStore, codec
from tracker.store.base import Query
from tracker.store.memory import MemoryStore
from tracker.workflows.log_run import LogRequest, LogResult, log_run
from tracker.workflows.report import ReportRequest, write_reports
from tracker.workflows.server_sources import ServerOptions
from tracker.workflows.session import Session

# What a mail server, the Hub, a gateway, a bucket and a database would let a stranger in with. Each is unmistakable, so
# that one grep finds it, and each stands where that kind stands in real life.
SECRETS = {
    "server_key": "PLANTED-server-key-81c2",
    "admin_key": "PLANTED.admin.key.77aa",
    "hub": "hf_PLANTEDhubtokenABCDEFGH0123",
    "openai": "sk-PLANTED-openai-0123456789abcdef",
    "password": "PLANTEDpassw0rd!x",
    "url_password": "PLANTEDurlpass3f",
    "bucket": "PLANTEDbucketsecret9",
    "bearer": "PLANTEDbearer0123456789",
    "aws": "AKIAPLANTED00000KEY1",
    "aws_secret": "PLANTED/aws/secret+abcdef0123456789abcdef",
    "session": "PLANTEDsessioncookie55",
    "store": "PLANTEDstorepass12",
}
BASIC = base64.b64encode(f"user:{SECRETS['password']}".encode()).decode()
NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
MODEL = f"https://reader:{SECRETS['url_password']}@models.example.org/eagle3"
BUCKET = f"s3://key:{SECRETS['bucket']}@weights/target"


def _argv(algorithm: str | None) -> list[str]:
    words = ["python", "-m", "sglang.launch_server", "--model-path", BUCKET, "--api-key", SECRETS["server_key"]]
    words += [f"--admin-api-key={SECRETS['admin_key']}", "--ssl-keyfile-password", SECRETS["password"]]
    if algorithm:
        words += ["--speculative-algorithm", algorithm, "--speculative-draft-model-path", MODEL]
        words += ["--speculative-num-steps", "3", "--speculative-eagle-topk", "1"]
        words += ["--speculative-num-draft-tokens", "4"]
    return words


def _server_info(algorithm: str | None) -> dict[str, Any]:
    return {
        "model_path": BUCKET,
        "speculative_algorithm": algorithm,
        "speculative_draft_model_path": MODEL if algorithm else None,
        "speculative_num_steps": 3 if algorithm else None,
        "speculative_eagle_topk": 1 if algorithm else None,
        "speculative_num_draft_tokens": 4 if algorithm else None,
        "disable_cuda_graph": False,
        "tp_size": 1,
        "version": "0.5.17",
        "api_key": SECRETS["server_key"],
        "admin_api_key": SECRETS["admin_key"],
        "ssl_keyfile_password": SECRETS["password"],
        "launch_command": " ".join(_argv(algorithm)),
        "preferred_sampling_params": json.dumps({"extra_headers": {"Authorization": f"Basic {BASIC}"}}),
        "internal_states": [
            {
                "env_vars": {
                    "HF_TOKEN": SECRETS["hub"],
                    "SGLANG_TOKEN": SECRETS["bearer"],
                    "SGLANG_PROXY": f"http://p:{SECRETS['url_password']}@proxy:3128",
                },
                "extra": [{"name": "AWS_SECRET_ACCESS_KEY", "value": SECRETS["aws_secret"]}],
            }
        ],
    }


def _log(algorithm: str | None) -> str:
    arguments = ", ".join(f"{key}={value!r}" for key, value in _server_info(algorithm).items() if key != "version")
    return (
        f"+ export HF_TOKEN={SECRETS['hub']} AWS_ACCESS_KEY_ID={SECRETS['aws']}\n"
        f"[2026-11-30 00:09:24] server_args=ServerArgs({arguments})\n"
        f"[2026-11-30 00:09:25] GET /health headers={{'Authorization': 'Bearer {SECRETS['bearer']}'}}\n"
        f"[2026-11-30 00:09:25] Cookie: {SECRETS['session']}\n"
        f"[2026-11-30 00:10:11] The server is fired up and ready to roll!\n"
    )


def _answers(speculative: bool, seconds: float) -> str:
    lines = []
    for index in range(12):
        meta: dict[str, Any] = {"completion_tokens": 200, "prompt_tokens": 50, "e2e_latency": seconds}
        if speculative:
            meta |= {"spec_verify_ct": 80, "spec_num_correct_drafts": 120, "spec_num_proposed_drafts": 240}
        lines.append(
            {
                "rep": 0,
                "concurrency": 1,
                "category": "code",
                "client_latency_s": seconds,
                "meta_info": meta,
                "text": f"use {SECRETS['openai']} as the key",
                "headers": {"Authorization": f"Bearer {SECRETS['bearer']}", "X-Api-Key": SECRETS["server_key"]},
                "url": f"http://user:{SECRETS['url_password']}@localhost:30000/generate",
                "index": index,
            }
        )
    return "".join(json.dumps(line) + "\n" for line in lines)


def _folder(root: Path, name: str, algorithm: str | None, seconds: float) -> Path:
    folder = root / name
    folder.mkdir(parents=True)
    (folder / "argv.json").write_text(json.dumps(_argv(algorithm)))
    (folder / "server_info.json").write_text(json.dumps(_server_info(algorithm)))
    (folder / "server.log").write_text(_log(algorithm))
    (folder / "requests.jsonl").write_text(_answers(algorithm is not None, seconds))
    return folder


def _table(root: Path) -> Path:
    path = root / "results.csv"
    path.write_text(
        "config,speculative_algorithm,num_steps,num_draft_tokens,output_throughput_tok_s,accept_length,"
        "api_key,HF_TOKEN,endpoint,comment\n"
        f"table run,EAGLE3,3,4,85.5,2.2,{SECRETS['server_key']},{SECRETS['hub']},"
        f"https://u:{SECRETS['url_password']}@host/v1,password={SECRETS['password']}\n"
    )
    return path


def _requests(root: Path) -> Iterator[LogRequest]:
    """Every way into a record, each with secrets on it."""
    inputs = root / "inputs"
    free: dict[str, Any] = {
        "experiment": "secrets",
        "note": f"ran with OPENAI_API_KEY={SECRETS['openai']} and {MODEL}; Authorization: Basic {BASIC}",
        "tags": {"endpoint": MODEL, "api_key": SECRETS["server_key"], "hint": f"token {SECRETS['hub']}"},
    }
    yield LogRequest(inputs=(_folder(inputs, "baseline", None, 2.0),), concurrency=1, **free)
    yield LogRequest(inputs=(_folder(inputs, "drafter", "EAGLE3", 1.5),), **free)
    command = (
        f"HF_TOKEN={SECRETS['hub']} SGLANG_API_TOKEN={SECRETS['bearer']} NCCL_DEBUG=INFO "
        + " ".join(_argv("EAGLE3"))
        + f" --served-model-name {MODEL}"
    )
    info, log, argv = root / "info.json", root / "server.log", root / "argv.json"
    info.write_text(json.dumps(_server_info("EAGLE3")))
    log.write_text(_log("EAGLE3"))
    argv.write_text(json.dumps([*_argv("EAGLE3"), "--max-running-requests", "7"]))
    server = ServerOptions(command=command, info_file=info, log_file=log, argv_file=argv)
    yield LogRequest(inputs=(_table(root),), server=server, name=f"run of {MODEL}", concurrency=1, **free)
    yield LogRequest(metrics={"output_throughput_tok_s": "80.1", "accept_length": "2.1"}, server=server, **free)
    script = f"print('HF_TOKEN={SECRETS['hub']}'); print('login --password {SECRETS['password']}')"
    words = (sys.executable, "-c", script, "--api-key", SECRETS["server_key"], f"--url={MODEL}")
    yield LogRequest(command=words, server=ServerOptions(command=command), **free)


def _session(root: Path, **more: Any) -> Session:
    environ = {
        "PATH": "/usr/bin:/bin",
        "HF_TOKEN": SECRETS["hub"],
        "AWS_SECRET_ACCESS_KEY": SECRETS["aws_secret"],
        "SLURM_JOB_ID": "17",
        "SLURM_JOB_NAME": f"bench --api-key {SECRETS['server_key']}",
        "CI_JOB_ID": "3",
    }
    return Session(now=NOW, environ=environ, cwd=root, folder=root / "data", **more)


def _leaks(content: bytes) -> list[str]:
    found = [name for name, secret in SECRETS.items() if secret.encode() in content]
    return found + (["basic"] if BASIC.encode() in content else [])


def _all_bytes(root: Path) -> Iterator[tuple[str, bytes]]:
    """Yield every stored byte below a folder, and the plain content of what is stored in a compressed form."""
    for path in sorted(item for item in root.rglob("*") if item.is_file()):
        name = path.relative_to(root).as_posix()
        content = path.read_bytes()
        yield name, content
        if path.suffix == ".parquet":
            yield f"{name} (rows)", str(pyarrow.parquet.read_table(path).to_pylist()).encode()
        if path.suffix == ".db":
            with sqlite3.connect(path) as database:
                yield f"{name} (dump)", "\n".join(database.iterdump()).encode("utf-8", "surrogateescape")
        if path.suffix in (".gz", ".zz"):
            yield f"{name} (inflated)", zlib.decompress(content, wbits=47)


def _log_all(root: Path, session: Session) -> list[LogResult]:
    return [log_run(request, session) for request in _requests(root)]


def _memo(root: Path, session: Session) -> None:
    later = Session(now=NOW.replace(hour=13), environ=session.environ, cwd=root, folder=root / "data")
    later._store = session.store()
    result = write_reports(ReportRequest(since="7d", until="now", out=root / "reports", experiment="secrets"), later)
    assert result.memos


def test_the_search_finds_a_secret_where_there_is_one(tmp_path: Path) -> None:
    _folder(tmp_path, "raw", "EAGLE3", 1.0)

    found = {leak for _, content in _all_bytes(tmp_path) for leak in _leaks(content)}

    assert {"server_key", "admin_key", "hub", "openai", "password", "url_password", "bucket", "bearer"} <= found


def test_no_secret_reaches_a_record_an_attachment_or_a_memo(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    store = MemoryStore()
    session = _session(tmp_path, _store=store)

    results = _log_all(tmp_path, session)
    _memo(tmp_path, session)

    assert [len(result.outcomes) for result in results] == [1] * 5
    for kept in store._runs.values():
        run: LoggedRun = codec.decode_logged_run(kept.run, where="memory")
        assert _leaks(kept.record) == []
        assert {item.name: _leaks(item.content) for item in run.attachments if _leaks(item.content)} == {}
        assert _leaks(repr(run).encode()) == []
    assert {name: _leaks(content) for name, content in _all_bytes(tmp_path / "reports") if _leaks(content)} == {}
    assert {name: _leaks(content) for name, content in _all_bytes(tmp_path / "data") if _leaks(content)} == {}
    assert _leaks(caplog.text.encode()) == []
    assert _leaks(capfd.readouterr().out.encode()) == []


def test_no_secret_reaches_the_embedded_store_its_artifacts_or_a_memo(
    tmp_path: Path, empty_database: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    (tmp_path / "data").mkdir()
    shutil.copy(empty_database, tmp_path / "data" / "mlflow.db")
    session = _session(tmp_path)

    results = _log_all(tmp_path, session)
    _memo(tmp_path, session)

    assert [result.store_error for result in results] == [None] * 5
    store: RunStore = session.store()
    stored = store.query(Query(experiment="secrets"))
    assert len(stored) == 5
    names = [name for name, _ in _all_bytes(tmp_path / "data")]
    assert any(name.endswith("record.json") for name in names)
    assert any(name.endswith("server.log") for name in names)
    leaks = {
        name: found
        for folder in ("data", "reports")
        for name, content in _all_bytes(tmp_path / folder)
        if (found := _leaks(content))
    }
    assert leaks == {}
    assert _leaks(caplog.text.encode()) == []


def test_no_secret_waits_in_the_spool_or_stands_in_an_error(tmp_path: Path) -> None:
    uri = f"http://logger:{SECRETS['store']}@127.0.0.1:9"
    session = _session(tmp_path, tracking_uri=uri)
    errors: list[str] = []

    for request in _requests(tmp_path):
        try:
            result = log_run(request, session)
        except TrackerError as error:
            errors.append(f"{error} {error.__cause__!r}")
        else:
            errors.append(f"{result.store_error} {result.store_error and result.store_error.__cause__!r}")
            assert all(outcome.spooled is not None for outcome in result.outcomes)

    assert len(errors) == 5
    assert {error: _leaks(error.encode()) for error in errors if _leaks(error.encode())} == {}
    spooled = list(_all_bytes(tmp_path / "data" / "spool"))
    assert len(spooled) >= 5
    assert {name: _leaks(content) for name, content in spooled if _leaks(content)} == {}
    assert _leaks(session.describe_store().encode()) == []
