"""Records, campaigns and spooled runs as JSON bytes, exact in both directions.

Output is deterministic (sorted keys, UTF-8, no spaces), so that digests are stable. JSON has no number for infinity or
NaN, which a diverged training or a server's argument can hold; they travel as `{"$float": "nan"}`. Text that is not
valid Unicode (a file name with broken bytes) keeps its broken bytes written out as escapes.
Sequences inside free-form values (`ServerConfig.arguments`) come back as lists, as JSON has them.
"""

from __future__ import annotations

import dataclasses
import hashlib
import math
from collections.abc import Mapping
from functools import cache
from typing import Any, TypeVar, cast

import msgspec

from tracker.domain.campaign import Campaign
from tracker.domain.record import SCHEMA_VERSION, Amendment, LoggedRun, RunRecord
from tracker.errors import StoreError
from tracker.store.migrations import MIGRATIONS, migrate

CAMPAIGN_SCHEMA_VERSION = 1
FLOAT_KEY = "$float"
# What differs when the same input is logged twice and yet is the same run: when and where it was logged, by which
# version, what that version's checks found, and corrections made since.
NOT_CONTENT = ("amendments", "findings", "schema_version")
PROVENANCE_CONTENT = ("measured_at", "inputs", "command", "command_exit_code")

T = TypeVar("T")


def encode_record(record: RunRecord) -> bytes:
    """Return the record as JSON bytes, equal for equal records."""
    return _encode(record)


def decode_record(content: bytes, *, where: str = "record.json") -> RunRecord:
    """Return the record in `content`, migrated from older layouts.

    Raises:
        StoreError: Not JSON, a newer layout, or a field that is missing, unknown or of another type; names it.
    """
    quick = exact_value(content, RunRecord)
    if quick is not None and quick.schema_version == SCHEMA_VERSION:
        return quick
    document = migrate(_document(content, where), migrations=MIGRATIONS, current=SCHEMA_VERSION, where=where)
    return _convert(document, RunRecord, where)


def encode_logged_run(run: LoggedRun) -> bytes:
    """Return a whole run, attachments included (base64), as JSON bytes."""
    return _encode(run)


def decode_logged_run(content: bytes, *, where: str) -> LoggedRun:
    """Return the run in `content`.

    Raises:
        StoreError: As for `decode_record`.
    """
    quick = exact_value(content, LoggedRun)
    if quick is not None and quick.record.schema_version == SCHEMA_VERSION:
        return quick
    document = _document(content, where)
    record = document.get("record")
    if not isinstance(record, dict):
        raise StoreError("the file holds no record", where=where, hint="It was not written by tracker, or is damaged")
    document["record"] = migrate(record, migrations=MIGRATIONS, current=SCHEMA_VERSION, where=where)
    return _convert(document, LoggedRun, where)


def encode_amendment(amendment: Amendment) -> bytes:
    """Return a correction as JSON bytes, equal for equal corrections."""
    return _encode(amendment)


def decode_amendment(content: bytes, *, where: str) -> Amendment:
    """Return the correction in `content`.

    Raises:
        StoreError: As for `decode_record`.
    """
    return _convert(_document(content, where), Amendment, where)


def encode_campaign(campaign: Campaign) -> bytes:
    """Return a campaign's facts as JSON bytes with their own `schema_version`."""
    return _dump({"schema_version": CAMPAIGN_SCHEMA_VERSION, **_plain(campaign)})


def decode_campaign(content: bytes, *, where: str) -> Campaign:
    """Return the campaign in `content`.

    Raises:
        StoreError: As for `decode_record`.
    """
    document = migrate(_document(content, where), migrations={}, current=CAMPAIGN_SCHEMA_VERSION, where=where)
    document.pop("schema_version")
    return _convert(document, Campaign, where)


def content_digest(run: LoggedRun) -> str:
    """Return the SHA-256 of what makes a run this run: everything but when, where and by which version it was logged.

    Empty and default values do not count, so that a field added later leaves old digests as they are.
    """
    # Through bytes and back: `1` and `1.0` in a field of floats are one value and must give one digest.
    run = _through_bytes(run)
    record = {key: value for key, value in _sparse(run.record).items() if key not in NOT_CONTENT}
    record["provenance"] = {
        key: value for key, value in record["provenance"].items() if key in PROVENANCE_CONTENT and value is not None
    }
    content = {"record": record, "requests": [_sparse(row) for row in run.requests]}
    return hashlib.sha256(_dump_quickly(content)).hexdigest()


def exact_value(content: bytes, kind: type[T]) -> T | None:
    """Return the value that `content` is exactly the encoding of; None where only the careful way can tell.

    Written out again, the value must give the same bytes: so nothing in them was unknown, dropped or converted.
    A record takes a tenth of the careful way's time.
    """
    if FLOAT_KEY.encode() in content:
        return None
    try:
        value = _decoder(cast("Any", kind)).decode(content)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None
    return value if _written(value) == content else None


@cache
def _decoder(kind: Any) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(kind)


def _written(value: Any) -> bytes:
    return msgspec.json.encode(value, order="sorted", enc_hook=_encode_other)


