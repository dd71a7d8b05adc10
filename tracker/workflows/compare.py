"""compare: two runs or two drafters, from the store to the duels."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

from tracker.analysis.configurations import speculates
from tracker.analysis.head_to_head import Duel, head_to_head
from tracker.analysis.priors import DEFAULT_PRIORS
from tracker.analysis.thinning import latest_of_each, thin
from tracker.collector import collector_at_rest
from tracker.domain.record import StoredRun
from tracker.errors import RunNotFoundError, UsageError
from tracker.store.base import Query, RunStore
from tracker.store.matching import no_campaign
from tracker.workflows.session import Session

# Every run of a side meets every run of the other: of drafters served for years, the latest of each kind.
MOST_OF_A_SIDE = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class CompareResult:
    """Two sides and their duels."""

    first: str
    """First side as asked for."""
    second: str
    """Second side as asked for."""
    names: dict[str, str]
    """Run names by id."""
    duels: tuple[Duel, ...]
    """One a load, or a load and configuration."""


@collector_at_rest()
def compare_sides(first: str, second: str, session: Session, *, experiment: str | None = None) -> CompareResult:
    """Return how the second side does against the first.

    A side is a run (id, beginning of an id, or name) or the name of a drafter, meaning all runs that served it.

    Raises:
        RunNotFoundError: A side is neither, or means several runs.
        StoreError: There is no such campaign.
        UsageError: The sides lie in different campaigns, are one run, say nothing about speculation, or never met.
    """
    store = session.store()
    if experiment is not None and experiment not in (known := store.experiments()):
        raise no_campaign(experiment, known, where=store.uri)
    benchmarks = store.query(Query(experiment=experiment, kind="benchmark"))
    sides = [_side(name, benchmarks, store) for name in (first, second)]
    campaigns = {run.record.experiment for side in sides for run in side}
    if len(campaigns) > 1:
        raise UsageError(
            f"the two lie in different campaigns ({', '.join(sorted(campaigns))}): other prompts, other hardware",
            hint="Compare inside one campaign, or name it with --experiment.",
        )
    sides = [side if len(side) <= MOST_OF_A_SIDE else latest_of_each(side) for side in sides]
    ids = [[run.run_id for run in side] for side in sides]
    rows = store.requests_many(run for side in sides for run in side)
    if ids[0] == ids[1]:
        raise UsageError(f"{first} and {second} are the same", hint="Name two runs, or two drafters.")
    silent = [run for side in sides for run in side if speculates(run.record) is None]
    if silent:
        run = silent[0]
        raise UsageError(
            f"whether the server of {run.record.name!r} speculated is not recorded",
            hint=f"Say so first: `tracker amend {run.run_id} --role baseline` (or candidate).",
        )
    campaign = campaigns.pop()
    runs = [
        dataclasses.replace(run, requests=rows.get(run.run_id, ()))
        for run in benchmarks
        if run.record.experiment == campaign and speculates(run.record) is not None
    ]
    runs = list(thin(runs, always={*ids[0], *ids[1]}).kept)
    duels = head_to_head(runs, ids[0], ids[1], priors=DEFAULT_PRIORS)
    if not duels:
        raise UsageError(
            f"{first} and {second} never ran at the same load and configuration", hint="See `tracker runs`."
        )
    return CompareResult(first=first, second=second, names={run.run_id: run.record.name for run in runs}, duels=duels)


def _side(name: str, benchmarks: Sequence[StoredRun], store: RunStore) -> Sequence[StoredRun]:
    served = [run for run in benchmarks if run.record.drafter is not None and run.record.drafter.name == name]
    if served:
        return served
    named = [run for run in benchmarks if run.record.name == name]
    if len(named) == 1:
        return named
    try:
        return (store.load(name),)
    except RunNotFoundError as error:
        if named or any(run.run_id.startswith(name) for run in benchmarks):
            raise  # it says which they are
        raise RunNotFoundError(
            f"neither a run nor a drafter is called {name!r}", where=error.where, hint="List them with `tracker runs`."
        ) from error
