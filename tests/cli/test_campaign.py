"""Whole campaigns from the command line: asked before anything goes, told what happened, ids alone on stdout."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.conftest import Cli

METRIC = ("log-run", "--metric", "output_throughput_tok_s=90", "--concurrency", "1", "--experiment")


def test_a_campaign_is_listed_renamed_deleted_and_restored(cli: Cli) -> None:
    run = cli(*METRIC, "kimi").out.strip()

    assert "no campaigns" not in cli("campaign", "list").err
    renamed = cli("campaign", "rename", "kimi", "kimi-eagle3")
    refused = cli("campaign", "delete", "kimi-eagle3")
    deleted = cli("campaign", "delete", "kimi-eagle3", "--yes")
    listed = json.loads(cli("campaign", "list", "--json").out)
    again = cli(*METRIC, "kimi-eagle3")
    restored = cli("campaign", "restore", "kimi-eagle3")

    assert (renamed.code, renamed.out.strip()) == (0, "kimi-eagle3")
    assert (refused.code, refused.out) == (2, "")
    assert "this would delete kimi-eagle3: 1 run, 0 memos" in refused.err
    assert "--yes" in refused.err
    assert deleted.code == 0
    assert "tracker campaign restore kimi-eagle3" in deleted.err
    assert [(row["name"], row["state"], row["runs"]) for row in listed] == [("kimi-eagle3", "deleted", 1)]
    assert "tracker campaign restore kimi-eagle3" in again.err
    assert restored.code == 0
    assert cli("show", run).code == 0
    assert [row["state"] for row in json.loads(cli("campaign", "list", "--json").out)] == ["active"]


def test_logging_a_renamed_campaign_again_says_where_its_runs_are_and_leaves_its_old_name_free(
    cli: Cli, tmp_path: Path
) -> None:
    folder = tmp_path / "kimi"
    folder.mkdir()
    (folder / "campaign.toml").write_text(
        'schema_version = 1\n[campaign]\nname = "kimi"\n[[inputs]]\npath = "table.csv"\n'
    )
    (folder / "table.csv").write_text("name,concurrency,output tok/s\nplain,1,90.0\n")
    first = cli("log-run", str(folder))
    cli("campaign", "rename", "kimi", "kimi-eagle3")
    again = cli("log-run", str(folder))

    assert first.code == again.code == 0, first.err
    assert again.out == first.out
    assert "these runs are in the campaign kimi-eagle3" in again.err
    assert cli("campaign", "rename", "kimi-eagle3", "kimi").code == 0


def test_a_campaign_travels_as_a_folder(cli: Cli, tmp_path: Path) -> None:
    run = cli(*METRIC, "kimi").out.strip()
    exported = cli("campaign", "export", "kimi")
    other = f"sqlite:///{tmp_path / 'other' / 'mlflow.db'}"
    imported = cli("campaign", "import", "kimi", "--tracking-uri", other)
    again = cli("campaign", "import", "kimi", "--tracking-uri", other)

    assert (exported.code, exported.out.strip()) == (0, "kimi")
    assert (tmp_path / "kimi" / "manifest.json").is_file()
    assert imported.code == again.code == 0
    assert imported.out == again.out
    assert "1 copied" in imported.err
    assert "1 present" in again.err
    assert cli("show", run, "--tracking-uri", other).code == 0


def test_what_cannot_be_is_told_with_the_way_out(cli: Cli, tmp_path: Path) -> None:
    cli(*METRIC, "kimi-eagle3")

    unknown = cli("campaign", "delete", "kimi-eagle", "--yes")
    nothing = cli("campaign", "import", tmp_path / "nowhere")
    wrong = cli("sync", "--experiment", "kimi-eagle3")

    assert unknown.code == nothing.code == 1
    assert "Did you mean 'kimi-eagle3'" in unknown.err
    assert "tracker campaign export" in nothing.err
    assert wrong.code == 2


def test_an_export_does_not_take_the_place_of_another_campaigns(cli: Cli, tmp_path: Path) -> None:
    cli(*METRIC, "kimi")
    cli(*METRIC, "llama")
    cli("campaign", "export", "kimi", "--out", "kept")
    before = {path: path.read_bytes() for path in (tmp_path / "kept").rglob("*") if path.is_file()}

    other = cli("campaign", "export", "llama", "--out", "kept")
    cli("campaign", "rename", "kimi", "kimi-2")
    renamed = cli("campaign", "export", "kimi-2", "--out", "kept")

    assert other.code == 1
    assert "the export of the campaign 'kimi'" in other.err
    assert before.keys() <= set((tmp_path / "kept").rglob("*"))
    assert renamed.code == 0


def test_the_way_back_from_a_deletion_can_be_pasted_into_a_shell(cli: Cli) -> None:
    cli(*METRIC, "my kimi")

    deleted = cli("campaign", "delete", "my kimi", "--yes")

    assert "tracker campaign restore 'my kimi'" in deleted.err


def test_copying_from_no_store_blames_the_option_that_named_it(cli: Cli) -> None:
    outcome = cli("sync", "--from", "nonsense")

    assert outcome.code == 1
    assert "where: --from" in outcome.err
