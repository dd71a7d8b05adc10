"""CUDA graphs captured for fewer requests than are sent."""

from __future__ import annotations

from collections.abc import Iterator

from tracker.domain.finding import Finding
from tracker.lint._fix import with_command
from tracker.lint._subject import argument, concurrency, mapping, runs_on
from tracker.lint.base import Subject

_LOW = 8


class CudaGraphMaxBs:
    """The largest batch captured in a CUDA graph is smaller than the load.

    A batch above the largest captured one runs eagerly, which costs a multiple per step and falls on baseline and
    speculation differently: the comparison then measures the graph limit. Without a known load a limit below 8 is only
    mentioned.

    Sources: sgl-project/sglang issues 5274 (limit 2 at 20 streams) and 33483 (about 4 times slower, no recovery).
    """

    codes = ("CUDA_GRAPH_MAX_BS_BELOW_CONCURRENCY", "CUDA_GRAPH_MAX_BS_LOW")

    def check(self, subject: Subject) -> Iterator[Finding]:
        """Yield the limit where it is below the load, or low while the load is unknown."""
        limit = largest_graph(subject)
        if limit is None:
            return
        load = concurrency(subject)
        per_rank = None if load is None else -(-load // _ranks(subject))
        if per_rank is not None and limit < per_rank:
            yield Finding(
                code="CUDA_GRAPH_MAX_BS_BELOW_CONCURRENCY",
                severity="warning",
                message=f"CUDA graphs are captured for up to {limit} requests, {per_rank} run at once: "
                "larger batches fall back to eager steps, in the baseline too.",
                fix=_fix(subject, per_rank),
                confidence="high",
            )
        elif per_rank is None and limit < _LOW:
            yield Finding(
                code="CUDA_GRAPH_MAX_BS_LOW",
                severity="info",
                message=f"CUDA graphs are captured for up to {limit} requests only; above that every step is eager.",
                fix=f"Raise {_flag(subject)} to the load that is to be measured.",
                confidence="high",
            )


def largest_graph(subject: Subject) -> int | None:
    """Return the largest decode batch captured in a CUDA graph; None when not known or when graphs are off."""
    if not runs_on(subject, "sglang", "vllm") or argument(subject, "disable_cuda_graph", "enforce_eager") is True:
        return None
    decode = mapping(mapping(argument(subject, "cuda_graph_config")).get("decode"))
    if decode.get("backend") == "disabled":
        return None
    sizes = argument(subject, "cuda_graph_bs_decode", "cuda_graph_bs", "cuda_graph_sizes", "cudagraph_capture_sizes")
    largest = max((size for size in sizes if isinstance(size, int)), default=None) if isinstance(sizes, list) else None
    named = argument(subject, "cuda_graph_max_bs_decode", "cuda_graph_max_bs", "max_cudagraph_capture_size")
    found = next((value for value in (decode.get("max_bs"), largest, named) if isinstance(value, int)), None)
    return found if found is None or not runs_on(subject, "vllm") else _in_requests(found, subject)


def _in_requests(tokens: int, subject: Subject) -> int:
    """Return vLLM's capture size, which counts tokens, as a number of requests."""
    steps = subject.speculation.num_steps if subject.speculation is not None else None
    return tokens // (1 + (steps or 0))


def _ranks(subject: Subject) -> int:
    ranks = argument(subject, "dp_size", "data_parallel_size")
    return ranks if isinstance(ranks, int) and ranks > 0 else 1


def _fix(subject: Subject, needed: int) -> str:
    step = f"Start with {_flag(subject)} {needed} or more, for both arms, and measure again."
    sizes = ("--cuda-graph-bs", "--cuda-graph-bs-decode")
    return (
        step
        if runs_on(subject, "vllm")
        else with_command(subject.server, step, sets={_flag(subject): str(needed)}, drops=sizes)
    )


def _flag(subject: Subject) -> str:
    if runs_on(subject, "vllm"):
        return "--max-cudagraph-capture-size"
    newer = subject.server is not None and "cuda_graph_config" in subject.server.arguments
    return "--cuda-graph-max-bs-decode" if newer else "--cuda-graph-max-bs"


RULE = CudaGraphMaxBs()
