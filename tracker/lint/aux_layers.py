"""Auxiliary layers that the target does not have, or that the server does not see."""

from __future__ import annotations

from collections.abc import Iterator

from tracker.domain.finding import Finding
from tracker.lint._subject import runs_on
from tracker.lint.base import Subject


class AuxLayers:
    """The layer ids that feed the drafter lie outside the target, or stand where the server does not look.

    SGLang reads the ids from `eagle_config` only; at the top level of config.json (the speculators layout) they are
    ignored and the defaults 2, L//2 and L-3 are captured instead, whatever the drafter was trained on. Ids count layer
    outputs, and lie between 0 and the number of layers.

    Sources: sgl-project/sglang pull requests 25454 (one layer off costs 0.10 accept length on Kimi-K2.5), 23569 and
    32334; SGLang 0.5.23 model_config.py.
    """

    codes = ("AUX_LAYER_OUTSIDE_TARGET", "AUX_LAYERS_TOP_LEVEL")

    def check(self, subject: Subject) -> Iterator[Finding]:
        """Yield ids that cannot be and ids that are not seen."""
        drafter = subject.drafter
        if drafter is None or drafter.aux_layer_ids is None:
            return
        ids = drafter.aux_layer_ids
        layers = subject.target.num_hidden_layers if subject.target is not None else None
        outside = [layer for layer in ids if layer < 0 or (layers is not None and layer > layers)]
        if outside:
            yield Finding(
                code="AUX_LAYER_OUTSIDE_TARGET",
                severity="error",
                message=f"{drafter.name} wants layer {outside[0]} of a target with {layers} layers (ids {list(ids)}).",
                fix="Use a drafter that was trained for this target.",
                confidence="certain",
                voids=("acceptance",),
            )
        top_level = drafter.kind == "eagle3" and drafter.config.get("aux_layer_ids_in") == "top level"
        if top_level and runs_on(subject, "sglang") and subject.server is not None and not _is_default(ids, layers):
            yield Finding(
                code="AUX_LAYERS_TOP_LEVEL",
                severity="warning",
                message=f"The layer ids {list(ids)} of {drafter.name} stand at the top level of config.json, "
                "where SGLang ignores them and captures its default layers.",
                fix="Move eagle_aux_hidden_state_layer_ids into eagle_config in the drafter's config.json.",
                confidence="high",
            )


def _is_default(ids: tuple[int, ...], layers: int | None) -> bool:
    """Return whether the ids name the layers that SGLang captures by default (ids are outputs, the default inputs)."""
    return layers is not None and ids in ((1, layers // 2 - 1, layers - 4), (2, layers // 2, layers - 3))


RULE = AuxLayers()
