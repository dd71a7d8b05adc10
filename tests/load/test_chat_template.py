"""Chat templates from a model's files."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from tracker.errors import InputError
from tracker.load.chat_template import read_chat_template

CHATML = "{% for m in messages %}<{{ m['role'] }}>{{ m['content'] | trim }}{% endfor %}<assistant>"


def _config(folder: Path, **fields: object) -> Path:
    (folder / "tokenizer_config.json").write_text(json.dumps(fields))
    return folder


def test_the_template_of_a_models_folder_is_applied_and_known_by_its_digest(tmp_path: Path) -> None:
    template = read_chat_template(_config(tmp_path, chat_template=CHATML))

    assert template.render(" hi ", thinking=None) == "<user>hi<assistant>"
    assert template.digest == hashlib.sha256(CHATML.encode()).hexdigest()


def test_of_several_named_templates_the_default_is_meant(tmp_path: Path) -> None:
    named = [{"name": "tool_use", "template": "x"}, {"name": "default", "template": CHATML}]

    assert read_chat_template(_config(tmp_path, chat_template=named)).render("a", thinking=None).startswith("<user>")


def test_a_template_file_beside_the_configuration_comes_first(tmp_path: Path) -> None:
    _config(tmp_path, chat_template="old", eos_token="</s>")
    (tmp_path / "chat_template.jinja").write_text(CHATML + "{{ eos_token }}")

    assert read_chat_template(tmp_path).render("a", thinking=None) == "<user>a<assistant></s>"
    assert read_chat_template(tmp_path / "chat_template.jinja").render("a", thinking=None) == "<user>a<assistant>"


@pytest.mark.parametrize("name", ["enable_thinking", "thinking"])
def test_the_thinking_switch_reaches_templates_under_either_name(tmp_path: Path, name: str) -> None:
    text = "{% if NAME is defined %}{{ 'on' if NAME else 'off' }}{% else %}unsaid{% endif %} {{ messages[0].content }}"
    text = text.replace("NAME", name)
    template = read_chat_template(_config(tmp_path, chat_template=text))

    assert [template.render("a", thinking=value) for value in (True, False, None)] == ["on a", "off a", "unsaid a"]


@pytest.mark.parametrize(
    ("text", "prompt", "expected"),
    [
        ("{{ messages | tojson }}", "ä", '[{"role":"user","content":"ä"}]'),
        ("{% for m in messages %}{{ m.content }}{% break %}{% endfor %}x", "a", "ax"),
        (
            "{% set ns = namespace(found=false) %}\n  {% if true %}\n{{ messages[0].content }}\n  {% endif %}\n",
            "a",
            "a\n",
        ),
    ],
)
def test_what_templates_of_the_hub_use_is_there(tmp_path: Path, text: str, prompt: str, expected: str) -> None:
    assert read_chat_template(_config(tmp_path, chat_template=text)).render(prompt, thinking=None) == expected


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{{ raise_exception('only assistants') }}", "only assistants"),
        ("{{ messages[0].content.__class__.__mro__ }}", "refuses a prompt"),
        ("any text", "leaves the prompt out"),
    ],
)
def test_a_template_that_cannot_carry_a_prompt_is_refused(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        read_chat_template(_config(tmp_path, chat_template=text))


def test_no_template_is_an_error_with_advice(tmp_path: Path) -> None:
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "tokenizer_config.json").write_text("{")
    (tmp_path / "wrong.jinja").write_text("{% if %}")

    for path, words in (
        (_config(tmp_path, bos_token="x"), "there is no chat template"),
        (tmp_path / "nowhere", "there is no chat template"),
        (tmp_path / "broken", "not readable as JSON"),
        (tmp_path / "wrong.jinja", "cannot be read"),
    ):
        with pytest.raises(InputError, match=words) as caught:
            read_chat_template(path)
        assert caught.value.hint
