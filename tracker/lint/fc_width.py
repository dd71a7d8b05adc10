"""An input projection that does not fit what the target hands over."""

from __future__ import annotations

from collections.abc import Iterator

from tracker.domain.checkpoint import Checkpoint
from tracker.domain.finding import Finding
from tracker.lint.base import Subject


class FcWidth:
    """The width of the drafter's `fc` is not the number of captured layers times the target's hidden size.

    SGLang feeds `fc` with `num_aux_hidden_states` hidden states, else as many as the config lists layer ids, else
    three, each as wide as the target. Another width fails while the first batch runs, or, where the config switches
    auxiliary states off (`use_aux_hidden_state` false), skips `fc` silently.

    Source: SGLang 0.5.23 llama_eagle3.py and model_config.py.
    """

    codes = ("FC_WIDTH_MISMATCH", "AUX_HIDDEN_STATE_OFF")

    def check(self, subject: Subject) -> Iterator[Finding]:
        """Yield the contradiction; silent for drafters that are not EAGLE-3."""
        drafter = subject.drafter
        if drafter is None or drafter.kind != "eagle3":
            return
        if drafter.config.get("use_aux_hidden_state") is False:
            yield Finding(
                code="AUX_HIDDEN_STATE_OFF",
                severity="error",
                message=f"{drafter.name} says use_aux_hidden_state false: the target captures no auxiliary layers, "
                "and the drafter's fc is skipped.",
                fix="Set eagle_config.use_aux_hidden_state to true in the drafter's config.json.",
                confidence="high",
                voids=("acceptance",),
            )
            return
        width, expected = drafter.fc_input_width, _expected(drafter, subject.target)
        if width is None or expected is None or width == expected[0] * expected[1]:
            return
        layers, hidden = expected
        yield Finding(
            code="FC_WIDTH_MISMATCH",
            severity="error",
            message=f"fc of {drafter.name} takes {width} inputs; {layers} layers of {hidden} give {layers * hidden}.",
            fix="Use the drafter that was trained for this target, or correct the layer ids in its config.json.",
            confidence="high",
        )


def _expected(drafter: Checkpoint, target: Checkpoint | None) -> tuple[int, int] | None:
    """Return how many hidden states of which width the server feeds; None when the width is not known."""
    counted = drafter.config.get("num_aux_hidden_states")
    layers = counted if isinstance(counted, int) else len(drafter.aux_layer_ids or ()) or 3
    served = target.hidden_size if target is not None else None
    hidden = served or drafter.target_hidden_size or drafter.hidden_size
    return None if hidden is None else (layers, hidden)


RULE = FcWidth()
