"""What can be wrong with a call, found out before it measures or runs anything: what ran cannot be had again."""

from __future__ import annotations

from tracker import checkpoints, importers
from tracker.errors import UnknownFormatError
from tracker.store.matching import check_experiment_name
from tracker.workflows.session import Session


def require_loggable(experiment: str, checkpoint_names: tuple[str | None, ...], session: Session | None) -> None:
    """Refuse what would keep a run from being logged after it was measured.

    Args:
        experiment: Campaign.
        checkpoint_names: Drafter and target, as named by hand.
        session: Whose store the run is for; None where no store is asked.

    Raises:
        InputError: No campaign can have this name.
        CheckpointError: A checkpoint cannot be described.
        StoreError: The address of the store is of a kind that cannot hold runs; one that is down is no hindrance.
    """
    check_experiment_name(experiment)
    for name in checkpoint_names:
        if name:
            checkpoints.describe(name)
    if session is not None:
        session.describe_store()


def require_format(name: str | None) -> None:
    """Refuse a format for `--as` that no importer has.

    Raises:
        UnknownFormatError: There is none of this name; the hint lists them.
    """
    known = importers.formats()
    if name is not None and name not in known:
        raise UnknownFormatError(f"there is no format `{name}`", hint=f"Known formats: {', '.join(known)}.")
