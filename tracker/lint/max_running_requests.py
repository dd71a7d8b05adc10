"""A cap on running requests that nobody asked for."""

from __future__ import annotations

from collections.abc import Iterator

from tracker.domain.finding import Finding
from tracker.lint._fix import with_command
from tracker.lint._subject import argument, concurrency, is_speculative, known_unset, runs_on
from tracker.lint.base import Subject

RESET = 48


class MaxRunningRequests:
    """Speculation caps the number of requests that run at once.

    SGLang resets an unset `--max-running-requests` to 48 for every speculative algorithm (with a warning since 0.5.5,
    silently since 0.4.5). The baseline keeps its own, far higher limit: above 48 streams the two arms serve different
    loads unless both set the flag. A cap below the load, set or not, makes requests queue.

    Sources: SGLang 0.4.5 to 0.5.23 server_args.py; log line `Max running requests is reset to 48`.
    """

    codes = ("MAX_RUNNING_REQUESTS_RESET", "MAX_RUNNING_REQUESTS_BELOW_CONCURRENCY")

    def check(self, subject: Subject) -> Iterator[Finding]:
        """Yield the reset, as a warning where it bites, and any cap below the load."""
        if not runs_on(subject, "sglang", "vllm") or subject.server is None:
            return
        cap = argument(subject, "effective_max_running_requests_per_dp", "max_running_requests", "max_num_seqs")
        if not isinstance(cap, int):
            return
        load = concurrency(subject)
        bites = load is not None and load > cap
        resolved = subject.server.arguments.get("max_running_requests")
        if is_speculative(subject) and resolved == RESET and known_unset(subject.server, "max_running_requests"):
            yield Finding(
                code="MAX_RUNNING_REQUESTS_RESET",
                severity="warning" if bites else "info",
                message=f"The server set max_running_requests to {RESET} by itself because it speculates"
                + (f", below the {load} streams sent." if bites else "; a baseline keeps its own, higher limit."),
                fix=with_command(
                    subject.server,
                    f"Give both arms the same --max-running-requests{f' {load}' if bites else ''}.",
                    sets={"--max-running-requests": str(load if bites else RESET)},
                ),
                confidence="certain",
            )
        elif bites:
            yield Finding(
                code="MAX_RUNNING_REQUESTS_BELOW_CONCURRENCY",
                severity="warning",
                message=f"At most {cap} requests run at once, {load} are sent: the rest wait in a queue.",
                fix=with_command(
                    subject.server,
                    "Raise the limit for both arms, or measure at a lower load.",
                    sets={"--max-num-seqs" if runs_on(subject, "vllm") else "--max-running-requests": str(load)},
                ),
                confidence="high",
            )


RULE = MaxRunningRequests()
