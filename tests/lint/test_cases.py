"""Public cases and the real campaign: the expected codes, and no false alarm."""

from __future__ import annotations

import json
from collections.abc import Mapping
from itertools import zip_longest
from pathlib import Path
from typing import Any

import pytest

from tracker import checkpoints, engines, lint
from tracker.domain.checkpoint import Checkpoint
from tracker.domain.finding import Finding
from tracker.domain.measurement import Measurement
from tracker.domain.workload import Workload
from tracker.lint.base import Subject

SHARED = Path(__file__).resolve().parents[3] / "shared" / "data"
CASES = SHARED / "cases" / "data" / "launch_commands.jsonl"
LINES = [json.loads(line) for line in CASES.read_text().splitlines()] if CASES.is_file() else []
H200 = (
    "baseline", "baseline-nograph", "eagle-wrong-flag-d100000-3-1-4", "eagle3-d100-3-1-4", "eagle3-d1000-3-1-4",
    "eagle3-d10000-3-1-4", "eagle3-d100000-2-1-3", "eagle3-d100000-3-1-4", "eagle3-d100000-3-4-16",
)  # fmt: skip
H = 64


def _drafter(folder: Path, facts: Mapping[str, Any] | None, write: Any, command: str) -> Checkpoint | None:
    """The checkpoint that a case describes, as files: a config and a header are enough."""
    if not facts:
        return None
    eagle3 = "LlamaForCausalLMEagle3"
    config: dict[str, Any] = {"architectures": facts.get("architectures", [eagle3]), "hidden_size": H}
    tensors: dict[str, Any] = {"fc.weight": ("BF16", (H, 3 * H)), "norm.weight": ("BF16", (H,))}
    if facts.get("has_lm_head_weight", True):
        tensors["lm_head.weight"] = ("BF16", (32, H))
    if facts.get("draft_vocab_size_declared"):
        config |= {"draft_vocab_size": 32, "vocab_size": 32}
    if "tie_word_embeddings" in facts:
        config["tie_word_embeddings"] = facts["tie_word_embeddings"]
    if "max_position_embeddings" in facts:
        config["max_position_embeddings"] = facts["max_position_embeddings"]
    if facts.get("has_embed_tokens"):
        tensors["embed_tokens.weight"] = ("BF16", (4, H), bytes(range(1, 129)) * 4)
    if facts.get("hidden_size_differs_from_target"):
        config["target_hidden_size"] = 2 * H
        tensors["fc.weight"] = ("BF16", (H, 6 * H))
        tensors["embed_tokens.weight"] = ("BF16", (4, 2 * H))
    drafter = checkpoints.describe(write(folder / "draft", config, tensors))
    if facts.get("embed_tokens_equal_to_target") is False:
        target = write(
            folder / "target", {"hidden_size": H}, {"model.embed_tokens.weight": ("BF16", (4, H), bytes(512))}
        )
        return checkpoints.compare_embeddings(drafter, folder / "draft", target)
    return drafter


def _subject(case: Mapping[str, Any], drafter: Checkpoint | None) -> Subject:
    server = engines.parse_command(f"{case.get('env', '')} {case['cmd']}")
    client = case.get("client")
    workload = None
    if client is not None:
        workload = Workload(
            concurrencies=(client["concurrency"],) if "concurrency" in client else (),
            temperature=client.get("temperature"),
            prompt_set=client.get("dataset"),
            ignore_eos=client.get("ignore_eos"),
        )
    return Subject(server=server, speculation=engines.speculation(server), drafter=drafter, workload=workload)


