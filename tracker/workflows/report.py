"""report: window, records, analysis, options, view, files, mailbox; in this order."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, tzinfo
from email.message import EmailMessage
from importlib import metadata
from pathlib import Path
from typing import Any

import msgspec

from tracker import analysis, options, report
from tracker.analysis.results import Window
from tracker.analysis.thinning import Thinned, thin
from tracker.collector import collector_at_rest
from tracker.domain.campaign import Campaign
from tracker.domain.record import StoredRun
from tracker.errors import DeliveryError, StoreError
from tracker.report.explain import explain
from tracker.store.base import Query, RunStore, StoredReport
from tracker.store.matching import no_campaign
from tracker.workflows.files import write_all
from tracker.workflows.memo_archive import ArchivedMemo, earlier_memos, folder_name, write_index
from tracker.workflows.memo_ids import named_as_here
from tracker.workflows.post import Post
from tracker.workflows.report_run import keep_report, linked
from tracker.workflows.session import Session
from tracker.workflows.window import describe, resolve_window

DEFAULT_SINCE = "last-week"
OPTION_TAG = "option"  # a run may say which option of a memo it puts to the test


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportRequest:
    """Which memos to write, and where."""

    since: str = DEFAULT_SINCE
    """Start of the window."""
    until: str = "now"
    """End of the window."""
    experiment: str | None = None
    """One campaign; all with news when None."""
    baseline: str | None = None
    """Run to compare with: id, prefix or name."""
    out: Path = Path("reports")
    """Folder for the memos."""
    zone: tzinfo = UTC
    """Time zone of the reader."""
    email_to: tuple[str, ...] = ()
    """Recipients."""
    eml: bool = False
    """Write the mail beside the memo as memo.eml instead of sending it."""
    seed: int = 0
    """Seed of the Monte-Carlo draws."""
    explain: bool = False
    """Append the formulas with the campaign's numbers to memo.txt, and write them as explain.txt beside it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Memo:
    """One memo that was written."""

    experiment: str
    """Campaign."""
    path: Path
    """memo.html."""
    content: Mapping[str, Any] = field(repr=False)
    """memo.json."""
    mailed_to: tuple[str, ...] = ()
    """Recipients the mail went to."""
    mail_error: DeliveryError | None = None
    """Why it was not mailed; it waits in the outbox."""
    explained: Path | None = None
    """explain.txt, where it was asked for."""
    kept: StoredReport | None = field(default=None, repr=False)
    """The memo as the store keeps it."""
    keep_error: StoreError | None = None
    """Why the store does not keep it; the files are written all the same."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportResult:
    """What a call wrote."""

    memos: tuple[Memo, ...]
    """One a campaign with news."""
    window: Window
    """Resolved window."""
    quiet: tuple[str, ...]
    """Campaigns without news in the window."""


def write_reports(request: ReportRequest, session: Session) -> ReportResult:
    """Write one memo for every campaign with news, mail them if asked, and return what was written.

    Raises:
        UsageError: The window cannot be read or is empty.
        StoreError: The store is unreachable, or the campaign or baseline named is not in it.
        DeliveryError: Mail was asked for and no mail server is set.
    """
    store = session.store()
    window = _window(request, session, store)
    post = Post.of(request.email_to, session, dry_run=request.eml) if request.email_to else None
    memos: list[Memo] = []
    quiet: list[str] = []
    for experiment in _experiments(request, store):
        campaign = store.load_campaign(experiment) or Campaign(name=experiment)
        baseline = store.load(request.baseline).run_id if request.baseline else None
        thinned = _with_news(experiment, request, window, store, always=(baseline, campaign.deployed_run))
        if thinned is None:
            quiet.append(experiment)
            continue
        memo, message = _write(experiment, campaign, thinned, baseline, request, window, session, post)
        if post is not None and message is not None and not request.eml:
            error = post.send(message)
            memo = dataclasses.replace(memo, mailed_to=() if error else request.email_to, mail_error=error)
        memos.append(memo)
    if memos:
        write_index(request.out, request.zone)
    return ReportResult(memos=tuple(memos), window=window, quiet=tuple(quiet))


@collector_at_rest()
def _with_news(
    experiment: str, request: ReportRequest, window: Window, store: RunStore, *, always: tuple[str | None, ...]
) -> Thinned | None:
    """Return the runs that a campaign's memo rests on; None without news. Thousands of others are let go here."""
    runs = store.query(Query(experiment=experiment, logged_until=window.until))
    # An experiment that holds a trainer's adopted runs alone has nothing to compare; asked for by name it says so.
    compared = request.experiment is not None or any(run.record.kind == "benchmark" for run in runs)
    if not compared or not any(run.record.provenance.logged_at >= window.since for run in runs):
        return None
    tested = {run.run_id for run in runs if OPTION_TAG in run.record.tags}
    return thin(runs, always={*tested, *filter(None, always)})


