"""doctor: whether everything that tracker needs is there, each shortcoming with its fix."""

from __future__ import annotations

import dataclasses
import os
import shutil
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path

from tracker.errors import StoreError
from tracker.store import pending_campaigns, resolve_uri
from tracker.store.mlflow_open import ResolvedUri, is_server, sqlite_path
from tracker.store.mlflow_probe import ServerFacts, Trial, ask_server, read_newest_record, try_store
from tracker.workflows.doctor_host import Check, engines, failed, gpu, installed, mail, versions
from tracker.workflows.session import Session

CLOCK_WARNING_S = 5.0
CLOCK_PROBLEM_S = 300.0
OLDEST_MLFLOW = 3
NEW_DATABASE_BYTES = 2_000_000
"""More than MLflow's empty tables take (1.0 MB with 3.17)."""
LOCAL_SCHEMES = ("/", "./", "file:")


def examine(session: Session, *, clock: Callable[[], datetime]) -> Iterator[Check]:
    """Yield one check after the other, each as soon as it is done. Nothing that was tried stays.

    Args:
        session: Settings of the call.
        clock: Tells the time, UTC; compared with the server's.
    """
    yield from versions()
    if installed("mlflow") is None:
        message = "MLflow is not installed here, and no store is reached without it; runs wait in the spool"
        fix = "pip install 'mlflow>=3.17,<4', or copy the spool to where it is and run `tracker sync SPOOL` there"
        yield Check(topic="store", state="problem", message=message, fix=fix)
    else:
        yield from _store(session, clock)
    yield from _spool(session)
    yield mail(session)
    yield from engines(session.environ)
    yield gpu(session.environ)


def _store(session: Session, clock: Callable[[], datetime]) -> Iterator[Check]:
    try:
        resolved = resolve_uri(session.tracking_uri, environ=session.environ, data_dir=session.data_folder)
    except StoreError as error:
        yield failed("store", error)
        return
    shown = f"{resolved.shown} ({resolved.source})"
    if not resolved.exists:
        yield _new_store(resolved, shown)
        return
    facts = None
    if is_server(resolved.uri):
        try:
            facts = ask_server(resolved.uri, clock=clock)
        except StoreError as error:
            yield _store_failed(error, resolved)
            return
    try:
        trial = try_store(resolved.uri)
    except StoreError as error:
        yield _store_failed(error, resolved)
    else:
        tried = f"written, read back and cleaned up in {trial.experiment!r}, artifacts in {trial.artifacts}"
        yield Check(topic="store", state="ok", message=f"{shown}: {tried}")
        yield from _artifacts(trial, has_server=facts is not None)
        yield from _records(resolved.uri)
    yield _schema(resolved, facts)
    yield _clock(facts)


def _new_store(resolved: ResolvedUri, shown: str) -> Check:
    """Return whether a store that does not exist yet can be made, without making anything."""
    path = sqlite_path(resolved.uri)
    # Unlike Path.exists, os.access says no instead of failing below a folder that is closed to this user.
    place = None if path is None else next((item for item in path.parents if os.access(item, os.F_OK)), None)
    if place is None or not (place.is_dir() and os.access(place, os.W_OK | os.X_OK)):
        why, fix = f"{place} cannot be written", "Make the folder writable for this user"
    elif shutil.disk_usage(place).free < NEW_DATABASE_BYTES:
        why, fix = f"the disk of {place} is full", "Free some space"
    else:
        return Check(topic="store", state="ok", message=f"{shown} is created at its first use")
    return Check(
        topic="store",
        state="problem",
        message=f"{shown} is not there and cannot be created: {why}",
        fix=f"{fix}, or name another place in TRACKER_DATA_DIR or --tracking-uri",
    )


def _store_failed(error: StoreError, resolved: ResolvedUri) -> Check:
    """Return an error of the store as a problem that says who chose this store."""
    check = failed("store", error)
    return dataclasses.replace(
        check,
        message=f"{check.message} (store chosen by {resolved.source})",
        fix=check.fix or f"See what the store says, or name another one in {resolved.source}",
    )


