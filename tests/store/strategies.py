"""Any value of our dataclasses, drawn from the types of their fields."""

from __future__ import annotations

import dataclasses
import math
import types
import typing
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from typing import Any, Literal, Union, get_args, get_origin

from hypothesis import strategies as st

from tracker.domain.campaign import Traffic
from tracker.store.codec import FLOAT_KEY

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False) | TEXT,
    lambda children: st.lists(children, max_size=3) | st.dictionaries(TEXT, children, max_size=3),
    max_leaves=6,
).filter(lambda value: FLOAT_KEY not in str(value))
EARLIEST, LATEST = datetime(1990, 1, 1), datetime(2200, 1, 1)  # noqa: DTZ001 - hypothesis adds the zone


def _shares(keys: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[Any, float]]:
    weights = st.dictionaries(keys, st.floats(0.01, 1.0), max_size=3)
    return weights.map(lambda given: {key: weight / math.fsum(given.values()) for key, weight in given.items()})


SIMPLE: dict[Any, st.SearchStrategy[Any]] = {
    str: TEXT,
    int: st.integers(-(2**62), 2**62),
    float: st.floats(allow_nan=False),
    bool: st.booleans(),
    bytes: st.binary(max_size=20),
    datetime: st.datetimes(EARLIEST, LATEST, timezones=st.just(UTC)),
    type(None): st.none(),
    Any: JSON,
    Traffic: st.builds(Traffic, by_concurrency=_shares(st.integers(1, 4096)), by_category=_shares(TEXT)),
}


@cache
def values(kind: Any) -> st.SearchStrategy[Any]:
    """Return a strategy for a type as our dataclasses use them."""
    if kind in SIMPLE:
        return SIMPLE[kind]
    if dataclasses.is_dataclass(kind):
        hints = typing.get_type_hints(kind)
        return st.fixed_dictionaries({name: values(hint) for name, hint in hints.items() if name in _names(kind)}).map(
            lambda given: kind(**_agreeing(given))
        )
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is Literal:
        return st.sampled_from(arguments)
    if origin in (Union, types.UnionType):
        return st.one_of(*(values(argument) for argument in arguments))
    if origin is tuple:
        return st.lists(values(arguments[0]), max_size=2).map(tuple)
    if origin is Mapping:
        return st.dictionaries(TEXT, values(arguments[1]), max_size=2)
    raise TypeError(f"no strategy for {kind}")


def _agreeing(given: dict[str, Any]) -> dict[str, Any]:
    """Return the fields with the one rule between two of them kept: the load that decides has a share."""
    traffic = given.get("traffic")
    if traffic is None or not traffic.by_concurrency:
        return given
    return {**given, "decision_concurrency": min(traffic.by_concurrency)}


def _names(kind: Any) -> set[str]:
    return {field.name for field in dataclasses.fields(kind) if field.name != "schema_version"}
