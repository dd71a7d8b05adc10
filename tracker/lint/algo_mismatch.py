"""EAGLE-3 drafters served under an algorithm that ignores what makes them EAGLE-3."""

from __future__ import annotations

from collections.abc import Iterator

from tracker.domain.checkpoint import Checkpoint
from tracker.domain.finding import Confidence, Finding
from tracker.lint._fix import corrected_command, with_json
from tracker.lint._subject import NAMED_EAGLE3, algorithm, drafter_name, listed, lowest_accept_length, runs_on
from tracker.lint.base import Subject

NEAR_ONE = 1.05
_WRONG = frozenset({"EAGLE", "NEXTN"})


class AlgoMismatch:
    """An EAGLE-3 drafter is launched with the algorithm EAGLE (or its alias NEXTN).

    Only EAGLE3 makes the target capture its auxiliary hidden states. Under EAGLE the drafter is handed the target's
    last hidden state; its width equals the drafter's own, so the projection `fc` is skipped without an error, the
    draft ids are not mapped to target ids (`d2t`), and the target's output head replaces the drafter's. The server
    starts, answers, warns of nothing, and accepts nothing: accept length 1.00.

    Sources: SGLang 0.4.5 to 0.5.23 decide by the flag alone (server_args.py, llama_eagle3.py, eagle_worker.py);
    sgl-project/sglang pull request 21272, closed unmerged; issue 25673. A log that names captured layers shows that
    the flag is right; a log that names none shows nothing (0.5.17 writes no such line in either case), but the line
    `Load weight end. ... type=LlamaForCausalLMEagle3` shows what was loaded.
    """

    codes = ("ALGO_MISMATCH_EAGLE_FOR_EAGLE3",)

    def check(self, subject: Subject) -> Iterator[Finding]:
        """Yield the mismatch, with the evidence and how sure it is."""
        used = algorithm(subject)
        if used not in _WRONG:
            return
        evidence, confidence = _evidence(subject)
        if not evidence:
            return
        lowest = lowest_accept_length(subject)
        measured = lowest is not None and lowest < NEAR_ONE
        only_named = confidence == "medium"
        before, after, fix = _flags(subject, used)
        yield Finding(
            code=self.codes[0],
            severity="warning" if only_named and not measured else "error",
            message=_message(subject, used, evidence, lowest if measured else None),
            fix=fix,
            confidence="high" if only_named and measured else confidence,
            voids=() if only_named and not measured else ("acceptance", "speed"),
            flag_before=before,
            flag_after=after,
        )


def _evidence(subject: Subject) -> tuple[list[str], Confidence]:
    """Return what shows that the drafter is EAGLE-3, and how sure that is."""
    drafter = subject.drafter
    loaded = _loaded(subject)
    if loaded is not None:
        return [*(_hard_evidence(drafter) if drafter is not None else []), f"its log loads {loaded}"], "certain"
    if drafter is not None:
        seen = _hard_evidence(drafter)
        if seen:
            return seen, "certain"
        if drafter.kind == "eagle3":
            return list(drafter.kind_evidence) or ["it is described as EAGLE-3"], "high"
        if drafter.kind is not None:
            return [], "high"
    name = drafter_name(subject) or ""
    return ([f"its name says so ({name})"], "medium") if NAMED_EAGLE3.search(name) else ([], "medium")


def _loaded(subject: Subject) -> str | None:
    """Return the EAGLE-3 architecture that the server's log says it loaded."""
    startup = None if subject.server is None else subject.server.startup
    names = () if startup is None else startup.loaded_architectures
    return next((name for name in names if "eagle3" in name.lower()), None)


def _hard_evidence(drafter: Checkpoint) -> list[str]:
    seen = []
    if drafter.architecture is not None and "eagle3" in drafter.architecture.lower():
        seen.append(f"architecture {drafter.architecture}")
    width, hidden = drafter.fc_input_width, drafter.target_hidden_size or drafter.hidden_size
    dflash = drafter.kind in ("dflash", "dspark")
    if width is not None and hidden is not None and width % hidden == 0 and width // hidden >= 3 and not dflash:
        seen.append(f"fc takes {width} = {width // hidden} x {hidden} inputs")
    if drafter.has_draft_vocab_map:
        seen.append("tensors d2t/t2d")
    return seen


def _message(subject: Subject, used: str, evidence: list[str], measured: float | None) -> str:
    name = drafter_name(subject) or "the drafter"
    text = (
        f"The server runs {name} with the algorithm {used}, but the drafter is EAGLE-3: {listed(evidence)}. "
        f"Under {used} the target hands over one hidden state, the drafter's fc is skipped without a word, "
        "and nothing is accepted."
    )
    if measured is None:
        return text
    return f"{text} The measured accept length of {measured:.2f} is what this mistake gives: cause and result fit."


def _flags(subject: Subject, used: str) -> tuple[str, str, str]:
    """Return the flag as it is, as it should be, and the fix."""
    if runs_on(subject, "vllm"):
        right = '"method": "eagle3"'
        command = with_json(subject.server, "--speculative-config", "method", "eagle3")
        return f'"method": "{used.lower()}"', right, command or f"Set {right} in --speculative-config."
    flag = "--speculative-algorithm"
    return f"{flag} {used}", f"{flag} EAGLE3", corrected_command(subject.server, flag, "EAGLE3")


RULE = AlgoMismatch()