def _encode(value: Any) -> bytes:
    quick = _quickly(value)
    return _dump(_plain(value)) if quick is None else quick[0]


def _through_bytes(run: LoggedRun) -> LoggedRun:
    quick = _quickly(run)
    return decode_logged_run(_encode(run), where=run.record.record_id) if quick is None else quick[1]


def _quickly(value: T) -> tuple[bytes, T] | None:
    """Return a value as JSON and read back; None where JSON cannot hold it as it is.

    NaN, infinity and broken Unicode do not come back equal, or not at all.
    """
    try:
        content = _written(value)
        if FLOAT_KEY.encode() not in content:
            back: T = _decoder(cast("Any", type(value))).decode(content)
            return (content, back) if back == value else None
    except (msgspec.MsgspecError, UnicodeError):
        pass
    return None


def _plain(value: Any) -> Any:
    return _jsonable(msgspec.to_builtins(value, str_keys=True, enc_hook=_encode_other))


def _dump(value: Any) -> bytes:
    return msgspec.json.encode(value, order="sorted")


def _dump_quickly(value: Any) -> bytes:
    """Return plain values as JSON bytes; what JSON cannot hold does not come back equal, and goes the careful way."""
    try:
        content = _dump(value)
        if msgspec.json.decode(content) == value:
            return content
    except (msgspec.MsgspecError, UnicodeError):
        pass
    return _dump(_jsonable(value))


def _encode_other(value: object) -> object:
    """Return read-only mappings as dictionaries; anything else is a programming error.

    Raises:
        TypeError: Another type.
    """
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"a record cannot hold a {type(value).__name__}")


def _jsonable(value: Any) -> Any:
    """Return the value with non-finite numbers and invalid Unicode in a form that JSON can hold."""
    if isinstance(value, dict):
        return {_valid_text(key): _jsonable(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_jsonable(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return {FLOAT_KEY: str(value)}
    return _valid_text(value) if isinstance(value, str) else value


def _valid_text(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _restored(value: Any) -> Any:
    """Return the value with non-finite numbers put back."""
    if isinstance(value, dict):
        if value.keys() == {FLOAT_KEY} and value[FLOAT_KEY] in ("nan", "inf", "-inf"):
            return float(value[FLOAT_KEY])
        return {key: _restored(item) for key, item in value.items()}
    return [_restored(item) for item in value] if isinstance(value, list) else value


def _document(content: bytes, where: str) -> dict[str, Any]:
    try:
        document = _restored(msgspec.json.decode(content))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise StoreError(f"not readable as JSON: {error}", where=where, hint="The file is damaged") from error
    if not isinstance(document, dict):
        raise StoreError("not a JSON object", where=where, hint="The file is damaged")
    return document


def _convert(document: dict[str, Any], kind: type[T], where: str) -> T:
    try:
        # A share of traffic has its load, a number, for a key; JSON's keys are text.
        value = msgspec.convert(document, kind, str_keys=True)
    except msgspec.ValidationError as error:
        raise StoreError(f"not a valid {kind.__name__}: {error}", where=where, hint="The file is damaged") from error
    unknown = _unknown_field(document, msgspec.to_builtins(value, str_keys=True), "$")
    if unknown is not None:
        # Dropping it would lose it for good at the next amendment.
        raise StoreError(
            f"unknown field {unknown}", where=where, hint="Upgrade tracker on this machine: a newer one wrote the file"
        )
    return value


def _unknown_field(read: Any, known: Any, path: str) -> str | None:
    """Return the path of the first key that was read and is not in the value made of it."""
    if isinstance(read, dict) and isinstance(known, dict):
        for key, item in read.items():
            if key not in known:
                return f"{path}.{key}"
            found = _unknown_field(item, known[key], f"{path}.{key}")
            if found is not None:
                return found
    if isinstance(read, list) and isinstance(known, list | tuple):
        pairs = enumerate(zip(read, known, strict=False))
        return next((f for i, (a, b) in pairs if (f := _unknown_field(a, b, f"{path}[{i}]")) is not None), None)
    return None


def _sparse(value: Any) -> Any:
    """Return a dataclass as dictionaries without the fields that hold their default."""
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, tuple):
        return [_sparse(item) for item in value]
    if not dataclasses.is_dataclass(value) or isinstance(value, type):
        return _listed(msgspec.to_builtins(value))
    kept = {}
    for name, default in _defaults(type(value)):
        item = getattr(value, name)
        if default is dataclasses.MISSING or item != default:
            kept[name] = _sparse(item)
    return kept


def _listed(value: Any) -> Any:
    """Return plain values as JSON has them: lists, no tuples."""
    if isinstance(value, dict):
        return {key: _listed(item) for key, item in value.items()}
    return [_listed(item) for item in value] if isinstance(value, list | tuple) else value


@cache
def _defaults(kind: Any) -> tuple[tuple[str, Any], ...]:
    return tuple(
        (field.name, field.default_factory() if callable(field.default_factory) else field.default)
        for field in dataclasses.fields(kind)
    )