@pytest.mark.parametrize("case", LINES, ids=[line["case"] for line in LINES])
def test_every_public_launch_command_gives_the_expected_codes_and_no_other_alarm(
    case: Mapping[str, Any], tmp_path: Path, write_checkpoint: Any
) -> None:
    drafter = _drafter(tmp_path, case["draft_facts"], write_checkpoint, case["cmd"])

    findings = lint.run(_subject(case, drafter))

    expected = set(case["expect"])
    assert expected <= {finding.code for finding in findings}
    assert {finding.code for finding in findings if finding.severity != "info"} <= expected
    worst = {"ok": None, "info": None, "warn": "warning", "error": "error"}[case["severity"]]
    assert (findings[0].severity if findings and findings[0].severity != "info" else None) == worst


def _h200(folder: Path, *, measured: bool) -> Subject:
    info = engines.parse_info(json.loads((folder / "server_info.json").read_text()))
    argv = engines.parse_argv(json.loads((folder / "argv.json").read_text()))
    server = engines.combine([("server_info", info), ("argv", argv)])
    speculation = engines.speculation(server)
    rows = [json.loads(line) for line in (folder / "requests.jsonl").read_text().splitlines()]
    target = checkpoints.describe(folder.parent / "checkpoints" / "target")
    drafter = None
    if speculation is not None and speculation.enabled:
        drafter = checkpoints.describe(folder.parent / "checkpoints" / "eagle3-100000")
    return Subject(
        server=server,
        speculation=speculation,
        target=target,
        drafter=drafter,
        measurements=_cells(rows) if measured else (),
        workload=Workload(concurrencies=(1, 8, 32)),
    )


def _cells(rows: list[dict[str, Any]]) -> tuple[Measurement, ...]:
    cells = []
    for load in (1, 8, 32):
        metas = [row["meta_info"] for row in rows if row.get("concurrency") == load and "meta_info" in row]
        steps = sum(meta.get("spec_verify_ct", 0) for meta in metas)
        histograms = [
            meta["spec_correct_drafts_histogram"] for meta in metas if "spec_correct_drafts_histogram" in meta
        ]
        cells.append(
            Measurement(
                concurrency=load,
                output_tokens=sum(meta["completion_tokens"] for meta in metas),
                verify_steps=steps or None,
                accepted_drafts=sum(meta["spec_num_correct_drafts"] for meta in metas) if steps else None,
                accepted_histogram=tuple(sum(counts) for counts in zip_longest(*histograms, fillvalue=0))
                if histograms
                else None,
            )
        )
    return tuple(cells)


@pytest.mark.parametrize("name", H200)
@pytest.mark.parametrize("measured", [False, True])
def test_only_the_server_with_the_wrong_flag_has_an_error(shared_data: Path, name: str, measured: bool) -> None:
    findings = lint.run(_h200(shared_data / "h200-tiny-llama" / name, measured=measured))

    errors = [finding.code for finding in findings if finding.severity == "error"]
    if name.startswith("eagle-wrong-flag"):
        assert errors == ["ALGO_MISMATCH_EAGLE_FOR_EAGLE3", "ACCEPT_LENGTH_NEAR_ONE"][: 2 if measured else 1]
    else:
        assert errors == []


def _root_cause(findings: tuple[Finding, ...]) -> Finding:
    return next(finding for finding in findings if finding.code == "ALGO_MISMATCH_EAGLE_FOR_EAGLE3")


def test_the_founding_bug_is_named_with_its_evidence_and_the_corrected_command(shared_data: Path) -> None:
    subject = _h200(shared_data / "h200-tiny-llama" / "eagle-wrong-flag-d100000-3-1-4", measured=True)

    found = _root_cause(lint.run(subject))

    assert found.severity == "error"
    assert found.confidence == "certain"
    assert found.voids == ("acceptance", "speed")
    assert found.flag_before == "--speculative-algorithm EAGLE"
    assert found.flag_after == "--speculative-algorithm EAGLE3"
    assert "architecture LlamaForCausalLMEagle3" in found.message
    assert "1.00" in found.message
    assert found.fix is not None
    corrected = engines.parse_command(found.fix)
    assert subject.server is not None
    assert corrected.typed == {**subject.server.typed, "speculative_algorithm": "EAGLE3"}
