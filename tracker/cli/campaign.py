"""`tracker campaign`."""

from __future__ import annotations

import dataclasses
import json
import shlex
import sys
from pathlib import Path

import click

from tracker.cli import _context, _copied, _options, _table
from tracker.cli._group import Group


@click.group("campaign", cls=Group)
def command() -> None:
    """List, rename, delete, restore, export and import whole campaigns.

    To copy campaigns from one store to another, see `tracker sync --from`.

    A campaign of adopted runs (`tracker adopt`) is the trainer's own MLflow experiment: rename and delete act on that
    experiment and on every run in it, and refuse without --others-too.
    """


_others_too = click.option(
    "--others-too", is_flag=True, help="Also where another program wrote runs into it (see `tracker adopt`)."
)


@command.command("list")
@_options.as_json
@_options.tracking_uri
def list_command(as_json: bool, tracking_uri: str | None) -> None:
    """List the campaigns of the store, deleted ones last."""
    from tracker.workflows.campaign_manage import list_campaigns

    found = list_campaigns(_context.session(tracking_uri))
    if as_json:
        rows = [dataclasses.asdict(item) for item in found]
        rows = [{**row, "changed_at": row["changed_at"] and row["changed_at"].isoformat()} for row in rows]
        click.echo(json.dumps(rows, indent=2, ensure_ascii=False))
        return
    if not found:
        click.echo("no campaigns", err=True)
        return
    heads = ("campaign", "state", "runs", "memos", "changed (UTC)")
    cells = [
        (
            item.name,
            item.state,
            str(item.runs),
            str(item.memos),
            "–" if item.changed_at is None else f"{item.changed_at:%Y-%m-%d %H:%M}",
        )
        for item in found
    ]
    click.echo(_table.render(heads, cells, right={2, 3}))


@command.command("rename")
@click.argument("old")
@click.argument("new")
@_others_too
@_options.tracking_uri
def rename_command(old: str, new: str, others_too: bool, tracking_uri: str | None) -> None:
    """Give the campaign OLD the name NEW; its runs stay the runs they are."""
    from tracker.workflows.campaign_manage import rename_campaign

    renamed = rename_campaign(_context.session(tracking_uri), old, new, others_too=others_too)
    click.echo(renamed.name)
    click.echo(f"{old} is now {new}: {_count(renamed.runs, 'run')}, {_count(renamed.memos, 'memo')}", err=True)


@command.command("delete")
@click.argument("name")
@click.option("--yes", is_flag=True, help="Do not ask.")
@_others_too
@_options.tracking_uri
def delete_command(name: str, yes: bool, others_too: bool, tracking_uri: str | None) -> None:
    """Delete the campaign NAME with its runs and memos; `tracker campaign restore` brings it back."""
    from tracker.errors import UsageError
    from tracker.workflows.campaign_manage import delete_campaign, find_campaign

    session = _context.session(tracking_uri)
    found = find_campaign(session, name)
    what = f"{name}: {_count(found.runs, 'run')}, {_count(found.memos, 'memo')}"
    if found.others:
        what = f"{what}; {_count(found.others, 'run')} of another program in it"
    if not yes and (others_too or not found.others):  # else it is refused in any case
        if not sys.stdin.isatty():
            raise UsageError(f"this would delete {what}", hint="Add --yes.")
        click.confirm(f"Delete {what}?", abort=True, err=True)
    delete_campaign(session, name, others_too=others_too)
    click.echo(name)
    click.echo(f"deleted {what}; it comes back with `tracker campaign restore {shlex.quote(name)}`", err=True)


@command.command("restore")
@click.argument("name")
@_options.tracking_uri
def restore_command(name: str, tracking_uri: str | None) -> None:
    """Bring the deleted campaign NAME back as it was."""
    from tracker.workflows.campaign_manage import restore_campaign

    found = restore_campaign(_context.session(tracking_uri), name)
    click.echo(found.name)
    click.echo(f"restored {name}: {_count(found.runs, 'run')}, {_count(found.memos, 'memo')}", err=True)


@command.command("export")
@click.argument("name")
@click.option(
    "--out", type=click.Path(readable=False, path_type=Path), metavar="DIR", help="Folder to write. Default: ./NAME."
)
@_options.tracking_uri
def export_command(name: str, out: Path | None, tracking_uri: str | None) -> None:
    """Write the campaign NAME into a folder: records, rows, files, corrections, memos and decisions.

    The same campaign gives the same bytes from every store. An export that was interrupted
    is finished by the same command.

    Records are without secrets. Tags that people gave in MLflow travel as they are; one that looks like a secret is
    named. Of an adopted run (`tracker adopt`) its record travels, not what its trainer put beside it.
    """
    from tracker.workflows.campaign_files import default_folder, export_campaign

    exporting = export_campaign(_context.session(tracking_uri), name, default_folder(name, out))
    for tag in exporting.secret_tags:
        click.echo(f"warning: the tag {tag} looks like a secret, and is exported as it was given in MLflow", err=True)
    count = 0
    for written in exporting.names:
        count += 1
        click.echo(written, err=True)
    click.echo(str(exporting.folder))
    click.echo(f"{_count(count, 'run')} and memos written", err=True)


@command.command("import")
@click.argument("folder", type=click.Path(readable=False, path_type=Path), metavar="DIR")
@click.option("--name", metavar="NAME", help="Another name for the campaign here.")
@click.option("--merge", is_flag=True, help="Add to a campaign of this name that has none of these runs.")
@_options.tracking_uri
@click.pass_context
def import_command(
    ctx: click.Context, /, folder: Path, name: str | None, merge: bool, tracking_uri: str | None
) -> None:
    """Store an exported campaign; an import that was interrupted is finished by the same command.

    Run ids go to stdout, one a line. Every file is checked against the export's manifest first.
    """
    from tracker.workflows.campaign_files import import_campaign

    outcomes = import_campaign(_context.session(tracking_uri), folder, name=name, merge=merge)
    _copied.tell(ctx, outcomes, nothing="nothing to import")


def _count(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


COMMAND = command
