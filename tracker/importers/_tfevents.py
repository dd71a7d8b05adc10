"""Scalars of tensorboard event files, read without tensorboard: record framing here, messages by protobuf.

A record is length (8 bytes, little endian), its masked CRC-32C, the data, and the data's masked CRC-32C (TensorFlow,
`core/lib/io/record_writer.h`). The message is `tensorboard.compat.proto.Event`, of which only step and scalars are
declared here. A last record that is not whole is left out.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from tracker.domain.training import MetricPoint
from tracker.errors import InputError
from tracker.importers import _jsonl, _source

_HEADER = struct.Struct("<QI")
_CRC = struct.Struct("<I")
_MASK_DELTA = 0xA282EAD8
_POLYNOMIAL = 0x82F63B78
_VERSION = b"brain.Event:"
# One record holds the scalars of one step; anything larger is an image or a graph and not ours.
_MAX_RECORD_BYTES = 64 * 2**20
_DT_FLOAT = 1


def looks_like(head: bytes) -> bool:
    """Return whether this is an event file: a framed first record that names its version."""
    if len(head) < _HEADER.size or _VERSION not in head[:64]:
        return False
    length, checksum = _HEADER.unpack_from(head)
    return bool(length < _MAX_RECORD_BYTES and _masked(head[:8]) == checksum)


def scalars(path: Path) -> tuple[list[MetricPoint], str | None]:
    """Return the scalars of an event file in their order, and what is missing at its end.

    Raises:
        InputError: A record before the last is damaged.
    """
    points: list[MetricPoint] = []
    content = _source.read_document(path)
    for offset, record in _records(content, path):
        if record is None:
            return points, f"the file ends in the middle of a record at byte {offset}; it was left out"
        points += _points(record, path, offset)
    return points, None


def _records(content: bytes, path: Path) -> Iterator[tuple[int, bytes | None]]:
    """Yield the data of each record; None for a last one that is not whole.

    Raises:
        InputError: A checksum does not fit.
    """
    offset = 0
    while offset < len(content):
        begin = offset + _HEADER.size
        if begin > len(content):
            yield offset, None
            return
        length, checksum = _HEADER.unpack_from(content, offset)
        if _masked(content[offset : offset + 8]) != checksum or length > _MAX_RECORD_BYTES:
            raise _damaged(path, offset)
        end = begin + length
        if end + _CRC.size > len(content):
            yield offset, None
            return
        record = content[begin:end]
        if _masked(record) != _CRC.unpack_from(content, end)[0]:
            raise _damaged(path, offset)
        yield offset, record
        offset = end + _CRC.size


def _damaged(path: Path, offset: int) -> InputError:
    return InputError(f"the record at byte {offset} is damaged", where=str(path), hint="Copy the event file again.")


@cache
def _crc_table() -> tuple[int, ...]:
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = (byte >> 1) ^ (_POLYNOMIAL if byte & 1 else 0)
        table.append(byte)
    return tuple(table)


def _masked(data: bytes) -> int:
    """Return the masked CRC-32C as the record format defines it."""
    table, crc = _crc_table(), 0xFFFFFFFF
    for byte in data:
        crc = table[(crc ^ byte) & 0xFF] ^ (crc >> 8)
    crc ^= 0xFFFFFFFF
    return (((crc >> 15) | (crc << 17)) + _MASK_DELTA) & 0xFFFFFFFF


def _points(record: bytes, path: Path, offset: int) -> list[MetricPoint]:
    """Return the finite scalars of one record.

    Raises:
        InputError: It is no event.
    """
    from google.protobuf.message import DecodeError

    event = _event_class()()
    try:
        event.ParseFromString(record)
    except DecodeError as error:
        raise _damaged(path, offset) from error
    found = ((value.tag, _scalar(value)) for value in event.summary.value)
    return [
        MetricPoint(name=tag, step=event.step, value=value)
        for tag, value in found
        if value is not None and _jsonl.is_finite(value) and event.step >= 0
    ]


def _scalar(value: Any) -> float | None:
    """Return a scalar written either way; None for histograms, images and texts."""
    if value.HasField("simple_value"):
        return _shortest(value.simple_value)
    tensor = value.tensor
    if not value.HasField("tensor") or tensor.dtype != _DT_FLOAT:
        return None
    if len(tensor.float_val) == 1:
        return _shortest(tensor.float_val[0])
    return _shortest(struct.unpack("<f", tensor.tensor_content)[0]) if len(tensor.tensor_content) == 4 else None


def _shortest(value: float) -> float:
    """Return the shortest number that is this 32-bit float: 0.4 and not 0.4000000059604645."""
    return float(str(np.float32(value)))


@cache
def _event_class() -> Any:
    """Return the message class of an event, declared with the fields that are read.

    protobuf comes with MLflow; tensorboard itself would bring a web server for these six fields.
    """
    from google.protobuf import (
        descriptor_pb2,
        descriptor_pool,
        message_factory,
    )

    field = descriptor_pb2.FieldDescriptorProto
    file = descriptor_pb2.FileDescriptorProto(name="tracker_event.proto", package="tracker_event", syntax="proto2")
    layout: dict[str, tuple[tuple[str, int, int, bool, str | None], ...]] = {
        "Tensor": (
            ("dtype", 1, field.TYPE_INT32, False, None),
            ("tensor_content", 4, field.TYPE_BYTES, False, None),
            ("float_val", 5, field.TYPE_FLOAT, True, None),
        ),
        "Value": (
            ("tag", 1, field.TYPE_STRING, False, None),
            ("simple_value", 2, field.TYPE_FLOAT, False, None),
            ("tensor", 8, field.TYPE_MESSAGE, False, "Tensor"),
        ),
        "Summary": (("value", 1, field.TYPE_MESSAGE, True, "Value"),),
        "Event": (
            ("step", 2, field.TYPE_INT64, False, None),
            ("summary", 5, field.TYPE_MESSAGE, False, "Summary"),
        ),
    }
    for name, fields in layout.items():
        message = file.message_type.add(name=name)
        for field_name, number, kind, repeated, of in fields:
            message.field.add(
                name=field_name,
                number=number,
                type=kind,
                label=field.LABEL_REPEATED if repeated else field.LABEL_OPTIONAL,
                type_name=None if of is None else f".tracker_event.{of}",
            )
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("tracker_event.Event"))
