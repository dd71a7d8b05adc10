"""Switches that make every step slower."""

from __future__ import annotations

from collections.abc import Iterator

from tracker.domain.finding import Finding
from tracker.lint._fix import with_command
from tracker.lint._subject import argument, is_speculative, mapping, runs_on, version
from tracker.lint.base import Subject


class SlowPath:
    """CUDA graphs or the overlap scheduler are off.

    A speculative step is many small kernels, so it suffers more than a plain step: the founding campaign had 53 tok/s
    without CUDA graphs and 82 with them at the same accept length. The overlap scheduler hides the host's work; without
    it, or in SGLang 0.5.5 to 0.5.10 without SGLANG_ENABLE_SPEC_V2, the host's time adds to every step. Neither changes
    acceptance: with a healthy accept length and a poor speed, look here first.

    Sources: sgl-project/sglang pull request 4247 (276 to 379 tok/s at equal accept length); SGLang 0.5.4 to 0.5.23.
    """

    codes = ("CUDA_GRAPH_OFF", "OVERLAP_SCHEDULE_OFF")

    def check(self, subject: Subject) -> Iterator[Finding]:
        """Yield what is off; for a plain server it is only mentioned."""
        speculative = is_speculative(subject)
        if graphs_are_off(subject):
            yield Finding(
                code="CUDA_GRAPH_OFF",
                severity="warning" if speculative else "info",
                message="Decoding runs without CUDA graphs: every step pays for launching its kernels one by one.",
                fix=with_command(
                    subject.server,
                    "Remove --disable-cuda-graph (vLLM: --enforce-eager), in both arms.",
                    drops=["--disable-cuda-graph", "--disable-decode-cuda-graph", "--enforce-eager"],
                ),
                confidence="certain",
            )
        if not runs_on(subject, "sglang") or subject.server is None or argument(subject, "device") == "cpu":
            return
        running = version(subject.server)
        older = running is not None and (0, 5, 5) <= running < (0, 5, 11) and speculative
        switched = subject.server.environment.get("SGLANG_ENABLE_SPEC_V2", "").lower() in ("1", "true", "yes")
        if argument(subject, "disable_overlap_schedule") is True or (older and not switched):
            yield Finding(
                code="OVERLAP_SCHEDULE_OFF",
                severity="warning" if argument(subject, "disable_overlap_schedule") is True and speculative else "info",
                message="The overlap scheduler is off: the host's work adds to every step.",
                fix="Set SGLANG_ENABLE_SPEC_V2=1."
                if older
                else with_command(
                    subject.server,
                    "Remove --disable-overlap-schedule, in both arms.",
                    drops=["--disable-overlap-schedule"],
                ),
                confidence="high" if not older else "medium",
            )


def graphs_are_off(subject: Subject) -> bool:
    """Return whether decode graphs are known to be off."""
    decode = mapping(mapping(argument(subject, "cuda_graph_config")).get("decode"))
    return (
        subject.cuda_graph is False
        or argument(subject, "disable_cuda_graph") is True
        or argument(subject, "disable_decode_cuda_graph") is True
        or argument(subject, "enforce_eager") is True
        or "disabled" in (decode.get("backend"), argument(subject, "cuda_graph_backend_decode"))
    )


RULE = SlowPath()
