"""The `tracker` command: finds the commands, and is the only place that catches TrackerError."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import metadata

import click

from tracker.errors import TrackerError
from tracker.plugins import discover

USAGE_EXIT = 2
INTERRUPT_EXIT = 130


class _Commands(click.Group):
    """Commands found in this folder, one file each with a constant `COMMAND`."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(command.name for command in _commands().values() if command.name)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        return next((command for command in _commands().values() if command.name == cmd_name), None)


def _commands() -> dict[str, click.Command]:
    return discover("tracker.cli", "COMMAND")


@click.command(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(metadata.version("tracker"), prog_name="tracker")
def tracker() -> None:
    """Log speculative-decoding runs exactly, and turn them into a decision memo.

    Start with `tracker demo`, then `tracker log-run RESULTS...` after each benchmark
    and `tracker report --since last-week`.
    """


def main(argv: Sequence[str] | None = None) -> None:
    """Run the command line and exit with 0 done, 1 expected failure, 2 usage, 3 lint errors."""
    try:
        code = tracker.main(args=None if argv is None else list(argv), standalone_mode=False)
    except TrackerError as error:
        _explain(error)
        sys.exit(error.exit_code)
    except click.exceptions.Exit as stop:
        sys.exit(stop.exit_code)
    except click.Abort:
        click.echo("Stopped.", err=True)
        sys.exit(INTERRUPT_EXIT)
    except click.ClickException as error:
        error.show()
        sys.exit(USAGE_EXIT)
    sys.exit(code if isinstance(code, int) else 0)


def _explain(error: TrackerError) -> None:
    click.echo(f"Error: {error.message}", err=True)
    if error.where:
        click.echo(f"  where: {error.where}", err=True)
    if error.hint:
        click.echo(f"  next:  {error.hint}", err=True)
