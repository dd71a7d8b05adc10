"""Names of files after what people called things."""

from __future__ import annotations

from pathlib import Path

import pytest

from tracker.store.file_names import file_name, files_in, short_digest


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("EAGLE3 3-1-4, 100K samples", "EAGLE3-3-1-4-100K-samples"),
        ("../../<b> ü / name", "b-name"),
        ("...", "unnamed"),
        ("", "unnamed"),
        ("x" * 100, "x" * 48),
        ("\udcff\n", "unnamed"),
    ],
)
def test_a_name_holds_what_every_file_system_takes(text: str, expected: str) -> None:
    assert file_name(text, otherwise="unnamed") == expected


def test_texts_of_one_name_are_told_apart() -> None:
    assert file_name("a b", otherwise="x") == file_name("a/b", otherwise="x")
    assert short_digest("a b") != short_digest("a/b")
    assert len(short_digest("\udcff")) == 12


def test_files_are_listed_in_order_without_folders_and_none_where_there_is_no_folder(tmp_path: Path) -> None:
    for name in ("b.run", "a.run", "c.txt"):
        (tmp_path / name).touch()
    (tmp_path / "d.run").mkdir()

    assert [path.name for path in files_in(tmp_path, ".run")] == ["a.run", "b.run"]
    assert files_in(tmp_path / "none", ".run") == ()
    with pytest.raises(NotADirectoryError):
        files_in(tmp_path / "c.txt", ".run")
