"""The fast reader of decode lines says what the patient one says, and leaves odd lines to it."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from tracker.importers import _decode_lines, sglang_log

TIMES = st.integers(0, 59).map(lambda second: f"[2026-11-01 10:00:{second:02d}")
PLACES = st.sampled_from(["", " TP0", " DP0 TP0", " DP1 TP0", " TP1"])
HEADS = st.sampled_from(["Decode batch. ", "Decode batch, ", "Decode batch [1234], "])
NUMBERS = st.floats(0, 99_999).map(lambda value: f"{value:.2f}")
ACCEPTANCE = st.one_of(
    st.just(""),
    st.floats(1, 9).map(lambda value: f"accept len: {value:.2f}, "),
    st.floats(1, 9).map(lambda value: f"accept len: {value:.2f}, accept rate: {value / 10:.2f}, "),
)
GRAPHS = st.sampled_from(["", "cuda graph: True, ", "cuda graph: False, ", "npu graph: True, "])


@st.composite
def _decode(draw: st.DrawFn) -> str:
    running = draw(st.sampled_from([0, 1, 8, 8, 120]))
    tokens = draw(st.integers(0, 10**6))
    return (
        f"{draw(TIMES)}{draw(PLACES)}] {draw(HEADS)}#running-req: {running}, #token: {tokens}, token usage: 0.01, "
        f"{draw(ACCEPTANCE)}{draw(GRAPHS)}gen throughput (token/s): {draw(NUMBERS)}, #queue-req: 0"
        + draw(st.sampled_from(["", ","]))
    )


OTHERS = st.sampled_from([
    "[2026-11-01 10:00:01 TP0] Prefill batch, #new-seq: 1, #new-token: 7, #cached-token: 0, token usage: 0.00, "
    "#running-req: 0, #queue-req: 0, cuda graph: True, input throughput (token/s): 12.50",
    '[2026-11-01 10:00:01] INFO:     10.0.0.1:1 - "POST /generate HTTP/1.1" 200 OK',
    "",
    ":::: a: b: c: 1.5: #running-req: 0, gen throughput (token/s): x",
    "Decode batch, #running-req: 5",
    "#running-req: 1",
    "é ü 漢字: accept len: 2.00",
])  # fmt: skip


def _content(log: sglang_log._Log) -> dict[int, list[tuple[float, ...]]]:
    """Return what a log holds by running requests, in no order: odd lines come last in their block."""
    return {
        running: sorted(zip(group.lengths, group.rates, group.throughputs, strict=True))
        for running, group in log.groups.items()
    }


@settings(max_examples=100, deadline=None)
@given(lines=st.lists(st.one_of(_decode(), _decode(), OTHERS), max_size=40))
def test_both_readers_see_the_same_lines(lines: list[str]) -> None:
    block = "".join(f"{line}\n" for line in lines).encode()
    fast, slow = sglang_log._Log(), sglang_log._Log()

    sglang_log._scan(block, fast)
    for line in block.splitlines(keepends=True):
        sglang_log._scan_slowly(line, slow)

    assert _content(fast) == _content(slow)
    assert fast.ranks == slow.ranks
    assert (fast.graphed, fast.eager) == (slow.graphed, slow.eager)


@settings(max_examples=60, deadline=None)
@given(data=st.binary(max_size=400), lines=st.lists(_decode(), max_size=4), at=st.integers(0, 2000))
def test_junk_between_the_lines_never_ends_in_a_traceback(data: bytes, lines: list[str], at: int) -> None:
    block = "".join(f"{line}\n" for line in lines).encode()

    sglang_log._scan(block[:at] + data + block[at:] + b"\n", sglang_log._Log())


def test_the_first_line_after_an_idle_server_is_known_across_blocks() -> None:
    line = b"[2026-11-01 10:00:01] Decode batch, #running-req: 1, accept len: 2.00, gen throughput (token/s): 50.00\n"
    idle = b"[2026-11-01 10:00:02] Prefill batch, #new-seq: 1, #running-req: 0, #queue-req: 0\n"
    log = sglang_log._Log()

    for block in (line + line, line + idle, line + line + idle + line):
        sglang_log._scan(block, log)

    assert list(log.groups[1].after_idle) == [1, 0, 0, 1, 0, 1]


def test_a_line_glued_to_a_progress_bar_is_left_to_the_patient_reader() -> None:
    line = b"[2026-11-01 10:00:01] Decode batch, #running-req: 1, accept len: 2.00, gen throughput (token/s): 50.00\n"

    found = _decode_lines.columns(line + b" 12%|## | 3/25 " + line)

    assert found.running.tolist() == [1]
    assert len(found.odd) == 1


def test_two_records_on_one_line_are_left_to_the_patient_reader() -> None:
    record = b"[2026-11-01 10:00:01] Decode batch, #running-req: 1, accept len: 2.00, gen throughput (token/s): 50.00"

    found = _decode_lines.columns(record + record + b"\n")

    assert found.running.tolist() == []
    assert len(found.odd) == 1


def test_a_block_without_decode_lines_has_no_columns() -> None:
    assert _decode_lines.columns(b"").running.tolist() == []
    assert _decode_lines.columns(b"a: b\n:\n").odd == ()
