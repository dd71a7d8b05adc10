"""Settings that do not go together with speculation."""

from __future__ import annotations

from collections.abc import Iterator

from tracker.domain.finding import Finding
from tracker.lint._fix import command, with_command
from tracker.lint._subject import algorithm, argument, is_speculative, runs_on
from tracker.lint.base import Subject

_NO_DP_ATTENTION = frozenset({"STANDALONE", "NGRAM", "UNO"})
_NEED_DP_HEAD = frozenset({"DFLASH", "DSPARK"})


class SpecConstraints:
    """A setting that the algorithm cannot run with, or that it silently switches off.

    STANDALONE, NGRAM and UNO refuse attention data parallelism; DFLASH and DSPARK need `--enable-dp-lm-head` with it.
    Rejection sampling needs a chain and EAGLE or EAGLE3, and the drafter's vocabulary must be the target's. A hot-token
    map (`--speculative-token-map`) is ignored under EAGLE3.

    Source: SGLang 0.5.23 speculative_hook.py.
    """

    codes = ("SPEC_WITH_DP_ATTENTION", "REJECTION_SAMPLING_UNSUPPORTED", "TOKEN_MAP_IGNORED")

    def check(self, subject: Subject) -> Iterator[Finding]:
        """Yield the settings that do not go together."""
        used = algorithm(subject)
        if used is None or not is_speculative(subject) or not runs_on(subject, "sglang"):
            return
        ranks = argument(subject, "attn_dp_size")
        dp_attention = argument(subject, "enable_dp_attention") is True or (isinstance(ranks, int) and ranks > 1)
        no_head = used in _NEED_DP_HEAD and argument(subject, "enable_dp_lm_head") is not True
        if dp_attention and (used in _NO_DP_ATTENTION or no_head):
            yield Finding(
                code="SPEC_WITH_DP_ATTENTION",
                severity="error",
                message=f"{used} does not run with attention data parallelism"
                + (" without --enable-dp-lm-head." if no_head else "."),
                fix=_with_flag(subject, "--enable-dp-lm-head")
                if no_head
                else with_command(
                    subject.server,
                    "Use EAGLE or EAGLE3, or remove --enable-dp-attention.",
                    drops=["--enable-dp-attention"],
                ),
                confidence="high",
            )
        if argument(subject, "speculative_use_rejection_sampling") is True:
            topk = subject.speculation.eagle_topk if subject.speculation is not None else None
            reduced = subject.drafter is not None and subject.drafter.draft_vocab_size is not None
            smaller = (
                reduced
                and subject.drafter is not None
                and subject.drafter.draft_vocab_size != subject.drafter.vocab_size
            )
            if (topk is not None and topk > 1) or smaller:
                yield Finding(
                    code="REJECTION_SAMPLING_UNSUPPORTED",
                    severity="error",
                    message="Rejection sampling needs topk 1 and a drafter with the target's whole vocabulary.",
                    fix=with_command(
                        subject.server,
                        "Remove --speculative-use-rejection-sampling.",
                        drops=["--speculative-use-rejection-sampling"],
                    ),
                    confidence="high",
                )
        if used == "EAGLE3" and argument(subject, "speculative_token_map") is not None:
            yield Finding(
                code="TOKEN_MAP_IGNORED",
                severity="warning",
                message="--speculative-token-map is ignored under EAGLE3: the drafter's own d2t decides.",
                fix=with_command(
                    subject.server,
                    "For a smaller vocabulary train the drafter with one, and remove the flag.",
                    drops=["--speculative-token-map"],
                ),
                confidence="certain",
            )


def _with_flag(subject: Subject, flag: str) -> str:
    """Return the step that adds a flag without a value, with the whole command where it is known."""
    words = subject.server.argv if subject.server is not None else None
    return f"Add {flag}." if words is None else f"Add {flag}: {command([*words, flag])}"


RULE = SpecConstraints()
