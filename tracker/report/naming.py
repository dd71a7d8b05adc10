"""What rows, runs and options are called in the memo."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tracker.analysis.results import CampaignAnalysis, Configuration, OptionAssessment, Point
from tracker.report import format as fmt
from tracker.report.spans import Rich, Span, join, number, rich

MAX_OPTIONS = 8
MAX_RUNS = 16
ALWAYS = ("keep_baseline", "deploy_best")
_VARIANT = re.compile(r"(_\d+)+$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Names:
    """Labels that are unique inside one memo."""

    shorts: Mapping[str, str]
    """Run id to `r5`."""
    rows: Mapping[str, str]
    """Run id to the words of its row: configuration, and drafter where that differs."""
    graph_varies: bool
    """Whether speculative runs differ in CUDA graphs, so that charts group by it."""

    def run(self, run_id: str) -> Span:
        """Return a link to the run's row, e.g. `r5`."""
        return Span(text=self.shorts.get(run_id, run_id), style="run", run_id=run_id)

    def runs(self, run_ids: Sequence[str]) -> Rich:
        """Return links to several runs, `r4, r5, r6`; of very many the first: memo.json has them all."""
        order = sorted(run_ids, key=self._order)
        left = len(order) - MAX_RUNS
        if left < 2:
            return join([self.run(run_id) for run_id in order], ", ")
        more = number(f"{left:,}", left, "runs beyond those named", order[MAX_RUNS:])
        return rich(join([self.run(run_id) for run_id in order[:MAX_RUNS]], ", "), " and ", more, " more")

    def row(self, point: Point) -> str:
        """Return the words of a point's row."""
        return self.rows[point.run_id]

    def configuration(self, configuration: Configuration) -> str:
        """Return the words of a configuration, whatever drafter it serves."""
        if configuration.num_draft_tokens is None and configuration.num_steps is None:
            return configuration.label
        return configuration_words(configuration, graph=self.graph_varies)

    def _order(self, run_id: str) -> tuple[int, str]:
        short = self.shorts.get(run_id, run_id)
        return (int(short[1:]) if short[1:].isdigit() else 0, short)


def name_runs(analysis: CampaignAnalysis) -> Names:
    """Return the labels of every run of `analysis`."""
    ids = list(dict.fromkeys(point.run_id for point in analysis.points))
    noted = [note.run_ids for note in (*analysis.rejected, *analysis.data_quality)]
    shared = [finding.run_ids for finding in analysis.findings]
    for run_ids in (*noted, *shared):
        ids.extend(run_id for run_id in run_ids if run_id not in ids)
    varies = _graph_varies(analysis.points)
    return Names(
        shorts={run_id: f"r{index}" for index, run_id in enumerate(ids, start=1)},
        rows=_row_words(analysis.points, varies),
        graph_varies=varies,
    )


def configuration_words(configuration: Configuration, *, graph: bool) -> str:
    """Return a configuration in words: `5 draft tokens, 2 steps, CUDA graph`, `chain of 3`, `tree of 16`.

    Args:
        configuration: Flags without the drafter.
        graph: Whether to say if it decodes in CUDA graphs.
    """
    if not configuration.speculative:
        words = ["Baseline, no speculation"]
    elif configuration.num_draft_tokens is None and configuration.num_steps is None:
        words = [configuration.algorithm or configuration.label]
    else:
        words = _depth_words(configuration)
    if graph and configuration.cuda_graph is not None:
        words.append("CUDA graph" if configuration.cuda_graph else "no graph")
    words.extend(f"{name} {value}" for name, value in sorted(configuration.other_flags.items()))
    return ", ".join(words)


def _depth_words(configuration: Configuration) -> list[str]:
    steps, tokens = configuration.num_steps, configuration.num_draft_tokens
    if configuration.eagle_topk == 1 and steps is not None:
        return [f"chain of {steps}"]
    if configuration.eagle_topk is not None and configuration.eagle_topk > 1 and tokens is not None:
        return [f"tree of {tokens}", *([f"{steps} steps"] if steps is not None else [])]
    words = [fmt.plural(tokens, "draft token")] if tokens is not None else []
    return words + ([fmt.plural(steps, "step")] if steps is not None else [])


def short_words(words: str, limit: int = 38) -> str:
    """Return words for a chart, cut where they would run into the value beside them.

    What tells two drafters or runs apart stands at the end as often as at the start, so both ends stay.
    """
    if len(words) <= limit:
        return words
    plain = words.replace(" samples", "").replace(" drafter", "")
    if len(plain) <= limit:
        return plain
    tail = limit // 3
    return f"{plain[: limit - 1 - tail].rstrip(' ,')}…{plain[-tail:].lstrip(' ,')}"


