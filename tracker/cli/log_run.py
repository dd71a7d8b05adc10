"""`tracker log-run`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tracker.cli import _context, _options, _print

if TYPE_CHECKING:
    from tracker.workflows.log_run import LogRequest

LINT_EXIT = 3
_WATCHED = "tracker.watched_command"


class _CommandAfterDashes(click.Command):
    """A command whose arguments after `--` are another program's."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if "--" in args:
            at = args.index("--")
            ctx.meta[_WATCHED] = tuple(args[at + 1 :])
            if not ctx.meta[_WATCHED]:
                raise click.UsageError("no command after `--`", ctx)
            args = args[:at]
        return super().parse_args(ctx, args)


@click.command("log-run", cls=_CommandAfterDashes)
@click.argument(
    "inputs", nargs=-1, type=click.Path(readable=False, path_type=Path), metavar="[INPUT]... [-- COMMAND...]"
)
@_options.server_and_checkpoints
@click.option("--samples", type=click.IntRange(min=1), help="Training samples of the drafter.")
@click.option("--tokens", type=click.IntRange(min=1), help="Training tokens of the drafter.")
@click.option("--experiment", metavar="NAME", help="Campaign. Default: TRACKER_EXPERIMENT, else `benchmarks`.")
@click.option("--name", metavar="TEXT", help="Run name. Default: from the input.")
@click.option("--role", type=click.Choice(["baseline", "candidate"]), help="Default: from the flags.")
@click.option("--concurrency", type=click.IntRange(min=1), help="Streams, where the input does not say.")
@click.option("--metric", "metrics", multiple=True, metavar="KEY=VALUE", help="A value typed by hand; repeatable.")
@click.option("--tag", "tags", multiple=True, metavar="KEY=VALUE", help="A free tag; repeatable.")
@click.option("--note", metavar="TEXT", help="Free text.")
@click.option(
    "--training",
    type=click.Path(readable=False, path_type=Path),
    metavar="DIR_OR_RUN",
    help="The drafter's training: its folder, or a training in the store by run id or name.",
)
@click.option("--as", "form", metavar="FORMAT", help="Force an input format; see --formats.")
@click.option("--column", "columns", multiple=True, metavar="NAME=MEANING", help="What a table's column holds.")
@click.option("--formats", "list_formats", is_flag=True, help="List the input formats and stop.")
@click.option("--keep-text", is_flag=True, help="Keep prompt and answer texts with the original.")
@click.option("--dry-run", is_flag=True, help="Read and check, store nothing.")
@click.option("--strict", is_flag=True, help="Exit with 3 when a check finds an error.")
@_options.as_json
@_options.tracking_uri
@click.pass_context
def command(ctx: click.Context, /, inputs: tuple[Path, ...], **options: Any) -> None:
    """Log benchmark or training runs with the flags and checkpoint they ran with.

    INPUT is any recognised result file, log, folder or table (one run a row), or a campaign folder. After `--`,
    COMMAND is run, its output kept and its exit code passed on. Run ids go to stdout, one a line; what was found
    goes to stderr.
    """
    if options["list_formats"]:
        _print.formats()
        return
    from tracker.workflows.log_run import log_run

    request = _request(inputs, ctx.meta.get(_WATCHED, ()), options)
    session = _context.session(options["tracking_uri"])
    result = log_run(request, session)
    _print.logged(result, as_json=options["as_json"], store=None if request.dry_run else session.describe_store())
    if result.command_exit_code:
        # A signal's number is negative; shells report it as 128 + number.
        ctx.exit(result.command_exit_code if result.command_exit_code > 0 else 128 - result.command_exit_code)
    if result.store_error is not None:
        raise result.store_error
    if result.unread is not None:
        raise result.unread
    if options["strict"] and result.has_errors:
        ctx.exit(LINT_EXIT)


def _request(inputs: tuple[Path, ...], watched: tuple[str, ...], options: dict[str, Any]) -> LogRequest:
    from tracker.workflows.log_run import LogRequest

    return LogRequest(
        inputs=inputs,
        metrics=_context.pairs(options["metrics"], "--metric", example="accept_length=2.1"),
        command=watched,
        server=_options.server_options(options),
        drafter=options["drafter"],
        target=options["target"],
        samples=options["samples"],
        tokens=options["tokens"],
        experiment=options["experiment"],
        name=options["name"],
        role=options["role"],
        concurrency=options["concurrency"],
        tags=_context.pairs(options["tags"], "--tag", example=_options.TAG),
        note=options["note"],
        training=options["training"],
        format=options["form"],
        columns=_context.pairs(options["columns"], "--column", example="speed=output_throughput_tok_s"),
        keep_text=options["keep_text"],
        dry_run=options["dry_run"],
    )


COMMAND = command
