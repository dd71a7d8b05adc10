"""What MLflow shows of a record: names it accepts, values it keeps, words people read."""

from __future__ import annotations

import csv
import dataclasses
import io
import json
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.store import samples
from tracker.domain.measurement import Measurement
from tracker.domain.record import Attachment
from tracker.domain.server import ServerConfig
from tracker.domain.training import MetricPoint, Training
from tracker.errors import InputError
from tracker.store.mlflow_artifacts import artifacts, measurements_csv
from tracker.store.mlflow_names import MAX_KEY, MAX_PARAM, MAX_TAG, Names, model_slug, safe_key
from tracker.store.mlflow_note import note, readme
from tracker.store.mlflow_projection import MetricValue, flags_digest, project


@pytest.mark.parametrize(
    ("original", "key"),
    [
        ("accept_length", "accept_length"),
        ("TTFT (ms)", "TTFT_ms"),
        ("Mean TTFT (ms)", "Mean_TTFT_ms"),
        ("Acceptance rate (%)", "Acceptance_rate_percent"),
        ("accept@1", "accept_at_1"),
        ("val/AR@100", "val/AR_at_100"),
        ("timing(s)/gen", "timing_s/gen"),
        ("vllm:spec_decode_num_accepted_tokens", "vllm_spec_decode_num_accepted_tokens"),
        ("/a//b/../c/.", "a/b/c"),
        ("中文", "中文"),
        ("..0", "0"),
    ],
)
def test_a_name_is_made_safe_and_stays_recognisable(original: str, key: str) -> None:
    assert safe_key(original) == key


@settings(deadline=None)
@given(st.lists(st.text(max_size=300), unique=True, max_size=20))
def test_any_names_become_accepted_unique_keys_that_lead_back(originals: list[str]) -> None:
    from mlflow.utils.validation import _validate_metric_name

    names = Names()
    keys = [names.key(original) for original in originals]

    for key in keys:
        _validate_metric_name(key)
    assert len({key.casefold() for key in keys}) == len(keys)
    assert [names.changed.get(key, key) for key in keys] == originals
    assert [names.key(original) for original in originals] == keys


@given(st.text(max_size=400))
def test_any_drafter_name_becomes_a_name_for_a_logged_model(name: str) -> None:
    slug = model_slug(name)

    assert slug
    assert len(slug) <= MAX_KEY
    assert not set(slug) & set("/:.%\"'")


def test_two_names_that_look_alike_keep_apart_and_their_originals_are_in_a_tag() -> None:
    extra = {"TTFT (ms)": 1.0, "TTFT ms": 2.0, "ttft_ms": 3.0}
    projection = project(samples.record(measurements=(samples.cell(1, extra=extra),)))

    found = {m.key: m.value for m in projection.metrics if m.key.startswith("bench_extra/")}
    originals = json.loads(projection.tags["tracker.original_names"])

    assert found["bench_extra/TTFT_ms"] == 1.0
    assert sorted(found.values()) == [1.0, 2.0, 3.0]
    assert {originals[key] for key in found} == {f"bench_extra/{name}" for name in extra}


def test_flags_show_as_resolved_with_everything_that_was_typed() -> None:
    params = project(samples.record()).params

    assert params["server.tp_size"] == "1"
    assert params["server.cuda_graph_bs"] == "1, 2, 4, 8"
    assert params["server.watchdog_timeout"] == "300"
    assert "server.dp_size" not in params
    assert params["speculation.num_draft_tokens"] == "4"
    assert params["workload.concurrencies"] == "1, 8, 32"
    assert params["train.samples"] == "100000"
    assert params["drafter.draft_vocab_size"] == "2048"


def test_a_long_flag_is_shortened_and_says_so() -> None:
    server = ServerConfig(typed={"chat_template": "x" * 7000})

    text = project(samples.record(server=server)).params["server.chat_template"]

    assert len(text) == MAX_PARAM
    assert text.endswith("... (7000 characters, whole in record.json)")


def test_metrics_over_concurrency_have_it_as_their_step() -> None:
    metrics = project(samples.record()).metrics

    curve = [(m.step, round(m.value)) for m in metrics if m.key == "bench/output_throughput_tok_s"]

    assert curve == [(1, 696), (8, 5568), (32, 22274)]
    assert MetricValue(key="category/code/accept_length", value=3.03431, step=1) in metrics


@pytest.mark.parametrize(("decision", "shown"), [(None, 1), (8, 8), (64, 1)])
def test_flat_values_are_those_at_the_load_that_matters_else_at_the_lowest(decision: int | None, shown: int) -> None:
    projection = project(samples.record(), decision_concurrency=decision)

    flat = [m.value for m in projection.metrics if m.key == "output_throughput_tok_s"]

    assert flat == [pytest.approx(samples.cell(shown).output_throughput_tok_s, rel=1e-5)]
    assert projection.tags["tracker.summary_concurrency"] == str(shown)


def test_what_was_not_measured_is_absent_and_not_zero() -> None:
    record = samples.record(measurements=(Measurement(concurrency=4, output_tokens=10, wall_s=2.0),), training=None)

    keys = {metric.key for metric in project(record).metrics}

    assert keys == {"output_throughput_tok_s", "bench/output_throughput_tok_s", "bench/output_tokens"}


