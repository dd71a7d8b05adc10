"""From an entry of `[sweep]` to the words and variables that its engine understands."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from dataclasses import dataclass

from tracker.domain.redaction import clean_text, redact_argv
from tracker.engines import engines
from tracker.errors import InputError
from tracker.workflows.sweep_tables import ServerTable, SweepTable, Words

SHAPE_HINT = 'Write e.g. shape = "3-1-4".'


@dataclass(frozen=True, slots=True, kw_only=True)
class Spoken:
    """The speculative part of one server in its engine's words."""

    flags: tuple[str, ...] = ()
    """Arguments."""
    environment: Mapping[str, str] | None = None
    """Variables; None when there are none."""


def split_words(words: Words) -> tuple[str, ...]:
    """Return a command or flags as words."""
    return tuple(shlex.split(words)) if isinstance(words, str) else tuple(words)


def engine_of(launch: tuple[str, ...]) -> str | None:
    """Return the engine that a launch command starts, prefixes such as `taskset` included; None when not known."""
    return next((engine.name for engine in engines() if engine.claims_argv(launch)), None)


def launch_prefix(launch: tuple[str, ...]) -> str | None:
    """Return what stands before the engine's program (`taskset -c 0-3`), secrets removed; None when not known."""
    spans = (engine.launch_span(launch) for engine in engines())
    span = next((span for span in spans if span is not None), None)
    return None if span is None else " ".join(redact_argv(launch[: span[0]])) or "none"


def launcher_tags(table: SweepTable) -> dict[str, str]:
    """Return how servers are started: what pins or wraps them changes their speed and is no flag of theirs."""
    prefix = launch_prefix(split_words(table.launch))
    wrapped = None if table.launcher == "local" else table.template
    return {
        "sweep.launcher": table.launcher,
        **({} if prefix is None else {"sweep.launch_prefix": prefix}),
        **({} if wrapped is None else {"sweep.template": clean_text(wrapped)}),
    }


def model_words(launch: tuple[str, ...], target: str) -> tuple[str, ...]:
    """Return how the engine is given its target: `vllm serve` takes it by position, the others by a flag."""
    if engine_of(launch) != "vllm":
        return ("--model-path", target)
    return (target,) if launch[-1] == "serve" else ("--model", target)


def speculative_words(entry: ServerTable, drafter: str | None, engine: str | None, where: str) -> Spoken:
    """Return the speculative arguments of one server, and the variables that force its acceptance.

    Raises:
        InputError: The shape is none, or the engine cannot draft it; an accept length that no such server can have.
    """
    shape = _shape(entry.shape, where)
    _check_simulated(entry, shape, where)
    if engine == "vllm":
        return _vllm(entry, drafter, shape, where)
    flags: list[str] = []
    if entry.algorithm is not None:
        flags += ["--speculative-algorithm", entry.algorithm]
    if drafter is not None:
        flags += ["--speculative-draft-model-path", drafter]
    if shape is not None:
        names = ("--speculative-num-steps", "--speculative-eagle-topk", "--speculative-num-draft-tokens")
        flags += [word for name, value in zip(names, shape, strict=True) for word in (name, str(value))]
    return Spoken(flags=tuple(flags), environment=_sglang_simulated(entry.simulated_accept_length, shape))


def _sglang_simulated(length: float | None, shape: tuple[int, int, int] | None) -> dict[str, str] | None:
    """Return SGLang's variables; 0.4.9 to 0.5.23 read the same names and ignore those they do not know yet.

    `match-expected` draws the two whole lengths around the one asked for, so that the mean is exact (eagle_utils.py and
    spec_utils.py, 0.5.17). Real draft tokens keep the text a text, but the server refuses them for trees.
    """
    if length is None:
        return None
    chain = shape is not None and shape[1] == 1
    return {
        "SGLANG_SIMULATE_ACC_LEN": f"{length:g}",
        "SGLANG_SIMULATE_ACC_METHOD": "match-expected",
        "SGLANG_SIMULATE_ACC_TOKEN_MODE": "real-draft-token" if chain else "fixed",
    }


def _vllm(entry: ServerTable, drafter: str | None, shape: tuple[int, int, int] | None, where: str) -> Spoken:
    """Return `--speculative-config`; synthetic rejection is vllm-project/vllm pull request 39359."""
    if entry.algorithm is None:
        return Spoken()
    if shape is not None and (shape[1] != 1 or shape[2] != shape[0] + 1):
        raise InputError(
            f"vLLM drafts chains only, and shape {entry.shape!r} is none",
            where=where,
            hint=f'Write shape = "{shape[0]}-1-{shape[0] + 1}".',
        )
    settings: dict[str, object] = {"method": entry.algorithm.lower()}
    if drafter is not None:
        settings["model"] = drafter
    if shape is not None:
        settings["num_speculative_tokens"] = shape[0]
    if entry.simulated_accept_length is not None:
        settings["rejection_sample_method"] = "synthetic"
        settings["synthetic_acceptance_length"] = entry.simulated_accept_length
    return Spoken(flags=("--speculative-config", json.dumps(settings)))


def _shape(shape: str | None, where: str) -> tuple[int, int, int] | None:
    """Return draft steps, branches and draft tokens; None when the server chooses."""
    if shape is None:
        return None
    parts = shape.split("-")
    if len(parts) != 3 or not all(part.isdigit() for part in parts):
        raise InputError(f"shape {shape!r} is not STEPS-TOPK-DRAFT_TOKENS", where=where, hint=SHAPE_HINT)
    steps, branches, tokens = (int(part) for part in parts)
    return steps, branches, tokens


def _check_simulated(entry: ServerTable, shape: tuple[int, int, int] | None, where: str) -> None:
    length = entry.simulated_accept_length
    if length is None:
        return
    if entry.algorithm is None:
        raise InputError(
            "simulated_accept_length is given for a server that does not speculate",
            where=where,
            hint='Add algorithm = "EAGLE3" (or another) to the same entry.',
        )
    # SGLang cuts a length outside of this range without a word, and the record would claim what did not run.
    most = None if shape is None else shape[0] + 1
    if length < 1 or (most is not None and length > most):
        limit = "at least 1" if most is None else f"between 1 and {most} for shape {entry.shape}"
        raise InputError(
            f"simulated_accept_length = {length:g} cannot be: the bonus token included, it is {limit}",
            where=where,
            hint="Correct the length, or draft more steps.",
        )
