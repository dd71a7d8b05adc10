"""The last gate before a record is kept."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from tracker.domain.cleaning import cleaned
from tracker.domain.measurement import RequestRow
from tracker.domain.provenance import Provenance
from tracker.domain.record import RunRecord
from tracker.domain.redaction import REDACTED, redact_bytes, redact_text
from tracker.domain.server import FlagDifference, ServerConfig


def _record(**values: object) -> RunRecord:
    now = datetime(2026, 11, 30, tzinfo=UTC)
    values = {"name": "run", **values}
    return RunRecord(
        record_id="0" * 40,
        kind="benchmark",
        experiment="trial",
        provenance=Provenance(logged_at=now, tracker_version="1"),
        **values,  # type: ignore[arg-type]
    )


def test_a_record_without_secrets_is_returned_as_it_is() -> None:
    record = _record(note="3 of 5 prompts, --speculative-num-steps 3", tags={"rack": "7", "hash": "0f3a"})

    assert cleaned(record) is record


def test_a_secret_in_a_note_a_name_or_a_tag_is_gone_and_the_rest_stays() -> None:
    record = _record(
        name="run at https://me:Sup3r@host/v1",
        note="with --api-key abc123 on ten prompts",
        tags={"api_key": "abc123", "owner": "jane@example.org", "rack": "7"},
    )

    found = cleaned(record)

    assert found.name == f"run at https://{REDACTED}@host/v1"
    assert found.note == f"with --api-key {REDACTED} on ten prompts"
    assert found.tags == {"api_key": REDACTED, "owner": "[e-mail]", "rack": "7"}


def test_both_values_of_a_difference_between_two_keys_are_gone() -> None:
    difference = FlagDifference(
        name="api_key", first="one", first_source="argv", second="other", second_source="server_info"
    )

    (found,) = cleaned(ServerConfig(differences=(difference,))).differences

    assert (found.first, found.second) == (REDACTED, REDACTED)
    assert found.first_source == "argv"


def test_words_of_a_command_are_read_together() -> None:
    assert cleaned(("serve", "--api-key", "abc")) == ("serve", "--api-key", REDACTED)


def test_request_rows_lose_secrets_in_errors_and_keep_their_counts() -> None:
    rows = (RequestRow(output_tokens=3, error="401 for Authorization: Bearer abcdefgh12345"), RequestRow())

    found = cleaned(rows)

    assert found[0].output_tokens == 3
    assert "abcdefgh12345" not in (found[0].error or "")
    assert found[1] is rows[1]


@pytest.mark.parametrize("delimiter", [",", "\t", ";", "|"])
def test_a_column_of_keys_is_emptied_and_its_neighbours_stay(delimiter: str) -> None:
    lines = ["# made by hand", "config,api_key,tok_s,HF_TOKEN", "base,s3cret,90.0,", '"a, b",other,82.3,x1']
    text = "\n".join(lines).replace(",", delimiter) + "\n"

    found = redact_bytes(text.encode()).decode()

    assert "s3cret" not in found
    assert "other" not in found
    assert "x1" not in found
    assert found.splitlines()[2].split(delimiter) == ["base", REDACTED, "90.0", ""]
    assert redact_bytes(found.encode()).decode() == found


def test_a_table_without_a_column_of_keys_is_unchanged_to_the_byte() -> None:
    text = b'config,accept_length,output_tokens\r\n"a ""b""",2.1,12\r\n'

    assert redact_bytes(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "{'name': 'HF_TOKEN', 'value': 'Pl4nted'}",
        '{"name": "HF_TOKEN", "value": "Pl4nted"}',
        r"{\"name\": \"HF_TOKEN\", \"value\": \"Pl4nted\"}",
        "- name: HF_TOKEN\n  value: Pl4nted\n- name: NCCL_DEBUG\n  value: INFO",
    ],
)
def test_a_secret_given_as_name_and_value_is_found_in_text(text: str) -> None:
    found = redact_text(text)

    assert "Pl4nted" not in found
    assert "HF_TOKEN" in found
    assert redact_text(found) == found
    assert ("INFO" in text) == ("INFO" in found)
