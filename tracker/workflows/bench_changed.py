"""Whether one server with one configuration gave all the answers."""

from __future__ import annotations

from tracker.domain.finding import Finding
from tracker.engines import LiveServer, engines

_SHOWN = 5
# Drawn anew at each start where nobody sets it.
_SEED = "random_seed"
_NO_FLAGS = ("model", "engine", "version")
# A server that adapts its drafts to the load says what it drafts at this moment.
_ADAPTIVE = "speculative_adaptive"


def findings(before: LiveServer | None, after: LiveServer | None) -> tuple[Finding, ...]:
    """Return an error where a server said something else about itself after a measurement than before it."""
    names = () if before is None or after is None else _changed(before, after)
    if not names:
        return ()
    shown = ", ".join(names[:_SHOWN]) + (f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else "")
    return (
        Finding(
            code="SERVER_CHANGED",
            severity="error",
            message=f"The server was started anew with another configuration while it was measured ({shown}): the "
            "answers are of two servers, and the flags of this record are those of the second.",
            fix="Measure again, and let nobody restart the server meanwhile.",
            confidence="certain",
            voids=("acceptance", "speed"),
        ),
    )


def started_anew(before: LiveServer | None, after: LiveServer | None) -> bool:
    """Return whether its seed says that a server is another process than before."""
    seeds = {server.config.arguments.get(_SEED) for server in (before, after) if server is not None}
    return len(seeds - {None}) > 1


def _changed(before: LiveServer, after: LiveServer) -> tuple[str, ...]:
    """Return the names of what differs; facts that are no flags are left out, as some say how the server is now."""
    pairs = [
        ("model", before.model_path, after.model_path),
        ("engine", before.config.engine, after.config.engine),
        ("version", before.config.version, after.config.version),
    ]
    first, last = before.config.arguments, after.config.arguments
    adapts = bool(first.get(_ADAPTIVE) or last.get(_ADAPTIVE))
    pairs += [
        (name, first[name], last[name])
        for name in sorted(first.keys() & last.keys())
        if name != _SEED and not name.endswith("port") and not (adapts and name.startswith("speculative_"))
    ]
    return tuple(name for name, one, other in pairs if one != other and (name in _NO_FLAGS or _is_flag(name)))


def _is_flag(name: str) -> bool:
    return any(engine.knows_flag(f"--{name.replace('_', '-')}") for engine in engines())
