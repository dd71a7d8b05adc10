"""`tracker check`."""

from __future__ import annotations

import json
from typing import Any

import click

from tracker.cli import _options, _print

LINT_EXIT = 3


@click.command("check")
@_options.server_and_checkpoints
@click.option("--deep", is_flag=True, help="Read the drafter's weights too: NaN, zeros, untrained matrices.")
@click.option("--ask-engine", is_flag=True, help="Ask the installed SGLang's own parser as well.")
@click.option("--explain", metavar="CODE", help="Print why a finding matters and where it comes from, and stop.")
@_options.as_json
@click.pass_context
def command(
    ctx: click.Context, /, explain: str | None, deep: bool, ask_engine: bool, as_json: bool, **options: Any
) -> None:
    """Check a server's flags against the checkpoints it loads, before or after the launch.

    Exits with 3 when an error is found.
    """
    if explain is not None:
        from tracker import lint

        click.echo(lint.explain(explain))
        return
    from tracker.workflows.check import check

    result = check(
        _options.server_options(options),
        drafter=options["drafter"],
        target=options["target"],
        deep=deep,
        ask_engine=ask_engine,
        progress=_print.progress("weights read") if deep else None,
    )
    if as_json:
        click.echo(json.dumps(_print.check_as_json(result), indent=2, ensure_ascii=False))
    else:
        _print.findings(result.findings, indent="")
        for sentence in (*result.unseen, *result.own_parser):
            click.echo(sentence, err=True)
        count = sum(finding.severity == "error" for finding in result.findings)
        click.echo("no error found" if count == 0 else f"{count} error{'s' if count > 1 else ''} found", err=True)
    if any(finding.severity == "error" for finding in result.findings):
        ctx.exit(LINT_EXIT)


COMMAND = command
