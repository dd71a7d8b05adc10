"""Configurations: the flags that decide step time, and the words people use for them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from tracker.analysis.results import Configuration
from tracker.domain.record import RunRecord, StoredRun

# Arguments that change the time of a step (SGLang names, then vLLM's); memory sizes, ports and seeds do not.
SPEED_FLAGS = (
    "attention_backend",
    "decode_attention_backend",
    "speculative_attention_mode",
    "speculative_draft_attention_backend",
    "moe_runner_backend",
    "moe_a2a_backend",
    "fp8_gemm_runner_backend",
    "quantization",
    "kv_cache_dtype",
    "dtype",
    "tp_size",
    "dp_size",
    "ep_size",
    "pp_size",
    "enable_dp_attention",
    "disable_overlap_schedule",
    "enable_torch_compile",
    "disable_custom_all_reduce",
    "enable_two_batch_overlap",
    "enable_flashinfer_allreduce_fusion",
    "num_continuous_decode_steps",
    "page_size",
    "disable_radix_cache",
    "speculative_token_map",
    "tensor_parallel_size",
    "data_parallel_size",
    "enforce_eager",
    "compilation_config",
)


_Launch = tuple[Any, ...]


def configurations(runs: Sequence[StoredRun], *, by_launch: bool = True) -> dict[str, Configuration]:
    """Return each run's configuration by run id; equal configurations are equal values with one label.

    Runs that say nothing about speculation are left out.

    Args:
        runs: Benchmarks.
        by_launch: Whether servers that were pinned or wrapped in another way are configurations of their own: they are
            no repeats of one another.
    """
    # Thousands of runs of a nightly benchmark share a few dozen launches: each is looked at once.
    launches: dict[_Launch, tuple[Configuration, list[Any]]] = {}
    launched: dict[str, _Launch] = {}
    for run in runs:
        if speculates(run.record) is not None:
            values = _values(run.record, by_launch)
            launched[run.run_id] = launch = _launch(run.record, values)
            if launch not in launches:
                launches[launch] = (_bare(run.record), values)
    flags = {
        kind: _differing([values for found, values in launches.values() if found.speculative is kind])
        for kind in (True, False)
    }
    graphs = {
        kind: {found.cuda_graph for found, _ in launches.values() if found.speculative is kind} - {None}
        for kind in (True, False)
    }
    full = {
        launch: replace(found, other_flags=_flag_values(values, flags[found.speculative]))
        for launch, (found, values) in launches.items()
    }
    labels = _labels(
        {_key(found): found for found in full.values()}, {kind for kind in graphs if len(graphs[kind]) > 1}
    )
    labelled = {launch: replace(found, label=labels[_key(found)]) for launch, found in full.items()}
    return {run_id: labelled[launch] for run_id, launch in launched.items()}


def speculates(record: RunRecord) -> bool | None:
    """Return whether the run's server speculated: as recorded, else by its role, else None."""
    if record.speculation is not None:
        return record.speculation.enabled
    return None if record.role is None else record.role == "candidate"


def same_flags(first: Configuration, second: Configuration) -> bool:
    """Return whether two configurations agree in everything but speculation; an unknown agrees with anything."""
    graphs_agree = None in (first.cuda_graph, second.cuda_graph) or first.cuda_graph == second.cuda_graph
    shared = first.other_flags.keys() & second.other_flags.keys()
    return graphs_agree and all(first.other_flags[name] == second.other_flags[name] for name in shared)


def is_chain(configuration: Configuration) -> bool:
    """Return whether drafting is known to be a chain: one branch a step."""
    return configuration.eagle_topk == 1


def triple(configuration: Configuration) -> str | None:
    """Return `steps-topk-draft tokens`, or None when one of them is unknown."""
    parts = (configuration.num_steps, configuration.eagle_topk, configuration.num_draft_tokens)
    return None if None in parts else "-".join(str(part) for part in parts)


