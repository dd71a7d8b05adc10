"""Options that several commands share."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from tracker.workflows.server_sources import ServerOptions

Command = TypeVar("Command", bound=Callable[..., Any])

TAG = "driver=580"
"""What the value of `--tag` may look like."""

tracking_uri = click.option(
    "--tracking-uri",
    metavar="URI",
    help="MLflow store. Default: TRACKER_TRACKING_URI, MLFLOW_TRACKING_URI, else an embedded database.",
)
as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON to stdout.")
zone = click.option("--tz", metavar="ZONE", help="Time zone for dates, e.g. Europe/Berlin. Default: the system's.")

_SERVER_OPTIONS = (
    click.option(
        "--server", "server_url", metavar="URL", help="Ask a running server (TRACKER_SERVER_API_KEY: its key)."
    ),
    click.option(
        "--server-info",
        metavar="FILE",
        type=click.Path(readable=False, path_type=Path),
        help="Saved /server_info body.",
    ),
    click.option(
        "--server-log",
        metavar="FILE",
        type=click.Path(readable=False, path_type=Path),
        help="The server's start-up log.",
    ),
    click.option(
        "--argv",
        metavar="FILE",
        type=click.Path(readable=False, path_type=Path),
        help="JSON list or one argument a line.",
    ),
    click.option(
        "--server-cmd",
        metavar="TEXT",
        help="Launch command, quoted, as typed in a shell; @FILE or the name of a launch script reads it from there.",
    ),
    click.option("--drafter", metavar="DIR_OR_ID", help="Draft model: folder, or Hub id in the local cache."),
    click.option("--target", metavar="DIR_OR_ID", help="Target model: folder, or Hub id in the local cache."),
)


def server_and_checkpoints(command: Command) -> Command:
    """Add the options that say how a server runs and what it loads."""
    for option in reversed(_SERVER_OPTIONS):
        command = option(command)
    return command


def server_options(options: dict[str, Any]) -> ServerOptions:
    """Return the values of `server_and_checkpoints` as the workflows take them."""
    from tracker.workflows.server_sources import ServerOptions

    return ServerOptions(
        url=options["server_url"],
        info_file=options["server_info"],
        log_file=options["server_log"],
        argv_file=options["argv"],
        command=options["server_cmd"],
        api_key=os.environ.get("TRACKER_SERVER_API_KEY"),
    )
