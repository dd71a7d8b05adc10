"""A context longer than the drafter has positions for."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tracker.domain.finding import Finding, Severity
from tracker.lint._fix import with_command
from tracker.lint._subject import argument, drafter_name, is_speculative, runs_on, target_name
from tracker.lint.base import Subject

# Context that a target serves when no flag limits it, for targets known by name only (their published configs).
_CONTEXT_BY_NAME = (
    (re.compile(r"(?i)llama-?3\.[123]"), 131_072),
    (re.compile(r"(?i)llama-?3(?![.\d])"), 8_192),
    (re.compile(r"(?i)qwen2\.5-(?!vl)"), 32_768),
    (re.compile(r"(?i)qwen3-"), 40_960),
    (re.compile(r"(?i)deepseek-?(?:v3|r1)"), 163_840),
    (re.compile(r"(?i)kimi-?k2(?:\.[56]|-thinking)"), 262_144),
    (re.compile(r"(?i)gpt-oss"), 131_072),
)


class DraftMaxPosition:
    """The server takes longer contexts than the drafter was configured for.

    Many published EAGLE-3 drafters say max_position_embeddings 2048. Beyond it vLLM stops with a device-side assert
    (eager mode only hides the check), and SGLang reads rotary positions the drafter never saw: acceptance falls with
    the context. Where the workload's lengths are known to stay below, nothing is said.

    Sources: vllm-project/vllm issues 48894 and 23072; SpecForge pull request 271 and issue 249; speculators pull
    request 684 (accept length 2.30 at 2k, 1.09 at 16k tokens).
    """

    codes = ("DRAFT_MAX_POSITION_BELOW_CONTEXT",)

    def check(self, subject: Subject) -> Iterator[Finding]:
        """Yield the limit; an error where the engine crashes, a warning where acceptance suffers."""
        drafter = subject.drafter
        if drafter is None or drafter.kind == "model" or drafter.max_position_embeddings is None:
            return
        if not is_speculative(subject):
            return
        context, whence = _context(subject)
        limit = drafter.max_position_embeddings
        on_vllm = runs_on(subject, "vllm")
        if context is None or context <= limit or (_longest(subject) is not None and not on_vllm):
            return
        severity: Severity = "error" if on_vllm else "warning"
        flag = "--max-model-len" if on_vllm else "--context-length"
        yield Finding(
            code=self.codes[0],
            severity=severity,
            message=f"{drafter_name(subject)} knows {limit} positions, the server takes {context} ({whence}): "
            + ("longer prompts stop it." if on_vllm else "acceptance falls on longer prompts."),
            fix=with_command(
                subject.server,
                f"Use a drafter trained on longer contexts, or limit the server with {flag} {limit}.",
                sets={flag: str(limit)},
            ),
            confidence="high",
        )


def _longest(subject: Subject) -> int | None:
    """Return the workload's longest request where it is known to fit the drafter; None otherwise."""
    workload, drafter = subject.workload, subject.drafter
    if workload is None or drafter is None or drafter.max_position_embeddings is None:
        return None
    if workload.input_tokens_mean is None or workload.max_output_tokens is None:
        return None
    # Means only: twice the mean prompt is taken for the longest.
    longest = round(2 * workload.input_tokens_mean) + workload.max_output_tokens
    return longest if longest <= drafter.max_position_embeddings else None


def _context(subject: Subject) -> tuple[int | None, str]:
    """Return the context the server takes and where that is known from."""
    set_length = argument(subject, "context_length", "max_model_len", "max_seq_len")
    if isinstance(set_length, int):
        return set_length, "by its flags"
    if subject.target is not None and subject.target.max_position_embeddings is not None:
        return subject.target.max_position_embeddings, "from the target's config"
    name = target_name(subject) or ""
    return next(
        ((length, "as the target's own") for pattern, length in _CONTEXT_BY_NAME if pattern.search(name)), (None, "")
    )


RULE = DraftMaxPosition()
