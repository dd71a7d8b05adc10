"""`tracker check`."""

from __future__ import annotations

import json
from typing import Any

import click

from tracker.cli import _options, _print

LINT_EXIT = 3


@click.command("check")
@_options.server_and_checkpoints
@click.option("--explain", metavar="CODE", help="Print why a finding matters and where it comes from, and stop.")
@_options.as_json
@click.pass_context
def command(ctx: click.Context, /, explain: str | None, as_json: bool, **options: Any) -> None:
    """Check a server's flags against the checkpoints it loads, before or after the launch.

    Exits with 3 when an error is found.
    """
    if explain is not None:
        from tracker import lint

        click.echo(lint.explain(explain))
        return
    from tracker.workflows.check import check

    result = check(_options.server_options(options), drafter=options["drafter"], target=options["target"])
    if as_json:
        click.echo(json.dumps(_print.check_as_json(result), indent=2, ensure_ascii=False))
    else:
        _print.findings(result.findings, indent="")
        for sentence in result.unseen:
            click.echo(sentence, err=True)
        count = sum(finding.severity == "error" for finding in result.findings)
        click.echo("no error found" if count == 0 else f"{count} error{'s' if count > 1 else ''} found", err=True)
    if any(finding.severity == "error" for finding in result.findings):
        ctx.exit(LINT_EXIT)


COMMAND = command
