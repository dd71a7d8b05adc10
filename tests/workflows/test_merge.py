"""Inputs that belong to one run are put together and held against each other."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from tests.cli.conftest import Cli, cli
from tracker import importers
from tracker.errors import UsageError
from tracker.importers.base import ImportedRun
from tracker.workflows.merge import Source, merge

__all__ = ["cli"]

DATA = Path(__file__).resolve().parents[1] / "data"


def _sources(*paths: Path) -> list[Source]:
    return [
        Source(imported=run, importer=importers.detect(path).name, path=path)
        for path in paths
        for run in importers.read(path)
    ]


def _codes(run: ImportedRun) -> list[str]:
    return [finding.code for finding in run.findings]


def _bench(tmp_path: Path, *, throughput: float, length: float | None, tokens: int = 4000) -> Path:
    """Write a bench_serving result of one run at one stream."""
    path = tmp_path / "bench.jsonl"
    value = {
        "backend": "sglang", "dataset_name": "sharegpt", "max_concurrency": 1, "duration": tokens / throughput,
        "completed": 10, "total_input_tokens": 1000, "total_output_tokens": tokens, "output_throughput": throughput,
        "accept_length": length,
    }  # fmt: skip
    path.write_text(json.dumps(value) + "\n")
    return path


def _log(tmp_path: Path, *, throughput: float, length: float) -> Path:
    path = tmp_path / "server.log"
    line = (
        "[2026-11-01 10:00:{:02d}] Decode batch. #running-req: 1, #token: 100, token usage: 0.00, "
        f"accept len: {length:.2f}, cuda graph: True, gen throughput (token/s): {throughput:.2f}, #queue-req: 0\n"
    )
    path.write_text("".join(line.format(second) for second in range(20)))
    return path


def _metrics(tmp_path: Path, name: str, *, tokens: int, steps: int) -> Path:
    path = tmp_path / name
    path.write_text(
        "# HELP sglang:generation_tokens_total Generated tokens.\n# TYPE sglang:generation_tokens_total counter\n"
        f"sglang:generation_tokens_total {tokens}.0\n"
        "# HELP sglang:spec_verify_calls_total Verify calls.\n# TYPE sglang:spec_verify_calls_total counter\n"
        f"sglang:spec_verify_calls_total {steps}.0\n"
    )
    return path


def test_a_result_a_log_and_two_readings_are_one_run_whose_sources_agree(tmp_path: Path) -> None:
    sources = _sources(
        _bench(tmp_path, throughput=100.0, length=2.1),
        _log(tmp_path, throughput=105.0, length=2.48),
        _metrics(tmp_path, "before.prom", tokens=1000, steps=500),
        _metrics(tmp_path, "after.prom", tokens=5000, steps=2100),
    )

    (merged,) = merge(sources)

    (cell,) = merged.imported.measurements
    assert cell.output_throughput_tok_s == 100.0
    assert cell.accept_length == 4000 / 1600
    assert cell.extra["accept_length_since_start"] == 2.1
    assert merged.importer == "sglang_bench_serving+sglang_log+prometheus"
    # The lifetime average is out of step with this run, and that is said; nothing else is.
    assert _codes(merged.imported).count("ACCEPT_LENGTH_SOURCES_DISAGREE") == 2
    assert "ACCEPT_LENGTH_CUMULATIVE" not in _codes(merged.imported)


def test_readings_may_be_named_in_any_order(tmp_path: Path) -> None:
    bench = _bench(tmp_path, throughput=100.0, length=None)
    before = _metrics(tmp_path, "before.prom", tokens=1000, steps=500)
    after = _metrics(tmp_path, "after.prom", tokens=5000, steps=2100)

    (one,) = merge(_sources(bench, before, after))
    (other,) = merge(_sources(after, bench, before))

    assert one.imported.measurements == other.imported.measurements
    assert _codes(one.imported) == []


@pytest.mark.parametrize(("of_log", "told"), [(115.0, False), (140.0, True)])
def test_throughputs_beyond_the_tolerance_are_a_finding_with_both_numbers(
    tmp_path: Path, of_log: float, told: bool
) -> None:
    (merged,) = merge(
        _sources(_bench(tmp_path, throughput=100.0, length=2.5), _log(tmp_path, throughput=of_log, length=2.5))
    )

    found = [item for item in merged.imported.findings if item.code == "THROUGHPUT_SOURCES_DISAGREE"]
    assert bool(found) is told
    if found:
        assert "100.0 tok/s at concurrency 1" in found[0].message
        assert "140.0" in found[0].message


def test_tokens_the_client_never_saw_are_a_finding_with_both_numbers(tmp_path: Path) -> None:
    sources = _sources(
        _bench(tmp_path, throughput=100.0, length=None),
        _metrics(tmp_path, "before.prom", tokens=0, steps=0),
        _metrics(tmp_path, "after.prom", tokens=6000, steps=2400),
    )

    (merged,) = merge(sources)

    (found,) = [item for item in merged.imported.findings if item.code == "COUNTERS_DISAGREE"]
    assert "6000 output tokens" in found.message
    assert "the client 4000" in found.message


def test_a_counter_that_fell_is_not_used(tmp_path: Path) -> None:
    sources = _sources(
        _bench(tmp_path, throughput=100.0, length=None),
        _metrics(tmp_path, "before.prom", tokens=1000, steps=3000),
        _metrics(tmp_path, "after.prom", tokens=9000, steps=2100),
    )

    (merged,) = merge(sources)

    assert merged.imported.measurements[0].accept_length is None
    assert "COUNTERS_RESET" in _codes(merged.imported)


def test_two_readings_alone_are_the_run_between_them(tmp_path: Path) -> None:
    sources = _sources(
        _metrics(tmp_path, "before.prom", tokens=1000, steps=500),
        _metrics(tmp_path, "after.prom", tokens=5000, steps=2100),
    )

    (merged,) = merge(sources)

    (cell,) = merged.imported.measurements
    assert (cell.output_tokens, cell.accept_length) == (4000, 2.5)
    assert _codes(merged.imported) == []


def test_a_description_goes_with_every_result_of_the_call(tmp_path: Path) -> None:
    info = DATA / "server_description" / "server_info.json"
    bench = DATA / "sglang_bench_serving" / "runs.jsonl"

    merged = merge(_sources(bench, info))

    assert len(merged) == len(importers.read(bench))
    assert all(source.imported.server_info is not None for source in merged)


def test_a_description_alone_measures_nothing() -> None:
    with pytest.raises(UsageError, match="measure nothing"):
        merge(_sources(DATA / "server_description" / "server_info.json"))


def test_a_log_that_several_runs_could_own_is_kept_apart_and_says_so(tmp_path: Path) -> None:
    merged = merge(_sources(DATA / "sglang_bench_serving" / "runs.jsonl", _log(tmp_path, throughput=100.0, length=2.5)))

    assert merged[-1].importer == "sglang_log"
    assert _codes(merged[-1].imported)[-1] == "INPUT_KEPT_APART"


def test_inputs_of_two_engines_are_not_one_run(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"k3.json is of vllm and server.log of sglang"):
        merge(_sources(DATA / "vllm_bench_serve" / "k3.json", _log(tmp_path, throughput=100.0, length=2.5)))


def test_the_data_of_a_training_is_counted_into_it() -> None:
    (merged,) = merge(_sources(DATA / "train_log" / "progress.log", DATA / "training_data" / "conversations.jsonl"))

    training = merged.imported.training
    assert training is not None
    assert (training.optimizer_steps, training.samples, training.unique_samples) == (2, 3, 2)


def test_a_reading_of_an_idle_server_alone_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="neither drafts nor generated tokens"):
        merge(_sources(_metrics(tmp_path, "before.prom", tokens=0, steps=0)))


def test_results_of_several_tools_stay_runs_of_their_own() -> None:
    merged = merge(_sources(DATA / "aiperf" / "single.json", DATA / "guidellm" / "concurrent.json"))

    assert [source.importer for source in merged] == ["aiperf", "guidellm"]


def test_a_real_campaign_agrees_with_its_own_log(shared_data: Path) -> None:
    folder = shared_data / "h200-tiny-llama" / "eagle3-d100000-3-1-4"
    names = ("requests.jsonl", "server.log", "metrics_before.prom", "metrics.prom", "server_info.json", "argv.json")

    (merged,) = merge(_sources(*(folder / name for name in names)))

    run = merged.imported
    assert run.server_info is not None
    assert run.argv is not None
    assert run.findings == ()
    assert run.measurements[0].accept_length == pytest.approx(3.034, rel=0.01)


def test_the_command_line_logs_them_as_one_run_under_one_identity(cli: Cli, tmp_path: Path) -> None:
    bench, log = _bench(tmp_path, throughput=100.0, length=2.5), _log(tmp_path, throughput=105.0, length=2.5)

    first, again = cli("log-run", bench, log), cli("log-run", bench, log)

    assert first.code == 0
    assert len(first.out.split()) == 1
    assert first.out == again.out
    assert "as sglang_log" in first.err


def test_the_command_line_takes_named_columns(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "runs.csv"
    path.write_text("config,speed index\nbase,90.0\n")

    outcome = cli("log-run", path, "--column", "speed index=throughput", "--json")

    assert outcome.code == 0
    assert "90.0" in outcome.out


REAL = "h200-tiny-llama"


def test_a_file_that_is_given_twice_is_refused(cli: Cli, tmp_path: Path) -> None:
    bench = _bench(tmp_path, throughput=100.0, length=2.5)
    copy = tmp_path / "copy.jsonl"
    copy.write_bytes(bench.read_bytes())

    outcome = cli("log-run", bench, copy)

    assert outcome.code == 2
    assert "bench.jsonl and copy.jsonl are one and the same content" in outcome.err
    assert outcome.out == ""


def test_more_readings_than_a_run_has_are_refused(shared_data: Path) -> None:
    drafted, plain = shared_data / REAL / "eagle3-d10000-3-1-4", shared_data / REAL / "baseline"
    paths = (drafted / "requests.jsonl", *(folder / "metrics.prom" for folder in (drafted, plain)))

    with pytest.raises(UsageError, match="3 readings of /metrics were given with one result"):
        merge(_sources(*paths, drafted / "metrics_before.prom"))


def test_two_logs_with_one_result_are_refused(shared_data: Path) -> None:
    drafted, plain = shared_data / REAL / "eagle3-d10000-3-1-4", shared_data / REAL / "baseline"

    with pytest.raises(UsageError, match="2 server logs were given with one result"):
        merge(_sources(drafted / "requests.jsonl", drafted / "server.log", plain / "server.log"))


def test_one_reading_cannot_frame_a_run_and_that_is_said(shared_data: Path) -> None:
    drafted = shared_data / REAL / "eagle3-d10000-3-1-4"

    (run,) = merge(_sources(drafted / "requests.jsonl", drafted / "metrics.prom"))

    assert "COUNTERS_NOT_COMPARED" in _codes(run.imported)


def test_a_baselines_answers_take_no_acceptance_from_another_servers_log(shared_data: Path) -> None:
    drafted, plain = shared_data / REAL / "eagle3-d10000-3-1-4", shared_data / REAL / "baseline"
    others = (drafted / "server.log", drafted / "metrics_before.prom", drafted / "metrics.prom")

    (run,) = merge(_sources(plain / "requests.jsonl", *others))

    assert "SPECULATION_SOURCES_DISAGREE" in _codes(run.imported)
    assert all(cell.accept_length is None for cell in run.imported.measurements)


def test_a_drafters_answers_with_a_baselines_log_are_an_error(cli: Cli, shared_data: Path) -> None:
    drafted, plain = shared_data / REAL / "eagle3-d10000-3-1-4", shared_data / REAL / "baseline"

    outcome = cli("log-run", "--dry-run", "--strict", drafted / "requests.jsonl", plain / "server.log")

    assert outcome.code == 3
    assert "SPECULATION_DENIED" in outcome.err
    assert "verify steps, but the server is described as one that does not speculate" in outcome.err


def _two_servers(tmp_path: Path) -> Path:
    """Write the log of two servers with different arguments."""
    log = _log(tmp_path, throughput=105.0, length=2.5)
    lines = log.read_text()
    start = "[2026-11-01 09:59:00] server_args=ServerArgs(model_path='m', speculative_algorithm='{}')\n"
    log.write_text(start.format("EAGLE") + lines + start.format("EAGLE3") + lines)
    return log


def test_a_log_of_two_servers_goes_with_no_result(tmp_path: Path) -> None:
    sources = _sources(_bench(tmp_path, throughput=100.0, length=2.5), _two_servers(tmp_path))

    with pytest.raises(UsageError, match=r"server\.log holds 2 servers, one after another"):
        merge(sources)


def test_each_server_of_a_log_keeps_its_own_arguments(tmp_path: Path) -> None:
    runs = merge(_sources(_two_servers(tmp_path)))

    assert [run.imported.speculation and run.imported.speculation.algorithm for run in runs] == ["EAGLE", "EAGLE3"]
    assert [run.server_logs for run in runs] == [(), ()]


def test_a_compressed_log_says_how_its_server_ran(tmp_path: Path, cli: Cli) -> None:
    log = _log(tmp_path, throughput=105.0, length=2.5)
    start = "[2026-11-01 09:59:00] server_args=ServerArgs(model_path='m', tp_size=8, speculative_algorithm='EAGLE3')\n"
    packed = tmp_path / "server.log.gz"
    packed.write_bytes(gzip.compress((start + log.read_text()).encode()))

    result = cli("log-run", str(packed), "--dry-run", "--json")

    assert json.loads(result.out)[0]["record"]["server"]["arguments"]["tp_size"] == 8


def _info(tmp_path: Path, name: str, **changes: object) -> Path:
    path = tmp_path / name
    described = {
        "model_path": "m", "tp_size": 1, "version": "0.5.17", "speculative_algorithm": "EAGLE3",
        "speculative_num_steps": 3, "speculative_eagle_topk": 1, "speculative_num_draft_tokens": 4,
        "internal_states": [{}],
    }  # fmt: skip
    path.write_text(json.dumps({**described, **changes}))
    return path


def test_two_descriptions_of_two_servers_are_refused_with_both_values(tmp_path: Path) -> None:
    sources = _sources(
        _bench(tmp_path, throughput=100.0, length=2.5),
        _info(tmp_path, "one.json"),
        _info(tmp_path, "two.json", speculative_num_steps=5),
    )

    with pytest.raises(UsageError, match="speculative_num_steps is 3 and 5"):
        merge(sources)


def test_two_descriptions_of_one_server_go_together(tmp_path: Path) -> None:
    sources = _sources(
        _bench(tmp_path, throughput=100.0, length=2.5),
        _info(tmp_path, "before.json"),
        _info(tmp_path, "after.json", internal_states=[{"avg_spec_accept_length": 2.5}]),
    )

    assert len(merge(sources)) == 1


def test_two_launch_commands_are_refused_where_they_differ(tmp_path: Path) -> None:
    commands = []
    for steps in ("3", "5"):
        path = tmp_path / f"argv{steps}.json"
        path.write_text(json.dumps(["python", "-m", "sglang.launch_server", "--speculative-num-steps", steps]))
        commands.append(path)

    with pytest.raises(UsageError, match="argument 4 is `3` and `5`"):
        merge(_sources(_bench(tmp_path, throughput=100.0, length=2.5), *commands))


def test_a_description_of_another_server_than_the_result_embeds_is_a_finding(tmp_path: Path) -> None:
    bench = _bench(tmp_path, throughput=100.0, length=2.5)
    own = json.loads(_info(tmp_path, "own.json").read_text())
    bench.write_text(json.dumps({**json.loads(bench.read_text()), "server_info": own}) + "\n")

    (merged,) = merge(_sources(bench, _info(tmp_path, "other.json", speculative_algorithm="EAGLE")))

    (finding,) = [item for item in merged.imported.findings if item.code == "SERVER_SOURCES_DISAGREE"]
    assert "speculative_algorithm is EAGLE3 and EAGLE" in finding.message
