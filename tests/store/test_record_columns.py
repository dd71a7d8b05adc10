"""Many records in columns: byte for byte what they were, and shared where they are alike."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.benchmarks import many_runs
from tests.store import samples
from tests.store.strategies import values
from tracker.domain.record import RunRecord
from tracker.domain.server import ServerConfig
from tracker.domain.training import MetricPoint, Training
from tracker.store.codec import decode_record, encode_record
from tracker.store.record_columns import Columns, Writer, contents
from tracker.store.record_columns import records as read
from tracker.store.shared_mapping import SharedMapping

drawn = settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))


def columns_of(written: list[bytes]) -> Columns:
    writer = Writer()
    for content in written:
        writer.add(content)
    return msgspec.msgpack.decode(msgspec.msgpack.encode(writer.columns()), type=Columns)


@drawn
@given(records=st.lists(values(RunRecord), max_size=3))
def test_any_records_come_back_as_they_were(records: list[RunRecord]) -> None:
    written = [encode_record(record) for record in records]
    columns = columns_of(written)

    assert list(contents(columns, range(len(records)))) == written
    assert read(columns, range(len(records))) == records
    assert read(columns, range(len(records))[::-1]) == records[::-1]


def server(**arguments: Any) -> RunRecord:
    given: dict[str, Any] = {f"flag_{number}": number for number in range(40)}
    return samples.record(server=ServerConfig(engine="sglang", arguments=given | arguments))


def test_arguments_that_differ_in_type_alone_stay_apart() -> None:
    records = [server(x=value) for value in (1, 1.0, True, "1", [1], [1.0], [True], None)]
    columns = columns_of([encode_record(record) for record in records])

    found = [record.server for record in read(columns, range(len(records)))]
    assert [repr(item.get("x")) for item in found if item] == [
        repr(item.server.get("x")) for item in records if item.server
    ]
    assert len(columns.bases) == 1


@pytest.mark.parametrize(
    "record",
    [
        samples.record(server=None),
        samples.record(server=ServerConfig()),
        samples.record(training=Training(history=(MetricPoint(name="loss", step=1, value=float("nan")),))),
    ],
)
def test_records_without_a_server_or_with_numbers_that_json_has_not_come_back(record: RunRecord) -> None:
    columns = columns_of([encode_record(samples.record()), encode_record(record)])

    assert encode_record(read(columns, [1])[0]) == encode_record(record)
    assert next(contents(columns, [1])) == encode_record(record)


def test_a_record_of_an_older_layout_is_kept_whole() -> None:
    document = json.loads(encode_record(samples.record()))
    document.pop("amendments")
    content = json.dumps(document).encode()
    columns = columns_of([content])

    assert list(contents(columns, [0])) == [content]
    assert read(columns, [0]) == [decode_record(content)]


def test_alike_parts_are_kept_once_and_are_one_object() -> None:
    written = [encode_record(run.record) for run in many_runs.runs(60, with_rows=False)]
    columns = columns_of(written)
    one, other = read(columns, [1, 14])
    first, second = one.server, other.server

    assert len(msgspec.msgpack.encode(columns)) < sum(map(len, written)) / 2
    assert one.target is other.target
    assert first is not None
    assert second is not None
    assert isinstance(first.arguments, SharedMapping)
    assert first.arguments._base is second.arguments._base
    assert dict(first.arguments) == decode_record(written[1]).server.arguments  # type: ignore[union-attr]


@given(base=st.dictionaries(st.text(max_size=3), st.integers()), data=st.data())
def test_a_shared_mapping_is_the_dictionary_it_stands_for(base: dict[str, int], data: st.DataObject) -> None:
    keys = data.draw(st.lists(st.sampled_from(sorted(base)))) if base else []
    changed = dict.fromkeys(keys, -1)
    found = SharedMapping(base, changed)

    assert found == base | changed
    assert list(found) == list(base)
    assert {**found} == base | changed
    assert repr(found) == repr(base | changed)
    assert all(found.get(key) == value for key, value in (base | changed).items())
    assert found.get("absent key") is None
