"""Load: requests in flight all the time (closed loop), or arriving at random at a given rate (open loop)."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass

from tracker.collector import collector_at_rest
from tracker.load.answers import NO_CONNECTION, TIMED_OUT, Answer, Route
from tracker.load.client import ClientPool, loop_factory
from tracker.load.health import ClientHealth, watched
from tracker.load.interrupts import interrupts_held
from tracker.load.send import Request, send

# A server that refuses this many connections in a row is gone; going on would only count refusals.
GONE_AFTER = 4
# The same for requests that time out, each of which costs the whole time limit.
HANGS_AFTER = 3
# An open loop must not hold arrivals back; this many at once means that the rate is beyond the server.
MAX_OPEN_STREAMS = 1024

OnAnswer = Callable[[Answer], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class PassResult:
    """One pass over the requests."""

    answers: tuple[Answer, ...]
    """Every request that ended, in the order of their ends."""
    wall_s: float
    """From the first request sent to the last one ended."""
    health: ClientHealth
    """What it cost the client."""
    steady_s: float | None = None
    """Seconds during which all streams were busy; None where that never was."""
    steady_output_tokens: float | None = None
    """Output tokens in that time, a request's tokens spread evenly over it."""
    abandoned: int = 0
    """Requests in flight or not yet sent when the pass was ended early; they count as neither done nor failed."""
    ended_early: str | None = None
    """Why the pass did not run to its end; None when it did."""


class LoadGenerator:
    """Sends load to one server; a context manager that keeps connections between passes."""

    def __init__(self, url: str, route: Route, *, streams: int, timeout_s: float, headers: dict[str, str]) -> None:
        """Prepare for at most `streams` requests at once; `timeout_s` bounds a whole request."""
        self._url, self._route, self._timeout_s, self._headers = url.rstrip("/"), route, timeout_s, headers
        self._streams = streams
        with interrupts_held():  # uvloop is imported here
            self._runner = asyncio.Runner(loop_factory=loop_factory())
        self._pool: ClientPool | None = None

    def __enter__(self) -> LoadGenerator:
        """Start the event loop."""
        with interrupts_held():
            self._runner.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        """Close connections and loop."""
        with interrupts_held():
            if self._pool is not None:
                self._runner.run(self._pool.close())
            self._runner.close()

    def closed_loop(self, requests: Sequence[Request], *, streams: int, on_answer: OnAnswer) -> PassResult:
        """Keep `streams` requests in flight until all are answered, and return what came back.

        Ctrl-C ends the pass: what was answered until then is returned with `ended_early`.
        """
        return self._run(lambda: self._closed(requests, streams, on_answer))

    def open_loop(
        self, requests: Sequence[Request], *, rate_per_s: float, seed: int, on_answer: OnAnswer
    ) -> PassResult:
        """Send requests at the times of a Poisson process, whatever is still in flight, and return what came back.

        With `MAX_OPEN_STREAMS` in flight, or as many as the generator was made for, the pass ends: holding a request
        back would hide the wait that the open loop is there to show.
        """
        return self._run(lambda: self._open(requests, rate_per_s, seed, on_answer))

    def _run(self, work: Callable[[], Coroutine[object, object, PassResult]]) -> PassResult:
        results: list[PassResult] = []

        async def keep() -> None:
            # Not returned: when the loop puts the handler of Ctrl-C back, Python writes out a task's whole result.
            results.append(await work())

        try:
            self._runner.run(keep())
        except asyncio.CancelledError:
            # Python's Runner forgets a Ctrl-C that comes while it installs its handler.
            raise KeyboardInterrupt from None
        return results[0]

    def _clients(self) -> ClientPool:
        if self._pool is None:
            self._pool = ClientPool(self._url, streams=self._streams, timeout_s=self._timeout_s, headers=self._headers)
        return self._pool

    async def _closed(self, requests: Sequence[Request], streams: int, on_answer: OnAnswer) -> PassResult:
        pool = self._clients()
        answers: list[Answer] = []
        gone = _Gone()
        # Made before the clock starts, and so are the connections.
        waiting = iter([(request, pool.request(self._route.path, request.body)) for request in requests])
        await pool.connect(min(streams, len(requests)))

        async def stream(index: int) -> None:
            transport = pool.transport(index)
            for request, wire in waiting:
                answer = await send(transport, self._route, request, wire)
                answers.append(answer)
                on_answer(answer)
                if gone.after(answer):
                    return

        async def all_streams() -> None:
            async with asyncio.TaskGroup() as group:
                for index in range(min(streams, len(requests))):
                    group.create_task(stream(index))

        async with watched() as watch:
            ended_early = await _until_interrupt(all_streams())
            health = watch.result()
        return _result(answers, len(requests), health, ended_early or gone.reason, streams=streams)

    async def _open(self, requests: Sequence[Request], rate_per_s: float, seed: int, on_answer: OnAnswer) -> PassResult:
        pool = self._clients()
        answers: list[Answer] = []
        gone = _Gone()
        gaps = random.Random(seed)  # noqa: S311 - arrival times, not secrets

        wires = [pool.request(self._route.path, request.body) for request in requests]
        flying = 0

        async def one(index: int, due_s: float) -> None:
            nonlocal flying
            flying += 1
            answer = await send(pool.transport(index), self._route, requests[index], wires[index], due_s=due_s)
            flying -= 1
            answers.append(answer)
            gone.after(answer)
            on_answer(answer)

        async def arrivals() -> None:
            due_s = time.perf_counter()
            async with asyncio.TaskGroup() as group:
                for index in range(len(requests)):
                    due_s += gaps.expovariate(rate_per_s)
                    await asyncio.sleep(max(0.0, due_s - time.perf_counter()))
                    if flying >= self._streams:
                        gone.reason = f"{flying} requests were in flight: the server cannot keep up with the rate"
                    if gone.reason is not None:
                        return
                    group.create_task(one(index, due_s))

        async with watched() as watch:
            ended_early = await _until_interrupt(arrivals())
            watch.delays_s[:] = [answer.sent_s - answer.due_s for answer in answers if answer.due_s is not None]
            health = watch.result()
        return _result(answers, len(requests), health, ended_early or gone.reason, streams=None)