def _artifacts(trial: Trial, *, has_server: bool) -> Iterator[Check]:
    if trial.left_behind is not None:
        message = f"the store lets nothing be removed; a small folder stays in {trial.left_behind}"
        yield Check(topic="artifacts", state="warning", message=message, fix="Delete it by hand when it is in the way")
    if has_server and trial.is_campaign and trial.artifacts.startswith(LOCAL_SCHEMES):
        yield Check(
            topic="artifacts",
            state="warning",
            message=f"artifacts go to {trial.artifacts}, a folder of whoever logs; nobody else can read them",
            fix="Start it with --serve-artifacts and --artifacts-destination, and log new campaigns",
        )


def _records(uri: str) -> Iterator[Check]:
    try:
        read_newest_record(uri)
    except StoreError as error:
        yield failed("artifacts", error)


def _schema(resolved: ResolvedUri, facts: ServerFacts | None) -> Check:
    from importlib import metadata

    ours = metadata.version("mlflow")
    if facts is None:
        path = sqlite_path(resolved.uri)
        return _embedded_schema(path, ours)
    if facts.version is None:
        message = "the server does not say its MLflow version"
        return Check(topic="schema", state="warning", message=message, fix="Check that the address is MLflow's own")
    said = f"the server runs MLflow {facts.version}, this machine {ours}"
    if int(facts.version.partition(".")[0]) < OLDEST_MLFLOW:
        return Check(
            topic="schema", state="problem", message=said, fix="Upgrade the server: back its database up, then "
            "`mlflow db upgrade URI` with MLflow 3",
        )  # fmt: skip
    if facts.version.split(".")[:2] != ours.split(".")[:2]:
        fix = f"Nothing fails for now; pip install 'mlflow=={facts.version}' makes them equal"
        return Check(topic="schema", state="warning", message=said, fix=fix)
    return Check(topic="schema", state="ok", message=said)


def _embedded_schema(path: Path | None, ours: str) -> Check:
    from tracker.store.mlflow_schema import schema_of

    if path is None:
        return Check(topic="schema", state="ok", message=f"left to MLflow {ours}")
    try:
        state, revision = schema_of(path)
    except StoreError as error:
        return failed("schema", error)
    if state == "current":
        return Check(topic="schema", state="ok", message=f"revision {revision}, that of MLflow {ours}")
    stands = f"is {state} than that of" if state in ("older", "newer") else f"is {state} to"
    message = f"revision {revision or 'none'} {stands} MLflow {ours}"
    return Check(topic="schema", state="problem", message=message, fix="See the line of the store")


def _clock(facts: ServerFacts | None) -> Check:
    if facts is None:
        return Check(topic="clock", state="ok", message="the store is on this machine: one clock")
    off = facts.clock_ahead_s
    if off is None:
        message = "the server sends no date to compare with"
        return Check(topic="clock", state="warning", message=message, fix="Compare `date -u` on both machines")
    if abs(off) < CLOCK_WARNING_S:
        return Check(topic="clock", state="ok", message="agrees with the server's")
    word = "behind" if off > 0 else "ahead of"
    return Check(
        topic="clock",
        state="problem" if abs(off) >= CLOCK_PROBLEM_S else "warning",
        message=f"this machine's is {abs(off):.0f} s {word} the server's; runs would fall out of windows like 36h",
        fix="Set the clock: `timedatectl set-ntp true` on the machine that is wrong",
    )


def _spool(session: Session) -> Iterator[Check]:
    spool = session.spool
    try:
        spool.try_writing()
        waiting, damaged, facts = spool.pending(), spool.damaged(), pending_campaigns(spool)
    except StoreError as error:
        yield failed("spool", error)
        return
    if waiting:
        message = f"runs wait in {spool.folder}: {len(waiting)}, the oldest is {waiting[0].name}"
        yield Check(topic="spool", state="warning", message=message, fix="Run `tracker sync`")
    if damaged:
        message = f"damaged files were set aside in {spool.folder / 'bad'}: {len(damaged)}"
        fix = "Read the .reason.txt beside each, log its input again, then delete the file"
        yield Check(topic="spool", state="problem", message=message, fix=fix)
    if facts:
        message = f"campaigns' facts wait in {facts[0].parent}: {len(facts)}"
        yield Check(topic="spool", state="warning", message=message, fix="Run `tracker sync`")
    if not waiting and not damaged and not facts:
        yield Check(topic="spool", state="ok", message=f"nothing waits in {spool.folder}, which can be written")
