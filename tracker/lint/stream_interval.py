"""Answers sent in larger pieces than they are made."""

from __future__ import annotations

from collections.abc import Iterator

from tracker.domain.finding import Finding
from tracker.lint._fix import with_command
from tracker.lint._subject import argument
from tracker.lint.base import Subject


class StreamInterval:
    """A stream interval above 1 distorts inter-token latency.

    The server then holds tokens back until so many are unsent. The gap between pieces grows and is no inter-token
    latency any more; time per output token and throughput stay right. With speculation a piece already holds a whole
    verify step, so gaps mix two effects.

    Sources: SGLang and vLLM `--stream-interval`; identity TPOT = ITL / accept length, which merged pieces break.
    """

    codes = ("STREAM_INTERVAL_DISTORTS_ITL",)

    def check(self, subject: Subject) -> Iterator[Finding]:
        """Yield an interval above 1."""
        interval = argument(subject, "stream_interval")
        if isinstance(interval, int) and interval > 1:
            yield Finding(
                code=self.codes[0],
                severity="warning",
                message=f"The server streams every {interval} tokens: gaps between pieces are no inter-token latency.",
                fix=with_command(
                    subject.server,
                    "Compare time per output token instead, or measure with --stream-interval 1.",
                    sets={"--stream-interval": "1"},
                ),
                confidence="certain",
            )


RULE = StreamInterval()
