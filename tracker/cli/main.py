"""The `tracker` command: finds the commands, and is the only place that catches TrackerError."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Sequence
from importlib import metadata

import click

from tracker.cli._group import Group
from tracker.cli._terminal import printable
from tracker.errors import InputError, TrackerError, UsageError
from tracker.plugins import discover

USAGE_EXIT = 2
INTERRUPT_EXIT = 130
# An empty note takes a note away; `--explain ""` is `--explain` alone.
_MAY_BE_EMPTY = frozenset({"--note", "--explain"})
_FORBIDDEN = "Check the permissions of it and of the folders above it."
_FULL = "Free some space where the output goes, and run the same command again."


class _Commands(Group):
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
    given = list(sys.argv[1:] if argv is None else argv)
    try:
        _refuse_empty(given)
        # no-color.org: set and not empty, whatever its value; click itself does not look.
        code = tracker.main(args=given, standalone_mode=False, color=False if os.environ.get("NO_COLOR") else None)
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
    except OSError as error:
        expected = _of_the_machine(error)
        if expected is None:
            raise
        _explain(expected)
        sys.exit(expected.exit_code)
    sys.exit(code if isinstance(code, int) else 0)


def _refuse_empty(given: Sequence[str]) -> None:
    """Refuse empty texts: a script's variable that is not set must not log a run elsewhere or without its drafter.

    Raises:
        UsageError: One is empty, and neither after `--` nor a note.
    """
    own = given[: given.index("--")] if "--" in given else given
    for before, text in zip(("", *own), own, strict=False):
        joined = text.startswith("--") and text.find("=") == len(text) - 1
        if text and not joined:
            continue
        option = text[:-1] if joined else before
        if option not in _MAY_BE_EMPTY:
            what = f"{option} is given an empty text" if option.startswith("--") else "an argument is empty"
            raise UsageError(what, hint="Is a variable of the shell not set? Leave it away, or say what is meant.")


def _of_the_machine(error: OSError) -> TrackerError | None:
    """Return what the user can mend about a file that no adapter asked after; None where it is a mistake of ours."""
    where = None if error.filename is None else str(error.filename)
    if error.errno == errno.ENOSPC:
        return InputError("nothing more can be written: the disk is full", where=where, hint=_FULL)
    if isinstance(error, PermissionError) and where is not None:
        return InputError("this user may not read or write here", where=where, hint=_FORBIDDEN)
    return None


def _explain(error: TrackerError) -> None:
    click.echo(printable(f"Error: {error.message}"), err=True)
    if error.where:
        click.echo(printable(f"  where: {error.where}"), err=True)
    if error.hint:
        click.echo(printable(f"  next:  {error.hint}"), err=True)
