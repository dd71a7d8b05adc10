"""`tracker decide`."""

from __future__ import annotations

import json

import click

from tracker.cli import _context, _options


@click.command("decide")
@click.argument("memo")
@click.option(
    "--option", "option", required=True, metavar="KEY", help="Option taken: its letter, or its key in memo.json."
)
@click.option("--by", metavar="NAME", help="Who decided. Default: the masked user.")
@click.option("--note", metavar="TEXT", help="Why.")
@_options.as_json
@_options.tracking_uri
def command(memo: str, option: str, by: str | None, note: str | None, as_json: bool, tracking_uri: str | None) -> None:
    """Note the decision taken on MEMO; the next memo shows what came of it, predicted against measured.

    MEMO is the folder, memo.html or memo.json of a memo, or the id of its run in the store. A later run counts as the
    test of an option when its flags and training samples are those of the option, or when it is logged with
    `--tag option=KEY`.
    """
    from tracker.workflows.decide import DecideRequest, decide

    request = DecideRequest(memo=memo, option=option, by=by, note=note)
    result = decide(request, _context.session(tracking_uri))
    click.echo(f"decided: {result.decision['title']} (by {result.decision['by'] or 'not recorded'})", err=True)
    if result.run_id is not None:
        click.echo(f"  kept with run {result.run_id}", err=True)
    if result.store_error is not None:
        click.echo(f"  not kept in the store: {result.store_error}", err=True)
    if as_json:
        click.echo(json.dumps(dict(result.decision), indent=2, ensure_ascii=False))
    else:
        click.echo(str(result.path) if result.path is not None else str(result.run_id))


COMMAND = command
