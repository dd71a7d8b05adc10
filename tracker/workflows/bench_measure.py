"""Measuring one live server: flush, warm up, passes, counters before and after; nothing is logged here."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

from tracker.errors import ServerError
from tracker.load.answers import Answer, Route
from tracker.load.control import Control
from tracker.load.counters import ServerCounters, read_counters
from tracker.load.generator import MAX_OPEN_STREAMS, LoadGenerator, PassResult
from tracker.load.openai_route import OpenAIRoute
from tracker.load.prompts import Prompt
from tracker.load.send import Request
from tracker.load.sglang_route import SglangRoute
from tracker.workflows.bench_measured import Measured, PassRecord
from tracker.workflows.bench_plan import BenchPlan, Load
from tracker.workflows.bench_precision import half_width

_WARMUP_STREAMS = 2
# What a router answers whose servers are still loading, and for how long it is asked again before anything is measured.
_NOT_READY = "answered with HTTP 503"
_READY_S, _AGAIN_S = 60.0, 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """Where a benchmark is."""

    load: Load
    """Load of the pass that runs."""
    repeat: int
    """Repeat index."""
    done: int
    """Requests answered, all passes of this benchmark."""
    planned: int
    """Requests planned."""
    failed: int
    """Requests that failed."""
    elapsed_s: float
    """Since the first measured request."""


OnProgress = Callable[[Progress], None]


def measure(
    url: str,
    plan: BenchPlan,
    *,
    first_repeat: int = 0,
    into: Measured | None = None,
    headers: dict[str, str] | None = None,
    on_progress: OnProgress = lambda _: None,
) -> Measured:
    """Return what the plan's passes over this server brought; Ctrl-C ends it early and keeps what there is.

    Args:
        url: The server.
        plan: What to ask.
        first_repeat: Index of the first repeat, where the server is measured several times.
        into: Earlier passes over the same server to add to.
        headers: Further HTTP headers, an API key for example.
        on_progress: Called after each answer.

    Raises:
        ServerError: Nothing answers at the address.
    """
    headers = headers or {}
    with Control(url, headers=headers) as control:
        route = _route(control, plan)
        measured = into or Measured(started_at=datetime.now(UTC), route=route.name)
        streams = max(load.concurrency or MAX_OPEN_STREAMS for load in plan.loads)
        try:
            with LoadGenerator(url, route, streams=streams, timeout_s=plan.timeout_s, headers=headers) as generator:
                _Passes(generator, control, route, plan, measured, on_progress).run(first_repeat)
        except KeyboardInterrupt:
            # Within a pass the generator ends it; this one came while nothing was in flight.
            measured.ended_early = "interrupted between passes"
    return measured


class _Passes:
    """The passes over one server."""

    def __init__(
        self,
        generator: LoadGenerator,
        control: Control,
        route: Route,
        plan: BenchPlan,
        measured: Measured,
        on_progress: OnProgress,
    ) -> None:
        self._generator, self._control, self._route = generator, control, route
        self._plan, self._measured, self._on_progress = plan, measured, on_progress
        self._done = self._failed = 0
        self._begun_s = 0.0
        self._counted: ServerCounters | None = None

    def run(self, first_repeat: int) -> None:
        warm = self._ready()
        if warm.ended_early is not None:
            self._measured.ended_early = warm.ended_early
            return
        if self._measured.metrics_before is None:
            # After the warm-up, which is in no result: whoever compares the two finds the same requests.
            self._measured.metrics_before = self._control.metrics()
        self._begun_s = time.perf_counter()
        for repeat in range(first_repeat, first_repeat + self._plan.repeats):
            for load in self._plan.loads:
                item = self._pass(load, repeat)
                if item.result.ended_early is not None:
                    self._measured.ended_early = f"{item.result.ended_early} at {load}, repeat {repeat}"
                    return
            if self._enough(repeat - first_repeat + 1):
                return

    def _enough(self, repeats: int) -> bool:
        """Return whether the intervals are narrow enough, or the budget has no room for another repeat."""
        plan, elapsed_s = self._plan, time.perf_counter() - self._begun_s
        if plan.budget_s is not None and elapsed_s * (repeats + 1) / repeats > plan.budget_s:
            return True
        if plan.precision is None:
            return False
        widths = [half_width(self._measured.throughputs(load)) for load in plan.loads]
        return all(width is not None and width <= plan.precision for width in widths)

    def _ready(self) -> PassResult:
        """Warm up, again for a while where nothing but 503 comes back: /health may say yes before the model serves."""
        deadline_s = time.monotonic() + _READY_S
        warm = self._warm_up()
        while warm.answers and all(answer.failure == _NOT_READY for answer in warm.answers):
            if time.monotonic() >= deadline_s:
                break
            time.sleep(_AGAIN_S)
            warm = self._warm_up()
        return warm

    def _warm_up(self) -> PassResult:
        # The last prompts: those that the measured passes reach last, should the cache not be flushed.
        prompts = tuple(reversed(self._plan.prompts.requests(max(1, self._plan.warmup_requests))))
        requests = [self._request(prompt, stream=False) for prompt in prompts[: self._plan.warmup_requests]]
        return self._generator.closed_loop(requests, streams=_WARMUP_STREAMS, on_answer=lambda _: None)

    def _pass(self, load: Load, repeat: int) -> PassRecord:
        plan = self._plan
        if plan.flush_cache:
            self._measured.flushed = self._control.flush_cache() and self._measured.flushed is not False
        before = self._counters()
        prompts = plan.prompts.requests(load.requests)
        streamed = _streamed(len(prompts), plan)
        requests = [self._request(prompt, stream=index in streamed) for index, prompt in enumerate(prompts)]

        def on_answer(answer: Answer) -> None:
            self._done += 1
            self._failed += answer.error is not None
            self._on_progress(
                Progress(
                    load=load,
                    repeat=repeat,
                    done=self._done,
                    planned=plan.repeats * plan.requests_per_repeat,
                    failed=self._failed,
                    elapsed_s=time.perf_counter() - self._begun_s,
                )
            )

        if load.rate_per_s is not None:
            seed = plan.seed + repeat
            result = self._generator.open_loop(requests, rate_per_s=load.rate_per_s, seed=seed, on_answer=on_answer)
        else:
            result = self._generator.closed_loop(requests, streams=load.concurrency or 1, on_answer=on_answer)
        counters: ServerCounters | None = None
        try:
            after = None if before is None else self._counters()
            counters = None if before is None or after is None else after.since(before)
        finally:
            # Also when Ctrl-C comes while the counters are read: the pass is whole without them.
            item = PassRecord(load=load, repeat=repeat, result=result, counters=counters)
            self._measured.passes.append(item)
        return item

    def _counters(self) -> ServerCounters | None:
        """Return the server's counters, and take note of it when they began anew."""
        now, last = read_counters(self._control.metrics()), self._counted
        if now is not None:
            self._measured.restarted |= last is not None and now.since(last) is None
            self._counted = now
        return now

    def _request(self, prompt: Prompt, *, stream: bool) -> Request:
        sampling = self._plan.sampling
        body = self._route.body(prompt, sampling, stream=stream)
        return Request(prompt=prompt, body=body, sampling=sampling, stream=stream, timeout_s=self._plan.timeout_s)


def _streamed(count: int, plan: BenchPlan) -> frozenset[int]:
    """Return which of so many requests are streamed: the same in every arm and repeat, so that none is favoured."""
    if plan.streamed_fraction <= 0:
        return frozenset()
    chosen = random.Random(plan.seed)  # noqa: S311 - a sample, not a secret
    return frozenset(chosen.sample(range(count), max(1, round(plan.streamed_fraction * count))))


def _route(control: Control, plan: BenchPlan) -> Route:
    name, sglang = plan.route, False
    if name != "sglang":
        sglang = control.speaks_sglang()
        name = ("sglang" if sglang else "openai") if name == "auto" else name
    if name == "sglang":
        return SglangRoute(template=plan.chat_template, thinking=plan.thinking)
    if name not in ("openai", "openai-chat"):
        raise ServerError(f"there is no route {name!r}", hint="Use sglang, openai or openai-chat.")
    return OpenAIRoute(
        model=plan.model or control.model(),
        chat=name == "openai-chat",
        sglang=sglang,
        template=plan.chat_template,
        thinking=plan.thinking,
    )
