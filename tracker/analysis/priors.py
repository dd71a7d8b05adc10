"""What the analysis assumes where nobody measured: a versioned file that people may edit."""

from __future__ import annotations

import dataclasses
import tomllib
from dataclasses import dataclass
from importlib import resources
from typing import Any

from tracker.errors import InputError

_SECTIONS = ("noise", "acceptance", "scaling", "step_time", "training", "costs", "decision")


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedBreakEven:
    """A break-even accept length somebody else measured on a target of the same name."""

    target: str
    """Part of the target's name."""
    num_steps: int
    """Draft steps."""
    eagle_topk: int
    """Branches per step."""
    num_draft_tokens: int
    """Tokens verified per step."""
    concurrency: int
    """Streams."""
    value: float
    """Break-even accept length."""
    source: str
    """Where it follows from."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Priors:
    """Every assumption of the analysis, with the units in the names; sources stand in priors.toml."""

    version: str
    """Version of the file; shown in the memo."""
    paired_prompt_fraction: float
    """Relative SD of one prompt's speed ratio when it is run again."""
    baseline_drift_fraction: float
    """Relative SD of a baseline measured once."""
    between_run_fraction: float
    """Relative SD of step time between starts of one configuration, where none was started twice."""
    population_prompt_fraction: float
    """Relative SD of accept length over kinds of prompts."""
    model_fraction: float
    """Relative SD of a predicted throughput beyond measurement noise."""
    equivalence_margin_fraction: float
    """Differences below it are called equivalent."""
    prompts_when_unknown: int
    """Prompts assumed where a run does not say."""
    chain_length_log_sd: float
    """Relative SD of a predicted chain's accept length."""
    chain_break_even_log_sd: float
    """Relative SD of its break-even."""
    rho_mean: float
    """Mean ratio of conditional acceptance from one draft position to the next."""
    rho_sd: float
    """Its SD."""
    vocabulary_lever_fraction: float
    """Share of explained rejections above which the vocabulary is a lever."""
    reference_samples: int
    """Training size at which the level priors hold."""
    level_mean: float
    """Mean logit acceptance at the reference size."""
    level_sd: float
    """Its SD."""
    slope_mean: float
    """Mean logit acceptance per decade of samples."""
    slope_sd: float
    """Its SD."""
    power_median: float
    """Median exponent of the power law to a ceiling."""
    power_log_sd: float
    """SD of its logarithm."""
    acceptance_ceiling: float
    """Highest first-position acceptance."""
    linear_mean: float
    """Mean accept length per decade in the log-linear form."""
    linear_sd: float
    """Its SD."""
    tau: float
    """SD of one trained drafter around its curve, in accept length."""
    kappa: float
    """SD in accept length per decade beyond the largest measured size."""
    assumed_num_steps: int
    """Draft steps where not recorded."""
    alternative_num_steps: tuple[int, ...]
    """Other values shown."""
    extra_step_fraction: float
    """Growth of break-even per further chain step, as a share of its 3-step value."""
    extra_step_sd: float
    """Its SD."""
    other_flags_log_sd: float
    """Relative SD of step time over flags nobody measured, for the order of a search."""
    overhead_saved_low_fraction: float
    """Least share of fixed overhead that engineering removes."""
    overhead_saved_high_fraction: float
    """Largest share."""
    chain_of_tree_low_fraction: float
    """Least accept length of a chain as a share of a tree's of the same depth."""
    longer_low_fraction: float
    """Least relative change of accept length from more passes over the same data."""
    longer_high_fraction: float
    """Largest such change."""
    longer_least_epochs: float
    """Passes below which the published curve says nothing."""
    gpu_hours_per_sample: float
    """Training cost per sample, all phases."""
    tokens_per_sample: float
    """Tokens of a sample that costs so much."""
    data_sizes: tuple[int, ...]
    """Training sizes offered."""
    largest_multiple: float
    """Largest size offered, in multiples of the largest measured one."""
    horizons_days: tuple[float, ...]
    """Lengths of use for the table of best options."""
    benchmark_gpu_hours: float
    """Price of measuring one configuration, where no pass was timed."""
    draws: int
    """Monte-Carlo draws."""
    published_break_even: tuple[PublishedBreakEven, ...] = ()
    """Break-even values of others."""

    def scale_slope(self, factor: float) -> Priors:
        """Return priors whose expected gain from data is `factor` times as large, in all forms."""
        return dataclasses.replace(
            self,
            slope_mean=self.slope_mean * factor,
            slope_sd=self.slope_sd * factor,
            power_median=self.power_median * factor,
            linear_mean=self.linear_mean * factor,
            linear_sd=self.linear_sd * factor,
        )


def load_priors(text: str, *, where: str = "priors.toml") -> Priors:
    """Return the priors written in TOML `text`.

    Args:
        text: Content of a priors file.
        where: Name of the file, for messages.

    Raises:
        InputError: The text is no TOML, a key is missing or unknown, or a value has the wrong type.
    """
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(
            f"not valid TOML: {error}", where=where, hint="Start from a copy of the packaged file"
        ) from error
    values: dict[str, Any] = {"version": data.get("version")}
    for section in _SECTIONS:
        values |= data.get(section, {})
    values = {key: tuple(value) if isinstance(value, list) else value for key, value in values.items()}
    known = {field.name for field in dataclasses.fields(Priors)}
    missing = sorted(known - values.keys() - {"published_break_even"})
    unknown = sorted((values.keys() - known) | (data.keys() - {"version", "published_break_even", *_SECTIONS}))
    if missing or unknown:
        what = [f"missing: {', '.join(missing)}"] * bool(missing) + [f"unknown: {', '.join(unknown)}"] * bool(unknown)
        raise InputError("; ".join(what), where=where, hint="Compare it with the packaged tracker/analysis/priors.toml")
    _check_numbers(values, where)
    try:
        published = tuple(PublishedBreakEven(**entry) for entry in data.get("published_break_even", []))
    except TypeError as error:
        raise InputError(f"published_break_even: {error}", where=where) from error
    return Priors(**values, published_break_even=published)


def _check_numbers(values: dict[str, Any], where: str) -> None:
    for key, value in values.items():
        if key == "version":
            if not isinstance(value, str):
                raise InputError("version must be a text", where=where)
            continue
        parts = value if isinstance(value, tuple) else (value,)
        if not all(isinstance(part, int | float) and not isinstance(part, bool) for part in parts):
            raise InputError(f"{key} must be a number, not {value!r}", where=where)


def default_priors() -> Priors:
    """Return the priors that travel with the package."""
    return load_priors(resources.files("tracker.analysis").joinpath("priors.toml").read_text(encoding="utf-8"))


DEFAULT_PRIORS = default_priors()
