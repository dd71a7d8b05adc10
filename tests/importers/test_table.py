"""Tables of runs, the founding table first."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from tracker import importers
from tracker.domain.measurement import Reported
from tracker.errors import InputError
from tracker.importers.base import ImportedRun

DATA = Path(__file__).resolve().parents[1] / "data" / "table"


def _write(tmp_path: Path, text: str, name: str = "runs.csv") -> Path:
    path = tmp_path / name
    path.write_text(text)
    return path


def _codes(run: ImportedRun) -> list[str]:
    return [finding.code for finding in run.findings]


FOUNDING = [
    ("SGLang baseline (no speculation)", "baseline", None, None, None, 90.0, None, None),
    ("EAGLE flag given for the EAGLE-3 drafter (before the fix)", None, "EAGLE", None, None, None, 1.0, None),
    ("EAGLE3, no CUDA graph, 16 draft", None, "EAGLE3", False, 16, 56.7, 2.2, 0.14),
    ("EAGLE3, no CUDA graph, 5 draft", None, "EAGLE3", False, 5, 53.2, 2.1, 0.42),
    ("EAGLE3, CUDA graph, 16 draft", None, "EAGLE3", True, 16, 74.9, 2.2, 0.14),
    ("EAGLE3, CUDA graph, 5 draft", None, "EAGLE3", True, 5, 82.3, 2.1, 0.42),
    ("EAGLE3, CUDA graph, 5 draft, 2-step", None, "EAGLE3", True, 5, 81.7, 1.9, 0.39),
    ("AQ-MedAI, EAGLE3, no CUDA graph", None, "EAGLE3", False, 16, 50.5, 1.9, 0.12),
]


def test_the_founding_table_is_read_exactly(shared_data: Path) -> None:
    runs = importers.read(shared_data / "founding" / "benchmarks.csv")

    seen = []
    for run in runs:
        (cell,) = run.measurements
        assert run.speculation is not None
        length, rate = cell.reported_accept_length, cell.reported_accept_rate
        seen.append(
            (
                run.name,
                run.role,
                run.speculation.algorithm,
                run.cuda_graph,
                run.speculation.num_draft_tokens,
                cell.output_throughput_tok_s,
                None if length is None else length.value,
                None if rate is None else rate.value,
            )
        )
    assert seen == FOUNDING
    assert [run.row for run in runs] == list(range(8))
    assert all(run.findings == () and run.missing is None for run in runs)


def test_the_founding_table_keeps_rounding_conventions_drafters_and_notes(shared_data: Path) -> None:
    runs = importers.read(shared_data / "founding" / "benchmarks.csv")
    best, two_step, other = runs[5], runs[6], runs[7]

    assert best.measurements[0].reported_throughput_tok_s == Reported(value=82.3, half_width=0.05)
    assert best.measurements[0].reported_accept_length == Reported(value=2.1, half_width=0.05)
    assert best.measurements[0].reported_accept_rate == Reported(value=0.42, half_width=0.005)
    conventions = {run.measurements[0].accept_rate_convention for run in runs[2:]}
    assert conventions == {"length_over_draft_tokens"}
    assert two_step.speculation is not None
    assert (two_step.speculation.num_steps, best.speculation and best.speculation.num_steps) == (2, None)
    assert other.drafter is not None
    assert other.drafter.name == "AQ-MedAI"
    assert best.note == "best EAGLE3 config"


def test_a_baseline_row_has_no_acceptance_at_all(shared_data: Path) -> None:
    baseline = importers.read(shared_data / "founding" / "benchmarks.csv")[0]

    assert baseline.speculation is not None
    assert not baseline.speculation.enabled
    assert baseline.measurements[0].accept_length is None
    assert baseline.cuda_graph is None


def test_a_markdown_table_with_units_and_marks_is_read() -> None:
    baseline, two, three = importers.read(DATA / "sweep.md")

    assert baseline.role == "baseline"
    assert two.name == "mtp"
    assert two.measurements[0].reported_throughput_tok_s == Reported(value=44.2, half_width=0.05)
    assert two.measurements[0].reported_accept_rate == Reported(value=0.55, half_width=0.0005)
    assert two.measurements[0].accept_rate_convention == "accepted_over_proposed"
    assert two.speculation is not None
    assert (two.speculation.num_steps, two.speculation.num_draft_tokens) == (2, 3)
    assert three.measurements[0].output_throughput_tok_s == 43.9


def test_configurations_in_the_header_become_runs_and_rows_their_concurrencies() -> None:
    base, k3 = importers.read(DATA / "crossover.tsv")

    assert (base.role, k3.role) == ("baseline", None)
    assert [(cell.concurrency, cell.output_throughput_tok_s) for cell in k3.measurements] == [(1, 71.0), (8, 288.4)]
    assert k3.speculation is not None
    assert k3.speculation.num_steps == 3


def test_aligned_text_with_categories_becomes_one_run_a_configuration() -> None:
    base, spec = importers.read(DATA / "categories.txt")

    assert [(cell.category, cell.output_throughput_tok_s) for cell in spec.measurements] == [
        ("coding", 80.2),
        ("qa", 61.0),
    ]
    assert [cell.reported_accept_rate for cell in base.measurements] == [None, None]
    assert spec.measurements[0].reported_accept_rate == Reported(value=0.7501, half_width=0.00005)


def test_concurrencies_in_the_header_become_cells_and_a_lone_accept_length_stays_apart(tmp_path: Path) -> None:
    path = _write(tmp_path, "date,variant,bs1_tok_s,bs8_tok_s,accept_len\n2026-04-03,TP8+MTP,121.61,633.78,1.96\n")

    (run,) = importers.read(path)

    cells = [(cell.concurrency, cell.output_throughput_tok_s, cell.accept_length) for cell in run.measurements]
    assert cells == [(1, 121.61, None), (8, 633.78, None), (None, None, 1.96)]
    assert "ACCEPT_LENGTH_CONCURRENCY_UNKNOWN" in _codes(run)
    assert run.measured_at == datetime(2026, 4, 3, tzinfo=UTC)


def test_semicolons_with_decimal_commas_are_read(tmp_path: Path) -> None:
    path = _write(tmp_path, "config;output tok/s;accept length\na;82,3;2,10\nb;1050;2,30\n")

    first, second = importers.read(path)

    assert first.measurements[0].reported_throughput_tok_s == Reported(value=82.3, half_width=0.05)
    assert second.measurements[0].output_throughput_tok_s == 1050.0


def test_a_comma_that_could_mean_either_is_an_error_with_its_line(tmp_path: Path) -> None:
    path = _write(tmp_path, "config;output tok/s\na;1,234\n")

    with pytest.raises(InputError, match="thousands or a decimal comma") as caught:
        importers.read(path)

    assert caught.value.where == f"{path}:2"


@pytest.mark.parametrize(
    "header",
    [
        "tok/s",
        "Output (tok/s)",
        "output_tok_s",
        "Throughput [tokens/s]",
        "TPS",
        "gen throughput (token/s)",
        "tok_per_s",
    ],
)
def test_output_throughput_has_many_names(tmp_path: Path, header: str) -> None:
    (run,) = importers.read(_write(tmp_path, f"config,{header}\na,82.3\n"))

    assert run.measurements[0].output_throughput_tok_s == 82.3
    assert _codes(run) == []


@pytest.mark.parametrize("header", ["total_tok_s", "total_token_throughput", "request_throughput", "peak_tok_s"])
def test_other_throughputs_are_never_taken_for_output_throughput(tmp_path: Path, header: str) -> None:
    path = _write(tmp_path, f"config,{header},accept_length\na,82.3,2.1\n")

    (run,) = importers.read(path)

    assert run.measurements[0].output_throughput_tok_s is None
    assert run.measurements[0].extra == {header: 82.3}
    assert "COLUMNS_NOT_UNDERSTOOD" in _codes(run)


def test_a_bare_throughput_is_taken_and_said_so(tmp_path: Path) -> None:
    (run,) = importers.read(_write(tmp_path, "config,throughput\na,82.3\n"))

    assert run.measurements[0].output_throughput_tok_s == 82.3
    assert _codes(run) == ["COLUMN_ASSUMED"]


def test_an_accept_length_without_the_bonus_token_gets_it(tmp_path: Path) -> None:
    (run,) = importers.read(_write(tmp_path, "config,accept_len_excl_bonus\na,1.3\n"))

    assert run.measurements[0].reported_accept_length == Reported(value=2.3, half_width=0.05)


def test_an_accept_length_below_one_is_a_finding(tmp_path: Path) -> None:
    (run,) = importers.read(_write(tmp_path, "config,accept_length\na,0.72\n"))

    assert _codes(run) == ["IDENTITY_ACCEPT_LENGTH"]


def test_a_column_of_percentages_without_a_sign_is_recognised(tmp_path: Path) -> None:
    first, second = importers.read(_write(tmp_path, "config,tok_s,acceptance\na,50,42.5\nb,51,0.9\n"))

    assert first.measurements[0].reported_accept_rate == Reported(value=0.425, half_width=0.0005)
    assert second.measurements[0].reported_accept_rate == Reported(value=0.009, half_width=0.0005)


def test_unknown_columns_are_kept_under_their_names(tmp_path: Path) -> None:
    (run,) = importers.read(_write(tmp_path, "config,tok_s,power_w,kernel\na,50.0,300,triton\n"))

    assert run.measurements[0].extra == {"power_w": 300.0}
    assert run.tags == {"kernel": "triton"}


def test_empty_means_not_reported(tmp_path: Path) -> None:
    text = "config,tok_s,accept_length,cuda_graph,temperature\na,50.0,,,\nb,–,n/a,-,null\n"

    first, second = importers.read(_write(tmp_path, text))

    for run in (first, second):
        assert run.measurements[0].accept_length is None
        assert run.cuda_graph is None
        assert run.workload is None
    assert second.measurements[0].output_throughput_tok_s is None
    assert "ROW_WITHOUT_MEASUREMENT" in _codes(second)


def test_verify_steps_follow_from_drafted_tokens_where_the_printed_length_agrees(tmp_path: Path) -> None:
    header = "config,num_speculative_tokens,mean_acceptance_length,accepted,drafted"
    text = f"{header}\na,2,1.21,1393,13548\nb,2,1.90,1393,13548\n"

    agreeing, contradicting = importers.read(_write(tmp_path, text))

    assert agreeing.measurements[0].verify_steps == 6774
    assert agreeing.measurements[0].accept_length == pytest.approx(1.2056, abs=5e-5)
    assert contradicting.measurements[0].verify_steps is None
    assert contradicting.measurements[0].accept_length == 1.90


def test_a_table_that_measures_nothing_names_what_is_missing_and_what_was_found(tmp_path: Path) -> None:
    path = _write(tmp_path, "config,drafter,note\na,b,c\n")

    with pytest.raises(InputError) as caught:
        importers.read(path)

    assert caught.value.where == f"{path}:1"
    assert "no column holds output throughput or accept length" in str(caught.value)
    assert "found: config, drafter, note" in str(caught.value)
    assert "output_throughput_tok_s" in str(caught.value)


def test_an_accept_rate_alone_is_refused_with_the_reason(tmp_path: Path) -> None:
    path = _write(tmp_path, "prompt,accept_ratio_k7,accept_ratio_k5\n1,0.940,0.977\n")

    with pytest.raises(InputError, match=r"accept rate alone .accept_ratio_k7, accept_ratio_k5. cannot be compared"):
        importers.read(path)


@pytest.mark.parametrize(
    ("row", "complaint"),
    [
        ("b,fast,2.1", "column `tok_s` holds `fast` where a number is expected"),
        ("b,50.0,-2.1", "column `accept_length` holds `-2.1`"),
        ("b,50.0", "line 3 has 2 cells, the header has 3"),
        ("b,50.0,2.1,x", "line 3 has 4 cells, the header has 3"),
    ],
)
def test_a_malformed_row_names_file_line_and_column(tmp_path: Path, row: str, complaint: str) -> None:
    path = _write(tmp_path, f"config,tok_s,accept_length\na,50.0,2.0\n{row}\n")

    with pytest.raises(InputError) as caught:
        importers.read(path)

    assert caught.value.where == f"{path}:3"
    assert complaint in str(caught.value)


def test_a_line_number_counts_quoted_line_breaks(tmp_path: Path) -> None:
    path = _write(tmp_path, 'config,note,tok_s\na,"two\nlines",50.0\nb,x,fast\n')

    with pytest.raises(InputError) as caught:
        importers.read(path)

    assert caught.value.where == f"{path}:4"


def test_a_cut_last_row_is_left_out_and_named(tmp_path: Path) -> None:
    path = _write(tmp_path, "config,tok_s,accept_length\na,50.0,2.0\nb,5")

    (run,) = importers.read(path)

    assert run.name == "a"
    assert run.missing == "line 3 is cut in column `tok_s`; what follows was left out"


def test_a_last_number_without_a_line_break_may_be_cut_and_that_is_said(tmp_path: Path) -> None:
    path = _write(tmp_path, "config,tok_s\na,50.0\nb,51")

    runs = importers.read(path)

    assert "LAST_VALUE_MAY_BE_CUT" in _codes(runs[-1])


def test_several_tables_in_one_markdown_file_are_refused(tmp_path: Path) -> None:
    table = "| config | tok/s |\n|---|---|\n| a | 1.0 |\n"

    with pytest.raises(InputError, match="2 tables"):
        importers.read(_write(tmp_path, f"{table}\n{table}"), "table")


def test_what_was_asked_and_answered_is_neither_a_name_nor_a_tag(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text("prompt,answer,output_tok_s\ntell me my secret,here it is,100.0\n3,4,90.0\n")

    runs = importers.read(path)

    assert [run.name for run in runs] == ["row 2", "row 3"]
    assert [dict(run.tags) for run in runs] == [{}, {}]
    assert dict(runs[1].measurements[0].extra) == {"prompt": 3.0, "answer": 4.0}


def test_fixed_drafts_and_a_rate_give_the_accept_length_and_say_so(tmp_path: Path) -> None:
    runs = importers.read(_write(tmp_path, "name,k,output_tok_s,acceptance_rate\nvllm,3,120,0.60\nbase,0,100,\n"))

    assert [run.measurements[0].accept_length for run in runs] == [pytest.approx(2.8), None]
    assert [finding.code for finding in runs[0].findings] == ["ACCEPT_LENGTH_FROM_RATE"]
    assert runs[1].role == "baseline"


def test_minus_one_is_the_tools_own_word_for_not_measured(tmp_path: Path) -> None:
    (run,) = importers.read(_write(tmp_path, "name,output_tok_s,accept_len\nplain,120,-1\n"))

    assert run.measurements[0].accept_length is None


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("name,output_tok_s,output_tok_s\na,1,2\n", "the header names `output_tok_s` 2 times"),
        ("| a | tok/s |\n|---|---|\n| x | 1 |\n\n| b | tok/s |\n|---|---|\n| y | 2 |\n", "the file holds 2 tables"),
    ],
)
def test_what_is_wrong_with_a_table_is_said(tmp_path: Path, text: str, complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        importers.read(_write(tmp_path, text))


def test_rows_without_a_meaning_are_told_how_to_get_one(tmp_path: Path) -> None:
    path = _write(tmp_path, "context_tokens,a_accept_len,b_accept_len\n2000,2.3,1.6\n4000,2.0,1.6\n")

    with pytest.raises(InputError, match='--column "context_tokens=category"'):
        importers.read(path)
    runs = importers.read(path, columns={"context_tokens": "category"})

    assert [[cell.category for cell in run.measurements] for run in runs] == [["2000", "4000"]] * 2
