"""Records as bytes: exact, deterministic, strict."""

from __future__ import annotations

import dataclasses
import json
import math
from datetime import timedelta, timezone
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from tests.store import samples
from tests.store.strategies import values
from tracker.domain.campaign import Campaign
from tracker.domain.measurement import RequestRow
from tracker.domain.provenance import InputFile
from tracker.domain.record import Amendment, LoggedRun, RunRecord
from tracker.domain.server import ServerConfig
from tracker.domain.training import MetricPoint, Training
from tracker.errors import StoreError
from tracker.store import codec, rows
from tracker.store.migrations import migrate

DATA = Path(__file__).parent / "data"
drawn = settings(max_examples=50, deadline=None, suppress_health_check=list(HealthCheck))


@drawn
@given(record=values(RunRecord))
def test_any_record_comes_back_as_it_was(record: RunRecord) -> None:
    assert codec.decode_record(codec.encode_record(record)) == record


@drawn
@given(record=values(RunRecord))
def test_the_quick_way_and_the_careful_way_give_the_same_bytes_and_the_same_record(record: RunRecord) -> None:
    careful = codec._dump(codec._plain(record))
    document = migrate(codec._document(careful, "x"), migrations={}, current=record.schema_version, where="x")

    assert codec.encode_record(record) == careful
    assert codec.decode_record(careful) == codec._convert(document, RunRecord, "x")


@drawn
@given(run=values(LoggedRun))
def test_any_run_with_its_rows_and_attachments_comes_back_as_it_was(run: LoggedRun) -> None:
    assert codec.decode_logged_run(codec.encode_logged_run(run), where="x") == run


@drawn
@given(campaign=values(Campaign))
def test_any_campaign_comes_back_as_it_was(campaign: Campaign) -> None:
    assert codec.decode_campaign(codec.encode_campaign(campaign), where="x") == campaign


@drawn
@given(row=values(RequestRow))
def test_any_request_row_comes_back_from_parquet_as_it_was(row: RequestRow) -> None:
    found = rows.decode_rows(rows.encode_rows((row, RequestRow())))

    assert found == (row, RequestRow())


def test_every_field_of_a_request_row_has_a_parquet_column() -> None:
    assert [field.name for field in dataclasses.fields(RequestRow)] == list(rows.COLUMN_TYPES)


def test_equal_records_give_equal_bytes_whatever_the_order_of_their_mappings() -> None:
    one = samples.record(tags={"a": "1", "b": "2"})
    other = samples.record(tags=MappingProxyType({"b": "2", "a": "1"}))

    assert codec.encode_record(one) == codec.encode_record(other)
    assert b'"a":"1","b":"2"' in codec.encode_record(one)


def test_a_diverged_loss_and_an_infinite_argument_survive() -> None:
    history = (MetricPoint(name="loss", step=1, value=math.nan), MetricPoint(name="loss", step=2, value=-math.inf))
    record = samples.record(
        training=Training(history=history), server=ServerConfig(arguments={"timeout": math.inf, "list": [math.nan]})
    )

    found = codec.decode_record(codec.encode_record(record))

    assert found.training is not None
    assert found.server is not None
    assert math.isnan(found.training.history[0].value)
    assert found.training.history[1].value == -math.inf
    assert found.server.arguments["timeout"] == math.inf
    assert math.isnan(found.server.arguments["list"][0])


def test_a_file_name_with_broken_bytes_is_kept_readable() -> None:
    broken = b"/models/\xff".decode("utf-8", "surrogateescape")

    record = codec.decode_record(codec.encode_record(samples.record(note=broken)))

    assert record.note == "/models/\\udcff"


def test_times_of_another_zone_are_the_same_moment_afterwards() -> None:
    local = samples.LOGGED_AT.astimezone(timezone(timedelta(hours=5, minutes=30)))
    record = samples.record(provenance=samples.provenance(measured_at=local, logged_at=local))

    assert codec.decode_record(codec.encode_record(record)).measured_at == samples.LOGGED_AT


