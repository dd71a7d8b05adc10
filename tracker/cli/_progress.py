"""Progress on stderr: one line that renews itself on a terminal, now and then a line elsewhere."""

from __future__ import annotations

import contextlib
import signal
import sys
import time
from collections.abc import Iterator
from types import FrameType
from typing import TYPE_CHECKING, TextIO

import click

if TYPE_CHECKING:
    from tracker.workflows.bench_measure import Progress

_TERMINAL_S = 0.2
_FILE_S = 15.0


class Line:
    """The progress of a benchmark; a context manager that leaves the terminal clean."""

    def __init__(self) -> None:
        """Show nothing yet."""
        self._stream: TextIO = sys.stderr
        self._terminal = self._stream.isatty()
        self._last_s = 0.0
        self._width = 0

    def __enter__(self) -> Line:
        """Return itself."""
        return self

    def __exit__(self, *error: object) -> None:
        """Clear the line."""
        self._clear()

    def tell(self, text: str) -> None:
        """Print a line that stays."""
        self._clear()
        click.echo(text, err=True)

    def bench(self, progress: Progress) -> None:
        """Show where a benchmark is, with the time left."""
        now_s = time.monotonic()
        if now_s - self._last_s < (_TERMINAL_S if self._terminal else _FILE_S):
            return
        self._last_s = now_s
        left = ""
        if progress.done:
            left_s = progress.elapsed_s * (progress.planned - progress.done) / progress.done
            left = f", about {left_s:.0f} s left" if left_s < 120 else f", about {left_s / 60:.0f} min left"
        failed = f", {progress.failed} failed" if progress.failed else ""
        text = f"  {progress.done} of {progress.planned} at {progress.load}{failed}{left}"
        if not self._terminal:
            click.echo(text, err=True)
            return
        self._stream.write("\r" + text.ljust(self._width))
        self._stream.flush()
        self._width = len(text)

    def _clear(self) -> None:
        if self._terminal and self._width:
            self._stream.write("\r" + " " * self._width + "\r")
            self._stream.flush()
            self._width = 0


@contextlib.contextmanager
def ends_when_told() -> Iterator[None]:
    """Treat SIGTERM and SIGHUP like Ctrl-C in the body: a scheduler's kill or a closed terminal ends servers too.

    Under nohup SIGHUP is ignored, and stays so.
    """

    def pass_on(number: int, frame: FrameType | None) -> None:
        signal.raise_signal(signal.SIGINT)

    told = [number for number in (signal.SIGTERM, signal.SIGHUP) if signal.getsignal(number) is not signal.SIG_IGN]
    before = {number: signal.signal(number, pass_on) for number in told}
    # Started in the background of a shell, a process ignores SIGINT; it must hear SIGTERM all the same.
    before_int = signal.getsignal(signal.SIGINT)
    if before_int is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        signal.signal(signal.SIGINT, before_int)
