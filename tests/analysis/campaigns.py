"""Records of both real campaigns, built for tests of the analysis: facts only, no importer involved."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from tracker.analysis.results import Window
from tracker.domain.campaign import Campaign, Claim, Costs
from tracker.domain.checkpoint import Checkpoint
from tracker.domain.finding import Finding
from tracker.domain.measurement import Measurement, Reported, RequestRow
from tracker.domain.provenance import Provenance
from tracker.domain.record import RunRecord, StoredRun
from tracker.domain.server import ServerConfig, Speculation
from tracker.domain.training import Training
from tracker.domain.workload import Hardware, Workload

LOGGED = datetime(2026, 11, 25, 12, tzinfo=UTC)
WINDOW = Window(since=datetime(2026, 11, 23, tzinfo=UTC), until=datetime(2026, 11, 30, tzinfo=UTC))

WRONG_FLAG = Finding(
    code="ALGO_MISMATCH_EAGLE_FOR_EAGLE3",
    severity="error",
    message="The drafter is EAGLE-3, the server ran with EAGLE.",
    fix="--speculative-algorithm EAGLE3",
    confidence="certain",
    voids=("acceptance",),
    flag_before="--speculative-algorithm EAGLE",
    flag_after="--speculative-algorithm EAGLE3",
)

# name, algorithm, drafter, graph, draft tokens, steps, tok/s, accept length, accept rate
FOUNDING_ROWS: tuple[tuple[Any, ...], ...] = (
    ("baseline", None, None, None, None, None, "90.0", None, None),
    ("eagle wrong flag", "EAGLE", "own-10k", None, None, None, None, "1.0", None),
    ("16 draft, no graph", "EAGLE3", "own-10k", False, 16, None, "56.7", "2.2", "0.14"),
    ("5 draft, no graph", "EAGLE3", "own-10k", False, 5, None, "53.2", "2.1", "0.42"),
    ("16 draft", "EAGLE3", "own-10k", True, 16, None, "74.9", "2.2", "0.14"),
    ("5 draft", "EAGLE3", "own-10k", True, 5, None, "82.3", "2.1", "0.42"),
    ("5 draft, 2 steps", "EAGLE3", "own-10k", True, 5, 2, "81.7", "1.9", "0.39"),
    ("AQ-MedAI, 16 draft, no graph", "EAGLE3", "AQ-MedAI", False, 16, None, "50.5", "1.9", "0.12"),
)

FOUNDING = Campaign(
    name="kimi-k2.5-eagle3",
    title="Kimi-K2.5 with EAGLE-3 drafter",
    question="Go back to the plain baseline for now, or pursue more training data?",
    deployed="the 2-step server at 81.7 tok/s",
    deployed_run="5 draft, 2 steps",
    decision_concurrency=1,
    costs=Costs(gpus=8, horizon_days=90, overhead_fix_gpu_hours=40),
    claims=(
        Claim(quantity="break_even_accept_length", value=2.5, by="the author's estimate"),
        Claim(quantity="speedup_accept_length", value=3.0, by="the author's estimate"),
    ),
    untested=("every number of draft tokens between 5 and 16",),
)


def printed(text: str | None) -> Reported | None:
    """Return a printed figure with half a unit of its last digit."""
    if text is None:
        return None
    digits = len(text.partition(".")[2])
    return Reported(value=float(text), half_width=0.5 * 10**-digits)


def provenance(minutes: float = 0) -> Provenance:
    """Return where a test record comes from."""
    moment = LOGGED + timedelta(minutes=minutes)
    return Provenance(logged_at=moment, measured_at=moment, tracker_version="0")


def founding_runs() -> tuple[StoredRun, ...]:
    """Return the eight runs of the founding campaign."""
    return tuple(_founding_run(index, row) for index, row in enumerate(FOUNDING_ROWS))


def _founding_run(index: int, row: Sequence[Any]) -> StoredRun:
    name, algorithm, drafter, graph, draft, steps, speed, length, rate = row
    own = drafter == "own-10k"
    cell = Measurement(
        concurrency=1,
        prompts=5,
        reported_throughput_tok_s=printed(speed),
        reported_accept_length=printed(length),
        reported_accept_rate=printed(rate),
        accept_rate_convention=None if rate is None else "length_over_draft_tokens",
    )
    record = RunRecord(
        record_id=f"founding-{index}",
        kind="benchmark",
        experiment=FOUNDING.name,
        name=name,
        role="baseline" if algorithm is None else "candidate",
        speculation=Speculation(
            enabled=algorithm is not None, algorithm=algorithm, num_steps=steps, num_draft_tokens=draft
        ),
        target=Checkpoint(name="Kimi-K2.5"),
        drafter=None
        if drafter is None
        else Checkpoint(name=drafter, vocabulary_coverage_fraction=0.983 if own else None),
        hardware=Hardware(gpu="RTX PRO 6000", gpu_count=8),
        workload=Workload(prompt_set="five prompts", prompts=5),
        cuda_graph=graph,
        measurements=(cell,),
        training=Training(samples=10_000, mix="own") if own else None,
        findings=(WRONG_FLAG,) if algorithm == "EAGLE" else (),
        provenance=provenance(index),
    )
    return StoredRun(run_id=f"r{index}", record=record)


H200 = Campaign(
    name="h200-tiny-llama",
    title="30M-parameter Llama with EAGLE-3 drafter",
    question="Serve with the drafter?",
    decision_concurrency=1,
    costs=Costs(gpus=1, horizon_days=30, gpu_hours_per_sample=2e-6),
)
H200_LOADS = (1, 8, 32)
H200_SERVERS = (
    "baseline",
    "baseline-nograph",
    "eagle3-d100-3-1-4",
    "eagle3-d1000-3-1-4",
    "eagle3-d10000-3-1-4",
    "eagle3-d100000-3-1-4",
    "eagle3-d100000-2-1-3",
    "eagle3-d100000-3-4-16",
    "eagle-wrong-flag-d100000-3-1-4",
)


def h200_runs(data: Path) -> tuple[StoredRun, ...]:
    """Return the nine servers of the H200 campaign, read from the shared data folder."""
    folder = data / "h200-tiny-llama"
    log = json.loads((folder / "train_log.json").read_text(encoding="utf-8"))
    trainings = {
        entry["samples"]: Training(
            samples=entry["samples"],
            tokens=entry["tokens"],
            optimizer_steps=entry["iters"],
            batch_size=64,
            samples_seen=64 * entry["iters"],
            mix="python source",
        )
        for entry in log["drafters"]
    }
    return tuple(_h200_run(folder, name, trainings, log["draft_vocab_coverage"]) for name in H200_SERVERS)


def _h200_run(folder: Path, name: str, trainings: Mapping[int, Training], coverage: float) -> StoredRun:
    lines = (folder / name / "requests.jsonl").read_text(encoding="utf-8").splitlines()
    entries = [json.loads(line) for line in lines]
    info = json.loads((folder / name / "server_info.json").read_text(encoding="utf-8"))
    rows = tuple(h200_row(entry) for entry in entries if "meta_info" in entry)
    walls = {(entry["concurrency"], entry["rep"]): entry["wall_s"] for entry in entries if "wall_s" in entry}
    cells = [cell for load in H200_LOADS for cell in h200_cells(rows, walls, load)]
    speculative = "eagle" in name
    samples = int(name.split("-d")[1].split("-")[0]) if speculative else None
    first = min(entry["meta_info"]["request_received_ts"] for entry in entries if "meta_info" in entry)
    moment = datetime.fromtimestamp(first, UTC)
    record = RunRecord(
        record_id=f"h200-{name}",
        kind="benchmark",
        experiment=H200.name,
        name=name,
        role="candidate" if speculative else "baseline",
        server=ServerConfig(engine="sglang", version=info["version"], arguments=info),
        speculation=Speculation(
            enabled=speculative,
            algorithm=info["speculative_algorithm"],
            num_steps=info["speculative_num_steps"],
            eagle_topk=info["speculative_eagle_topk"],
            num_draft_tokens=info["speculative_num_draft_tokens"],
        ),
        target=Checkpoint(name="tiny/target"),
        drafter=Checkpoint(name=f"eagle3-{samples}", vocabulary_coverage_fraction=coverage) if speculative else None,
        hardware=Hardware(gpu="NVIDIA H200", gpu_count=1),
        workload=Workload(prompt_set="python source", temperature=0.0, ignore_eos=True, max_output_tokens=256),
        cuda_graph=not info["disable_cuda_graph"],
        measurements=tuple(cells),
        training=None if samples is None else trainings[samples],
        findings=(WRONG_FLAG,) if "wrong" in name else (),
        provenance=Provenance(measured_at=moment, logged_at=LOGGED, tracker_version="0"),
    )
    return StoredRun(run_id=name, record=record, requests=rows)


def h200_row(entry: Mapping[str, Any]) -> RequestRow:
    """Return one answered request of `requests.jsonl`."""
    meta = entry["meta_info"]
    histogram = meta.get("spec_correct_drafts_histogram")
    return RequestRow(
        prompt_key=f"weak:{entry['category']}:{meta['prompt_tokens']}",
        category=entry["category"],
        concurrency=entry["concurrency"],
        repeat=entry["rep"] if "rep" in entry else entry["repeat"],
        input_tokens=meta["prompt_tokens"],
        output_tokens=meta["completion_tokens"],
        cached_input_tokens=meta["cached_tokens"],
        latency_s=meta["e2e_latency"],
        verify_steps=meta.get("spec_verify_ct"),
        accepted_drafts=meta.get("spec_num_correct_drafts"),
        proposed_drafts=meta.get("spec_num_proposed_drafts"),
        accepted_histogram=None if histogram is None else tuple(histogram),
    )


def h200_cells(rows: Sequence[RequestRow], walls: Mapping[tuple[int, int], float], load: int) -> list[Measurement]:
    """Return the pooled cell of one load, and one cell a repeat where there are several."""
    passes: dict[int, list[RequestRow]] = defaultdict(list)
    for row in rows:
        if row.concurrency == load:
            passes[row.repeat].append(row)
    whole = [row for part in passes.values() for row in part]
    cells = [pooled_cell(whole, load, sum(walls[(load, repeat)] for repeat in passes))]
    if len(passes) > 1:
        cells += [pooled_cell(part, load, walls[(load, repeat)], repeat=repeat) for repeat, part in passes.items()]
    return cells


def pooled_cell(rows: Sequence[RequestRow], load: int, wall_s: float, *, repeat: int | None = None) -> Measurement:
    """Return the cell that pools request rows."""
    histograms = [row.accepted_histogram for row in rows if row.accepted_histogram is not None]
    width = max((len(part) for part in histograms), default=0)
    total = tuple(sum(part[index] for part in histograms if index < len(part)) for index in range(width))
    return Measurement(
        concurrency=load,
        repeat=repeat,
        requests_completed=len(rows),
        prompts=len({row.prompt_key for row in rows}),
        input_tokens=sum(row.input_tokens for row in rows if row.input_tokens is not None),
        output_tokens=sum(row.output_tokens for row in rows if row.output_tokens is not None),
        cached_input_tokens=sum(row.cached_input_tokens for row in rows if row.cached_input_tokens is not None),
        wall_s=wall_s,
        busy_s=sum(row.latency_s for row in rows if row.latency_s is not None),
        verify_steps=sum(row.verify_steps for row in rows if row.verify_steps is not None) if histograms else None,
        accepted_drafts=sum(row.accepted_drafts for row in rows if row.accepted_drafts is not None)
        if histograms
        else None,
        accepted_histogram=total or None,
    )
