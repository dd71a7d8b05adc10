"""Words where a number belongs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tracker.domain.finding import Finding
from tracker.lint.base import Subject

_WHOLE = "a whole number"
_ANY = "a number"
_SGLANG: Mapping[str, str] = {
    "speculative_num_steps": _WHOLE,
    "speculative_eagle_topk": _WHOLE,
    "speculative_num_draft_tokens": _WHOLE,
    "speculative_accept_threshold_single": _ANY,
    "speculative_accept_threshold_acc": _ANY,
    "tp_size": _WHOLE,
    "dp_size": _WHOLE,
    "ep_size": _WHOLE,
    "pp_size": _WHOLE,
    "mem_fraction_static": _ANY,
    "max_running_requests": _WHOLE,
    "max_total_tokens": _WHOLE,
    "cuda_graph_max_bs": _WHOLE,
    "context_length": _WHOLE,
    "chunked_prefill_size": _WHOLE,
    "page_size": _WHOLE,
    "port": _WHOLE,
}
_VLLM: Mapping[str, str] = {
    "num_speculative_tokens": _WHOLE,
    "tensor_parallel_size": _WHOLE,
    "pipeline_parallel_size": _WHOLE,
    "data_parallel_size": _WHOLE,
    "gpu_memory_utilization": _ANY,
    "max_num_seqs": _WHOLE,
    "max_num_batched_tokens": _WHOLE,
    "port": _WHOLE,
}
_NUMBERS = {"sglang": ("SGLang", _SGLANG), "vllm": ("vLLM", _VLLM)}


class NumberValues:
    """A flag that takes a number was given something else.

    The server's own parser refuses it, after the minute or two in which a batch job waits for its GPUs; other checks
    see no number and say nothing. A shell variable may hold anything and is passed over.

    Sources: argparse types of SGLang 0.5.23 ServerArgs and vLLM 0.32 EngineArgs.
    """

    codes = ("FLAG_NOT_A_NUMBER",)

    def check(self, subject: Subject) -> Iterator[Finding]:
        """Yield one finding for each such flag."""
        server = subject.server
        if server is None or server.arguments or server.engine not in _NUMBERS:
            return
        engine, numbers = _NUMBERS[server.engine]
        for name, kind in numbers.items():
            value = server.typed.get(name)
            if isinstance(value, str) and "$" not in value:
                flag = f"--{name.replace('_', '-')}"
                yield Finding(
                    code=self.codes[0],
                    severity="error",
                    message=f"{flag} is {value[:40]!r}: {engine} wants {kind} and ends while it starts.",
                    fix=f"Give {flag} {kind}.",
                    confidence="certain",
                )


RULE = NumberValues()
