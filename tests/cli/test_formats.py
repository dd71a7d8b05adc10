"""What `tracker log-run --formats` lists."""

from __future__ import annotations

from tests.cli.conftest import Cli
from tracker import importers


def test_every_importer_has_its_line_and_what_is_not_read_is_said(cli: Cli) -> None:
    outcome = cli("log-run", "--formats")

    lines = outcome.out.splitlines()
    assert outcome.code == 0
    for name, importer in importers.formats().items():
        assert f"{name} " in outcome.out
        assert any(line.endswith(importer.title) for line in lines)
    for name in importers.LEFT_OUT:
        assert f"  {name}" in lines
