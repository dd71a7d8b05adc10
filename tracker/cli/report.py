"""`tracker report`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tracker.cli import _context, _options
from tracker.errors import UsageError

if TYPE_CHECKING:
    from datetime import tzinfo

    from tracker.workflows.report import ReportResult
    from tracker.workflows.session import Session


@click.command("report")
@click.option("--since", default="last-week", show_default=True, metavar="WHEN", help="Start of the window.")
@click.option("--until", default="now", show_default=True, metavar="WHEN", help="End of the window.")
@click.option("--experiment", metavar="NAME", help="One campaign. Default: all with news.")
@click.option("--baseline", metavar="RUN", help="Compare with this run instead of the best plain one.")
@click.option("--out", type=click.Path(path_type=Path), default=Path("reports"), show_default=True, metavar="DIR")
@click.option("--email-to", "email_to", multiple=True, metavar="ADDRESS", help="Mail the memo; repeatable.")
@click.option("--eml", is_flag=True, help="With --email-to: write memo.eml instead of sending.")
@click.option("--resend", is_flag=True, help="Send the mails that wait in the outbox, and stop.")
@click.option("--explain", is_flag=True, help="Write explain.txt too: the formulas with this campaign's numbers.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seed of the Monte-Carlo draws.")
@_options.zone
@_options.as_json
@_options.tracking_uri
@click.pass_context
def command(ctx: click.Context, /, **options: Any) -> None:
    """Write a decision memo for every campaign with runs logged in the window.

    WHEN: last-week (Monday 00:00 of the previous ISO week), this-month, yesterday, monday, 7d, 36h, 2026-11-01,
    2026-W47, an ISO time, run:ID, last-report. The path of each memo goes to stdout.
    """
    from tracker.workflows.report import ReportRequest, write_reports

    if options["eml"] and not options["email_to"]:
        raise UsageError("--eml writes a mail, and says not to whom", hint="Add --email-to ADDRESS.")
    zone = _context.time_zone(options["tz"])
    session = _context.session(options["tracking_uri"])
    if options["resend"]:
        _resend(ctx, session)
        return
    request = ReportRequest(
        since=options["since"],
        until=options["until"],
        experiment=options["experiment"],
        baseline=options["baseline"],
        out=options["out"],
        zone=zone,
        email_to=options["email_to"],
        eml=options["eml"],
        seed=options["seed"],
        explain=options["explain"],
    )
    result = write_reports(request, session)
    _tell(result, zone, as_json=options["as_json"])
    failed = next((memo.mail_error for memo in result.memos if memo.mail_error is not None), None)
    if failed is not None:
        raise failed


def _resend(ctx: click.Context, session: Session) -> None:
    from tracker.workflows.post import resend

    outcomes = resend(session)
    for outcome in outcomes:
        state = "sent" if outcome.error is None else f"still waiting: {outcome.error}"
        click.echo(f"{outcome.subject}: {state}", err=True)
    click.echo(f"{sum(item.error is None for item in outcomes)} of {len(outcomes)} sent", err=True)
    if any(item.error is not None for item in outcomes):
        ctx.exit(1)


def _link(url: str | None) -> str:
    return "" if url is None else f": {url}"


def _tell(result: ReportResult, zone: tzinfo, *, as_json: bool) -> None:
    from tracker.workflows.window import describe

    window = f"{describe(result.window.since, zone)} to {describe(result.window.until, zone)}"
    click.echo(f"window: {window}", err=True)
    for name in result.quiet:
        click.echo(f"{name}: nothing new in this window, no memo written", err=True)
    if not result.memos and not result.quiet:
        click.echo("the store holds no campaign yet; start with `tracker log-run`", err=True)
    for memo in result.memos:
        click.echo(f"{memo.experiment}: {memo.content['verdict']['status']}", err=True)
        if memo.kept is not None:
            click.echo(f"  kept in the store as run {memo.kept.run_id}{_link(memo.kept.url)}", err=True)
        if memo.keep_error is not None:
            click.echo(f"  written, but not kept in the store: {memo.keep_error}", err=True)
        if memo.explained is not None:
            click.echo(f"  explained in {memo.explained}", err=True)
        if memo.mailed_to:
            click.echo(f"  mailed to {', '.join(memo.mailed_to)}", err=True)
    if as_json:
        click.echo(json.dumps([dict(memo.content) for memo in result.memos], indent=2, ensure_ascii=False))
        return
    for memo in result.memos:
        click.echo(str(memo.path))


COMMAND = command
