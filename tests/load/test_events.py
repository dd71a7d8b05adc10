"""Events from chunks that may break anywhere."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracker.load.answers import BadAnswerError
from tracker.load.events import Events

_TEXTS = st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=12), min_size=1, max_size=6)


def _stream(texts: list[str], *, ascii_only: bool, newline: str = "\n") -> tuple[bytes, list[bytes]]:
    """Return a stream of events, and the data of each."""
    data = [json.dumps({"text": text}, ensure_ascii=ascii_only).encode() for text in texts]
    end = newline.encode() * 2
    return b"".join(b"data: " + item + end for item in (*data, b"[DONE]")), data


def _read(stream: bytes, cuts: list[int]) -> list[bytes]:
    places = sorted({0, len(stream), *(cut % (len(stream) + 1) for cut in cuts)})
    events = Events()
    found: list[bytes] = []
    for begin, end in pairwise(places):
        found += events.feed(stream[begin:end])
    events.close()
    return found


@given(_TEXTS, st.lists(st.integers(min_value=0), max_size=20), st.booleans(), st.sampled_from(["\n", "\r\n"]))
def test_wherever_the_chunks_break_the_events_are_the_same(
    texts: list[str], cuts: list[int], ascii_only: bool, newline: str
) -> None:
    stream, data = _stream(texts, ascii_only=ascii_only, newline=newline)

    assert _read(stream, cuts) == data
    assert _read(stream, list(range(len(stream)))) == data


@given(_TEXTS, st.integers(min_value=0))
def test_a_stream_that_is_cut_anywhere_is_no_answer(texts: list[str], cut: int) -> None:
    stream, _ = _stream(texts, ascii_only=False)
    # The terminator without its line end is still the terminator.
    whole = stream.rstrip(b"\n")

    with pytest.raises(BadAnswerError):
        _read(stream[: cut % len(whole)], [])


@given(_TEXTS, st.integers(min_value=0), st.integers(min_value=0, max_value=255))
def test_a_byte_that_breaks_the_encoding_or_the_object_is_found(texts: list[str], place: int, byte: int) -> None:
    _, data = _stream(texts, ascii_only=False)
    index = place % len(data)
    broken = bytearray(data[index])
    broken[place % len(broken)] = byte
    stream = b"".join(b"data: " + bytes(item) + b"\n\n" for item in (*data[:index], broken, *data[index + 1 :]))

    try:
        json.loads(bytes(broken).decode())
    except ValueError:
        with pytest.raises(BadAnswerError):
            _read(stream + b"data: [DONE]\n\n", [])


def test_comments_names_and_blank_data_are_no_events() -> None:
    stream = b': ping\n\nevent: message\nid: 3\ndata: {"a": 1}\nretry: 10\n\ndata:\n\ndata:{"b": 2}\n\ndata: [DONE]\n\n'

    assert _read(stream, []) == [b'{"a": 1}', b'{"b": 2}']


@pytest.mark.parametrize(
    "event",
    [
        b'{"error": {"message": "out of memory", "code": 500}}',
        b'{"error":"out of memory"}',
        b'{"object":"error","message":"out of memory","type":"InternalServerError","code":500}',
    ],
)
def test_an_engines_error_anywhere_in_a_stream_is_no_answer(event: bytes) -> None:
    with pytest.raises(BadAnswerError, match="the server says: out of memory"):
        _read(b'data: {"a": 1}\n\ndata: ' + event + b'\n\ndata: {"a": 2}\n\ndata: [DONE]\n\n', [])


def test_a_text_about_errors_is_no_error() -> None:
    text = json.dumps({"choices": [{"text": 'say "error" and "object": "error"'}], "error": None}).encode()

    assert _read(b"data: " + text + b"\n\ndata: [DONE]\n\n", []) == [text]


def test_only_the_last_events_are_kept() -> None:
    events = Events()
    for index in range(100):
        events.feed(b'data: {"index": %d}\n\n' % index)

    assert list(events.last) == [b'{"index": %d}' % index for index in range(96, 100)]