def _bare(record: RunRecord) -> Configuration:
    spec = record.speculation
    if spec is None or not spec.enabled:
        return Configuration(label="", speculative=bool(speculates(record)), cuda_graph=record.cuda_graph)
    return Configuration(
        label="",
        speculative=True,
        algorithm=spec.algorithm,
        num_steps=spec.num_steps,
        eagle_topk=spec.eagle_topk,
        num_draft_tokens=spec.num_draft_tokens,
        cuda_graph=record.cuda_graph,
    )


def _launch(record: RunRecord, values: list[Any]) -> _Launch:
    """Return what two runs of one configuration share, whatever else differs."""
    spec = record.speculation
    drafting = spec and spec.enabled and (spec.algorithm, spec.num_steps, spec.eagle_topk, spec.num_draft_tokens)
    return (speculates(record), drafting or None, record.cuda_graph, repr(values))


def _differing(launches: Sequence[list[Any]]) -> frozenset[str]:
    """Return the flags that do not have one value everywhere, where they have any."""
    columns = zip(_NAMES, zip(*launches, strict=True), strict=False)
    return frozenset(name for name, column in columns if len({str(value) for value in column if value is not None}) > 1)


def _flag_values(values: list[Any], names: frozenset[str]) -> Mapping[str, str]:
    named = zip(_NAMES, values, strict=False)
    return {name: str(value) for name, value in named if name in names and value is not None}


def _values(record: RunRecord, by_launch: bool) -> list[Any]:
    """Return what the run says of each of `_NAMES`, or of those before the launch where that does not count."""
    launch = [found(record.tags) for found in _LAUNCH.values()] if by_launch else []
    if record.server is None:
        return [None] * len(SPEED_FLAGS) + launch
    return [*map(record.server.get, SPEED_FLAGS), *launch]


# What stands before or around the server's program, as a sweep tags it.
_LAUNCH: Mapping[str, Callable[[Mapping[str, str]], str | None]] = {
    "launch_prefix": lambda tags: tags.get("sweep.launch_prefix"),
    "launcher": lambda tags: tags.get("sweep.template") or tags.get("sweep.launcher"),
}


_NAMES = (*SPEED_FLAGS, *_LAUNCH)


def _key(found: Configuration) -> tuple[object, ...]:
    return (
        found.speculative,
        found.algorithm,
        found.num_steps,
        found.eagle_topk,
        found.num_draft_tokens,
        found.cuda_graph,
        tuple(sorted(found.other_flags.items())),
    )


def _labels(
    distinct: Mapping[tuple[object, ...], Configuration], name_graph: set[bool]
) -> dict[tuple[object, ...], str]:
    labels = {key: _label(found, found.speculative in name_graph) for key, found in distinct.items()}
    counts = Counter(labels.values())
    labels = {
        key: label if counts[label] == 1 else ", ".join([label, *_unknown_parts(distinct[key])])
        for key, label in labels.items()
    }
    seen: Counter[str] = Counter()
    for key in sorted(labels, key=str):
        label = labels[key]
        seen[label] += 1
        if seen[label] > 1:
            labels[key] = f"{label} ({seen[label]})"
    return labels


def _label(found: Configuration, name_graph: bool) -> str:
    parts = ["no speculation"]
    if found.speculative:
        name = found.algorithm or "speculative"
        whole = triple(found)
        parts = [f"{name} {whole}"] if whole else [name, *_known_parts(found)]
    if name_graph and found.cuda_graph is not None:
        parts.append("CUDA graph" if found.cuda_graph else "no CUDA graph")
    parts += [f"{name.replace('_', ' ')} {value}" for name, value in sorted(found.other_flags.items())]
    return ", ".join(parts)


def _known_parts(found: Configuration) -> list[str]:
    parts = []
    if found.num_draft_tokens is not None:
        parts.append(f"{found.num_draft_tokens} draft tokens")
    if found.num_steps is not None:
        parts.append(f"{found.num_steps} steps")
    if found.eagle_topk is not None:
        parts.append(f"top-k {found.eagle_topk}")
    return parts


def _unknown_parts(found: Configuration) -> list[str]:
    named = (
        ("steps not recorded", found.num_steps),
        ("draft tokens not recorded", found.num_draft_tokens),
        ("CUDA graph not recorded", found.cuda_graph),
    )
    return [words for words, value in named if value is None and (found.speculative or "graph" in words)]
