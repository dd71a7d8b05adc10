"""`tracker check`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from tracker.cli import _options, _print

if TYPE_CHECKING:
    from tracker.workflows.check import CheckResult

LINT_EXIT = 3


@click.command("check")
@_options.server_and_checkpoints
@click.option("--deep", is_flag=True, help="Read the drafter's weights too: NaN, zeros, untrained matrices.")
@click.option("--ask-engine", is_flag=True, help="Ask the installed SGLang's own parser as well.")
@click.option(
    "--against",
    metavar="TEXT",
    help="Baseline's launch command, or @FILE: report flags that differ beyond speculation.",
)
@click.option(
    "--explain",
    metavar="[CODE]",
    is_flag=False,
    flag_value="",
    help="Print why a finding matters and where it comes from, and stop; without CODE list all codes.",
)
@_options.as_json
@click.pass_context
def command(
    ctx: click.Context,
    /,
    explain: str | None,
    deep: bool,
    ask_engine: bool,
    against: str | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Check a server's flags against the checkpoints it loads, before or after the launch.

    Name one server: a command, a script, a log, or the running server. Several sources of the same server are compared.
    Findings go to stderr, errors first, each with its fix. Nothing is started and nothing is downloaded.

    \b
    tracker check --server-cmd @launch.sh
    tracker check --server-cmd "python -m sglang.launch_server ..." --drafter DIR
    tracker check --server http://localhost:30000 --argv argv.json
    tracker check --server-cmd @spec.sh --against @baseline.sh

    Exits with 3 when an error is found.
    """  # noqa: D301 - click reads the control character
    if explain is not None:
        from tracker import lint

        click.echo(lint.explain(explain) if explain else _all_codes())
        return
    from tracker.workflows.check import check

    result = check(
        _options.server_options(options),
        drafter=options["drafter"],
        target=options["target"],
        deep=deep,
        ask_engine=ask_engine,
        against=against,
        progress=_print.progress("weights read") if deep else None,
    )
    if as_json:
        click.echo(json.dumps(_print.check_as_json(result), indent=2, ensure_ascii=False))
    else:
        _print.findings(result.findings, indent="")
        for sentence in (*result.unseen, *result.own_parser):
            click.echo(sentence, err=True)
        click.echo(_summary(result), err=True)
    if any(finding.severity == "error" for finding in result.findings):
        ctx.exit(LINT_EXIT)


def _summary(result: CheckResult) -> str:
    """Return how many errors and warnings there are, and whether everything could be looked at."""
    counts = [
        f"{count} {name}{'s' if count > 1 else ''}"
        for name in ("error", "warning")
        if (count := sum(finding.severity == name for finding in result.findings))
    ]
    found = f"{' and '.join(counts)} found" if counts else "no error found"
    return f"{found} in what could be looked at" if result.unseen else found


def _all_codes() -> str:
    """Return all codes with one line each."""
    from tracker import lint

    width = max(len(code) for code in lint.codes())
    return "\n".join(f"{code:<{width}}  {lint.title(code)}" for code in lint.codes())


COMMAND = command
