"""A model's chat template, applied before a prompt is sent as plain text.

The environment is the one that transformers renders in (utils/chat_template_utils.py, 4.57), so that a template that
works there works here.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import msgspec

from tracker.errors import InputError

if TYPE_CHECKING:
    import jinja2

_CONFIG = "tokenizer_config.json"
_HINT = "Name the model's folder (with tokenizer_config.json or chat_template.jinja), or a Jinja file."
_PROBE = "What is asked?"


class ChatTemplate:
    """One template with the special tokens that it may use."""

    def __init__(self, text: str, *, special_tokens: Mapping[str, str], where: str) -> None:
        """Compile the template.

        Raises:
            InputError: It is no Jinja template.
        """
        import jinja2

        self.digest = hashlib.sha256(text.encode()).hexdigest()
        """SHA-256 of the template's text."""
        self._tokens, self._where = dict(special_tokens), where
        try:
            self._template = _environment().from_string(text)
        except jinja2.TemplateError as error:
            raise InputError(f"the chat template cannot be read: {error}", where=where, hint=_HINT) from error
        # Any text is a template; one that drops the prompt would send the same request every time.
        if _PROBE not in self.render(_PROBE, thinking=None):
            raise InputError("the chat template leaves the prompt out", where=where, hint=_HINT)

    def render(self, prompt: str, *, thinking: bool | None) -> str:
        """Return the prompt as one user message, ready to be answered.

        The first special token is left out: engines put it before every text themselves.

        Raises:
            InputError: The template does not take one user message.
        """
        import jinja2

        # Templates name the switch differently; a name that a template does not use does nothing.
        switch = {} if thinking is None else {"enable_thinking": thinking, "thinking": thinking}
        try:
            text = self._template.render(
                messages=[{"role": "user", "content": prompt}], add_generation_prompt=True, **self._tokens, **switch
            )
        except jinja2.TemplateError as error:
            raise InputError(f"the chat template refuses a prompt: {error}", where=self._where, hint=_HINT) from error
        return text.removeprefix(self._tokens.get("bos_token") or "")


def in_template(prompt: str, template: ChatTemplate | None, thinking: bool | None) -> str:
    """Return the text to send: the prompt as it is where there is no template."""
    return prompt if template is None else template.render(prompt, thinking=thinking)


def read_chat_template(path: Path) -> ChatTemplate:
    """Return the template of a model's folder, or of a Jinja file.

    Raises:
        InputError: There is none; says where it was looked for.
    """
    if path.is_file() and path.suffix != ".json":
        return ChatTemplate(_read(path).decode("utf-8", "replace"), special_tokens={}, where=str(path))
    folder = path if path.is_dir() else path.parent
    config = _config(folder / _CONFIG)
    alone = folder / "chat_template.jinja"
    text = _read(alone).decode("utf-8", "replace") if alone.is_file() else _in_config(config.get("chat_template"))
    if text is None:
        raise InputError("there is no chat template", where=str(path), hint=_HINT)
    tokens = {name: word for name in ("bos_token", "eos_token", "pad_token") if (word := _word(config.get(name)))}
    return ChatTemplate(text, special_tokens=tokens, where=str(path))


def _environment() -> jinja2.Environment:
    from jinja2 import ext, sandbox

    def refuse(message: str) -> NoReturn:
        import jinja2

        raise jinja2.TemplateError(message)

    found = sandbox.ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[ext.loopcontrols], autoescape=False
    )
    found.filters["tojson"] = lambda value, **_: msgspec.json.encode(value).decode()
    found.globals["raise_exception"] = refuse
    # Some templates write the day into the system prompt.
    found.globals["strftime_now"] = lambda form: datetime.now().astimezone().strftime(form)
    return found


def _config(path: Path) -> Mapping[str, Any]:
    if not path.is_file():
        return {}
    try:
        value = msgspec.json.decode(_read(path))
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise InputError(f"not readable as JSON: {error}", where=str(path), hint=_HINT) from error
    return value if isinstance(value, Mapping) else {}


def _in_config(value: Any) -> str | None:
    """Return the template in a configuration: one text, or a list of named ones of which `default` is meant."""
    if isinstance(value, list):
        named = {item.get("name"): item.get("template") for item in value if isinstance(item, Mapping)}
        value = named.get("default")
    return value if isinstance(value, str) else None


def _word(value: Any) -> str | None:
    value = value.get("content") if isinstance(value, Mapping) else value
    return value if isinstance(value, str) else None


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(
            f"the chat template cannot be read: {error.strerror or error}", where=str(path), hint=_HINT
        ) from error
