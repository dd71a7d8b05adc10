"""Depth, branches and number of draft tokens that do not make sense together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tracker.domain.finding import Finding
from tracker.domain.server import ServerConfig
from tracker.lint._fix import with_command
from tracker.lint._subject import EAGLE_FAMILY, algorithm, argument, concurrency, known_unset, listed, runs_on
from tracker.lint.base import Subject

# Tokens verified in one step over all streams; beyond this a step is bound by compute and verification is not free.
HEAVY_STEP_TOKENS = 512
_TREE_BACKENDS = frozenset({"flashinfer", "fa3", "triton"})
_NAMES = ("speculative_num_steps", "speculative_eagle_topk", "speculative_num_draft_tokens")


class DraftTree:
    """The draft tree is larger than can be filled, too heavy for the load, half specified, or not supported.

    A tree of `steps` levels with topk branches holds 1 + topk + (steps - 1) topk^2 tokens; verifying more pads.
    Giving some of the three numbers and not the others crashes SGLang while it starts (bare assert, or a TypeError).
    Trees need an attention backend that masks them: with pages larger than 1 only flashinfer, fa3 and triton, and
    never trtllm_mha. At many streams a wide tree multiplies the verified tokens: at 32 streams with 32 tokens each no
    drafter can pay.

    Sources: SGLang 0.5.23 speculative_hook.py; sgl-project/sglang pull request 34361; BaldEagle issue 15 (tree of 32 at
    32 streams: 1300 against 2700 tok/s, break-even 8.3 of at most 6).
    """

    codes = (
        "DRAFT_TOKENS_EXCEED_TREE",
        "SPEC_TRIPLE_INCOMPLETE",
        "TREE_UNSUPPORTED_BACKEND",
        "TREE_AT_HIGH_CONCURRENCY",
    )

    def check(self, subject: Subject) -> Iterator[Finding]:
        """Yield what is wrong with the three numbers."""
        if subject.speculation is None or algorithm(subject) not in EAGLE_FAMILY or not runs_on(subject, "sglang"):
            return
        yield from _incomplete(subject)
        steps, topk = subject.speculation.num_steps, subject.speculation.eagle_topk
        tokens = subject.speculation.num_draft_tokens
        if topk is None or topk <= 1:
            return
        yield from _backend(subject, topk)
        if steps is not None and tokens is not None:
            size = 1 + topk + (steps - 1) * topk * topk
            if tokens > size:
                yield Finding(
                    code="DRAFT_TOKENS_EXCEED_TREE",
                    severity="warning",
                    message=f"{tokens} tokens are verified a step, {steps} levels with topk {topk} hold {size}.",
                    fix=with_command(
                        subject.server,
                        f"Use at most --speculative-num-draft-tokens {size}.",
                        sets={"--speculative-num-draft-tokens": str(size)},
                    ),
                    confidence="certain",
                )
        load = concurrency(subject)
        if load is not None and tokens is not None and load * tokens >= HEAVY_STEP_TOKENS:
            yield Finding(
                code="TREE_AT_HIGH_CONCURRENCY",
                severity="warning",
                message=f"A tree of {tokens} tokens at {load} streams verifies {load * tokens} tokens a step: "
                "the step then costs far more than a plain one, whatever the drafter accepts.",
                fix="Use a chain (topk 1, two or three steps) at this load, or no speculation above some batch size.",
                confidence="medium",
            )


def _incomplete(subject: Subject) -> Iterator[Finding]:
    server = subject.server
    if server is None or not all(name in server.typed or known_unset(server, name) for name in _NAMES):
        return
    given = [name for name in _NAMES if name in server.typed]
    if given and len(given) < len(_NAMES):
        missing = _flags(name for name in _NAMES if name not in server.typed)
        yield Finding(
            code="SPEC_TRIPLE_INCOMPLETE",
            severity="error",
            message=f"{_flags(given)} without {missing}: SGLang takes all three or none, and fails while it starts.",
            fix=_completed(server, missing),
            confidence="high",
        )


def _completed(server: ServerConfig, missing: str) -> str:
    """Return the command as a chain of the steps that were given, else without any of the three."""
    steps = server.typed.get("speculative_num_steps")
    if not isinstance(steps, int):
        dropped = [f"--{name.replace('_', '-')}" for name in _NAMES]
        return with_command(server, f"Add {missing}, or leave out all three.", drops=dropped)
    topk = server.typed.get("speculative_eagle_topk", 1)
    tokens = server.typed.get("speculative_num_draft_tokens", steps + 1)
    sets = {"--speculative-eagle-topk": str(topk), "--speculative-num-draft-tokens": str(tokens)}
    return with_command(server, f"Add {missing}, or leave out all three.", sets=sets)


def _flags(names: Iterable[str]) -> str:
    return listed(f"--{name.replace('_', '-')}" for name in names)


def _backend(subject: Subject, topk: int) -> Iterator[Finding]:
    backend, pages = argument(subject, "attention_backend"), argument(subject, "page_size")
    paged = isinstance(pages, int) and pages > 1
    if backend is None or (backend != "trtllm_mha" and not (paged and backend not in _TREE_BACKENDS)):
        return
    why = f"with pages of {pages} " if backend != "trtllm_mha" else ""
    yield Finding(
        code="TREE_UNSUPPORTED_BACKEND",
        severity="error",
        message=f"topk {topk} needs tree attention, which {backend} {why}does not have: SGLang refuses to start.",
        fix=with_command(
            subject.server,
            "Use topk 1, or --attention-backend flashinfer, fa3 or triton.",
            sets={"--attention-backend": "fa3"},
        ),
        confidence="high",
    )


RULE = DraftTree()