@dataclass(slots=True)
class _Gone:
    """Whether the server still answers."""

    refused: int = 0
    late: int = 0
    answered_s: float = 0.0
    reason: str | None = None

    def after(self, answer: Answer) -> bool:
        """Return whether to stop sending, this answer counted in."""
        error = answer.error or ""
        self.refused = self.refused + 1 if error.startswith(NO_CONNECTION) else 0
        if answer.error is None:
            self.late, self.answered_s = 0, answer.ended_s
        elif error.startswith(TIMED_OUT) and self.answered_s < answer.sent_s:
            # Others were answered meanwhile? Then the server lives, and this one alone was lost.
            self.late += 1
        if self.reason is None and self.refused >= GONE_AFTER:
            self.reason = f"the server refused {self.refused} connections in a row"
        if self.reason is None and self.late >= HANGS_AFTER:
            self.reason = f"{self.late} requests in a row timed out"
        return self.reason is not None


async def _until_interrupt(work: Coroutine[object, object, None]) -> str | None:
    """Run the work with the garbage collector at rest; return why it was stopped, None when it came to its end."""
    # A collection takes tens of milliseconds of the measured window.
    with collector_at_rest():
        try:
            await work
        except asyncio.CancelledError:
            # asyncio's Runner turns Ctrl-C into this cancellation; what was measured is kept.
            return "interrupted"
    return None


def _result(
    answers: Sequence[Answer], asked: int, health: ClientHealth, ended_early: str | None, *, streams: int | None
) -> PassResult:
    wall_s = max(item.ended_s for item in answers) - min(item.sent_s for item in answers) if answers else 0.0
    steady = _steady(answers, streams) if streams is not None and ended_early is None else None
    return PassResult(
        answers=tuple(answers),
        wall_s=wall_s,
        health=health,
        steady_s=None if steady is None else steady[0],
        steady_output_tokens=None if steady is None else steady[1],
        abandoned=asked - len(answers),
        ended_early=ended_early,
    )


def _steady(answers: Sequence[Answer], streams: int) -> tuple[float, float] | None:
    """Return (seconds, output tokens) of the time in which all streams were busy.

    It ends when a stream finds no further request, which is when the first of the last `streams` requests ends. A
    request's tokens are spread evenly over its time.
    """
    if len(answers) < 2 * streams or any(item.counts is None for item in answers):
        return None
    starts_s = sorted(item.sent_s for item in answers)
    begin_s = starts_s[streams - 1]
    last_sent_s = starts_s[-1]
    ends_s = [item.ended_s for item in answers if item.ended_s >= last_sent_s]
    end_s = min(ends_s, default=begin_s)
    if end_s <= begin_s:
        return None
    tokens = 0.0
    for item in answers:
        overlap_s = min(item.ended_s, end_s) - max(item.sent_s, begin_s)
        if overlap_s > 0 and item.counts is not None and item.counts.output_tokens is not None:
            tokens += item.counts.output_tokens * overlap_s / item.latency_s
    return end_s - begin_s, tokens
