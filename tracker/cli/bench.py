"""`tracker bench`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import click

from tracker.cli import _bench, _context, _options, _progress
from tracker.errors import UsageError

if TYPE_CHECKING:
    from tracker.workflows.bench import BenchRequest

INTERRUPT_EXIT = 130
KEY_VARIABLE = "TRACKER_SERVER_API_KEY"


@click.command("bench")
@click.argument("url")
@click.option(
    "--prompts",
    default="builtin",
    show_default=True,
    metavar="FILE",
    help="JSON Lines, MT-bench, Spec-Bench or ShareGPT file.",
)
@click.option("--concurrency", metavar="N,N", help="Streams in flight, closed loop.  [default: 1,8 without --rate]")
@click.option("--rate", metavar="R,R", help="Arrivals per second, open loop; one run each.")
@click.option(
    "--requests",
    type=click.IntRange(min=1),
    help="Requests in a pass. Default: every prompt (500 at most), 4 a stream at least.",
)
@click.option(
    "--output-tokens", type=click.IntRange(min=1), default=256, show_default=True, help="Length limit of an answer."
)
@click.option("--stop-at-eos", is_flag=True, help="Let answers end by themselves instead of running to the limit.")
@click.option("--temperature", type=click.FloatRange(min=0), default=0.0, show_default=True)
@click.option("--top-p", type=click.FloatRange(min=0, max=1))
@click.option(
    "--repeats",
    type=click.IntRange(min=1),
    default=3,
    show_default=True,
    help="Passes per load; with --precision the most.",
)
@click.option(
    "--precision",
    type=click.FloatRange(min=0, min_open=True),
    metavar="PERCENT",
    help="Stop once throughput is known to ± this.",
)
@click.option("--budget", metavar="TIME", help="Begin no repeat that would end after this, e.g. 5m.")
@click.option(
    "--warmup", type=click.IntRange(min=0), default=4, show_default=True, help="Requests before the first pass."
)
@click.option(
    "--streamed",
    type=click.FloatRange(min=0, max=100),
    default=0.0,
    show_default=True,
    metavar="PERCENT",
    help="Share of requests that are streamed, for the time to the first token.",
)
@click.option("--no-flush", is_flag=True, help="Leave the prefix cache as it is between passes.")
@click.option(
    "--route", type=click.Choice(["auto", "sglang", "openai", "openai-chat"]), default="auto", show_default=True
)
@click.option(
    "--chat-template",
    type=click.Path(readable=False, path_type=Path),
    metavar="DIR_OR_FILE",
    help="Send prompts in this model's chat template; with openai-chat the server's own is used, and this recorded.",
)
@click.option(
    "--thinking",
    type=click.Choice(["on", "off"]),
    help="The model's thinking mode; needs a chat template or openai-chat.",
)
@click.option("--model", metavar="NAME", help="Model name for the OpenAI routes. Default: asked from the server.")
@click.option("--timeout", default="5m", show_default=True, metavar="TIME", help="A request has failed after this.")
@click.option("--seed", type=int, default=0, show_default=True)
@click.option("--drafter", metavar="DIR_OR_ID", help="Draft model that the server loads.")
@click.option("--target", metavar="DIR_OR_ID", help="Target model that the server loads.")
@click.option("--experiment", metavar="NAME", help="Campaign. Default: TRACKER_EXPERIMENT, else `benchmarks`.")
@click.option("--name", metavar="TEXT", help="Run name. Default: from the flags.")
@click.option("--role", type=click.Choice(["baseline", "candidate"]), help="Default: from the flags.")
@click.option("--note", metavar="TEXT")
@click.option("--tag", "tags", multiple=True, metavar="KEY=VALUE", help="A free tag; repeatable.")
@click.option(
    "--out",
    type=click.Path(readable=False, path_type=Path, file_okay=False),
    metavar="DIR",
    help="Keep requests.jsonl and the server's answers here too.",
)
@click.option(
    "--spool",
    type=click.Path(readable=False, path_type=Path, file_okay=False),
    metavar="DIR",
    help="Write the record here and contact no store.",
)
@click.option("--dry-run", is_flag=True, help="Measure and print only.")
@_options.as_json
@_options.tracking_uri
@click.pass_context
def command(ctx: click.Context, /, url: str, tracking_uri: str | None, **options: Any) -> None:
    """Measure the server at URL and log the run.

    Tokens, verify steps and accepted drafts are the server's own counts for every request; a failed request is counted
    and never sent again. Answers come whole unless --streamed asks for events. Ctrl-C ends the measurement and keeps
    it. TRACKER_SERVER_API_KEY: the server's key. Run ids go to stdout.
    """
    from tracker.workflows.bench import run_bench

    request = _request(url, options)
    session = _context.session(tracking_uri)
    with _progress.Line() as line, _progress.ends_when_told():
        outcomes = run_bench(request, session, on_progress=line.bench)
    _bench.tell(outcomes, as_json=options["as_json"])
    if any(item.interrupted for item in outcomes):
        ctx.exit(INTERRUPT_EXIT)


def _request(url: str, options: dict[str, Any]) -> BenchRequest:
    from tracker.workflows.bench import BenchRequest

    return BenchRequest(
        url=_address(url),
        plan=_bench.plan(options),
        api_key=os.environ.get(KEY_VARIABLE),
        experiment=options["experiment"] or os.environ.get("TRACKER_EXPERIMENT"),
        tags=_context.pairs(options["tags"], "--tag", example=_options.TAG),
        **{key: options[key] for key in ("name", "role", "drafter", "target", "note", "out", "spool", "dry_run")},
    )


def _address(url: str) -> str:
    """Return the server's root: clients of the OpenAI routes are given it with `/v1`.

    Raises:
        UsageError: No address of a web server.
    """
    whole = url if "://" in url else f"http://{url}"
    try:
        parts = urlsplit(whole)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable or any(letter.isspace() for letter in whole):
        raise UsageError(f"{url!r} is no address of a server", hint="Write e.g. http://127.0.0.1:30000.")
    return whole.rstrip("/").removesuffix("/v1")


COMMAND = command