def _window(request: ReportRequest, session: Session, store: RunStore) -> Window:
    def last_report() -> datetime | None:
        names = [request.experiment] if request.experiment else store.experiments()
        ends = [memo.until for name in names for memo in earlier_memos(request.out, name, store, before="")[-1:]]
        return min(ends) if ends else None

    return resolve_window(
        request.since,
        request.until,
        now=session.now,
        zone=request.zone,
        store=session.store,
        last_report=last_report,
    )


def _experiments(request: ReportRequest, store: RunStore) -> tuple[str, ...]:
    known = store.experiments()
    if request.experiment is None:
        return known
    if request.experiment not in known:
        raise no_campaign(request.experiment, known, where=store.uri)
    return (request.experiment,)


@collector_at_rest()
def _write(
    experiment: str,
    campaign: Campaign,
    thinned: Thinned,
    baseline: str | None,
    request: ReportRequest,
    window: Window,
    session: Session,
    post: Post | None,
) -> tuple[Memo, EmailMessage | None]:
    store = session.store()
    rows = store.requests_many(thinned.kept)
    full = [dataclasses.replace(run, requests=rows[run.run_id]) for run in thinned.kept]
    result = analysis.analyse(full, campaign=campaign, window=window, baseline_run=baseline, seed=request.seed)
    if thinned.note is not None:
        result = dataclasses.replace(result, data_quality=(thinned.note, *result.data_quality))
    decision = options.decide(analysis.gather(result, seed=request.seed))
    key = folder_name(experiment, session.now)
    earlier = named_as_here(earlier_memos(request.out, experiment, store, before=key), full)
    view = report.build(result, decision, _context(full, earlier, request, window, session))
    page = report.render_html(view)
    content = report.render_json(view)
    files = {
        "memo.html": page.encode(),
        "memo.txt": report.render_text(view).encode(),
        "memo.json": content.encode(),
        "explore.html": report.render_explore(view),
    }
    if request.explain:
        explanation = explain(result, decision)
        files["explain.txt"] = explanation.encode()
        files["memo.txt"] += b"\n\n" + explanation.encode()
    message = None if post is None else post.compose(view, memo_html=page, date=session.now)
    if message is not None and request.eml:
        files["memo.eml"] = message.as_bytes()
    folder = request.out / key
    write_all(folder, files)
    explained = folder / "explain.txt" if request.explain else None
    memo = Memo(
        experiment=experiment, path=folder / "memo.html", content=msgspec.json.decode(content), explained=explained
    )
    kept = keep_report(store, key=key, runs=full, files=files, memo=memo.content)
    if isinstance(kept, StoreError):
        return dataclasses.replace(memo, keep_error=kept), message
    with_link = linked(files["memo.json"], kept)
    write_all(folder, {"memo.json": with_link})
    return dataclasses.replace(memo, content=msgspec.json.decode(with_link), kept=kept), message


def _context(
    runs: Sequence[StoredRun],
    earlier: Sequence[ArchivedMemo],
    request: ReportRequest,
    window: Window,
    session: Session,
) -> report.MemoContext:
    address = next((run.url for run in runs if run.url), None)
    return report.MemoContext(
        generated_at=session.now,
        timezone=request.zone,
        since_text=describe(window.since, request.zone),
        until_text=describe(window.until, request.zone),
        tracking_url=re.sub(r"[/?#]*\?.*$", "", address) if address else None,
        run_urls={run.run_id: run.url for run in runs},
        memo_number=len(earlier) + 1,
        previous=earlier[-1].content if earlier else None,
        tracker_version=metadata.version("tracker"),
        earlier=tuple(report.EarlierMemo(content=_without_numbers(memo), decision=memo.decision) for memo in earlier),
        logged_at={run.run_id: run.record.provenance.logged_at for run in runs},
        realises={run.run_id: run.record.tags[OPTION_TAG] for run in runs if OPTION_TAG in run.record.tags},
    )


def _without_numbers(memo: ArchivedMemo) -> Mapping[str, Any]:
    """Return an earlier memo without its list of numbers, which is half of it and asked for by nobody here."""
    return {key: value for key, value in memo.content.items() if key != "numbers"}
