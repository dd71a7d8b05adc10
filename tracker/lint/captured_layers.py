"""An EAGLE-3 server whose log does not say, or says otherwise than the drafter, which layers it captures."""

from __future__ import annotations

from collections.abc import Iterator

from tracker.domain.finding import Finding
from tracker.domain.server import StartupLog
from tracker.lint._subject import algorithm, engine, lowest_accept_length, version
from tracker.lint.base import Subject

_LOW = 1.2
# First vLLM release known to log the layers that the draft model's configuration names (gpu_model_runner.py).
_VLLM_LOGS_SINCE = (0, 11)


class CapturedLayers:
    """An EAGLE-3 server's start-up log has no line about captured layers, or names other layers than the drafter's.

    Only EAGLE3 makes the target capture hidden states for the drafter. vLLM names the layers that the drafter's
    configuration asks for; where it does not, they were not asked for. SGLang 0.5.17 writes no such line even when all
    is well (nine recorded starts), some builds do: there a missing line is told only together with an accept length
    below 1.2, as one more thing that fits. Where a log names layers, they must be the drafter's, or one more each:
    SGLang counts layer inputs, configurations mostly layer outputs. Only whole logs are judged.

    Sources: the founding campaign, whose wrong flag could be seen by this line missing; vLLM gpu_model_runner.py;
    sgl-project/sglang pull request 25454 (ids of one convention read as the other: 0.10 accept length lost).
    """

    codes = ("EAGLE3_CAPTURE_NOT_LOGGED", "CAPTURED_LAYERS_DIFFER")

    def check(self, subject: Subject) -> Iterator[Finding]:
        """Yield a missing line that fits a bad result, and layers that are not the drafter's."""
        startup = None if subject.server is None else subject.server.startup
        if startup is None or not startup.is_whole or algorithm(subject) != "EAGLE3":
            return
        if startup.captured_layers is None:
            yield from _silent(subject)
        else:
            yield from _other(subject, startup)


def _silent(subject: Subject) -> Iterator[Finding]:
    length = lowest_accept_length(subject)
    low = length is not None and length < _LOW
    ids = subject.drafter.aux_layer_ids if subject.drafter is not None else None
    release = version(subject.server)
    expected = engine(subject) == "vllm" and ids is not None and release is not None and release >= _VLLM_LOGS_SINCE
    if not low and not expected:
        return
    fits = f", and the accept length is {length:.3g}" if low and length is not None else ""
    yield Finding(
        code="EAGLE3_CAPTURE_NOT_LOGGED",
        severity="warning",
        message=f"The start-up log of this EAGLE-3 server has no line about captured layers{fits}.",
        fix="Check that the target's class supports EAGLE-3 in this version, that eagle_config stands in the drafter's "
        "config.json with use_aux_hidden_state true, and that its layer ids are there.",
        confidence="medium" if expected else "low",
    )


def _other(subject: Subject, startup: StartupLog) -> Iterator[Finding]:
    ids = subject.drafter.aux_layer_ids if subject.drafter is not None else None
    captured = startup.captured_layers
    if not ids or captured is None or captured in (ids, tuple(layer + 1 for layer in ids)):
        return
    yield Finding(
        code="CAPTURED_LAYERS_DIFFER",
        severity="warning",
        message=f"The server captures layers {list(captured)}, the drafter was trained on {list(ids)}.",
        fix="Put the drafter's layer ids into eagle_config.eagle_aux_hidden_state_layer_ids of its config.json, and "
        "start the server again.",
        confidence="high",
    )


RULE = CapturedLayers()