def rows_of(options: Sequence[OptionAssessment]) -> list[OptionAssessment]:
    """Return the valued options worth a row, by rank: the best of each kind first, then what ranks highest.

    Keeping the baseline and deploying today's drafter always have their rows; of the others there are at most
    `MAX_OPTIONS`.
    """
    valued = [option for option in options if option.net_gpu_hours.value is not None]
    others = [option for option in valued if option.key not in ALWAYS]
    best_of_kind: dict[str, str] = {}
    for option in others:
        best_of_kind.setdefault(_VARIANT.sub("", option.key), option.key)
    order = sorted(others, key=lambda option: option.key not in best_of_kind.values())
    kept = {option.key for option in order[:MAX_OPTIONS]} | set(ALWAYS)
    return [option for option in valued if option.key in kept]


def option_letters(options: Sequence[OptionAssessment]) -> dict[str, str]:
    """Return the letter of each option by key: those with a row first, without a gap, the variants left out last."""
    rows = rows_of(options)
    unvalued = [option for option in options if option.net_gpu_hours.value is None]
    order = [*rows, *unvalued]
    order += [option for option in options if option not in order]
    return {option.key: letter(index) for index, option in enumerate(order)}


def letter(index: int) -> str:
    """Return the letter of a place: A, B, ... Z, AA, ..."""
    head, tail = divmod(index, 26)
    return (letter(head - 1) if head else "") + chr(ord("A") + tail)


def _graph_varies(points: Sequence[Point]) -> bool:
    graphs = {point.configuration.cuda_graph for point in points if point.configuration.speculative}
    return {True, False} <= graphs


def _row_words(points: Sequence[Point], varies: bool) -> dict[str, str]:
    runs = {point.run_id: point for point in points}
    main = _main_drafter(points)
    sizes = {point.samples for point in points if point.configuration.speculative and point.samples is not None}
    words = {run_id: _words(point, main, varies, sized=len(sizes) > 1) for run_id, point in runs.items()}
    algorithms = {point.configuration.algorithm for point in runs.values() if not point.excluded_reason}
    for run_id, point in runs.items():
        configured = point.configuration.num_draft_tokens is not None
        if point.excluded_reason and configured and point.configuration.algorithm not in algorithms:
            words[run_id] = _with_label(words[run_id], point)
    for tie_breaker in (_with_drafter, _with_drafter_name, _with_label, _with_name):
        longer = {run_id: tie_breaker(text, runs[run_id]) for run_id, text in words.items()}
        groups: dict[str, set[str]] = {}
        for run_id, text in words.items():
            groups.setdefault(text, set()).add(longer[run_id])
        tied = Counter(words.values())
        # Words that every member of a tie would get alike tell nothing apart.
        words = {
            run_id: longer[run_id] if tied[text] > 1 and len(groups[text]) > 1 else text
            for run_id, text in words.items()
        }
    return words


def _words(point: Point, main: str | None, varies: bool, *, sized: bool) -> str:
    configuration = point.configuration
    if configuration.speculative and configuration.num_draft_tokens is None and configuration.num_steps is None:
        return point.name
    graph = varies or (not point.configuration.speculative and point.configuration.cuda_graph is False)
    words = configuration_words(point.configuration, graph=graph and point.configuration.cuda_graph is not None)
    other = bool(point.drafter and main and point.drafter != main)
    if configuration.speculative and (other or (sized and point.samples is not None)):
        return _with_drafter(words, point)
    return words


def _with_drafter(words: str, point: Point) -> str:
    if point.drafter is None or "drafter" in words or "samples" in words:
        return words
    if point.samples is not None:
        return f"{words}, {fmt.samples_short(point.samples)} samples"
    return f"{words}, {point.drafter} drafter"


def _with_drafter_name(words: str, point: Point) -> str:
    if point.drafter is None or point.drafter in words:
        return words
    return f"{words}, {point.drafter}"


def _with_label(words: str, point: Point) -> str:
    if not point.configuration.speculative:
        return words
    algorithm = point.configuration.algorithm
    return f"{words}, {algorithm}" if algorithm and algorithm not in words else words


def _with_name(words: str, point: Point) -> str:
    return f"{words} ({point.name})"


def _main_drafter(points: Sequence[Point]) -> str | None:
    """Return the drafter that most runs served and that trained on most data, so that rows need not repeat it."""
    counts = Counter({p.run_id: p.drafter for p in points if p.configuration.speculative and p.drafter}.values())
    samples = {p.drafter: p.samples or 0 for p in points if p.drafter}
    return max(counts, key=lambda name: (counts[name], samples[name]), default=None)
