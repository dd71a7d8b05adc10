"""The collector of garbage is as it was afterwards, whatever happens inside."""

from __future__ import annotations

import contextlib
import gc

import pytest

from tracker.collector import collector_at_rest, collector_at_work


@pytest.mark.parametrize("was_on", [True, False])
def test_the_collector_is_as_it_was_afterwards(was_on: bool) -> None:
    before = gc.isenabled()
    (gc.enable if was_on else gc.disable)()
    states = []
    try:
        with contextlib.suppress(KeyError), collector_at_rest():
            states.append(gc.isenabled())
            with collector_at_work():
                states.append(gc.isenabled())
            states.append(gc.isenabled())
            raise KeyError
        states.append(gc.isenabled())
    finally:
        (gc.enable if before else gc.disable)()

    assert states == [False, True, False, was_on]