def changed(**changes: Any) -> bytes:
    return json.dumps(json.loads(codec.encode_record(samples.record())) | changes).encode()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "not readable as JSON"),
        (b"[1]", "not a JSON object"),
        (b"\xff\xfe", "not readable as JSON"),
        (b"[" * 100_000, "not readable as JSON"),
        (codec.encode_record(samples.record())[:-20], "not readable as JSON"),
        (b"{}", "no schema_version"),
        (changed(schema_version=True), "no schema_version"),
        (changed(schema_version=2), r"layout 2, this tracker knows layouts up to 1.*Upgrade tracker"),
        (changed(schema_version=0), "no migration leads from record layout 0"),
        (changed(kind="other"), r"Invalid enum value 'other' - at `\$.kind`"),
        (changed(cuda_graph="yes"), r"at `\$.cuda_graph`"),
        (changed(name=None), r"at `\$.name`"),
        (changed(hardware={"gpu": "H200", "tpu": 1}), r"unknown field \$.hardware.tpu.*Upgrade tracker"),
        (changed(measurements=[{"concurrency": 1}, {"new": 1}]), r"unknown field \$.measurements\[1\].new"),
    ],
)
def test_what_is_not_a_record_is_refused_with_its_place(content: bytes, message: str) -> None:
    with pytest.raises(StoreError, match=message) as caught:
        codec.decode_record(content, where="run 1, record.json")

    assert str(caught.value).startswith("run 1, record.json: ")


@pytest.mark.parametrize("path", sorted(DATA.glob("record_v*.json")), ids=lambda path: path.name)
def test_saved_records_of_every_layout_are_still_read(path: Path) -> None:
    record = codec.decode_record(path.read_bytes())

    assert record.name == "EAGLE3 3-1-4, 100K samples"
    assert record.drafter is not None
    assert record.drafter.aux_layer_ids == (1, 3, 6)
    assert [cell.concurrency for cell in record.pooled()] == [1, 8, 32]
    assert codec.decode_record(codec.encode_record(record)) == record


def test_an_old_layout_is_migrated_step_by_step() -> None:
    steps = {
        1: lambda document: {**document, "note": "from 1"},
        2: lambda document: {**document, "note": document["note"] + ", from 2"},
    }

    found = migrate({"schema_version": 1}, migrations=steps, current=3, where="x")

    assert found == {"schema_version": 3, "note": "from 1, from 2"}


def test_the_content_digest_ignores_when_and_where_it_was_logged_and_what_checks_found() -> None:
    later = samples.provenance(logged_at=samples.LOGGED_AT + timedelta(days=1), tracker_version="2", packages={})
    amendment = Amendment(at=samples.LOGGED_AT, by=None, changes={"role": "baseline"})

    digests = {
        codec.content_digest(samples.run()),
        codec.content_digest(samples.run(provenance=later)),
        codec.content_digest(samples.run(findings=(samples.finding(),))),
        codec.content_digest(samples.run(amendments=(amendment,))),
    }

    assert len(digests) == 1


@pytest.mark.parametrize(
    "changes",
    [
        {"role": "baseline"},
        {"name": "other"},
        {"tags": {"owner": "other"}},
        {"measurements": (samples.cell(1, output_tokens=4865),)},
        {"provenance": samples.provenance(measured_at=None)},
        {"provenance": samples.provenance(inputs=(InputFile(name="x", sha256="0", size_bytes=1),))},
        {"request_count": 19},
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_the_content_digest_sees_everything_else(changes: dict[str, Any]) -> None:
    assert codec.content_digest(samples.run(**changes)) != codec.content_digest(samples.run())


def test_whole_and_decimal_numbers_of_one_value_are_one_content() -> None:
    whole = samples.run(measurements=(samples.cell(1, wall_s=7),))
    decimal = samples.run(measurements=(samples.cell(1, wall_s=7.0),))

    assert codec.content_digest(whole) == codec.content_digest(decimal)


def test_damaged_and_newer_parquet_is_refused_with_its_place() -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    sink = pa.BufferOutputStream()
    pq.write_table(pa.table({"repeat": [0], "brand_new": [1]}), sink)

    with pytest.raises(StoreError, match=r"^run 1: not readable as Parquet"):
        rows.decode_rows(b"PAR1 no", where="run 1")
    with pytest.raises(StoreError, match=r"^run 1: unknown columns brand_new. Upgrade tracker"):
        rows.decode_rows(sink.getvalue().to_pybytes(), where="run 1")


def test_parquet_of_an_older_tracker_without_a_column_is_read() -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    sink = pa.BufferOutputStream()
    pq.write_table(pa.table({"prompt_key": ["a"], "repeat": [2]}), sink)

    assert rows.decode_rows(sink.getvalue().to_pybytes()) == (RequestRow(prompt_key="a", repeat=2),)
