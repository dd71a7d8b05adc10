"""Ctrl-C in the places where Python or a library would lose it, or never let go."""

from __future__ import annotations

import os
import signal
import sys
import threading
import weakref
from collections.abc import Callable
from types import FrameType

import pytest

from tests.fakes.servers import EAGLE3, shared
from tests.load.loading import load
from tracker.load.control import Control
from tracker.load.interrupts import interrupts_held
from tracker.load.sglang_route import SglangRoute

Where = Callable[[FrameType, str], bool]


def _interrupt(where: Where) -> list[str]:
    """Send Ctrl-C to this process when its profile first shows this place; return what will name it then."""
    hit: list[str] = []

    def look(frame: FrameType, event: str, _: object) -> None:
        if not hit and where(frame, event):
            hit.append(frame.f_code.co_qualname)
            sys.setprofile(None)
            os.kill(os.getpid(), signal.SIGINT)

    sys.setprofile(look)
    return hit


class _Thing:
    """Something whose end calls back."""


def _drop(after: Callable[[object], None]) -> None:
    """Call back as the import system does when it is through with a module: Python drops what is raised in there."""
    thing = _Thing()
    reference = weakref.ref(thing, after)
    del thing
    assert reference() is None


def test_an_interrupt_that_python_would_drop_is_raised_when_the_body_is_done() -> None:
    done = []

    @interrupts_held()
    def body() -> None:
        _drop(lambda _: signal.raise_signal(signal.SIGINT))
        done.append("all of it")

    with pytest.raises(KeyboardInterrupt):
        body()

    assert done == ["all of it"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_second_interrupt_does_not_wait() -> None:
    done = []

    @interrupts_held()
    def body() -> None:
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)
        done.append("too late")

    with pytest.raises(KeyboardInterrupt):
        body()

    assert done == []
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_without_an_interrupt_nothing_happens_and_errors_pass() -> None:
    with pytest.raises(ValueError, match="own"), interrupts_held():
        raise ValueError("own")

    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_thread_that_hears_no_signals_is_left_alone() -> None:
    done = []

    def body() -> None:
        with interrupts_held():
            done.append(1)

    thread = threading.Thread(target=body)
    thread.start()
    thread.join()

    assert done == [1]


def test_an_ignored_interrupt_stays_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with interrupts_held():
            signal.raise_signal(signal.SIGINT)
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("file", ["connection_pool.py", "_synchronization.py"])
def test_an_interrupt_while_the_servers_pages_are_read_leaves_nothing_locked(file: str) -> None:
    # httpcore's lock is taken by a method in Python: an interrupt right after it would leave it taken for ever.
    def taken(frame: FrameType, event: str) -> bool:
        return event == "c_return" and frame.f_code.co_filename.endswith(file) and "acquire" in frame.f_code.co_names

    def locked(frame: FrameType, event: str) -> bool:
        return event == "call" and frame.f_code.co_filename.endswith(file)

    def ask(url: str) -> None:
        with Control(url) as control:
            _interrupt(taken if file == "_synchronization.py" else locked)
            try:
                control.healthy()
            finally:
                sys.setprofile(None)

    with shared(*EAGLE3) as url, pytest.raises(KeyboardInterrupt):
        ask(url)


@pytest.mark.parametrize("place", ["_probe", "watched", "result", "_result"])
def test_an_interrupt_at_the_end_of_a_pass_is_not_lost(place: str) -> None:
    seen: list[str] = []

    def ending(frame: FrameType, event: str) -> bool:
        # The probe is begun once and woken for its end.
        if event == "call" and frame.f_code.co_name == place and "tracker" in frame.f_code.co_filename:
            seen.append(place)
        return len(seen) == (2 if place in ("_probe", "watched") else 1)

    ended = None
    with shared(*EAGLE3) as url:
        hit = _interrupt(ending)
        try:
            ended = load(url, SglangRoute(), streams=1, count=1, tokens=2).ended_early
        except KeyboardInterrupt:
            ended = "interrupted"
        finally:
            sys.setprofile(None)

    assert hit
    assert ended == "interrupted"
