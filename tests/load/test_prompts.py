"""Prompt sets: files of other tools, order, identity."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tracker.errors import InputError
from tracker.load.prompt_files import read_prompts
from tracker.load.prompts import Prompt, PromptSet, in_turns


def _write(path: Path, *items: object) -> Path:
    path.write_text("\n".join(json.dumps(item) for item in items))
    return path


def test_the_built_in_set_has_eight_categories_of_ten_prompts_each() -> None:
    found = read_prompts("builtin")

    sizes = {name: sum(item.category == name for item in found.prompts) for name in found.categories}

    assert len(sizes) >= 8
    assert min(sizes.values()) >= 10
    assert len({item.key for item in found.prompts}) == len(found.prompts)


def test_the_built_in_set_has_several_languages_and_short_and_long_prompts() -> None:
    texts = [item.text for item in read_prompts("builtin").prompts]

    assert any("ä" in text or "ü" in text for text in texts)
    assert any("\u4e00" <= letter <= "\u9fff" for text in texts for letter in text)
    assert any("\u0400" <= letter <= "\u04ff" for text in texts for letter in text)
    assert min(map(len, texts)) < 60
    assert max(map(len, texts)) > 1500


@pytest.mark.parametrize(
    ("item", "text", "category"),
    [
        ({"prompt": "a", "category": "x"}, "a", "x"),
        ({"question_id": 81, "category": "writing", "turns": ["first", "second"]}, "first", "writing"),
        ({"id": "q", "conversations": [{"from": "human", "value": "hi"}, {"from": "gpt", "value": "yo"}]}, "hi", None),
        ({"messages": [{"role": "system", "content": "s"}, {"role": "user", "content": "u"}]}, "u", None),
        ({"task_id": 1, "question": "why?", "task": "qa"}, "why?", "qa"),
        ("plain", "plain", None),
    ],
)  # fmt: skip
def test_prompts_of_known_data_sets_are_read(tmp_path: Path, item: object, text: str, category: str | None) -> None:
    found = read_prompts(_write(tmp_path / "p.jsonl", item))

    assert found.prompts == (Prompt(text=text, category=category),)
    assert found.name == "p"


def test_conversations_without_a_user_are_left_out_as_in_sharegpts_own_file(tmp_path: Path) -> None:
    spoken = {"id": "a", "conversations": [{"from": "gpt", "value": "yo"}, {"from": "human", "value": "hi"}]}
    items = [{"id": "b", "conversations": []}, spoken, {"id": "c", "conversations": [{"from": "gpt", "value": "x"}]}]
    path = tmp_path / "ShareGPT_V3.json"
    path.write_text(json.dumps(items))

    assert [item.text for item in read_prompts(path).prompts] == ["hi"]


def test_a_json_list_is_read_like_lines(tmp_path: Path) -> None:
    path = tmp_path / "sharegpt.json"
    path.write_text(json.dumps([{"prompt": "a"}, {"prompt": "b"}], indent=1))

    assert [item.text for item in read_prompts(path).prompts] == ["a", "b"]


def test_a_byte_order_mark_is_no_part_of_the_prompts(tmp_path: Path) -> None:
    path = tmp_path / "p.jsonl"
    path.write_text('{"prompt": "a"}', encoding="utf-8-sig")

    assert [item.text for item in read_prompts(path).prompts] == ["a"]


def test_a_line_without_a_prompt_is_named(tmp_path: Path) -> None:
    path = _write(tmp_path / "p.jsonl", {"prompt": "a"}, {"answer": "b"})

    with pytest.raises(InputError, match="no prompt") as caught:
        read_prompts(path)

    assert caught.value.where == f"{path}, line 2"


@pytest.mark.parametrize("content", [b"", b"\n\n", b"{", b'{"prompt": "\xff"}', b"[]"])
def test_a_file_without_prompts_is_an_error_with_advice(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "p.jsonl"
    path.write_bytes(content)

    with pytest.raises(InputError) as caught:
        read_prompts(path)

    assert caught.value.hint


def test_a_missing_file_is_an_error_with_advice(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read") as caught:
        read_prompts(tmp_path / "none.jsonl")

    assert "builtin" in (caught.value.hint or "")


def test_categories_take_turns_so_that_any_first_part_holds_all() -> None:
    prompts = [Prompt(text=f"{name}{index}", category=name) for name in "abc" for index in range(3)]

    ordered = in_turns(prompts)

    assert [item.text for item in ordered[:6]] == ["a0", "b0", "c0", "a1", "b1", "c1"]


def test_a_prompt_that_occurs_twice_is_kept_once() -> None:
    assert len(in_turns([Prompt(text="a"), Prompt(text="a")])) == 1


def test_more_requests_than_prompts_start_over_in_the_same_order() -> None:
    found = PromptSet(name="x", prompts=(Prompt(text="a"), Prompt(text="b")))

    assert [item.text for item in found.requests(5)] == ["a", "b", "a", "b", "a"]


def test_the_digest_does_not_depend_on_order() -> None:
    first, second = Prompt(text="a"), Prompt(text="b")

    assert PromptSet(name="x", prompts=(first, second)).digest == PromptSet(name="y", prompts=(second, first)).digest


@pytest.mark.parametrize("key", ["input_ids", "prompt"])
def test_token_ids_are_read_and_told_from_texts(tmp_path: Path, key: str) -> None:
    path = tmp_path / "prompts.jsonl"
    path.write_text(f"{json.dumps({key: [1, 2, 3], 'category': 'c'})}\n{json.dumps({'prompt': '1,2,3'})}\n")

    ids, text = sorted(read_prompts(path).prompts, key=lambda prompt: prompt.token_ids is None)

    assert (ids.token_ids, ids.text, ids.category) == ((1, 2, 3), "", "c")
    assert (text.token_ids, text.text) == (None, "1,2,3")
