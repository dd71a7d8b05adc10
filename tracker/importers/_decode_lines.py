"""SGLang's decode lines as columns, found and parsed a block at a time with numpy.

A server log holds millions of decode lines; a regular expression costs some microseconds a line, which is half a minute
a gigabyte. Here every key is found by the eight bytes before its colon, and numbers are parsed column by column. A line
that is not as expected (glued to a progress bar, two records on one line, an unknown prefix) is handed back as text,
for the slower and more patient reader.
"""

from __future__ import annotations

import dataclasses
import re
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]
Positions = npt.NDArray[np.int64]

_COLON, _NEWLINE, _POINT, _ZERO, _BRACKET = 58, 10, 46, 48, 91
# `[2026-11-01 10:00:00`, before the rank or the closing bracket.
STAMP_BYTES = 20
_PLACE_BYTES = 24
_MAX_DIGITS = 16


def _code(key: bytes) -> int:
    """Return the last eight bytes of a key as the number that an unaligned view reads."""
    return int.from_bytes(key[-8:], "little")


_RUNNING = _code(b"#running-req")
# DSPARK logs a `block accept len` beside `accept len`, so these are told by the comma before them as well.
_LENGTH, _RATE, _THROUGHPUT = b", accept len", b", accept rate", b", gen throughput (token/s)"
_GRAPHS = tuple(_code(kind + b" graph") for kind in (b"cuda", b"cpu", b"musa"))
# What stands before `#running-req` on a decode line: `Decode batch, `, `Decode batch. `, `Decode batch [1234], `.
_BATCH = (_code(b"Decode batch, "), _code(b"Decode batch. "))
_AFTER_COUNTER = int.from_bytes(b"], ", "little")
_WORDS = b"Decode batch"
_KEY_LENGTH = len(b"#running-req")


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """The decode lines of a block, one entry a line, in order."""

    running: npt.NDArray[np.int64]
    """Running requests."""
    lengths: Floats
    """Accept length; 0 where the line has none."""
    rates: Floats
    """Accept rate; -1 where the line has none."""
    throughputs: Floats
    """Generation throughput, tok/s."""
    starts: Positions
    """Where the line begins in the block."""
    ends: Positions
    """Where the line ends in the block."""
    places: npt.NDArray[np.uint64]
    """A number that is equal for lines with the same text between time and closing bracket."""
    graph: npt.NDArray[np.int8]
    """1 ran in a captured graph, 0 did not, -1 not said."""
    idle: Positions
    """Where any line says that nothing is running."""
    odd: tuple[bytes, ...]
    """Lines that look like decode lines and are not as expected."""

    def chosen(self, mask: npt.NDArray[np.bool_]) -> Columns:
        """Return the lines under a mask; what is not of a line stays."""
        return dataclasses.replace(
            self,
            running=self.running[mask],
            lengths=self.lengths[mask],
            rates=self.rates[mask],
            throughputs=self.throughputs[mask],
            starts=self.starts[mask],
            ends=self.ends[mask],
            places=self.places[mask],
            graph=self.graph[mask],
        )


def columns(block: bytes) -> Columns:
    """Return the decode lines of a block of whole lines."""
    octets = np.frombuffer(block, dtype=np.uint8)
    eights = _view(block, np.dtype("<u8"), 8)
    colons = np.flatnonzero(octets == _COLON)
    colons = colons[(colons >= 8) & (colons < len(block) - 2)]
    keys = eights[colons - 8]
    newlines = np.flatnonzero(octets == _NEWLINE)
    running = colons[keys == _RUNNING]
    decode = running[_is_decode(running, eights, octets)]
    lines = np.searchsorted(newlines, decode)
    if block.count(_WORDS) > len(decode):
        # Keys in another order, or a record that was cut: the patient reader tells.
        spoken = [match.start() for match in re.finditer(_WORDS, block)]
        odd = np.setdiff1d(np.searchsorted(newlines, spoken), lines)
    else:
        odd = lines[:0]
    idle = running[(octets[running + 2] == _ZERO) & (octets[np.minimum(running + 3, len(block) - 1)] == ord(","))]
    return _Reader(block, octets, newlines, colons, keys).read(decode, lines, idle, odd)


def _view(block: bytes, kind: np.dtype[Any], width: int) -> npt.NDArray[Any]:
    """Return the block as overlapping items, one at every byte."""
    return np.ndarray((max(len(block) - width + 1, 0),), dtype=kind, buffer=block, strides=(1,))


def _is_decode(
    running: Positions, eights: npt.NDArray[np.uint64], octets: npt.NDArray[np.uint8]
) -> npt.NDArray[np.bool_]:
    """Return which `#running-req` are the first key of a decode line."""
    found = eights[np.maximum(running - _KEY_LENGTH - 8, 0)]
    counter = (found >> np.uint64(40)) == np.uint64(_AFTER_COUNTER)
    is_decode: npt.NDArray[np.bool_] = (found == _BATCH[0]) | (found == _BATCH[1]) | counter
    return is_decode & (running >= _KEY_LENGTH + 8)


