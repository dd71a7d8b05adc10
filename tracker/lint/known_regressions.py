"""Engine versions in which this very combination is known to go wrong."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tracker.domain.finding import Confidence, Finding, Severity
from tracker.lint._subject import EAGLE_FAMILY, algorithm, argument, engine, target_name, version
from tracker.lint.base import Subject

_DEEPSEEK = re.compile(r"(?i)deepseek|kimi")
_VISION = re.compile(r"(?i)(?:qwen[\d.]*[-_]?vl)|vlfor")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Regression:
    """One row of the table."""

    engine: str
    """Engine."""
    first: tuple[int, ...]
    """First version known to have it."""
    last: tuple[int, ...]
    """Last version known to have it."""
    applies: Callable[[Subject], bool]
    """Whether this configuration meets it."""
    what: str
    """What happens, with figures."""
    fix: str
    """The way out."""
    severity: Severity = "warning"
    """How bad."""
    confidence: Confidence = "medium"
    """How sure the table is that this configuration is hit."""


def _shifted_ids(subject: Subject) -> bool:
    """Return whether layer ids count inputs while this version takes them for outputs."""
    drafter, target = subject.drafter, subject.target
    if algorithm(subject) != "EAGLE3" or drafter is None or not drafter.aux_layer_ids or drafter.aux_layer_ids[0] == 1:
        return False
    if drafter.config.get("aux_layer_ids_in") == "top level":
        return False
    names = (target.architecture if target is not None else None, target_name(subject), drafter.architecture)
    return any(name is not None and _DEEPSEEK.search(name) for name in names)


def _dp_attention_v2(subject: Subject) -> bool:
    switched = "" if subject.server is None else subject.server.environment.get("SGLANG_ENABLE_SPEC_V2", "")
    on = switched.lower() in ("1", "true", "yes")
    return on and algorithm(subject) in EAGLE_FAMILY and argument(subject, "enable_dp_attention") is True


def _vision(subject: Subject) -> bool:
    named = (subject.target.architecture if subject.target is not None else None, target_name(subject))
    return algorithm(subject) == "EAGLE3" and any(name is not None and _VISION.search(name) for name in named)


def _eagle(subject: Subject) -> bool:
    return algorithm(subject) in ("EAGLE", "EAGLE3")


_TABLE = (
    _Regression(
        engine="sglang",
        first=(0, 4, 6),
        last=(0, 5, 12),
        applies=_shifted_ids,
        what="captures each of the drafter's layers one too deep on DeepSeek and Kimi targets when the first id is not "
        "1: about 0.10 accept length is lost",
        fix="Use SGLang 0.5.13 or newer.",
        confidence="high",
    ),
    _Regression(
        engine="sglang",
        first=(0, 5, 5),
        last=(0, 5, 7),
        applies=_dp_attention_v2,
        what="loses about a third of the accept length (2.35 to 1.48) with attention data parallelism and "
        "SGLANG_ENABLE_SPEC_V2",
        fix="Use SGLang 0.5.8 or newer, or run without --enable-dp-attention.",
        confidence="high",
    ),
    _Regression(
        engine="sglang",
        first=(0, 5, 5),
        last=(0, 5, 5),
        applies=_vision,
        what="was reported with an accept length of 1.0 for EAGLE-3 on Qwen-VL, where 0.5.4 gave 2.2",
        fix="Measure with 0.5.4 or with the newest version beside it.",
        confidence="low",
    ),
    _Regression(
        engine="vllm",
        first=(0, 17, 1),
        last=(0, 19, 1),
        applies=_eagle,
        what="was reported to lose acceptance of EAGLE drafters over hours of traffic",
        fix="Start the server anew before each arm, or use a newer version.",
        severity="info",
        confidence="low",
    ),
)


class KnownRegressions:
    """This version of the engine is known to lose acceptance with this configuration.

    The table is short on purpose: only what a thread shows with figures, bounded by what the released code says.

    Sources: DeepSeek and Kimi targets: layer ids taken for outputs always up to 0.5.12, and only where the first is 1
    from 0.5.13 on (deepseek_v2.py in the wheels; sgl-project/sglang pull request 25454). Attention data parallelism
    with the second speculative worker: num_tokens_for_logprob_per_batch=1 up to 0.5.7, corrected in 0.5.8
    (eagle_worker_v2.py in the wheels; issue 16274, pull request 16310). Qwen-VL: SpecForge issue 310, one reader's
    figures. vLLM over hours: vllm-project/vllm issue 41838.
    """

    codes = ("ENGINE_REGRESSION",)

    def check(self, subject: Subject) -> Iterator[Finding]:
        """Yield every row that this server meets; nothing where the version is not known."""
        running = version(subject.server)
        if running is None:
            return
        for row in _TABLE:
            if row.engine == engine(subject) and row.first <= running <= row.last and row.applies(subject):
                shown = ".".join(str(part) for part in running)
                yield Finding(
                    code=self.codes[0],
                    severity=row.severity,
                    message=f"{'SGLang' if row.engine == 'sglang' else 'vLLM'} {shown} {row.what}.",
                    fix=row.fix,
                    confidence=row.confidence,
                )


RULE = KnownRegressions()
