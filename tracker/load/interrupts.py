"""Ctrl-C held back where it would be lost, or leave something locked."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator
from types import FrameType
from typing import TypeVar

T = TypeVar("T")


@contextlib.contextmanager
def interrupts_held() -> Iterator[None]:
    """Raise Ctrl-C after the body instead of in the middle of it; a second one does not wait.

    Python drops what is raised in a callback, of the import system for one, and goes on as if nothing had come.
    httpcore takes its lock in a method of its own: raised right after that, the lock stays taken, and closing the
    client waits for ever. The body is to be short, or bounded by time limits. Only the main thread hears signals.
    """
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(before):
        yield
        return
    heard: list[int] = []

    def hold(number: int, frame: FrameType | None) -> None:
        heard.append(number)
        if len(heard) > 1:
            raise KeyboardInterrupt

    signal.signal(signal.SIGINT, hold)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        if len(heard) == 1:
            signal.raise_signal(signal.SIGINT)


def finished(work: Callable[[], T]) -> tuple[T, bool]:
    """Return what the work brings, and whether Ctrl-C came meanwhile; a second one does not wait and is raised."""
    brought: list[T] = []
    try:
        with interrupts_held():
            brought.append(work())
    except KeyboardInterrupt:
        if not brought:
            raise
        return brought[0], True
    return brought[0], False