def test_a_diverged_training_keeps_its_nan_and_drops_infinity() -> None:
    history = tuple(MetricPoint(name="loss", step=i, value=value) for i, value in enumerate((1.0, math.nan, math.inf)))

    found = [m for m in project(samples.record(training=Training(history=history))).metrics if m.key == "history/loss"]

    assert [metric.step for metric in found] == [0, 1]
    assert math.isnan(found[1].value)


def test_the_gravest_finding_of_a_code_is_its_tag() -> None:
    found = (
        samples.finding(severity="error"),
        samples.finding(severity="info"),
        samples.finding("OTHER", severity="info"),
    )

    tags = project(samples.record(findings=found)).tags

    assert tags["finding.ALGO_MISMATCH_EAGLE_FOR_EAGLE3"] == "error"
    assert tags["finding.OTHER"] == "info"


def test_the_digest_of_the_flags_does_not_depend_on_their_order() -> None:
    one = ServerConfig(typed={"a": 1, "b": [2]}, arguments={"c": None})
    other = ServerConfig(typed={"b": [2], "a": 1}, arguments={"c": None})

    assert flags_digest(one) == flags_digest(other)
    assert flags_digest(one) != flags_digest(ServerConfig(typed={"a": 1, "b": [3]}))


def test_the_description_says_the_result_first_then_what_is_wrong() -> None:
    text = note(samples.record(findings=(samples.finding(),), validity="suspect", validity_reason="shared GPU"))

    lines = text.splitlines()

    assert lines[0] == "**SUSPECT** (shared GPU), **696.1 tok/s** at 1 stream, accept length **3.03**, candidate"
    assert lines[2].startswith("- **error** `ALGO_MISMATCH_EAGLE_FOR_EAGLE3`: EAGLE was given")
    assert "Fix: `--speculative-algorithm EAGLE3`" in lines[2]


def test_the_description_shows_users_text_and_never_interprets_it() -> None:
    record = samples.record(
        note="| <img src=x onerror=alert(1)> [link](http://x)\n# title",
        findings=(samples.finding(fix="echo `date`"),),
        server=ServerConfig(argv=("python", "```", "--x")),
    )

    text = readme(record)

    assert r"\| &lt;img src=x onerror=alert(1)&gt; \[link\](http://x) \# title" in text
    assert "``echo `date` ``" in text or "`` echo `date` ``" in text
    assert "````\npython '```' --x\n````" in text


def test_a_description_too_long_for_mlflow_leaves_out_whole_sections_and_says_so() -> None:
    findings = tuple(samples.finding(message="x" * 500) for _ in range(50))

    text = note(samples.record(findings=findings))

    assert len(text) <= MAX_TAG
    assert text.endswith("More in the artifact README.md.")


def test_a_run_without_numbers_says_so() -> None:
    record = samples.record(measurements=(), role=None, training=None)

    assert note(record).splitlines()[0] == "Nothing measured."


def test_the_measurement_table_has_a_row_a_cell_and_blanks_where_not_measured() -> None:
    record = samples.record(
        measurements=(samples.cell(1, extra={"accept_length": 9.0}), Measurement(concurrency=8, category="a,b"))
    )

    table = list(csv.DictReader(io.StringIO(measurements_csv(record).decode())))

    assert [row["concurrency"] for row in table] == ["1", "8"]
    assert float(table[0]["accept_length"]) == 1 + 3261 / 1603
    assert table[0]["source accept_length"] == "9.0"
    assert table[1]["accept_length"] == ""
    assert table[1]["category"] == "a,b"
    assert "ttft_p99_ms" in table[0]
    assert "itl_mean_ms" not in table[0]


def test_the_artifacts_are_few_and_named() -> None:
    files = artifacts(samples.run())

    assert sorted(files) == [
        "README.md", "input/requests.jsonl", "input/server.log", "measurements.csv", "record.json",
        "requests.parquet", "server/server_args.json",
    ]  # fmt: skip
    assert json.loads(files["server/server_args.json"])["arguments"]["tp_size"] == 1


def test_an_attachment_cannot_take_the_place_of_the_record() -> None:
    run = dataclasses.replace(samples.run(), attachments=(Attachment(name="record.json", content=b"other"),))

    files = artifacts(run)

    assert files["attachments/record.json"] == b"other"
    assert json.loads(files["record.json"])["record_id"] == run.record.record_id


@pytest.mark.parametrize("name", ["../x", "/etc/passwd", "", "a/../../b", "C:\\x", "..\\x"])
def test_an_attachment_cannot_leave_its_folder(name: str) -> None:
    run = dataclasses.replace(samples.run(), attachments=(Attachment(name=name, content=b""),))

    with pytest.raises(InputError, match="relative name"):
        artifacts(run)


def test_two_attachments_of_one_name_are_refused() -> None:
    twice = (Attachment(name="a", content=b"1"), Attachment(name="a", content=b"2"), Attachment(name="a", content=b"3"))
    run = dataclasses.replace(samples.run(), attachments=twice)

    with pytest.raises(InputError, match="two attachments"):
        artifacts(run)
