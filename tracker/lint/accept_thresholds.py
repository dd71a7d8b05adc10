"""Acceptance bought with other output."""

from __future__ import annotations

from collections.abc import Iterator

from tracker.domain.finding import Finding
from tracker.lint._fix import with_command
from tracker.lint._subject import is_speculative
from tracker.lint.base import Subject


class AcceptThresholds:
    """An accept threshold below 1 accepts tokens that the target would not have produced.

    Speculative decoding is lossless only with both thresholds at 1. Below it the accept length and the speed rise, and
    the answers are no longer the target's: such a run may be compared with runs at the same thresholds only. The values
    can be changed while the server runs (`/set_internal_state`).

    Source: SGLang 0.5.23 server arguments `speculative_accept_threshold_single` and `_acc`.
    """

    codes = ("ACCEPT_THRESHOLD_BELOW_ONE",)

    def check(self, subject: Subject) -> Iterator[Finding]:
        """Yield the thresholds that are below 1."""
        speculation = subject.speculation
        if speculation is None or not is_speculative(subject):
            return
        values = {
            "--speculative-accept-threshold-single": speculation.accept_threshold_single,
            "--speculative-accept-threshold-acc": speculation.accept_threshold_acc,
        }
        below = {flag: value for flag, value in values.items() if value is not None and value < 1}
        if below:
            given = " ".join(f"{flag} {value:g}" for flag, value in below.items())
            yield Finding(
                code=self.codes[0],
                severity="warning",
                message=f"{given}: the output is no longer that of the target, and acceptance is higher than it earns.",
                fix=with_command(
                    subject.server,
                    "Compare with runs at the same thresholds only, or leave both at 1.",
                    drops=list(below),
                ),
                confidence="certain",
            )


RULE = AcceptThresholds()
