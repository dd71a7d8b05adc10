"""Folder discovery: every module of a package contributes one constant."""

from __future__ import annotations

import importlib
import pkgutil
from typing import Any

# Modules of a plug-in package that hold its protocol or shared parts, not a plug-in.
SHARED_MODULES = frozenset({"base", "main"})


def discover(package: str, attribute: str) -> dict[str, Any]:
    """Return `{module name: constant}` for every plug-in module of `package`, sorted by module name.

    Sub-packages and modules that start with an underscore are shared code and are left out.

    Args:
        package: Dotted name of the package, e.g. `tracker.importers`.
        attribute: Name of the constant that each module must define, e.g. `IMPORTER`.

    Raises:
        AttributeError: A module defines no such constant. A plug-in must never vanish silently.
    """
    module = importlib.import_module(package)
    found: dict[str, Any] = {}
    for info in sorted(pkgutil.iter_modules(module.__path__), key=lambda item: item.name):
        if info.ispkg or info.name in SHARED_MODULES or info.name.startswith("_"):
            continue
        plugin = importlib.import_module(f"{package}.{info.name}")
        if not hasattr(plugin, attribute):
            raise AttributeError(
                f"{plugin.__name__} defines no {attribute}; rename it with a leading underscore if it is shared code"
            )
        found[info.name] = getattr(plugin, attribute)
    return found
