"""What the checks of a sweep know of models whose files are elsewhere."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import WriteCheckpoint
from tracker.errors import TrackerError
from tracker.workflows.sweep_check import Checked, check_all
from tracker.workflows.sweep_plan import read_sweep

WRONG = "ALGO_MISMATCH_EAGLE_FOR_EAGLE3"
EAGLE3 = {"architectures": ["LlamaForCausalLMEagle3"], "hidden_size": 64, "num_hidden_layers": 1, "vocab_size": 512}
EAGLE1 = EAGLE3 | {"architectures": ["LlamaForCausalLMEagle"]}


def _checked(folder: Path, declared: str, *, drafter: str = "d", sweep: str = "") -> Checked:
    (folder / "campaign.toml").write_text(
        f'schema_version = 1\n[campaign]\nname = "c"\n{declared}\n[sweep]\ntarget = "owner/target"\n{sweep}\n'
        f'[[sweep.servers]]\nname = "a"\ndrafter = "{drafter}"\nalgorithm = "EAGLE"\nshape = "3-1-4"\n'
    )
    (checked,) = check_all(read_sweep(folder))
    return checked


def _drafter(facts: str, path: str = "owner/draft") -> str:
    return f'[[drafters]]\nname = "d"\npaths = ["{path}"]\n{facts}'


@pytest.mark.parametrize(
    ("facts", "shown"),
    [
        ('architecture = "LlamaForCausalLMEagle3"', "architecture"),
        ('kind = "eagle3"', "kind"),
        ("fc_input_width = 192\nhidden_size = 64", "fc input width"),
        ("has_draft_vocab_map = true", "has draft vocab map"),
    ],
)
def test_the_wrong_flag_is_refused_by_what_campaign_toml_declares_of_a_drafter_that_is_elsewhere(
    tmp_path: Path, facts: str, shown: str
) -> None:
    checked = _checked(tmp_path, _drafter(facts))

    assert [finding.code for finding in checked.refused_by] == [WRONG]
    assert "--speculative-algorithm EAGLE3" in (checked.fix or "")
    (told,) = [sentence for sentence in checked.unseen if "drafter" in sentence]
    assert "owner/draft is not on this machine" in told
    assert "as campaign.toml declares it" in told
    assert shown in told


def test_a_drafter_declared_by_name_alone_is_not_checked_and_that_is_said(tmp_path: Path) -> None:
    checked = _checked(tmp_path, _drafter(""))

    assert checked.refused_by == ()
    assert any("owner/draft" in sentence and "nothing" in sentence for sentence in checked.unseen)


def test_what_is_declared_does_not_refuse_the_right_flag(tmp_path: Path) -> None:
    checked = _checked(tmp_path, _drafter('kind = "eagle"\narchitecture = "LlamaForCausalLMEagle"'))

    assert checked.refused_by == ()


def test_files_go_before_what_is_declared_and_a_difference_is_said(
    tmp_path: Path, write_checkpoint: WriteCheckpoint
) -> None:
    write_checkpoint(tmp_path / "draft", EAGLE3, {"fc.weight": ("BF16", (64, 192))})

    checked = _checked(tmp_path, _drafter('kind = "eagle"', "draft"))

    assert [finding.code for finding in checked.refused_by] == [WRONG]
    (told,) = [sentence for sentence in checked.unseen if "drafter" in sentence]
    assert "campaign.toml declares kind eagle, its files say eagle3" in told


def test_a_drafter_in_the_local_hub_cache_is_checked_by_its_files(
    tmp_path: Path, write_checkpoint: WriteCheckpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    repository = tmp_path / ".cache" / "huggingface" / "hub" / "models--owner--draft"
    write_checkpoint(repository / "snapshots" / "abc", EAGLE3, {"fc.weight": ("BF16", (64, 192))})
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text("abc")

    checked = _checked(tmp_path, "", drafter="owner/draft")

    assert [finding.code for finding in checked.refused_by] == [WRONG]
    assert not any("drafter" in sentence for sentence in checked.unseen)


def test_a_target_that_is_elsewhere_is_checked_as_declared(tmp_path: Path) -> None:
    target = '[target]\nname = "t"\nhidden_size = 128\nvocab_size = 512\n'
    facts = 'kind = "eagle3"\nhidden_size = 64\nfc_input_width = 192\nvocab_size = 512'

    checked = _checked(tmp_path, target + _drafter(facts))

    assert "TARGET_HIDDEN_MISMATCH" in {finding.code for finding in checked.findings}
    assert any("target" in sentence and "as campaign.toml declares it" in sentence for sentence in checked.unseen)


def test_behind_a_script_that_starts_the_server_the_wrong_flag_is_refused_all_the_same(tmp_path: Path) -> None:
    checked = _checked(tmp_path, _drafter('kind = "eagle3"'), sweep='launch = "./serve.sh --own-flag"')

    assert [finding.code for finding in checked.refused_by] == [WRONG]
    assert any("launches no engine that is known" in sentence for sentence in checked.unseen)


def test_a_server_refused_by_several_checks_is_told_with_what_allows_them_all(tmp_path: Path) -> None:
    facts = 'kind = "eagle3"\nhidden_size = 64\nfc_input_width = 192'
    checked = _checked(tmp_path, '[target]\nname = "t"\nhidden_size = 128\n' + _drafter(facts))

    codes = [finding.code for finding in checked.refused_by]
    assert len(codes) > 1
    for code in codes:
        assert f"--allow {code}" in checked.reason


@pytest.mark.parametrize("place", ["file", "option"])
def test_a_misspelt_code_that_would_allow_nothing_is_an_error(tmp_path: Path, place: str) -> None:
    (tmp_path / "campaign.toml").write_text(
        'schema_version = 1\n[campaign]\nname = "c"\n[sweep]\ntarget = "o/t"\n[[sweep.servers]]\nname = "a"\n'
        + (f'allow = ["{WRONG}S"]\n' if place == "file" else "")
    )

    with pytest.raises(TrackerError, match=f"no check reports '{WRONG}S'") as caught:
        check_all(read_sweep(tmp_path), allow=(f"{WRONG}S",) if place == "option" else ())

    assert WRONG in (caught.value.hint or "")
