"""The one template environment."""

from __future__ import annotations

from functools import lru_cache

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from tracker.resources import template_dir


@lru_cache(maxsize=1)
def environment() -> Environment:
    """Return the environment: everything escaped, an unknown name is an error."""
    return Environment(
        loader=FileSystemLoader(template_dir()),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
