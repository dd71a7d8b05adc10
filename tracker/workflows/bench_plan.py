"""What a benchmark asks of a server: prompts, loads, repeats."""

from __future__ import annotations

from dataclasses import dataclass

from tracker.domain.workload import Workload
from tracker.load.answers import Sampling
from tracker.load.chat_template import ChatTemplate
from tracker.load.prompts import PromptSet

# A pass in which the last wave of requests weighs much tells little about the load itself.
REQUESTS_PER_STREAM = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """One level of load."""

    concurrency: int | None = None
    """Streams in flight, closed loop; None for an open loop."""
    rate_per_s: float | None = None
    """Arrivals per second, open loop; None for a closed loop."""
    requests: int
    """Requests in one pass."""

    def __str__(self) -> str:
        """Return the load in words."""
        if self.rate_per_s is not None:
            return f"{self.rate_per_s:g} requests/s"
        return f"{self.concurrency} stream{'' if self.concurrency == 1 else 's'}"


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchPlan:
    """One benchmark, the same for every server that it compares."""

    prompts: PromptSet
    """What is sent."""
    loads: tuple[Load, ...]
    """Levels of load, in order."""
    sampling: Sampling
    """How answers are generated."""
    repeats: int = 1
    """Passes per load; the loads take turns within a repeat. With `precision`, the most there may be."""
    precision: float | None = None
    """Stop when the 80 % interval of each load's mean throughput over repeats is within this fraction either way."""
    budget_s: float | None = None
    """Begin no further repeat that would end after this many seconds."""
    warmup_requests: int = 4
    """Requests sent before, not counted; sent two at a time."""
    streamed_fraction: float = 0.0
    """Share of requests whose answer is streamed, for the time to the first token; the rest come whole."""
    flush_cache: bool = True
    """Empty the server's prefix cache before each pass."""
    route: str = "auto"
    """`sglang`, `openai`, `openai-chat`, or `auto`."""
    model: str | None = None
    """Model name for the OpenAI routes; asked from the server when None."""
    chat_template: ChatTemplate | None = None
    """The model's chat template; applied by us but on the route `openai-chat`, where the server applies its own."""
    thinking: bool | None = None
    """Whether the model is to think before it answers; None leaves it to the template."""
    timeout_s: float = 300.0
    """Seconds after which a request has failed."""
    seed: int = 0
    """Seed of arrival times and of the choice of streamed requests."""

    @property
    def requests_per_repeat(self) -> int:
        """Return the requests of one repeat over all loads."""
        return sum(load.requests for load in self.loads)

    def workload(self) -> Workload:
        """Return the plan as the record keeps it."""
        rates = [load.rate_per_s for load in self.loads if load.rate_per_s is not None]
        return Workload(
            prompt_set=self.prompts.name,
            prompt_set_digest=self.prompts.digest,
            prompts=len({item.key for item in self.prompts.prompts}),
            categories=self.prompts.categories,
            temperature=self.sampling.temperature,
            top_p=self.sampling.top_p,
            ignore_eos=self.sampling.ignore_eos,
            max_output_tokens=self.sampling.max_output_tokens,
            concurrencies=tuple(load.concurrency for load in self.loads if load.concurrency is not None),
            request_rate_per_s=rates[0] if rates else None,
            template_digest=None if self.chat_template is None else self.chat_template.digest,
            thinking=self.thinking,
            seed=self.seed,
            warmup_requests=self.warmup_requests,
        )


def closed_loads(concurrencies: tuple[int, ...], *, prompts: int, requests: int | None) -> tuple[Load, ...]:
    """Return closed-loop loads; without a number a pass sends every prompt, and 4 requests a stream at least."""
    return tuple(
        Load(concurrency=streams, requests=requests or max(prompts, REQUESTS_PER_STREAM * streams))
        for streams in concurrencies
    )