class _Reader:
    """Reads the keys of one block."""

    def __init__(
        self,
        block: bytes,
        octets: npt.NDArray[np.uint8],
        newlines: Positions,
        colons: Positions,
        keys: npt.NDArray[np.uint64],
    ) -> None:
        self._block, self._octets, self._newlines = block, octets, newlines
        self._colons, self._keys = colons, keys
        # Numbers and ranks are read in items of fixed width, which must not run over the end.
        self._padded = block + b"\n" * (STAMP_BYTES + _PLACE_BYTES)
        self._wide = _view(self._padded, np.dtype(f"V{_MAX_DIGITS}"), _MAX_DIGITS)

    def read(self, decode: Positions, lines: Positions, idle: Positions, others: Positions) -> Columns:
        """Return the columns of these decode lines; `others` are lines to hand back as they are."""
        starts = np.where(lines > 0, self._newlines[np.maximum(lines - 1, 0)] + 1, 0)
        ends = self._newlines[np.minimum(lines, len(self._newlines) - 1)] if len(self._newlines) else starts
        throughput, at_throughput = self._values(_THROUGHPUT, lines)
        length, _ = self._values(_LENGTH, lines)
        rate, _ = self._values(_RATE, lines)
        count = self._numbers(decode, decimals=False)
        alone = np.ones(len(lines), dtype=bool)
        alone[1:] &= lines[1:] != lines[:-1]
        alone[:-1] &= lines[1:] != lines[:-1]
        stamped = (self._octets[starts] == _BRACKET) & (decode - starts > STAMP_BYTES)
        # A key without a whole number is NaN, an absent one is not.
        whole = ~np.isnan(count) & ~np.isnan(throughput) & ~np.isnan(length) & ~np.isnan(rate)
        good = alone & stamped & whole & (at_throughput >= decode)
        keep = good & (throughput >= 0)
        odd = np.union1d(lines[~good], others)
        return Columns(
            running=count[keep].astype(np.int64),
            lengths=np.maximum(length[keep], 0).astype(np.float32),
            rates=rate[keep].astype(np.float32),
            throughputs=throughput[keep].astype(np.float32),
            starts=starts[keep],
            ends=ends[keep],
            places=self._places(starts[keep]),
            graph=self._graph(lines)[keep],
            idle=idle,
            odd=tuple(self._line(number) for number in odd),
        )

    def _line(self, number: int) -> bytes:
        start = int(self._newlines[number - 1]) + 1 if number else 0
        end = int(self._newlines[number]) if number < len(self._newlines) else len(self._block)
        return self._block[start : end + 1]

    def _values(self, key: bytes, lines: Positions) -> tuple[npt.NDArray[np.float64], Positions]:
        """Return a key's number on each line and where it stands; -1 where the line has none, NaN where it is cut."""
        at = self._colons[self._keys == _code(key)]
        at = at[self._octets[np.maximum(at - len(key), 0)] == key[0]]
        at, found = self._on_lines(at, lines)
        values = np.full(len(lines), -1.0)
        places = np.full(len(lines), np.iinfo(np.int64).max)
        values[found] = self._numbers(at, decimals=True)
        places[found] = at
        return values, places

    def _on_lines(self, at: Positions, lines: Positions) -> tuple[Positions, Positions]:
        """Return those of the positions that lie on one of the lines, and the index of that line."""
        of = np.searchsorted(self._newlines, at)
        if len(of) == len(lines) and np.array_equal(of, lines):
            return at, np.arange(len(lines))
        if not len(lines):
            return at[:0], lines
        found = np.searchsorted(lines, of)
        owned = lines[np.minimum(found, len(lines) - 1)] == of
        return at[owned], found[owned]

    def _numbers(self, colons: Positions, *, decimals: bool) -> npt.NDArray[np.float64]:
        """Return the numbers after `: `; NaN where there is none of the expected form."""
        count = len(colons)
        digits = np.ascontiguousarray(self._wide[colons + 2].view(np.uint8).reshape(count, _MAX_DIGITS).T)
        total, scale = np.zeros(count, dtype=np.int64), np.ones(count, dtype=np.int64)
        active, pointed = np.ones(count, dtype=bool), np.zeros(count, dtype=bool)
        seen = np.zeros(count, dtype=bool)
        for octet in digits:
            digit = octet - _ZERO
            number = (digit < 10) & active
            np.multiply(total, 10, out=total, where=number)
            np.add(total, digit, out=total, where=number)
            if decimals:
                np.multiply(scale, 10, out=scale, where=number & pointed)
                point = (octet == _POINT) & active & seen & ~pointed
                pointed |= point
                active = number | point
            else:
                point = octet == _POINT
                pointed |= point & active
                active = number
            seen |= number
            if not active.any():
                break
        valid = seen & ~active & ((scale > 1) if decimals else ~pointed)
        return np.where(valid, total / scale, np.nan)

    def _places(self, starts: Positions) -> npt.NDArray[np.uint64]:
        """Return a number for the text between time and closing bracket, equal where the text is."""
        wide = _view(self._padded, np.dtype(f"V{_PLACE_BYTES}"), _PLACE_BYTES)
        text = wide[starts + STAMP_BYTES].view(np.uint8).reshape(len(starts), _PLACE_BYTES).copy()
        # Everything from the bracket on is blanked: what follows differs from line to line.
        closed = np.maximum.accumulate(text == ord("]"), axis=1)
        text[closed] = 0
        parts = text.view("<u8").reshape(len(starts), _PLACE_BYTES // 8)
        code = np.zeros(len(starts), dtype=np.uint64)
        for column in range(parts.shape[1]):
            code = (code ^ parts[:, column]) * np.uint64(0x9E3779B97F4A7C15)
        return code

    def _graph(self, lines: Positions) -> npt.NDArray[np.int8]:
        """Return whether each line ran in a captured graph."""
        known = self._keys == _GRAPHS[0]
        for code in _GRAPHS[1:]:
            known |= self._keys == code
        at, found = self._on_lines(self._colons[known], lines)
        said = np.full(len(lines), -1, dtype=np.int8)
        said[found] = self._octets[at + 2] == ord("T")
        return said
